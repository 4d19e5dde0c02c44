"""The ablations: many settings of Census or MultiMNIST, several seeds, a record for each.

W times lambda and the sign of the penalty (appendix B1), the parameter p of the Dirichlet (A1), and
the grids of PHN and COSMOS (B4).
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pandas as pd
from pydantic import BeforeValidator, Field, model_validator

from pamal_companion.data.splits import Splits
from pamal_companion.experiments import census, multimnist
from pamal_companion.runs import grid
from pamal_companion.runs.experiment import Experiment
from pamal_companion.runs.options import Count, Folder, Natural, NonNegative, Options, as_tuple
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import file_name, sweep
from pamal_core.errors import InputError

Setting = dict[str, Any]
# The names of `MultiForward`'s signs, with or without the authors' rule of when it counts.
Penalty = Literal["ordered", "printed", "ordered+as_released", "printed+as_released"]
SUBJECTS = {"census": census.EXPERIMENT, "multimnist": multimnist.EXPERIMENT}
LAMS = (0.0, 2.0, 5.0, 10.0)
# The part of the grids of PHN and COSMOS that the sample is for.
EXCERPT: dict[str, tuple[float, ...]] = {"p": (0.1, 1.0), "lam": (1.0, 5.0), "lr": (1e-3,)}
Some = Field(min_length=1)
Listed = BeforeValidator(as_tuple)


class AblationOptions(Options):
    """The experiment, the seeds, and the folder of the records; of the common options those that
    say what is trained on, for how long and where. `sample_epochs` is for how long on the sample.
    """

    known: ClassVar[tuple[str, ...]] = (
        *("experiment", "seeds", "results", "epochs", "data", "data_root", "device"),
    )
    sample_epochs: ClassVar[int] = 3
    experiment: Literal["census", "multimnist"] = "census"
    seeds: Annotated[tuple[Natural, ...], Listed, Some] = (0,)
    results: Folder | None = None

    def settings(self, is_sample: bool) -> list[Setting]:
        """Return what is trained, as what differs from the experiment's options."""
        raise NotImplementedError


class MultiForwardOptions(AblationOptions):
    """Which forms of the penalty are compared at which W."""

    known = (*AblationOptions.known, "penalties", "windows")
    windows: Annotated[tuple[Count, ...], Listed, Some] = (1, 2, 3, 4, 5)
    penalties: Annotated[tuple[Penalty, ...], Listed, Some] = ("ordered", "printed+as_released")

    @model_validator(mode="after")
    def _has_draws_to_couple(self) -> "MultiForwardOptions":
        if len({*self.windows}) < 2:
            raise ValueError(f"`windows` must be two or more. Found windows={self.windows}.")
        return self

    def settings(self, is_sample: bool = False) -> list[Setting]:
        """Return for each seed every W and lambda with each penalty. At lambda = 0 no penalty acts,
        so that it is in the list once; W = 1 has no other lambda."""
        free = [{"W": W, "lam": 0.0, "seed": s} for s, W in product(self.seeds, self.windows)]
        every = product(self.seeds, self.penalties, self.windows, LAMS[1:])
        names = "penalty", "skip"  # of the words of "printed+as_released"; others have the first
        return free + [
            {"W": W, "lam": lam, **dict(zip(names, words.split("+"), strict=False)), "seed": s}
            for s, words, W, lam in every
            if W > 1
        ]


class SamplingOptions(AblationOptions):
    """The values of p that are compared, and W and lambda.

    The paper does not say with which W and lambda its figure was made; one draw a step and no
    penalty leave p alone at work.
    """

    known = (*AblationOptions.known, "ps", "W", "lam")
    sample_epochs = 10
    ps: Annotated[tuple[NonNegative, ...], Listed, Some] = (0.0, 0.1, 1.0, 100.0)

    def settings(self, is_sample: bool = False) -> list[Setting]:
        """Return a setting for each p and each seed."""
        fixed = {"W": self.W, "lam": self.lam}
        return [fixed | {"p": p, "seed": seed} for p, seed in product(self.ps, self.seeds)]


class SweepOptions(AblationOptions):
    """Which of PHN and COSMOS are swept, beside PaMaL at the experiment's default.

    `lrs` narrows the grids to some of their learning rates; `recorded` to what has a record in the
    folder `results`, so that nothing is trained.
    """

    known = (*AblationOptions.known, "methods", "lrs", "recorded")
    methods: Annotated[tuple[Literal["phn", "cosmos"], ...], Listed, Some] = ("phn", "cosmos")
    lrs: Annotated[tuple[float, ...], Listed] | None = None
    recorded: bool = False

    def settings(self, is_sample: bool) -> list[Setting]:
        """Return for each seed PaMaL and both grids, on the sample an excerpt of them."""
        grids = [setting for m in self.methods for setting in self._grid(m, is_sample)]
        each = product(self.seeds, [{"method": "pamal"}, *grids])
        chosen = [setting | {"seed": seed} for seed, setting in each]
        if not self.recorded:
            return chosen
        kept = [s for s in chosen if (Path(str(self.results)) / file_name(s)).exists()]
        for method in ("pamal", *self.methods):
            if method not in [setting["method"] for setting in kept]:
                raise InputError(
                    f"`recorded` needs a record of {method} in `results`. Found none in "
                    f"{self.results}."
                )
        return kept

    def _grid(self, method: str, is_sample: bool) -> list[Setting]:
        """Return the settings of `method` in `workflow/grid.csv`, which are those of the paper's
        table, as the names of their records say them."""
        folder = f"ablation_phn_cosmos/{self.experiment}"
        rows = [r for r in grid.read("grid") if (r["folder"], r["method"]) == (folder, method)]
        settings = [grid.parameters(r["name"].replace("-", ";").partition(";")[2]) for r in rows]
        allowed = (EXCERPT if is_sample else {}) | ({"lr": self.lrs} if self.lrs else {})
        chosen = [
            {"method": method} | setting
            for setting in settings
            if all(value in allowed.get(name, (value,)) for name, value in setting.items())
        ]
        if not chosen:
            raise InputError(
                f"`lrs` must have one of the learning rates of {method} on {self.experiment}, "
                f"{sorted({s['lr'] for s in settings})}"
                f"{', and the sample has 0.001 alone' if is_sample else ''}. Found {self.lrs}."
            )
        return chosen


def subject(options: AblationOptions) -> tuple[Experiment, Options]:
    """Return the experiment that is varied, and its options: the paper's, but on the sample trained
    for `sample_epochs` by default; on that of MultiMNIST, whose network is larger, for a fifth of
    them in batches of 64, a quarter of the usual size.

    Data and rate are those of the paper's numbers, as `of_the_paper` says.
    """
    epochs, small = options.sample_epochs, options.experiment == "multimnist"
    sample = {"epochs": max(1, epochs // 5), "batch_size": 64} if small else {"epochs": epochs}
    experiment = SUBJECTS[options.experiment]
    varied = replace(experiment, defaults=experiment.options.by_data | {"sample": sample})
    given = options.model_dump(include={"epochs", "data", "data_root", "device"})
    return varied, experiment.options.create(**given, **experiment.options.of_the_paper)


def compared(each: Iterable[AblationOptions], is_sample: bool = False) -> pd.DataFrame:
    """Return what an ablation compares: for each experiment and method the values of each option
    that varies, and the number of runs, of which not every combination need be one."""
    rows = {}
    for options in each:
        settings = options.settings(is_sample)
        for method in dict.fromkeys(setting.get("method", "pamal") for setting in settings):
            chosen = [one for one in settings if one.get("method", "pamal") == method]
            names = dict.fromkeys(name for one in chosen for name in one if name != "method")
            values = {
                name: ", ".join(dict.fromkeys(f"{one[name]}" for one in chosen if name in one))
                for name in names
            }
            rows[options.experiment, method] = values | {"runs": len(chosen)}
    return pd.DataFrame(rows).T.fillna("").rename_axis(["experiment", "method"])


def run_one(options: AblationOptions, **setting: Any) -> Record:
    """Make one of the runs that `options` compare, and return its record. `setting` is what differs
    from the paper's options, as in `run_one(options, W=3, lam=5.0, seed=1)`; nothing is kept."""
    experiment, own = subject(options)
    (record,) = sweep(experiment, own, [setting])
    return record


def runs(options: AblationOptions) -> tuple[list[Record], Splits]:
    """Return a record for each of the settings, and the data that they are of. Those in the folder
    `options.results` are read, others made and kept there."""
    experiment, own = subject(options)
    splits = experiment.load(own)
    chosen = options.settings(splits.is_sample)
    return sweep(experiment, own, chosen, options.results, splits), splits
