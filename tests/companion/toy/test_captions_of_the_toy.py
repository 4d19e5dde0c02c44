"""Captions of the toy problem say where the runs that are drawn ended."""

import numpy as np
import pytest

from pamal_companion.plots import style
from pamal_companion.runs.records import Record
from pamal_companion.toy import captions, figures
from pamal_companion.toy.outcomes import Outcome
from pamal_companion.toy.problem import ToyProblem, pareto_set
from pamal_companion.toy.run import ToyRun

WHOLE = pareto_set(1001)[[1000, 0]]
PART = pareto_set(1001)[[700, 500]]
ABOVE = np.array([[9.0, 9.0], [8.0, 8.0]])


def caption(figure):
    return str(figure.get_label())


def pair(ends, scale=1.0):
    """One pair of members that ends at `ends`."""
    return Outcome(ToyProblem(scale), np.stack([ABOVE, ends])[:, None])


def single(*places):
    """Runs of single networks that end at these places of the Pareto set, counted from 0 to 1."""
    ends = pareto_set(1001)[np.rint(1000 * np.array(places)).astype(int)]
    return Outcome(ToyProblem(), np.stack([ends + 1, ends])[:, :, None])


@pytest.mark.parametrize(("scale", "reason"), [(1.0, False), (0.1, True)])
def test_many_panels_say_how_much_of_the_front_each_method_reaches(scale, reason):
    beyond = np.array([[9.0, -8.4], [-9.0, -8.4]])
    panels = {
        "LS": single(0.5, 0.5),
        "MGDA": single(0.1, 0.6, 0.9),
        "PaMaL": pair(PART, scale),
        "PaMaL, gradient balancing": pair(beyond, scale),
        "PaMaL, loss balancing": pair(WHOLE, scale),
    }
    text = captions.reached(panels)
    because = ", because the larger loss decides where the members go unless it is balanced"
    assert text == (
        "PaMaL reaches 20 % of the front with no balancing, 100 % with gradient balancing and 100 "
        f"% with loss balancing{because if reason else ''}. With gradient balancing its line goes "
        "on beyond the front. Of the baselines, whose runs are single networks, MGDA spreads them "
        "the furthest, over 80 %. "
    )


def test_few_panels_have_a_sentence_each():
    panels = {"LS": single(0.5, 0.7), "PaMaL": pair(PART)}
    assert captions.panel_by_panel(panels) == (
        "LS: 2 of 2 runs end on the front. PaMaL: the subspace ends on a part of the front. "
    )
    off = captions.panel_by_panel({"PaMaL": pair(ABOVE)})
    assert off == "PaMaL: the subspace ends beside the front. "


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (
            ["exact"] * 23 + ["off"] * 2,
            "From 23 of the 25 pairs of starts the members end as the two ends of the front, and "
            "their subspace is the front. From 2 the subspace ends beside the front. ",
        ),
        (
            ["superset"] * 25,
            "From all 25 pairs of starts the subspace ends on the whole front, and goes on beyond "
            "it. ",
        ),
        (
            ["off"] + ["subset"] * 24,
            "From 24 of the 25 pairs of starts the subspace ends on a part of the front, because "
            "the gradient of the larger loss decides where the members go. From 1 the subspace "
            "ends beside the front. ",
        ),
    ],
)
def test_the_grid_of_pairs_counts_its_own_titles(verdicts, said):
    made = Outcome(ToyProblem(), np.random.default_rng(0).normal(size=(3, 25, 2, 2)))
    runs = {name: {"verdict": one} for name, one in zip(made.names, verdicts, strict=True)}
    record = Record(experiment="toy", method="all", data="toy", options={"epochs": 1}, seed=0,
        objectives={"f1": "min"}, points=[], summary={"v": {"runs": runs}}, cost={},
        versions={})  # fmt: skip
    (figure,) = figures.pairs(ToyRun(record, {"v": made}), "v")
    titles = [ax.get_title(loc="left") + ax.get_title() for ax in figure.axes]
    assert [title.partition(": ")[2] for title in titles] == verdicts
    assert caption(figure).startswith(f"{said}Dots are starts, crosses are ends. v. ")
    narrow = style.phone_figure(figure)
    assert narrow.get_size_inches()[0] == pytest.approx(style.PHONE)
    assert len({round(ax.get_position().x0, 3) for ax in narrow.axes}) == 5
