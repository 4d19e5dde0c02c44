"""Tables of every run of a folder, for the widget over all records."""

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pamal_companion.experiments.options import differing
from pamal_companion.plots import style
from pamal_companion.runs import folder, grid
from pamal_companion.runs.methods import METHODS, affects
from pamal_companion.runs.records import Record
from pamal_companion.study import frame, layout, paper, tables
from pamal_companion.study.frame import Setting
from pamal_companion.study.measures import is_better_high
from pamal_core.errors import InputError, is_number

SPLITS = ("validation", "test")
"""What networks are shown on."""
DIGITS = 4
"""To how many decimals a page has metrics: a test set of 10,000 can tell no more."""
SOUGHT = ("W", "lam", "p", "epochs", "lr", "batch_size", "balancing", "task")
"""Options that a search finds even where they are the paper's."""
SEED, RECORD = "%seed%", "%record%"
"""What stands for the seed in the texts of a run, and for its record in its command."""
FIRST = ("pamal", "ls", "stl")
"""Of these methods the paper's settings are shown at first."""


def pack(results: Path) -> dict[str, Any]:
    """Return every run below `results` that trained networks, as tables of plain values.

    `settings` and `runs` are tables by column; `setting`, `records` and other whole numbers in
    them are rows of `settings`, `experiments`, `methods`, `alphas` and `texts`. `points` of a run
    has for each of `SPLITS` a column for each metric of its experiment, in units of the last of
    `digits` decimals, and null for what was not measured. `records` is how many files there are;
    those of one run with the same points are one row. `damaged` says why others could not be read.
    InputError where there is no record.
    """
    listed = folder.runs(results)
    # The toy problem, whose data are a formula, has no networks.
    records = {run["path"]: r for run, r in listed if r and r.data != "formula"}
    if not records:
        raise InputError(
            f"`folder` must have records of networks (.json). Found none in {results}."
        )
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
        record = records[paths[0]]
        # The runs of a setting share their texts, as the grid writes the seed into the name.
        named: list[str | None] = [p.replace(f"seed_{seed}.", f"seed_{SEED}.") for p in paths]
        named.append(_command(paths[0], record, setting))
        *where, command = (texts.setdefault(text, len(texts)) for text in named)
        volumes = (record.hypervolume(split) for split in SPLITS)
        shares, points = _points(record, experiments[setting.experiment]["metrics"])
        runs.append(
            {
                "setting": settings.index(setting),
                "seed": seed,
                "records": where,
                "command": command,
                "hypervolume": [None if math.isnan(v) else round(v, 5) for v in volumes],
                "alphas": alphas.setdefault(shares, len(alphas)),
                "points": points,
            }
        )
    rows = [_setting(one, [*experiments], methods, texts) for one in settings]
    return {
        "splits": [*SPLITS],
        "digits": DIGITS,
        "experiments": [*experiments.values()],
        "methods": _methods(methods),
        "settings": _by_column(rows),
        "runs": _by_column(runs),
        "alphas": [[[*alpha] for alpha in front] for front in alphas],
        "texts": [*texts],
        "records": len(records),
        "damaged": [run["why"] for run, _ in listed if run["state"] == "damaged"],
    }


def _by_column(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return a table, in which a page has each name once."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def _place(setting: Setting) -> tuple[Any, ...]:
    """Return where a setting stands in a list: by experiment and method as the tables have them,
    those that differ in W and lambda alone first."""
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
    """Return what the runs of an experiment have in common: their metrics and whether higher is
    better, which of these are objectives, and the settings to begin with."""
    made: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(setting.experiment for setting in settings):
        metrics, ways = dict[str, None](), dict[str, str]()
        for record in (one for one in records if one.experiment == name):
            metrics |= dict.fromkeys(m for point in record.points for m in point["metrics"])
            ways |= record.objectives
        names = [*metrics]
        made[name] = {
            "name": name,
            "title": paper.DATA.get(name, name),
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


def _points(record: Record, names: Sequence[str]) -> tuple[Any, list[Any]]:
    """Return the alphas of a record, which are the same on each split, and by split its columns."""
    alphas: Any = ()
    by_split: list[Any] = []
    for split in SPLITS:
        points = [point for point in record.points if point["split"] == split]
        alphas = (
            tuple(tuple(round(a, DIGITS) for a in point["alpha"]) for point in points) or alphas
        )
        columns = [[point["metrics"].get(name) for point in points] for name in names]
        whole = [
            None
            if not all(map(is_number, column))
            else [round(value * 10**DIGITS) for value in column]
            for column in columns
        ]
        by_split.append(whole if points else None)
    return alphas, by_split


def _methods(names: Sequence[str]) -> list[dict[str, str]]:
    """Return the methods in print, in the colours of the figures; those that share the grey of
    others there, since their markers tell them apart, get a colour each."""
    grey, printed = style.COLOURS["other"], paper.PRINTED
    known = {n: style.METHODS.get(printed.get(n, n), (grey,))[0] for n in names}
    rest = [name for name in names if known[name] == grey]
    known |= zip(rest, style.colours(len(rest), (style.RED,)), strict=True)
    return [{"name": n, "printed": printed.get(n, n), "colour": known[n]} for n in names]


def _setting(
    setting: Setting, experiments: list[str], methods: list[str], texts: dict[str | None, int]
) -> dict[str, Any]:
    """Return its name in print, its `key` in an address, which has what differs from the paper, the
    `usual` options by which one finds it too, and what the paper prints of it, by split and
    measure."""
    values, named = setting.values, setting.named
    sought = [n for n in SOUGHT if n in values and affects(n, setting.method) and n not in named]
    usual = " ".join(_pair((name, values[name])) for name in sought)
    return {
        "experiment": experiments.index(setting.experiment),
        "method": methods.index(setting.method),
        "label": setting.name(),
        "key": ":".join([setting.method, *map(_pair, named.items())]),
        "usual": texts.setdefault(usual, len(texts)),
        "paper": _printed(setting),
    }


def _pair(option: tuple[str, Any]) -> str:
    """Return an option without spaces: "lr=0.001", "weights=0.9/0.1"."""
    name, value = option
    values = value if isinstance(value, tuple) else (value,)
    texts = (f"{v:g}" if isinstance(v, int | float) else f"{v}" for v in values)
    return f"{name}={'/'.join(texts).replace(' ', '_')}"


def _printed(setting: Setting) -> dict[str, dict[str, float]]:
    """Return what the paper's tables have of single runs of `setting`, means over their seeds.
    Tables over W and lambda have the printed sign of the penalty, as released."""
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


def _command(path: str, record: Record, setting: Setting) -> str | None:
    """Return the command that makes a run of `setting` again: its notebook's where it has one. The
    record at `path` is of the grid where that has such a run there; None where nothing here makes
    it."""
    notebook: str = record.experiment
    parameters = {"data": "full" if frame.is_full(record) else "sample", "method": record.method}
    parameters |= differing(record.about)
    with suppress(InputError):  # there is no grid where the package is not in its repository
        run = grid.by_record().get(path)
        if run and (frame.of(run), run.seed) == (setting, record.seed):
            if not run.notebook:
                return f"python -m pamal_companion run {RECORD} --results mine"
            notebook, parameters = run.notebook, run.parameters
    if not (grid.ROOT / "notebooks" / f"{notebook}.ipynb").exists():
        return None
    return grid.papermill(notebook, parameters | {"seed": SEED, "out": "mine.json"})
