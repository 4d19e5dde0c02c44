"""The closed forms for two tasks against the rules of the package, one Jacobian at a time, and
whole runs against the training step on the toy problem as a network."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from toy_oracle import plain_losses

from pamal_companion.toy import point as made
from pamal_companion.toy import rules as toy_rules
from pamal_companion.toy.pairs import Pairs
from pamal_companion.toy.problem import INITIAL_POINTS, ToyProblem, pareto_set
from pamal_core.balancing import (
    IMTL,
    MGDA,
    CAGrad,
    DynamicWeightAverage,
    GradDrop,
    GradientBalancer,
    NashMTL,
    PCGrad,
    RandomWeighting,
    UncertaintyWeighting,
)
from pamal_core.ensemble import WeightEnsemble
from pamal_core.method import Method
from pamal_core.simplex import Dirichlet
from pamal_core.tasks import Task

ROOT = Path(__file__).parents[3]
RULES = {
    "MGDA": MGDA,
    "PCGrad": PCGrad,
    "IMTL-G": IMTL,
    "GradDrop": GradDrop,
    "CAGrad": CAGrad,
    "Nash-MTL": NashMTL,
    "UW": lambda: UncertaintyWeighting(2),
    "DWA": DynamicWeightAverage,
    "RLW": RandomWeighting,
}
OF_GRADIENTS = [name for name, make in RULES.items() if isinstance(make(), GradientBalancer)]


def some_jacobians() -> np.ndarray:
    """Random ones, with rows of unlike lengths, nearly parallel rows of both signs, equal rows, and
    gradients of 0."""
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(60, 2, 2)) * 10 ** rng.uniform(-3, 3, size=(60, 2, 1))
    one = rng.normal(size=(20, 1, 2))
    factor = rng.choice([-1, 1], size=(20, 1, 1)) * 10 ** rng.uniform(-2, 2, size=(20, 1, 1))
    parallel = np.concatenate((one, factor * (one + 1e-3 * rng.normal(size=(20, 1, 2)))), 1)
    equal = np.repeat(one[:5], 2, 1)
    absent = plain[:6] * np.array([[0, 1]] * 2 + [[1, 0]] * 2 + [[0, 0]] * 2)[..., None]
    return np.concatenate((plain, parallel, equal, absent))


def patch_draws(monkeypatch, values: Tensor) -> None:
    """Torch's generator returns `values`, row by row."""
    rows = iter(values)
    for name in ("randn", "rand_like"):
        monkeypatch.setattr(torch, name, lambda *_: next(rows))


@pytest.mark.parametrize("name", OF_GRADIENTS)
def test_each_gradient_rule_is_that_of_the_package(name, monkeypatch):
    jacobians = some_jacobians()
    rule, balancer = toy_rules.rules(2e-3, 0)[name], RULES[name]()
    if name == "GradDrop":
        same = toy_rules.rules(2e-3, 0)["GradDrop"].keywords["rng"].random(size=(len(jacobians), 2))
        patch_draws(monkeypatch, torch.from_numpy(same))
    found = rule(np.zeros(jacobians.shape[:2]), jacobians, np.full(jacobians.shape[:2], 0.5))
    half = torch.full((2,), 0.5, dtype=torch.float64)
    for ours, jacobian in zip(found, jacobians, strict=True):
        theirs = balancer.combine(torch.from_numpy(jacobian), half).numpy()
        size = max(np.linalg.norm(jacobian, axis=-1).max(), np.linalg.norm(theirs))
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * size)


def trained(scales: list[float], rules: list[toy_rules.Rule], steps: int, every: int, lr=2e-3):
    """Single networks from the five initial points at each scale, [S, R, 5 V, 2]."""
    problem = ToyProblem(np.repeat(scales, 5)[:, None])
    starts = np.tile(np.array(INITIAL_POINTS), (len(scales), 1))[:, None]
    half, one = np.full((1, 2), 0.5), Dirichlet(np.inf)
    singles = Pairs(problem, rules, starts, task_weights=half, preference=one, lr=lr)
    return singles.run(steps, every)[..., 0, :]


class Point(nn.Module):
    """A network whose weights are a point of the plane and whose outputs are its losses."""

    def __init__(self, start: tuple[float, float], scale: float) -> None:
        super().__init__()
        self.encoder = nn.Linear(2, 1, bias=False, dtype=torch.float64)
        nn.init.constant_(self.encoder.weight, 0)
        self.encoder.weight.data += torch.tensor(start)
        self.scale = scale

    def forward(self, x: Tensor) -> list[Tensor]:
        return list(plain_losses(self.encoder.weight[0], self.scale))


def by_the_training_step(name: str, start: tuple[float, float], scale: float, steps: int):
    network = WeightEnsemble([Point(start, scale)], task_weights=np.full((1, 2), 0.5))
    tasks = [Task(str(t), lambda output, target: output, ()) for t in (1, 2)]
    balancer = RULES[name]()
    for parameter in balancer.parameters():
        parameter.data = parameter.data.double()
    method = Method(network.double(), tasks, balancer=balancer)
    optimizer = torch.optim.Adam(method.parameters(), lr=2e-3)
    batch = (torch.zeros(1),) * 3
    history, losses, path = [], [], [network.members()[0].numpy()]
    for step in range(steps):
        if step % toy_rules.EPOCH == 0:
            history += [np.mean(losses, 0).tolist()] if losses else []
            balancer.start_epoch(history)
            losses = []
        optimizer.zero_grad()
        losses.append(method.step(batch, torch.ones(1, 1).double())[0].tolist())
        optimizer.step()
        path.append(network.members()[0].numpy())
    return np.array(path)


@pytest.mark.parametrize("name", RULES)
def test_a_run_goes_where_the_training_step_goes_with_torchs_adam(name, monkeypatch):
    monkeypatch.setattr(toy_rules, "EPOCH", 40)  # DWA changes its weights after two epochs
    steps = 100
    rule = toy_rules.rules(2e-3, 0)[name]
    at = 3
    if name in ("RLW", "GradDrop"):
        rng = toy_rules.rules(2e-3, 0)[name].keywords["rng"]
        draw = rng.normal if name == "RLW" else rng.random
        same = np.stack([draw(size=(5, 1, 2))[at, 0] for _ in range(steps)])
        patch_draws(monkeypatch, torch.from_numpy(same))
    found = trained([0.1], [rule], steps, 1)[:, 0, at]
    expected = by_the_training_step(name, INITIAL_POINTS[at], 0.1, steps)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_a_rule_goes_its_way_whatever_other_rules_and_scales_run_beside_it():
    together = trained([1.0, 0.1], [*toy_rules.rules(2e-3, 0).values()], 50, 10)
    assert together.shape == (6, 10, 10, 2)
    for r, name in enumerate(toy_rules.rules(2e-3, 0)):
        alone = trained([1.0, 0.1], [toy_rules.rules(2e-3, 0)[name]], 50, 10)
        np.testing.assert_array_equal(alone[:, 0], together[:, r])


def test_uncertainty_weighting_stays_finite_and_keeps_a_difference():
    """Negative losses have no best variance, positive ones have: the loss itself."""
    losses = np.array([[-15.0, -10.0], [2.0, 3.0]])
    rule = toy_rules.UncertaintyWeighting(0.02)
    seen = []
    for _ in range(3000):
        direction = rule(losses, np.ones((2, 2, 2)), np.full((2, 2), 0.5))
        seen.append(rule.log_variances)
    assert np.isfinite(direction).all()
    assert (seen[-1][0] == seen[-1000][0]).all() and rule.LOWEST - 1 < seen[-1][0].min() < -99
    np.testing.assert_allclose(seen[-1][1], np.log(losses[1]), atol=0.01)


def test_nothing_moves_mgda_from_the_pareto_set_but_weights_do():
    _, jacobian = ToyProblem().losses_and_jacobian(pareto_set(11))
    size = np.linalg.norm(jacobian, axis=-1).max()
    given = jacobian[..., 0], jacobian, np.full(jacobian.shape[:-1], 0.5)
    np.testing.assert_allclose(toy_rules.mgda(*given), 0, atol=1e-9 * size)
    moved = np.linalg.norm(toy_rules.linear(*given), axis=-1)
    assert (moved > 0.01 * size).sum() == 10  # all but the middle


@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_the_losses_of_a_point_are_those_of_the_problem(scale):
    rng = np.random.default_rng(0)
    for theta in [*rng.uniform(-11, 11, (40, 2)), np.array([0.3, 0.0])]:
        point = torch.stack(made.Point(theta.tolist(), scale)(torch.zeros(1)))
        np.testing.assert_allclose(
            point.detach().numpy(), ToyProblem(scale).losses(theta), rtol=1e-12, atol=1e-12
        )


def test_twenty_steps_of_the_page_are_those_of_the_run_of_all_pairs():
    cells = json.loads((ROOT / "notebooks/toy.ipynb").read_text("utf-8"))["cells"]
    names = {}
    for cell in cells:
        if cell["id"] in ("names", "steps", "same"):
            exec("".join(cell["source"]), names)
    difference = names["pairs"][-1, 0, 2] - names["network"].members().numpy()
    assert np.abs(difference).max() < 1e-12
    assert np.abs(names["network"].members().numpy() - [[-8.5, 7.5], [9.0, 9.0]]).max() > 0.01
