"""The pages that are of records alone say what the committed records say."""

import nbformat
import pytest

from pamal_core.runs import grid
from pamal_core.runs import notebooks as book
from pamal_core.study import frame, paper, sweeps, tables
from pamal_core.study.frame import Setting
from pamal_core.study.measures import value

PAGES = [row for row in grid.read("pages") if row["of_records"] == "yes"]
TABLES = [row for row in PAGES if row["page"].startswith("results/")]


def said(path):
    """What the page at `path` shows but for its figures: a dict of kinds and texts per output."""
    cells = nbformat.read(path, as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    data = [output.get("data", {"stdout": output.get("text")}) for output in outputs]
    return [{k: v for k, v in of_one.items() if not k.startswith("image/")} for of_one in data]


@pytest.mark.parametrize("row", TABLES, ids=lambda row: row["page"])
def test_no_number_of_a_page_differs_from_the_records(row, tmp_path, monkeypatch):
    pytest.importorskip("papermill", reason="needs the `book` extra")
    monkeypatch.chdir(grid.ROOT)
    monkeypatch.delenv("PAMAL_DATA", raising=False)
    parameters = grid.parameters(row["parameters"])
    book.run(grid.ROOT / f"notebooks/{row['notebook']}.ipynb", tmp_path / "page.ipynb", parameters)
    committed = said(grid.ROOT / f"book/{row['page']}.ipynb")
    assert said(tmp_path / "page.ipynb") == committed
    assert sum("text/html" in output for output in committed) > 0


@pytest.fixture(scope="module")
def recorded():
    return frame.read(frame.RESULTS / "census")


def test_a_page_shows_its_run_with_the_other_recorded_seeds(recorded):
    setting = Setting("census", "pamal")
    record = recorded[setting][1]
    (by_seed,) = frame.with_others(record, frame.RESULTS / "census").values()
    assert [*by_seed] == [0, 1, 2]
    found = tables.compare({setting: by_seed})
    titles = found.index.unique(0)
    assert [*titles] == ["C2, Census", "B1, Census"]
    assert set(found["seeds"]) == {3}


def test_a_sample_is_alone_and_beside_nothing(recorded):
    record = recorded[Setting("census", "pamal")][1]
    sample = record.model_copy(update={"data": record.data.replace("/full/", "/sample/")})
    runs = frame.with_others(sample)
    assert runs == {Setting("census", "pamal"): {1: sample}}
    assert tables.compare(runs).empty


def test_the_order_of_a_task_is_a_measure_whose_mean_is_the_order(recorded):
    record = recorded[Setting("census", "pamal")][0]
    by_task = [value(record, f"{task}/order", "validation") for task in paper.TASKS["census"]]
    assert value(record, "order", "validation") == pytest.approx(sum(by_task) / 2)
    assert by_task[0] == record.front().on("loss").spearman()[0]


def test_the_papers_columns_of_its_multi_forward_table_are_as_printed_but_for_the_divisor():
    runs = frame.read(frame.RESULTS / "ablation_multiforward" / "census", "*W=2*_seed_*.json")
    row = sweeps.hypervolumes(runs, ["ordered"]).loc[(2, 5.0), "paper"]
    assert [row["mean"], row["max"]] == [0.6581, 0.6590]
    assert row["std"] == pytest.approx(0.0007 * 1.5**0.5)
