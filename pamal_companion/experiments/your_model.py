"""The parameters of the notebook about a model of one's own. No torch here."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from pamal_companion.runs.files import check_writable, checked_name
from pamal_companion.runs.options import Count, NonNegative, Options


def _writable(out: str) -> str:
    """Return `out` where a model can be exported to it: known before the training, not after it."""
    path = Path(checked_name(out))
    if path.suffix != ".pt" or path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"`out` must be a .pt file in a folder that exists. Found {path}.")
    check_writable(path)
    return out


class YourModelOptions(Options):
    """Of the common options those of a run, and `at_least`, the accuracy that the second task must
    keep. The model, the tasks and the data are in the notebook; `out` is where it puts the weights
    of the exported network."""

    known = ("seed", "epochs", "W", "lam", "p", "at_least", "device", "out")
    epochs: Count = 8
    W: Count = 2
    lam: NonNegative = 2.0
    at_least: Annotated[float, Field(ge=0, le=1)] = 0.85
    out: Annotated[str, AfterValidator(_writable)] | None = None
