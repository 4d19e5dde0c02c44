"""The result of `fit`: a network for every trade-off, its front, and what stands beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from torch import nn

from pamal_core.choose import scaled
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.inputs import Inputs
from pamal_core.network import Alpha, Network


@dataclass(frozen=True, repr=False, eq=False)
class Fitted:
    """A network for every trade-off and its front, as `fit` returns them.

    `front` is the front of `network` on the validation data. `baselines` has the fronts of what was
    trained beside it for as many passes, by name: "LS" is one network, trained by linear
    scalarisation. `history` has the losses of each epoch, as `train` returns them. `lr` is the rate
    of all trainings, None if they had an optimiser of your own. `notes` has what `fit` found, a
    sentence each. `recipe` says in a sentence what was trained, if the training had a start.
    """

    network: Network
    front: Front
    baselines: Mapping[str, Front]
    history: list[dict[str, Any]]
    lr: float | None
    notes: tuple[str, ...] = ()
    recipe: str = ""

    def export(self, alpha: Alpha | None = None, **wanted: Any) -> nn.Module:
        """Return the plain module at `alpha`, with the running statistics that `evaluate` judged it
        by. Without an alpha, return the module at the point that `front.choose(**wanted)` finds.

        - `alpha`: as in `network.export`.
        - `wanted`: `best`, `at_least`, `at_most` and `weights`, as `Front.choose` takes them. For
          other statistics, `network.export` has `calibration`.
        """
        return self.network.export(self._alpha(alpha, wanted))

    def predict(self, inputs: Inputs, alpha: Alpha | None = None, **wanted: Any) -> Any:
        """Return the outputs for `inputs` of the network at a point, which `alpha` or `wanted` give
        as in `export`."""
        return self.network.predict(inputs, self._alpha(alpha, wanted))

    def plot(self, ax: Any = None) -> Any:
        """Draw the front and what stands beside it, as `Front.plot` does, and return the axes."""
        return self.front.plot(ax, beside=self.baselines)

    def __repr__(self) -> str:
        return "\n".join([repr(self.front), *self._verdict(), *self.notes])

    def _repr_html_(self) -> str:
        lines = "<br>".join(map(escape, [*self._verdict(), *self.notes]))
        return f"{self.front._repr_html_()}<p>{lines}</p>"

    def _alpha(self, alpha: Alpha | None, wanted: dict[str, Any]) -> Alpha:
        if alpha is None:
            return self.front.choose(**wanted).alpha
        if wanted:
            raise InputError(f"A point is an alpha or what is wanted of it. Found both, {wanted}.")
        return alpha

    def _verdict(self) -> list[str]:
        """Return sentences that say what was trained, and compare each baseline with the front."""
        lines = [self.recipe] if self.recipe else []
        if self.front.is_finite.any():
            for name, baseline in self.baselines.items():
                if baseline.is_finite.all():
                    lines += self._compared(name, baseline)
        return lines

    def _compared(self, name: str, baseline: Front) -> list[str]:
        """Return sentences on how `baseline` stands against the front."""
        points, others = self.front[self.front.kept()].better, baseline.better
        best = ", ".join(f"{n} {v:.4g}" for n, v in baseline.ideal_point().items())
        rate = "" if self.lr is None else f"rate {self.lr:.2g}, "
        who = name
        if len(baseline) > 1:
            who, best = f"the {name}", f"best of each task {best}"
        at_least_as_good = (others[:, None] >= points).all(2)
        beaten = int((at_least_as_good & (others[:, None] > points).any(2)).any(0).sum())
        lines = [
            f"{name} ({rate}as many passes): {best}",
            f"Of the {len(points)} non-dominated points {who} dominates {beaten or 'none'}.",
        ]
        if len(baseline) == 1 and beaten:
            # Where LS beats a point, some objective differs, so that there is something to compare.
            shares, _ = scaled(self.front, np.vstack([points, others]))
            if shares[-1].min() >= shares[:-1].min(1).max():
                lines.append(f"If you need one network only, take {name}.")
        return lines
