"""What the widget over all records is told: every run of a folder, packed into plain values."""

import math
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from pamal_companion.experiments.options import differing
from pamal_companion.plots import style
from pamal_companion.runs import folder, grid
from pamal_companion.runs.methods import METHODS, matters
from pamal_companion.runs.records import Record
from pamal_companion.study import frame, layout, paper, tables
from pamal_companion.study.frame import Setting
from pamal_companion.study.measures import is_better_high
from pamal_core.errors import InputError

DIGITS = 4
"""To how many decimals a page has metrics: a test set of 10,000 can tell no more."""
SOUGHT = ("W", "lam", "p", "epochs", "lr", "batch_size", "balancing", "task")
"""Options that a search finds even where they are the paper's."""
TOGETHER = {"all": "LS and PaMaL", "baselines": "The baselines"}
"""What the toy problem calls several methods in one record."""
SEED = "%seed%"
"""What stands for the seed in the texts of a run."""
FIRST = ("pamal", "ls", "stl")
"""Of these methods the paper's settings are shown at first."""


def pack(results: Path) -> dict[str, Any]:
    """Every run below `results`. `experiments`, `methods`, `settings`, `alphas` and `texts` are
    tables, to whose rows an entry of `runs` refers by number.

    `points` of a run are, by split, its fronts: [row of `alphas`, a column for each metric]. A
    column is the first value and then the differences of each from the one before, in units of the
    last of `digits` decimals; it is null where the metric was not measured. `records` is how many
    files there are; those of one run with the same points are one entry. `damaged` says why others
    could not be read. InputError where there is no record.
    """
    found = folder.runs(results)
    records = {listed["path"]: record for listed, record in found if record}
    if not records:
        raise InputError(f"`folder` must have records of runs (.json). Found none in {results}.")
    same: dict[Any, list[str]] = {}
    for path, record in records.items():
        key = frame.of(record), record.seed, str(record.points)
        same.setdefault(key, []).append(path)
    settings = sorted({setting for setting, _, _ in same}, key=_place)
    methods = [*dict.fromkeys(setting.method for setting in settings)]
    experiments = _experiments(records.values(), settings)
    alphas: dict[Any, int] = {}
    texts: dict[str | None, int] = {}
    runs = []
    for (setting, seed, _), paths in same.items():
        record, of = records[paths[0]], experiments[setting.experiment]
        # The runs of a setting share their texts, as the grid writes the seed into the name.
        names = [path.replace(f"seed_{seed}.", f"seed_{SEED}.") for path in paths]
        said = [*names, _command(paths[0], names[0], record)]
        *where, command = (texts.setdefault(text, len(texts)) for text in said)
        volumes = (record.hypervolume(split) for split in of["splits"])
        runs.append(
            {
                "setting": settings.index(setting),
                "seed": seed,
                "records": where,
                "command": command,
                "hypervolume": [None if math.isnan(v) else round(v, 5) for v in volumes],
                "points": _points(record, of, alphas),
            }
        )
    damaged = [listed["why"] for listed, _ in found if listed["state"] == "damaged"]
    return {
        "digits": DIGITS,
        "experiments": [*experiments.values()],
        "methods": _methods(methods),
        "settings": [_setting(one, [*experiments], methods) for one in settings],
        "alphas": [[[*alpha] for alpha in front] for front in alphas],
        "texts": [*texts],
        "runs": runs,
        "records": len(records),
        "damaged": damaged,
    }


def _place(setting: Setting) -> tuple[Any, ...]:
    """Where a setting stands in a list: by experiment and method as the tables have them, those
    that differ in W and lambda alone first."""
    (experiment, method, options), values = setting, setting.values
    return (
        [*paper.DATA, experiment].index(experiment),
        experiment,
        [*METHODS, method].index(method),
        method,
        len(dict(options).keys() - {"W", "lam"}),
        *(values[name] if method == "pamal" else 0 for name in ("W", "lam")),
        setting.label(),
    )


def _experiments(
    records: Collection[Record], settings: Sequence[Setting]
) -> dict[str, dict[str, Any]]:
    """What the runs of an experiment have in common: their splits, those of most runs first, their
    metrics and whether higher is better, which of these are objectives, and the settings to begin
    with."""
    made: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(setting.experiment for setting in settings):
        splits, metrics, ways = Counter[str](), dict[str, None](), dict[str, str]()
        for record in (one for one in records if one.experiment == name):
            splits.update([*dict.fromkeys(_split(p["split"], record) for p in record.points)])
            metrics |= dict.fromkeys(m for point in record.points for m in point["metrics"])
            ways |= record.objectives
        names = [*metrics]
        made[name] = {
            "name": name,
            "title": paper.DATA.get(name, name),
            "splits": [split for split, _ in splits.most_common()],
            "metrics": names,
            "objectives": [names.index(objective) for objective in ways],
            "higher": [ways[n] == "max" if n in ways else is_better_high(n) for n in names],
            "start": [
                number
                for number, (experiment, method, options) in enumerate(settings)
                if experiment == name and method in FIRST and not {*dict(options)} - {"task"}
            ],
        }
    return made


def _split(name: str, record: Record) -> str:
    """The split of points; a record with several fronts of a split numbers them after its name."""
    return name if name in record.summary else name.rpartition(", ")[0] or name


def _points(record: Record, of: Mapping[str, Any], alphas: dict[Any, int]) -> list[Any]:
    """The fronts of a record, by split of its experiment; alphas that are new become a row."""
    fronts: dict[str, list[dict[str, Any]]] = {}
    for point in record.points:
        fronts.setdefault(point["split"], []).append(point)
    by_split: dict[str, list[Any]] = {split: [] for split in of["splits"]}
    for name, points in fronts.items():
        key = tuple(tuple(round(share, DIGITS) for share in point["alpha"]) for point in points)
        columns = [[point["metrics"].get(metric) for point in points] for metric in of["metrics"]]
        whole = (None if None in c else np.rint(np.array(c) * 10**DIGITS) for c in columns)
        # Differences have fewer digits along a front.
        packed = [c if c is None else np.diff(c, prepend=0).astype(int).tolist() for c in whole]
        by_split[_split(name, record)].append([alphas.setdefault(key, len(alphas)), *packed])
    return [*by_split.values()]


def _methods(names: Sequence[str]) -> list[dict[str, str]]:
    """The methods in print, in the colours of the figures; those that share the grey of others
    there, since their markers tell them apart, get a colour each."""
    grey, printed = style.COLOURS["other"], paper.PRINTED | TOGETHER
    known = {n: style.METHODS.get(printed.get(n, n), (grey,))[0] for n in names}
    rest = [name for name in names if known[name] == grey]
    known |= zip(rest, style.colours(len(rest), (style.RED,)), strict=True)
    return [{"name": n, "printed": printed.get(n, n), "colour": known[n]} for n in names]


def _setting(setting: Setting, experiments: list[str], methods: list[str]) -> dict[str, Any]:
    """Its name in print, its `key` in an address, the options by which one finds it, and what the
    paper prints of it, by split and measure."""
    values, named = setting.values, setting.named
    sought = {n: values[n] for n in SOUGHT if n in values and matters(n, setting.method)} | named
    printed = TOGETHER.get(setting.method, setting.method)
    return {
        "experiment": experiments.index(setting.experiment),
        "method": methods.index(setting.method),
        "label": setting.name().replace(setting.method, printed, 1),
        "key": ":".join([setting.method, *map(_pair, named.items())]),
        "options": " ".join(map(_pair, sought.items())),
        "paper": _printed(setting),
    }


def _pair(option: tuple[str, Any]) -> str:
    """An option without spaces: "lr=0.001", "weights=0.9/0.1"."""
    name, value = option
    values = value if isinstance(value, tuple) else (value,)
    texts = (f"{v:g}" if isinstance(v, int | float) else f"{v}" for v in values)
    return f"{name}={'/'.join(texts).replace(' ', '_')}"


def _printed(setting: Setting) -> dict[str, dict[str, float]]:
    """What the paper's tables have of single runs of `setting`, means over their seeds. Those over
    W and lambda have the printed sign of the penalty, as released."""
    found: dict[str, dict[str, float]] = {}
    values = setting.values
    for name, table in layout.TABLES.items():
        row = tables.row_of(setting, name)
        if table.keys == ("W", "lam") and values["lam"] and values["penalty"] != "printed":
            continue
        for printed, number in row.numbers.items() if row else ():
            measure = table.columns[printed].measure
            # On test the paper's hypervolume of a baseline is that of its three seeds together.
            if measure == "hypervolume" and table.split == "test" and setting.method != "pamal":
                continue
            mean = float(number.mean) / table.columns[printed].unit
            if not math.isnan(mean):
                found.setdefault(table.split, {})[measure] = round(mean, 5)
    return found


def _command(path: str, name: str, record: Record) -> str | None:
    """The command that makes the run again: its notebook's where it has one. The record at `path`,
    for any seed `name`, is of the grid where that has such a run there; None where nothing here
    makes it."""
    notebook: str = record.experiment
    parameters = {"data": "full" if frame.is_full(record) else "sample", "method": record.method}
    parameters |= differing(record.about)
    with suppress(InputError):  # there is no grid where the package is not in its repository
        run = grid.by_record().get(path)
        if run and (frame.of(run), run.seed) == (frame.of(record), record.seed):
            if not run.notebook:
                return f"python -m pamal_companion run {shlex.quote(name)} --results mine"
            notebook, parameters = run.notebook, run.parameters
    if not (grid.ROOT / "notebooks" / f"{notebook}.ipynb").exists():
        return None
    return grid.papermill(notebook, parameters | {"seed": SEED, "out": "mine.json"})
