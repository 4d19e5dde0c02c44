"""The parameters that ablations share: one experiment of the paper, many settings of it, several
seeds. No torch here."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from pamal_core.runs.options import Options

COMMON = ("experiment", "seeds", "results", "epochs", "data", "data_root", "device")


def listed(value: object, kind: Callable[[str], Any] = str) -> object:
    """A tuple of what may be one value or a text with commas; the parts that are no `kind` stay
    text."""
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list | tuple) else (value,)
    return tuple(_converted(part.strip(), kind) for part in value.split(","))


def _converted(text: str, kind: Callable[[str], Any]) -> Any:
    try:
        return kind(text)
    except ValueError:
        return text


class AblationOptions(Options):
    """The experiment, the seeds, and the folder of the records; of the common options those that
    say what is trained on, for how long and where.

    `seeds` may be given as one text with commas, as papermill passes it on.
    """

    known: ClassVar[tuple[str, ...]] = COMMON
    experiment: Literal["census", "multimnist"] = "census"
    seeds: Annotated[
        tuple[Annotated[int, Field(ge=0)], ...],
        BeforeValidator(partial(listed, kind=int)),
        Field(min_length=1),
    ] = (0,)
    results: str | None = None
