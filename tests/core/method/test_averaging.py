"""A mean of the weights of all steps, beside the last ones."""

import pytest
import torch
from small_problems import batches, through_a_file
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError
from pamal_core.method import Method
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
    return batches(batch, 8, shuffle=True)


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


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_in_one_word_the_network_ends_as_the_average_over_a_share(make_parts, loader, share):
    """12 steps: 0.5 of them are a decay of 1 - 1/6; a share below one step keeps the last."""
    method, *_ = make_parts()
    decay, seen, means, expected = max(1 - 1 / (share * 12), 0.0), [], [], []

    def watch(training):
        seen.append(method.network.stacked.detach().clone())
        means.append(training.network.stacked.detach().clone())

    rows = train(method, loader, epochs=3, ema=share, on_step=watch, progress=False)
    for weights in seen:
        before = expected[-1] if expected else weights
        expected.append(decay * before + (1 - decay) * weights)
    torch.testing.assert_close(torch.stack(means), torch.stack(expected))
    assert torch.equal(method.network.stacked, means[-1]) and len(means) == 12
    plain, *_ = make_parts()
    assert rows == train(plain, loader, epochs=3, progress=False)
    assert torch.equal(plain.network.stacked, seen[-1])


@pytest.mark.parametrize("stopped", [1, 3])
def test_a_training_with_an_average_is_resumed_to_the_same_bits(
    make_parts, loader, stopped, tmp_path
):
    (whole, *_), (again, *_), states = make_parts(), make_parts(), []
    keep = lambda t: states.append(through_a_file(t.state_dict(), tmp_path))  # noqa: E731
    rows = train(whole, loader, epochs=3, ema=0.5, on_epoch=keep, progress=False)
    state = states[stopped - 1]
    assert rows == train(again, loader, epochs=3, ema=0.5, resume=state, progress=False)
    assert torch.equal(again.network.stacked, whole.network.stacked)
    for given in ({}, {"ema": 0.1}):
        with pytest.raises(InputError, match=r"Found .*ema 0.5 in the state and"):
            train(again, loader, epochs=4, resume=state, progress=False, **given)


def test_a_training_that_a_hook_stops_ends_with_the_average(make_parts, loader):
    (method, *_), means = make_parts(), []

    def stop(training):
        means.append(training.network.stacked.detach().clone())
        training.stop = training.step == 5

    train(method, loader, epochs=3, ema=0.5, on_step=stop, progress=False)
    assert len(means) == 5 and torch.equal(method.network.stacked, means[-1])


@pytest.mark.parametrize("decay", [0.9, 0.95, 0.9999])
def test_an_average_of_buffers_too_can_be_loaded(make_parts, loader, decay):
    method, optimizer, _ = make_parts()
    averaging = get_ema_multi_avg_fn(decay)
    average = AveragedModel(method.network, multi_avg_fn=averaging, use_buffers=True)
    train(method, loader, epochs=3, optimizer=optimizer, average=average, progress=False)
    method.network.load_state_dict(average.module.state_dict())
