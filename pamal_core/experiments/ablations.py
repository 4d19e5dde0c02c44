"""The ablations: many settings of Census or MultiMNIST, several seeds, a record for each.

W times lambda and the sign of the penalty (appendix B1), the parameter p of the Dirichlet (A1), and
the grids of PHN and COSMOS (B4).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from pamal_core.data.splits import Splits
from pamal_core.errors import InputError
from pamal_core.experiments import census, multimnist
from pamal_core.runs import grid
from pamal_core.runs.options import NonNegative, Options
from pamal_core.runs.records import Record
from pamal_core.runs.run import Experiment
from pamal_core.runs.sweep import file_name, sweep

Setting = dict[str, Any]
SUBJECTS = {"census": census.EXPERIMENT, "multimnist": multimnist.EXPERIMENT}
LAMS = (0.0, 2.0, 5.0, 10.0)
PENALTIES: dict[str, dict[str, str]] = {
    "ordered": {"penalty": "ordered"},
    "printed": {"penalty": "printed"},
    "ordered+as_released": {"penalty": "ordered", "skip": "as_released"},
    "printed+as_released": {"penalty": "printed", "skip": "as_released"},
}
"""The names of `MultiForward`'s signs, with or without the authors' rule of when it counts."""

EXCERPT: dict[str, tuple[float, ...]] = {"p": (0.1, 1.0), "lam": (1.0, 5.0), "lr": (1e-3,)}
"""The part of the grids of PHN and COSMOS that the sample is for."""


def listed(value: object, kind: Callable[[str], Any] = str) -> object:
    """A tuple of what may be one value or a text with commas; the parts that are no `kind` stay
    text."""

    def converted(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            return text

    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list | tuple) else (value,)
    return tuple(converted(part.strip()) for part in value.split(","))


TEXTS, INTEGERS, NUMBERS = (BeforeValidator(partial(listed, kind=k)) for k in (str, int, float))
"""One value, a list, or one text with commas, as papermill passes it on."""

SOME = Field(min_length=1)
Penalty = Literal["ordered", "printed", "ordered+as_released", "printed+as_released"]


class AblationOptions(Options):
    """The experiment, the seeds, and the folder of the records; of the common options those that
    say what is trained on, for how long and where. `sample_epochs` is for how long on the sample.
    """

    known: ClassVar[tuple[str, ...]] = (
        *("experiment", "seeds", "results", "epochs", "data", "data_root", "device"),
    )
    sample_epochs: ClassVar[int] = 3
    experiment: Literal["census", "multimnist"] = "census"
    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], INTEGERS, SOME] = (0,)
    results: str | None = None

    def settings(self, is_sample: bool) -> list[Setting]:
        """What is trained, as what differs from the experiment's options."""
        raise NotImplementedError


class MultiForwardOptions(AblationOptions):
    """Which forms of the penalty, any of `PENALTIES`, are compared at which W."""

    known = (*AblationOptions.known, "penalties", "windows")
    windows: Annotated[tuple[Annotated[int, Field(ge=1)], ...], INTEGERS, SOME] = (1, 2, 3, 4, 5)
    penalties: Annotated[tuple[Penalty, ...], TEXTS, SOME] = ("ordered", "printed+as_released")

    def settings(self, is_sample: bool = False) -> list[Setting]:
        """For each seed every W and lambda with each penalty. At lambda = 0 there is none, so that
        it is in the list once; W = 1 has no other."""
        free = [{"W": W, "lam": 0.0, "seed": seed} for seed in self.seeds for W in self.windows]
        return free + [
            {"W": W, "lam": lam, **PENALTIES[name], "seed": seed}
            for seed in self.seeds
            for name in self.penalties
            for W in self.windows
            if W > 1
            for lam in LAMS[1:]
        ]


class SamplingOptions(AblationOptions):
    """The values of p that are compared, and W and lambda.

    The paper does not say with which W and lambda its figure was made; one draw a step and no
    penalty leave p alone at work.
    """

    known = (*AblationOptions.known, "ps", "W", "lam")
    sample_epochs = 10
    ps: Annotated[tuple[NonNegative, ...], NUMBERS, SOME] = (0.0, 0.1, 1.0, 100.0)

    def settings(self, is_sample: bool = False) -> list[Setting]:
        """A setting for each p and each seed."""
        fixed = {"W": self.W, "lam": self.lam}
        return [fixed | {"p": p, "seed": seed} for p in self.ps for seed in self.seeds]


class SweepOptions(AblationOptions):
    """Which of PHN and COSMOS are swept, beside PaMaL at the experiment's default.

    `lrs` narrows the grids to some of their learning rates; `recorded` to what has a record in the
    folder `results`, so that nothing is trained.
    """

    known = (*AblationOptions.known, "methods", "lrs", "recorded")
    methods: Annotated[tuple[Literal["phn", "cosmos"], ...], TEXTS, SOME] = ("phn", "cosmos")
    lrs: Annotated[tuple[float, ...], NUMBERS] | None = None
    recorded: bool = False

    @model_validator(mode="after")
    def _reads_from_a_folder(self) -> "SweepOptions":
        if self.recorded and self.results is None:
            raise ValueError("`recorded` needs `results`, the folder of the records. Found None.")
        return self

    def settings(self, is_sample: bool) -> list[Setting]:
        """For each seed PaMaL and both grids, on the sample an excerpt of them."""
        grids = [setting for m in self.methods for setting in self._grid(m, is_sample)]
        chosen = [
            setting | {"seed": seed}
            for seed in self.seeds
            for setting in [{"method": "pamal"}, *grids]
        ]
        if not self.recorded:
            return chosen
        kept = [s for s in chosen if (Path(str(self.results)) / file_name(s)).exists()]
        for method in ("pamal", *self.methods):
            if method not in [setting["method"] for setting in kept]:
                raise InputError(
                    f"With `recorded` {self.results} must have a record of {method}. Found none."
                )
        return kept

    def _grid(self, method: str, is_sample: bool) -> list[Setting]:
        """The settings of `method` in `workflow/grid.csv`, which are those of the paper's table, as
        the names of their records say them."""
        folder = f"ablation_phn_cosmos/{self.experiment}"
        rows = [r for r in grid.read("grid") if (r["folder"], r["method"]) == (folder, method)]
        settings = [grid.parameters(r["name"].replace("-", ";").partition(";")[2]) for r in rows]
        known = sorted({setting["lr"] for setting in settings})
        allowed = EXCERPT if is_sample else {}
        chosen = [
            {"method": method} | setting
            for setting in settings
            if self.lrs is None or setting["lr"] in self.lrs
            if all(value in allowed.get(name, (value,)) for name, value in setting.items())
        ]
        if not chosen:
            raise InputError(
                f"`lrs` must have one of the learning rates of {method} on {self.experiment}, "
                f"{known}{', and the sample has 0.001 alone' if is_sample else ''}. "
                f"Found {self.lrs}."
            )
        return chosen


def subject(options: AblationOptions) -> tuple[Experiment, Options]:
    """The experiment that is varied, and its options: the paper's, but on the sample trained for
    `sample_epochs` by default; on that of MultiMNIST, whose network is larger, for a fifth of
    them in batches of 64, a quarter of the usual size.

    Census has the labels of the authors' code, which its numbers in the paper come from.
    """
    common = options.model_dump(include={"epochs", "data", "data_root", "device"})
    own, sample = {
        "census": ({"masters": "as_released"}, {"epochs": options.sample_epochs}),
        "multimnist": ({}, {"epochs": max(1, options.sample_epochs // 5), "batch_size": 64}),
    }[options.experiment]
    experiment = SUBJECTS[options.experiment]
    varied = replace(experiment, defaults=experiment.defaults | {"sample": sample})
    return varied, experiment.options.create(**common, **own)


def runs(options: AblationOptions, *, progress: bool = True) -> tuple[list[Record], Splits]:
    """A record for each of the settings, and the data that they are of. Those in the folder
    `options.results` are read, others made and kept there."""
    experiment, own = subject(options)
    splits = experiment.load(own)
    chosen = options.settings(splits.is_sample)
    return sweep(experiment, own, chosen, options.results, splits, progress=progress), splits
