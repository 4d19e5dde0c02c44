"""A mean of the weights of all steps, beside the last ones."""

import pytest
import torch
from small_problems import batches
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

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


@pytest.mark.parametrize("decay", [0.9, 0.95, 0.9999])
def test_an_average_of_buffers_too_can_be_loaded(make_parts, loader, decay):
    method, optimizer, _ = make_parts()
    averaging = get_ema_multi_avg_fn(decay)
    average = AveragedModel(method.network, multi_avg_fn=averaging, use_buffers=True)
    train(method, loader, epochs=3, optimizer=optimizer, average=average, progress=False)
    method.network.load_state_dict(average.module.state_dict())
