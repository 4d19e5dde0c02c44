from pathlib import Path

import numpy as np
import pytest

from pamal_companion.data import multimnist
from pamal_companion.experiments.multimnist3 import EXPERIMENT, POSITIONS, MultiMNIST3Options
from pamal_companion.runs.records import Record

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results" / "multimnist3"


def test_the_tasks_are_named_by_where_their_digits_lie():
    assert [task.name for task in EXPERIMENT.tasks] == list(POSITIONS)
    corners = multimnist.LAYOUTS[3, 14].corners
    for name, (row, column) in zip(POSITIONS, corners, strict=True):
        assert ("top" in name) == (row == 0) and ("bottom" in name) == (row == 14)
        assert ("left" in name) == (column == 0) and ("right" in name) == (column == 14)


def test_the_network_has_a_head_for_each_digit():
    network = EXPERIMENT.make_network(None, None, 0)
    assert sum(p.numel() for p in network.parameters()) == 21_330 + 3 * 3_060


def test_smoothing_is_other_data_with_the_same_digits():
    plain, smooth = (
        EXPERIMENT.load(MultiMNIST3Options.create(data="sample", antialias=a))
        for a in (False, True)
    )
    assert plain.id != smooth.id
    images, *labels = smooth.test.tensors
    assert all((a == b).all() for a, b in zip(labels, plain.test.tensors[1:], strict=True))
    # What was smoothed has less contrast, and the same brightness.
    assert images.var() < 0.95 * plain.test.tensors[0].var()
    assert images.mean().item() == pytest.approx(plain.test.tensors[0].mean().item(), rel=0.01)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_the_notebook_says_of_the_front_is_so_with_every_seed(seed):
    front = Record.read(RESULTS / f"pamal_seed_{seed}.json").front("validation")
    steps = (10 * front.alphas).round().astype(int).tolist()
    values = dict(zip(map(tuple, steps), front.values, strict=True))
    corners = [(10, 0, 0), (0, 10, 0), (0, 0, 10)]
    for k, corner in enumerate(corners):
        for j in {0, 1, 2} - {k}:
            away = tuple(9 if i == k else int(i == j) for i in range(3))
            assert (values[away] > values[corner]).all()
    kept = np.array(steps)[front.non_dominated()]
    assert (10 - kept.max(1)).min() >= 2
    best = [steps[i] for i in front.values.argmax(0)]
    assert not {*map(tuple, best)} & {*corners}
    if seed == 0:
        beaten = [
            sum((front.values >= v).all(1) & (front.values > v).any(1))
            for v in (values[corner] for corner in corners)
        ]
        assert beaten == [25, 10, 55]
