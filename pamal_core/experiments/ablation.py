"""What the ablations share: one experiment of the paper, many settings of it, several seeds."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from pamal_core.experiment import Experiment
from pamal_core.experiments import census, multimnist
from pamal_core.options import Options

COMMON = ("experiment", "seeds", "results", "epochs", "data", "data_root", "device")


class AblationOptions(Options):
    """The experiment, the seeds, and the folder of the records; of the common options those that
    say what is trained on, for how long and where.

    `seeds` may be given as one text with commas, as papermill passes it on.
    """

    known: ClassVar[tuple[str, ...]] = COMMON
    experiment: Literal["census", "multimnist"] = "census"
    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)] = (0,)
    results: str | None = None

    @field_validator("seeds", mode="before")
    @classmethod
    def _split_seeds(cls, seeds: object) -> object:
        return listed(seeds, int)

    @model_validator(mode="after")
    def _has_no_others(self) -> "AblationOptions":
        if given := self.model_fields_set - {*self.known}:
            raise ValueError(f"The ablation has no `{min(given)}`. Known: {', '.join(self.known)}.")
        return self


def listed(value: object, kind: Callable[[str], Any] = str) -> object:
    """A tuple of what may be one value or a text with commas; the parts that are no `kind` stay
    text."""
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list | tuple) else (value,)
    return tuple(_converted(part.strip(), kind) for part in value.split(","))


def subject(options: AblationOptions, sample_epochs: int) -> tuple[Experiment, Options]:
    """The experiment that is varied, and its options: the paper's, but on the sample trained for
    `sample_epochs` by default.

    Census has the labels of the authors' code, which its numbers in the paper come from.
    """
    common = options.model_dump(include={"epochs", "data", "data_root", "device"})
    experiment, chosen = {
        "census": (census.EXPERIMENT, census.CensusOptions.create),
        "multimnist": (multimnist.EXPERIMENT, multimnist.MultiMNISTOptions.create),
    }[options.experiment]
    own = {"masters": "as_released"} if options.experiment == "census" else {}
    epochs = experiment.epochs | {"sample": sample_epochs}
    return replace(experiment, epochs=epochs), chosen(**common, **own)


def _converted(text: str, kind: Callable[[str], Any]) -> Any:
    try:
        return kind(text)
    except ValueError:
        return text
