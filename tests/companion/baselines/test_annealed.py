"""Draws that move from the centre of the simplex to its corners."""

import jaxtyping
import numpy as np
import pytest

from pamal_companion.baselines.annealed import Annealed
from pamal_core import Dirichlet, train
from pamal_core.errors import InputError


@pytest.mark.parametrize(("progress", "p"), [(0.0, 8.0), (0.5, 2.0), (1.0, 0.5)])
def test_the_concentration_goes_from_first_to_last_by_equal_factors(progress, p):
    assert Annealed(8.0, end=0.5)(progress).p == pytest.approx(p)


@pytest.mark.parametrize("stratified", [True, False])
def test_each_member_may_have_a_concentration_of_its_own(stratified):
    found = Annealed((4.0, 1.0), (1.0, 1.0), stratified)(0.5)
    assert found == Dirichlet((2.0, 1.0), stratified)


def test_a_training_ends_nearer_to_the_corners_than_it_begins(make_plain_method, batch):
    seen = []
    method = make_plain_method(preference=Annealed(100.0, 0.01))
    keep = lambda training: seen.append(training.alphas.max())  # noqa: E731
    train(method, [batch] * 20, epochs=2, on_step=keep, progress=False)
    assert max(seen[:10]) < 0.7 < np.median(seen[-10:])


@pytest.mark.parametrize(
    "given", [{"p": 0.0}, {"p": float("inf")}, {"end": 0.0}, {"end": float("inf")}, {"end": []}]
)
def test_a_concentration_that_has_no_logarithm_is_refused(given, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    (name,) = given
    with pytest.raises(InputError, match=f"`{name}` must be one positive finite number"):
        Annealed(**given)


def test_a_word_for_strata_is_refused(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(InputError, match="must be of type bool"):
        Annealed(stratified="no")
