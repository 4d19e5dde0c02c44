"""The sampling ablation (appendix A1): the parameter p of the Dirichlet that draws alpha."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from pamal_core.experiments.ablation import subject
from pamal_core.experiments.ablation_options import COMMON, AblationOptions, listed
from pamal_core.runs.options import NonNegative
from pamal_core.runs.records import Record
from pamal_core.runs.sweep import sweep


class SamplingOptions(AblationOptions):
    """The common options of an ablation, the values of p that are compared, and W and lambda.

    The paper does not say with which W and lambda its figure was made; one draw a step and no
    penalty leave p alone at work. `ps` may be one text with commas.
    """

    known = (*COMMON, "ps", "W", "lam")
    ps: Annotated[
        tuple[NonNegative, ...],
        BeforeValidator(partial(listed, kind=float)),
        Field(min_length=1),
    ] = (0.0, 0.1, 1.0, 100.0)


def settings(
    ps: Sequence[float], seeds: Sequence[int], W: int = 1, lam: float = 0.0
) -> list[dict[str, Any]]:
    """A setting for each p and each seed."""
    return [{"W": W, "lam": lam, "p": p, "seed": seed} for p in ps for seed in seeds]


def runs(options: SamplingOptions, *, progress: bool = True) -> list[Record]:
    """A record for each of `settings`; those in the folder `options.results` are read."""
    experiment, common = subject(options, sample_epochs=10)
    chosen = settings(options.ps, options.seeds, options.W, options.lam)
    return sweep(experiment, common, chosen, options.results, progress=progress)
