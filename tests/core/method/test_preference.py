"""A preference that follows from the share of the training that is done."""

import copy

import jaxtyping
import numpy as np
import pytest

from pamal_core import Dirichlet, train
from pamal_core.errors import InputError


class Told:
    """A preference that keeps what it is told."""

    def __init__(self):
        self.shares = []

    def __call__(self, progress):
        self.shares.append(progress)
        return Dirichlet(1.0)


@pytest.fixture
def told():
    return Told()


def test_the_loop_tells_the_share_of_its_steps(make_plain_method, batch, told):
    train(make_plain_method(preference=told), [batch] * 4, epochs=2, progress=False)
    assert told.shares == pytest.approx([k / 8 for k in range(8)])


def test_a_training_that_goes_on_tells_the_share_of_all_steps(make_plain_method, batch, told):
    states, given = [], {"epochs": 2, "progress": False}
    keep = lambda training: states.append(copy.deepcopy(training.state_dict()))  # noqa: E731
    train(make_plain_method(preference=told), [batch] * 4, on_epoch=keep, **given)
    told.shares.clear()
    train(make_plain_method(preference=told), [batch] * 4, resume=states[0], **given)
    assert told.shares == pytest.approx([k / 8 for k in range(4, 8)])


def test_without_a_length_of_the_loader_it_tells_the_share_of_the_epochs(
    make_plain_method, batch, told
):
    class Stream:
        def __iter__(self):
            return iter([batch] * 3)

    train(make_plain_method(preference=told), Stream(), epochs=2, progress=False)
    assert told.shares == [0, 0, 0, 0.5, 0.5, 0.5]


def test_the_draws_are_those_of_the_distribution_of_the_moment(make_plain_method):
    by_progress = {0.2: Dirichlet(5.0), 1.0: Dirichlet(0.1)}
    method = make_plain_method(preference=by_progress.__getitem__)
    for progress, preference in by_progress.items():
        found = method.draw(np.random.default_rng(0), progress)
        expected = preference.sample(method.window, 2, np.random.default_rng(0))
        np.testing.assert_array_equal(found, expected)
    # A step of one's own loop is at the end, unless it is given its draws.
    plain = make_plain_method(preference=Dirichlet(0.1))
    rngs = np.random.default_rng(3), np.random.default_rng(3)
    np.testing.assert_array_equal(method.draw(rngs[0]), plain.draw(rngs[1]))


@pytest.mark.parametrize("wrong", [Dirichlet, 2.0, "uniform"])
def test_a_class_or_a_value_is_no_preference(make_plain_method, wrong, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(InputError, match="`preference` must be of type Dirichlet"):
        make_plain_method(preference=wrong)
