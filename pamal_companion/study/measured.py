"""The table of all that was measured, `results/measured.csv`: a row for each record and split.

`python -m pamal_companion.study.measured` makes it anew from the records of this repository. Its
columns are what a run is (`ABOUT`), every option, empty where the method has none, the split, and
every measure of `measures`. Registered runs are left out.
"""

import csv
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from pamal_companion.data.atomic import write_atomic
from pamal_companion.runs import folder, grid
from pamal_companion.runs.records import Record
from pamal_companion.study import measures
from pamal_core.errors import InputError

RESULTS = grid.RESULTS
FILE = RESULTS / "measured.csv"
ABOUT = ["record", "experiment", "method", "seed", "data", "seconds"]
SPLIT = "measured on"
"""The column between the options and the measures; `split` is an option of MultiMNIST's."""


@dataclass(frozen=True)
class MeasuredRun:
    """A run as the table has it: a record's fields, and its measures by split. What else a record
    has, such as its points, is read from its file when it is asked for."""

    path: Path
    experiment: str
    method: str
    options: Mapping[str, Any]
    seed: int
    data: str
    seconds: float
    measures: dict[str, dict[str, float]]

    @cached_property
    def record(self) -> Record:
        return Record.read(self.path)

    def hypervolume(self, split: str = "validation") -> float:
        """Return the hypervolume of all points of `split`, NaN if there is none."""
        return self.measures.get(split, {}).get("hypervolume", float("nan"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.record, name)


def readable(paths: Iterable[Path]) -> Iterator[tuple[Path, Record]]:
    """Yield the records that can be read. Warn of each other one by its name, and of two records of
    one run that tell different numbers, of which the later one counts."""
    known: dict[str, tuple[str, Record]] = {}
    for path in paths:
        try:
            record = Record.read(path)
        except InputError as error:
            warnings.warn(f"Left out: {error}", stacklevel=2)
            continue
        if said := folder.contradiction(known, str(path), record):
            warnings.warn(said, stacklevel=2)
        yield path, record


def table(records: Iterable[tuple[str, Record]]) -> pd.DataFrame:
    """Return the rows of records with their paths; of a record with the same points elsewhere the
    measures are computed once."""
    abouts, options, numbers = list[Any](), list[Any](), list[Any]()
    computed: dict[tuple[str, str], list[dict[str, float]]] = {}
    for path, record in records:
        about = (path, record.experiment, record.method, record.seed, record.data, record.seconds)
        splits, same = measures.splits(record), (record.key, str(record.points))
        if same not in computed:
            try:
                computed[same] = [measures.measured(record, split) for split in splits]
            except InputError as error:  # nothing that can be compared
                warnings.warn(f"Left out: {path}: {error}", stacklevel=2)
                continue
        for split, found in zip(splits, computed[same], strict=True):
            abouts.append((*about, split))
            options.append({name: _text(value) for name, value in record.options.items()})
            numbers.append(found)
    first = pd.DataFrame(abouts, columns=[*ABOUT, SPLIT])
    given, measured = pd.DataFrame(options).fillna(""), pd.DataFrame(numbers)
    return pd.concat([first[ABOUT], given, first[SPLIT], measured], axis=1)


def _text(value: Any) -> str:
    """Return the value of an option as `grid.parameters` reads it."""
    return json.dumps(value) if isinstance(value, list) else str(value)


def read(file: Path = FILE) -> dict[Path, MeasuredRun]:
    """Return the runs of the table by the paths of their records, which two folders may share."""
    rows: dict[Path, MeasuredRun] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        table = csv.DictReader(lines)
        names = [*(table.fieldnames or ())]
        options, numbers = names[len(ABOUT) : names.index(SPLIT)], names[names.index(SPLIT) + 1 :]
        for line in table:
            path = file.parent / line["record"]
            if path not in rows:
                given = {name: grid.value(line[name]) for name in options if line[name]}
                about = line["experiment"], line["method"], given, int(line["seed"]), line["data"]
                rows[path] = MeasuredRun(path, *about, float(line["seconds"]), {})
            own = {name: float(line[name]) for name in numbers if line[name]}
            rows[path].measures[line[SPLIT]] = own
    return rows


def write(results: Path = RESULTS) -> Path:
    """Make the table of a folder of records anew, and return where it is."""
    found = readable(sorted(folder.files(results, ".json")))
    records = ((path.relative_to(results).as_posix(), record) for path, record in found)
    write_atomic(results / FILE.name, table(records).to_csv(index=False).encode())
    return results / FILE.name


if __name__ == "__main__":
    print(write())
