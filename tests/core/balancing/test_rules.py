"""Every rule: a table of known values, and properties that hold for all but the named exceptions.

`test_gradient_rules`, `test_loss_rules` and `test_aggregated` hold each against an oracle of its
own, `test_release` against the authors' code.
"""

import importlib.util
import math

import jaxtyping
import numpy as np
import pytest
import torch
from jacobians import badly_conditioned, stationary, well_conditioned

from pamal_core.balancing import (
    IMTL,
    MGDA,
    Aggregated,
    CAGrad,
    Draw,
    DynamicWeightAverage,
    GradDrop,
    GradientBalancer,
    GramBalancer,
    Linear,
    LossBalancer,
    MovingAverage,
    NashMTL,
    PCGrad,
    RandomWeighting,
    UncertaintyWeighting,
    UnitNorm,
)
from pamal_core.errors import InputError

RULES = {
    "linear": lambda tasks: Linear(),
    "moving average": lambda tasks: MovingAverage(history=2),
    "moving average, released": lambda tasks: MovingAverage(history=2, form="released"),
    "uncertainty": UncertaintyWeighting,
    "DWA": lambda tasks: DynamicWeightAverage(),
    "DWA of steps": lambda tasks: DynamicWeightAverage(steps_per_window=2),
    "RLW": lambda tasks: RandomWeighting(),
    "unit norm": lambda tasks: UnitNorm(),
    "unit norm, released": lambda tasks: UnitNorm("released"),
    "MGDA": lambda tasks: MGDA(),
    "PCGrad": lambda tasks: PCGrad(),
    "IMTL": lambda tasks: IMTL(),
    "GradDrop": lambda tasks: GradDrop(),
    "CAGrad": lambda tasks: CAGrad(),
    "Nash-MTL": lambda tasks: NashMTL(),
}
if importlib.util.find_spec("torchjd"):
    from torchjd.aggregation import AlignedMTL

    RULES["Aligned-MTL"] = lambda tasks: Aggregated(AlignedMTL())

BALANCED = "MGDA", "PCGrad", "IMTL", "CAGrad", "Nash-MTL"
"""Those that may weigh the heads, too."""


def kind_of(name):
    return type(RULES[name](2))


OF_GRADIENTS = [name for name in RULES if issubclass(kind_of(name), GradientBalancer)]
OF_LOSSES = [name for name in RULES if name not in OF_GRADIENTS]
every = pytest.mark.parametrize("name", RULES)


def double(rows):
    return torch.tensor(rows, dtype=torch.double)


def direction(rule, jacobian, weights=None, losses=None, *, num_shared=None, penalty=None):
    """What `rule` makes of losses that are linear in theta; random rules draw the same each time.

    By default all entries are shared, the weights uniform, and the losses 1, 2, ...
    """
    num_tasks, size = jacobian.shape
    counted = torch.arange(1.0, num_tasks + 1)
    losses = (counted if losses is None else losses).to(jacobian)
    weights = jacobian.new_full((num_tasks,), 1 / num_tasks) if weights is None else weights
    theta = torch.zeros(size, dtype=jacobian.dtype, requires_grad=True)
    num_shared = size if num_shared is None else num_shared
    torch.manual_seed(5)
    return rule.direction(
        Draw(weights, weights, {"theta": theta}, jacobian @ theta + losses, num_shared, penalty)
    )


ALL_MEMBERS = math.sqrt(0.625)  # the length of (1/4, 3/4)
# Gradients (3, 4, 0) and (0, 0, 2) with weights 1/4 and 3/4 and losses 2 and 4.
KNOWN = {
    "linear": [0.75, 1.0, 1.5],
    "moving average": [0.375, 0.5, 0.375],
    "moving average, released": [0.75, 1.0, 1.5],  # as it begins
    "uncertainty": [0.375, 0.5, 0.75],
    "DWA": [0.75, 1.0, 1.5],
    "DWA of steps": [0.75, 1.0, 1.5],
    "unit norm": [0.15, 0.2, 0.75],
    "unit norm, released": [
        0.75 / (5 * ALL_MEMBERS + 1e-3),
        1.0 / (5 * ALL_MEMBERS + 1e-3),
        1.5 / (2 * ALL_MEMBERS + 1e-3),
    ],
    "MGDA": [12 / 29, 16 / 29, 50 / 29],
    "PCGrad": [0.75, 1.0, 1.5],
    "IMTL": [6 / 7, 8 / 7, 10 / 7],
    "GradDrop": [0.75, 1.0, 1.5],
    "CAGrad": [0.75, 1.0, 1.5 + 0.4 * math.sqrt(3.8125)],  # all of the ball for the slower task
    "Nash-MTL": [0.6, 0.8, 1.0],
    "Aligned-MTL": [0.3, 0.4, 1.5],
}


@pytest.mark.parametrize("name", [name for name in RULES if name != "RLW"])
def test_a_rule_has_its_known_value(name):
    jacobian = double([[3, 4, 0], [0, 0, 2]])
    got = direction(RULES[name](2), jacobian, double([0.25, 0.75]), double([2, 4]))
    torch.testing.assert_close(got, double(KNOWN[name]), rtol=1e-7, atol=0)


G, U = double([3, 4]), double([0.6, 0.8])
DEGENERATE = {  # one task; the second gradient 0; two equal ones; -2 g as the second
    "unit norm": (U, U / 2, U, 0 * G),
    "MGDA": (G, 0 * G, G, 0 * G),
    "PCGrad": (G, G / 2, G, 0 * G),
    "IMTL": (G, G, G, 0 * G),
    "GradDrop": (G, G / 2, G, None),
    "CAGrad": (1.4 * G, G / 2, 1.4 * G, -0.3 * G),
    "Nash-MTL": (U, U, 2**0.5 * U, 0 * G),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_a_degenerate_jacobian_has_the_documented_result(name, dtype):
    cases = [[1.0]], [[1.0], [0.0]], [[1.0], [1.0]], [[1.0], [-2.0]]
    for case, expected in zip(cases, DEGENERATE[name], strict=True):
        if expected is not None:
            got = direction(RULES[name](2), (double(case) * G).to(dtype))
            torch.testing.assert_close(got, expected.to(dtype), atol=1e-6, rtol=1e-6)


@every
def test_without_a_conflict_every_task_descends(name):
    for _ in range(20):
        jacobian = torch.rand(3, 20).double()
        assert (jacobian @ direction(RULES[name](3), jacobian) > 0).all()


@pytest.mark.parametrize("name", ["MGDA", "IMTL", "CAGrad", "Nash-MTL"])
def test_a_rule_against_conflicts_descends_on_every_task(name):
    found = [(j, j @ direction(RULES[name](3), j)) for j in well_conditioned(3)]
    assert all((slopes > 0).all() for _, slopes in found)
    # Where linear scalarisation would not.
    assert any((j @ direction(Linear(), j) < 0).any() for j, _ in found)


@pytest.mark.parametrize("name", ["MGDA", "IMTL", "Nash-MTL"])
def test_a_rule_stops_where_no_direction_descends_on_all(name):
    for jacobian in stationary(3) + stationary(5):
        found = direction(RULES[name](len(jacobian)), jacobian)
        assert found.norm() < 1e-6 * jacobian.norm(dim=1).max()


@every
def test_one_task_and_equal_gradients_keep_their_direction(name):
    for num_tasks in (1, 3):
        gradient = torch.randn(20).double()
        got = direction(RULES[name](num_tasks), gradient.expand(num_tasks, 20).clone())
        torch.testing.assert_close(got / got.norm(), gradient / gradient.norm())


@every
def test_no_gradient_gives_no_direction_and_nan_gives_nan(name):
    assert not direction(RULES[name](3), torch.zeros(3, 4)).any()
    broken = torch.randn(3, 4)
    broken[1, 2] = torch.nan
    assert direction(RULES[name](3), broken).isnan().any()


WITHOUT_UNIT = {"moving average", "unit norm", "unit norm, released", "Nash-MTL"}


@every
def test_a_unit_of_all_losses_scales_the_direction_or_leaves_it(name):
    jacobian, losses = well_conditioned(3)[0], double([1, 2, 3])
    plain = direction(RULES[name](3), jacobian, losses=losses)
    scaled = direction(RULES[name](3), 100 * jacobian, losses=100 * losses)
    expected = plain if name in WITHOUT_UNIT else 100 * plain
    close = 1e-2 if name == "unit norm, released" else 1e-9  # which adds 0.001 to a norm
    torch.testing.assert_close(scaled, expected, rtol=close, atol=1e-9)


@pytest.mark.parametrize("name", ["moving average", "unit norm", "IMTL", "Nash-MTL"])
def test_the_scale_of_one_task_does_not_turn_the_direction(name):
    scales, losses = double([1, 1e-3, 50]), double([1, 2, 3])
    for jacobian in well_conditioned(3):
        plain = direction(RULES[name](3), jacobian, losses=losses)
        scaled = direction(RULES[name](3), scales[:, None] * jacobian, losses=scales * losses)
        torch.testing.assert_close(scaled / scaled.norm(), plain / plain.norm())


@pytest.mark.parametrize("name", [n for n in RULES if n not in ("RLW", "PCGrad")])
def test_the_order_of_tasks_does_not_matter(name):
    order, weights, losses = [2, 0, 1], double([0.2, 0.5, 0.3]), double([1, 2, 3])
    for jacobian in (*well_conditioned(3)[:9], *badly_conditioned(3)[:9]):
        plain = direction(RULES[name](3), jacobian, weights, losses)
        turned = direction(RULES[name](3), jacobian[order], weights[order], losses[order])
        size = jacobian.norm(dim=1).max()
        torch.testing.assert_close(turned / size, plain / size, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", [n for n in RULES if n not in ("RLW", "GradDrop")])
def test_single_precision_gives_the_same_direction(name):
    for jacobian in well_conditioned(3):
        got = direction(RULES[name](3), jacobian.float())
        assert got.dtype == torch.float
        expected = direction(RULES[name](3), jacobian)
        torch.testing.assert_close(got.double(), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", [n for n in OF_LOSSES if n != "RLW"])
def test_batches_of_losses_are_reweighed_one_by_one(name):
    losses, weights = torch.rand(7, 3), torch.rand(7, 3)
    each = [RULES[name](3).reweigh(*one) for one in zip(losses, weights, strict=True)]
    torch.testing.assert_close(RULES[name](3).reweigh(losses, weights), torch.stack(each))


@pytest.mark.parametrize("name", ["unit norm", "unit norm, released"])
def test_batches_of_jacobians_are_combined_one_by_one(name):
    rule, jacobians, weights = RULES[name](2), torch.randn(7, 2, 5), torch.rand(7, 2)
    each = [rule.combine(j, w) for j, w in zip(jacobians, weights, strict=True)]
    torch.testing.assert_close(rule.combine(jacobians, weights), torch.stack(each))


@every
def test_the_penalty_joins_the_direction_as_it_is(name):
    penalty = double([1, -2, 0.5])
    for jacobian in well_conditioned(3)[:9]:
        alone = direction(RULES[name](3), jacobian, num_shared=15)
        both = direction(RULES[name](3), jacobian, num_shared=15, penalty=penalty)
        torch.testing.assert_close(both - alone, penalty @ jacobian)


@pytest.mark.parametrize("name", [n for n in OF_GRADIENTS if n != "unit norm, released"])
def test_the_heads_of_a_gradient_rule_keep_the_plain_weights(name):
    weights, jacobian = double([0.2, 0.5, 0.3]), well_conditioned(3)[0]
    got = direction(RULES[name](3), jacobian, weights, num_shared=15)
    torch.testing.assert_close(got[15:], weights @ jacobian[:, 15:])
    shared = direction(RULES[name](3), jacobian[:, :15], weights)
    torch.testing.assert_close(got[:15], shared)
    assert not torch.allclose(shared, weights @ jacobian[:, :15])


@pytest.mark.parametrize("name", BALANCED)
def test_balanced_heads_have_the_weights_of_the_shared_gradient(name):
    rule, jacobian = kind_of(name)(heads="balanced"), well_conditioned(3)[0]
    assert isinstance(rule, GramBalancer)
    got = direction(rule, jacobian, num_shared=15)
    torch.manual_seed(5)  # as `direction` does
    inner = jacobian[:, :15] @ jacobian[:, :15].T
    found = rule.coefficients(inner, torch.full((3,), 1 / 3).double())
    torch.testing.assert_close(got, found @ jacobian)
    assert found.std() > 1e-4


@every
def test_a_restored_rule_goes_on_as_before(name):
    rule, restored = RULES[name](3), RULES[name](3)
    jacobian, draws = torch.randn(3, 8), torch.rand(6, 3)
    for losses in draws[:5]:
        direction(rule, jacobian, losses=losses)
    restored.load_state_dict(rule.state_dict())
    history = [[1.0, 2.0, 4.0], [1.0, 1.0, 1.0]]
    found = []
    for one in (rule, restored):
        one.start_epoch(history)
        found.append(direction(one, jacobian, losses=draws[5]))
    assert torch.equal(*found)
    assert rule.state_dict().keys() == restored.state_dict().keys()


@pytest.mark.parametrize("name", ["moving average", "DWA of steps"])
def test_a_rule_goes_on_on_the_device_of_the_losses(name):
    rule = RULES[name](2)
    rule.load_state_dict({"recent": [torch.ones(2)]})  # as read from a file: on the CPU
    there = torch.ones(2, device="meta")
    assert rule.reweigh(there, there).device == there.device


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DynamicWeightAverage(steps_per_window=0), "must be a whole number >= 1"),
        (lambda: direction(UncertaintyWeighting(3), torch.eye(2)), "must be that of the method, 2"),
    ],
)
def test_a_rule_that_does_not_exist_is_refused(make, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("wrong", [lambda row: row[:1], lambda row: row.sum(), lambda _row: None])
def test_what_a_rule_of_ones_own_returns_has_its_shape(wrong):
    """torch would add a single number to each entry, without an error."""

    class Losses(LossBalancer):
        def reweigh(self, losses, weights):
            return wrong(losses)

    class Gradients(GradientBalancer):
        def combine(self, jacobian, weights):
            return wrong(jacobian[0])

    jacobian = double([[3, 4, 0], [0, 0, 2]])
    with pytest.raises(InputError, match=r"Losses.reweigh` must return a weight .* a tensor \[2\]"):
        direction(Losses(), jacobian, penalty=double([1, 1]))
    with pytest.raises(InputError, match=r"Gradients.combine` must return one .* a tensor \[3\]"):
        direction(Gradients(), jacobian)


SOLVED = {
    "None": (None, "NoneType"),
    "a list": ([0.5, 0.5], "a list of float, float"),
    "a tensor": (torch.ones(2), r"one tensor \[2\] of float32"),
    "a number": (0.5, "float"),
    "a number in an array": (np.array(0.5), r"one array \[\] of float64"),
    "a row": (np.ones((1, 2)), r"one array \[1, 2\] of float64"),
    "a column": (np.ones((2, 1)), r"one array \[2, 1\] of float64"),
    "one too few": (np.ones(1), r"one array \[1\] of float64"),
    "one too many": (np.ones(3), r"one array \[3\] of float64"),
    "a matrix": (np.eye(2), r"one array \[2, 2\] of float64"),
}


@pytest.mark.parametrize("heads", ["plain", "balanced"])
@pytest.mark.parametrize(("solution", "found"), SOLVED.values(), ids=SOLVED)
def test_what_a_rule_of_ones_own_solves_for_is_a_number_a_task(solution, found, heads, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it

    class Solver(GramBalancer):
        def solve(self, gram, weights):
            return solution

    expected = r"Solver.solve` must return a coefficient for each task, an array \[2\]. "
    with pytest.raises(InputError, match=f"{expected}Found {found}"):
        direction(Solver(heads), double([[3, 4, 0], [0, 0, 2]]))


@pytest.mark.parametrize(
    "solve",
    [
        lambda w: w[::-1],
        lambda w: np.flip(w).copy(),
        lambda w: np.stack([w, w])[0, ::-1],
        lambda w: (4 * w[::-1]).astype(int) / np.float32(4),
    ],
)
def test_any_array_of_coefficients_is_taken(solve):
    """Also a view that goes backwards, of which torch takes no tensor."""

    class Solver(GramBalancer):
        def solve(self, gram, weights):
            return solve(weights)

    jacobian, weights = double([[3, 4, 0], [0, 0, 2]]), double([0.25, 0.75])
    found = Solver().combine(jacobian, weights)
    torch.testing.assert_close(found, double([0.75 * 3, 0.75 * 4, 0.25 * 2]))
