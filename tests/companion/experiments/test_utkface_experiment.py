from dataclasses import replace
from functools import cache

import pytest
import torch
from torch.utils.data import TensorDataset

from pamal_companion.data.batches import batches
from pamal_companion.data.files import data_root
from pamal_companion.experiments.utkface import EXPERIMENT, UTKFaceOptions
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run
from pamal_core.training import train

needs_data = pytest.mark.skipif(
    not (data_root() / "utkface").exists(), reason="needs utkface/ under $PAMAL_DATA"
)


def options(**values):
    return UTKFaceOptions.create(**{"data": "sample", "device": "cpu"} | values)


@cache
def sample():
    """The sample with few faces: to draw them all takes ten seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pamal_companion.data.utkface.SAMPLE_NUM", 240)
        return EXPERIMENT.load(options(limit=96))


def test_the_network_of_the_full_data_has_the_weights_of_the_authors():
    large = replace(sample(), train=TensorDataset(torch.zeros(1, 3, 64, 64)))
    model = EXPERIMENT.make_network(options(), large, 0)
    count = sum(p.numel() for p in model.encoder.parameters())
    assert count == 11_168_832
    assert [sum(p.numel() for p in head.parameters()) for head in model.heads] == [
        2_049,
        2 * 2_049,
        5 * 2_049,
    ]


def test_the_samples_network_is_small_and_has_an_output_per_class():
    chosen = EXPERIMENT.resolved(options(), sample())
    model = EXPERIMENT.make_network(chosen, sample(), 0)
    assert sum(p.numel() for p in model.parameters()) < 11_168_832 / 15
    assert [tuple(o.shape) for o in model(torch.rand(2, 3, 32, 32))] == [(2, 1), (2, 2), (2, 5)]


@pytest.mark.parametrize("method", ["pamal", "ls"])
def test_a_short_run_writes_a_record_with_the_settings_of_the_sample(tmp_path, method):
    chosen = options(method=method, limit=96, epochs=1, width=16, out=str(tmp_path / "r.json"))
    run(EXPERIMENT, chosen, sample())
    found = Record.read(tmp_path / "r.json")
    settings = {**EXPERIMENT.options.by_data["sample"], "epochs": 1, "limit": 96}
    others = {"rank", "p"} if method == "ls" else {"rank"}
    expected = {name: value for name, value in settings.items() if name not in others}
    assert expected.items() <= found.options.items()
    assert found.data.startswith("utkface/sample/size=32/split=70/10/20/seed=0/limit=96/")
    assert len(found.points) == 2 * (66 if method == "pamal" else 1)


@needs_data
@pytest.mark.parametrize("method", ["pamal", "ls"])
def test_two_epochs_on_real_faces_lower_every_loss(method):
    given = {"data": "full", "limit": 1000, "size": 32, "width": 16, "stem": "torchvision"}
    chosen = options(method=method, W=1, p=1.0, batch_size=64, epochs=2, **given)
    splits = EXPERIMENT.load(chosen)
    method = EXPERIMENT.method(chosen, splits)
    before = untrained_losses(method, splits.train)
    optimizer = torch.optim.Adam(method.parameters(), lr=1e-3 * method.network.num_members)
    loader = batches(splits.train, chosen.batch_size, shuffle=True)
    history = train(method, loader, epochs=2, optimizer=optimizer, seed=0, progress=False)
    after = [history[-1][f"{name}/loss"] for name in method.names]
    assert all(one < loss for one, loss in zip(after, before, strict=True))


@torch.no_grad()
def untrained_losses(method, part: TensorDataset) -> list[float]:
    """The losses in training mode, as those of an epoch are; at the centre of the members."""
    images, *targets = part[:]
    ensemble = method.network
    outputs = ensemble(images, [1 / ensemble.num_members] * ensemble.num_members)
    triples = zip(method.tasks, outputs, targets, strict=True)
    return [task.loss(output, target).item() for task, output, target in triples]
