"""Trainings that go on from a file; `tests/companion/data/test_files_on_disk` is about the file."""

import signal

import pytest
import torch
from kept import train_resumably
from torch.optim.lr_scheduler import MultiStepLR
from torch.utils.data import TensorDataset

from pamal_companion.data.batches import batches
from pamal_core.errors import InputError
from pamal_core.training import train


@pytest.fixture
def loader(batch):
    return batches(TensorDataset(*batch), 8, shuffle=True)


@pytest.mark.parametrize("stop", [1, 2, 4])
def test_a_run_resumed_from_its_checkpoint_is_bit_identical(make_method, loader, tmp_path, stop):
    whole, checkpoint = make_method(), tmp_path / "c.safetensors"
    expected = train(whole, loader, epochs=5, progress=False)
    train_resumably(make_method(), loader, checkpoint, epochs=stop, progress=False)
    resumed = make_method()
    assert train_resumably(resumed, loader, checkpoint, epochs=5, progress=False) == expected
    for name, tensor in whole.network.state_dict().items():
        assert torch.equal(tensor, resumed.network.state_dict()[name])


def test_a_halved_learning_rate_is_resumed_too(make_method, loader, tmp_path):
    rates = []

    def halving(method):
        optimizer = torch.optim.Adam(method.parameters(), lr=0.1)
        return {"optimizer": optimizer, "scheduler": MultiStepLR(optimizer, [3], gamma=0.5)}

    def trained(method, epochs, checkpoint=None):
        parts = halving(method)
        watch = lambda *_: rates.append(parts["optimizer"].param_groups[0]["lr"])  # noqa: E731
        common = {"epochs": epochs, "on_epoch": watch, "progress": False}
        return train_resumably(method, loader, checkpoint, **parts, **common)

    whole = trained(make_method(), 5)
    assert rates == [0.1, 0.1, 0.05, 0.05, 0.05]  # after the epoch's step, the third is over
    rates.clear()
    checkpoint = tmp_path / "c.safetensors"
    trained(make_method(), 4, checkpoint)
    assert trained(make_method(), 5, checkpoint) == whole
    assert rates == [0.1, 0.1, 0.05, 0.05, 0.05]


def test_an_average_is_resumed_from_its_checkpoint_bit_for_bit(make_method, loader, tmp_path):
    found = []
    for stops in ([4], [2, 4]):
        checkpoint = tmp_path / f"{len(stops)}.safetensors"
        for epochs in stops:
            method = make_method()
            optimizer = torch.optim.Adam(method.parameters(), lr=0.01)
            parts = {"optimizer": optimizer, "ema": 0.9, "progress": False}
            train_resumably(method, loader, checkpoint, epochs=epochs, **parts)
        found.append([p.detach() for p in method.network.parameters()])
    assert all(map(torch.equal, *found))


def test_a_checkpoint_of_another_run_is_refused(make_method, loader, tmp_path):
    path = tmp_path / "c.safetensors"
    train_resumably(make_method(), loader, path, key="a", epochs=1, progress=False)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"another run\. Expected key b, found a"):
        train_resumably(make_method(), loader, path, key="b", epochs=1, progress=False)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kept", [False, True])
def test_a_stop_says_what_is_kept(make_method, loader, tmp_path, kept):
    def stop(training):
        if len(training.history) == 3:
            signal.raise_signal(signal.SIGTERM)

    path = tmp_path / "c.safetensors"
    checkpoint = path if kept else None
    with pytest.raises(KeyboardInterrupt, match="SIGTERM") as caught:
        train_resumably(make_method(), loader, checkpoint, epochs=5, on_epoch=stop, progress=False)
    assert caught.value.__notes__ == [
        f"Epochs 1 to 2 are kept in {path}: the same command goes on from there."
        if kept
        else "No epoch is kept in a file."
    ]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
