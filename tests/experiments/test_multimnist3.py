from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

from pamal_core.data import multimnist
from pamal_core.experiments.multimnist3 import EXPERIMENT, MultiMNIST3Options
from pamal_core.front import Front, Objective
from pamal_core.runs.records import Record
from pamal_core.study import multimnist3_tables, tables

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "multimnist3"
OBJECTIVES = [f"{position}/accuracy" for position in multimnist3_tables.POSITIONS]


def record(method="pamal", data="multimnist3/full/x", best=(0.97, 0.96, 0.965), **options):
    trained = dict(list(zip(OBJECTIVES, best, strict=False)))
    return Record(
        experiment="multimnist3",
        method=method,
        options=options,
        seed=0,
        data=data,
        objectives=dict.fromkeys(trained, "max"),
        points=[],
        summary={"test": {"best": trained}},
        cost={},
        versions={},
    )


def test_the_tasks_are_named_by_where_their_digits_lie():
    assert [task.name for task in EXPERIMENT.tasks] == list(multimnist3_tables.POSITIONS)
    corners = multimnist.LAYOUTS[3, 14].corners
    for name, (row, column) in zip(multimnist3_tables.POSITIONS, corners, strict=True):
        assert ("top" in name) == (row == 0) and ("bottom" in name) == (row == 14)
        assert ("left" in name) == (column == 0) and ("right" in name) == (column == 14)


def test_the_defaults_are_the_setting_of_the_papers_table():
    options = MultiMNIST3Options.create()
    found = (options.method, options.W, options.lam, options.p, options.balancing)
    assert found == ("pamal", 1, 0.0, 1.0, "none")
    assert EXPERIMENT.defaults["full"]["epochs"] == 20


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


def test_a_run_at_the_papers_setting_is_set_beside_its_row_in_per_cent():
    found = multimnist3_tables.beside_the_paper(record(W=1, lam=0.0, balancing="none"))
    np.testing.assert_allclose(found["measured"], [97, 96, 96.5])
    np.testing.assert_allclose(found["paper, mean of 3"], [96.85, 95.72, 96.27])
    np.testing.assert_allclose(found["paper, std"], [0.43, 0.22, 0.32])
    np.testing.assert_allclose(found["difference"], [0.15, 0.28, 0.23])


@pytest.mark.parametrize(("method", "first"), [("ls", 96.26), ("nash_mtl", 96.85), ("rlw", 96.06)])
def test_a_baseline_is_set_beside_its_own_row(method, first):
    assert multimnist3_tables.beside_the_paper(record(method))["paper, mean of 3"].iloc[0] == first


def test_every_row_of_the_paper_that_a_method_here_has_is_found():
    rows = multimnist3_tables.table("multimnist3").set_index("method")
    here = {m: name for m, name in multimnist3_tables.PRINTED.items() if name in rows.index}
    assert set(here.values()) == set(rows.index)
    for method, printed in here.items():
        found = multimnist3_tables.beside_the_paper(record(method))
        expected = rows.loc[printed, ["accuracy_1", "accuracy_2", "accuracy_3"]]
        np.testing.assert_array_equal(found["paper, mean of 3"], expected)


@pytest.mark.parametrize(
    "other",
    [
        record(data="multimnist3/sample/x"),
        record(lam=2.0, W=3),
        record(balancing="gradient"),
        record("dwa"),
    ],
    ids=["sample", "penalty", "balancing", "no row"],
)
def test_what_the_paper_does_not_have_is_set_beside_nothing(other):
    found = multimnist3_tables.beside_the_paper(other)
    assert found["measured"].notna().all()
    assert found.drop(columns="measured").isna().all(axis=None)


def test_a_task_that_was_not_trained_has_no_measured_accuracy():
    found = multimnist3_tables.beside_the_paper(record("stl", best=[0.97]))
    assert found["measured"].notna().tolist() == [True, False, False]
    assert found["paper, mean of 3"].notna().all()


def test_the_landmarks_are_the_members_the_centre_and_the_best_of_each_objective():
    alphas = np.array([[1, 0], [0.6, 0.4], [0.2, 0.8], [0, 1.0]])
    values = pd.DataFrame(
        {"a/accuracy": [0.7, 0.9, 0.8, 0.1], "a/loss": 0, "b/error": [4.0, 2.0, 1.0, 3.0]}
    )
    objectives = (Objective("a/accuracy", True), Objective("b/error", False))
    found = tables.landmarks(Front(alphas, values, objectives))
    assert found["alpha_1"].to_dict() == {
        "member 1": 1,
        "member 2": 0,
        "centre": 0.6,
        "best accuracy on a": 0.6,
        "best error on b": 0.2,
    }
    columns = ["alpha_1", "alpha_2", "a/accuracy", "b/error", "non_dominated"]
    assert list(found) == columns
    assert found["non_dominated"].tolist() == [False, False, True, True, True]


def test_a_single_network_is_member_centre_and_best_at_once():
    front = Front(
        np.ones((1, 1)), pd.DataFrame({"a/accuracy": [0.5]}), (Objective("a/accuracy", True),)
    )
    assert tables.landmarks(front)["a/accuracy"].tolist() == [0.5] * 3


def test_the_numbers_the_notebook_quotes_are_those_of_the_records():
    notebook = nbformat.read(ROOT / "notebooks" / "multimnist3.ipynb", as_version=4)
    text = " ".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    discrepancies = (ROOT / "book" / "discrepancies.md").read_text("utf-8")
    quoted = {"PaMaL, learning rate as in the authors' code": ("pamal", 3), "LS": ("ls", 3)}
    quoted["PaMaL, learning rate times three, as in the paper's text"] = "pamal-members", 3
    quoted["the same, smoothed"] = "pamal-members-antialias", 3
    for label, (name, seeds) in quoted.items():
        records = [Record.read(path) for path in RESULTS.glob(f"{name}_seed_?.json")]
        best = [[100 * r.summary["test"]["best"][o] for o in OBJECTIVES] for r in records]
        assert len(best) == seeds
        means = [f"{mean:.2f}" for mean in np.mean(best, axis=0)]
        assert f"| {label} | {' | '.join(means)} |" in text
        if label.startswith("PaMaL"):
            assert "{}, {} and {}%".format(*means) in discrepancies


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
