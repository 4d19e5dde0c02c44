"""Several batches in a step, against one large batch and against steps by hand."""

import copy
import math
from functools import partial

import pytest
import torch
from small_problems import through_a_file
from test_processes import torchrun
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import StepLR

import pamal_core as pamal
from pamal_core import distributed
from pamal_core.balancing import MovingAverage, UncertaintyWeighting
from pamal_core.simplex import Annealed
from pamal_core.training import seed_everything

RNG = torch.Generator().manual_seed(2)
X = torch.randn(48, 4, generator=RNG, dtype=torch.float64)
SIZE, KIND, SOLD = X[:, 0] - X[:, 1] ** 2, (X[:, 2] > 0).long(), X[:, 3] > 0.2
TASKS = [pamal.regression("size"), pamal.classification("kind"), pamal.binary("sold")]


class Net(nn.Module):
    """Three heads; in float64, so that sums in another order are the same to twelve digits."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        self.size, self.kind, self.sold = nn.Linear(8, 1), nn.Linear(8, 2), nn.Linear(8, 1)
        self.double()

    def forward(self, x):
        z = self.body(x)
        return {"sold": self.sold(z), "size": self.size(z), "kind": self.kind(z)}


def split(size, *targets):
    parts = (x.split(size) for x in (X, *(targets or (SIZE, KIND, SOLD))))
    return list(zip(*parts, strict=True))


def in_dicts(size):
    return [dict(zip(("x", "size", "kind", "sold"), b, strict=True)) for b in split(size)]


def every_third_missing(size):
    """As many labels in each batch of 12 and of 48."""
    gone = torch.arange(48) % 3 == 0
    nans, ignored = SIZE.where(~gone, math.nan), KIND.where(~gone, -100)
    return split(size, nans, ignored, SOLD.double().where(~gone, math.nan))


def members(num=3, **given):
    torch.manual_seed(1)
    return pamal.WeightEnsemble([Net() for _ in range(num)], **given)


def low_rank():
    torch.manual_seed(1)
    return pamal.LowRankEnsemble(Net(), 3, rank=2, train_base=True)


ROWS = [[0.5, 0.3, 0.2]]


def trained(data, network=members, parts=None, groups=False, **options):
    """A training with a record of what each step saw."""
    method, seen = pamal.Method(network(), TASKS, **(parts or {})), []
    if groups:
        own = pamal.parameter_groups(method, lambda _, shape: {"lr": 0.05 * len(shape)})
        options["optimizer"] = torch.optim.SGD(own, lr=0.1, momentum=0.9)
    rows = pamal.train(
        method,
        data,
        progress=False,
        on_step=lambda t: seen.append((t.step, t.alphas.tolist(), t.losses)),
        **{"epochs": 3, "optimizer": partial(torch.optim.SGD, lr=0.1), **options},
    )
    return method, rows, seen


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"data": in_dicts},
        {"data": every_third_missing},
        {"parts": {"window": 3}},
        {"parts": {"preference": Annealed(5.0, end=0.5)}},
        {"network": low_rank},
        {"network": lambda: members(1, task_weights=ROWS)},
        {"groups": True},
        {"optimizer": None, "lr": 0.01},
        {"clip_norm": 0.05},
        {"ema": 0.5},
        {"scheduler": partial(StepLR, step_size=2), "scheduler_interval": "step"},
    ],
    ids=lambda given: ", ".join(given) or "plain",
)
def test_four_batches_in_a_step_are_one_large_batch(given):
    make, given = given.get("data", split), {k: v for k, v in given.items() if k != "data"}
    small, rows, seen = trained(make(6), accumulate=4, **given)
    whole, expected, large = trained(make(24), **given)
    assert [(step, alphas) for step, alphas, _ in seen] == [(s, a) for s, a, _ in large]
    for ours, theirs in zip(seen, large, strict=True):
        torch.testing.assert_close(ours[2], theirs[2], rtol=1e-9, atol=1e-9)
    for ours, theirs in zip(rows, expected, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6)  # sums of float32
    for ours, theirs in zip(small.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
    start = given.get("network", members)()
    assert not any(map(torch.equal, start.parameters(), whole.network.parameters()))


@pytest.mark.parametrize("accumulate", [1, 2, 4, 8])
def test_it_is_the_training_of_plain_torch_on_the_large_batch(accumulate):
    """Linear scalarisation, by hand."""
    network = members(1, task_weights=ROWS)
    plain = network.export([1.0])
    pamal.train(
        pamal.Method(network, TASKS),
        split(48 // accumulate),
        epochs=4,
        accumulate=accumulate,
        optimizer=partial(torch.optim.SGD, lr=0.2),
        progress=False,
    )
    descent = torch.optim.SGD(plain.parameters(), lr=0.2)
    for _ in range(4):
        descent.zero_grad()
        out = plain(X)
        loss = 0.5 * F.huber_loss(out["size"][:, 0], SIZE) + 0.3 * F.cross_entropy(
            out["kind"], KIND
        )
        bce = F.binary_cross_entropy_with_logits(out["sold"][:, 0], SOLD.double())
        (loss + 0.2 * bce).backward()
        descent.step()
    for ours, theirs in zip(network.export([1.0]).parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


def by_hand(method, data, accumulate, rate=0.1):
    """The weights after an epoch of steps, each along the mean of the gradients of its batches."""
    rng = seed_everything(0, 1)
    for first in range(0, len(data), accumulate):
        group, alphas = data[first : first + accumulate], method.draw(rng)
        slopes = []
        for batch in group:
            method.network.zero_grad()
            method.step(batch, alphas)
            slopes.append([p.grad.clone() for p in method.network.parameters()])
        with torch.no_grad():
            for weight, *own in zip(method.network.parameters(), *slopes, strict=True):
                weight -= rate * sum(own) / len(own)
    return [*method.network.parameters()]


RULES = {
    "linear": {},
    "unit norm": {"balancer": pamal.UnitNorm()},
    "moving average": {"balancer": MovingAverage(3), "window": 2},
    "a penalty": {"penalty": pamal.MultiForward(2.0), "window": 3},
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("accumulate", [2, 3, 5, 7, 9])
def test_balancers_act_on_each_batch_and_the_last_step_has_what_is_left(rule, accumulate):
    parts, data = RULES[rule], split(6)[:7]
    method, _, seen = trained(data, parts=copy.deepcopy(parts), epochs=1, accumulate=accumulate)
    assert len(seen) == math.ceil(7 / accumulate)
    expected = by_hand(pamal.Method(members(), TASKS, **copy.deepcopy(parts)), data, accumulate)
    for ours, theirs in zip(method.network.parameters(), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


def test_what_a_balancer_learns_follows_the_mean_too():
    method, *_ = trained(
        split(6)[:4],
        parts={"balancer": UncertaintyWeighting(3)},
        epochs=1,
        accumulate=4,
        optimizer=partial(torch.optim.SGD, lr=1.0),
    )
    twin, slopes = pamal.Method(members(), TASKS, balancer=UncertaintyWeighting(3)), []
    alphas = twin.draw(seed_everything(0, 1))
    for batch in split(6)[:4]:
        twin.balancer.log_variances.grad = None
        twin.step(batch, alphas)
        slopes.append(twin.balancer.log_variances.grad.clone())
    torch.testing.assert_close(method.balancer.log_variances.detach(), -sum(slopes) / 4)


def test_the_losses_of_an_epoch_are_means_over_the_batches_that_had_labels():
    still, data = partial(torch.optim.SGD, lr=0.0), split(12)
    data[1:3] = [(b[0], {"size": b[1], "sold": b[3]}) for b in data[1:3]]
    data[3] = (data[3][0], {"size": data[3][1], "kind": data[3][2]})
    given = {"network": lambda: members(1, task_weights=ROWS), "epochs": 1, "optimizer": still}
    _, (row,), seen = trained(data, accumulate=3, **given)
    _, (expected,), large = trained(data, **given)
    assert row == pytest.approx(expected, rel=1e-12)
    mean = torch.stack([losses for *_, losses in large[:3]]).mean(0)
    torch.testing.assert_close(seen[0][2], mean)


def test_a_hook_of_the_optimiser_sees_the_whole_gradient_once():
    norms = []

    def descent(parameters):
        made = torch.optim.SGD(parameters, lr=0.1)
        hook = lambda *_: norms.append(parameters[0].grad.norm().item())  # noqa: E731
        made.register_step_pre_hook(hook)
        return made

    trained(split(6), accumulate=4, optimizer=descent, epochs=2)
    small, norms[:] = norms[:], []
    trained(split(24), optimizer=descent, epochs=2)
    assert small == pytest.approx(norms, rel=1e-9) and len(norms) == 4


def test_it_runs_under_autocast_to_bfloat16_as_by_hand():
    class Short(Net):
        def __init__(self):
            super().__init__()
            self.float()

    data = [(b[0].float(), b[1].float(), *b[2:]) for b in split(12)]
    make = lambda: pamal.WeightEnsemble([Short() for _ in TASKS])  # noqa: E731
    torch.manual_seed(1)
    twin = pamal.Method(make(), TASKS)
    torch.manual_seed(1)
    with torch.autocast("cpu", torch.bfloat16):
        method, *_ = trained(data, network=make, accumulate=2, epochs=1)
        expected = by_hand(twin, data, 2)
    torch.testing.assert_close(method.network.stacked, expected[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("stopped", [1, 2, 3])
def test_a_training_that_was_stopped_goes_on_to_the_same_bits(stopped, tmp_path):
    states, given = [], {"accumulate": 3, "epochs": 4, "ema": 0.3}
    keep = lambda t: states.append(through_a_file(t.state_dict(), tmp_path))  # noqa: E731
    whole, rows, _ = trained(split(6), on_epoch=keep, **given)
    state = states[stopped - 1]
    assert state["step"] == 3 * stopped
    again, found, _ = trained(split(6), resume=state, **given)
    assert found == rows and torch.equal(again.network.stacked, whole.network.stacked)
    for other in (1, 2, 4):
        with pytest.raises(pamal.InputError, match=f"accumulate 3 in the state and {other} here"):
            trained(split(6), resume=state, **{**given, "accumulate": other})


def test_a_hook_may_stop_within_an_epoch():
    def stop(training):
        training.stop = training.step == 2

    read = []

    class Watched(list):
        def __iter__(self):
            for batch in list.__iter__(self):
                read.append(len(read))
                yield batch

    method = pamal.Method(members(), TASKS)
    pamal.train(method, Watched(split(6)), epochs=5, accumulate=3, on_step=stop, progress=False)
    assert len(read) == 6 and len(method.past) == 1


def test_a_loss_that_is_not_finite_in_one_batch_stops_before_the_step():
    data = split(12)
    data[2] = (data[2][0], data[2][1] * math.inf, *data[2][2:])
    method = pamal.Method(members(), TASKS)
    before = method.network.stacked.detach().clone()
    with pytest.raises(pamal.NonFiniteError, match=r"epoch 1, step 1\. The loss of task 1 \(size"):
        pamal.train(method, data, epochs=1, accumulate=4, progress=False)
    assert torch.equal(method.network.stacked, before)


@pytest.mark.parametrize("number", [0, -1, 2.0, True, "4", None, math.nan])
def test_a_step_has_a_whole_number_of_batches(number, monkeypatch):
    import jaxtyping

    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(pamal.InputError, match=r"`accumulate` must be a whole number >= 1. Found"):
        trained(split(12), accumulate=number)
    with pytest.raises(pamal.InputError, match=r"`accumulate` must be a whole number >= 1. Found"):
        pamal.fit(Net, TASKS, split(12), split(12), epochs=1, accumulate=number)


@pytest.mark.filterwarnings("ignore:LS. At no alpha better")
def test_fit_gives_it_to_the_front_and_to_the_one_network():
    given = {"epochs": 5, "lr": 0.01, "progress": False}
    found = pamal.fit(Net, TASKS, split(6), split(48), accumulate=4, **given)
    expected = pamal.fit(Net, TASKS, split(24), split(48), **given)
    for ours, theirs in ((found.front, expected.front), (found.baseline, expected.baseline)):
        assert ours.table.to_numpy() == pytest.approx(theirs.table.to_numpy(), rel=1e-6)


TWO = """
import torch
from pamal_core import distributed
import sys
sys.path.insert(0, {tests!r})
from test_accumulate import split, trained
torch.set_num_threads(1)
distributed.join()
method, rows, seen = trained(split(6), epochs=1, accumulate=2)
torch.save((method.network.stacked.detach(), rows, len(seen)), f"{distributed.rank()}.pt")
"""


def test_two_processes_average_once_a_step(tmp_path, monkeypatch):
    codes, errors = torchrun(TWO, tmp_path)
    assert codes == [0, 0], errors
    found = [torch.load(tmp_path / f"{rank}.pt") for rank in range(2)]
    method, rngs = pamal.Method(members(), TASKS), []
    for rank in range(2):
        monkeypatch.setattr(distributed, "rank", lambda rank=rank: rank)
        rngs.append(seed_everything(0, 1))
    for step in range(2):
        slopes = []
        for rank, rng in enumerate(rngs):
            alphas = method.draw(rng)
            for batch in split(6)[4 * step + rank : 4 * step + 4 : 2]:
                method.network.zero_grad()
                method.step(batch, alphas)
                slopes.append(method.network.stacked.grad.clone())
        method.network.stacked.data -= 0.1 * sum(slopes) / 4
    for weights, rows, steps in found:
        assert steps == 2 and rows == found[0][1]
        torch.testing.assert_close(weights, method.network.stacked.detach())
