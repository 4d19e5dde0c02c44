"""An exported network is the one that the front measured, running statistics included."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import jaxtyping
import pytest
import torch
from small_problems import through_a_file
from torch import nn
from torch.optim.swa_utils import update_bn

from pamal_core import Method, WeightEnsemble, evaluate, regression, train
from pamal_core.errors import InputError
from pamal_core.tasks import task_losses

TASKS = [regression("a"), regression("b")]


class Tracked(nn.Module):
    """Every kind of layer that keeps running statistics, behind weights that differ by member."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3)
        self.norms = nn.Sequential(
            nn.BatchNorm2d(4), nn.InstanceNorm2d(4, affine=True, track_running_stats=True)
        )
        self.out = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(4 * 9), nn.Linear(4 * 9, 2))

    def forward(self, x):
        return self.out(self.norms(self.conv(x))).unbind(1)


class Spectral(nn.Module):
    """A spectral norm, whose vectors follow the weights, and a constant buffer, which does not."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2))
        self.register_buffer("offset", torch.ones(2))

    def forward(self, x):
        return (self.layer(x) + self.offset).unbind(1)


def batches(num=3):
    return [
        (torch.randn(16, 2, 5, 5) * 2 + 1, torch.randn(16), torch.randn(16)) for _ in range(num)
    ]


def trained_statistics(ensemble):
    """As training leaves them: from the middle of the front."""
    ensemble.train()
    with torch.no_grad():
        ensemble(batches(1)[0][0], [0.5, 0.5])
    return {name: buffer.clone() for name, buffer in ensemble.named_buffers()}


def test_an_exported_network_has_the_metrics_that_the_front_gives_it():
    ensemble, data, calibration = WeightEnsemble([Tracked(), Tracked()]), batches(), batches()
    before = trained_statistics(ensemble)
    for given in (calibration, "shared"):
        front = evaluate(ensemble, TASKS, data, calibration=given)
        for alpha, (_, row) in zip(front.alphas, front.table.iterrows(), strict=True):
            model = ensemble.export(alpha, calibration=given)
            losses = torch.stack([task_losses(TASKS, model(x), ys) for x, *ys in data]).mean(0)
            found = row[[f"{task.name}/loss" for task in TASKS]].to_numpy()
            assert found == pytest.approx(losses.detach().numpy(), rel=1e-4)
    assert ensemble.training
    for name, buffer in ensemble.named_buffers():
        assert torch.equal(buffer, before[name])


def test_every_running_statistic_is_the_mean_over_the_batches():
    ensemble, calibration = WeightEnsemble([Tracked(), Tracked()]), batches()
    trained_statistics(ensemble)
    model = ensemble.export([0.3, 0.7], calibration=calibration)
    x = [model.conv(x).detach() for x, *_ in calibration]
    means = torch.stack([part.mean((0, 2, 3)) for part in x]).mean(0)
    torch.testing.assert_close(model.norms[0].running_mean, means)
    model.norms[0].train()  # as when they were estimated
    x = [model.norms[0](part).detach() for part in x]
    variances = torch.stack([part.var((2, 3)).mean(0) for part in x]).mean(0)
    torch.testing.assert_close(model.norms[1].running_var, variances)


def test_an_exported_layer_has_the_momentum_of_the_members():
    model = WeightEnsemble([Tracked(), Tracked()]).export([0.3, 0.7], calibration=batches())
    assert model.norms[0].momentum == model.norms[1].momentum == 0.1


def test_statistics_that_overflowed_in_training_are_forgotten():
    ensemble, calibration = WeightEnsemble([Tracked(), Tracked()]), batches()
    expected = ensemble.export([0.3, 0.7], calibration=calibration).state_dict()
    for name, buffer in ensemble.named_buffers():
        if "running" in name:
            buffer.fill_(torch.inf)
    found = ensemble.export([0.3, 0.7], calibration=calibration).state_dict()
    torch.testing.assert_close(found, expected)


ACTS = {
    "export": lambda network, data, **given: network.export([1, 0], **given),
    "predict": lambda network, data, **given: network.predict(data[0][0], [1, 0], **given),
    "evaluate": lambda network, data, **given: evaluate(network, TASKS, data, **given),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_who_does_not_say_which_statistics_is_told_what_is_shared(act):
    tracked = WeightEnsemble([Tracked(), Tracked()])
    with pytest.warns(UserWarning, match="share the running statistics of normalisation"):
        act(tracked, batches())
    tracked.calibration = batches()
    act(tracked, batches())  # and is told nothing once there are examples


class Frozen(nn.Module):
    """A frozen part with statistics of its own, which the model keeps in evaluation mode."""

    def __init__(self, by_override: bool) -> None:
        super().__init__()
        self.part = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).requires_grad_(False)
        for weight, value in zip(self.part.parameters(), (0.5, 0.1, 2.0, 0.3), strict=True):
            weight.fill_(value)
        self.part[1].running_mean.fill_(3.0)
        self.part.eval()
        self.head, self.by_override = nn.Linear(4, 2), by_override

    def train(self, mode=True):
        super().train(mode)
        if self.by_override:
            self.part.eval()
        return self

    def forward(self, x):
        return self.head(self.part(x)).unbind(1)


@pytest.mark.parametrize("by_override", [True, False])
def test_statistics_of_a_frozen_part_stay_as_they_are_given(by_override):
    members = [Frozen(by_override), Frozen(by_override)]
    ensemble, data = WeightEnsemble(members), [(torch.randn(8, 3), torch.randn(8), torch.randn(8))]
    train(Method(ensemble, TASKS), data, epochs=1, progress=False)
    evaluate(ensemble, TASKS, data)  # nothing that alphas share: no warning
    for given in (None, data):
        model = ensemble.export([0.5, 0.5], calibration=given)
        for name, value in members[0].part.state_dict().items():
            assert torch.equal(model.part.state_dict()[name], value)
        got = ensemble.predict(data[0][0], [0.5, 0.5], calibration=given)
        torch.testing.assert_close(got, [*model(data[0][0])])


def test_calibration_lets_a_spectral_norm_follow_the_weights():
    """The largest singular value of an exported weight is 1 where the vectors are its own."""
    members = [Spectral(), Spectral()]
    members[1].load_state_dict(dict(members[0].named_buffers()), strict=False)
    ensemble, x = WeightEnsemble(members), torch.randn(8, 3)
    ensemble.train()
    for _ in range(30):
        ensemble(x, [0.5, 0.5])
    model = ensemble.export([1.0, 0.0], calibration=[(x,)] * 30)
    assert torch.linalg.matrix_norm(model.layer.weight, 2).item() == pytest.approx(1, abs=1e-4)
    model = ensemble.export([1.0, 0.0], calibration="shared")
    assert torch.linalg.matrix_norm(model.layer.weight, 2).item() > 1.001


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_statistics_stay_as_they_were_where_the_batches_are_no_good(act, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    ensemble, data = WeightEnsemble([Tracked(), Tracked()]), batches()
    before = trained_statistics(ensemble)
    for wrong in ([], [data[0], (torch.ones(2, 3),)], data[0], "own"):
        with pytest.raises((InputError, RuntimeError)):
            act(ensemble, data, calibration=wrong)
    assert ensemble.training and ensemble.skeleton.model.norms[0].momentum == 0.1
    for name, buffer in ensemble.named_buffers():
        assert torch.equal(buffer, before[name])


def test_one_member_alone_has_its_statistics_to_itself():
    single = WeightEnsemble([Tracked()], task_weights=[[0.5, 0.5]])
    single.export([1.0])
    evaluate(single, TASKS, batches())


def test_what_is_frozen_comes_along():
    members = [Frozen(False), Frozen(False)]
    exported = WeightEnsemble(members).export([0.5, 0.5], calibration="shared")
    assert torch.equal(exported.part[0].weight, members[0].part[0].weight)
    assert not exported.part[0].weight.requires_grad


class Growing(nn.Module):
    """Registers a buffer when it is first called."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        if "offset" not in self._buffers:
            self.register_buffer("offset", x.new_ones(3))
        return (self.layer(x + self.offset),)


def test_a_buffer_registered_in_the_forward_pass_is_exported():
    ensemble, x = WeightEnsemble([Growing(), Growing()]), torch.randn(4, 3)
    (found,) = ensemble(x, [0.5, 0.5])
    model = ensemble.export([0.5, 0.5])
    torch.testing.assert_close(model(x)[0], found)


class Normed(Tracked):
    """BatchNorm alone, which torch's own `update_bn` knows."""

    def __init__(self) -> None:
        super().__init__()
        del self.norms[1]


def trained(num_members=2, sizes=(80,) * 9, **given):
    """A network and the data that it was trained on."""
    torch.manual_seed(5)
    network = WeightEnsemble(Normed(), num_members=num_members, task_weights=ROWS[:num_members])
    data = [(torch.randn(n, 2, 5, 5) * 2 + 1, *torch.randn(2, n)) for n in sizes]
    train(Method(network, TASKS, window=2), data, **{"epochs": 2, "progress": False} | given)
    return network, data


ROWS = [[1.0, 0.0], [0.0, 1.0]]


def by_hand(network, alpha, inputs):
    """The model at `alpha`, whose statistics torch re-estimates."""
    model = network.export(alpha, calibration="shared")
    update_bn(inputs, model)
    return model


@pytest.mark.parametrize("num_members", [1, 2])
@pytest.mark.parametrize("ema", [None, 0.5])
def test_statistics_are_re_estimated_on_what_training_kept(num_members, ema):
    network, data = trained(num_members, ema=ema)
    before = {name: buffer.clone() for name, buffer in network.named_buffers()}
    first = [x for x, *_ in data[:7]]  # 560 examples: the fewest whole batches with 512
    assert len(network.calibration) == 7
    front = evaluate(network, TASKS, data)
    for alpha, (_, row) in zip(front.alphas, front.table.iterrows(), strict=True):
        model, x = by_hand(network, alpha, first), data[8][0]
        torch.testing.assert_close(network.export(alpha).state_dict(), model.state_dict())
        torch.testing.assert_close(network.predict(x, alpha), [*model(x)])
        with torch.no_grad():
            losses = [TASKS[0].loss(model(x)[0], y).item() for x, y, _ in data]
        assert row["a/loss"] == pytest.approx(sum(losses) / 9, rel=1e-4)
    assert all(torch.equal(buffer, before[name]) for name, buffer in network.named_buffers())


def test_the_first_inputs_of_the_last_call_are_kept_or_those_given():
    network, data = trained()
    method, seen, expected = Method(network, TASKS), [], [x.clone() for x, *_ in data[2:]]
    again = {"progress": False, "on_step": lambda t: seen.append(len(t.network.calibration))}
    train(method, data[2:], epochs=2, ema=0.1, **again)
    data[2][0].zero_()  # what is kept is a copy
    assert seen == [*range(1, 8)] + [7] * 7
    assert all(torch.equal(x, y) for (x,), y in zip(network.calibration, expected, strict=True))
    own = [(torch.randn(4, 2, 5, 5),)]
    train(method, data, epochs=1, calibration=own, progress=False)
    torch.testing.assert_close(
        network.export([1, 0]).state_dict(), by_hand(network, [1, 0], [own[0][0]]).state_dict()
    )
    train(method, data, epochs=1, calibration="shared", progress=False)
    kept, shared = network.export([1, 0]), network.export([1, 0], calibration="shared")
    torch.testing.assert_close(kept.state_dict(), shared.state_dict(), rtol=0, atol=0)
    plain = WeightEnsemble([nn.Linear(3, 2), nn.Linear(3, 2)])
    plain.skeleton.model.register_forward_hook(lambda _, __, out: out.unbind(1))
    train(Method(plain, TASKS), [(torch.randn(8, 3), *torch.randn(2, 8))], epochs=1, progress=False)
    assert plain.calibration is None


@pytest.mark.parametrize("given", [{}, {"ema": 0.2}, {"calibration": "shared"}])
def test_a_resumed_training_keeps_the_same_inputs(given, tmp_path):
    states = []

    def keep(training):
        states.append(through_a_file(training.state_dict(), tmp_path))

    whole, data = trained(epochs=3, on_epoch=keep, **given)
    again = WeightEnsemble(Normed(), num_members=2)
    others = [(x + 1, *ys) for x, *ys in data]
    method, own = Method(again, TASKS, window=2), {"progress": False, **given}
    train(method, data, epochs=3, resume=states[0], **own)
    assert evaluate(again, TASKS, data).table.equals(evaluate(whole, TASKS, data).table)
    train(method, others, epochs=3, resume=states[2], **own)  # nothing is left to do
    assert evaluate(again, TASKS, data).table.equals(evaluate(whole, TASKS, data).table)


@pytest.mark.parametrize("serve", ["predict", "module"])
def test_threads_need_no_lock(serve):
    network, data = trained(sizes=(512, 16))
    x, before = data[0][0][:4], network.state_dict()

    def answer(share):
        if serve == "predict":
            return network.predict(x, [share, 1 - share])[0]
        return network.export([share, 1 - share])(x)[0].detach()

    shares = [k / 10 for k in range(11)]
    expected = {share: answer(share) for share in shares}
    with ThreadPoolExecutor(8) as pool:
        requests = (shares * 15)[: 8 * 20]
        for share, output in zip(requests, pool.map(answer, requests), strict=True):
            torch.testing.assert_close(output, expected[share])
    torch.testing.assert_close(network.state_dict(), before, rtol=0, atol=0)


def test_a_thread_may_ask_while_another_one_calls_the_network():
    network, data = trained()
    network.eval()
    x = data[0][0][:4]
    expected = network.predict(x, [0.2, 0.8])[0]
    called = network(x, [0.9, 0.1])[0]
    end = Event()

    def calls():
        number = 0
        while not end.is_set():
            assert torch.equal(network(x, [0.9, 0.1])[0], called)
            number += 1
        return number

    with ThreadPoolExecutor(1) as pool:
        number = pool.submit(calls)
        try:
            for _ in range(100):
                assert torch.equal(network.predict(x, [0.2, 0.8])[0], expected)
                module = network.export([0.2, 0.8])
                torch.testing.assert_close(module(x)[0].detach(), expected)
        finally:
            end.set()
        assert number.result() > 1


def test_two_threads_in_one_call_are_refused():
    """A thread enters while another one is within a call of the network, and never gets numbers of
    its weights; nested calls of one thread, and calls one after another, go on."""
    network, data = trained()
    network.eval()
    x, inside, leave = data[0][0][:4], Event(), Event()

    def slow(_module, _inputs):
        inside.set()
        assert leave.wait(10)

    handle = network.skeleton.model.register_forward_pre_hook(slow)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(network, x, [0.2, 0.8])
        assert inside.wait(10)
        with pytest.raises(RuntimeError, match="another thread is calling it: ask `predict`"):
            network(x, [0.9, 0.1])
        leave.set()
        first = first.result()
    handle.remove()
    expected = network(x, [0.2, 0.8])
    for one, other in zip(first, expected, strict=True):
        torch.testing.assert_close(one, other)
    theta = network.theta([0.9, 0.1])
    with network.skeleton.holding(theta):
        nested = network(x, [0.2, 0.8])
    for one, other in zip(nested, expected, strict=True):
        torch.testing.assert_close(one, other)
