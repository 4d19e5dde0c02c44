"""Tasks of numbers: one for an example, or one for every pixel."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from pamal_core.errors import InputError
from pamal_core.inputs import described
from pamal_core.metrics import Metric, Pair, Values, exact, mean_of_values, sum_of_values
from pamal_core.tasks import Loss, Task, check_loss, chosen_of

_ZERO_AT_THE_TARGET = F.huber_loss, F.l1_loss, F.mse_loss, F.smooth_l1_loss


def regression(
    name: str,
    loss: Loss = F.huber_loss,
    *,
    metrics: Sequence[Any] | None = None,
    output: str | None = None,
) -> Task:
    """Return a task of numbers, trained on `loss`, Huber's by default, as for age in section 5.2.

    Outputs [n, 1] and targets [n], of any number type, are both taken as [n]. If an example has
    several numbers, loss and R2 are those of all numbers together. A NaN is a missing target.
    `loss` gets numbers [k] without their axes, so one that needs the rows of an output [n, D], such
    as a cosine, belongs to a `Task` of your own.

    - `metrics`: metrics as in `Task`, or the names of the default ones: "loss", the loss of
      training, and "R2", the coefficient of determination, NaN if all targets are equal. `["loss"]`
      leaves R2 out. An object of torchmetrics gets outputs and targets [k].
    - `output`: the name of another task, whose output this one judges, as in `Task`.

    The loss raises InputError unless there are as many targets as numbers in the output, with the
    axes in the same order.
    """
    check_loss(name, loss)
    flat, count = partial(_flat, loss), partial(_count, _is_number)
    mean = Metric.mean("loss", flat, maximise=False, count=count)
    determination = Metric("R2", True, _squares, _determination, reference=0.0)
    chosen = chosen_of((mean, determination), metrics)
    return Task(name, flat, chosen, count, partial(_labelled, _is_number), output=output)


def depth(name: str, *, metrics: Sequence[Any] | None = None, output: str | None = None) -> Task:
    """Return a task of a positive number for every pixel, trained on the absolute error: outputs
    [n, 1, H, W] and targets [n, 1, H, W] or [n, H, W]. One that is NaN or not above 0 is missing.

    - `metrics`: metrics as in `Task`, or the names of the default ones: "absolute error", in the
      units of the target; "relative error", the mean of |output - target| / target, a ratio, not
      per cent; and "loss", which is the absolute error again. An object of torchmetrics gets
      outputs and targets [k].
    - `output`: the name of another task, whose output this one judges, as in `Task`.
    """
    absolute = Metric("loss", False, partial(sum_of_values, _absolute_error))
    relative = Metric("relative error", False, partial(sum_of_values, _relative_error))
    defaults = replace(absolute, name="absolute error"), relative, absolute
    loss, labelled = partial(mean_of_values, _absolute_error), partial(_labelled, _is_positive)
    count = partial(_count, _is_positive)
    return Task(name, loss, chosen_of(defaults, metrics), count, labelled, output=output)


def _flat(loss: Loss, output: Tensor, target: Tensor) -> Float[Tensor, ""]:
    """Return `loss` on the numbers that have a target; 0 if none has."""
    check_axes(output, target)
    output, target = _alike(output, target)
    counted = _is_number(target)
    if loss in _ZERO_AT_THE_TARGET:
        # A selection would wait for a GPU. Missing ones, as if right, only dilute the mean.
        mean = loss(output, target.where(counted, output.detach()))
        return (mean * (counted.numel() / counted.sum().clamp(min=1))).where(counted.any(), 0)
    return loss(output[counted], target[counted]).where(counted.any(), 0)


def _is_positive(target: Tensor) -> Tensor:
    return target > 0


def _absolute_error(output: Tensor, target: Tensor) -> Values:
    check_axes(output, target)
    target = target.flatten()
    valid = target > 0
    # An invalid target may be NaN, and so would be the gradient, though the error does not count.
    return (output.flatten() - target.where(valid, 0)).abs(), valid


def _relative_error(output: Tensor, target: Tensor) -> Values:
    error, valid = _absolute_error(output, target)
    return error / target.flatten().where(valid, 1), valid


def check_axes(output: Tensor, target: Tensor) -> None:
    """Raise InputError unless there is a target for each number, and the axes are in the same
    order."""
    ours, theirs = ([size for size in t.shape if size != 1] for t in (output, target))
    if output.numel() != target.numel() or (ours != theirs and sorted(ours) == sorted(theirs)):
        raise InputError(
            "There must be one target for each number of the output, with the axes in its order. "
            f"Found {described(output)} and {described(target)}."
        )


def _is_number(target: Tensor) -> Tensor:
    return target.isnan().logical_not()


def _count(present: Callable[[Tensor], Tensor], target: Tensor) -> Tensor:
    return present(target).sum()


def _labelled(present: Callable[[Tensor], Tensor], output: Tensor, target: Tensor) -> Pair:
    """Return outputs [k] and targets [k] without missing ones, as `_alike` does."""
    check_axes(output, target)
    output, target = _alike(output, target)
    counted = present(target)
    return output[counted], target[counted]


def _alike(output: Tensor, target: Tensor) -> Pair:
    """Return outputs and targets flat and in the dtype of the outputs, but at least in float32: of
    a target of 2010 bfloat16 would keep 2016."""
    wide = torch.promote_types(output.dtype, torch.float32)
    return output.flatten().to(wide), target.flatten().to(wide)


def _squares(output: Tensor, target: Tensor) -> list[Float[Tensor, " 4"]]:
    """Return the number and the mean of the targets of a batch, the sum of squares about this mean,
    and the sum of squared errors. They are listed by batch, since a difference of sums of squares
    would lose digits."""
    output, target = map(exact, _labelled(_is_number, output.detach(), target))
    if not len(target):
        return []
    mean = target[0] + (target - target[0]).mean()  # exact if all are equal
    squares = (target - mean).square().sum(), (target - output).square().sum()
    return [torch.stack([target.new_tensor(len(target)), mean, *squares])]


def _determination(batches: list[Float[Tensor, " 4"]]) -> float:
    if not batches:
        return math.nan
    number, mean, within, errors = torch.stack(batches).T
    apart = mean - mean[0]
    apart = apart - (number * apart).sum() / number.sum()
    total = (within + number * apart.square()).sum()
    return float(1 - errors.sum() / total) if total > 0 else math.nan
