"""The words of `fit` on a problem: refusals and notes, and silence where a program is right."""

import functools
import math
import re
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import pamal_core as pamal
from pamal_core import (
    InputError,
    Metric,
    Task,
    UnitNorm,
    WeightEnsemble,
    binary,
    classification,
    regression,
)

N = 96
RNG = torch.Generator().manual_seed(0)
X = torch.randn(N, 4, generator=RNG)
SIZE = X @ torch.tensor([1.0, -0.5, 0.5, 0.2])
KIND, HOLDS = X[:, :3].argmax(1), (X[:, 0] > 0).long()
SEVERAL = (X[:, :3] > 0).float()
IMAGES = X[:, None, :, None].expand(N, 1, 4, 4) + 0.1 * torch.randn(N, 1, 4, 4, generator=RNG)
NAN, INFINITE = X.clone(), X.clone()
NAN[N - 1, 2], INFINITE[3, 1] = torch.nan, torch.inf


class Net(nn.Module):
    """Two heads on a body, each followed by a function."""

    def __init__(self, body=None, outputs=(1, 3), after=(None, None), width=8):
        super().__init__()
        self.body = body or nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        self.heads = nn.ModuleList(nn.Linear(width, number) for number in outputs)
        self.after = after

    def forward(self, x):
        z = self.body(x)
        outputs = [head(z) for head in self.heads]
        return [f(o) if f else o for f, o in zip(self.after, outputs, strict=False)]


class Replacing(Net):
    def forward(self, x):
        return super().forward(x.nan_to_num(0.0, 3.0, -3.0))


class Unscaled(Net):
    """Answers in the units of its targets."""

    def forward(self, x):
        size, kind = super().forward(x)
        return 290 * size + 1000, kind


class ByName(Net):
    def forward(self, left, right):
        return super().forward(left + right)


class Dead(Net):
    """Its first output does not follow from its inputs."""

    def forward(self, x):
        size, kind = super().forward(x)
        return 0 * size + self.heads[0].bias, kind


def net(**options):
    return functools.partial(Net, **options)


def task(name, loss, **options):
    return Task(name, loss, (Metric.mean("loss", loss, maximise=False),), **options)


def flat(loss):
    return lambda output, target: loss(output.flatten(), target)


def batches(*parts, size=24):
    return [tuple(part[i : i + size] for part in parts) for i in range(0, N, size)]


def said(make=Net, first=None, second=None, targets=(SIZE, KIND), inputs=X, loader=None, **options):
    """Return what `fit` says of a program: its notes, or its refusal."""
    tasks = [first or regression("size"), second or classification("kind")]
    validation = loader or [(inputs, *targets)]
    loader = loader or batches(inputs, *targets)
    validation = options.pop("validation", validation)
    given = {"epochs": 4, "lr": 0.04, "baseline": None, "progress": False}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            notes = pamal.fit(make, tasks, loader, validation, **(given | options)).notes
        except InputError as error:
            return [f"Refused: {error}"]
    assert tuple(str(warning.message) for warning in caught) == notes
    return [*notes]


# Losses


def contrastive(output, target):
    """Supervised contrastive loss: as many negatives as the batch has."""
    z = F.normalize(output)
    itself = torch.eye(len(z), dtype=torch.bool)
    same = (target[:, None] == target) & ~itself
    scores = (4 * z @ z.T).masked_fill(itself, -1e9)
    return -(scores.log_softmax(1) * same).sum() / same.sum().clamp(min=1)


def listwise(output, target):
    return F.cross_entropy(output.flatten()[None], target.softmax(0)[None])


def of_pairs(output, target):
    signs = (target[:, None] - target).sign()
    return F.softplus(-(output - output.T) * signs).mean()


def over_root(output, target):
    return (output[:, 0] - target).abs().sum() / math.sqrt(len(target))


def spread(output, target):
    return (output[:, 0] - target).std()


def gap(output, target):
    """Difference between two groups, 0 for a constant answer."""
    chances = output.sigmoid().flatten()
    return (chances[target == 1].mean() - chances[target == 0].mean()).abs()


def norm(output, target):
    return output.square().mean()


def quantile(output, target):
    error = target - output.flatten()
    return torch.maximum(0.9 * error, -0.1 * error).mean()


def gaussian(output, target):
    return F.gaussian_nll_loss(output[:, 0], target, F.softplus(output[:, 1]) + 1e-2)


def brier(output, target):
    return (output - F.one_hot(target, 3)).square().mean()


def own_logits(output, target):
    return F.binary_cross_entropy_with_logits(output.flatten(), target.float())


def times(factor, loss):
    return lambda output, target: factor * loss(output, target)


def summed(output, target):
    return F.mse_loss(output.flatten(), target, reduction="sum") / 24


def as_they_are(output, target):
    return output.mean()


def judged_by(function, maximise=False, loss=F.huber_loss):
    """A regression that is judged by a function of outputs [n, 1] and targets [n]."""
    return regression("size", loss, metrics=[Metric.mean("own", function, maximise=maximise)])


def rank_agreement(output, target):
    """The share of pairs of examples in the right order."""
    pairs = (output - output.T) * (target[:, None] - target)
    return (pairs > 0).double().mean()


def bias(output, target):
    """The difference of two means, for which the order of the targets is nothing."""
    return (output.mean() - target.mean()).abs()


def moments(output, target):
    """A distance of two distributions."""
    return bias(output, target) + (output.std() - target.std()).abs()


class Losses(Net):
    """Returns its losses, one for each example."""

    def forward(self, x, size, kind):
        first, second = super().forward(x)
        return (first[:, 0] - size).square(), F.cross_entropy(second, kind, reduction="none")


def softmax(output):
    return output.softmax(1)


def log_softmax(output):
    return output.log_softmax(1)


def group_norm():
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Tanh())


def batch_norm():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh())


def normed():
    return Net(batch_norm())


def normed_first():
    """Return a network with losses of thousands if its statistics are not its own."""
    return Net(nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8)))


def without_kind():
    """Return a network whose members are trained on the first task alone."""
    return WeightEnsemble([Net(), Net()], task_weights=[[1.0, 0.0], [1.0, 0.0]])


def normed_images():
    layers = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten()
    return Net(nn.Sequential(*layers), width=64)


FROZEN = batch_norm().requires_grad_(False).eval()
LAST_OF_ONE = [*batches(X[:72], SIZE[:72], KIND[:72])[:3], (X[:1], SIZE[:1], KIND[:1])]
IMAGES_AND_ONE = [*batches(IMAGES, SIZE, KIND), (IMAGES[:1], SIZE[:1], KIND[:1])]
RARE = (X[:, 3] > 1.9).long()
PENALISED = {"make": net(outputs=(1,)), "first": binary("holds"), "targets": (HOLDS, RARE)}
GROUPS = (X[:, 3] > 0).float()

NAN_INPUTS = "Refused: Inputs must be finite numbers"
A_SUM = "Refused: The loss of task size must be a mean over the batch"
SIZE_OF_A_BATCH = "The loss of task size depends on the size of a batch"
PROBABILITIES = "look like probabilities"
UNLIKE = "balancer=UnitNorm()"
WIDE = "have a standard deviation of"
SINGLE = "drop_last=True"
CONSTANT = "At no alpha"
OWN_TARGET = "Refused: must compare each output with its own target"

WRONG = {
    "NaN in an input of training": (NAN_INPUTS, {"inputs": NAN}),
    "NaN in validation": (NAN_INPUTS, {"validation": batches(NAN, SIZE, KIND)}),
    "an infinite input that saturates": (NAN_INPUTS, {"inputs": INFINITE}),
    "NaN in one of two named inputs": (
        NAN_INPUTS,
        {"make": ByName, "loader": [({"left": X[:48], "right": NAN[48:]}, SIZE[:48], KIND[:48])]},
    ),
    "NaN in the loader of one task": (
        NAN_INPUTS,
        {"loader": {"size": batches(NAN, SIZE), "kind": batches(X, KIND)}},
    ),
    "no label to train on": (
        "Task size was not trained, because no batch of `loader` had a label of it",
        {"loader": batches(X, SIZE * torch.nan, KIND), "validation": batches(X, SIZE, KIND)},
    ),
    "a sum of squares": (A_SUM, {"first": regression("size", nn.MSELoss(reduction="sum"))}),
    "a partial sum": (
        A_SUM,
        {"first": regression("size", functools.partial(F.l1_loss, reduction="sum"))},
    ),
    "a sum over a fixed number": (A_SUM, {"first": task("size", summed)}),
    "a sum of cross-entropies": (
        "Refused: The loss of task kind must be a mean over the batch",
        {"second": task("kind", nn.CrossEntropyLoss(reduction="sum"))},
    ),
    "a contrastive loss": (
        SIZE_OF_A_BATCH,
        {"first": task("size", contrastive), "make": net(outputs=(4, 3)), "targets": (KIND, KIND)},
    ),
    "a ranking of the batch": (SIZE_OF_A_BATCH, {"first": task("size", listwise)}),
    "a sum over the root of n": (SIZE_OF_A_BATCH, {"first": task("size", over_root)}),
    "a sigmoid before binary": (
        PROBABILITIES,
        {"make": net(after=(F.sigmoid, None)), "first": binary("a"), "targets": (HOLDS, KIND)},
    ),
    "sigmoids before several labels": (
        PROBABILITIES,
        {
            "make": net(outputs=(3, 3), after=(F.sigmoid, None)),
            "first": binary("a"),
            "targets": (SEVERAL, KIND),
        },
    ),
    "a softmax before classification": (PROBABILITIES, {"make": net(after=(None, softmax))}),
    "sigmoids before classification": (PROBABILITIES, {"make": net(after=(None, F.sigmoid))}),
    "a sigmoid before a loss of one's own": (
        PROBABILITIES,
        {
            "make": net(after=(F.sigmoid, None)),
            "first": task("a", own_logits),
            "targets": (HOLDS, KIND),
        },
    ),
    "a loss a thousand times as large": (UNLIKE, {"first": task("a", times(1e3, flat(F.l1_loss)))}),
    "a loss sixty times as large": (
        UNLIKE,
        {"second": task("kind", times(60, F.cross_entropy)), "epochs": 2, "lr": 0.003},
    ),
    "a small loss": (UNLIKE, {"second": task("kind", times(0.01, F.cross_entropy))}),
    "unlike losses in the start": (
        UNLIKE,
        {"second": task("kind", times(1e3, F.cross_entropy)), "start": 2},
    ),
    "targets of hundreds": (WIDE, {"targets": (290 * SIZE + 100, KIND)}),
    "integers of hundreds": (WIDE, {"targets": ((290 * SIZE).long(), KIND)}),
    "two columns of hundreds": (
        WIDE,
        {"make": net(outputs=(2, 3)), "targets": (50 * X[:, :2], KIND)},
    ),
    "hundreds with a loss of one's own": (
        WIDE,
        {"first": task("size", flat(F.huber_loss)), "targets": (290 * SIZE, KIND)},
    ),
    "a last batch of one": (f"Refused: {SINGLE}", {"make": normed, "loader": LAST_OF_ONE}),
    "a last batch of one image": (SINGLE, {"make": normed_images, "loader": IMAGES_AND_ONE}),
    "batches of one for a task": (
        "Refused: larger batch_size",
        {"make": normed, "loader": {"size": batches(X, SIZE), "kind": batches(X, KIND, size=1)}},
    ),
    "other labels than in training": (CONSTANT, {"validation": batches(X, SIZE, (KIND + 1) % 3)}),
    "the opposite of the targets": (CONSTANT, {"validation": batches(X, -SIZE, KIND)}),
    "a rare label": (CONSTANT, {"first": binary("a"), "targets": (RARE, KIND), "epochs": 2}),
    "an answer without its inputs": (CONSTANT, {"make": Dead}),
    "a metric of distances of all pairs": (
        OWN_TARGET,
        {"first": judged_by(lambda o, t: (o - t).abs().mean())},
    ),
    "a metric of squares of all pairs": (
        OWN_TARGET,
        {"first": judged_by(lambda o, t: ((o - t) ** 2).mean().sqrt())},
    ),
    "a metric of products of all pairs": (
        OWN_TARGET,
        {
            "first": judged_by(lambda o, t: (o * t).mean(), maximise=True),
            "targets": (SIZE + 2, KIND),
        },
    ),
    "an accuracy of all pairs": (
        OWN_TARGET,
        {
            "first": Task(
                "a",
                own_logits,
                [Metric.mean("own", lambda o, t: ((o > 0) == t).double().mean(), maximise=True)],
            ),
            "targets": ((X[:, 0] > 0.4).long(), KIND),
        },
    ),
    "a second metric of all pairs": (
        OWN_TARGET,
        {
            "first": regression(
                "size",
                metrics=[
                    "loss",
                    Metric.mean("own", lambda o, t: (o - t).abs().max(), maximise=False),
                ],
            )
        },
    ),
}
BITS = {"first": binary("a"), "targets": (HOLDS, KIND)}
RIGHT = {
    "regression and classes": {},
    "mean squares": {"first": regression("size", F.mse_loss)},
    "mean distances": {"first": regression("size", nn.L1Loss())},
    "a quantile": {"first": task("size", quantile)},
    "a Poisson loss": {
        "first": task("size", flat(nn.PoissonNLLLoss())),
        "targets": ((3 * SIZE.exp()).round(), KIND),
    },
    "a mean and a variance": {"first": task("size", gaussian), "make": net(outputs=(2, 3))},
    "integers as targets": {"targets": ((2 * SIZE).round().long(), KIND)},
    "missing targets": {"targets": (SIZE.where(X[:, 3] < 1, torch.nan), KIND)},
    "a model that replaces NaN": {"make": Replacing, "inputs": NAN},
    "a model that replaces infinity": {"make": Replacing, "inputs": INFINITE},
    "NaN as inputs by task": {
        "make": Replacing,
        "loader": {"size": batches(NAN, SIZE), "kind": batches(X, KIND)},
    },
    "a sum over columns, the mean over examples": {
        "make": net(outputs=(2, 3)),
        "first": task("size", lambda o, t: (o - t).square().sum(1).mean()),
        "targets": (X[:, :2], KIND),
    },
    "pairs of a batch": {"first": task("size", of_pairs)},
    "a deviation over a batch": {"first": task("size", spread)},
    "labels": BITS,
    "a weight for ones": BITS | {"first": binary("a", pos_weight=4.0)},
    "several labels": {
        "make": net(outputs=(3, 3)),
        "first": binary("a", pos_weight=[1.0, 2.0, 3.0]),
        "targets": (SEVERAL, KIND),
    },
    "log-probabilities": {"make": net(after=(None, log_softmax))},
    "a sigmoid before an entropy": BITS
    | {
        "make": net(after=(F.sigmoid, None)),
        "first": task("a", lambda o, t: F.binary_cross_entropy(o[:, 0], t.float())),
    },
    "a softmax before the Brier score": {
        "make": net(after=(None, softmax)),
        "second": task("kind", brier),
    },
    "logits above 0": BITS | {"make": net(after=(None, F.relu))},
    "small logits": BITS | {"make": net(after=(lambda o: 0.3 * o + 0.5, None))},
    "label smoothing": {"second": task("kind", nn.CrossEntropyLoss(label_smoothing=0.1))},
    "a task that is soon learnt": {
        "first": task("size", times(3, flat(F.mse_loss))),
        "epochs": 20,
        "start": 10,
    },
    "a start in front of BatchNorm": {
        "make": normed_first,
        "inputs": 1e4 * X,
        "targets": (SIZE, KIND),
        "start": 3,
    },
    "a task that no member is trained on": {
        "make": without_kind(),
        "second": task("kind", times(1e3, F.cross_entropy)),
        "validation": [(X, SIZE, None)],
    },
    "unlike losses with a balancer": {
        "first": task("a", times(1e3, flat(F.l1_loss))),
        "balancer": UnitNorm(),
    },
    "a gap that a constant closes": PENALISED
    | {"second": task("gap", gap, output="holds"), "targets": (HOLDS, GROUPS)},
    "the norm of an output": PENALISED
    | {"second": task("norm", times(0.01, norm), output="holds"), "targets": (HOLDS, GROUPS)},
    "losses as outputs": {
        "make": Losses,
        "first": task("a", as_they_are),
        "second": task("b", as_they_are),
        "loader": [((x, s, k), 0 * s, 0 * s) for x, s, k in batches(X, SIZE, KIND)],
    },
    "a model in the units of its targets": {
        "make": Unscaled,
        "first": task("size", lambda o, t: F.l1_loss(o[:, 0], t) / 290),
        "targets": (290 * SIZE + 1000, KIND),
    },
    "targets of a few": {"targets": (5 * SIZE, KIND), "lr": 0.1},
    "labels in the last batch alone": {
        "loader": [*batches(X, SIZE * torch.nan, KIND), *batches(X, SIZE, KIND)]
    },
    "BatchNorm with whole batches": {"make": normed},
    "LayerNorm and a batch of one": {"make": lambda: Net(group_norm()), "loader": LAST_OF_ONE},
    "a frozen BatchNorm and a batch of one": {
        "make": lambda: Net(nn.Sequential(FROZEN, nn.Linear(8, 8))),
        "loader": LAST_OF_ONE,
    },
    "images": {"make": normed_images, "inputs": IMAGES},
    "a metric of each pair of outputs": {"first": judged_by(rank_agreement, maximise=True)},
    "a metric of one column": {"first": judged_by(lambda o, t: (o[:, 0] - t).abs().mean())},
    "a metric of targets in a column": {
        "first": judged_by(lambda o, t: (o - t[:, None]).abs().mean())
    },
    "a metric of flat outputs": {"first": judged_by(lambda o, t: F.l1_loss(o.flatten(), t))},
    "a metric of outputs alone": {
        "first": regression(
            "size", metrics=["loss", Metric.mean("own", lambda o, t: o.var(), maximise=False)]
        )
    },
    "a metric of numpy": {"first": judged_by(lambda o, t: abs(o[:, 0].numpy() - t.numpy()).mean())},
    "a metric of one number in a tensor": {
        "first": judged_by(lambda o, t: (o - t[:, None]).abs().mean(0))
    },
    "targets in a column": {"targets": (SIZE[:, None], KIND)},
    "labels of eight bits": {"targets": (SIZE, KIND.to(torch.int8))},
    "labels of bools": {"make": net(outputs=(1, 2)), "targets": (SIZE, HOLDS.bool())},
    "each batch has the targets of one task": {
        "loader": [(x, {"size": s}) for x, s in batches(X, SIZE)]
        + [(x, {"kind": k}) for x, k in batches(X, KIND)]
    },
    "one batch": {"loader": [(X, SIZE, KIND)], "epochs": 20},
    "all steps averaged": {"averaging": 1, "epochs": 8},
    "names with a slash and a sign": {
        "first": regression("prix/€"),
        "second": classification("Größe – b"),
    },
    "metrics of two distributions": {
        "first": regression(
            "size",
            metrics=[
                "R2",
                Metric.mean("bias", bias, maximise=False),
                Metric.mean("moments", moments, maximise=False),
            ],
        )
    },
    "one task": {
        "make": lambda: Net(outputs=(1,)),
        "second": task("again", flat(F.l1_loss), output="size"),
        "targets": (SIZE, SIZE),
    },
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_or_noted(name):
    text, program = WRONG[name]
    notes = said(**program)
    assert all(any(part in note for note in notes) for part in text.split(": ", 1)), notes


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_a_program_that_is_right(name):
    assert said(**RIGHT[name]) == []


def numbers(pattern, **program):
    """The numbers in the one note with a pattern, in which # stands for a number."""
    number = r"(-?\d[\d.]*(?:e[+-]?\d+)?)"
    found = [re.search(re.escape(pattern).replace(r"\#", number), note) for note in said(**program)]
    (match,) = [match for match in found if match]
    return [float(group.rstrip(".")) for group in match.groups()]


def test_the_refusal_counts_the_inputs_that_are_not_finite():
    inputs = X.clone()
    inputs[50, :3] = torch.nan
    inputs[60, 0] = -torch.inf
    pattern = "Found # that are NaN or infinite, in batch # of `loader`"
    assert numbers(pattern, inputs=inputs, validation=batches(X, SIZE, KIND)) == [4, 3]


@pytest.mark.parametrize("loss", [over_root, listwise])
def test_the_note_says_by_how_much_a_loss_changes(loss):
    (factor,) = numbers(
        "it is # times as large if each example is there twice", first=task("size", loss), epochs=1
    )
    torch.manual_seed(0)
    first, second = Net(), Net()
    with torch.no_grad():
        for p, q in zip(first.parameters(), second.parameters(), strict=True):
            p.copy_((p + q) / 2)
        output = first(X)[0]
    twice = loss(torch.cat([output, output]), torch.cat([SIZE, SIZE]))
    assert factor == pytest.approx(float(twice / loss(output, SIZE)), rel=5e-3)


@pytest.mark.parametrize("targets", [290 * SIZE + 1e6, (25 * SIZE).round().long(), 1e4 * SIZE])
def test_the_note_has_the_standard_deviation_of_all_targets(targets):
    pattern = "have a standard deviation of #, and"
    (deviation,) = numbers(pattern, targets=(targets, KIND), epochs=1)
    assert deviation == pytest.approx(float(targets.double().std(correction=0)), rel=6e-3)


def test_the_note_has_the_losses_after_the_first_epoch():
    losses = {}

    def look(training):
        if training.epoch == 1:
            with torch.no_grad():
                size, kind = training.method.network.skeleton.eval_copy()(
                    training.method.network.theta([0.5, 0.5]), X
                )
            losses["size"] = float(1e3 * F.l1_loss(size[:, 0], SIZE))
            losses["kind"] = float(F.cross_entropy(kind, KIND))

    found = numbers(
        "task size, #, is # times that of kind, #, so",
        first=task("size", times(1e3, flat(F.l1_loss))),
        on_epoch=look,
    )
    expected = [losses["size"], losses["size"] / losses["kind"], losses["kind"]]
    assert found == pytest.approx(expected, rel=6e-3)


@pytest.mark.parametrize("size", [1, 5])
def test_the_note_counts_the_batches_of_one(size):
    ones = [(IMAGES[:1], SIZE[:1], KIND[:1])] * size
    pattern = "BatchNorm is trained on a single example in # of # batches"
    loader = [*batches(IMAGES, SIZE, KIND), *ones]
    assert numbers(pattern, make=normed_images, loader=loader, epochs=1) == [size, 4 + size]


def test_the_note_compares_with_the_mean_answer_over_the_validation():
    validation = batches(X, -SIZE, KIND, size=40)
    given = {"epochs": 6, "lr": 0.03, "baseline": None, "progress": False}
    tasks = [regression("size", metrics=["loss"]), classification("kind")]
    with pytest.warns(UserWarning, match="At no alpha") as caught:
        fitted = pamal.fit(Net, tasks, batches(X, SIZE, KIND), validation, **given)
    row = fitted.front.table["size/loss"].argmin()
    with torch.no_grad():
        mean = fitted.predict(X, fitted.front.alphas[row])[0].mean()
    constant = float(F.huber_loss(mean.expand(N), -SIZE))
    best = fitted.front.table["size/loss"].min()
    assert f"loss {best:.4g} at best, {constant:.4g} with the mean output" in str(caught[0].message)
