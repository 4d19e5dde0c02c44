"""The illustrative example (Figure 1, appendices A2 and B2) from all pairs of points."""

import time
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from pamal_companion.experiments.options import ToyOptions
from pamal_companion.runs.build import balancer, multi_forward, preference, task_weights
from pamal_companion.runs.devices import peak_memory
from pamal_companion.runs.files import check_writable
from pamal_companion.runs.records import Record, about, to_points, versions
from pamal_companion.toy.outcomes import OBJECTIVES, SCALES, VARIANTS, Outcome
from pamal_companion.toy.pairs import Pairs, initial_pairs
from pamal_companion.toy.problem import INITIAL_POINTS, ToyProblem
from pamal_companion.toy.rules import EPOCH, rules
from pamal_core.errors import NonFiniteError
from pamal_core.simplex import Dirichlet

MOMENTS = 500
"""The number of times that a run is looked at, besides its start."""


class ToyRun(NamedTuple):
    """A finished run: its record, and by name what became of each variant."""

    record: Record
    outcomes: dict[str, Outcome]

    @property
    def provenance(self) -> str:
        """Return one sentence that a figure can be stamped with."""
        made = ToyOptions.create(method=self.record.method, **self.record.options)
        steps = EPOCH * self.record.options["epochs"]
        draws = "one draw of α" if made.W == 1 else f"{made.W} draws of α"
        others = f", p = {made.p:g}, λ = {made.lam:g}" if (made.p, made.lam) != (1, 0) else ""
        return (
            f"No data: the formula of appendix B2. Seed {self.record.seed}, {steps:,} steps with "
            f"{draws} in each{others}."
        )


def run(options: ToyOptions) -> ToyRun:
    """Train all pairs of all variants that `options` choose, side by side, and judge them, even
    where there is a record, for the sake of the trajectories.

    With `options.out` the record is written there; one of another run is never overwritten, but an
    InputError. NonFiniteError names the variant and the run whose weights are not finite.
    """
    epochs: int = options.epochs or options.by_data["full"]["epochs"]
    fields = about("toy", options.model_copy(update={"epochs": epochs}), "formula")
    path = Path(options.out) if options.out else None
    kept = Record.find(path, fields["key"]) if path else None
    if path and not kept:
        check_writable(path)
    started = time.perf_counter()
    outcomes = _train(options, EPOCH * epochs)
    trained = time.perf_counter()
    fronts = {
        f"{variant}, {name}": front
        for variant, outcome in outcomes.items()
        for name, front in zip(outcome.names, outcome.fronts(), strict=True)
    }
    record = Record(
        **fields,
        objectives={o.name: "min" for o in OBJECTIVES},
        points=to_points(fronts),
        summary={name: outcome.summary() for name, outcome in outcomes.items()},
        cost={
            "train_seconds": round(trained - started, 3),
            "evaluate_seconds": round(time.perf_counter() - trained, 3),
            "peak_memory_bytes": peak_memory(torch.device("cpu")),
        },
        versions=versions(),
    )
    if path and not kept:
        record.write(path)
    return ToyRun(record, outcomes)


def _train(options: ToyOptions, num_steps: int) -> dict[str, Outcome]:
    """Return what becomes of the variants that `options` choose: LS from each initial point, PaMaL
    from all pairs of them, all variants of a method side by side."""
    if options.method == "baselines":
        return {
            f"{name}, c = {scale:g}": outcome
            for scale, by_name in baselines(options, num_steps).items()
            for name, outcome in by_name.items()
        }
    outcomes: dict[str, Outcome] = {}
    chosen = (v for v in VARIANTS if options.method in ("all", v.method))
    chosen = (v for v in chosen if v.method == "ls" or options.balancing in ("all", v.balancing))
    for method, group in groupby(chosen, lambda v: v.method):
        variants, one = [*group], options.model_copy(update={"method": method})
        rows, own = task_weights(one, 2), dict[str, Any](starts=initial_pairs()[::5, :1])
        if method == "pamal":
            own = {"penalty": multi_forward(options), "window": options.W}
            own |= {"preference": preference(options)}
        stacked = Pairs(
            ToyProblem(np.array([v.scale for v in variants]).reshape(-1, 1, 1), options.tanh),
            [balancer(one.model_copy(update={"balancing": v.balancing})) for v in variants],
            task_weights=rows,
            lr=options.lr * (len(rows) if options.lr_scaling == "members" else 1),
            seed=options.seed,
            progress=True,
            **own,
        ).run(num_steps, num_steps // MOMENTS)
        for variant, weights in zip(variants, stacked.swapaxes(0, 1), strict=True):
            outcome = Outcome(ToyProblem(variant.scale, options.tanh), weights, variant.within)
            finite = np.isfinite(weights).all((0, 2, 3))
            if not finite.all():
                name = outcome.names[finite.argmin()]
                raise NonFiniteError(f"{variant.name}, {name}: a weight is NaN or infinite.")
            outcomes[variant.name] = outcome
    return outcomes


def baselines(options: Any, num_steps: int) -> dict[float, dict[str, Outcome]]:
    """Return what becomes of every baseline, by scale and name, from the five initial points;
    `options` say the rate, the seed and the sign of tanh."""
    named, number = rules(options.lr, options.seed), len(INITIAL_POINTS)
    # The scales of a rule lie side by side as ensembles, so that it is called once for all.
    stacked = Pairs(
        ToyProblem(np.repeat(SCALES, number)[:, None], options.tanh),
        [*named.values()],
        np.tile(INITIAL_POINTS, (len(SCALES), 1))[:, None],
        task_weights=np.full((1, 2), 0.5),
        preference=Dirichlet(np.inf),  # 1 for the one member; random draws are 1 but for rounding
        lr=options.lr,
        seed=options.seed,
        progress=True,
    ).run(num_steps, num_steps // MOMENTS)
    split = np.split(stacked.swapaxes(0, 1), len(SCALES), axis=2)
    found: dict[float, dict[str, Outcome]] = {}
    for scale, weights in zip(SCALES, split, strict=True):
        problem = ToyProblem(scale, options.tanh)
        found[scale] = {name: Outcome(problem, w) for name, w in zip(named, weights, strict=True)}
    return found
