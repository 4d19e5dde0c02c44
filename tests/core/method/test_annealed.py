"""A preference that the training loop tells how far it is."""

import copy

import jaxtyping
import pytest

from pamal_core import Dirichlet, train
from pamal_core.errors import InputError
from pamal_core.simplex import Annealed


@pytest.mark.parametrize(("progress", "p"), [(0.0, 8.0), (0.5, 2.0), (1.0, 0.5)])
def test_the_concentration_goes_from_first_to_last_by_equal_factors(progress, p):
    assert Annealed(8.0, end=0.5).at(progress).p == pytest.approx(p)


@pytest.mark.parametrize("stratified", [True, False])
def test_each_member_may_have_a_concentration_of_its_own(stratified):
    found = Annealed((4.0, 1.0), stratified, end=(1.0, 1.0)).at(0.5)
    assert found == Dirichlet((2.0, 1.0), stratified)


def test_a_plain_preference_is_the_same_all_along():
    assert Dirichlet(0.3).at(0.2) == Dirichlet(0.3)


def steps(make_plain_method, monkeypatch, loader, epochs, resume=None):
    """The progress that the loop told in each step, and its states after each epoch."""
    told, states = [], []
    monkeypatch.setattr(Annealed, "at", lambda self, s: told.append(s) or Dirichlet(1.0))
    method = make_plain_method(preference=Annealed())
    keep = lambda training: states.append(copy.deepcopy(training.state_dict()))  # noqa: E731
    train(method, loader, epochs=epochs, on_epoch=keep, resume=resume, progress=False)
    return told, states


def test_the_loop_tells_the_share_of_its_steps(make_plain_method, monkeypatch, batch):
    told, states = steps(make_plain_method, monkeypatch, [batch] * 4, 2)
    assert told == pytest.approx([k / 8 for k in range(8)])
    told, _ = steps(make_plain_method, monkeypatch, [batch] * 4, 2, states[0])
    assert told == pytest.approx([k / 8 for k in range(4, 8)])


def test_without_a_length_of_the_loader_it_tells_the_share_of_the_epochs(
    make_plain_method, monkeypatch, batch
):
    class Stream:
        def __iter__(self):
            return iter([batch] * 3)

    told, _ = steps(make_plain_method, monkeypatch, Stream(), 2)
    assert told == [0, 0, 0, 0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    "given", [{"p": 0.0}, {"p": float("inf")}, {"end": 0.0}, {"end": float("inf")}, {"end": []}]
)
def test_a_concentration_that_has_no_logarithm_is_refused(given, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(InputError, match="must be one positive finite number"):
        Annealed(**given)
