"""Two losses of one output: a task that judges the output of another task."""

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import pamal_core as pamal
from pamal_core import InputError, Metric, MultiForward, Task, WeightEnsemble

RNG = torch.Generator().manual_seed(0)
X = torch.randn(48, 3, generator=RNG)
HOLDS, GROUP = (X[:, 0] > 0).long(), (X[:, 1] > 0).float()
AGE = X[:, 2] + X[:, 1]
BATCHES = [(X[i : i + 16], HOLDS[i : i + 16], GROUP[i : i + 16]) for i in (0, 16, 32)]
WITH_AGE = [(X, HOLDS, AGE, GROUP)]


def gap(output, target):
    """Difference of chances between two groups."""
    chances = output.sigmoid().flatten()
    return (chances[target == 1].mean() - chances[target == 0].mean()).abs()


def size(output, target):
    return output.square().mean()


def on_gap(output=None, name="gap", loss=gap):
    sums = Metric("gap", False, sums_of_groups, gap_of_sums)
    metric = sums if loss is gap else Metric.mean("gap", loss, maximise=False)
    return Task(name, loss, (metric,), output=output)


def sums_of_groups(output, target):
    chances = output.sigmoid().flatten()
    groups = [(chances[target == k].sum(), (target == k).sum()) for k in (0, 1)]
    return torch.tensor([number for group in groups for number in group])


def gap_of_sums(total):
    return (total[2] / total[3] - total[0] / total[1]).abs()


class Net(nn.Module):
    """A logit and an age, in the form that `form` gives them."""

    def __init__(self, form):
        super().__init__()
        self.layers, self.form = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), form

    def forward(self, x):
        return self.form(*self.layers(x).split(1, dim=1))


TWICE = {"tuple": lambda z, _: (z, z), "list": lambda z, _: [z, z]}
ONCE = {
    "tensor": lambda z, _: z,
    "tuple": lambda z, _: (z,),
    "list": lambda z, _: [z],
    "dict": lambda z, _: {"holds": z},
}


def fitted(form, tasks, batches=BATCHES, **options):
    given = {"epochs": 3, "lr": 0.03, "progress": False}
    return pamal.fit(lambda: Net(form), tasks, batches, batches, **(given | options))


@pytest.mark.parametrize("form", ONCE)
@pytest.mark.parametrize("options", [{}, {"window": 2, "penalty": MultiForward(0.5)}])
def test_one_output_for_two_tasks_has_the_bits_of_two_outputs(form, options):
    twice = fitted(TWICE["tuple"], [pamal.binary("holds"), on_gap()], **options)
    once = fitted(ONCE[form], [pamal.binary("holds"), on_gap("holds")], **options)
    assert torch.equal(once.network.members(), twice.network.members())
    assert once.history == twice.history and once.notes == twice.notes
    assert once.front.table.equals(twice.front.table)
    assert once.baselines["LS"].table.equals(twice.baselines["LS"].table)


FORMS = {"tuple": lambda z, age: (z, age), "dict": lambda z, age: {"age": age, "holds": z}}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("judged", ["holds", "age"])
def test_a_third_task_judges_the_output_that_it_names(form, judged):
    tasks = [pamal.binary("holds"), pamal.regression("age"), on_gap(judged)]
    network = WeightEnsemble([Net(FORMS[form]) for _ in range(3)])
    front = pamal.evaluate(network, tasks, WITH_AGE, [0.2, 0.3, 0.5], progress=False)
    model = network.export([0.2, 0.3, 0.5])
    with torch.no_grad():
        holds, age = model.layers(X).split(1, dim=1)
    expected = float(gap({"holds": holds, "age": age}[judged], GROUP))
    assert front.table["gap/gap"].item() == pytest.approx(expected, abs=1e-6)
    accuracy = float(((holds[:, 0] > 0) == HOLDS).float().mean())
    assert front.table["holds/accuracy"].item() == pytest.approx(accuracy)


def test_several_tasks_may_judge_one_output_and_come_first():
    tasks = [on_gap("holds"), pamal.binary("holds"), on_gap("holds", "size", size)]
    network = WeightEnsemble([Net(ONCE["tensor"]) for _ in range(3)])
    batch = (X, GROUP, HOLDS, GROUP)
    losses = pamal.Method(network, tasks).step(batch, [1 / 3, 1 / 3, 1 / 3])
    logits = network.predict(X, [1 / 3, 1 / 3, 1 / 3])
    entropy = F.binary_cross_entropy_with_logits(logits[:, 0], HOLDS.float())
    expected = torch.stack([gap(logits, GROUP), entropy, size(logits, GROUP)])
    torch.testing.assert_close(losses[0], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "target"),
    [
        (pamal.binary, HOLDS),
        (pamal.regression, AGE),
        (lambda name, output: pamal.Task(name, size, (), output=output), GROUP),
    ],
)
def test_each_kind_of_task_may_judge_the_output_of_another(make, target):
    tasks = [pamal.binary("holds"), make("again", output="holds")]
    network = WeightEnsemble([Net(ONCE["tensor"]), Net(ONCE["tensor"])])
    losses = pamal.Method(network, tasks).step((X, HOLDS, target), [0.5, 0.5])
    logits = network.predict(X, [0.5, 0.5])
    assert float(losses[0, 1]) == pytest.approx(float(tasks[1].loss(logits, target)), abs=1e-6)


@pytest.mark.parametrize("kind", ["classification", "segmentation"])
def test_classes_may_be_judged_twice(kind):
    options = {"num_classes": 2} if kind == "segmentation" else {}
    make = getattr(pamal, kind)
    first, second = make("a", **options), make("b", output="a", **options)
    layer = nn.Conv2d(3, 2, 1) if options else nn.Linear(3, 2)
    x = torch.randn(6, 3, 2, 2) if options else torch.randn(6, 3)
    labels = torch.randint(2, (6, 2, 2) if options else (6,))
    network = WeightEnsemble([layer, copy.deepcopy(layer)])
    losses = pamal.Method(network, [first, second]).step((x, labels, labels), [0.5, 0.5])
    assert losses[0, 0] == losses[0, 1] > 0


def test_a_loader_by_task_gives_a_judge_of_the_same_output_its_own_inputs():
    tasks = [pamal.binary("holds"), on_gap("holds")]
    network = WeightEnsemble([Net(ONCE["tensor"]), Net(ONCE["tensor"])])
    batch = {"holds": (X[:16], HOLDS[:16]), "gap": (X[16:], GROUP[16:])}
    losses = pamal.Method(network, tasks).step(batch, [0.5, 0.5])
    expected = gap(network.predict(X[16:], [0.5, 0.5]), GROUP[16:])
    assert float(losses[0, 1]) == pytest.approx(float(expected), abs=1e-6)


def test_a_task_with_the_output_of_another_pickles():
    task = pickle.loads(pickle.dumps(pamal.regression("again", output="age")))
    assert task.output == "age" and task.name == "again"


@pytest.mark.parametrize(
    ("tasks", "text"),
    [
        ([pamal.binary("holds"), on_gap("hold")], "`output of task gap` must be one of holds"),
        ([pamal.binary("holds"), on_gap("gap")], "`output of task gap` must be one of holds"),
        ([pamal.binary("holds", output="gap"), on_gap("holds")], "must be one of none"),
    ],
)
def test_an_output_that_no_task_has_is_refused(tasks, text):
    with pytest.raises(InputError, match=text):
        fitted(ONCE["tensor"], tasks)
    network = WeightEnsemble([Net(ONCE["tensor"]), Net(ONCE["tensor"])])
    for call in (
        lambda: pamal.Method(network, tasks),
        lambda: pamal.evaluate(network, tasks, BATCHES),
    ):
        with pytest.raises(InputError, match=text):
            call()


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (TWICE["tuple"], "one output for each of holds; the other tasks judge these. Found 2"),
        (lambda z, _: {"holds": z, "gap": z}, "the keys holds. Found a dict with keys holds, gap"),
        (lambda z, _: {"hold": z}, "the keys holds. Found a dict with keys hold"),
        (lambda z, _: (), "one output for each of holds; the other tasks judge these. Found 0"),
    ],
)
def test_a_network_with_other_outputs_is_refused(form, text):
    with pytest.raises(InputError, match=text):
        fitted(form, [pamal.binary("holds"), on_gap("holds")])
