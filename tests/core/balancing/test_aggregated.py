"""TorchJD's aggregators as balancers, against themselves and against ours."""

import jaxtyping
import numpy as np
import pytest
import torch
from jacobians import well_conditioned
from scipy.optimize import nnls
from small_problems import slopes_of

from pamal_core.balancing import IMTL, MGDA, Aggregated, Linear
from pamal_core.errors import InputError
from pamal_core.penalties import MultiForward

torchjd = pytest.importorskip("torchjd.aggregation", reason="is an oracle of the `test` extra")
linalg = pytest.importorskip("torchjd.linalg", reason="is an oracle of the `test` extra")

WEIGHTS = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)


class Projector(linalg.DualConeProjector):
    """v >= u with the least v'Gv, by non-negative least squares: TorchJD's own needs quadprog."""

    def __call__(self, U, G):
        values, vectors = np.linalg.eigh(G.numpy())
        root = np.sqrt(values.clip(0))[:, None] * vectors.T
        rows = U.reshape(-1, len(G)).numpy()
        found = [u + nnls(root, -root @ u)[0] for u in rows]
        return torch.from_numpy(np.stack(found)).reshape(U.shape)


def with_preference(kind, weights=None):
    own = {"projector": Projector()} if kind in (torchjd.UPGrad, torchjd.DualProj) else {}
    return kind(pref_vector=weights, **own)


@pytest.mark.parametrize(
    "kind", [torchjd.UPGrad, torchjd.DualProj, torchjd.AlignedMTL, torchjd.ConFIG]
)
def test_the_weights_of_a_draw_are_the_preference_of_an_aggregator(kind):
    rule = Aggregated(with_preference(kind))
    for jacobian in well_conditioned(3):
        for weights in (WEIGHTS, WEIGHTS.flip(0), torch.eye(3).double()[0]):
            expected = with_preference(kind, weights)(jacobian)
            torch.testing.assert_close(rule.combine(jacobian, weights), expected)


@pytest.mark.parametrize("make", [torchjd.PCGrad, torchjd.IMTLG, torchjd.MGDA, torchjd.Sum])
def test_any_other_aggregator_is_given_weighted_rows(make):
    rule = Aggregated(make())
    for seed, jacobian in enumerate(well_conditioned(3)):
        torch.manual_seed(seed)
        expected = make()(torch.diag(WEIGHTS) @ jacobian)
        torch.manual_seed(seed)
        torch.testing.assert_close(rule.combine(jacobian, WEIGHTS), expected)


def test_it_agrees_with_our_mgda_and_imtl_on_weighted_rows():
    mgda = Aggregated(torchjd.MGDA(epsilon=1e-12, max_iters=10_000))
    for jacobian in well_conditioned(2):
        weights = WEIGHTS[1:]
        rows = weights[:, None] * jacobian
        got = mgda.combine(jacobian, weights)
        torch.testing.assert_close(got, MGDA().combine(rows, weights), rtol=1e-5, atol=1e-6)
        got = Aggregated(torchjd.IMTLG()).combine(jacobian, weights)
        torch.testing.assert_close(got, IMTL().combine(rows, weights))


def test_the_sum_is_linear_scalarisation_in_a_whole_step(make_plain_method, batch, monkeypatch):
    """Heads, penalty and members included; an aggregator may be given as it is."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    found = []
    for rule in (Linear(), Aggregated(torchjd.Sum()), torchjd.Sum()):
        method = make_plain_method(balancer=rule, penalty=MultiForward(1.0), window=2)
        method.step(batch, [[0.2, 0.8], [0.7, 0.3]])
        found.append(slopes_of(method.network))
    torch.testing.assert_close(*found[:2])
    assert torch.equal(*found[1:])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (torchjd.AlignedMTL(pref_vector=WEIGHTS), "that of each draw, .* Found AlignedMTL"),
        (torchjd.GradVac(), "no memory between steps. Found GradVac"),
    ],
)
def test_what_cannot_balance_a_draw_is_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        Aggregated(wrong)
