"""The edges that are drawn, against a double loop and against the penalty that sums over them."""

import numpy as np
import pytest
import torch

from pamal_companion.plots.edges import edges
from pamal_core.penalties import MultiForward
from pamal_core.simplex import Dirichlet


def brute_force(alphas, kind):
    """Per task all (i, j) with alpha_it < alpha_jt; for "lex" those with no draw in between."""
    graphs = []
    for weights in alphas.T:
        pairs = {(i, j) for i, a in enumerate(weights) for j, b in enumerate(weights) if a < b}
        if kind == "lex":
            between = [(weights[i], weights[j]) for i, j in pairs]
            kept = [not any(low < w < high for w in weights) for low, high in between]
            pairs = {pair for pair, keep in zip(pairs, kept, strict=True) if keep}
        graphs.append(pairs)
    return graphs


@pytest.mark.parametrize("kind", ["lex", "full"])
@pytest.mark.parametrize("num_tasks", [2, 3, 5])
def test_the_edges_are_those_of_a_double_loop(kind, num_tasks):
    alphas = Dirichlet().sample(7, num_tasks, np.random.default_rng(0))
    found = [set(map(tuple, graph.tolist())) for graph in edges(alphas, kind)]
    assert found == brute_force(alphas, kind)
    assert all(len(graph) == (6 if kind == "lex" else 21) for graph in found)


def test_the_edges_of_two_tasks_are_each_others_turned_around():
    first, second = edges(np.array([[0.2, 0.8], [0.9, 0.1], [0.5, 0.5]]))
    assert first.tolist() == [[0, 2], [2, 1]]
    assert second.tolist() == [[1, 2], [2, 0]]


def test_draws_of_equal_weight_have_no_edge_between_them():
    alphas = np.array([[0.5, 0.2, 0.3], [0.5, 0.3, 0.2], [0.0, 0.5, 0.5]])
    first, *_ = edges(alphas, "full")
    assert first.tolist() == [[2, 0], [2, 1]]
    assert edges(alphas)[0].tolist() == [[2, 0]]
    assert [len(graph) for graph in edges(np.full((3, 2), 0.5))] == [0, 0]


def test_draws_that_differ_by_rounding_have_no_edge():
    weights = torch.tensor([[0.6, 0.4], [0.6 + 6e-8, 0.4], [0.6, 0.4 - 3e-8]])
    assert [len(graph) for graph in edges(weights.double().numpy())] == [0, 0]


@pytest.mark.parametrize("kind", ["lex", "full"])
def test_the_penalty_sums_over_the_edges_that_are_drawn_where_draws_tie(kind):
    for _ in range(20):
        weights = torch.distributions.Dirichlet(torch.ones(3)).sample((6,)).double().mul(4).round()
        losses = torch.rand(6, 3).double()
        graphs = [torch.as_tensor(graph) for graph in edges(weights.numpy(), kind)]
        rises = [losses[g[:, 1], t] - losses[g[:, 0], t] for t, g in enumerate(graphs)]
        value = sum(r.clamp_min(0).exp().mean().log() for r in rises if len(r))
        torch.testing.assert_close(MultiForward(1.0, edges=kind)(losses, weights), value)
