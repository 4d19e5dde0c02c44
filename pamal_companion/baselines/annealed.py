"""A preference that moves from the centre of the simplex to its corners."""

from dataclasses import dataclass

import numpy as np

from pamal_core.errors import check_type
from pamal_core.simplex import Dirichlet, check_positive


@dataclass(frozen=True)
class Annealed:
    r"""Draws near the centre at first and near the corners at the end: after the share s of a
    training $\alpha \sim \mathrm{Dir}(p^{1 - s} e^s)$, from `p` = p when training begins to `end` =
    e when it ends. A `Method` takes it for its `preference`.

    Dimitriadis, Frossard and Fleuret, "Pareto low-rank adapters" (ICLR 2025), move rays from the
    centre of the simplex to its faces in this way: the base learns what all tasks need before the
    adapters part. Their rays are laid out evenly; ours are drawn.

    - `p`, `end`: the first and the last concentration, each one positive finite number or one per
      member.
    - `stratified`: as for `Dirichlet`.

    Raises InputError if a concentration is not positive and finite.
    """

    p: float | tuple[float, ...] = 10.0
    end: float | tuple[float, ...] = 0.2
    stratified: bool = False

    def __post_init__(self) -> None:
        for name in ("p", "end"):
            check_positive(name, getattr(self, name))
        check_type("stratified", self.stratified, bool, "True")

    def __call__(self, progress: float) -> Dirichlet:
        """Return the distribution after the share `progress` of a training, from 0 to 1."""
        first, last = np.asarray(self.p), np.asarray(self.end)
        p = first ** (1 - progress) * last**progress
        return Dirichlet(tuple(p.tolist()) if p.ndim else float(p), self.stratified)
