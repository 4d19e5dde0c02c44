"""The illustrative example (section 3, Figure 1, appendices A2 and B2) from all pairs of points."""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field, model_validator

from pamal_core.method import NonFiniteError
from pamal_core.penalties import MultiForward
from pamal_core.runs.build import balancer, multi_forward, preference, task_weights
from pamal_core.runs.devices import peak_memory
from pamal_core.runs.options import Options
from pamal_core.runs.records import Record, run_key, versions
from pamal_core.simplex import Dirichlet
from pamal_core.toy.pairs import CHUNK, Pairs, initial_pairs
from pamal_core.toy.problem import ToyProblem
from pamal_core.toy.variants import (
    OBJECTIVES,
    VARIANTS,
    Outcome,
    Variant,
    hypervolume,
)

PAPER_EPOCHS = 50
MOMENTS = 500
"""How often a run is looked at, besides its start."""


class ToyOptions(Options):
    """The common options with the paper's settings; an epoch is 1,000 steps.

    "all" stands for every method and balancing the paper shows. There are no data: every value of
    `data` means the formula. `tanh` is described in `ToyProblem`.
    """

    method: Literal["all", "pamal", "ls"] = "all"
    balancing: Literal["all", "none", "loss", "gradient"] = "all"  # type: ignore[assignment]
    tanh: Literal["printed", "earlier"] = "printed"
    lr: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 2e-3
    lr_scaling: Literal["plain", "members"] = "plain"
    device: Literal["auto", "cpu"] = "auto"

    @model_validator(mode="after")
    def _has_neither_tasks_to_single_out_nor_batches(self) -> "ToyOptions":
        if given := {"task", "batch_size"} & self.model_fields_set:
            raise ValueError(f"The toy problem has no `{min(given)}`.")
        return self


class ToyRun(NamedTuple):
    """A finished run: its options, its record, and by name what became of each variant."""

    options: ToyOptions
    record: Record
    outcomes: dict[str, Outcome]

    @property
    def num_steps(self) -> int:
        """How long each variant was trained."""
        return CHUNK * (self.options.epochs or PAPER_EPOCHS)

    @property
    def provenance(self) -> str:
        """One sentence that a figure can be stamped with."""
        options = ", ".join(f"{name} {value}" for name, value in self.record.options.items())
        return f"No data: the formula of appendix B2. Seed {self.options.seed}; {options}."


def run(options: ToyOptions) -> ToyRun:
    """Train all pairs of all variants that `options` choose, side by side, and judge them.

    With `options.out` the record is written there; one of another run is never overwritten, but an
    InputError. The run is made even if its record is there, for the sake of its trajectories.
    NonFiniteError names the variant and the run whose weights are not finite.
    """
    about = _about(options)
    path = Path(options.out) if options.out else None
    if path:
        Record.find(path, run_key(about))
    started = time.perf_counter()
    outcomes = {o.variant.name: o for method in ("ls", "pamal") for o in _train(options, method)}
    trained = time.perf_counter()
    summary = {name: _summary(outcome) for name, outcome in outcomes.items()}
    cost = {
        "train_seconds": round(trained - started, 3),
        "evaluate_seconds": round(time.perf_counter() - trained, 3),
        "peak_memory_bytes": peak_memory(torch.device("cpu")),
    }
    record = Record(
        **about,
        objectives={o.name: "min" for o in OBJECTIVES},
        points=[point for outcome in outcomes.values() for point in _points(outcome)],
        summary=summary,
        cost=cost,
        versions=versions(),
    )
    if path:
        record.write(path)
    return ToyRun(options, record, outcomes)


def _about(options: ToyOptions) -> dict[str, Any]:
    """The fields of a record that say what the run is; of the options the paper's settings always,
    others where they differ from the default."""
    chosen = options.identity() | {"epochs": options.epochs or PAPER_EPOCHS}
    chosen.pop("task", None)
    return {
        "experiment": "toy",
        "method": options.method,
        "options": chosen,
        "seed": options.seed,
        "data": "formula",
    }


def _train(options: ToyOptions, method: Literal["pamal", "ls"]) -> list[Outcome]:
    """The variants of one method."""
    variants = [v for v in VARIANTS if v.method == method and _is_chosen(v, options)]
    if not variants:
        return []
    pairs = _pairs(options, method, variants)
    num_steps = CHUNK * (options.epochs or PAPER_EPOCHS)
    stacked = pairs.run(num_steps, every=num_steps // MOMENTS)
    outcomes = [
        Outcome(ToyProblem(variant.scale, options.tanh), weights, variant)
        for variant, weights in zip(variants, stacked.swapaxes(0, 1), strict=True)
    ]
    for outcome in outcomes:
        _check_finite(outcome)
    return outcomes


def _is_chosen(variant: Variant, options: ToyOptions) -> bool:
    return options.method in ("all", variant.method) and (
        variant.method == "ls" or options.balancing in ("all", variant.balancing)
    )


def _pairs(
    options: ToyOptions, method: Literal["pamal", "ls"], variants: Sequence[Variant]
) -> Pairs:
    """PaMaL from all pairs of initial points, or LS from each of them."""
    one = options.model_copy(update={"method": method})
    rows = task_weights(one, 2)
    pamal = method == "pamal"
    scales = np.array([v.scale for v in variants]).reshape(-1, 1, 1)
    return Pairs(
        ToyProblem(scales, options.tanh),
        [balancer(one.model_copy(update={"balancing": v.balancing})) for v in variants],
        starts=initial_pairs() if pamal else initial_pairs()[::5, :1],
        task_weights=rows,
        preference=preference(options) if pamal else Dirichlet(),
        penalty=multi_forward(options) if pamal else MultiForward(),
        window=options.W if pamal else 1,
        lr=options.lr * (len(rows) if options.lr_scaling == "members" else 1),
        seed=options.seed,
        progress=True,
    )


def _check_finite(outcome: Outcome) -> None:
    finite = np.isfinite(outcome.stacked).all((0, 2, 3))
    if not finite.all():
        name = outcome.run_names[finite.argmin()]
        raise NonFiniteError(f"{outcome.variant.name}, {name}: a weight is NaN or infinite.")


def _points(outcome: Outcome) -> list[dict[str, Any]]:
    """Every run at its alphas, as a record keeps them; the split names variant and run."""
    named = zip(outcome.run_names, outcome.fronts(), strict=True)
    return [p for name, f in named for p in f.to_points(f"{outcome.variant.name}, {name}")]


def _summary(outcome: Outcome) -> dict[str, Any]:
    """Counts over the runs of a variant, their mean hypervolume, and each run on its own."""
    runs = outcome.measures()
    return {
        "within": outcome.variant.within,
        "covering": sum(run["gap"] <= outcome.variant.within for run in runs.values()),
        "verdicts": dict(Counter(run["verdict"] for run in runs.values())),
        "hypervolume": float(np.mean([run["hypervolume"] for run in runs.values()])),
        "hypervolume_of_the_front": hypervolume(outcome.front),
        "runs": runs,
    }
