"""Dynamic weight average."""

from collections import deque
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pamal_core.balancing.losses import LossBalancer, mean_of_known
from pamal_core.errors import check_number
from pamal_core.weights import ByTask


class DynamicWeightAverage(LossBalancer):
    r"""A loss that fell more slowly than the others in the last epoch gets more weight.

    Liu, Johns and Davison, "End-to-end multi-task learning with attention" (CVPR 2019), Eq. 7: the
    weights of epoch e are $T \, \mathrm{softmax}(r / \tau)$ with $r_t = L_t(e - 1) / L_t(e - 2)$,
    where $L_t(e)$ is the mean training loss of epoch e. In the first two epochs the weights are 1.
    They multiply `weights`, so that uniform `weights` give the mean over tasks, not the sum. If a
    loss was 0, or had no labels, in either epoch, its $r_t$ is 1.

    - `temperature`: $\tau$, by default the authors' 2.
    - `steps_per_window`: if given, the two windows are not epochs but the last so many steps and as
      many before them, anew at each step; until there are as many the weights are 1. The benchmark
      code of Nash-MTL, which PaMaL's authors use, has 25.
    """

    def __init__(self, temperature: float = 2.0, steps_per_window: int | None = None) -> None:
        check_number("temperature", temperature, 0, above=True)
        if steps_per_window is not None:
            check_number("steps_per_window", steps_per_window, 1, whole=True)
        self.temperature, self.steps_per_window = temperature, steps_per_window
        self.factors: Tensor | None = None
        self.recent: deque[Tensor] = deque(maxlen=2 * (steps_per_window or 0))

    def start_epoch(self, epoch_losses: Sequence[Sequence[float]]) -> None:
        if self.steps_per_window is None:
            last_two = map(torch.tensor, epoch_losses[-2:])
            self.factors = self._factors(*last_two) if len(epoch_losses) >= 2 else None

    def reweigh(self, losses: ByTask, weights: ByTask) -> ByTask:
        if self.steps_per_window is not None:
            self.recent.append(losses.clone())
            if len(self.recent) == self.recent.maxlen:
                windows = torch.stack([step.to(losses) for step in self.recent]).chunk(2)
                self.factors = self._factors(*map(mean_of_known, windows))
        if self.factors is None:
            return weights
        return weights * self.factors.to(weights, non_blocking=True)

    def _factors(self, before: Tensor, last: Tensor) -> Tensor:
        # A loss without labels is 0, and so is the mean of such losses.
        unknown = (before == 0) | (last == 0) | (last / before).isnan()
        ratios = torch.where(unknown, 1, last / before)
        return len(ratios) * torch.softmax(ratios / self.temperature, 0)

    def state_dict(self) -> dict[str, Any]:
        return {} if self.steps_per_window is None else {"recent": list(self.recent)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.recent.clear()
        self.recent.extend(state.get("recent", ()))
