"""The caller's autocast and compilation change how a network runs, not what it computes."""

import copy
from dataclasses import replace
from pathlib import Path

import forked
import pytest
import torch
from small_problems import SharedBottom, lenet, slopes_of
from torch import nn
from torch.nn.functional import cross_entropy

from pamal_core import MultiForward, UnitNorm, evaluate
from pamal_core.balancing import MGDA, CAGrad, Linear
from pamal_core.classes import classification
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.numbers import regression
from pamal_core.training import train

TASKS = [classification("first"), classification("second")]
BATCH = (torch.rand(16, 1, 28, 28), torch.randint(10, (16,)), torch.randint(10, (16,)))
ALPHAS = torch.tensor([[0.3, 0.7]])
BF16 = torch.autocast("cpu", torch.bfloat16)


class Half(SharedBottom):
    """Computes in bfloat16 on its own, and casts its outputs by hand."""

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return [output.float() for output in super().forward(x)]


def make_method(kind=SharedBottom, norm=False, **parts):
    torch.manual_seed(0)
    members = [kind(one.encoder, [*one.heads]) for one in (lenet(), lenet())]
    for member in members if norm else ():
        member.encoder.append(torch.nn.BatchNorm1d(50))
    return Method(WeightEnsemble(members, shared="encoder"), TASKS, **parts)


def gradient(method, alphas=ALPHAS):
    losses = method.step(BATCH, alphas)
    return losses, slopes_of(method.network)


def test_under_autocast_the_model_alone_has_fewer_digits():
    seen = []

    def loss(output, target):
        seen.append((output.dtype, torch.is_autocast_enabled("cpu")))
        return cross_entropy(output, target)

    method = make_method()
    method.tasks = [replace(TASKS[0], loss=loss), TASKS[1]]
    losses, exact = gradient(copy.deepcopy(method))
    layer = method.network.skeleton.model.encoder[3]
    layer.register_forward_hook(lambda *call: seen.append((call[-1].dtype, True)))
    with BF16:
        found, near = gradient(method)
        outputs = method.network(BATCH[0], ALPHAS[0])
    assert seen[1:3] == [(torch.bfloat16, True), (torch.float32, False)]
    assert near.dtype == found.dtype == outputs[0].dtype == torch.float32
    torch.testing.assert_close(found, losses, rtol=0.02, atol=0)
    assert torch.cosine_similarity(near.flatten(), exact.flatten(), dim=0) > 0.99
    assert not torch.equal(near, exact)


def test_under_autocast_outputs_that_are_no_floats_stay_as_they_are():
    class Answers(nn.Linear):
        def forward(self, x):
            logits = super().forward(x)
            return logits, logits.argmax(1), logits > 0

    network = WeightEnsemble([Answers(3, 4), Answers(3, 4)])
    with BF16:
        outputs = network(torch.randn(5, 3), ALPHAS[0])
    assert [output.dtype for output in outputs] == [torch.float32, torch.int64, torch.bool]


@pytest.mark.parametrize("make", [Linear, UnitNorm, MGDA, CAGrad])
@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_a_direction_under_autocast_is_that_of_outputs_cast_by_hand(make, lam):
    parts, alphas = {"penalty": MultiForward(lam), "window": 2}, [[0.3, 0.7], [0.9, 0.1]]
    by_hand, ours = (make_method(k, balancer=make(), **parts) for k in (Half, SharedBottom))
    losses, expected = gradient(by_hand, alphas)
    with BF16:
        found, got = gradient(ours, alphas)
    assert torch.equal(found, losses) and torch.equal(got, expected)


def test_training_and_judging_under_autocast_are_those_of_casts_by_hand():
    tables = []
    for kind in (Half, SharedBottom):
        method = make_method(kind, norm=True)
        with torch.autocast("cpu", torch.bfloat16, kind is SharedBottom):
            given = {"ema": 0.5, "calibration": "shared", "progress": False}
            rows = train(method, [BATCH] * 2, epochs=2, **given)
            table = evaluate(method.network, TASKS, [BATCH]).table
            outputs = method.network.predict(BATCH[0], [0.5, 0.5])
        tables.append((rows, table, outputs, method.network.members()))
    (rows, table, outputs, weights), other = tables
    assert rows == other[0] and table.equals(other[1]) and torch.equal(weights, other[3])
    assert weights.dtype == torch.float32
    torch.testing.assert_close(outputs, other[2], rtol=0, atol=0)


def test_targets_keep_their_digits_beside_outputs_of_bfloat16():
    """The nearest number to 2010 in bfloat16 is 2016."""
    output, target = torch.tensor([2016.0, 2000.0]).bfloat16(), torch.tensor([2010.0, 2001.0])
    task = regression("year")
    wide = task.loss(output.float(), target), *(m(output.float(), target) for m in task.metrics)
    assert (task.loss(output, target), *(m(output, target) for m in task.metrics)) == wide
    assert wide[0] == pytest.approx((5.5 + 0.5) / 2)  # of Huber's loss


def test_float16_is_refused_for_training_in_one_sentence_and_evaluates():
    method = make_method()
    network, before = method.network, method.network.members()
    with torch.autocast("cpu", torch.float16):
        for act in (
            lambda: method.step(BATCH),
            lambda: train(method, [BATCH], epochs=1, progress=False),
        ):
            with pytest.raises(InputError, match=r"\(GradScaler\).* Found autocast to float16"):
                act()
        near = network.predict(BATCH[0], ALPHAS[0])
    assert torch.equal(network.members(), before)
    assert all(p.grad is None for p in network.parameters())
    exact = network.predict(BATCH[0], ALPHAS[0])
    torch.testing.assert_close(near, exact, rtol=0.02, atol=0.01)
    assert not torch.equal(near[0], exact[0])


COMPILED = """
import copy, sys
import torch
sys.path.insert(0, {tests!r})
from test_precision import gradient, make_method
method = make_method()
losses, expected = gradient(copy.deepcopy(method))
method.network.compile(backend="aot_eager", fullgraph=True)
found, same = gradient(method)
torch.testing.assert_close(found, losses)
torch.testing.assert_close(same, expected)
"""


@pytest.mark.skipif(torch.__version__ < "2.7", reason="torch 2.6 breaks at a context manager")
def test_a_network_compiles_without_a_break_and_has_the_same_gradient(tmp_path):
    """In a process of its own: the checks of shapes under pytest are no code for the compiler."""
    codes, errors = forked.run(COMPILED.format(tests=str(Path(__file__).parent)), tmp_path)
    assert codes == [0], errors
