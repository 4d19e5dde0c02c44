"""A moving average of the weights of all steps, which the network has in the end."""

import pytest
import torch
from small_problems import through_a_file
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import pamal_core as pamal
from pamal_core.errors import InputError
from pamal_core.training import train


def weights(network):
    return torch.cat([p.detach().flatten() for p in network.parameters()])


def steps_of(method, seen):
    """Plain Adam that notes the weights after each step."""
    optimizer = torch.optim.Adam(method.parameters(), lr=0.01)
    optimizer.register_step_post_hook(lambda *_: seen.append(weights(method.network)))
    return optimizer


def test_the_average_is_the_sum_over_steps_with_weights_that_decay(make_plain_method, loader):
    method, seen = make_plain_method(), []
    train(method, loader, epochs=3, optimizer=steps_of(method, seen), ema=0.9, progress=False)
    shares = torch.tensor([0.9 ** (len(seen) - 1 - step) for step in range(len(seen))])
    shares[1:] *= 0.1  # the first step starts the average, all others enter it with a tenth
    assert shares.sum() == pytest.approx(1) and len(seen) == 12
    torch.testing.assert_close(weights(method.network), shares @ torch.stack(seen))
    assert not torch.allclose(weights(method.network), seen[-1], atol=1e-4)


@pytest.mark.parametrize("decay", [1e-9, 0.5, 0.999])
def test_hooks_find_the_average_beside_the_network_that_is_trained(
    make_plain_method, loader, decay
):
    method, seen, means, expected = make_plain_method(), [], [], []

    def watch(training):
        seen.append(weights(method.network))
        means.append(weights(training.network))

    rows = train(method, loader, epochs=3, ema=decay, on_step=watch, progress=False)
    for after in seen:
        before = expected[-1] if expected else after
        expected.append(decay * before + (1 - decay) * after)
    torch.testing.assert_close(torch.stack(means), torch.stack(expected))
    assert torch.equal(weights(method.network), means[-1]) and len(means) == 12
    plain = make_plain_method()
    assert rows == train(plain, loader, epochs=3, progress=False)
    assert torch.equal(weights(plain.network), seen[-1])


def test_it_is_the_average_of_torch_to_the_last_bit(make_plain_method, loader):
    """As one keeps it in a hook, beside the network."""
    ours, theirs = make_plain_method(), make_plain_method()
    train(ours, loader, epochs=3, ema=0.9, progress=False)
    average = AveragedModel(theirs.network, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    update = lambda training: average.update_parameters(theirs.network)  # noqa: E731
    train(theirs, loader, epochs=3, on_step=update, progress=False)
    assert torch.equal(weights(ours.network), weights(average.module))
    last = weights(average.module)
    train(theirs, loader, epochs=1, progress=False)
    assert torch.equal(weights(average.module), last)  # it follows no later training
    fixed = [*loader]
    fronts = [pamal.evaluate(n, theirs.tasks, fixed) for n in (ours.network, average)]
    assert fronts[0].table.equals(fronts[1].table)


@pytest.mark.parametrize("stopped", [1, 3])
def test_a_training_with_an_average_is_resumed_to_the_same_bits(
    make_plain_method, loader, stopped, tmp_path
):
    whole, again, states = make_plain_method(), make_plain_method(), []
    keep = lambda t: states.append(through_a_file(t.state_dict(), tmp_path))  # noqa: E731
    rows = train(whole, loader, epochs=3, ema=0.8, on_epoch=keep, progress=False)
    state = states[stopped - 1]
    assert rows == train(again, loader, epochs=3, ema=0.8, resume=state, progress=False)
    assert torch.equal(weights(again.network), weights(whole.network))


def test_a_training_that_a_hook_stops_ends_with_the_average(make_plain_method, loader):
    method, means = make_plain_method(), []

    def stop(training):
        means.append(weights(training.network))
        training.stop = training.step == 5

    train(method, loader, epochs=3, ema=0.8, on_step=stop, progress=False)
    assert len(means) == 5 and torch.equal(weights(method.network), means[-1])


@pytest.fixture
def decays(monkeypatch):
    """The decays that `fit` gives to `train`, with the number of members."""
    found = []

    def watched(method, *arguments, ema, **options):
        found.append((method.network.num_members, ema))
        return train(method, *arguments, ema=ema, **options)

    monkeypatch.setattr("pamal_core.stages.train", watched)
    return found


@pytest.mark.filterwarnings("ignore:.*At no alpha")
@pytest.mark.parametrize(
    ("averaging", "expected"),
    [
        (0.5, [(2, 1 - 1 / 6), (1, 1 - 1 / 12)]),
        (1.0, [(2, 1 - 1 / 12), (1, 1 - 1 / 24)]),
        (1 / 24, [(2, None), (1, None)]),  # of a single step and less
        (None, [(2, None), (1, None)]),
    ],
)
def test_fit_averages_over_a_share_of_the_steps_of_each_training(
    make_mlp, tasks, loader, decays, averaging, expected
):
    """12 steps for the front with two draws in each, and 24 for LS."""
    given = {"epochs": 3, "window": 2, "averaging": averaging, "progress": False}
    pamal.fit(make_mlp, tasks, loader, loader, **given)
    assert decays == expected


@pytest.mark.filterwarnings("ignore:.*At no alpha")
def test_fit_averages_over_a_tenth_by_default(make_mlp, tasks, loader, decays):
    pamal.fit(make_mlp, tasks, loader, loader, epochs=5, baseline=None, progress=False)
    assert decays == [(2, 1 - 1 / 2)]


class Lengthless:
    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)


@pytest.mark.filterwarnings("ignore:.*At no alpha")
def test_fit_needs_the_number_of_steps_for_a_share_of_them(make_mlp, tasks, loader):
    given = {"epochs": 2, "progress": False}
    with pytest.raises(InputError, match="`averaging` is a share of all steps, so the loader must"):
        pamal.fit(make_mlp, tasks, Lengthless([*loader]), loader, **given)
    found = pamal.fit(make_mlp, tasks, Lengthless([*loader]), loader, averaging=None, **given)
    assert len(found.history) == 2
