"""A model may keep functions and hooks, unless they hold the model that members are copies of."""

import weakref
from functools import lru_cache, partial
from types import MethodType

import pytest
import torch
import torch.nn.functional as F
import torchmetrics
from torch import nn

from pamal_core import InputError, WeightEnsemble


class Keeping(nn.Module):
    """Two heads on a trunk, and a function or a hook of the kind that is asked for."""

    def __init__(self, kind):
        super().__init__()
        self.trunk, self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 3)
        self.drop, self.kept, held = None, {}, [self.trunk]
        if kind == "a lambda":
            self.drop = lambda h: F.dropout(h, 0.5, self.training)
        elif kind == "a default":
            self.drop = lambda h, net=self: F.dropout(h, 0.5, net.training)
        elif kind == "a function in a function":
            inner = lambda: self.training  # noqa: E731
            self.drop = lambda h: F.dropout(h, 0.5, inner())
        elif kind == "a partial in a function":
            inner = partial(F.linear, weight=self.trunk)
            self.drop = lambda h: inner(h)
        elif kind == "a function in a partial":
            self.drop = partial(lambda p, h: F.dropout(h, p, self.training), 0.5)
        elif kind == "a function in a list":
            self.layers = [lambda h, trunk=self.trunk: trunk(h)]
        elif kind == "a forward that is wrapped":
            inner = self.forward
            self.forward = lambda x: inner(x)
        elif kind == "a patched forward":
            old = self.forward
            self.forward = MethodType(lambda net, x: old(x), self)
        elif kind == "a function with a cache":
            self.drop = lru_cache(lambda h: F.dropout(h, 0.5, self.training))
        elif kind == "a weak reference":
            net = weakref.ref(self)
            self.drop = lambda h: F.dropout(h, 0.5, net().training)
        elif kind == "a metric":
            self.accuracy = torchmetrics.Accuracy("binary")
        elif kind == "a dict of settings":
            self.settings = settings = {"scale": 2.0}
            self.drop = lambda h: h * settings["scale"]
        elif kind == "a list in a function":
            self.drop = lambda h: held[0](h)
        elif kind == "a hook that holds the model":
            self.trunk.register_forward_hook(lambda m, i, o: self.kept.update(h=o))
        elif kind == "a hook that holds a dict of the model":
            kept = self.kept
            self.trunk.register_forward_hook(lambda m, i, o: kept.update(h=o))
        elif kind == "a method":
            self.drop = self.dropped
        elif kind == "a partial":
            self.drop = partial(Keeping.dropped, self)
        elif kind == "a function of torch":
            self.drop = F.relu
        elif kind == "a hook of its own module":
            self.trunk.register_forward_hook(lambda m, i, o: o * (2 if m.training else 1))

    def dropped(self, h):
        return F.dropout(h, 0.5, self.training)

    def forward(self, x):
        h = self.trunk(x).relu()
        if self.drop is not None:
            h = self.drop(h)
        return self.a(h), self.b(h)


HELD = {
    "a lambda": "'drop' of 'the top'",
    "a default": "'drop' of 'the top'",
    "a function in a function": "'drop' of 'the top'",
    "a partial in a function": "'drop' of 'the top'",
    "a function in a partial": "'drop' of 'the top'",
    "a function in a list": "'layers' of 'the top'",
    "a forward that is wrapped": "'forward' of 'the top'",
    "a list in a function": "'drop' of 'the top'",
    "a patched forward": "'forward' of 'the top'",
    "a function with a cache": "'drop' of 'the top'",
    "a weak reference": "'drop' of 'the top'",
    "a hook that holds the model": "a hook of 'trunk'",
    "a hook that holds a dict of the model": "a hook of 'trunk'",
}


@pytest.mark.parametrize("kind", HELD)
def test_a_function_that_holds_its_model_is_refused(kind):
    """Its copy would hold the first model: dropout stayed on, or old features came out."""
    with pytest.raises(InputError, match=f"must not hold the model.*{HELD[kind]}"):
        WeightEnsemble([Keeping(kind), Keeping(kind)])


@pytest.mark.parametrize(
    "kind",
    [
        "a method",
        "a partial",
        "a function of torch",
        "a hook of its own module",
        "a metric",
        "a dict of settings",
        "none",
    ],
)
def test_a_function_that_a_copy_has_anew_is_kept(kind):
    torch.manual_seed(0)
    network, x = WeightEnsemble([Keeping(kind), Keeping(kind)]), torch.randn(16, 4)
    model = network.export([0.5, 0.5])
    assert torch.equal(model(x)[0], model(x)[0])  # in evaluation mode, as the first one is not
    loss = network(x, [0.5, 0.5])[0].square().mean()
    loss.backward()
    assert network.stacked.trunk.weight.grad.abs().sum() > 0
