"""bfloat16 and compilation change how a network runs, not what it computes."""

import copy
from pathlib import Path

import forked
import pytest
import torch
from small_problems import lenet

from pamal_core.errors import InputError
from pamal_core.evaluation import predict
from pamal_core.method import Method
from pamal_core.networks.ensemble import WeightEnsemble
from pamal_core.tasks import classification
from pamal_core.training import train

TASKS = [classification("first"), classification("second")]
BATCH = (torch.rand(16, 1, 28, 28), torch.randint(10, (16,)), torch.randint(10, (16,)))
ALPHAS = torch.tensor([[0.3, 0.7]])


def make_method():
    torch.manual_seed(0)
    return Method(WeightEnsemble([lenet(), lenet()], shared="encoder"), TASKS)


def gradient(method):
    losses = method.accumulate(BATCH, ALPHAS)
    return losses, method.network.stacked.grad


def test_bfloat16_leaves_weights_and_outputs_in_float32_and_is_near():
    method = make_method()
    losses, exact = gradient(copy.deepcopy(method))
    method.network.precision = torch.bfloat16
    found, near = gradient(method)
    assert near.dtype == method.network.stacked.dtype == found.dtype == torch.float32
    outputs = method.network(method.network.weights(ALPHAS[0]), BATCH[0])
    assert [output.dtype for output in outputs] == [torch.float32, torch.float32]
    torch.testing.assert_close(found, losses, rtol=0.02, atol=0)
    assert torch.cosine_similarity(near.flatten(), exact.flatten(), dim=0) > 0.99
    assert not torch.equal(near, exact)


def test_a_training_under_autocast_is_refused_and_moves_nothing():
    method = make_method()
    before = method.network.stacked.detach().clone()
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(InputError, match="precision = "):
        train(method, [BATCH], epochs=1, progress=False)
    assert torch.equal(method.network.stacked, before)


def test_evaluation_under_autocast_is_refused_in_a_sentence():
    network = make_method().network
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(InputError, match="precision"):
        predict(network, [0.5, 0.5], BATCH[0])


def test_the_architecture_itself_runs_in_bfloat16():
    seen = []
    method = make_method()
    layer = method.network.skeleton.model.encoder[3]
    layer.register_forward_hook(lambda *call: seen.append(call[-1].dtype))
    method.network.precision = torch.bfloat16
    gradient(method)
    assert seen == [torch.bfloat16]


COMPILED = """
import copy, sys
import torch
sys.path.insert(0, {tests!r})
from test_precision import gradient, make_method
method = make_method()
losses, expected = gradient(copy.deepcopy(method))
method.network.skeleton.compile(backend="aot_eager", fullgraph=True)
found, same = gradient(method)
torch.testing.assert_close(found, losses)
torch.testing.assert_close(same, expected)
"""


def test_a_network_compiles_without_a_break_and_has_the_same_gradient(tmp_path):
    """In a process of its own: the checks of shapes under pytest are no code for the compiler."""
    codes, errors = forked.run(COMPILED.format(tests=str(Path(__file__).parent)), tmp_path)
    assert codes == [0], errors


def test_float16_is_refused_for_training_in_one_sentence_and_evaluates():
    method = make_method()
    method.network.precision = torch.float16
    before = method.network.stacked.detach().clone()
    with pytest.raises(InputError, match=r"a scaler of losses \(GradScaler\).* Found float16"):
        train(method, [BATCH], epochs=1, progress=False)
    assert torch.equal(method.network.stacked, before) and method.network.stacked.grad is None
    near = predict(method.network, ALPHAS[0], BATCH[0])
    method.network.precision = torch.float32
    exact = predict(method.network, ALPHAS[0], BATCH[0])
    torch.testing.assert_close(near, exact, rtol=0.02, atol=0.01)
    assert not torch.equal(near[0], exact[0])
