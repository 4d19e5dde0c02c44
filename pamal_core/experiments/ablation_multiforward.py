"""The multi-forward ablation (appendix B1): W times lambda, for each sign of the penalty."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from pamal_core.experiments.ablation import subject
from pamal_core.experiments.ablation_options import COMMON, AblationOptions, listed
from pamal_core.runs.records import Record
from pamal_core.runs.sweep import sweep

WINDOWS = (1, 2, 3, 4, 5)
LAMS = (0.0, 2.0, 5.0, 10.0)
PENALTIES: dict[str, dict[str, str]] = {
    "ordered": {"penalty": "ordered"},
    "printed": {"penalty": "printed"},
    "ordered+as_released": {"penalty": "ordered", "skip": "as_released"},
    "printed+as_released": {"penalty": "printed", "skip": "as_released"},
}
"""The names of `MultiForward`'s signs, with or without the authors' rule of when it counts."""

Name = Literal["ordered", "printed", "ordered+as_released", "printed+as_released"]


class MultiForwardOptions(AblationOptions):
    """The common options of an ablation, and which forms of the penalty are compared at which W.

    `penalties` are any of `PENALTIES`; both may be one text with commas.
    """

    known = (*COMMON, "penalties", "windows")
    windows: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...],
        BeforeValidator(partial(listed, kind=int)),
        Field(min_length=1),
    ] = WINDOWS
    penalties: Annotated[tuple[Name, ...], BeforeValidator(listed), Field(min_length=1)] = (
        "ordered",
        "printed+as_released",
    )


def settings(
    penalties: Sequence[str], seeds: Sequence[int], windows: Sequence[int] = WINDOWS
) -> list[dict[str, Any]]:
    """The paper's 17 settings for each seed and each of `penalties`, or those with W in `windows`.

    At lambda = 0 there is no penalty, so that its five are in the list once, not per penalty.
    W = 1 has no other.
    """
    free: list[dict[str, Any]] = [
        {"W": W, "lam": 0.0, "seed": seed} for seed in seeds for W in windows
    ]
    return free + [
        {"W": W, "lam": lam, **PENALTIES[name], "seed": seed}
        for seed in seeds
        for name in penalties
        for W in windows
        if W > 1
        for lam in LAMS[1:]
    ]


def runs(options: MultiForwardOptions, *, progress: bool = True) -> list[Record]:
    """A record for each of `settings`; those in the folder `options.results` are read."""
    experiment, common = subject(options, sample_epochs=3)
    chosen = settings(options.penalties, options.seeds, options.windows)
    return sweep(experiment, common, chosen, options.results, progress=progress)
