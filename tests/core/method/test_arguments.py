"""What a user can get wrong in the arguments of the public API: one sentence each."""

import re
from dataclasses import replace

import jaxtyping
import numpy as np
import pytest
import torch
from small_problems import SharedBottom
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import TensorDataset

from pamal_core import (
    Dirichlet,
    Method,
    Metric,
    MultiForward,
    Task,
    UnitNorm,
    WeightEnsemble,
    binary,
    classification,
    evaluate,
    fit,
    lattice,
    regression,
    segmentation,
    train,
)
from pamal_core.balancing import (
    IMTL,
    MGDA,
    Balancer,
    CAGrad,
    DynamicWeightAverage,
    MovingAverage,
    NashMTL,
    PCGrad,
    UncertaintyWeighting,
)
from pamal_core.errors import InputError


class Net(SharedBottom):
    """Two heads on three features; BatchNorm where it is asked for."""

    def __init__(self, norm: bool = False) -> None:
        encoder = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4) if norm else nn.Tanh())
        super().__init__(encoder, [nn.Linear(4, 1), nn.Linear(4, 2)])


TASKS = [regression("a"), classification("b")]
BATCH = (torch.randn(6, 3), torch.randn(6), torch.randint(2, (6,)))
METRIC = TASKS[0].metrics[0]
ALPHA = torch.tensor([0.5, 0.5])


class Losses(Balancer):
    """A balancer whose direction is none."""

    def direction(self, draw):
        return draw.losses


def ensemble(**options):
    return WeightEnsemble([Net(), Net()], **options)


def normed():
    return WeightEnsemble([Net(norm=True), Net(norm=True)])


def exported(calibration):
    return normed().export(ALPHA, calibration=calibration)


def method(**options):
    return Method(**({"network": ensemble(), "tasks": TASKS} | options))


def epoch(loader=(BATCH,), **options):
    """A training of one epoch, and its method."""
    options = {"epochs": 1, "progress": False} | options
    return train(options.pop("method", None) or method(), loader, **options)


def fitted(**options):
    options = {"epochs": 1, "progress": False} | options
    return fit(Net, options.pop("tasks", TASKS), [BATCH], [BATCH], **options)


def soup(**options):
    return fitted(**({"epochs": 2, "start": 1, "soup": True} | options))


def front():
    return evaluate(ensemble(), TASKS, [BATCH], lattice(2, 2))


class ReadOnce:
    """Has one iterator, whoever asks."""

    def __init__(self, batches):
        self.batches = iter(batches)

    def __iter__(self):
        return self.batches


def first_output(output, _):
    return output[0, 0]


def of_each(output, target):
    return (output.flatten() - target).abs()


OF_B = Metric("b", False, first_output)


def with_metrics(metrics):
    return [Task("a", F.mse_loss, metrics), TASKS[1]]


ENSEMBLE = {
    "a single module": (lambda: WeightEnsemble(Net()), "list of modules, .* Found Net"),
    "another architecture": (lambda: WeightEnsemble([Net(), nn.Linear(3, 2)]), "one architecture"),
    "a number": (lambda: WeightEnsemble(3), "must be a list of modules, .* Found int"),
    "a class": (lambda: WeightEnsemble([Net, Net]), r"such as Net\(\). Found the class Net"),
    "a dict": (lambda: WeightEnsemble({"a": Net()}), "must be a list .* Found a dict with keys a"),
    "none": (lambda: WeightEnsemble([]), "one per member.* Found a list of nothing"),
    "the same twice": (lambda: WeightEnsemble([Net()] * 2), "must not share trainable parameters"),
    "tasks by one row": (lambda: ensemble(task_weights=[0.5, 0.5]), r"Found shape \(2,\)"),
    "rows of unlike lengths": (
        lambda: ensemble(task_weights=[[1, 0], [1]]),
        r"matrix with 2 rows, one per member. Found \[\[1, 0\], \[1\]\]",
    ),
    "tasks by a word": (lambda: ensemble(task_weights="eye"), "one per member. Found 'eye'"),
    "weights below 0": (lambda: ensemble(task_weights=[[2, -1], [0, 1]]), "2 finite numbers >= 0"),
    "weights not of sum 1": (lambda: ensemble(task_weights=[[1, 1], [0, 1]]), "that sum to 1"),
    "another submodule": (lambda: ensemble(shared="body"), "Found 'body'; the model has: encoder,"),
    "a module for shared": (lambda: ensemble(shared=[nn.Tanh()]), r"Found Tanh\(\); the model"),
}
NETWORK = {
    "alpha before the inputs": (
        lambda: ensemble()([0.5, 0.5], BATCH[0]),
        r"must have 2 finite numbers .* Found \[\[",
    ),
    "a lone number": (lambda: ensemble()(BATCH[0], 0.5), "2 finite numbers .* Found 0.5"),
    "predict of a lone number": (lambda: ensemble().predict(BATCH[0], 0.5), "2 finite numbers"),
    "names before there are any": (
        lambda: ensemble().export({"a": 1.0}),
        "`name in alpha` must be one of alpha_1, alpha_2. Found 'a'",
    ),
    "a name of no task": (
        lambda: method().network.predict(BATCH[0], {"a": 0.5, "c": 0.5}),
        "`name in alpha` must be one of a, b. Found 'c'",
    ),
    "a name of a member": (lambda: method().network(BATCH[0], {0: 1.0}), "a, b. Found '0'"),
    "names for other members": (
        lambda: method(network=ensemble(task_weights=[[0.9, 0.1], [0.1, 0.9]])).step(
            BATCH, {"a": 0.5, "b": 0.5}
        ),
        "`name in alpha` must be one of alpha_1, alpha_2. Found 'a'",
    ),
    "names of sum 0.8": (lambda: method().network.export({"a": 0.3, "b": 0.5}), "sum to 1"),
    "export of three": (
        lambda: ensemble().export([1, 0, 0]),
        r"2 finite numbers .* Found \[1.0, 0.0, 0.0\]",
    ),
    "export of NaN": (lambda: ensemble().export([np.nan, 1]), "finite numbers"),
    "export off the simplex": (lambda: ensemble().export([0.5, 0.4]), r"sum to 1\. Found"),
    "statistics by a word": (lambda: exported("own"), "`calibration` must be one of shared"),
    "statistics by a batch": (lambda: exported(BATCH), "Found one tensor"),
    "statistics by a data set": (
        lambda: exported(TensorDataset(*BATCH)),
        "such as a list of batches. Found TensorDataset",
    ),
    "statistics of no batch": (lambda: exported([]), "Found none; a generator has them once"),
}
METHOD = {
    "a compiled network": (
        lambda: method(network=torch.compile(ensemble())),
        "`network` must be of type Network, .* Found OptimizedModule",
    ),
    "a network of several processes": (
        lambda: method(network=DistributedDataParallel.__new__(DistributedDataParallel)),
        "`network` must be of type Network, .* Found DistributedDataParallel",
    ),
    "a generator for alphas": (
        lambda: method().step(BATCH, np.random.default_rng(0)),
        "`alpha` must have 2 finite numbers .* Found Generator",
    ),
    "a number for alphas": (lambda: method().step(BATCH, 0.5), "2 finite numbers .* Found 0.5"),
    "a list of three": (lambda: method().step(BATCH, [0.5, 0.3, 0.2]), r"Found \[0.5, 0.3, 0.2\]"),
    "alphas of two lengths": (
        lambda: method().step(BATCH, [[0.5, 0.5], [1.0]]),
        r"2 finite numbers .* Found \[\[0.5, 0.5\], \[1.0\]\]",
    ),
    "alphas off the simplex": (
        lambda: method().step(BATCH, [[0.5, 0.5], [0.5, 0.6]]),
        "finite numbers >= 0 that sum to 1",
    ),
    "a plain module": (
        lambda: method(network=Net()),
        "`network` must be of type Network, .* Found Net",
    ),
    "tasks of one name": (
        lambda: method(tasks=[TASKS[0]] * 2),
        "Every task must have a name of its own, .* Found a, a",
    ),
    "metrics of one name": (
        lambda: method(tasks=with_metrics((METRIC, METRIC))),
        "column of a front must have a name of its own, .* Found a/loss, a/loss",
    ),
    "columns of one name": (
        lambda: method(
            tasks=[
                Task("a", TASKS[0].loss, (replace(METRIC, name="b/loss"),)),
                Task("a/b", TASKS[0].loss, (replace(METRIC, name="loss"),)),
            ]
        ),
        "column of a front must have a name of its own, .* Found a/b/loss, a/b/loss",
    ),
    "too few tasks": (
        lambda: method(tasks=TASKS[:1]),
        "by default one per member. Expected 2, found 1",
    ),
    "names for tasks": (lambda: method(tasks=["a", "b"]), "Found a list of str, str"),
    "a lone task": (lambda: method(tasks=TASKS[0]), "`tasks` must be a list of .* Found Task"),
    "a number for draws": (
        lambda: method(preference=2.0),
        "must be of type Dirichlet, .* Found 2.0",
    ),
    "a class of balancers": (lambda: method(balancer=UnitNorm), "Found the class UnitNorm"),
    "a name of a balancer": (
        lambda: method(balancer="linear"),
        "of type Balancer, .* Found 'linear'",
    ),
    "a number for a penalty": (
        lambda: method(penalty=0.5),
        "must be of type Penalty, .* Found 0.5",
    ),
    "a broken window": (lambda: method(window=2.5), "whole number >= 1. Found window=2.5"),
    "a window in words": (lambda: method(window="2"), "whole number >= 1. Found window='2'"),
    "a true window": (lambda: method(window=True), "whole number >= 1. Found window=True"),
    "no window": (lambda: method(window=0), "whole number >= 1. Found window=0"),
    "a window without pairs": (
        lambda: method(penalty=MultiForward(1.0)),
        "at least 2 when `lam` > 0. Found window=1, lam=1.0",
    ),
    "lam below 0": (lambda: MultiForward(-1), "a finite number >= 0. Found lam=-1"),
    "lam in words": (lambda: MultiForward("0.5"), "a finite number >= 0. Found lam='0.5'"),
    "lam NaN": (lambda: MultiForward(np.nan), "a finite number >= 0. Found lam=nan"),
    "a preference of numbers": (
        lambda: epoch(method=method(preference=lambda share: share)),
        r"`preference\(0\)` must be of type Dirichlet, .* Found 0.0",
    ),
    "a preference of nothing": (
        lambda: method(preference=lambda share: None).draw(np.random.default_rng(0), 0.25),
        r"`preference\(0.25\)` must be of type Dirichlet, .* Found NoneType",
    ),
    "no p": (lambda: Dirichlet(p=()), r"`p` must be one positive finite number, .* Found \(\)"),
    "a matrix for p": (lambda: Dirichlet(p=[[1.0, 2.0]]), "`p` must be one positive finite number"),
    "None for p": (
        lambda: Dirichlet(p=None),
        "`p` must be one positive finite number, .* Found None",
    ),
    "a word for strata": (lambda: Dirichlet(stratified="no"), "must be of type bool.* Found 'no'"),
    "a lattice of 2.5": (lambda: lattice(2.5), "whole number >= 1. Found num_members=2.5"),
    "a lattice of words": (lambda: lattice("2"), "whole number >= 1. Found num_members='2'"),
    "a lattice of a point": (lambda: lattice(2, 1), "whole number >= 2. Found num_points=1"),
}
BALANCERS = {
    "losses for a direction": (
        lambda: epoch(method=method(balancer=Losses())),
        r"Losses.direction` must return a number for each weight, a tensor \[31\]. "
        r"Found one tensor \[2\]",
    ),
    "another form": (lambda: MovingAverage(form="mean"), "`form` must be one of paper, released"),
    "no history": (lambda: MovingAverage(0), "whole number >= 1. Found history=0"),
    "half a history": (lambda: MovingAverage(2.5), "whole number >= 1. Found history=2.5"),
    "another norm": (lambda: UnitNorm("l1"), "`form` must be one of paper, released. Found 'l1'"),
    "c below 0": (lambda: CAGrad(c=-0.1), "a finite number >= 0. Found c=-0.1"),
    "c in words": (lambda: CAGrad(c="big"), "a finite number >= 0. Found c='big'"),
    "no temperature": (lambda: DynamicWeightAverage(0), "number > 0. Found temperature=0"),
    "no task": (lambda: UncertaintyWeighting(0), "whole number >= 1. Found num_tasks=0"),
    "one task of two": (
        lambda: epoch(method=method(balancer=UncertaintyWeighting(1))),
        "`num_tasks` must be that of the method, 2. Found num_tasks=1",
    ),
} | {
    f"heads of {kind.__name__}": (lambda kind=kind: kind(heads="all"), "one of plain, balanced")
    for kind in (MGDA, PCGrad, IMTL, CAGrad, NashMTL)
}


class Judge:
    """A metric of one's own that says any direction."""

    def __init__(self, higher_is_better):
        self.higher_is_better = higher_is_better

    def update(self, output, target):
        raise NotImplementedError

    compute = reset = update


def mean_metric(mean):
    return with_metrics([Metric.mean("m", mean, maximise=False)])


TASK = {
    "another name of a metric": (
        lambda: classification("b", metrics=["f1"]),
        "by name must be one of accuracy, loss; others are objects, .* Found 'f1'",
    ),
    "a name for metrics": (
        lambda: regression("a", metrics="loss"),
        "`metrics` of task a must be a list of them, even of one. Found str",
    ),
    "a metric for metrics": (lambda: Task("a", F.mse_loss, METRIC), "must be a list of them"),
    "a class for a loss": (
        lambda: regression("a", nn.MSELoss),
        r"`loss` of task a must be a function .* as nn.MSELoss\(\) is. Found <class",
    ),
    "a name for a loss": (lambda: Task("a", "mse", [METRIC]), "must be a function .* Found 'mse'"),
    **{
        f"the name {name!r}": (
            lambda name=name: regression(name),
            f"name of a task must be a text on one line. Found {re.escape(repr(name))}",
        )
        for name in (None, 1, ("a",), "", "a\nb", "a\u2028b")  # a saved network has a line for each
    },
    **{
        f"the direction {maximise!r}": (
            lambda maximise=maximise: Metric.mean("m", first_output, maximise=maximise),
            f"`maximise` of metric m must be True or False. Found {maximise!r}",
        )
        for maximise in ("no", None, 2, "min")
    },
    "an object whose direction is a text": (
        lambda: regression("a", metrics=[Judge("no")]),
        "`higher_is_better`, True or False. Found <.*Judge",
    ),
    "a metric in three parts": (
        lambda: regression("a", metrics=[("m", Judge(True), 1)]),
        "must be a Metric, .* Found \\('m', ",
    ),
    "a number for the name of a metric": (
        lambda: Metric(1, False, first_output),
        "`name` must be of type str, .* Found 1",
    ),
    "a text for a reference": (
        lambda: Metric.mean("m", first_output, maximise=True, reference="0"),
        "`reference` of metric m must be a number or None. Found '0'",
    ),
    **{
        f"a mean that is {found}": (
            lambda mean=mean: evaluate(ensemble(), mean_metric(mean), [BATCH]),
            f"must return one number, the mean over a batch. Found {found}",
        )
        for mean, found in (
            (lambda o, y: o[:, 0] - y, r"a tensor \[6\] of float32"),
            (lambda o, y: None, "NoneType"),
            (lambda o, y: "0.5", "str"),
            (lambda o, y: (o.mean(), 6), "a tuple of Tensor, int"),
            (lambda o, y: o[:0].flatten(), r"a tensor \[0\] of float32"),
        )
    },
    **{
        f"{getattr(ignored, '__name__', ignored)!r} for a missing label of a {make.__name__}": (
            lambda make=make, more=more, ignored=ignored: make("a", *more, ignored),
            "`ignore_index` of task a must be the integer that .* a loss of your own is for Task",
        )
        for make, more in ((binary, ()), (classification, ()), (segmentation, (3,)))
        for ignored in (nn.BCEWithLogitsLoss(), F.cross_entropy, None, "none", -1.0, np.nan, True)
    },
    **{
        f"{weights!r} for weights": (
            lambda weights=weights: classification("a", class_weight=weights),
            "`class_weight` must be a list of numbers above 0. Found ",
        )
        for weights in ("balanced", {0: 1.0, 1: 2.0}, 3.0, [[1.0, 2.0]], [None], [1.0, "2"])
    },
    **{
        f"{weights!r} for the weight of ones": (
            lambda weights=weights: binary("a", pos_weight=weights),
            "`pos_weight` must be a list of numbers above 0. Found ",
        )
        for weights in ("balanced", {0: 1.0}, [[1.0]], object)
    },
    **{
        f"{number!r} classes": (
            lambda number=number: segmentation("a", number),
            f"`num_classes` must be a whole number >= 1. Found num_classes={number!r}",
        )
        for number in (0, -1, 2.5, "3", None)
    },
    "a mean for a sum and a count": (
        lambda: evaluate(ensemble(), with_metrics([Metric("m", False, first_output)]), [BATCH]),
        r"metric m must be a sum and a count, .* Found a tensor \[\] of float32",
    ),
    "a value for each example": (
        lambda: evaluate(ensemble(), with_metrics([Metric("m", False, of_each)]), [BATCH]),
        r"metric m must be a sum and a count, .* Found a tensor \[6\] of float32",
    ),
    "a metric in the column of an alpha": (
        lambda: Method(ensemble(), [Task("alpha", F.mse_loss, [OF_B]), TASKS[1]]),
        "must not have the column of an alpha in a front: .* Found alpha/b",
    ),
}
TRAINING = {
    "a name of an optimiser": (
        lambda: epoch(optimizer="adam"),
        "`optimizer` must be one of torch's or a function .* Found 'adam'",
    ),
    "a number for a schedule": (
        lambda: epoch(scheduler=lambda _: 0.1),
        "`scheduler` must be one of torch's or .* Found a function that makes 0.1",
    ),
    "a name of a hook": (lambda: epoch(on_epoch="log"), "must be a function. Found 'log'"),
    "a network for a method": (lambda: epoch(method=ensemble()), "of type Method, .* WeightEns"),
    "epochs in words": (lambda: epoch(epochs="3"), "whole number >= 1. Found epochs='3'"),
    "no epoch": (lambda: epoch(epochs=0), "whole number >= 1. Found epochs=0"),
    "epochs below 0": (lambda: epoch(epochs=-1), "whole number >= 1. Found epochs=-1"),
    "a seed below 0": (lambda: epoch(seed=-1), "whole number >= 0. Found seed=-1"),
    "no seed": (lambda: epoch(seed=None), "whole number >= 0. Found seed=None"),
    "a rate below 0": (lambda: epoch(lr=-1), "finite number > 0. Found lr=-1"),
    "a rate of NaN": (lambda: epoch(lr=np.nan), "finite number > 0. Found lr=nan"),
    "a decay of 0": (lambda: epoch(ema=0), "`ema` must be a decay above 0 and .* Found ema=0"),
    "a decay of 1": (lambda: epoch(ema=1.0), "above 0 and below 1. Found ema=1.0"),
    "a decay of steps": (lambda: epoch(ema=100), "above 0 and below 1. Found ema=100"),
    "a decay in words": (lambda: epoch(ema="0.9"), "above 0 and below 1. Found ema='0.9'"),
    **{
        f"a share of {share!r}": (
            lambda share=share: fitted(averaging=share),
            rf"above 0 and at most 1, or None. Found averaging={share!r}",
        )
        for share in (-0.1, 0, 1.5, 2, np.nan, np.inf, True, False, "0.1")
    },
    "a seed in words": (lambda: fitted(seed="a"), "whole number >= 0. Found seed='a'"),
    "a start below 0": (lambda: fitted(start=-1), "whole number >= 0. Found start=-1"),
    "half a start": (lambda: fitted(start=0.5), "whole number >= 0. Found start=0.5"),
    "a true start": (lambda: fitted(epochs=2, start=True), "number >= 0. Found start=True"),
    "a start in words": (lambda: fitted(start="1"), "whole number >= 0. Found start='1'"),
    "a start of all epochs": (lambda: fitted(start=1), "below `epochs`, 1. Found start=1"),
    "a start of words": (lambda: fitted(epochs="3", start=1), "number >= 1. Found epochs='3'"),
    "a start before an error": (
        lambda: fitted(epochs=2, start=1, penalty=MultiForward(1.0)),
        "at least 2 when `lam` > 0. Found window=1, lam=1.0",
    ),
    "a name for a task": (
        lambda: fitted(tasks=["price"]),
        r'`tasks` must be a list of tasks, as regression\("price"\) .* Found a list of str',
    ),
    "tasks by name": (
        lambda: fitted(tasks={"a": TASKS[0], "b": TASKS[1]}),
        "must be a list of tasks, .* Found a dict with keys a, b",
    ),
    "a model for tasks": (lambda: fitted(tasks=Net), "must be a list of tasks, .* Found type"),
    "no batch for fit": (
        lambda: fit(Net, TASKS, [], [BATCH], epochs=1),
        "`loader` must yield at least one batch .* drop_last=True leaves out .* Found none",
    ),
    "a generator of tasks": (
        lambda: fitted(tasks=(task for task in TASKS)),
        "must be a list of tasks, .* Found generator",
    ),
    "a set of tasks": (lambda: fitted(tasks={*TASKS}), "must be a list of tasks, .* Found set"),
    "tasks of a dict": (
        lambda: method(tasks={"a": TASKS[0], "b": TASKS[1]}.values()),
        "must be a list of tasks, .* Found dict_values",
    ),
    "no balancer": (lambda: fitted(balancer=False), "must be of type Balancer, .* Found False"),
    "no preference": (lambda: fitted(preference=0), "must be of type Dirichlet, .* Found 0"),
    "a module for the trunk": (
        lambda: fitted(shared=nn.Linear(3, 4)),
        r"`shared` must name submodules .* Found Linear\(.*; the model has: encoder",
    ),
    "a number for the trunk": (lambda: fitted(shared=2), "must name submodules .* Found 2; the"),
    "a list of baselines": (
        lambda: fitted(baseline=["ls", "soup"]),
        r"`baseline` must be one of ls, soup, both. Found \['ls', 'soup'\]",
    ),
    "a front for a baseline": (
        lambda: fitted(baseline=front()),
        "`baseline` must be one of ls, soup, both. Found a Front",
    ),
    "an array for a baseline": (
        lambda: fitted(baseline=np.array(["ls", "soup"])),
        "`baseline` must be one of ls, soup, both. Found array",
    ),
    "optimisers in a list": (
        lambda: epoch(optimizer=[torch.optim.Adam(method().parameters())]),
        "`optimizer` must be one of torch's .* Found a list",
    ),
    "an optimiser that is not returned": (
        lambda: epoch(optimizer=lambda parameters: None),
        "`optimizer` must be one of torch's .* Found a function that makes None",
    ),
    "an optimiser with its schedule": (
        lambda: epoch(optimizer=lambda p: ([torch.optim.Adam(p)], [])),
        "`optimizer` must be one of torch's .* Found a function that makes a tuple",
    ),
    "a training without gradients": (
        lambda: torch.no_grad()(epoch)(),
        r"Training needs gradients. Found torch.no_grad\(\)",
    ),
    "a training in inference mode": (
        lambda: torch.inference_mode()(epoch)(),
        r"Training needs gradients. Found .* or torch.inference_mode\(\)",
    ),
    "a fit without gradients": (lambda: torch.no_grad()(fitted)(), "Training needs gradients"),
    "a batch of targets alone": (
        lambda: epoch([{"a": BATCH[1], "b": BATCH[2]}]),
        "A batch must be a tuple or list .* Found a dict with keys a, b",
    ),
    "an array for a batch": (
        lambda: epoch([np.ones((6, 3))]),
        r"A batch must be a tuple or list .* Found one array \[6, 3\] of float64",
    ),
    "a soup in words": (lambda: soup(soup="yes"), "must be of type bool, .* Found 'yes'"),
    "a soup without a start": (
        lambda: soup(start=0),
        "`start` must be at least 1 if `soup` is True. Found start=0",
    ),
    "a soup of one task": (lambda: soup(tasks=TASKS[:1]), "at least 2 if `soup` is True. Found 1"),
    "a soup with a preference": (
        lambda: soup(preference=Dirichlet(1.0)),
        "must be left out if `soup` is True: .* Found preference",
    ),
    "a soup with a penalty and a window": (
        lambda: soup(penalty=MultiForward(0.0), window=2),
        "must be left out if `soup` is True: .* Found penalty, window",
    ),
    "statistics by a word": (lambda: epoch(calibration="own"), "must be one of shared"),
    "statistics of no batch": (
        lambda: epoch(method=Method(normed(), TASKS), calibration=[]),
        "`calibration` cannot be used. .* Found none",
    ),
    "statistics of a batch that is no list": (
        lambda: epoch(method=Method(normed(), TASKS), calibration=BATCH),
        "`calibration` cannot be used. .* Found one tensor",
    ),
    "statistics of a batch in a fit": (
        lambda: fit(lambda: Net(norm=True), TASKS, [BATCH], [BATCH], epochs=1, calibration=BATCH),
        "`calibration` cannot be used. .* Found one tensor",
    ),
    "a rate of words": (
        lambda: fitted(lr="1e-3"),
        "`lr` must be a finite number > 0. Found lr='1e-3'",
    ),
    "a rate that is no number": (lambda: fitted(lr=float("nan")), "`lr` must be .*Found lr=nan"),
    "a validation that is used up": (
        lambda: fit(Net, TASKS, [BATCH], ReadOnce([BATCH]), epochs=1),
        "`validation` must yield at least one batch each time",
    ),
    "an optimiser and a rate": (
        lambda: epoch(
            method=(one := method()), optimizer=torch.optim.SGD(one.parameters()), lr=0.1
        ),
        "`lr` is for a training without `optimizer`. Found both",
    ),
    "an interval of weeks": (lambda: epoch(scheduler_interval="week"), "one of epoch, step"),
    "a data set for batches": (
        lambda: epoch(TensorDataset(*BATCH)),
        "must yield its batches each time .* Found TensorDataset",
    ),
    "a number for a loader": (lambda: epoch(5), "as a DataLoader or a list does. Found int"),
    "no batches": (lambda: epoch([]), "`loader` must yield at least one batch .* none"),
    "a batch for a loader": (lambda: epoch(BATCH), "A batch must be a tuple or list .* one tensor"),
    "no targets": (lambda: epoch([(BATCH[0],)]), "2 tasks. Found 2 outputs and 0 targets"),
}
EVALUATION = {
    "a plain module": (
        lambda: evaluate(Net(), TASKS, [BATCH]),
        "must be of type Network.* Found Net",
    ),
    "names for tasks": (
        lambda: evaluate(ensemble(), ["a", "b"], [BATCH]),
        "must be a list of tasks, .* Found a list of str, str",
    ),
    "no metrics": (
        lambda: evaluate(ensemble(), with_metrics(()), [BATCH]),
        "Every task must have a metric. Found none of a",
    ),
    "another number of tasks": (
        lambda: evaluate(ensemble(), TASKS[:1], [BATCH]),
        "one task per column of `task_weights`.* Expected 2, found 1",
    ),
    "a data set for batches": (
        lambda: evaluate(ensemble(), TASKS, TensorDataset(*BATCH)),
        "`loader` must be of type Iterable, .* Found TensorDataset",
    ),
    "no batches": (
        lambda: evaluate(ensemble(), TASKS, []),
        "`loader` must yield at least .* Found none",
    ),
    "statistics once": (
        lambda: evaluate(normed(), TASKS, [BATCH], calibration=iter([BATCH])),
        "Found none; a generator has them once",
    ),
    "statistics by a number": (
        lambda: evaluate(normed(), TASKS, [BATCH], calibration=1),
        "`calibration` must be of type Iterable.* Found 1",
    ),
    "tasks of one name": (
        lambda: evaluate(ensemble(), [TASKS[0]] * 2, [BATCH]),
        "Every task must have a name of its own, .* Found a, a",
    ),
    "alphas of three": (
        lambda: evaluate(ensemble(), TASKS, [BATCH], np.eye(3)),
        "must have 2 finite numbers",
    ),
    "a front for alphas": (lambda: ensemble().export(front()), r"Found 2 points of .* \.\.\."),
    "alphas off the simplex": (
        lambda: evaluate(ensemble(), TASKS, [BATCH], [[0.5, 0.6]]),
        "finite numbers >= 0 that sum to 1",
    ),
    "the best of nothing": (
        lambda: front().choose(best="c"),
        "must be one of a/loss, b/accuracy. Found 'c'",
    ),
    "the best of two": (
        lambda: front().choose(best=["a", "b"]),
        r"`best` must be one of a/loss, b/accuracy. Found \['a', 'b'\]",
    ),
    "the best by its number": (
        lambda: front().choose(best=0),
        "`best` must be one of a/loss, b/accuracy. Found 0",
    ),
    "a column for a row": (lambda: front()["a"], "indexed by rows: .* Found 'a'"),
    "a bound of nothing": (
        lambda: front().choose(best="a", at_least=0.9),
        "`at_least` must have a number for each bound, by name, .* Found 0.9",
    ),
    "a reference of NaN": (lambda: front().hypervolume([np.nan, 0]), "must be 2 finite numbers"),
    "a reference of one": (lambda: front().hypervolume([0.0]), "must be 2 finite numbers"),
}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        pytest.param(*case, id=f"{table}: {name}")
        for table, cases in {
            "ensemble": ENSEMBLE,
            "network": NETWORK,
            "method": METHOD,
            "balancer": BALANCERS,
            "task": TASK,
            "training": TRAINING,
            "evaluation": EVALUATION,
        }.items()
        for name, case in cases.items()
    ],
)
@pytest.mark.filterwarnings("ignore:`torch.jit")  # as `torch.compile` imports it, too
def test_a_wrong_argument_is_one_sentence_with_what_was_expected_and_found(
    wrong, message, monkeypatch
):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    steps = []
    monkeypatch.setattr(torch.optim.Adam, "step", lambda *_: steps.append(1))
    with pytest.raises(InputError, match=message) as found:
        wrong()
    assert not steps
    assert len(str(found.value)) < 400 and "\n" not in str(found.value)


def test_numbers_of_numpy_are_numbers(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    penalty = MultiForward(np.float32(0.5))
    assert method(window=np.int64(2), penalty=penalty).window == 2
    assert len(lattice(np.int64(2), np.int32(3))) == 3


def test_a_list_of_concentrations_draws_as_the_tuple_does(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    draws = [Dirichlet(p).sample(4, 2, np.random.default_rng(0)) for p in ([1.0, 2.0], (1.0, 2.0))]
    assert (draws[0] == draws[1]).all()
