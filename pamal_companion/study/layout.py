"""The tables of the paper: where their numbers are, and what stands in their columns.

To add a table is to add its CSV to `printed/`, and a `Table(...)` to `TABLES`.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pamal_companion.experiments.options import OPTIONS


class Column(NamedTuple):
    """A column of a CSV: the measure that it prints, how that is written ("%" where in per cent),
    the tolerance that the interval of a difference must lie beyond, per cent of the number where
    `in_percent`, the column of its deviation, and whether it is not printed but of the authors'
    seeds (`paper.authors`)."""

    measure: str
    text: str
    tolerance: float
    deviation: str = ""
    in_percent: bool = False
    of_authors: bool = False

    @property
    def unit(self) -> float:
        """Return our number times this is in the unit of the paper."""
        return 100.0 if "%" in self.text else 1.0

    @property
    def task(self) -> str:
        """Return whose measure it is; empty for one of all tasks."""
        return self.measure.rpartition("/")[0]


class Table(NamedTuple):
    """A table of the paper: where its numbers are, and which runs belong to a row.

    `title` begins with its number in the paper, and is a heading of our page of tables. `place` is
    the label in the LaTeX source; `csv` and `rows` (a query, all if empty) are the numbers,
    `columns` what they measure on `split`. A row is told by its method and the options `keys`. A
    run belongs to it whose other options are the paper's but for those that are `fixed` here, those
    that are `free`, which the paper leaves open, and those that say how a run is made.
    `divisor` is what the printed deviations of three seeds divide by.
    """

    title: str
    experiment: str
    place: str
    csv: str
    columns: Mapping[str, Column]
    rows: str = ""
    split: str = "test"
    keys: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = {}
    free: tuple[str, ...] = ()
    divisor: int = 2

    @property
    def any_value(self) -> set[str]:
        """Return the options that a run of the table may have with any value."""
        return {*self.free, "precision", "chunk"}

    @property
    def number(self) -> int:
        """Return its number in the paper."""
        return int(self.title.split()[1].rstrip(":"))

    @property
    def anchor(self) -> str:
        """Return the name of the section of our page that has the table."""
        return re.sub("[^a-z0-9]+", "-", self.title.lower())

    @property
    def target(self) -> str:
        """Return the target of the workflow that makes the runs."""
        return "ablations" if self.split == "validation" else self.experiment


def accuracies(data: str, text: str, tolerance: float, deviation: str = "") -> dict[str, Column]:
    """Return a column for the accuracy on each task; `deviation` begins the name of that."""
    tasks = enumerate(OPTIONS[data].task_names, 1)
    return {
        f"accuracy_{t}": Column(
            f"{task}/accuracy", text.format(task), tolerance, deviation and f"{deviation}{t}"
        )
        for t, task in tasks
    }


VOLUME = {"hypervolume": Column("hypervolume", "hypervolume ↑", 0.005)}
OF_AUTHORS = {
    "authors": Column(
        "hypervolume", "hypervolume of a seed, the authors' ↑", 0.005, of_authors=True
    )
}
"""Like for like, where the paper prints a baseline's hypervolume of three seeds together."""
MEAN = {"mean": VOLUME["hypervolume"]._replace(deviation="std")}
FACES = {
    "age": Column("age/loss", "age, Huber loss ↓", 5.0, "age_std", in_percent=True),
    "gender": Column("gender/accuracy", "gender, % ↑", 0.5, "gender_std"),
    "ethnicity": Column("ethnicity/accuracy", "ethnicity, % ↑", 0.5, "ethnicity_std"),
}
STREETS = {
    "miou": Column("segmentation/mIoU", "mIoU, % ↑", 0.5),
    "pixel_accuracy": Column("segmentation/pixel accuracy", "pixel accuracy, % ↑", 0.5),
    "absolute_error": Column("depth/absolute error", "absolute error ↓", 5.0, in_percent=True),
    "relative_error": Column("depth/relative error", "relative error ↓", 5.0, in_percent=True),
}
PENALTY = ("penalty", "skip", "lr_scaling")
SEARCHED = {
    "phn": ("PHN", {"multimnist": 7, "census": 6}, ("p", "solver", "lr")),
    "cosmos": ("COSMOS", {"multimnist": 5, "census": 8}, ("p", "lam", "lr")),
}
"""By method its name, the number of its table by data, and what was searched."""
SMALL = {"multimnist": "MultiMNIST", "census": "Census"}

TABLES = {
    data: Table(
        f"Table 9: {title}",
        data,
        "tab:hv:small experiments",
        "hypervolume",
        accuracies(data, "accuracy on {} ↑", 0.005)
        | VOLUME
        | (OF_AUTHORS if data == "multimnist" else {}),
        rows=f"dataset == {data!r}",
        free=PENALTY,
    )
    for data, title in SMALL.items()
}
TABLES |= {
    f"multiforward_{data}": Table(
        f"Table {number}: multi-forward on {title}",
        data,
        f"tab:hv analysis:{data}",
        f"multiforward_{data}",
        MEAN,
        split="validation",
        keys=("W", "lam"),
        free=PENALTY,
        divisor=3,
    )
    for number, (data, title) in enumerate(SMALL.items(), 2)
}
TABLES["multimnist3"] = Table(
    "Table 10: MultiMNIST3",
    "multimnist3",
    "tab:multimnist3:baselines",
    "multimnist3",
    accuracies("multimnist3", "accuracy on {}, % ↑", 0.5, "std_"),
    free=("task", "antialias", "penalty", "skip", "lr_scaling"),
)
TABLES["utkface"] = Table(
    "Table 4: UTKFace",
    "utkface",
    "tab:utkface:baselines",
    "utkface",
    FACES,
    keys=("balancing", "W", "p"),
    free=("task",),
)
TABLES |= {
    f"cityscapes_{setting}": Table(
        title,
        "cityscapes",
        f"tab:cityscapes-full (setting {setting})",
        "cityscapes",
        STREETS,
        rows=f"setting == {number}",
        fixed={"setting": setting},
        free=("task", "validation", "depth_scaling"),
    )
    for number, setting, title in (
        (1, "I", "Table 11: CityScapes, setting I"),
        (2, "II", "Table 1: CityScapes, setting II"),
    )
}
TABLES |= {
    f"{method}_{data}": Table(
        f"Table {numbers[data]}: {printed} on {title}",
        data,
        f"table:appendix:ablation:{method} - {data}",
        f"{method}_{data}",
        VOLUME,
        split="validation",
        keys=keys,
    )
    for method, (printed, numbers, keys) in SEARCHED.items()
    for data, title in SMALL.items()
}
