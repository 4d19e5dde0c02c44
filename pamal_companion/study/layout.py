"""The tables of the paper: where their numbers are, and what stands in their columns.

To add a table is to add its CSV to `printed/`, and a `Table(...)` to `TABLES`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

HOW_MADE = ("precision", "chunk")
"""Options that say how a run is made."""


class Column(NamedTuple):
    """A column of a CSV: the measure that it prints, how that is written ("%" where in per cent),
    how far from it a number still agrees, absolute or "5%", and the column of its deviation."""

    measure: str
    text: str
    margin: str
    deviation: str = ""

    @property
    def unit(self) -> float:
        """Our number times this is in the unit of the paper."""
        return 100.0 if "%" in self.text else 1.0

    @property
    def task(self) -> str:
        """Whose measure it is; empty for one of all tasks."""
        return self.measure.rpartition("/")[0]

    def margin_at(self, number: float) -> float:
        """The margin about a `number` of the paper."""
        share = self.margin.removesuffix("%")
        return float(share) * (number / 100 if share != self.margin else 1.0)


class Table(NamedTuple):
    """A table of the paper: where its numbers are, and which runs belong to a row.

    `place` is the label in the LaTeX source; `csv` and `rows` (a query, all if empty) are the
    numbers, `columns` what they measure on `split`. A row is told by its method and the options
    `keys`. A run belongs to it whose other options are the paper's but for those that are `fixed`
    here, those that are `free`, which the paper leaves open, and `HOW_MADE`.
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
        return {*self.free, *HOW_MADE}

    @property
    def target(self) -> str:
        """That of the workflow which makes the runs."""
        return "ablations" if self.split == "validation" else self.experiment


VOLUME = Column("hypervolume", "hypervolume ↑", "0.005")
STREETS = {
    "miou": Column("segmentation/mIoU", "mIoU, % ↑", "0.5"),
    "pixel_accuracy": Column("segmentation/pixel accuracy", "pixel accuracy, % ↑", "0.5"),
    "absolute_error": Column("depth/absolute error", "absolute error ↓", "5%"),
    "relative_error": Column("depth/relative error", "relative error ↓", "5%"),
}
PENALTY = ("penalty", "skip", "lr_scaling")
TABLES = {
    "multimnist": Table(
        "C2, MultiMNIST",
        "multimnist",
        "tab:hv:small experiments",
        "hypervolume",
        columns={
            "accuracy_1": Column("top-left/accuracy", "accuracy on top-left ↑", "0.005"),
            "accuracy_2": Column("bottom-right/accuracy", "accuracy on bottom-right ↑", "0.005"),
            "hypervolume": VOLUME,
        },
        rows="dataset == 'multimnist'",
        free=PENALTY,
    ),
    "census": Table(
        "C2, Census",
        "census",
        "tab:hv:small experiments",
        "hypervolume",
        columns={
            "accuracy_1": Column("age/accuracy", "accuracy on age ↑", "0.005"),
            "accuracy_2": Column("education/accuracy", "accuracy on education ↑", "0.005"),
            "hypervolume": VOLUME,
        },
        rows="dataset == 'census'",
        free=PENALTY,
    ),
    "multiforward_multimnist": Table(
        "B1, MultiMNIST",
        "multimnist",
        "tab:hv analysis:multimnist",
        "multiforward_multimnist",
        columns={"mean": VOLUME._replace(deviation="std")},
        split="validation",
        keys=("W", "lam"),
        free=PENALTY,
        divisor=3,
    ),
    "multiforward_census": Table(
        "B1, Census",
        "census",
        "tab:hv analysis:census",
        "multiforward_census",
        columns={"mean": VOLUME._replace(deviation="std")},
        split="validation",
        keys=("W", "lam"),
        free=PENALTY,
        divisor=3,
    ),
    "multimnist3": Table(
        "C3, MultiMNIST3",
        "multimnist3",
        "tab:multimnist3:baselines",
        "multimnist3",
        columns={
            "accuracy_1": Column(
                "top-left/accuracy", "accuracy on top-left, % ↑", "0.5", deviation="std_1"
            ),
            "accuracy_2": Column(
                "bottom/accuracy", "accuracy on bottom, % ↑", "0.5", deviation="std_2"
            ),
            "accuracy_3": Column(
                "top-right/accuracy", "accuracy on top-right, % ↑", "0.5", deviation="std_3"
            ),
        },
        free=("task", "antialias", "penalty", "skip", "lr_scaling"),
    ),
    "utkface": Table(
        "B3, UTKFace",
        "utkface",
        "tab:utkface:baselines",
        "utkface",
        columns={
            "age": Column("age/loss", "age, Huber loss ↓", "5%", deviation="age_std"),
            "gender": Column("gender/accuracy", "gender, % ↑", "0.5", deviation="gender_std"),
            "ethnicity": Column(
                "ethnicity/accuracy", "ethnicity, % ↑", "0.5", deviation="ethnicity_std"
            ),
        },
        keys=("balancing", "W", "p"),
        free=("task",),
    ),
    "cityscapes_I": Table(
        "C4, CityScapes, setting I",
        "cityscapes",
        "tab:cityscapes-full (setting I)",
        "cityscapes",
        columns=STREETS,
        rows="setting == 1",
        fixed={"setting": "I"},
        free=("task", "validation", "depth_scaling"),
    ),
    "cityscapes_II": Table(
        "5.3 and C4, CityScapes, setting II",
        "cityscapes",
        "tab:cityscapes-full (setting II)",
        "cityscapes",
        columns=STREETS,
        rows="setting == 2",
        fixed={"setting": "II"},
        free=("task", "validation", "depth_scaling"),
    ),
    "phn_multimnist": Table(
        "B4, PHN on MultiMNIST",
        "multimnist",
        "table:appendix:ablation:phn - multimnist",
        "phn_multimnist",
        columns={"hypervolume": VOLUME},
        split="validation",
        keys=("p", "solver", "lr"),
    ),
    "phn_census": Table(
        "B4, PHN on Census",
        "census",
        "table:appendix:ablation:phn - census",
        "phn_census",
        columns={"hypervolume": VOLUME},
        split="validation",
        keys=("p", "solver", "lr"),
    ),
    "cosmos_multimnist": Table(
        "B4, COSMOS on MultiMNIST",
        "multimnist",
        "table:appendix:ablation:cosmos - multimnist",
        "cosmos_multimnist",
        columns={"hypervolume": VOLUME},
        split="validation",
        keys=("p", "lam", "lr"),
    ),
    "cosmos_census": Table(
        "B4, COSMOS on Census",
        "census",
        "table:appendix:ablation:cosmos - census",
        "cosmos_census",
        columns={"hypervolume": VOLUME},
        split="validation",
        keys=("p", "lam", "lr"),
    ),
}
