"""Fairness, which is not in the paper: a score of income against the gap between women and men.

One logit z serves two tasks. The first has the cross-entropy of income above 50,000 dollars. The
second asks for demographic parity: that the mean scores, sigmoid(z), of both groups are the same.
"""

from functools import partial

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor

from pamal_companion.data import fairness
from pamal_companion.experiments.models import OneScore
from pamal_companion.experiments.options import FairnessOptions
from pamal_companion.runs.experiment import Experiment
from pamal_core import Metric, Task, binary
from pamal_core.metrics import exact


def gap(logits: Float[Tensor, " n"], groups: Num[Tensor, " n"]) -> Float[Tensor, ""]:
    """Return the absolute difference of the two groups' mean scores, in [0, 1], lower is better; 0,
    with a gradient of 0, for a batch without one of the groups."""
    scores, inside = logits.sigmoid(), groups.to(logits)
    ones, zeros = inside.sum(), (1 - inside).sum()
    difference = (scores * inside).sum() / ones.clamp(min=1)
    difference = difference - (scores * (1 - inside)).sum() / zeros.clamp(min=1)
    return difference.abs() * ((ones > 0) & (zeros > 0))


def sums_by_group(
    positive_only: bool, logits: Float[Tensor, " n"], groups: Num[Tensor, " n"]
) -> Float[Tensor, "2 2"]:
    """Return, for the groups 0 and 1, the sum of the scores, or the number of positive answers, and
    the number of people."""
    logits = exact(logits.detach())
    scores = (logits > 0) + 0 * logits if positive_only else logits.sigmoid()
    inside = exact(groups)
    both = torch.stack([1 - inside, inside])
    return torch.stack([both @ scores, both.sum(1)], 1)


def gap_of_sums(sums: Float[Tensor, "2 2"]) -> Tensor:
    """Return the absolute difference of two means; NaN where a group has nobody."""
    means = sums[:, 0] / sums[:, 1]
    return (means[0] - means[1]).abs()


def scores_and_labels(
    logits: Float[Tensor, " n"], labels: Num[Tensor, " n"]
) -> list[Float[Tensor, "n 2"]]:
    """Return the logits beside their labels: of an average precision nothing less will do."""
    return [torch.stack([exact(logits.detach()), exact(labels)], 1)]


PICKED = 0.062
"""The share of people who are picked, those with the highest scores: as many of the training file
earn above 50,000 dollars."""


def picked(scores: Float[Tensor, " n"], number: int | None = None) -> Bool[Tensor, " n"]:
    """Return who is picked: `number` people, or the share `PICKED`. Of equal scores the first
    are."""
    number = round(PICKED * len(scores)) if number is None else number
    best = scores.argsort(descending=True, stable=True)[:number]
    return torch.zeros_like(scores, dtype=torch.bool).index_fill(0, best, value=True)


def right_picks(parts: list[Float[Tensor, "n 2"]]) -> float:
    """Return the share of the picked whose label is 1, of logits and labels, in [0, 1], higher is
    better. NaN where a logit is not finite, or nobody is picked."""
    logits, labels = torch.cat(parts).unbind(1)
    return float(labels[picked(logits)].mean()) if bool(logits.isfinite().all()) else float("nan")


def gap_in_picks(parts: list[Float[Tensor, "n 2"]]) -> float:
    """Return the absolute difference of the shares of the groups 0 and 1 who are picked, of logits
    and groups, in [0, 1], lower is better. NaN where a logit is not finite, or a group is empty."""
    logits, groups = torch.cat(parts).unbind(1)
    if not bool(logits.isfinite().all()):
        return float("nan")
    chosen = exact(picked(logits))
    zeros, ones = (chosen[groups == group].mean() for group in (0, 1))
    return float((ones - zeros).abs())


def parity(name: str, output: str) -> Task:
    """Return a task of demographic parity: logits [n] and groups [n], 0 or 1, trained on `gap`. The
    logits are the output of the task `output`.

    Its metrics are of all rows together, lower is better, with reference 1: "gap", that of the mean
    scores; "gap of positive answers", of logits above 0; "gap in picks"; and "loss", which is the
    first again.
    """
    of_scores, of_answers = partial(sums_by_group, False), partial(sums_by_group, True)
    metrics = (
        Metric("gap", False, of_scores, gap_of_sums, reference=1.0),
        Metric("gap of positive answers", False, of_answers, gap_of_sums, reference=1.0),
        Metric("gap in picks", False, scores_and_labels, gap_in_picks, reference=1.0),
        Metric("loss", False, of_scores, gap_of_sums),
    )
    return Task(name, gap, metrics, output=output)


def average_precision(parts: list[Float[Tensor, "n 2"]]) -> float:
    """Return the average precision of logits and labels 0 or 1, in [0, 1], higher is better.

    It is the sum over thresholds of the precision above each, times the share of positives that it
    adds. Equal logits are one threshold. NaN where no label is 1, or a logit is not finite.
    """
    logits, labels = torch.cat(parts).unbind(1)
    if not bool(logits.isfinite().all()) or not bool(labels.any()):
        return float("nan")
    order = logits.argsort(descending=True, stable=True)
    logits, labels = logits[order], labels[order]
    is_last = torch.ones_like(logits, dtype=torch.bool)  # of those with its logit
    is_last[:-1] = logits[1:] != logits[:-1]
    found = labels.cumsum(0)[is_last]
    above = torch.arange(1, len(logits) + 1, device=logits.device)[is_last]
    added = torch.diff(found, prepend=found.new_zeros(1))
    return float((added * found / above).sum() / found[-1])


PRECISION = Metric("average precision", True, scores_and_labels, average_precision, reference=0.0)
RIGHT_PICKS = Metric("right picks", True, scores_and_labels, right_picks, reference=0.0)

EXPERIMENT = Experiment(
    name="fairness",
    options=FairnessOptions,
    tasks=(
        binary("income", metrics=[PRECISION, "accuracy", RIGHT_PICKS, "loss"]),
        parity("parity", "income"),
    ),
    load=lambda o: fairness.load(o.data, o.data_root, seed=o.draw),
    make_network=lambda _options, splits, extra: OneScore(splits.train.tensors[0].shape[1] + extra),
    # Nobody is found, and the groups are as far apart as can be.
    reference=(0.0, 1.0),
)
