"""Two processes split the batch of a single draw and take the step of one."""

from pathlib import Path

import pytest
import torch
from test_processes import TASKS, example, torchrun
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pamal_companion.experiments.models import SharedBottom
from pamal_companion.rivals.auto_lambda import AutoLambda
from pamal_companion.rivals.cosmos import Cosine
from pamal_core import balancing, distributed
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.networks.ensemble import WeightEnsemble
from pamal_core.tasks import label_counts
from pamal_core.training import train

RULES = {
    "linear": balancing.Linear,
    "memory": balancing.MovingAverage,
    "unit norm": balancing.UnitNorm,
    "learned": lambda: balancing.UncertaintyWeighting(2),
    "gram": balancing.MGDA,
}

TRAIN = """
import sys
import torch
from pamal_core import distributed
sys.path.insert(0, {tests!r})
from test_split_batches import RULES, trained
torch.set_num_threads(1)
distributed.join()
found = {{name: trained(rule()) for name, rule in RULES.items()}}
if distributed.is_first():
    torch.save(found, {out!r})
distributed.wait()
"""


def batches():
    """Labels of the first task are missing in most of the second half of a batch."""
    inputs, first, second = example()
    first[5:10] = -100
    return [(inputs, first, second), (inputs.flip(0), first.flip(0), second.flip(0))]


def make_method(rule):
    def member():
        encoder = nn.Sequential(nn.Linear(4, 6), nn.Tanh())
        return SharedBottom(encoder, [nn.Linear(6, 2), nn.Linear(6, 2)])

    torch.manual_seed(1)
    network = WeightEnsemble([member(), member()], shared="encoder")
    return Method(network, TASKS, balancer=rule, penalty=Cosine(0.1))


def trained(rule):
    """What two epochs leave: Theta, the losses, and what the balancer has learned."""
    method = make_method(rule)
    history = train(method, batches(), epochs=2, lr=0.01, progress=False)
    learned = [p.detach() for p in rule.parameters()]
    return method.network.stacked.detach(), history[-1]["losses"], learned


def test_a_training_of_two_processes_is_that_of_one(tmp_path):
    """Linear weights, a rule with a memory, rules that read the gradient of each task, and one with
    parameters; labels are missing, unevenly."""
    out = str(tmp_path / "found.pt")
    code = TRAIN.format(tests=str(Path(__file__).parent), out=out)
    codes, errors = torchrun(code, tmp_path)
    assert codes == [0, 0], errors
    found = torch.load(out)
    for name, rule in RULES.items():
        alone = trained(rule())
        torch.testing.assert_close(found[name][0], alone[0], rtol=0, atol=1e-6, msg=name)
        assert found[name][1] == pytest.approx(alone[1], abs=1e-6)
        torch.testing.assert_close(found[name][2], alone[2], rtol=0, atol=1e-6)
        start = make_method(rule()).network.stacked
        assert (alone[0] - start).abs().max() > 0.01


def test_the_labels_of_each_task_are_counted():
    inputs, first, second = batches()[0]
    assert label_counts(TASKS, [first, second], inputs.device).tolist() == [7, 12]
    assert label_counts(TASKS, [{"second": second}], inputs.device).tolist() == [0, 12]


APART = """
import sys
import torch
from pamal_core import balancing, distributed
from pamal_core.errors import InputError
sys.path.insert(0, {tests!r})
from test_split_batches import batches, make_method, train
torch.set_num_threads(1)
distributed.join()
apart = 0.1 * (not distributed.is_first())
data = [[tuple(t.clone() for t in one) for one in batches()] for _ in range(2)]
data[1][0][0][0, 0] += apart  # one number of a batch
methods = [make_method(balancing.Linear()) for _ in range(2)]
with torch.no_grad():
    methods[0].network.stacked[0, 0] += apart  # one weight
for method, loader in zip(methods, data, strict=True):
    before = method.network.stacked.detach().clone()
    try:
        train(method, loader, epochs=1, progress=False)
        sys.exit("was not refused")
    except InputError as error:
        told = "the same weights and see the same batches" in str(error)
    if not (told and torch.equal(method.network.stacked, before)):
        sys.exit("was refused late, or for another reason")
distributed.wait()
"""


def test_processes_with_other_weights_or_batches_are_refused_before_a_step(tmp_path):
    codes, errors = torchrun(APART.format(tests=str(Path(__file__).parent)), tmp_path)
    assert codes == [0, 0], errors


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setattr(distributed, "count", lambda: 2)
    monkeypatch.setattr(distributed.dist, "get_rank", lambda: 1)


def test_each_process_has_its_part_of_every_tensor_of_examples(two):
    inputs = {"x": torch.arange(6), "scale": torch.tensor(2.0)}
    given, first, second = distributed.part((inputs, torch.arange(6) * 10, None))
    assert given["x"].tolist() == [3, 4, 5] and given["scale"] == 2.0
    assert first.tolist() == [30, 40, 50] and second is None


def test_a_batch_that_cannot_be_split_is_refused_before_the_training(two):
    data = TensorDataset(*example())
    method = make_method(balancing.Linear())
    before = method.network.stacked.detach().clone()
    for size, last in ((5, 2), (8, 4), (10, 2)):
        loader = DataLoader(data, batch_size=size)
        if size % 2 or last % 2:
            with pytest.raises(InputError, match=f"Found batches of {size}, the last of {last}"):
                train(method, loader, epochs=1, progress=False)
        else:
            distributed.check_batches(loader)
    with pytest.raises(InputError, match="Found 11 examples and 2 processes"):
        train(method, [tuple(t[:11] for t in example())], epochs=1, progress=False)
    assert torch.equal(method.network.stacked, before)
    distributed.check_batches(DataLoader(data, batch_size=8, drop_last=True))


def test_a_rule_with_passes_of_its_own_is_refused(two):
    network = make_method(balancing.Linear()).network
    rule = AutoLambda(network, TASKS, batches(), lr=0.1)
    with pytest.raises(InputError, match="AutoLambda makes passes of its own"):
        Method(network, TASKS, balancer=rule)
