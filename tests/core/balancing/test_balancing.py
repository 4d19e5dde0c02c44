import jaxtyping
import pytest
import torch

from pamal_core.balancing import MGDA, Draw, Linear, MovingAverage, UnitNorm
from pamal_core.errors import InputError

JACOBIAN = torch.tensor([[3.0, 4.0, 0.0], [0.0, 0.0, 2.0]])
WEIGHTS = torch.tensor([0.25, 0.75])


def test_linear_scalarisation_leaves_the_weights_alone():
    assert Linear().reweigh(torch.tensor([5.0, 1.0]), WEIGHTS) is WEIGHTS


def test_loss_balancing_divides_by_the_mean_of_the_past_losses():
    rule = MovingAverage(history=2)
    torch.testing.assert_close(
        rule.reweigh(torch.tensor([2.0, 4.0]), WEIGHTS), WEIGHTS / torch.tensor([2.0, 4.0])
    )
    torch.testing.assert_close(
        rule.reweigh(torch.tensor([4.0, 8.0]), WEIGHTS), WEIGHTS / torch.tensor([3.0, 6.0])
    )
    torch.testing.assert_close(
        rule.reweigh(torch.tensor([6.0, 2.0]), WEIGHTS), WEIGHTS / torch.tensor([5.0, 5.0])
    )


def test_loss_balancing_descends_on_negative_losses():
    assert (MovingAverage().reweigh(torch.tensor([-3.0, 2.0]), WEIGHTS) > 0).all()


def test_loss_balancing_makes_weighted_losses_scale_invariant():
    scales = torch.tensor([1.0, 1000.0])
    plain, scaled = MovingAverage(), MovingAverage()
    for losses in torch.rand(10, 2) + 0.1:
        a = plain.reweigh(losses, WEIGHTS) * losses
        b = scaled.reweigh(losses * scales, WEIGHTS) * losses * scales
        torch.testing.assert_close(a, b)


def test_released_loss_balancing_favours_the_smaller_loss():
    rule = MovingAverage(history=2, form="released")
    got = [rule.reweigh(torch.tensor([1.0, loss]), WEIGHTS) for loss in (9.0, 9.0, 3.0, 3.0)]
    assert all(weights is WEIGHTS for weights in got[:3])  # the first history + 1 draws
    torch.testing.assert_close(got[3], WEIGHTS * torch.tensor([0.75, 0.25]))


def test_a_restored_loss_balancer_goes_on_as_before():
    rule, restored = MovingAverage(history=3), MovingAverage(history=3)
    for losses in torch.rand(5, 2):
        rule.reweigh(losses, WEIGHTS)
    restored.load_state_dict(rule.state_dict())
    losses = torch.rand(2)
    torch.testing.assert_close(rule.reweigh(losses, WEIGHTS), restored.reweigh(losses, WEIGHTS))


def test_gradient_balancing_weighs_unit_gradients():
    direction = UnitNorm().combine(JACOBIAN, WEIGHTS)
    torch.testing.assert_close(direction, torch.tensor([0.15, 0.2, 0.75]))


def test_gradient_balancing_ignores_the_scale_of_a_task():
    jacobian, scales = torch.randn(3, 10), torch.tensor([[1.0], [1e-3], [50.0]])
    weights = torch.tensor([0.2, 0.3, 0.5])
    rule = UnitNorm()
    torch.testing.assert_close(
        rule.combine(jacobian, weights), rule.combine(jacobian * scales, weights)
    )


def test_a_gradient_of_norm_zero_stays_zero():
    jacobian = torch.tensor([[0.0, 0.0], [0.0, 2.0]])
    assert UnitNorm().combine(jacobian, WEIGHTS).tolist() == [0, 0.75]


def test_released_gradient_balancing_divides_by_the_norm_over_all_members():
    """The gradient of Theta is the outer product of alpha and g_t, taken here directly."""
    direction = UnitNorm("released").combine(JACOBIAN, WEIGHTS)
    expected = torch.zeros(3)
    for weight, gradient in zip(WEIGHTS, JACOBIAN, strict=True):
        norm = torch.outer(WEIGHTS, gradient).norm()
        expected += weight * gradient / (norm + 1e-3)
    torch.testing.assert_close(direction, expected)


@pytest.mark.parametrize("rule", [UnitNorm(), UnitNorm("released")])
def test_batches_of_jacobians_are_combined_one_by_one(rule):
    jacobians, weights = torch.randn(7, 2, 5), torch.rand(7, 2)
    each = [rule.combine(j, w) for j, w in zip(jacobians, weights, strict=True)]
    torch.testing.assert_close(rule.combine(jacobians, weights), torch.stack(each))


@pytest.mark.parametrize("rule", [Linear(), UnitNorm(), MovingAverage()])
def test_the_direction_is_the_combined_jacobian_plus_the_penalty(rule):
    theta = torch.randn(5, dtype=torch.double, requires_grad=True)
    matrix, penalty = torch.randn(2, 5).double(), torch.tensor([0.3, -0.2]).double()
    weights, losses = WEIGHTS.double(), (matrix @ theta) + 3
    got = rule.direction(Draw(weights, weights, theta, losses, 4, penalty))
    expected = penalty @ matrix
    if isinstance(rule, UnitNorm):
        unit = matrix[:, :4] / matrix[:, :4].norm(dim=1, keepdim=True)
        expected[:4] += weights @ unit
        expected[4:] += weights @ matrix[:, 4:]
    else:
        scale = losses.detach().abs() if isinstance(rule, MovingAverage) else 1
        expected += (weights / scale) @ matrix
    torch.testing.assert_close(got, expected)


def test_a_loss_balancer_goes_on_on_the_device_of_the_losses():
    rule = MovingAverage()
    rule.load_state_dict({"past": [torch.ones(2)]})  # as read from a file: on the CPU
    there = torch.ones(2, device="meta")
    assert rule.reweigh(there, there).device == there.device


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MovingAverage(form="realeased"), "`form` must be one of paper, released"),
        (lambda: MovingAverage(0), "`history` must be a whole number >= 1. Found history=0"),
        (lambda: UnitNorm("realeased"), "`form` must be one of paper, released"),
        (lambda: MGDA(heads="plian"), "`heads` must be one of plain, balanced. Found 'plian'"),
    ],
)
def test_a_balancer_that_does_not_exist_is_refused(make, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(InputError, match=message):
        make()
