"""The dial of conflict: MultiMNIST with few features between encoder and heads, one run of PaMaL
against linear scalarisation (LS) of as many passes."""

from typing import Any

from pydantic import model_validator

from pamal_companion.experiments.multimnist import EXPERIMENT
from pamal_companion.experiments.options import SWEEP, MultiMNISTOptions
from pamal_companion.fronts import union
from pamal_companion.plots.dial import FIVE, ONE, PAMAL
from pamal_companion.runs.options import Count, Folder, Options
from pamal_companion.runs.run import sweep
from pamal_core.front import Front

RATE = 0.002
"""Of Adam, on every side: PaMaL's option `lr` is half of it."""
EPOCHS = 10
"""The passes of each side, unless `epochs` says so."""


class ConflictOptions(Options):
    """The number of features, and what is trained on, for how long and where. `epochs` are the
    passes of each side, which five runs of LS share; `results` is a folder for the records."""

    known = ("bottleneck", "seed", "epochs", "data", "data_root", "device", "results")
    bottleneck: Count = 6
    results: Folder | None = None

    @model_validator(mode="after")
    def _share_epochs(self) -> "ConflictOptions":
        if self.epochs is not None and self.epochs % len(SWEEP):
            raise ValueError(
                f"`epochs` must be a multiple of {len(SWEEP)}: that many runs of LS share them. "
                f"Found {self.epochs}."
            )
        return self

    def settings(self, is_sample: bool) -> list[dict[str, Any]]:
        """Return one run of PaMaL, five of LS of a fifth of its passes, and one of LS of as
        many."""
        passes = self.epochs or EPOCHS
        usual = MultiMNISTOptions.defaults_of("pamal", "sample" if is_sample else "full")
        fixed = {
            "seed": self.seed,
            "bottleneck": self.bottleneck,
            "average": 0.99,
            "batch_size": usual["batch_size"],
        }
        pamal = {"method": "pamal", "W": 1, "lam": 0.0, "epochs": passes, "lr": RATE / 2}
        short: list[dict[str, Any]] = [
            {"weights": [one, round(1 - one, 1)], "epochs": passes // len(SWEEP)} for one in SWEEP
        ]
        linear = [{"method": "ls", "lr": RATE, **each} for each in (*short, {"epochs": passes})]
        return [fixed | setting for setting in (pamal, *linear)]


def fronts(options: ConflictOptions) -> tuple[dict[str, Front], str]:
    """Return by method the validation front at one number of features, and what the data are. With
    a folder `options.results` a record that is there is read."""
    given = options.model_dump(include={"data", "data_root", "device"})
    own = MultiMNISTOptions.create(**given)
    splits = EXPERIMENT.load(own)
    settings = options.settings(splits.is_sample)
    records = sweep(EXPERIMENT, own, settings, options.results, splits)
    pamal, *short, one = (record.front("validation") for record in records)
    return {PAMAL: pamal, FIVE: union(*short), ONE: one}, splits.description
