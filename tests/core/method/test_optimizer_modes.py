"""Optimisers that have a mode for training and one for evaluation, as schedule-free ones do."""

import copy

import pytest
import torch
from small_problems import through_a_file
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import pamal_core as pamal
from pamal_core.training import seed_everything, train

LR, BETA, EVERY = 0.05, 0.9, 3


class WithModes(torch.optim.Optimizer):
    """Swaps the weights for training, in which it steps, with those for evaluation."""

    def __init__(self, parameters):
        super().__init__(parameters, {"number": 0, "trains": False})

    def train(self):
        self.switch(True)

    def eval(self):
        self.switch(False)

    @torch.no_grad()
    def switch(self, trains):
        for group in self.param_groups:
            if group["trains"] != trains:
                group["trains"] = trains
                for y in group["params"]:
                    if state := self.state[y]:
                        y.copy_(self.weights(y, state, trains))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            if not group["trains"]:
                raise ValueError("it steps in training mode only")
            group["number"] += 1
            for y in group["params"]:
                self.move(y, self.state[y], group["number"])


class ScheduleFree(WithModes):
    """Schedule-free gradient descent (Defazio et al., "The road less scheduled", 2024): steps z,
    their mean x for evaluation, and y between the two for gradients."""

    def weights(self, y, state, trains):
        return state["x"].lerp(state["z"], 1 - BETA) if trains else state["x"]

    def move(self, y, state, number):
        if not state:
            state.update(x=y.clone(), z=y.clone())
        state["z"].sub_(y.grad, alpha=LR)
        state["x"].lerp_(state["z"], 1 / number)
        y.copy_(self.weights(y, state, True))


class ScheduleFreeAdam(WithModes):
    """The same with Adam's second moments. As in the authors' package, x is in no memory."""

    def weights(self, y, state, trains):
        return y.lerp(state["z"], 1 - BETA if trains else 1 - 1 / BETA)

    def move(self, y, state, number):
        if not state:
            state.update(z=y.clone(), v=torch.zeros_like(y))
        state["v"].lerp_(y.grad**2, 0.01)
        slope = y.grad / ((state["v"] / (1 - 0.99**number)).sqrt() + 1e-8)
        y.lerp_(state["z"], 1 / number).add_(slope, alpha=LR * (BETA * (1 - 1 / number) - 1))
        state["z"].sub_(slope, alpha=LR)


class Lookahead(WithModes):
    """Zhang et al. (2019): slow weights for evaluation, which follow fast ones every few steps.
    They are there from the start, as in some packages."""

    def __init__(self, parameters):
        super().__init__(parameters)
        for group in self.param_groups:
            for y in group["params"]:
                self.state[y].update(slow=y.detach().clone(), fast=y.detach().clone())

    def weights(self, y, state, trains):
        return state["fast" if trains else "slow"]

    def move(self, y, state, number):
        y.sub_(y.grad, alpha=LR)
        if number % EVERY == 0:
            state["slow"].lerp_(y, 0.5)
            y.copy_(state["slow"])
        state["fast"].copy_(y)


class Averaging(WithModes):
    """Gradient descent that is judged by an exponential average of its weights."""

    def weights(self, y, state, trains):
        return state["last" if trains else "mean"]

    def move(self, y, state, number):
        y.sub_(y.grad, alpha=LR)
        state.setdefault("mean", y.clone()).lerp_(y, 0.2)
        state["last"] = y.clone()


# The same rules on one vector: each yields the weights for training and those for evaluation, and
# gets the gradient at the first.


def schedule_free(w):
    x = z = y = w
    number = 0
    while True:
        gradient = yield y, x
        number += 1
        z = z - LR * gradient
        x = x + (z - x) / number
        y = BETA * x + (1 - BETA) * z


def schedule_free_adam(w):
    x = z = y = w
    number, squares = 0, 0
    while True:
        gradient = yield y, x
        number += 1
        squares = 0.99 * squares + 0.01 * gradient**2
        z = z - LR * gradient / ((squares / (1 - 0.99**number)) ** 0.5 + 1e-8)
        x = x + (z - x) / number
        y = BETA * x + (1 - BETA) * z


def lookahead(w):
    slow = fast = w
    number = 0
    while True:
        gradient = yield fast, slow
        number += 1
        fast = fast - LR * gradient
        if number % EVERY == 0:
            slow = fast = (slow + fast) / 2


def averaging(w):
    mean = last = w
    is_first = True
    while True:
        gradient = yield last, mean
        last = last - LR * gradient
        mean = last if is_first else 0.8 * mean + 0.2 * last
        is_first = False


RULES = {
    ScheduleFree: schedule_free,
    ScheduleFreeAdam: schedule_free_adam,
    Lookahead: lookahead,
    Averaging: averaging,
}
every = pytest.mark.parametrize("kind", RULES)


def weights(method):
    return parameters_to_vector(method.network.parameters()).detach().clone()


def followed(kind, parameters, backwards):
    """Return the weights for evaluation after each step, and leave the last in `parameters`.

    - `backwards`: functions, one for each step, that add gradients to the parameters.
    """
    parameters, means = [*parameters], []
    course = RULES[kind](parameters_to_vector(parameters).detach().double())
    y, x = next(course)
    for backward in backwards:
        vector_to_parameters(y.float(), parameters)
        for parameter in parameters:
            parameter.grad = None
        backward()
        y, x = course.send(torch.cat([p.grad.flatten() for p in parameters]).double())
        means.append(x.float())
    vector_to_parameters(x.float(), parameters)
    return torch.stack(means)


def steps_of(method, loader, epochs):
    """Yield the backward pass of each step that `train` takes in these epochs, counted from 1."""
    for epoch in epochs:
        rng = seed_everything(0, epoch)
        method.network.train()
        for batch in loader:
            yield lambda batch=batch, rng=rng: method.step(batch, method.draw(rng))


def by_hand(kind, method, loader, epochs):
    steps = steps_of(method, loader, range(1, epochs + 1))
    return followed(kind, method.network.parameters(), steps)


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=2e-6)


# In `train`


@every
def test_hooks_and_the_end_find_the_weights_for_evaluation(make_plain_method, loader, kind):
    method, seen, modes = make_plain_method(), [], []

    def watch(training):
        seen.append(weights(training.method))
        modes.append(training.optimizer.param_groups[0]["trains"])

    given = {"optimizer": kind, "progress": False}
    train(method, loader, epochs=3, on_step=watch, **given)
    expected = by_hand(kind, make_plain_method(), loader, epochs=3)
    close(torch.stack(seen), expected)
    assert torch.equal(weights(method), seen[-1]) and modes == [False] * 12
    again = make_plain_method()
    seen.clear()
    train(again, loader, epochs=3, on_epoch=watch, **given)
    close(torch.stack(seen), expected[3::4])
    quiet = make_plain_method()
    train(quiet, loader, epochs=3, **given)  # hooks change nothing
    assert torch.equal(weights(quiet), weights(again))
    close(weights(quiet), weights(method))


@every
def test_a_hook_that_stops_leaves_the_weights_for_evaluation(make_plain_method, loader, kind):
    method, seen = make_plain_method(), []

    def stop(training):
        seen.append(weights(method))
        training.stop = training.step == 6

    train(method, loader, epochs=3, optimizer=kind, on_step=stop, progress=False)
    assert len(seen) == 6
    close(weights(method), by_hand(kind, make_plain_method(), loader, epochs=2)[5])
    close(weights(method), seen[-1])


@every
def test_it_is_resumed_to_the_same_bits(make_plain_method, loader, tmp_path, kind):
    whole, again, states = make_plain_method(), make_plain_method(), []
    keep = lambda t: states.append(through_a_file(t.state_dict(), tmp_path))  # noqa: E731
    given = {"epochs": 3, "optimizer": kind, "progress": False}
    rows = train(whole, loader, on_epoch=keep, **given)
    assert rows == train(again, loader, resume=states[0], **given)
    assert torch.equal(weights(whole), weights(again))


@every
def test_an_average_is_of_the_weights_for_evaluation(make_plain_method, loader, kind):
    method, seen = make_plain_method(), []

    def watch(training):
        seen.append(parameters_to_vector(training.network.parameters()).detach().clone())

    given = {"optimizer": kind, "ema": 0.7, "progress": False}
    train(method, loader, epochs=2, on_step=watch, **given)
    mean, *later = by_hand(kind, make_plain_method(), loader, epochs=2)
    expected = [mean]
    for x in later:
        mean = 0.7 * mean + 0.3 * x
        expected.append(mean)
    close(torch.stack(seen), torch.stack(expected))
    assert torch.equal(weights(method), seen[-1])


def test_an_optimiser_that_is_given_has_its_modes_in_each_call(make_plain_method, loader):
    method, twin = make_plain_method(), make_plain_method()
    optimizer = ScheduleFree(method.parameters())
    optimizer.train()  # as its users are told to
    for _ in range(2):
        train(method, loader, epochs=1, optimizer=optimizer, progress=False)
    assert not optimizer.param_groups[0]["trains"]
    close(weights(method), by_hand(ScheduleFree, twin, loader, epochs=2)[-1])


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_an_attribute_of_that_name_is_no_mode(make_plain_method, loader, mode):
    class Flagged(torch.optim.SGD):
        pass

    setattr(Flagged, mode, True)
    method, twin = make_plain_method(), make_plain_method()
    for one, kind in ((method, Flagged), (twin, torch.optim.SGD)):
        train(one, loader, epochs=1, optimizer=kind, progress=False)
    assert torch.equal(weights(method), weights(twin))


# In `fit`


@pytest.fixture
def fitted(make_mlp, tasks, batch):
    """`fit` for two epochs, after a start if there is one, and the methods that it trains."""
    data = [tuple(part[i : i + 8] for part in batch) for i in range(0, 32, 8)]

    def run(kind, **options):
        given = {"epochs": 2, "averaging": None, "baseline": None, "progress": False} | options
        return pamal.fit(make_mlp, tasks, data, data, optimizer=kind, **given)

    run.loader = data
    return run


def members(make_mlp, tasks, number, rows=None):
    """The method of so many members that `fit` makes."""
    torch.manual_seed(0)
    models = [make_mlp() for _ in range(number)]
    return pamal.Method(pamal.WeightEnsemble(models, task_weights=rows), tasks)


@every
@pytest.mark.filterwarnings("ignore:At no alpha")
def test_fit_shows_and_judges_the_weights_for_evaluation(fitted, make_mlp, tasks, kind):
    steps, epochs = [], []
    found = fitted(
        kind,
        on_step=lambda training: steps.append(weights(training.method)),
        on_epoch=lambda training: epochs.append(weights(training.method)),
    )
    method = members(make_mlp, tasks, 2)
    expected = by_hand(kind, method, fitted.loader, epochs=2)
    close(torch.stack(steps), expected)
    close(torch.stack(epochs), expected[3::4])
    table = pamal.evaluate(method.network, tasks, fitted.loader, progress=False).table
    losses = ["height/loss", "kind/loss"]
    torch.testing.assert_close(
        torch.tensor(found.front.table[losses].to_numpy()),
        torch.tensor(table[losses].to_numpy()),
        rtol=1e-4,
        atol=1e-5,
    )


@every
@pytest.mark.filterwarnings("ignore:.*At no alpha")
def test_the_baseline_of_fit_is_plain_torch_in_evaluation_mode(fitted, make_mlp, tasks, kind):
    found = fitted(kind, baseline="ls").baselines["LS"]
    torch.manual_seed(0)
    model = make_mlp()

    def backward(batch):
        x, *targets = batch
        pairs = zip(tasks, model(x), targets, strict=True)
        sum(0.5 * task.loss(output, target) for task, output, target in pairs).backward()

    steps = [lambda batch=batch: backward(batch) for batch in fitted.loader * 2]
    followed(kind, model.parameters(), steps)
    with torch.no_grad():
        outputs = model(torch.cat([x for x, *_ in fitted.loader]))
    targets = [torch.cat(part) for part in [*zip(*fitted.loader, strict=True)][1:]]
    for task, output, target in zip(tasks, outputs, targets, strict=True):
        loss = found.table[f"{task.name}/loss"].item()
        assert loss == pytest.approx(task.loss(output, target).item(), rel=1e-4)


@every
@pytest.mark.parametrize("soup", [False, True])
@pytest.mark.filterwarnings("ignore:.*At no alpha")
def test_members_begin_anew_with_the_weights_of_the_start(fitted, make_mlp, tasks, kind, soup):
    """Also for an optimiser that keeps the weights that it was made with."""
    found = fitted(kind, epochs=3, start=1, soup=soup)
    start = members(make_mlp, tasks, 1, [[0.5, 0.5]])
    by_hand(kind, start, fitted.loader, epochs=1)
    one = start.network.export([1.0])
    copies, rows = [copy.deepcopy(one) for _ in range(2)], [[0.9, 0.1], [0.1, 0.9]]
    network = pamal.WeightEnsemble(copies, task_weights=rows if soup else None)
    options = {"preference": pamal.Dirichlet(0.0, stratified=True), "window": 2} if soup else {}
    steps = steps_of(method := pamal.Method(network, tasks, **options), fitted.loader, [2, 3])
    close(found.network.members(), unmixed(followed(kind, network.parameters(), steps), method))


def unmixed(means, method):
    """The members of the network whose parameters have the last of `means`."""
    vector_to_parameters(means[-1], method.network.parameters())
    return method.network.members().detach()
