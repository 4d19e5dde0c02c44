"""What a run ends with: the last weights or a mean of all; and linear scalarisation's weights."""

import pytest
import torch
from pandas.testing import assert_frame_equal
from tiny_experiment import tiny
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import TensorDataset

from pamal_companion.data.batches import batches
from pamal_companion.runs.checkpoint import train_resumably
from pamal_companion.runs.options import Options
from pamal_companion.runs.run import run
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.networks.ensemble import WeightEnsemble
from pamal_core.training import train


@pytest.fixture
def make_parts(make_mlp, tasks):
    """A method, its optimiser and the average of its weights."""

    def make():
        torch.manual_seed(3)
        network = WeightEnsemble([make_mlp(), make_mlp()])
        average = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(0.9))
        return Method(network, tasks), torch.optim.Adam(network.parameters(), lr=0.01), average

    return make


@pytest.fixture
def loader(batch):
    return batches(TensorDataset(*batch), 8, shuffle=True)


def test_the_average_is_the_sum_over_steps_with_weights_that_decay(make_parts, loader):
    method, optimizer, average = make_parts()
    seen = []
    optimizer.register_step_post_hook(lambda *_: seen.append(method.network.stacked.clone()))
    train(method, loader, epochs=3, optimizer=optimizer, average=average, progress=False)
    weights = torch.tensor([0.9 ** (len(seen) - 1 - step) for step in range(len(seen))])
    weights[1:] *= 0.1  # the first step starts the average, all others enter it with a tenth
    expected = torch.einsum("s,smn->mn", weights, torch.stack(seen))
    assert weights.sum() == pytest.approx(1)
    torch.testing.assert_close(average.module.stacked, expected)
    assert not torch.allclose(average.module.stacked, method.network.stacked, atol=1e-4)


def test_the_average_follows_no_later_training(make_parts, loader):
    method, optimizer, average = make_parts()
    train(method, loader, epochs=1, optimizer=optimizer, average=average, progress=False)
    before = average.module.stacked.clone()
    train(method, loader, epochs=1, optimizer=optimizer, progress=False)
    assert torch.equal(average.module.stacked, before)


def test_an_average_is_resumed_from_its_checkpoint_bit_for_bit(make_parts, loader, tmp_path):
    averages = []
    for stops in ([4], [2, 4]):
        checkpoint = tmp_path / f"{len(stops)}.safetensors"
        for epochs in stops:
            method, optimizer, average = make_parts()
            parts = {"optimizer": optimizer, "average": average, "progress": False}
            train_resumably(method, loader, checkpoint, epochs=epochs, **parts)
        averages.append(average)
    assert torch.equal(averages[0].module.stacked, averages[1].module.stacked)


@pytest.mark.parametrize("method", ["pamal", "ls", "rotograd", "auto_lambda", "phn", "cosmos"])
def test_an_average_that_forgets_at_once_is_the_last_weights(method):
    common = {"method": method, "W": 2, "batch_size": 50}
    last = run(tiny(), Options.create(**common)).record
    forgetful = run(tiny(), Options.create(**common, average=1e-9)).record
    for split in ("validation", "test"):
        assert_frame_equal(forgetful.front(split).table, last.front(split).table, rtol=1e-5)


def test_the_average_is_what_is_recorded_kept_and_read_again(tmp_path):
    common = {"W": 2, "batch_size": 50, "out": str(tmp_path / "r.json"), "average": 0.5}
    made = run(tiny(), Options.create(**common))
    assert made.record.options["average"] == 0.5
    assert torch.equal(run(tiny(), Options.create(**common)).network.stacked, made.network.stacked)
    last = run(tiny(), Options.create(W=2, batch_size=50))
    assert last.record.history == made.record.history
    assert last.record.points != made.record.points


def test_linear_scalarisation_with_all_weight_on_a_task_learns_it_as_a_single_task_does():
    alone = run(tiny(), Options.create(method="stl", task=0)).record.front("test").table
    both = run(tiny(), Options.create(method="ls", weights=[1.0, 0.0])).record.front("test").table
    torch.testing.assert_close(both["first/loss"].item(), alone["first/loss"].item())


def test_the_weights_of_linear_scalarisation_are_its_own_and_change_the_run():
    even, uneven = (
        run(tiny(), Options.create(method="ls", weights=weights, epochs=40)).record
        for weights in (None, [0.01, 0.99])
    )
    assert "weights" not in even.options and uneven.options["weights"] == [0.01, 0.99]
    first, second = (r.history[-1]["losses"] for r in (even, uneven))
    assert second[0] > first[0] + 0.01 and second[1] < first[1] - 0.005
    with pytest.raises(InputError, match=r"pamal has no `weights`"):
        Options.create(weights=[0.8, 0.2])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"average": 1.0}, "`average` must be less than 1. Found average=1.0"),
        ({"average": -0.1}, "`average` must be greater than or equal to 0"),
        ({"draws": "antithetic"}, "`draws` must be 'independent' or 'stratified'"),
        ({"weights": [-1.0, 2.0]}, "`weights` must be greater than or equal to 0"),
    ],
)
def test_a_wrong_value_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        Options.create(method="ls", **values)


@pytest.mark.parametrize("weights", [[0.5, 0.2], [1.0]])
def test_weights_off_the_simplex_are_refused(weights):
    with pytest.raises(InputError, match="`weights` must"):
        run(tiny(), Options.create(method="ls", weights=weights))


@pytest.mark.parametrize("decay", [0.9, 0.95, 0.9999])
def test_an_average_of_buffers_too_can_be_loaded(make_parts, loader, decay):
    method, optimizer, _ = make_parts()
    averaging = get_ema_multi_avg_fn(decay)
    average = AveragedModel(method.network, multi_avg_fn=averaging, use_buffers=True)
    train(method, loader, epochs=3, optimizer=optimizer, average=average, progress=False)
    method.network.load_state_dict(average.module.state_dict())
