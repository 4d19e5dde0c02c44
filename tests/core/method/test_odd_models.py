"""Models and losses that `evaluate` or an optimiser would stumble over are refused on the first
batch, in one sentence, before a weight is moved."""

from collections import namedtuple

import jaxtyping
import pytest
import torch
from small_problems import SharedBottom
from torch import nn
from torch.nn import functional as F

from pamal_core import (
    InputError,
    Method,
    Metric,
    Task,
    WeightEnsemble,
    classification,
    depth,
    evaluate,
    regression,
    train,
)
from pamal_core.tasks import task_losses

X, KINDS, SIZES = torch.randn(8, 4), torch.arange(8) % 3, torch.randn(8)
TASKS = [classification("kind"), regression("size")]


class Net(SharedBottom):
    def __init__(self) -> None:
        encoder = nn.Sequential(nn.Linear(4, 6), nn.Tanh())
        super().__init__(encoder, [nn.Linear(6, 3), nn.Linear(6, 1)])


class Forces(Net):
    """Its second output is a slope of its first, in evaluation, too."""

    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            kind, _ = super().forward(x)
            return kind, torch.autograd.grad(kind.sum(), x, create_graph=True)[0].sum(1)


class Renormed(Net):
    """Keeps its weights short, as an EEGNet does."""

    def forward(self, x):
        weight = self.encoder[0].weight
        weight.data = torch.renorm(weight.data, 2, 0, 0.1)
        return super().forward(x)


class Replaced(Net):
    def forward(self, x):
        self.encoder[0].weight = nn.Parameter(self.encoder[0].weight * 1.0)
        return super().forward(x)


class Detached(Net):
    def forward(self, x):
        kind, size = super().forward(x)
        return kind, size.detach()


class Normed(Net):
    def __init__(self) -> None:
        super().__init__()
        self.encoder[1] = nn.BatchNorm1d(6)


class Words(Net):
    def forward(self, texts):
        return super().forward(torch.tensor([[float(len(text))] * 4 for text in texts]))


def with_loss(loss):
    return [Task("kind", loss, TASKS[0].metrics), TASKS[1]]


WORDS = ["a", "bb"] * 4
ODD = {
    "weights that are assigned": (Renormed, TASKS, "must not write into its weights"),
    "weights that are replaced": (Replaced, TASKS, "must not write into its weights"),
    "a detached output": (Detached, TASKS, "loss of task size must have a gradient. Found none"),
    "a loss with weights": (
        Net,
        with_loss(nn.Sequential(nn.Linear(2, 2))),
        "loss of task kind must have no weights",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_what_would_be_wrong_in_silence_is_refused_before_a_step(name, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    make, tasks, message = ODD[name]
    network = WeightEnsemble([make(), make()])
    before = network.members()
    with pytest.raises(InputError, match=f"(?i){message}"):
        train(Method(network, tasks), [(X, KINDS, SIZES)], epochs=1, progress=False)
    assert torch.equal(network.members(), before)


@pytest.mark.parametrize(
    ("make", "inputs"), [(Forces, X), (Words, {"texts": WORDS})], ids=["slopes", "texts"]
)
def test_a_model_of_slopes_and_one_of_texts_are_trained_and_judged(make, inputs):
    network, batch = WeightEnsemble([make(), make()]), (inputs, KINDS, SIZES)
    train(Method(network, TASKS), [batch], epochs=1, progress=False)
    found = evaluate(network, TASKS, [batch], [[0.5, 0.5]]).table["kind/loss"].item()
    kind, _ = network.export([0.5, 0.5])(X if make is Forces else WORDS)
    assert found == pytest.approx(F.cross_entropy(kind, KINDS).item(), abs=1e-6)


@pytest.mark.parametrize(
    ("make", "inputs", "error"),
    [
        (Normed, X[:1], ValueError),
        (Net, X.double(), RuntimeError),
        (Net, X.to(torch.uint8), RuntimeError),
        (Words, WORDS, TypeError),
        (Net, {"x": X, "mask": X}, TypeError),
    ],
    ids=["a batch of one", "doubles", "pixels", "a list of texts", "an input too many"],
)
def test_what_torch_refuses_has_its_own_error_and_moves_nothing(make, inputs, error):
    network = WeightEnsemble([make(), make()])
    before, size = network.members(), len(inputs) if len(inputs) != 2 else 8
    with pytest.raises(error) as raised:
        batch = (inputs, KINDS[:size], SIZES[:size])
        train(Method(network, TASKS), [batch], epochs=1, progress=False)
    assert not isinstance(raised.value, InputError) and torch.equal(network.members(), before)


def plain():
    return Method(WeightEnsemble([Net(), Net()]), TASKS)


def trained(method, **given):
    return train(method, [(X, KINDS, SIZES)] * 3, progress=False, **given)


# Losses, targets and metrics of other kinds.


def test_a_loss_in_float64_trains_as_one_in_float32():
    tasks = with_loss(lambda o, y: F.cross_entropy(o.double(), y)), with_loss(F.cross_entropy)
    rows = []
    for made in tasks:
        torch.manual_seed(0)
        method = Method(WeightEnsemble([Net(), Net()]), made, window=2)
        rows.append(trained(method, epochs=2)[-1]["kind/loss"])
    assert rows[0] == pytest.approx(rows[1], rel=1e-5)


@pytest.mark.parametrize("task", TASKS, ids=["classification", "regression"])
def test_a_batch_without_examples_has_a_loss_of_0_and_a_gradient_of_0(task):
    output = torch.zeros(0, 3 if task.name == "kind" else 1, requires_grad=True)
    target = KINDS[:0] if task.name == "kind" else SIZES[:0]
    (loss,) = task_losses([task], [output], [target])
    loss.backward()
    assert loss.item() == 0 and output.grad.shape == output.shape


def test_a_batch_without_labels_may_have_a_number_for_a_loss():
    output = torch.zeros(8, 3, requires_grad=True)
    (loss,) = task_losses(with_loss(lambda o, y: torch.tensor(0.0))[:1], [output], [KINDS])
    (slope,) = torch.autograd.grad(loss, output)
    assert loss.item() == 0 and not slope.any()


@pytest.mark.parametrize(
    ("task", "output", "target"),
    [
        (regression("image"), torch.zeros(2, 3, 5, 5), torch.zeros(2, 5, 5, 3)),
        (depth("far"), torch.zeros(2, 1, 5, 4), torch.ones(2, 4, 5)),
    ],
    ids=["regression", "depth"],
)
def test_targets_whose_axes_are_in_another_order_are_refused(task, output, target):
    with pytest.raises(InputError, match="with the axes in its order"):
        task.loss(output, target)
    turned = target.movedim(-1, 1) if output.ndim == target.ndim else target.mT
    assert task.loss(output, turned).isfinite()


def test_named_tuples_of_outputs_go_by_their_names():
    class Named(Net):
        def forward(self, x):
            kind, size = super().forward(x)
            return namedtuple("Named", ["size", "kind"])(size, kind)

    member = Named()
    network, batch = WeightEnsemble([member]), (X, KINDS, SIZES)
    network.task_weights = torch.tensor([[0.5, 0.5]])
    found = evaluate(network, TASKS, [batch], [[1.0]]).table["kind/loss"].item()
    assert found == pytest.approx(F.cross_entropy(member(X).kind, KINDS).item(), abs=1e-6)


def test_a_metric_may_be_a_number_of_python_and_its_value_a_tensor():
    share = lambda o, y: (o.argmax(1) == y).double().mean().item()  # noqa: E731
    counts = lambda o, y: torch.tensor([(o.argmax(1) == y).sum(), len(y)])  # noqa: E731
    by_hand = Metric("counts", True, counts, lambda sums: sums[0] / sums[1])
    metrics = (*TASKS[0].metrics, Metric.mean("share", share, maximise=True), by_hand)
    tasks = [Task("kind", F.cross_entropy, metrics), TASKS[1]]
    table = evaluate(
        plain().network, tasks, [(X, KINDS, SIZES), (X[:3], KINDS[:3], SIZES[:3])]
    ).table
    for name in ("kind/share", "kind/counts"):
        assert table[name].tolist() == pytest.approx(table["kind/accuracy"].tolist())
        assert table[name].dtype == float


def test_a_metric_over_no_label_at_all_is_nan():
    nothing = Metric("share", True, lambda o, y: torch.zeros(2), lambda s: s.tolist()[0] / 0)
    tasks = [Task("kind", F.cross_entropy, (*TASKS[0].metrics, nothing)), TASKS[1]]
    with pytest.warns(UserWarning, match="kind/share at 11 of 11 alphas"):
        assert (
            evaluate(plain().network, tasks, [(X, KINDS, SIZES)]).table["kind/share"].isna().all()
        )


# What is kept while a training goes on, and threads.


def test_a_state_that_a_hook_keeps_stays_as_it_was():
    torch.manual_seed(0)
    method, states = plain(), []
    rows = trained(method, epochs=3, on_epoch=lambda now: states.append(now.state_dict()))
    again = plain()
    assert trained(again, epochs=3, resume=states[0]) == rows and len(states[0]["history"]) == 1
    assert torch.equal(again.network.members(), method.network.members())
