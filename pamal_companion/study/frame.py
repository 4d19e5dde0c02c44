"""Records by setting and seed, and what they measured."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from pamal_companion.data.places import user_path
from pamal_companion.experiments.options import options_of
from pamal_companion.fronts import hypervolume, union
from pamal_companion.runs import grid
from pamal_companion.runs.folder import files
from pamal_companion.runs.methods import affects
from pamal_companion.runs.options import OF_DATA, kind_of
from pamal_companion.runs.records import Record
from pamal_companion.study import paper
from pamal_companion.study.measured import FILE, MeasuredRun, readable
from pamal_companion.study.measured import read as measured_rows
from pamal_companion.study.measures import check, value
from pamal_core.errors import InputError
from pamal_core.front import Front

LABELS = {
    "task": "{}",
    "W": "W = {}",
    "lam": "λ = {:g}",
    "p": "p = {:g}",
    "solver": "{}",
    "balancing": "{} balancing",
    "penalty": "{} sign",
    "skip": "penalty {}",
    "epochs": "{:g} epochs",
    "batch_size": "batches of {:,}",
    "lr": "rate {:g}",
    "lr_scaling": "{} rate",
    "draws": "{} draws",
    "draw": "data drawn with seed {}",
    "average": "EMA {}",
}
"""The words for the options of a setting, in this order; others follow as "name = value"."""
RESULTS = FILE.parent
SPLITS = ("validation", "test", "validation, recalibrated", "test, recalibrated")
ENSEMBLES = ("pamal", "low_rank")
"""The methods that train mixtures of members."""


class Setting(NamedTuple):
    """What was trained, but for its seed. `options` are those that differ from the paper's
    (`paper.options_of_run`), by name; if the data are not the full ones, `data` is one."""

    experiment: str
    method: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def values(self) -> dict[str, Any]:
        """Return every option."""
        return {**paper.options_of_run(self.experiment, self.method), **dict(self.options)}

    @property
    def tasks(self) -> Sequence[str]:
        """Return its tasks, which are those of the paper unless the options have others."""
        return self.values.get("tasks") or [*paper.TASKS.get(self.experiment, ())]

    @property
    def of_data(self) -> dict[str, Any]:
        """Return the options that choose the data."""
        return {name: value for name, value in self.values.items() if name in OF_DATA}

    @property
    def rate(self) -> float:
        """Return the rate of Adam: for PaMaL M times the option `lr`, unless that is plain. An
        experiment of the paper has a member for each task."""
        scaled = self.method in ENSEMBLES and self.values["lr_scaling"] == "members"
        return self.values["lr"] * (max(len(self.tasks), 1) if scaled else 1)

    @property
    def passes(self) -> int | float:
        """Return how often it sees each training example."""
        each = self.values["W"] if self.method in ENSEMBLES else 1
        if self.method == "soup":
            each = len(self.tasks)
        shared = self.values["shared_epochs"] or 0
        return shared + (self.values["epochs"] - shared) * each

    @property
    def task(self) -> str:
        """Return the task of single-task learning."""
        return self.tasks[self.values["task"]]

    def having(self, **options: Any) -> "Setting":
        """Return the setting with these options instead; None is the paper's value."""
        given = (dict(self.options) | options).items()
        return setting(self.experiment, self.method, **{n: v for n, v in given if v is not None})

    def name(self, *without: str) -> str:
        """Return its `label`, of PaMaL with W, lambda and the sign of a penalty in any case, but
        for the options `without`."""
        always = ["W", "lam"] if self.method == "pamal" else []
        if always and self.values["lam"]:
            always.append("penalty")
        return self.label(*always, without=without)

    def label(self, *always: str, without: Iterable[str] = ()) -> str:
        """Return the method and the options that differ from the paper's, those in `always`, and
        the task of STL, in any case. Of a learning rate it is that of Adam."""
        if self.method == "stl":
            always = ("task", *always)
        shown = {name: self.values[name] for name in always} | dict(self.options)
        if "lr" in shown:
            shown["lr"] = self.rate
        if "task" in shown:
            named = dict(enumerate(self.tasks))
            shown["task"] = named.get(shown["task"], shown["task"])
        texts = [
            _written(name, "no" if shown[name] == "none" else shown[name])
            for name in dict.fromkeys([*LABELS, *shown])
            if name in shown and name not in without
        ]
        return ", ".join([paper.PRINTED.get(self.method, self.method), *texts])


def _written(name: str, value: Any) -> str:
    form = LABELS.get(name, name.replace("_", " ") + " = {}")
    if not isinstance(value, int | float):
        form = form.replace("{:g}", "{}").replace("{:,}", "{}")
    return form.format(value)


AnyRun = TypeVar("AnyRun", Record | MeasuredRun, grid.Run)
Runs = Mapping[Setting, Mapping[int, Record | MeasuredRun]]
"""Records, or rows of the table of measures, by setting and seed."""


def setting(experiment: str, method: str, /, **options: Any) -> Setting:
    """Return the setting of runs with these `options`, whatever else is as in the paper."""
    usual = paper.options_of_run(experiment, method)
    keys = {name: paper.key_of(value) for name, value in options.items()}
    differing = {n: v for n, v in keys.items() if n not in usual or v != usual[n]}
    return Setting(experiment, method, tuple(sorted(differing.items())))


def of(run: Record | MeasuredRun | grid.Run) -> Setting:
    """Return the setting of a record, or of a run of the grid, where what is not said is our
    default."""
    known = options_of(run.experiment)
    if isinstance(run, grid.Run):
        data = "sample" if run.options.get("data") == "sample" else "full"
        usual = known.defaults_of(run.method, data).items()
        defaults = {name: value for name, value in usual if affects(name, run.method)}
        return setting(run.experiment, run.method, **defaults | dict(run.options))
    options = known.completed(run.method, run.options)
    if not is_full(run):
        options["data"] = "sample" if kind_of(run.data) == "sample" else run.data
    return setting(run.experiment, run.method, **options)


@cache
def planned(data: str, folder: str = "") -> tuple[Setting, ...]:
    """Return the settings of the grid on `data`, of records in `folder`."""
    found = (run for record, run in grid.by_record().items() if record.startswith(folder))
    return tuple(dict.fromkeys(of(run) for run in found if run.experiment == data))


def is_full(record: Record | MeasuredRun) -> bool:
    """Return whether it was trained on the full data, or on none."""
    return record.data == "formula" or record.data.split("/")[1:2] == ["full"]


def select(text: str) -> Setting:
    """Return the setting that a table names: "multimnist/pamal lr=0.002; average=0.99"."""
    where, _, options = text.partition(" ")
    experiment, _, method = where.partition("/")
    if experiment not in paper.DATA or not method:
        form = "experiment/method option=value; ..."
        raise InputError(f'A setting is written "{form}". Found {text!r}.')
    return setting(experiment, method, **grid.parameters(options))


class _Recorded(dict[Setting, dict[int, Any]]):
    """InputError in place of a KeyError: a folder of results may have other settings."""

    def __missing__(self, setting: Setting) -> dict[int, Any]:
        data = paper.DATA.get(setting.experiment, setting.experiment)
        raise InputError(f"There must be a record of {data}: {setting.name()}. Found none.")


def runs(made: Iterable[AnyRun]) -> dict[Setting, dict[int, AnyRun]]:
    """Return records, or runs of the grid, by setting and seed; one that is there twice counts
    once. Raise InputError for records of one setting and of other data."""
    found: dict[Setting, dict[int, AnyRun]] = {}
    for run in made:
        by_seed = found.setdefault(of(run), {})
        first = next(iter(by_seed.values()), run)
        if not isinstance(run, grid.Run) and run.data != first.data:
            name = f"{paper.DATA.get(run.experiment, run.experiment)}, {of(run).name()}"
            raise InputError(
                "Records of one setting must have the same data, or be in folders of their own. "
                f"Found {first.data} and {run.data} for {name}."
            )
        by_seed[run.seed] = run
    return _Recorded((setting, dict(sorted(found[setting].items()))) for setting in found)


def read(folder: str | Path | None = None) -> Runs:
    """Return the runs whose records are in `folder`, at any depth; by default those of this
    repository, as its table has them, and those that came later as records. InputError where a
    folder is given that has none."""
    if folder is None:
        rows = measured_rows(FILE) if FILE.exists() else {}
        paths = _records(FILE.parent)
        others = dict(readable(path for path in paths if path not in rows))
        every = rows | others
        return runs(every[path] for path in paths if path in every)
    found = runs(record for _, record in readable(_records(user_path(folder, "results"))))
    if not found:
        raise InputError(f"`results` must be a folder with records. Found none in {folder}.")
    return found


def _records(folder: Path) -> list[Path]:
    """Return the paths of the records in a folder, in order; none where there is no folder."""
    return sorted(files(folder, ".json")) if folder.is_dir() else []


def with_others(*records: Record, known: Runs | None = None) -> Runs:
    """Return `records` and the other seeds of their settings that are `known`, by default those of
    this repository."""
    recorded = read() if known is None else known
    others = [recorded.get(setting, {}).values() for setting in runs(records)]
    return runs([*chain.from_iterable(others), *records])


def few(found: Runs, seed: int) -> dict[int, Record | MeasuredRun]:
    """Return the run of `seed`, of the one setting in `found`, and as many of the first others as
    make three, for a page that draws each."""
    (by_seed,) = found.values()
    kept = sorted(by_seed, key=lambda other: (other != seed, other))[: paper.SEEDS]
    return {kept_seed: by_seed[kept_seed] for kept_seed in sorted(kept)}


def rows(
    found: Runs, options: Iterable[str], measures: Iterable[str], split: str = "validation"
) -> pd.DataFrame:
    """Return a row for each run: its `setting`, `seed`, some of its options, and some measures."""
    return pd.DataFrame(
        {"setting": setting, "seed": seed}
        | {name: setting.values[name] for name in options}
        | {name: value_of(record, name, split) for name in measures}
        for setting, by_seed in found.items()
        for seed, record in by_seed.items()
    )


def value_of(run: Record | MeasuredRun, measure: str, split: str) -> float:
    """Return a measure of a run, NaN where it has none."""
    if not isinstance(run, MeasuredRun):
        return value(run, measure, split)
    check(measure)
    return run.measures.get(split, {}).get(measure, np.nan)


@dataclass(frozen=True)
class OfSeeds:
    """What groups of so many seeds measure: the "hypervolume" of all their points from 0, the
    "least hypervolume" of one, or the "distance", the largest extent in an objective."""

    name: str
    number: int

    def __str__(self) -> str:
        return f"{self.name} of {self.number} seeds"

    def values(self, found: Runs, setting: Setting, split: str) -> dict[Any, float]:
        fronts = [run.front(split) for run in found.get(setting, {}).values()]
        starts = range(0, len(fronts) - self.number + 1, self.number)
        return {f"group {n}": GROUPS[self.name](fronts[n : n + self.number]) for n in starts}


GROUPS: dict[str, Callable[[Sequence[Front]], float]] = {
    "hypervolume": lambda fronts: volume(union(*fronts)),
    "least hypervolume": lambda fronts: min(map(volume, fronts)),
    "distance": lambda fronts: float(np.ptp(union(*fronts).values, axis=0).max()),
}


@dataclass(frozen=True)
class Near:
    """The share of the points of a run that are on no objective further than `margin` behind the
    mean of the best of `baseline`."""

    margin: float
    baseline: Setting

    def __str__(self) -> str:
        return f"share within {self.margin:g} of {paper.PRINTED[self.baseline.method]}"

    def values(self, found: Runs, setting: Setting, split: str) -> dict[Any, float]:
        best = [run.front(split).better.max(0) for run in found.get(self.baseline, {}).values()]
        if not best:
            return {}
        least = np.mean(best, axis=0) - self.margin
        fronts = {seed: run.front(split) for seed, run in found.get(setting, {}).items()}
        return {seed: (front.better > least).all(1).mean() for seed, front in fronts.items()}


@dataclass(frozen=True)
class Away:
    """How far each run is from the median of all runs of its setting: what it means over seeds is
    how far they lie apart (Brown and Forsythe), the less the better."""

    name: str

    def __str__(self) -> str:
        return f"distance of a seed's {self.name} from the median"

    def values(self, found: Runs, setting: Setting, split: str) -> dict[Any, float]:
        numbers = measured(found, setting, self.name, split)
        return dict((numbers - numbers.median()).abs())


WEIGHTS = {
    ("multimnist", "ls"): 27_450,
    ("multimnist", "phn"): 2_782_850,
    ("census", "ls"): 121_092,
    ("census", "phn"): 12_240_692,
}
"""By experiment and method, in the paper's setting; torch, which the study does without, counts
them again in a test."""


COUNTED: dict[str, Callable[[Setting], float]] = {
    "passes": lambda setting: float(setting.passes),
    "weights": lambda setting: WEIGHTS[setting[:2]],
}
"""Numbers that all runs of a setting share: passes over the training data, and trained weights."""
Measure = str | OfSeeds | Near | Away


def measured(found: Runs, setting: Setting, measure: Measure, split: str) -> "pd.Series[float]":
    """Return what every run of `setting` measured, by seed, or each group of runs, without those
    that have no such number."""
    by_seed = found.get(setting, {})
    if not isinstance(measure, str):
        numbers = measure.values(found, setting, split)
    elif measure in COUNTED:
        numbers = dict.fromkeys(by_seed, COUNTED[measure](setting))
    else:
        numbers = {seed: value_of(run, measure, split) for seed, run in by_seed.items()}
    return pd.Series(numbers, dtype=float).dropna()


def have_other_data(found: Runs, one: Setting, two: Setting) -> bool:
    """Return whether no run of one setting has the data of any run of the other."""
    ours, theirs = ({run.data for run in found.get(s, {}).values()} for s in (one, two))
    return bool(ours and theirs) and not ours & theirs


def are_paired(found: Runs, one: Setting, two: Setting) -> bool:
    """Return whether two settings are compared seed by seed: they are the same runs, or each seed
    has its own draw of the data, which both use. Seeds of one draw have nothing in common."""
    if one == two:
        return True
    ours, theirs = found.get(one, {}), found.get(two, {})
    seeds = [seed for seed in ours if seed in theirs]
    draws, others = ([its[seed].options.get("draw") for seed in seeds] for its in (ours, theirs))
    return draws == others and len({*draws}) == len(draws) > 1


def united(
    found: Mapping[Any, Mapping[int, Record | MeasuredRun]],
    settings: Iterable[Any],
    split: str = "validation",
) -> dict[int, Front]:
    """Return the runs of all `settings` as one front, by seed, where all have been made."""
    every = [found.get(setting, {}) for setting in settings]
    seeds = sorted(set.intersection(*map(set, every)))
    return {seed: union(*(by_seed[seed].front(split) for by_seed in every)) for seed in seeds}


def volume(front: Front) -> float:
    """Return the hypervolume of accuracies, from 0."""
    return hypervolume(front, [0.0] * len(front.objectives))


def costs(by_data: Mapping[str, Runs]) -> pd.DataFrame:
    """Return what the runs of a page cost, a row for each data set: their number, the median
    minutes of training and evaluation, and the hours of all."""
    rows = {}
    for data, found in by_data.items():
        seconds = [record.seconds for by_seed in found.values() for record in by_seed.values()]
        rows[paper.DATA[data]] = {
            "runs": len(seconds),
            "median minutes": f"{np.median(seconds) / 60:.1f}",
            "hours in all": f"{sum(seconds) / 3600:.1f}",
        }
    return pd.DataFrame.from_dict(rows, "index").rename_axis("cost")
