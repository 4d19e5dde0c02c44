"""What the page "A front from the network you have" says in words is what the records say."""

import csv

import numpy as np
import pytest
from notebook_text import ROOT, passage
from scipy.stats import ttest_ind

from pamal_companion.study.frame import measured, select

WAYS = {
    "plain": "ls",
    "plain longer": "ls epochs=15",
    "W = 1": "pamal W=1; lam=0",
    "W = 4": "pamal W=4; lam=0",
    "copies": "soup epochs=7; shared_epochs=4",
    "base": "low_rank W=1; rank={}; train_base=True",
    "annealed": "low_rank W=1; rank={}; train_base=True; p_first=10; p=0.2",
    "finished": "low_rank W=1; rank={}; epochs=15; shared_epochs=10",
}


@pytest.fixture(scope="module")
def of(runs):
    """A measure of a way by data, on test, of the three seeds that all have."""

    def found(data, way, measure="hypervolume"):
        setting = select(f"{data}/{WAYS[way].format({'multimnist': 4, 'census': 2}[data])}")
        return measured(runs, setting, measure, "test")[[0, 1, 2]].to_numpy()

    return found


def word(ours, theirs):
    test = ttest_ind(ours, theirs)  # as many seeds on either side
    return "open" if test.pvalue > 0.05 else "ahead" if test.statistic > 0 else "behind"


def test_on_multimnist_adapters_of_a_finished_network_are_open_or_behind(of):
    text = passage("from_what_you_have", "c00")
    volume = {way: of("multimnist", way) for way in WAYS}
    assert "Adapters of a finished network are behind PaMaL with four draws per step" in text
    assert "Their comparison with PaMaL with one draw is open, and so is" in text
    assert "comparison with one plain network of fifteen epochs, which has as many passes" in text
    for baseline, said in (("W = 1", "open"), ("W = 4", "behind"), ("plain longer", "open")):
        assert word(volume["finished"], volume[baseline]) == said
    assert "is trained, too, adapters are behind PaMaL with one draw. Fine-tuned copies" in text
    assert "copies are behind PaMaL with one draw as well" in text
    for way in ("base", "annealed", "copies"):
        assert word(volume[way], volume["W = 1"]) == "behind"


def test_their_front_is_short_and_that_of_copies_as_wide_as_pamals(of):
    text = passage("from_what_you_have", "c00")
    widths = {way: of("multimnist", way, "span").mean() for way in WAYS}
    assert "on a digit differ by less than half a point" in text
    assert "although their front is about as wide" in text
    assert widths["finished"] < 0.005 < 0.01 < widths["W = 1"]
    assert widths["copies"] == pytest.approx(widths["W = 1"], abs=0.005)


def test_on_census_copies_are_ahead_and_others_are_open_or_behind(of):
    text = passage("from_what_you_have", "c00")
    volume = {way: of("census", way) for way in WAYS}
    said = "ahead of every other way that we tried, by well under one point of accuracy on each"
    assert f"{said} task (less than 0.01 in hypervolume)" in text
    for way in WAYS.keys() - {"copies"}:
        assert word(volume["copies"], volume[way]) == "ahead"
        assert (volume["copies"] - volume[way]).mean() < 0.01
    assert "nearly a point" in text and of("census", "copies", "span").max() < 0.001
    assert "base are open against PaMaL with one draw, and adapters of a finished" in text
    for way, said in (("base", "open"), ("annealed", "open"), ("finished", "behind")):
        assert word(volume[way], volume["W = 1"]) == said


def test_the_numbers_of_the_large_backbone_are_those_that_were_measured():
    text = passage("from_what_you_have", "vit-end")
    with (ROOT / "benchmarks" / "vit_b_16.csv").open(encoding="utf-8") as file:
        rows = {
            row["way"]: {n: v for n, v in row.items() if n != "way"} for row in csv.DictReader(file)
        }
    step = {way: {name: float(value) for name, value in row.items()} for way, row in rows.items()}
    frozen, trained = step["rank 8, base frozen, M = 2"], step["rank 8, base trained, M = 2"]
    said = f"hold {frozen['held of ensemble']:.2f} of the numbers that two members hold, and need a"
    assert f"{said} third of their memory" in text
    assert frozen["peak of ensemble"] == pytest.approx(1 / 3, abs=0.02)
    assert f"A step takes {frozen['step of ensemble']:.2f} of their time" in text
    assert trained["peak of ensemble"] == pytest.approx(1 / 2, abs=0.02)
    assert f"half of the memory, and {trained['step of ensemble']:.2f} of the time" in text
    assert f"needs {frozen['peak']:.2f} of the plain network's memory" in text
    assert f"a step takes {frozen['step']:.2f} of its time" in text
    assert f"would hold {np.floor(4 * frozen['held']):.0f} GB" in text
