"""Fronts judged against each other, by hand."""

from dataclasses import replace

import jaxtyping
import numpy as np
import pandas as pd
import pytest
from small_fronts import front, left_out, sphere, with_and_without_broken

from pamal_companion.fronts import approximate_hypervolume, compare
from pamal_core.errors import InputError


def test_a_comparison_has_each_front_judged_against_the_others():
    ours, theirs = front([[0.9, 0.3], [0.6, 0.6], [0.1, 0.1]]), front([[0.8, 0.2], [0.5, 0.8]])
    found = compare({"PaMaL": ours, "LS": theirs}, [0.0, 0.0])
    assert [*found.index] == ["PaMaL", "LS"]
    assert found["hypervolume"].tolist() == pytest.approx([0.27 + 0.18, 0.16 + 0.30])
    # (0.6, 0.6) needs 0.2 more of b to reach (0.5, 0.8); (0.8, 0.2) 0.1 of both, then (0.6, 0.6)
    assert found["additive epsilon"].tolist() == pytest.approx([0.2, 0.1])
    assert found["IGD+"].tolist() == pytest.approx([0.2 / 2, (np.hypot(0.1, 0.1) + 0.1) / 2])
    assert found["attained"].tolist() == [0.5, 0]
    same = compare({"one": ours, "other": ours})
    assert (same[["additive epsilon", "IGD+"]] == 0).all(axis=None) and (same.attained == 1).all()
    assert (same["hypervolume"] == 0).all()  # the worst of two points are their two corners
    turned = [front(-f.values, maximise=False) for f in (ours, theirs)]
    np.testing.assert_allclose(compare({"PaMaL": turned[0], "LS": turned[1]}, (0.0, 0.0)), found)
    # Of three each is judged against the other two together; what is dominated there adds nothing.
    every = {"PaMaL": ours, "LS": theirs, "worse": front([[0.1, 0.1]])}
    three = compare(every, [0.0, 0.0])
    pd.testing.assert_series_equal(three.loc["PaMaL"], found.loc["PaMaL"])
    assert three.loc["worse", "attained"] == 0
    with pytest.raises(InputError, match="the same objectives"):
        compare({"one": ours, "other": turned[1]})


@pytest.mark.parametrize(
    "reference",
    [{"b": 0.1, "a": 0.05}, {"a": 0.05, "b/accuracy": 0.1}, pd.Series({"b": 0.1, "a": 0.05})],
)
def test_the_reference_of_a_comparison_goes_by_names(reference, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # numbers are no names
    fronts = {"one": front([[0.9, 0.3], [0.6, 0.6]]), "other": front([[0.8, 0.2]])}
    found = compare(fronts, reference)
    assert found["hypervolume"].tolist() == pytest.approx([0.17 + 0.55 * 0.3, 0.75 * 0.1])
    pd.testing.assert_frame_equal(found, compare(fronts, [0.05, 0.1]))
    for wrong in ({"a": 0.05}, pd.Series([0.1, 0.05]), {"a": 0.05, "c": 0.1}):
        with pytest.raises(InputError, match="must be 2 finite numbers, one for each of a/acc"):
            compare(fronts, wrong)


def test_an_objective_without_a_reference_gets_the_worst_value_of_all():
    points = front([[0.9, 0.3], [0.6, 0.6]])
    one, other = points.objectives
    known = replace(points, objectives=(replace(one, reference=0.5), other))
    found = compare({"one": known, "other": front([[0.7, 0.2]])})
    assert found["hypervolume"].tolist() == pytest.approx([0.4 * 0.1 + 0.1 * 0.3, 0])


def test_the_points_of_a_comparison_that_are_not_finite_are_left_out():
    broken, whole, _ = with_and_without_broken()
    found = left_out(lambda: compare({"one": broken, "other": whole}))
    assert found.equals(compare({"one": whole, "other": whole}))


def test_a_comparison_in_many_objectives_does_not_wait_for_hours():
    many, few = sphere(90, 8), sphere(5, 8)
    with pytest.warns(UserWarning, match="90 points in 8 objectives is approximate"):
        found = compare({"many": many, "few": few}, np.zeros(8))
    near = approximate_hypervolume(many, np.zeros(8)), few.hypervolume(np.zeros(8))
    assert found["hypervolume"].tolist() == [*near]


@pytest.mark.parametrize(
    ("fronts", "said"),
    [
        ({}, r"needs two fronts or more\. Found \."),
        ({"one": front([[0.9, 0.1]])}, "Found one"),
        ([front([[0.9, 0.1]])] * 2, "`fronts` must be of type Mapping, such as .* Found list"),
    ],
)
def test_one_front_is_not_compared(fronts, said, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(InputError, match=said):
        compare(fronts)
