"""Rules that no other test held: each of these is red where the rule is changed."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pamal_core import Method, WeightEnsemble, fit, regression, train
from pamal_core.balancing import Linear, NashMTL
from pamal_core.balancing.nash_mtl import _bargain
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import Objective
from pamal_core.recipe import Fitted
from pamal_core.simplex import on_simplex
from pamal_core.statistics import ENOUGH_EXAMPLES

UP = (Objective("a/accuracy", True), Objective("b/accuracy", True))
TAKE_LS = "If you need one network only, take LS."


def front(*points, objectives=UP):
    table = pd.DataFrame(points, columns=[objective.name for objective in objectives], dtype=float)
    first = np.linspace(1, 0, len(points)) if len(points) > 1 else np.array([0.5])
    return Front(np.stack([first, 1 - first], 1), table, objectives)


def test_equal_points_that_nothing_dominates_are_all_kept():
    points = front((0.9, 0.1), (0.5, 0.5), (0.5, 0.5), (0.4, 0.4))
    assert points.non_dominated().tolist() == [True, True, True, False]
    assert len(points.pareto) == 3


def test_the_first_of_equal_points_is_chosen():
    assert front((0.1, 0.9), (0.5, 0.5), (0.5, 0.5), (0.9, 0.1)).choose().row == 1


@pytest.mark.parametrize(
    ("points", "ls", "is_said"),
    [
        # Better in both than the middle, and nearer to both bests than any point.
        ([(0.9, 0.3), (0.6, 0.6), (0.3, 0.9)], (0.7, 0.7), True),
        # Better than an end, but the middle is nearer to both bests.
        ([(0.9, 0.3), (0.8, 0.8), (0.3, 0.9)], (0.9, 0.4), False),
        # As good as the middle in its worst objective, and dominating it.
        ([(0.9, 0.3), (0.6, 0.6), (0.3, 0.9)], (0.6, 0.7), True),
        # Worse than no point, better than none: it dominates nothing.
        ([(0.9, 0.3), (0.7, 0.7), (0.3, 0.9)], (0.7, 0.7), False),
        # An objective that is the same everywhere counts for nothing.
        ([(0.6, 0.5), (0.7, 0.5)], (0.8, 0.5), True),
        ([(0.6, 0.5), (0.7, 0.5)], (0.65, 0.5), False),
        # The same everywhere in both, LS with them or above.
        ([(0.5, 0.5), (0.5, 0.5)], (0.5, 0.5), False),
        ([(0.5, 0.5), (0.5, 0.5)], (0.6, 0.6), True),
    ],
)
def test_ls_is_recommended_where_it_is_the_network_to_choose(points, ls, is_said):
    network = WeightEnsemble([Normed(), Normed()])
    fitted = Fitted(network, front(*points), {"LS": front(ls)}, [], 0.001)
    assert (TAKE_LS in repr(fitted)) == is_said


@pytest.mark.parametrize("num_tasks", [1, 2, 3, 5, 10, 20])
@pytest.mark.parametrize("seed", range(3))
def test_the_bargain_solves_its_equation_up_to_twenty_tasks(num_tasks, seed):
    rows = np.random.default_rng(seed).normal(size=(num_tasks, 60))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = rows @ rows.T
    b = _bargain(cosines)
    assert (b > 0).all()
    np.testing.assert_allclose(cosines @ b, 1 / b, rtol=1e-9)


def test_the_bargain_holds_where_one_gradient_lies_amid_many_others():
    """Plain steps of Newton would leave b > 0 at once, and would not come back."""
    around = np.eye(5) - 1 / 5
    around /= np.linalg.norm(around, axis=1, keepdims=True)
    rows = np.block([[np.ones((5, 1)) / 2, np.sqrt(3) / 2 * around], [1.0, np.zeros(5)]])
    direction = NashMTL().combine(torch.from_numpy(rows), torch.full((6,), 1 / 6).double())
    assert direction.norm().item() == pytest.approx(math.sqrt(6))
    assert (torch.from_numpy(rows) @ direction > 0).all()


def test_the_nearest_point_is_the_one_that_misses_by_the_least_shares():
    """The first misses by 0.5 of an extent of 1, the second by 20 of an extent of 100."""
    objectives = (Objective("a/R2", True), Objective("b/dollars", True))
    points = front((0.5, 100.0), (1.0, 80.0), (0.0, 0.0), objectives=objectives)
    with pytest.raises(InputError, match="The nearest is row 1"):
        points.choose(at_least={"a": 1.0, "b": 100.0})


def test_an_accuracy_and_a_loss_that_rise_together_compete():
    objectives = (Objective("a/accuracy", True), Objective("b/loss", False))
    points = front((0.1, 0.2), (0.5, 0.4), (0.9, 0.6), objectives=objectives)
    assert points.task_correlation() == pytest.approx(-1)


@pytest.mark.parametrize(("away", "is_taken"), [(9e-6, True), (1.1e-5, False), (-1.1e-5, False)])
def test_an_alpha_may_miss_its_sum_by_a_hundred_thousandth(away, is_taken):
    alpha = [0.5, 0.5 + away]
    if is_taken:
        assert on_simplex(alpha, 2).tolist() == alpha
        return
    with pytest.raises(InputError, match="that sum to 1"):
        on_simplex(alpha, 2)


@pytest.mark.parametrize(("entry", "is_taken"), [(-1e-10, True), (-1e-8, False)])
def test_an_entry_of_an_alpha_may_be_a_billionth_below_0(entry, is_taken):
    if is_taken:
        assert on_simplex([1 - entry, entry], 2)[1] == entry
        return
    with pytest.raises(InputError, match="finite numbers >= 0"):
        on_simplex([1 - entry, entry], 2)


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU())
        self.one, self.two = nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, x):
        features = self.body(x)
        return self.one(features), self.two(features)


@pytest.mark.parametrize(
    ("number", "kept"), [(100, 100), (ENOUGH_EXAMPLES, ENOUGH_EXAMPLES), (700, 520)]
)
def test_examples_are_kept_once_however_many_epochs_there_are(number, kept):
    x = torch.randn(number, 3)
    loader = DataLoader(TensorDataset(x, x[:, 0], x[:, 1]), 40)
    network = WeightEnsemble([Normed(), Normed()])
    train(Method(network, [regression("one"), regression("two")]), loader, epochs=3, progress=False)
    found = torch.cat([inputs for (inputs,) in network.calibration])
    torch.testing.assert_close(found, x[:kept])


@pytest.mark.filterwarnings("ignore:.*At no alpha")
def test_a_start_begins_with_a_balancer_that_remembers_nothing():
    begun = []

    class Remembering(Linear):
        draws = 0

        def reweigh(self, losses, weights):
            if not self.draws:
                begun.append(weights.tolist())
            self.draws += 1
            return weights

    x = torch.randn(40, 3)
    loader, tasks = [(x, x[:, 0], x[:, 1])], [regression("one"), regression("two")]
    options = {"epochs": 2, "start": 1, "progress": False}
    fit(Normed, tasks, loader, loader, balancer=Remembering(), **options)
    assert len(begun) == 2 and begun[0] == [0.5, 0.5]  # of the start, and of the ensemble
