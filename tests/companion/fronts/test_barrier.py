"""How far the middle between networks is worse than the line between them."""

import numpy as np
import pandas as pd
import pytest
import torch
from small_problems import SharedBottom, batches
from torch import nn

from pamal_companion.fronts import barrier
from pamal_core import Front, Method, WeightEnsemble, classification, evaluate, regression, train
from pamal_core.errors import InputError
from pamal_core.objectives import Objective


def front(alphas, accuracy, loss):
    table = pd.DataFrame({"a/accuracy": accuracy, "b/loss": loss})
    objectives = Objective("a/accuracy", True), Objective("b/loss", False)
    return Front(np.array(alphas), table, objectives)


PAIR = [[1, 0], [0.5, 0.5], [0, 1]]


def test_a_barrier_is_how_far_the_middle_is_worse_than_the_line():
    found = barrier(front(PAIR, [0.9, 0.8, 0.8], [0.5, 0.45, 0.3]))
    assert found == pytest.approx({"a/accuracy": 0.05, "b/loss": 0.05})
    better = barrier(front(PAIR, [0.9, 0.95, 0.8], [0.5, 0.1, 0.3]))
    assert better == pytest.approx({"a/accuracy": -0.1, "b/loss": -0.3})


def test_of_three_members_the_line_is_a_plane_at_the_alpha_in_the_middle():
    alphas = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.4, 0.3, 0.3], [0.5, 0.5, 0]]
    found = barrier(front(alphas, [0.9, 0.6, 0.6, 0.7, 0.1], [0.1, 0.2, 0.3, 0.2, 9.0]))
    assert found == pytest.approx({"a/accuracy": 0.02, "b/loss": 0.2 - 0.19})


@pytest.mark.parametrize("middle", [(0.1, 0.4), (0.85, 2.0), (0.1, 2.0)])
def test_members_that_do_not_belong_together_are_named_in_one_sentence(middle):
    wrong = [f"{name} is {value} in the middle" for name, value, is_wrong in (
        ("a/accuracy", middle[0], middle[0] < 0.5), ("b/loss", f"{middle[1]:.3g}", middle[1] > 1)
    ) if is_wrong]  # fmt: skip
    with pytest.warns(UserWarning, match="The members do not belong together") as found:
        barrier(front(PAIR, [0.9, middle[0], 0.8], [0.5, middle[1], 0.3]))
    text = str(found[0].message)
    assert text.count(" in the middle") == len(wrong) and all(one in text for one in wrong)


def test_networks_that_started_apart_fall_to_chance_and_copies_do_not():
    datasets = pytest.importorskip("sklearn.datasets", reason="needs the `companion` extra")
    digits = datasets.load_digits()
    x = torch.as_tensor(digits.data, dtype=torch.float32) / 16
    y = torch.as_tensor(digits.target)
    task = [classification("digit")]

    def net():
        layers = nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()
        return SharedBottom(nn.Sequential(*layers), [nn.Linear(64, 10)])

    def trained(model, seed, epochs):
        torch.manual_seed(seed)
        network, data = WeightEnsemble([model]), batches((x, y), 128, shuffle=True)
        train(Method(network, task), data, epochs=epochs, lr=1e-2, progress=False)
        return network.export([1.0])

    start = trained(net(), 0, 4)
    related = [trained(start, seed, 3) for seed in (1, 2)]
    apart = [trained(net(), seed, 7) for seed in (3, 4)]
    rows = [[1.0], [1.0]]
    fronts = [
        evaluate(WeightEnsemble(pair, task_weights=rows), task, [(x, y)])
        for pair in (related, apart)
    ]
    assert barrier(fronts[0])["digit/accuracy"] < 0.02
    with pytest.warns(UserWarning, match="digit/accuracy is 0"):
        assert barrier(fronts[1])["digit/accuracy"] > 0.2


@pytest.mark.parametrize("alphas", [[[1, 0], [0.5, 0.5]], [[1, 0], [0, 1]], [[1.0], [1.0]]])
def test_a_barrier_needs_both_ends_and_a_point_between_them(alphas):
    values = [0.5] * len(alphas)
    with pytest.raises(InputError, match="every corner of the simplex and a point between"):
        barrier(front(alphas, values, values))


def test_a_barrier_needs_a_point_that_is_finite():
    with pytest.raises(InputError, match="a/accuracy, b/loss are finite"):
        barrier(front(PAIR, [np.nan] * 3, [0.1] * 3))


def test_networks_after_a_warm_start_have_no_barrier():
    """All points are one network before training, and near it after one epoch."""
    x = torch.randn(200, 4)
    data = batches((x, x[:, 0], (x[:, 1] > 0).long()), 50)
    encoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
    model = SharedBottom(encoder, [nn.Linear(16, 1), nn.Linear(16, 2)])
    tasks = [regression("price"), classification("sold")]
    network = WeightEnsemble(model, num_members=2)
    assert max(barrier(evaluate(network, tasks, data)).values()) == pytest.approx(0, abs=1e-6)
    train(Method(network, tasks), data, epochs=1, lr=1e-2, progress=False)
    assert max(barrier(evaluate(network, tasks, data)).values()) < 0.05
