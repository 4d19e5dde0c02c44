"""Dynamic weight average."""

from collections.abc import Sequence

import torch
from torch import Tensor
from typing_extensions import override

from pamal_core.balancing.losses import LossBalancer
from pamal_core.errors import check_number
from pamal_core.shapes import ByTask


class DynamicWeightAverage(LossBalancer):
    """A loss that fell more slowly than the others in the last epoch gets more weight.

    Liu, Johns and Davison, "End-to-end multi-task learning with attention" (CVPR 2019), Eq. 7: the
    weights of epoch e are T softmax(r / `temperature`), with r_t = L_t(e - 1) / L_t(e - 2), where
    L_t(e) is the mean loss of epoch e; they are 1 in the first two epochs. They multiply `weights`,
    so that uniform ones give a mean in place of their sum. The default `temperature` 2 is theirs.
    The benchmark code of Nash-MTL has windows of 25 steps in place of epochs; we have epochs.

    A loss that was 0, or had no labels in either epoch, has r_t = 1. There is no state: the means
    are those of the training loop.
    """

    def __init__(self, temperature: float = 2.0) -> None:
        check_number("temperature", temperature, 0, above=True)
        self.temperature = temperature
        self.factors: Tensor | None = None

    @override
    def start_epoch(self, history: Sequence[Sequence[float]]) -> None:
        self.factors = None
        if len(history) >= 2:
            before, last = torch.tensor(history[-2]), torch.tensor(history[-1])
            ratios = torch.where((before == 0) | (last / before).isnan(), 1, last / before)
            self.factors = len(ratios) * torch.softmax(ratios / self.temperature, 0)

    @override
    def reweigh(self, losses: ByTask, weights: ByTask) -> ByTask:
        if self.factors is None:
            return weights
        return weights * self.factors.to(weights, non_blocking=True)
