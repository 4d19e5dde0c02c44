"""`runs RECORD` and `compare` show the numbers of records and of the study.

What stands in which row is tested there.
"""

from pathlib import Path

import made_up
import numpy as np
import pytest
from commands_on_disk import ask, ask_json, record

from pamal_companion.runs.records import Record
from pamal_companion.study import frame, tables
from pamal_companion.study.layout import TABLES

RESULTS = Path(__file__).parents[3] / "results"
B1 = TABLES["multiforward_multimnist"].title


@pytest.fixture(scope="module")
def committed():
    code, document, err = ask_json("compare", RESULTS)
    assert (code, err, document["damaged"]) == (0, "", [])
    return document["rows"]


@pytest.fixture(scope="module")
def printed():
    return ask("compare", RESULTS)[1]


def find(rows, title, setting, measure):
    key = {"table": title, "setting": setting, "measure": measure}
    (row,) = (row for row in rows if key.items() <= row.items())
    return row


def test_a_mean_over_seeds_stands_beside_that_of_the_paper(committed, printed, runs):
    row = find(committed, B1, "PaMaL, W = 4, λ = 0", "hypervolume ↑")
    by_seed = [r.hypervolume() for r in runs[frame.select("multimnist/pamal")].values()]
    assert row["ours"] == pytest.approx(np.mean(by_seed)) and row["seeds"] == len(by_seed)
    assert row["paper"] == 0.9184 and row["verdict"] == ""  # it does not differ
    words = (
        f"hypervolume ↑ {row['ours']:.4f} 0.9184 {row['difference']:+.4f} {row['seeds']} "
        "PaMaL, W = 4, λ = 0"
    )
    assert [" ".join(line.split()) for line in printed.splitlines()].count(words) == 1


def test_the_rows_are_those_of_the_study(committed):
    found = tables.compare(frame.read(RESULTS))
    assert len(found) == len(committed) > 200
    for (index, row), shown in zip(found.iterrows(), committed, strict=True):
        assert (shown["table"], shown["setting"], shown["measure"]) == index
        assert shown["ours"] == row["ours"] and shown["paper"] == row["paper"]
        assert shown["difference"] == row["difference"]


def test_differences_are_ours_minus_the_papers_and_all_of_it_is_printed(committed, printed):
    lines = [" ".join(line.split()) for line in printed.splitlines() if "↑" in line or "↓" in line]
    assert max(map(len, printed.splitlines())) <= 100
    for row, line in zip(committed, lines, strict=True):
        assert row["difference"] == row["ours"] - row["paper"]
        form = ".2f" if row["paper"] > 1 else ".4f"  # per cent, or shares and errors
        numbers = f"{row['ours']:{form}} {row['paper']:{form}} {row['difference']:+{form}}"
        assert line.startswith(f"{row['measure']} {numbers} {row['seeds']} ")


def test_what_the_paper_has_no_row_for_is_left_out(tmp_path):
    record(experiment="mine").write(tmp_path / "r.json")
    code, document, _ = ask_json("compare", tmp_path)
    assert (code, document["rows"], document["damaged"]) == (0, [], [])
    assert ask("compare", tmp_path)[1] == "No run here has a row in the paper's tables.\n"


def test_an_error_below_one_has_its_digits_beside_per_cent(tmp_path):
    shares = {"segmentation/mIoU": 0.7, "segmentation/pixel accuracy": 0.9}
    errors = {"depth/absolute error": 0.0145, "depth/relative error": 60.0}
    made_up.record("cityscapes/ls", [shares | errors]).write(tmp_path / "r.json")
    shown = " ".join(ask("compare", tmp_path)[1].split())
    assert "mIoU, % ↑ 70.00 70.12 -0.12" in shown
    assert "absolute error ↓ 0.0145 0.0192 -0.0047" in shown


def test_a_run_is_shown_with_all_that_its_record_says(tmp_path):
    path = tmp_path / "r.json"
    record().write(path)
    code, document, _ = ask_json("runs", path)
    kept = record().model_dump(mode="json")
    assert (code, document) == (0, {"path": str(path), "key": record().key} | kept)
    _, out, _ = ask("runs", path)
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for line in (
        "options W=4 lam=0 p=1 balancing=none epochs=10",
        f"key {record().key}",
        "objectives top-left/accuracy=max bottom-right/accuracy=max",
        "cost train_seconds=100.25 evaluate_seconds=2.5 peak_memory_bytes=-",
        "versions torch=2",
        "validation test chosen_on_validation",
        "hypervolume 0.9000 0.9000 -",
        "non_dominated 3 3 -",
        "member_similarity 0.5000",
        "best top-left/accuracy 0.9500 0.9500 -",
        "test top-left/accuracy - - 0.9400",
        "alpha - - [0.5, 0.5]",
        "front on test, 3 points",
        "[0, 1] 0.8000 0.2000 0.9400 0.0600 True",
    ):
        assert line in lines, out


def test_of_a_long_front_the_members_the_centre_and_the_best_are_shown():
    path = RESULTS / "multimnist3" / "pamal_seed_0.json"
    _, out, _ = ask("runs", path)
    best = Record.read(path).summary["test"]["best"]
    shown = out[out.index("front on test, 66 points, some of them") :]
    for value in best.values():
        assert f"{value:.4f}" in shown
    for alpha in ("[1, 0, 0]", "[0, 1, 0]", "[0, 0, 1]"):
        assert alpha in shown
    assert max(map(len, out.splitlines())) <= 100


def test_a_record_with_points_of_its_own_kind_is_shown_without_a_front(tmp_path):
    summary = {"plain": {"covering": 19, "hypervolume": 0.5, "runs": {}}, "gradient": {"within": 1}}
    points = [point | {"split": "plain, 1"} for point in record().points]
    record(points=points, summary=summary, data="formula").write(tmp_path / "toy.json")
    code, out, _ = ask("runs", tmp_path / "toy.json")
    assert code == 0 and "19" in out and "front" not in out
