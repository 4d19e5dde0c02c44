"""The dial of conflict: MultiMNIST with few features between encoder and heads, one run of PaMaL
against linear scalarisation (LS) of as many passes."""

from typing import Any, ClassVar

from pydantic import model_validator

from pamal_companion.data.splits import Splits
from pamal_companion.experiments.multimnist import EXPERIMENT
from pamal_companion.experiments.options import MultiMNISTOptions
from pamal_companion.runs.options import Count, Options
from pamal_companion.runs.sweep import sweep
from pamal_companion.study.dial import FIVE, ONE, PAMAL
from pamal_companion.study.frame import together
from pamal_companion.study.hypotheses import WEIGHTS
from pamal_core.front import Front

USUAL = {
    "full": {"epochs": 10, "batch_size": 256, "rate": 0.002},
    "sample": {"epochs": 20, "batch_size": 64, "rate": 0.002},
}
"""The sample has few images: more and longer steps."""


class ConflictOptions(Options):
    """The number of features, and what is trained on, for how long and where. `epochs` are the
    passes of each side, which five runs of LS share; `results` is a folder for the records."""

    known: ClassVar = (
        *("bottleneck", "seed", "epochs", "data", "data_root", "device", "results"),
    )
    bottleneck: Count = 3
    results: str | None = None

    @model_validator(mode="after")
    def _share_epochs(self) -> "ConflictOptions":
        if self.epochs is not None and self.epochs % len(WEIGHTS):
            raise ValueError(
                f"`epochs` must be a multiple of {len(WEIGHTS)}: that many runs of LS share them. "
                f"Found {self.epochs}."
            )
        return self

    def settings(self, is_sample: bool) -> list[dict[str, Any]]:
        """One run of PaMaL, five of LS of a fifth of its passes, and one of LS of as many. Adam has
        one rate: PaMaL's option `lr` is half of it."""
        usual = USUAL["sample" if is_sample else "full"]
        passes, rate = self.epochs or usual["epochs"], usual["rate"]
        pamal = {"method": "pamal", "W": 1, "lam": 0.0, "epochs": passes, "lr": rate / 2}
        short = [
            {"weights": [one, round(1 - one, 1)], "epochs": passes // len(WEIGHTS)}
            for one in WEIGHTS
        ]
        linear = [{"method": "ls", "lr": rate} | each for each in (*short, {"epochs": passes})]
        return [pamal, *linear]


def fronts(options: ConflictOptions, *, progress: bool = True) -> tuple[dict[str, Front], str]:
    """Return by method the validation front at one number of features, and what the data are. With
    a folder `options.results` a record that is there is read."""
    common = {"data": options.data, "data_root": options.data_root, "device": options.device}
    common |= {"seed": options.seed, "bottleneck": options.bottleneck, "average": 0.99}
    own = MultiMNISTOptions.create(**common)
    splits = EXPERIMENT.load(own)
    batch = USUAL["sample" if splits.is_sample else "full"]["batch_size"]
    own = own.model_copy(update={"batch_size": batch})
    settings = options.settings(splits.is_sample)
    records = sweep(EXPERIMENT, own, settings, options.results, splits, progress=progress)
    pamal, *short, one = (record.front("validation") for record in records)
    return {PAMAL: pamal, FIVE: together(short), ONE: one}, splits.description
