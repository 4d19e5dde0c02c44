"""What stands at the end of a notebook: the explorer of its run, and controls to train again."""

import numpy as np
import pytest
from tiny_experiment import tiny

from pamal_companion.runs.options import Options
from pamal_companion.runs.run import run

pytest.importorskip("anywidget", reason="needs the `book` extra")

from pamal_companion.widgets import Playground, explore

FIXED = {"batch_size": 50, "epochs": 1, "device": "cpu", "seed": 3}


@pytest.fixture
def playground():
    return Playground(tiny(), Options, **FIXED)


def test_a_press_trains_what_a_run_with_these_options_trains(playground):
    playground.W.value, playground.lam.value, playground.p.value = 3, 1.0, 2.0
    playground.button.click()
    expected = run(tiny(), Options.create(**FIXED, W=3, lam=1.0, p=2.0)).record.front("validation")
    (name, front), *others = playground.fronts.items()
    assert (name, others) == ("W = 3, lam = 1, p = 2", [])
    np.testing.assert_array_equal(front.values, expected.values)
    assert f"{front.task_correlation():.2f}" in playground.message.value
    assert not playground.button.disabled


def test_fronts_pile_up_and_only_as_many_as_there_are_colours_are_drawn(playground):
    for lam in range(7):
        playground.lam.value = lam
        playground.button.click()
    assert len(playground.fronts) == 7
    (ax,) = playground._drawn("mine").axes
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == [*playground.fronts][-5:] and ax.get_xlabel() and ax.get_ylabel()
    assert len({line.get_color() for line in ax.lines}) == 5
    assert len({line.get_marker() for line in ax.lines}) == 5


def test_wrong_settings_are_said_and_nothing_is_trained(playground):
    playground.W.value, playground.lam.value = 1, 2.0
    playground.button.click()
    assert playground.message.value.startswith("`W` must be at least 2 when `lam` > 0.")
    assert playground.fronts == {} and not playground.button.disabled


def test_the_explorer_of_a_run_measures_as_the_run_did():
    options = Options.create(**FIXED, W=2)
    splits = tiny().load(options)
    record, network = run(tiny(), options, splits)
    explorer = explore(tiny(), options, splits, record, network)
    front = record.front("validation")
    explorer.alpha = [1.0, 0.0]
    (corner,) = np.flatnonzero(front.alphas[:, 0] == 1)
    for name, value in explorer.measured["metrics"].items():
        assert value == pytest.approx(front.table[name].iloc[corner], abs=1e-6)
    assert len(explorer.predictions) == 8


@pytest.mark.parametrize("method", ["ls", "phn", "cosmos"])
def test_what_has_no_members_to_mix_has_no_explorer_and_says_so(method, capsys):
    options = Options.create(**FIXED, method=method)
    splits = tiny().load(options)
    assert explore(tiny(), options, splits, *run(tiny(), options, splits)) is None
    assert f"No explorer here: {method} trains no members" in capsys.readouterr().out
    record = run(tiny(), Options.create(**FIXED), splits).record
    assert explore(tiny(), Options.create(**FIXED), splits, record, None) is None
    assert "there is the record, without the weights" in capsys.readouterr().out
