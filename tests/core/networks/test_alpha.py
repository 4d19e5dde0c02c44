"""An alpha may be numbers in order, numbers by name, or a point of a front."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from pamal_core import InputError, Method, WeightEnsemble, evaluate, regression

X = torch.randn(16, 4)
TASKS = [regression("price"), regression("rent")]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x).unbind(1)


@pytest.fixture
def network():
    network = WeightEnsemble([Net(), Net()])
    Method(network, TASKS)
    return network


NAMED = {"rent": 0.7, "price": 0.3}


@pytest.mark.parametrize(
    "alpha",
    [
        NAMED,
        pd.Series(NAMED),
        pd.Series({f"alpha/{name}": share for name, share in NAMED.items()}),
        pd.Series(NAMED).to_frame().T,
        torch.tensor([0.3, 0.7]),
        np.array([0.3, 0.7]),
    ],
)
def test_names_decide_whatever_their_order(network, alpha):
    expected, theta = network.predict(X, [0.3, 0.7]), network.theta(alpha)
    for ours, theirs in zip(network.predict(X, alpha), expected, strict=True):
        assert torch.equal(ours, theirs)
    assert theta.keys() == network.theta([0.3, 0.7]).keys()
    front = evaluate(network, TASKS, [(X, *torch.randn(2, 16))], alpha, progress=False)
    np.testing.assert_allclose(front.alphas, [[0.3, 0.7]], rtol=1e-6)


def test_the_rows_of_a_frame_are_alphas_again_in_any_order_of_its_columns(network):
    batches = [(X, *torch.randn(2, 16))]
    front = evaluate(network, TASKS, batches, progress=False)
    frame = front.to_frame()[["alpha/rent", "alpha/price"]]
    again = evaluate(network, TASKS, batches, frame, progress=False)
    np.testing.assert_array_equal(again.alphas, front.alphas)
    assert again.table.equals(front.table)
    point = front[3]
    for alpha in (point, frame.iloc[3]):
        for ours, theirs in zip(network.predict(X, alpha), network.predict(X, point.alpha)):  # noqa: B905
            assert torch.equal(ours, theirs)


def test_a_task_without_a_share_has_none(network):
    assert network.alpha_array({"rent": 1}).tolist() == [0.0, 1.0]


def test_several_points_are_no_alpha_of_one_network(network):
    points, several = [[0.3, 0.7], [1.0, 0.0]], r"must be one point, of 2 numbers. Found \[2, 2\]"
    front = evaluate(network, TASKS, [(X, *torch.randn(2, 16))], points, progress=False)
    for alphas in (points, torch.tensor(points), front.to_frame()[["alpha/price", "alpha/rent"]]):
        for use in (network.theta, network.export, lambda alpha: network.predict(X, alpha)):
            with pytest.raises(InputError, match=several):
                use(alphas)


def test_a_row_of_one_alpha_is_that_alpha(network):
    for ours, theirs in zip(network.predict(X, [[0.3, 0.7]]), network.predict(X, [0.3, 0.7])):  # noqa: B905
        assert torch.equal(ours, theirs)


def test_members_that_are_no_tasks_are_numbered():
    network = WeightEnsemble([Net(), Net(), Net()], task_weights=[[1, 0], [0.5, 0.5], [0, 1]])
    Method(network, TASKS)
    alpha = pd.Series({"alpha_3": 0.5, "alpha_1": 0.2, "alpha_2": 0.3})
    assert network.alpha_array(alpha).tolist() == [0.2, 0.3, 0.5]
    front = evaluate(network, TASKS, [(X, *torch.randn(2, 16))], progress=False)
    names = ["alpha_3", "alpha_2", "alpha_1"]
    np.testing.assert_array_equal(network.alpha_array(front.to_frame()[names]), front.alphas)
    with pytest.raises(InputError, match=r"one of alpha_1, alpha_2, alpha_3\. Found 'price'"):
        network.theta({"price": 1.0})


def test_a_task_that_no_member_is_trained_on_has_no_share():
    class Three(Net):
        def forward(self, x):
            price, rent = super().forward(x)
            return price, price * rent, rent

    weights = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    network = WeightEnsemble([Three(), Three()], task_weights=weights)
    tasks = [TASKS[0], regression("unused"), TASKS[1]]
    Method(network, tasks)
    front = evaluate(network, tasks, [(X, *torch.randn(3, 16))], progress=False)
    assert [f"alpha/{name}" for name in network.alpha_names] == front.alpha_names
    frame = front.to_frame()[front.alpha_names[::-1]]
    np.testing.assert_array_equal(network.alpha_array(frame), front.alphas)
    with pytest.raises(InputError, match=r"one of price, rent\. Found 'unused'"):
        network.theta({"unused": 1.0})


@pytest.mark.parametrize("wrong", [{"cost": 1.0}, {"price": 0.7}, {}, pd.Series([0.3, 0.7])])
def test_a_wrong_name_or_sum_is_refused(network, wrong):
    with pytest.raises(InputError, match=r"`(name in )?alpha` must"):
        network.predict(X, wrong)
