"""What a GPU computes is what a CPU does, and a step does not wait for it."""

import copy
import warnings

import pytest
import torch
from small_problems import batches, slopes_of, through_a_file
from torch import nn

from pamal_core import (
    InputError,
    MultiForward,
    WeightEnsemble,
    balancing,
    classification,
    evaluate,
    fit,
    lattice,
    regression,
    train,
)
from pamal_core.errors import NonFiniteError
from pamal_core.method import Method

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

ROW = torch.tensor([[0.3, 0.7]])
RULES = {
    "Linear": balancing.Linear,
    "MovingAverage": balancing.MovingAverage,
    "UnitNorm": balancing.UnitNorm,
    "MGDA": balancing.MGDA,
    "PCGrad": balancing.PCGrad,  # of two tasks, whose order does not matter
    "CAGrad": balancing.CAGrad,
    "NashMTL": balancing.NashMTL,
    "IMTL": balancing.IMTL,
    "DWA": balancing.DynamicWeightAverage,
    "UW": lambda: balancing.UncertaintyWeighting(2),
}
RANDOM = {"GradDrop": balancing.GradDrop, "RLW": balancing.RandomWeighting}
TASKS = [regression("height"), classification("kind")]


class Net(nn.Module):
    """A trunk with running statistics, and two heads."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh())
        self.height, self.kind = nn.Linear(8, 1), nn.Linear(8, 3)

    def forward(self, x):
        z = self.trunk(x)
        return self.height(z), self.kind(z)


def make_method(device, **parts):
    """In float64, so that the order of a sum is the only difference, and a small one."""
    torch.manual_seed(3)
    members = [Net().double() for _ in range(2)]
    network = WeightEnsemble(members, shared="trunk").to(device)
    return Method(network, copy.deepcopy(TASKS), **parts)


@pytest.fixture
def loader(batch):
    x, height, kind = batch
    return batches((x.double(), height.double(), kind), 8)


def trained(device, loader, stop_after=None, resume=None):
    """The method after four epochs, and the state of its training after `stop_after` of them."""
    states = []

    def keep(training):
        if training.epoch == stop_after:
            states.append(training.state_dict())

    method = make_method(device)
    more = {"resume": resume, "on_epoch": keep, "progress": False}
    train(method, loader, epochs=4, lr=0.01, **more)
    return method, states


@pytest.mark.parametrize("penalty", [None, MultiForward(0.5)])
@pytest.mark.parametrize("rule", RULES)
def test_each_rule_steps_as_on_a_cpu(batch, rule, penalty):
    x, height, kind = batch
    slopes = []
    for device in ("cpu", "cuda"):
        method = make_method(device, balancer=RULES[rule](), penalty=penalty, window=2)
        rows = torch.tensor([[0.3, 0.7], [0.6, 0.4]])
        losses = method.step((x.double(), height.double(), kind), rows)
        assert losses.device.type == device
        slopes.append(slopes_of(method.network).cpu())
    torch.testing.assert_close(slopes[1], slopes[0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rule", RANDOM)
def test_random_rules_step_on_a_gpu(batch, rule):
    x, height, kind = batch
    method = make_method("cuda", balancer=RANDOM[rule](), window=2)
    losses = method.step((x.double(), height.double(), kind), ROW.repeat(2, 1))
    assert losses.isfinite().all() and slopes_of(method.network).isfinite().all()


def test_a_training_ends_where_that_of_a_cpu_does(loader):
    fronts = []
    for device in ("cpu", "cuda"):
        method, _ = trained(device, loader)
        fronts.append(evaluate(method.network, TASKS, loader, lattice(2, 5)))
    assert fronts[1].values == pytest.approx(fronts[0].values, rel=1e-6, abs=1e-9)


def test_a_resumed_training_has_the_bits_of_one_that_went_on(loader, tmp_path):
    method, [state] = trained("cuda", loader, stop_after=2)
    again, _ = trained("cuda", loader, resume=through_a_file(state, tmp_path))
    pairs = zip(method.network.parameters(), again.network.parameters(), strict=True)
    assert all(torch.equal(*pair) for pair in pairs)


def test_under_autocast_weights_and_losses_keep_their_digits(batch):
    method = make_method("cuda")
    method.network.float()
    with torch.autocast("cuda", torch.bfloat16):
        losses = method.step(batch, ROW)
    assert losses.dtype == slopes_of(method.network).dtype == torch.float32
    with torch.autocast("cuda", torch.float16), pytest.raises(InputError, match="float16"):
        method.step(batch, ROW)


def test_no_step_waits(batch):
    """Labels come from main memory without waiting, and nothing is read back."""
    method = make_method("cuda", penalty=MultiForward(0.5), window=2)
    method.network.float()
    there = [part.cuda() for part in batch]
    method.step(there, ROW.repeat(2, 1).cuda())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch remarks that the mode may overlook some
        torch.cuda.set_sync_debug_mode("error")
        try:
            method.step(there)
        finally:
            torch.cuda.set_sync_debug_mode("default")


def test_a_loss_that_is_not_finite_is_found_by_the_next_check(batch):
    x, height, kind = (part.clone() for part in batch)
    x[3] = torch.inf
    with pytest.raises(NonFiniteError):
        trained("cuda", batches((x.double(), height.double(), kind), 8))


def test_fit_trains_where_it_is_told(batch):
    def make():
        return Net().float()

    loader = batches(batch, 8)
    with pytest.warns(UserWarning, match="constant"):  # two epochs of four steps
        fitted = fit(make, TASKS, loader, loader, epochs=2, device="cuda", progress=False)
    assert fitted.network.device.type == "cuda"
    model = fitted.export(best="kind")
    assert {p.device.type for p in model.parameters()} == {"cuda"}
    x = batch[0]
    outputs = fitted.network.predict(x, {"height": 0.5, "kind": 0.5})
    assert {output.device.type for output in outputs} == {"cuda"}
