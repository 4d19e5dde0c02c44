"""Several batches in a step, by a loop of one's own around `Method.step`, against one large batch
and against plain torch."""

import copy
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

import pamal_core as pamal
from pamal_core.balancing import UncertaintyWeighting
from pamal_core.training import seed_everything

RNG = torch.Generator().manual_seed(2)
X = torch.randn(48, 4, generator=RNG, dtype=torch.float64)
SIZE, KIND, SOLD = X[:, 0] - X[:, 1] ** 2, (X[:, 2] > 0).long(), X[:, 3] > 0.2
TASKS = [pamal.regression("size"), pamal.classification("kind"), pamal.binary("sold")]
ROWS = [[0.5, 0.3, 0.2]]


class Net(nn.Module):
    """Three heads; in float64, so that sums in another order are the same to twelve digits."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        self.size, self.kind, self.sold = nn.Linear(8, 1), nn.Linear(8, 2), nn.Linear(8, 1)
        self.double()

    def forward(self, x):
        z = self.body(x)
        return {"sold": self.sold(z), "size": self.size(z), "kind": self.kind(z)}


def split(size, *targets):
    parts = (x.split(size) for x in (X, *(targets or (SIZE, KIND, SOLD))))
    return list(zip(*parts, strict=True))


def in_dicts(size):
    return [dict(zip(("x", "size", "kind", "sold"), b, strict=True)) for b in split(size)]


def every_third_missing(size):
    """As many labels in each batch of 12 and of 48."""
    gone = torch.arange(48) % 3 == 0
    nans, ignored = SIZE.where(~gone, math.nan), KIND.where(~gone, -100)
    return split(size, nans, ignored, SOLD.double().where(~gone, math.nan))


def make_method(num=3, rows=None, **parts):
    torch.manual_seed(1)
    network = pamal.WeightEnsemble([Net() for _ in range(num)], task_weights=rows)
    return pamal.Method(network, TASKS, **parts)


def descent(method, norm=None):
    optimizer = torch.optim.SGD(method.parameters(), lr=0.1, momentum=0.9)

    def clip(*_):  # a hook must return None
        clip_grad_norm_(method.parameters(), norm)

    if norm is not None:
        optimizer.register_step_pre_hook(clip)
    return optimizer


def accumulate(method, optimizer, data, number, epochs=3):
    """The draws of `train`, and the mean of the gradients of so many batches."""
    for epoch in range(1, epochs + 1):
        rng = seed_everything(0, epoch)
        for first in range(0, len(data), number):
            alphas = method.draw(rng)
            optimizer.zero_grad()
            for batch in data[first : first + number]:
                method.step(batch, alphas)
            for parameter in method.parameters():
                parameter.grad /= number
            optimizer.step()


def weights(method):
    return [p.detach() for p in method.parameters()]


@pytest.mark.parametrize("number", [2, 4])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"data": in_dicts},
        {"data": every_third_missing},
        {"window": 3},
        {"num": 1, "rows": ROWS},
        {"norm": 0.05},
    ],
    ids=lambda given: ", ".join(given) or "plain",
)
def test_several_batches_in_a_step_are_one_large_batch(given, number):
    given = dict(given)
    make, norm = given.pop("data", split), given.pop("norm", None)
    small, large = make_method(**given), make_method(**given)
    accumulate(small, descent(small, norm), make(24 // number), number)
    optimizer = descent(large, norm)
    pamal.train(large, make(24), epochs=3, optimizer=optimizer, progress=False)
    for ours, theirs in zip(weights(small), weights(large), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
    start = weights(make_method(**given))
    assert not any(map(torch.equal, start, weights(large)))


@pytest.mark.parametrize(
    "parts",
    [
        {"balancer": pamal.UnitNorm()},
        {"balancer": UncertaintyWeighting(3)},
        {"penalty": pamal.MultiForward(2.0), "window": 3},
    ],
    ids=["unit norm", "uncertainty weighting", "a penalty"],
)
def test_what_is_not_linear_in_the_losses_acts_on_each_batch(parts):
    """Uncertainty weighting is linear within a step, so that it learns from the mean, too."""
    small, large = (make_method(**copy.deepcopy(parts)) for _ in range(2))
    accumulate(small, descent(small), split(6), 4, epochs=1)
    pamal.train(large, split(24), epochs=1, optimizer=descent(large), progress=False)
    pairs = zip(weights(small), weights(large), strict=True)
    is_same = all(torch.allclose(*pair, rtol=1e-5) for pair in pairs)
    assert is_same == isinstance(small.balancer, UncertaintyWeighting)


@pytest.mark.parametrize("number", [1, 2, 4, 8])
def test_it_is_the_training_of_plain_torch_on_the_large_batch(number):
    """Linear scalarisation, by hand."""
    method = make_method(1, ROWS)
    plain = method.network.export([1.0])
    optimizer = torch.optim.SGD(method.parameters(), lr=0.2)
    accumulate(method, optimizer, split(48 // number), number, epochs=4)
    by_hand = torch.optim.SGD(plain.parameters(), lr=0.2)
    for _ in range(4):
        by_hand.zero_grad()
        out = plain(X)
        loss = 0.5 * F.huber_loss(out["size"][:, 0], SIZE) + 0.3 * F.cross_entropy(
            out["kind"], KIND
        )
        bce = F.binary_cross_entropy_with_logits(out["sold"][:, 0], SOLD.double())
        (loss + 0.2 * bce).backward()
        by_hand.step()
    exported = method.network.export([1.0])
    for ours, theirs in zip(exported.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
