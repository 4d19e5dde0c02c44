"""A page of the book is about its own data: its command makes it, its numbers are of its runs."""

import re
import shlex

import nbformat
import pytest

from pamal_companion.runs import grid
from pamal_companion.runs.records import Record
from pamal_companion.study import frame, paper

NAMES = (
    *("reproduction", "claims", "tables", "beyond", "choices"),
    *("ablation_multiforward", "ablation_sampling", "ablation_balancing", "ablation_phn_cosmos"),
)
ROWS = {row["page"].removeprefix("results/"): row for row in grid.read("pages")}
ABLATIONS = [name for name in NAMES if "experiment" in grid.parameters(ROWS[name]["parameters"])]
HIDDEN = {"hide-input", "remove-input", "hide-cell", "remove-cell"}
NUMBER = re.compile(r"\d\.\d{3}")


@pytest.fixture
def page():
    """Reads an executed page."""
    return lambda name: nbformat.read(grid.ROOT / f"book/results/{name}.ipynb", as_version=4)


def shown(cells, kind):
    """What the outputs of a page show of one kind, one text each."""
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    texts = [output.get("data", {}).get(kind, "") for output in outputs]
    return ["".join(text) for text in texts if text]


@pytest.mark.parametrize("name", NAMES)
def test_the_command_of_a_page_is_the_one_that_made_it(name, page):
    found = page(name)
    text = "\n".join(cell.source for cell in found.cells if cell.cell_type == "markdown")
    (command,) = re.findall(r"\| command \| `(.*?)`", text)
    program, source, _, *given = shlex.split(command)
    assert (program, source) == ("papermill", f"notebooks/{found.metadata.pamal.source}")
    made = {n: str(v) for n, v in found.metadata.pamal.parameters.items()}
    assert dict(zip(given[1::3], given[2::3], strict=True)) == made
    planned = grid.parameters(ROWS[name]["parameters"])
    assert made == {n: str(v) for n, v in planned.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_page_opens_with_its_answer_and_folds_its_code(name, page):
    """An ablation shows one cell: what it compares, and how to make one of its runs."""
    cells, in_view = page(name).cells, []
    for cell in cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "code" and not {*tags} & HIDDEN:
            in_view.append(cell.source)
    assert len(in_view) == (name in ABLATIONS)
    for source in in_view:
        assert "ablation.run_one(" in source and "ablation.compared(" in source
    given = [cell for cell in cells if "injected-parameters" in cell.metadata.get("tags", [])]
    (own,) = (cell for cell in cells if "parameters" in cell.metadata.get("tags", []))
    assert bool(given) == ("remove-cell" in own.metadata.tags)
    last = [cell.source for cell in cells if cell.cell_type == "markdown"][-3:]
    assert any(text.startswith("## How to run it") for text in last)
    assert cells[0].source.startswith("# ")


@pytest.mark.parametrize("name", ABLATIONS)
def test_no_ablation_shows_a_number_that_its_own_runs_did_not_make(name, page):
    """Its sentences are computed: a number with three digits stands in none that is written."""
    found = page(name)
    data = found.metadata.pamal.parameters["experiment"].split(",")
    written = [cell.source for cell in found.cells if cell.cell_type == "markdown"]
    assert [text for text in written if NUMBER.search(text)] == []
    said = shown(found.cells, "text/markdown")
    matches = [re.match(r"\*\*(?:.* on )?(.*?)(?:, three seeds)?\.\*\*", text) for text in said]
    about = {match[1] for match in matches if match}
    assert about == {paper.DATA[one] for one in data}


@pytest.mark.parametrize("name", ABLATIONS)
def test_the_cost_on_an_ablation_is_that_of_its_own_records(name, page):
    by_data = {}
    for pattern in ROWS[name]["records"].split():
        own = [Record.read(path) for path in sorted(frame.RESULTS.glob(f"{pattern}.json"))]
        reads_others = name == "ablation_multiforward"
        found = frame.with_others(*own) if reads_others else frame.runs(own)
        by_data[pattern.split("/")[1]] = found
    costs = frame.costs(by_data)
    (text,) = (t for t in shown(page(name).cells, "text/html") if "hours in all" in t)
    rows = [re.sub("<[^>]*>", " ", row).split() for row in re.findall("<tr>.*?</tr>", text)[1:]]
    assert rows == [
        [data, *map(str, row)] for data, row in zip(costs.index, costs.values, strict=True)
    ]
