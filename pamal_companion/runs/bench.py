"""Methods and data sets of one's own beside the paper's: read from files, run at equal passes.

A file defines a method by a class or by a function, and a data set by a constant:

- Each subclass of `Balancer` without abstract methods is the balancer of one network. It is made
  without arguments, or with `num_tasks` if its constructor has that parameter.
- Each function with the return annotation `Method` makes a whole method, of the arguments that its
  parameters name: `tasks`, `make_network`, which makes a freshly initialised network, and `shared`,
  the name of its encoder.
- `EXPERIMENT` is an `Experiment`.

The name of the class or function is that of the method. Names that begin with an underscore, and
what the file imports, are left out.
"""

import ast
import hashlib
import inspect
import pickle
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from pydantic import create_model
from tqdm import tqdm

from pamal_companion.data.splits import Splits
from pamal_companion.runs.experiment import Experiment, experiment_of
from pamal_companion.runs.files import RunFiles
from pamal_companion.runs.methods import METHODS, MethodRow, affects
from pamal_companion.runs.options import OF_DATA, Options
from pamal_companion.runs.recorder import Recorder
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import file_name, run
from pamal_core.balancing import Balancer
from pamal_core.errors import InputError, NonFiniteError, check_choice
from pamal_core.evaluation import evaluate
from pamal_core.method import Method
from pamal_core.stages import epochs_beside
from pamal_core.training import train

BESIDE = ("pamal", "ls", "uw", "nash_mtl", "soup")
"""Methods that one's own are compared with."""
FACTORS = (1.0, 0.5, 2.0)
"""Factors of the paper's rate. Of rates that do equally well, the first is chosen."""
CHOOSING = 1000
"""Seed at which the rates are chosen. It judges no method."""
DECIDED = {"method", "seed", "epochs", "shared_epochs", "out", "source"}
"""Options that the command decides."""
ARGUMENTS = ("tasks", "make_network", "shared")
"""Arguments that a function which makes a method may have."""


class DivergedError(InputError):
    """A loss or a gradient of a run became NaN or infinite."""


class Definitions(NamedTuple):
    """Methods and experiments by name, and by each name a digest of the text of its file."""

    methods: dict[str, MethodRow]
    experiments: dict[str, Experiment]
    digests: dict[str, str]


class Plan(NamedTuple):
    """Runs of one experiment, each with as many `passes` over the training data: the paper's rate,
    and by method what makes the options of its runs of a rate, a seed and a place."""

    experiment: Experiment
    splits: Splits
    passes: int
    rate: float
    methods: dict[str, partial[Options]]
    forgetful: frozenset[str]
    """The methods of one's own that cannot go on from a checkpoint: their runs begin anew."""


class Made(NamedTuple):
    """Results of a plan: by method the hypervolume on validation at each rate, NaN if the training
    diverged, the chosen rate, and the records of the seeds that judge."""

    volumes: dict[str, dict[float, float]]
    chosen: dict[str, float]
    records: dict[str, list[Record]]


# What files define


def read(files: Sequence[Path], experiments: Collection[str] = ()) -> Definitions:
    """Return what `files` define.

    - `experiments`: names of experiments that are taken. Those of methods are, too.

    Raise InputError if a file is missing, is not Python or defines nothing, if a constructor or
    function needs other arguments, and if two definitions have one name, whatever its case.
    """
    found = Definitions({}, {}, {})
    taken = dict.fromkeys(map(str.lower, experiments), "the experiments of this package")
    for name, row in METHODS.items():
        taken |= dict.fromkeys((name.lower(), row.printed.lower()), "the methods of this package")
    for path in files:
        for name, what, digest in _definitions(path):
            if name.lower() in taken:
                raise InputError(
                    f"Each definition must have a name of its own. Found {name} in {path} and in "
                    f"{taken[name.lower()]}."
                )
            taken[name.lower()], found.digests[name] = str(path), digest
            if isinstance(what, Experiment):
                found.experiments[name] = what
            else:
                found.methods[name] = what
    return found


def _definitions(path: Path) -> Iterator[tuple[str, MethodRow | Experiment, str]]:
    """Yield the name of each definition of a file, the definition, and a digest of the file."""
    try:
        text = path.read_bytes()
        tree = ast.parse(text, str(path))
    except OSError as error:
        raise InputError(f"Could not read {path}: {error.strerror}.") from None
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{path} is not Python: {error}.") from None
    digest = hashlib.sha256(b"".join(_texts(path, text))).hexdigest()[:8]
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.append(folder)  # what the file imports may lie beside it
    module = ModuleType(f"bench_{digest}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where dataclasses and pydantic look names up
    exec(compile(tree, str(path), "exec"), vars(module))
    rows, experiment = _methods(module), getattr(module, "EXPERIMENT", None)
    kinds = ast.ClassDef | ast.FunctionDef
    defined = Counter(node.name for node in tree.body if isinstance(node, kinds))
    if twice := [name for name in rows if defined[name] > 1]:
        raise InputError(
            f"Each definition must have a name of its own. Found {twice[0]} in {path} twice."
        )
    if experiment is not None and not isinstance(experiment, Experiment):
        kind = type(experiment).__name__
        raise InputError(f"EXPERIMENT of {path} must be an Experiment. Found {kind}.")
    if experiment is None and not rows:
        lacking = [
            f", and {value.__name__} lacks {min(value.__abstractmethods__)}"
            for value in _public(module)
            if _is_balancer(value) and inspect.isabstract(value)
        ]
        raise InputError(
            f"{path} must define a subclass of Balancer, a function that returns a Method, or "
            f"EXPERIMENT. Found none{''.join(lacking)}."
        )
    yield from ((name, row, digest) for name, row in rows.items())
    if experiment is not None:
        yield experiment.name, experiment, digest


def _texts(path: Path, text: bytes) -> Iterable[bytes]:
    """Return the `text` of a file, and those of the files beside it that it imports."""
    texts, left = {path: text}, [path]
    while left:
        file = left.pop()
        for name in _imported(texts[file]):
            place = file.parent / name
            for other in (place.with_suffix(".py"), *sorted(place.glob("**/*.py"))):
                if other.exists() and other not in texts:
                    texts[other] = other.read_bytes()
                    left.append(other)
    return texts.values()


def _imported(text: bytes) -> Iterator[str]:
    """Yield the packages and modules that a text imports; none of one that is no Python."""
    with suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.partition(".")[0]


def _methods(module: ModuleType) -> dict[str, MethodRow]:
    """Return the methods that a module defines, by name."""
    rows = {}
    for value in _public(module):
        if inspect.isfunction(value) and _makes_method(value):
            rows[value.__name__] = _of_function(value)
        elif _is_balancer(value) and not inspect.isabstract(value):
            arguments = _arguments(value, ("num_tasks",))
            rows[value.__name__] = MethodRow(value.__name__, value, arguments)
    return rows


def _public(module: ModuleType) -> list[Any]:
    """Return the classes and functions that a module defines itself, without underscored names."""
    return [
        value
        for value in vars(module).values()
        if inspect.isclass(value) or inspect.isfunction(value)
        if value.__module__ == module.__name__ and not value.__name__.startswith("_")
    ]


def _is_balancer(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Balancer)


def _makes_method(function: Callable[..., Any]) -> bool:
    """Return whether a function is annotated to return a `Method`."""
    returned = function.__annotations__.get("return")
    return returned is Method or str(returned).rpartition(".")[2] == "Method"


def _arguments(make: Callable[..., Any], known: Sequence[str]) -> tuple[str, ...]:
    """Return those of the arguments `known` that `make` has; raise InputError if it needs more."""
    parameters = inspect.signature(make).parameters.values()
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if others := [p.name for p in named if p.default is p.empty and p.name not in known]:
        raise InputError(
            f"{make.__name__} may need no argument but {', '.join(known)}. "
            f"Found `{others[0]}` without a default."
        )
    return tuple(p.name for p in named if p.name in known)


def _of_function(function: Callable[..., Any]) -> MethodRow:
    """Return the method that `function` makes. Adam gets M times the rate for M members, as it does
    for PaMaL."""
    name, names = function.__name__, _arguments(function, ARGUMENTS)

    def make(tasks: Any, make_network: Callable[[int], Any], shared: str) -> Method:
        given = tasks, lambda extra=0: make_network(extra), shared
        pairs = zip(ARGUMENTS, given, strict=True)
        method = function(**{argument: value for argument, value in pairs if argument in names})
        if not isinstance(method, Method):
            raise InputError(f"{name} must return a Method. Found {type(method).__name__}.")
        return method

    return MethodRow(name, make=make, options=("lr_scaling",), one_network=False)


# What is run


def seeds_of(text: str) -> list[int]:
    """Return the seeds that are written with commas; raise InputError unless they are different
    whole numbers, and other than `CHOOSING`."""
    seeds = [int(part) if part.strip().isdecimal() else -1 for part in text.split(",")]
    if min(seeds) < 0 or len({*seeds}) < len(seeds) or CHOOSING in seeds:
        raise InputError(
            f"`seeds` must be different whole numbers such as 0,1,2, without {CHOOSING}, at which "
            f"rates are chosen. Found {text!r}."
        )
    return seeds


def chosen(names: Sequence[str], found: Definitions, known: Collection[str]) -> list[Experiment]:
    """Return the experiments `names`, of the files and of the package's `known`; by default those
    of the files. Raise InputError for an unknown name, and for none."""
    names = [*dict.fromkeys(names or found.experiments)]
    for name in names:
        check_choice("experiments", name, [*known, *found.experiments])
    if not names:
        raise InputError(
            f"`experiments` must name some of {', '.join(known)}, or a file must define "
            "EXPERIMENT. Found neither."
        )
    return [found.experiments.get(name) or experiment_of(name) for name in names]


def plan(
    experiment: Experiment, found: Definitions, epochs: int | None, given: Mapping[str, Any]
) -> Plan:
    """Return the runs of an experiment, each of as many passes as PaMaL makes in `epochs`.

    A pass trains one network on every example, forward and backward. PaMaL makes W passes an epoch,
    and the soup makes one for each task after half of its passes. One network makes one, also under
    a rule that goes backward once for each task. A method that a function makes has `window`
    passes.

    - `found`: methods that have been `added`, all of which are run, and their digests.
    - `epochs`: those of PaMaL, None for the paper's.
    - `given`: other options of every run.

    Each method of one's own takes a step, a network for an experiment of one's own is judged before
    it is trained, and nothing is written: what fails there would fail after the first training.
    Raise InputError if a loss or gradient is not finite, if the passes do not suit a method, and if
    an option is wrong.
    """
    if own := sorted(DECIDED & given.keys()):
        raise InputError(f"`{own[0]}` is decided by the command. Found {given[own[0]]!r}.")
    splits = experiment.load(experiment.options.create(**given))
    settle = partial(_settled, experiment, found, splits, given)
    paper = settle("pamal", **({} if epochs is None else {"epochs": epochs}))
    usual = experiment.resolved(paper(), splits)
    num_tasks, passes = len(experiment.tasks_of(usual)), (usual.epochs or 0) * usual.W
    if len(experiment.reference_of(usual)) != num_tasks:
        raise InputError(
            f"`reference` of {experiment.name} must have {num_tasks} numbers, one for each task. "
            f"Found {len(experiment.reference)}."
        )
    if passes <= num_tasks:
        raise InputError(
            f"A run on {experiment.name} must make more passes than there are tasks, as the soup "
            f"makes one with all tasks and one for each. Found {passes} passes and {num_tasks} "
            "tasks: choose more `epochs`."
        )
    if experiment.name in found.experiments:
        _judged(experiment, splits, settle("ls", epochs=1)())
    methods, forgetful = {}, set()
    for method in found.methods:
        window, forgets = _tried(experiment, splits, settle(method, epochs=1)())
        if forgets:
            forgetful.add(method)
        if passes % window:
            raise InputError(
                f"{method} makes {window} passes an epoch, and {passes} on {experiment.name} "
                "are no multiple of that. Choose `epochs` so that they are."
            )
        methods[method] = settle(method, epochs=passes // window)
    lengths = {method: {"epochs": passes} for method in BESIDE}
    lengths |= {"pamal": {"epochs": usual.epochs or 0}, "soup": soup(passes, num_tasks)}
    methods |= {method: settle(method, **length) for method, length in lengths.items()}
    return Plan(experiment, splits, passes, usual.lr, methods, frozenset(forgetful))


def soup(passes: int, num_tasks: int) -> dict[str, int]:
    """Return the epochs of a rewarded soup that makes so many passes, more than there are tasks:
    about half of them with one network for all tasks."""
    shared, apart = epochs_beside("soup", passes, num_tasks, soup=False)["soup"]
    return {"epochs": shared + apart, "shared_epochs": shared}


def _settled(
    experiment: Experiment,
    found: Definitions,
    splits: Splits,
    given: Mapping[str, Any],
    method: str,
    **length: int,
) -> partial[Options]:
    """Return what makes the options of the runs of a method; raise InputError if they are refused.

    The digests of the files that define the method and the experiment are among them, so that a run
    of a file that has changed is another run.
    """
    usual = experiment.options.of_the_paper.items()
    paper = {name: v for name, v in usual if name not in OF_DATA and affects(name, method)}
    if experiment.name in found.experiments:  # as `fit` has it; the paper shares statistics
        paper["batch_norm"] = "recalibrated"
    values = {"method": method, **paper, **given, **length}
    kind = experiment.options
    if digests := [found.digests[n] for n in (method, experiment.name) if n in found.digests]:
        kind = create_model(kind.__name__, __base__=kind, source=(str, ""))
        values["source"] = "+".join(digests)
    create = partial(kind.create, **values)
    options = create()
    experiment.check(options)
    experiment.resolved(options, splits)
    return create


def _tried(experiment: Experiment, splits: Splits, options: Options) -> tuple[int, bool]:
    """Take one step of a method. Return its number of passes for each batch, and whether its
    balancer remembers something that its `state_dict` lacks. Raise DivergedError if its loss or
    gradient is not finite, and InputError if its tasks are not those of the experiment."""
    with Recorder(experiment, options, splits) as recorder:
        method, optimizer = recorder.method()
        names = tuple(task.name for task in experiment.tasks_of(options))
        if method.names != names:
            raise InputError(
                f"{options.method} must have the tasks of {experiment.name} in their order, "
                f"{', '.join(names)}. Found {', '.join(method.names)}."
            )
        before = _memory(method.balancer)
        batch = next(iter(recorder.batches()))
        try:
            train(method, [batch], epochs=1, optimizer=optimizer, progress=False)
        except NonFiniteError as error:
            raise DivergedError(f"{options.method} on {experiment.name}: {error}") from None
    return method.window, _memory(method.balancer) != before


def _judged(experiment: Experiment, splits: Splits, options: Options) -> None:
    """Judge a network that is not trained, by the metrics and on the data that judge all runs."""
    with Recorder(experiment, options, splits) as recorder:
        network, tasks = recorder.method()[0].network, experiment.tasks_of(options)
        for _, loader, points in recorder.parts():
            evaluate(network, tasks, loader, **points)


def _memory(balancer: Balancer) -> bytes:
    """Return what a balancer holds, if its `state_dict` has nothing of it."""
    if balancer.state_dict():
        return b""
    with suppress(Exception):  # of what cannot be pickled
        return pickle.dumps(vars(balancer))
    return b""


def make(plan: Plan, seeds: Sequence[int], out: Path) -> Made:
    """Make the runs of a plan that are not in the folder `out` yet, one's own first.

    Each method is run with half the paper's rate, the rate and double, at the seed `CHOOSING`. The
    rate with the largest hypervolume on validation is chosen, and each of `seeds` is run with it. A
    run that was stopped goes on from its last epoch. Raise DivergedError, with no checkpoint left,
    if a run of the chosen rate diverges, or one of each rate. Raise InputError if a method has no
    hypervolume, or 0, at each rate.
    """
    made, total = Made({}, {}, {}), len(plan.methods) * (len(FACTORS) + len(seeds))
    with tqdm(total=total, unit="run") as bar:
        for method in plan.methods:
            bar.set_description(f"{plan.experiment.name}, {method}")
            volumes, failed = dict[float, float](), None
            for rate in (factor * plan.rate for factor in FACTORS):
                try:
                    volumes[rate] = _record(plan, method, rate, CHOOSING, out).hypervolume()
                except DivergedError as error:
                    volumes[rate], failed = float("nan"), error
                bar.update()
            finite = {rate: volume for rate, volume in volumes.items() if volume == volume}
            if not finite:
                nowhere = f"{method} on {plan.experiment.name} has no hypervolume on validation."
                raise failed or InputError(nowhere)
            if not any(finite.values()):  # every rate would be the best, and all methods level
                raise InputError(
                    f"The hypervolume of {method} on {plan.experiment.name} is 0 at each rate: no "
                    "network is better than `reference` at every task. Choose more `epochs`, or a "
                    "reference that is above a measure that should be low. Found "
                    f"{plan.experiment.reference}."
                )
            made.volumes[method] = volumes
            made.chosen[method] = max(finite, key=lambda rate: finite[rate])
            made.records[method] = []
            for seed in seeds:
                record = _record(plan, method, made.chosen[method], seed, out)
                made.records[method].append(record)
                bar.update()
    return made


def _record(plan: Plan, method: str, rate: float, seed: int, out: Path) -> Record:
    """Make a run, or read it; raise DivergedError, with no checkpoint left, if it diverges."""
    create = plan.methods[method]
    names = [n for n in ("method", "source", "epochs", "shared_epochs") if n in create.keywords]
    setting: dict[str, Any] = {name: create.keywords[name] for name in names}
    place = out / plan.experiment.name / file_name(setting | {"lr": rate, "seed": seed})
    options = create(lr=rate, seed=seed, out=str(place))
    if method in plan.forgetful:
        RunFiles(place).checkpoint.unlink(missing_ok=True)
    try:
        return run(plan.experiment, options, plan.splits, keep_weights=False).record
    except NonFiniteError as error:
        files = RunFiles(place)
        for each in (files, files.shared):
            each.checkpoint.unlink(missing_ok=True)
        raise DivergedError(
            f"{method} on {plan.experiment.name}, lr={rate:g}, seed {seed}: {error}"
        ) from None
