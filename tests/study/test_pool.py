"""Several runs are one front: all their points, and their cost added up."""

import numpy as np
import pytest
from made_up import front_of, record, runs_of, staircase

from pamal_core.study.frame import Setting, select
from pamal_core.study.pool import Group, groups, union


def test_a_union_has_all_points_in_their_order():
    one, two = front_of([(1, 2), (0, 3)]), front_of([(2, 1)])
    found = union([one, two])
    assert found.values.tolist() == [[1, 2], [0, 3], [2, 1]]
    assert found.objectives == one.objectives and len(found.alphas) == 3


def test_three_corners_together_have_the_area_under_their_staircase():
    corners = [(0.9, 0.5), (0.5, 0.9), (0.4, 0.4)]
    group = Group([record("multimnist/ls", [point], seed=s) for s, point in enumerate(corners)])
    expected = 0.9 * 0.5 + 0.5 * 0.9 - 0.5 * 0.5
    assert group.hypervolume("test") == pytest.approx(expected) == staircase(corners)


def test_a_union_is_at_least_as_large_as_each_of_its_runs(runs):
    for setting in (select("multimnist/ls"), select("census/pamal")):
        every = [*runs[setting].values()]
        volume = Group(every).hypervolume("test")
        points = np.concatenate([one.front("test").values for one in every])
        assert volume == pytest.approx(staircase(points), abs=1e-12)
        assert volume >= max(Group([one]).hypervolume("test") for one in every)


def test_costs_are_added_up():
    group = Group([record("multimnist/ls", epochs=40), record(), record("multimnist/ls")])
    assert group.passes == 40 + 40 + 10 and group.minutes == 3
    unknown = record()
    unknown.cost["train_seconds"] = None
    assert Group([unknown]).minutes == 0


def test_only_seeds_that_every_setting_has_are_grouped():
    two = [Setting("multimnist", "ls"), select("multimnist/ls weights=[0.9, 0.1]")]
    made = [record("multimnist/ls", [(0.5, 0.5)], seed=s) for s in (3, 5, 7)]
    made += [record("multimnist/ls", [(0.9, 0.1)], seed=s, weights=[0.9, 0.1]) for s in (7, 5)]
    found = groups(runs_of(*made), two)
    assert [*found] == [5, 7] and all(len(group.records) == 2 for group in found.values())
    assert found[5].front().values.tolist() == [[0.5, 0.5], [0.9, 0.1]]
    assert groups({}, two) == {}
