"""The paper: its settings, its tables, and their numbers in the columns that ours have.

`printed/` has the numbers, transcribed; its README says what each column is.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pamal_core.errors import check_choice
from pamal_core.runs.methods import METHODS
from pamal_core.runs.options import Options

FOLDER = Path(__file__).parent / "printed"
DATA = {
    "multimnist": "MultiMNIST",
    "census": "Census",
    "multimnist3": "MultiMNIST3",
    "utkface": "UTKFace",
    "cityscapes": "CityScapes",
    "toy": "toy problem",
}

# The setting of each experiment in the paper, and what only PaMaL has of it; then of other methods.
SETTINGS: dict[str, dict[str, Any]] = {
    "multimnist": {"epochs": 10, "offset": 6, "split": "disjoint"},
    "census": {"epochs": 10, "masters": "as_released"},
    "multimnist3": {"epochs": 20, "antialias": False},
    "utkface": {"epochs": 100, "size": 64},
    "cityscapes": {"epochs": 100, "lr": 1e-4, "batch_size": 8, "setting": "II"},
    "toy": {"epochs": 50, "balancing": "all"},
}
PAMAL: dict[str, dict[str, Any]] = {
    "multimnist": {"W": 4},
    "census": {"W": 2, "lam": 5.0},
    "multimnist3": {"lr_scaling": "plain"},
    "utkface": {"W": 3, "p": 2.0, "balancing": "gradient"},
    "cityscapes": {"W": 3, "lam": 1.0, "p": 7.0, "balancing": "gradient"},
}
# What a run means that does not say it: where the default of our options is not the paper's value.
UNSAID: dict[str, dict[str, Any]] = {
    "census": {"masters": "mended"},
    "multimnist3": {"lr_scaling": "members"},
}
PRINTED = {name: row.printed for name, row in METHODS.items()}
ONE_NETWORK = [name for name, row in METHODS.items() if row.one_network]
"""The methods that end with one network for all tasks."""


@cache
def setting(experiment: str, method: str) -> Mapping[str, Any]:
    """Every option of a run as the paper has it: the common defaults, those of its data and those
    of its method."""
    common: dict[str, Any] = {name: field.default for name, field in Options.model_fields.items()}
    published: Mapping[str, Any] = METHODS[method].published if method in METHODS else {}
    own = PAMAL.get(experiment, {}) if method == "pamal" else published
    return {**common, **SETTINGS.get(experiment, {}), **own}


class Column(NamedTuple):
    """A column of a CSV: the measure that it prints, our number times `unit`, of task number `task`
    (None: of all), the column of its deviation, and the digits to show."""

    measure: str
    text: str
    task: int | None = None
    unit: float = 1.0
    deviation: str | None = None
    digits: int = 4


class Table(NamedTuple):
    """A table of the paper: where its numbers are, and which runs belong to a row.

    `csv` and `rows` (a query) are the numbers, `columns` what they measure on `split`. A row is
    told by its method and by the options `keys`. A run belongs to it whose other options are the
    paper's but for those that are `fixed` here and those that are `free`: which the paper leaves
    open, or which say how a run is made and not what it is. `place` is the label in the LaTeX
    source, `target` makes the runs. `divisor` is what the printed deviations of three seeds divide
    by.
    """

    title: str
    experiment: str
    csv: str
    place: str
    target: str
    split: str
    columns: Mapping[str, Column]
    keys: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = MappingProxyType({})
    rows: str = "index >= 0"
    divisor: int = 2


OF_DATA = {"offset", "split", "antialias", "masters", "tasks"}
"""Options that change the data."""
HOW = ("precision", "chunk")
"""Options that say how a run is made."""
OPEN = ("penalty", "skip", "lr_scaling", *HOW)
"""Those, and what the paper and its code have differently."""


def _accuracies(*tasks: str, unit: float = 1.0, deviation: str | None = None) -> dict[str, Column]:
    percent = ", %" if unit == 100 else ""
    return {
        f"accuracy_{t}": Column(
            f"{task}/accuracy",
            f"accuracy on {task}{percent} ↑",
            t - 1,
            unit,
            deviation and f"{deviation}_{t}",
            2 if percent else 4,
        )
        for t, task in enumerate(tasks, start=1)
    }


TASKS = {
    "multimnist": ("top-left", "bottom-right"),
    "census": ("age", "education"),
    "multimnist3": ("top-left", "bottom", "top-right"),
    "utkface": ("age", "gender", "ethnicity"),
    "cityscapes": ("segmentation", "depth"),
}
VOLUME = Column("hypervolume", "hypervolume ↑", deviation="std")
TABLES: dict[str, Table] = {
    data: Table(
        f"C2, {DATA[data]}",
        data,
        "hypervolume",
        "tab:hv:small experiments",
        data,
        "test",
        {**_accuracies(*TASKS[data]), "hypervolume": VOLUME},
        free=OPEN,
        rows=f"dataset == '{data}'",
    )
    for data in ("multimnist", "census")
}
TABLES |= {
    f"multiforward_{data}": Table(
        f"B1, {DATA[data]}",
        data,
        f"multiforward_{data}",
        f"tab:hv analysis:{data}",
        "ablations",
        "validation",
        {"mean": VOLUME},
        ("W", "lam"),
        OPEN,
        divisor=3,
    )
    for data in ("multimnist", "census")
}
TABLES["multimnist3"] = Table(
    "C3, MultiMNIST3",
    "multimnist3",
    "multimnist3",
    "tab:multimnist3:baselines",
    "multimnist3",
    "test",
    _accuracies(*TASKS["multimnist3"], unit=100.0, deviation="std"),
    free=("task", "antialias", *OPEN),
)
TABLES["utkface"] = Table(
    "B3, UTKFace",
    "utkface",
    "utkface",
    "tab:utkface:baselines",
    "utkface",
    "test",
    {
        "age": Column("age/loss", "age, Huber loss ↓", 0, 1, "age_std", 3),
        "gender": Column("gender/accuracy", "gender, % ↑", 1, 100, "gender_std", 2),
        "ethnicity": Column("ethnicity/accuracy", "ethnicity, % ↑", 2, 100, "ethnicity_std", 2),
    },
    ("balancing", "W", "p"),
    ("task", *HOW),
)
TABLES |= {
    f"cityscapes_{number}": Table(
        f"{where}, CityScapes, setting {number}",
        "cityscapes",
        "cityscapes",
        f"tab:cityscapes-full (setting {number})",
        "cityscapes",
        "test",
        {
            "miou": Column("segmentation/mIoU", "mIoU, % ↑", 0, 100, digits=2),
            "pixel_accuracy": Column(
                "segmentation/pixel accuracy", "pixel accuracy, % ↑", 0, 100, digits=2
            ),
            "absolute_error": Column("depth/absolute error", "absolute error ↓", 1),
            "relative_error": Column("depth/relative error", "relative error ↓", 1, digits=3),
        },
        free=("task", "validation", "depth_scaling", *HOW),
        fixed={"setting": number},
        rows=f"setting == {len(number)}",
    )
    for number, where in (("I", "C4"), ("II", "5.3 and C4"))
}
TABLES |= {
    f"{method}_{data}": Table(
        f"B4, {name} on {DATA[data]}",
        data,
        f"{method}_{data}",
        f"table:appendix:ablation:{method} - {data}",
        "ablations",
        "validation",
        {"hypervolume": VOLUME._replace(deviation=None)},
        ("p", own, "lr"),
        HOW,
    )
    for method, name, own in (("phn", "PHN", "solver"), ("cosmos", "COSMOS", "lam"))
    for data in ("multimnist", "census")
}


def table(name: str) -> pd.DataFrame:
    """The file `name`, such as "hypervolume"; an empty cell is NaN. InputError for an unknown
    name."""
    check_choice("name", name, sorted(path.stem for path in FOLDER.glob("*.csv")))
    return pd.read_csv(FOLDER / f"{name}.csv")


class Row(NamedTuple):
    """A row of a table: the method by our name, the values of the keys, and for each column that it
    has the mean and the standard deviation over seeds (NaN where the paper has none)."""

    method: str
    keys: Mapping[str, Any]
    numbers: Mapping[str, tuple[float, float]]


@cache
def rows(name: str) -> list[Row]:
    """The rows of the table `name` of `TABLES`, in the paper's order, in the units that it prints.

    Deviations divide by one less than the number of seeds, which is three, whatever was printed.
    Where the paper has a row for each seed, as for PaMaL in appendix C2, they are taken together.
    """
    of = TABLES[name]
    ours = {printed: method for method, printed in PRINTED.items()} | {"PML": "pamal"}
    found = table(of.csv).query(of.rows)
    if "method" not in found:
        found = found.assign(
            method=PRINTED[name.split("_")[0]] if "solver" in found or "p" in found else "PaMaL"
        )
    keys = [key for key in of.keys if key in found]
    made = []
    for values, group in found.groupby(["method", *keys], sort=False, dropna=False):
        given = {
            k: v.lower() if isinstance(v, str) else v for k, v in zip(keys, values[1:], strict=True)
        }
        numbers = {}
        for printed, column in of.columns.items():
            deviation = (
                group[column.deviation].mean() * np.sqrt(of.divisor / 2)
                if column.deviation in group
                else group[printed].std()
            )
            numbers[printed] = float(group[printed].mean()), float(deviation)
        made.append(Row(ours[values[0]], {k: v for k, v in given.items() if v == v}, numbers))
    return made
