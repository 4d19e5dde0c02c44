import math
from itertools import pairwise

import jaxtyping
import pytest
import torch

from pamal_core.errors import InputError
from pamal_core.penalties import MultiForward, Penalty


def double_loop(losses, weights, sign, edges):
    """Eq. 3 with nothing but loops: the oracle."""
    num_draws, num_tasks = losses.shape
    total = 0.0
    for t in range(num_tasks):
        order = sorted(range(num_draws), key=lambda w: weights[w, t].item())
        pairs = [(i, j) for a, i in enumerate(order) for j in order[a + 1 :]]
        if edges == "lex":
            pairs = list(pairwise(order))
        pairs = [(i, j) for i, j in pairs if weights[i, t] < weights[j, t]]
        if pairs:
            rise = [(losses[j, t] - losses[i, t]).item() for i, j in pairs]
            rise = rise if sign == "ordered" else [-r for r in rise]
            total += math.log(sum(math.exp(max(r, 0)) for r in rise) / len(pairs))
    return total


@pytest.mark.parametrize("sign", ["ordered", "printed"])
@pytest.mark.parametrize("edges", ["lex", "full"])
@pytest.mark.parametrize("num_tasks", [2, 3, 5])
def test_the_penalty_equals_a_double_loop_over_edges(sign, edges, num_tasks):
    for _ in range(20):
        weights = torch.distributions.Dirichlet(torch.ones(num_tasks)).sample((6,)).double()
        losses = torch.rand(6, num_tasks).double()
        value = MultiForward(1.0, sign, edges)(losses, weights).item()
        assert value == pytest.approx(double_loop(losses, weights, sign, edges), abs=1e-12)


@pytest.mark.parametrize("edges", ["lex", "full"])
def test_the_penalty_equals_a_double_loop_where_draws_tie(edges):
    for _ in range(20):
        weights = torch.distributions.Dirichlet(torch.ones(3)).sample((6,)).double().mul(4).round()
        losses = torch.rand(6, 3).double()
        value = MultiForward(1.0, edges=edges)(losses, weights).item()
        assert value == pytest.approx(double_loop(losses, weights, "ordered", edges), abs=1e-12)


def ordered_front():
    first = torch.linspace(0, 1, 5)
    weights = torch.stack([first, 1 - first], dim=1)
    return 1 - 0.5 * weights, weights


def test_an_ordered_front_costs_nothing_and_a_reversed_one_does():
    losses, weights = ordered_front()
    assert MultiForward(1.0)(losses, weights) == 0
    assert MultiForward(1.0)(losses.flip(0), weights) == pytest.approx(2 * 0.125)


def test_the_printed_sign_penalises_the_ordered_front():
    losses, weights = ordered_front()
    printed = MultiForward(1.0, "printed")
    assert printed(losses, weights) == pytest.approx(2 * 0.125)
    assert printed(losses.flip(0), weights) == 0


def test_the_lexicographic_graph_has_one_edge_less_than_draws():
    losses, weights = torch.zeros(4, 2), ordered_front()[1][:4]
    losses[-1, 0] = 1.0  # the draw that cares most about the first task is worst on it
    lex, full = (MultiForward(1.0, edges=edges)(losses, weights) for edges in ("lex", "full"))
    assert lex == pytest.approx(math.log((2 + math.e) / 3))
    assert full == pytest.approx(math.log((3 + 3 * math.e) / 6))


def test_batches_of_draws_are_penalised_one_by_one():
    weights = torch.distributions.Dirichlet(torch.ones(3)).sample((7, 5))
    losses, rule = torch.rand(7, 5, 3), MultiForward(1.0)
    each = torch.stack([rule(l, w) for l, w in zip(losses, weights, strict=True)])  # noqa: E741
    torch.testing.assert_close(rule(losses, weights), each)


def test_the_task_weights_are_the_slope_of_the_penalty():
    weights = torch.distributions.Dirichlet(torch.ones(3)).sample((4,)).double()
    losses, rule, step = torch.rand(4, 3).double(), MultiForward(2.5), 1e-6
    slopes = torch.zeros_like(losses)
    for index in range(losses.numel()):
        shift = torch.zeros(losses.numel()).double()
        shift[index] = step
        up, down = (rule(losses + s * shift.view(4, 3), weights) for s in (1, -1))
        slopes.view(-1)[index] = 2.5 * (up - down) / (2 * step)
    torch.testing.assert_close(rule.slopes(losses, weights), slopes, atol=1e-8, rtol=1e-6)


def test_the_release_skips_a_penalty_above_the_total_loss():
    losses, weights = ordered_front()
    losses = losses.flip(0)
    small, large = (MultiForward(lam, skip="as_released") for lam in (0.1, 100.0))
    assert small.slopes(losses, weights).abs().sum() > 0
    assert large.slopes(losses, weights).abs().sum() == 0
    assert MultiForward(100.0).slopes(losses, weights).abs().sum() > 0


@pytest.mark.parametrize("lam", [-1.0, math.nan, math.inf])
def test_a_wrong_strength_is_refused(lam):
    with pytest.raises(InputError, match="Found lam="):
        MultiForward(lam)


def test_a_violation_that_e_cannot_be_raised_to_has_its_value_and_slope():
    weights = torch.tensor([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    losses = torch.tensor([[100.0, 3.0], [0.0, 2.0], [200.0, 1.0]], requires_grad=True)
    value = MultiForward(1.0)(losses, weights)
    assert value.item() == pytest.approx(200 - math.log(2) + 1, rel=1e-6)
    value.backward()
    torch.testing.assert_close(losses.grad[:, 0], torch.tensor([0.0, -1.0, 1.0]))
    moderate = torch.tensor([[90.0, 3.0], [0.0, 2.0], [60.0, 1.0]]).double()
    exact = double_loop(moderate, weights, "ordered", "lex")
    assert MultiForward(1.0)(moderate, weights).item() == pytest.approx(exact, rel=1e-12)


def test_draws_that_care_alike_but_for_rounding_have_no_edge():
    weights = torch.tensor([[0.6, 0.4], [0.6 + 6e-8, 0.4], [0.6, 0.4 - 3e-8]])
    losses = torch.tensor([[0.0, 1e4], [1.0, 0.0], [2.0, 5.0]], requires_grad=True)
    value = MultiForward(1.0)(losses, weights)
    value.backward()
    assert value.item() == 0 and (losses.grad == 0).all()


@pytest.mark.parametrize("wrong", [{"sign": "orderd"}, {"edges": "lexx"}, {"skip": True}])
def test_a_misspelt_choice_is_refused(wrong, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    (name,) = wrong
    with pytest.raises(InputError, match=f"`{name}` must be one of .* Found {wrong[name]!r}"):
        MultiForward(1.0, **wrong)


SLOPES = {
    "None": (lambda losses: None, "NoneType"),
    "a list": (list, "a list of Tensor, Tensor, Tensor"),
    "one number": (lambda losses: losses.sum(), r"one tensor \[\]"),
    "one for a draw": (lambda losses: losses.sum(1), r"one tensor \[3\]"),
    "one for a task": (lambda losses: losses.sum(0), r"one tensor \[2\]"),
    "those of one draw": (lambda losses: losses[:1], r"one tensor \[1, 2\]"),
    "a column": (lambda losses: losses[:, :1], r"one tensor \[3, 1\]"),
    "tasks by draws": (lambda losses: losses.T, r"one tensor \[2, 3\]"),
    "an array": (lambda losses: losses.numpy(), r"one array \[3, 2\]"),
}


@pytest.mark.parametrize(("slopes", "found"), SLOPES.values(), ids=SLOPES)
def test_slopes_of_ones_own_penalty_are_a_number_a_draw_and_task(
    make_plain_method, batch, slopes, found, monkeypatch
):
    """torch would add a number for a draw to each task, without an error."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it

    class Own(Penalty):
        def slopes(self, losses, weights):
            return slopes(losses)

    method = make_plain_method(penalty=Own(), window=3)
    expected = r"Own.slopes` must return a slope for each draw and task, a tensor \[3, 2\]. "
    with pytest.raises(InputError, match=f"{expected}Found {found}"):
        method.step(batch, torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]))
    assert all(parameter.grad is None for parameter in method.parameters())
