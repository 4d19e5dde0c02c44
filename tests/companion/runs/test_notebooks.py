"""The notebooks run by papermill as a user runs them."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pytest
from one_kernel import figures

from pamal_companion.runs.records import Record
from pamal_core.errors import InputError

ROOT = Path(__file__).parents[3]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NAMES = ("toy", "multimnist", "multimnist3", "census", "cityscapes", "utkface", "fairness")
# The methods of a reader's own network, which is what that notebook shows.
ALLOWED = {"your_model": {"__init__", "forward"}, "from_what_you_have": {"__init__"}}
EXPERIMENTS = [path for path in NOTEBOOKS if path.stem in NAMES]


def papermill(notebook, folder, *parameters):
    pairs = [part for p in parameters for part in ("-p", *map(str, p))]
    command = [sys.executable, "-m", "papermill", ROOT / "notebooks" / notebook, "out.ipynb"]
    return subprocess.run(
        [*map(str, command), *pairs],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "MPLBACKEND"},  # it hides the figures
        capture_output=True,
        text=True,
        check=False,
    )


def test_papermill_trains_multimnist_on_the_sample_and_writes_a_record(tmp_path):
    run = papermill(
        "multimnist.ipynb", tmp_path, ("data", "sample"), ("epochs", 1), ("W", 2), ("out", "r.json")
    )
    assert run.returncode == 0, run.stderr[-2000:]
    record = Record.read(tmp_path / "r.json")
    assert record.options.items() >= {"W": 2, "lam": 0.0, "p": 1.0, "epochs": 1}.items()
    assert record.data.startswith("multimnist/sample/")
    assert len(record.points) == 22
    cells = nbformat.read(tmp_path / "out.ipynb", as_version=4).cells
    assert figures(o for cell in cells for o in cell.get("outputs", [])) == 2


def test_multimnist3_shows_the_triangles_of_66_networks_and_their_front(tmp_path, execute):
    shown = execute("multimnist3", tmp_path, data="sample", epochs=1, out="r.json")
    record = Record.read(tmp_path / "r.json")
    setting = {"W": 1, "lam": 0.0, "p": 1.0, "balancing": "none", "lr_scaling": "plain"}
    assert record.options.items() >= (setting | {"epochs": 1}).items()
    assert len(record.points) == 2 * 66
    assert figures(shown) == 4


def test_census_trains_on_the_sample_for_three_tasks_and_writes_a_record(tmp_path, execute):
    tasks = "income,education,age"
    execute("census", tmp_path, data="sample", epochs=2, tasks=tasks, out="r.json")
    record = Record.read(tmp_path / "r.json")
    assert record.options["tasks"] == ["age", "education", "income"]
    assert record.data.startswith("census/sample/age+education+income/")
    assert list(record.objectives) == ["age/accuracy", "education/accuracy", "income/accuracy"]


def test_fairness_shows_a_front_and_a_network_for_each_gap(tmp_path, execute):
    shown = execute("fairness", tmp_path, data="sample", epochs=2, out="r.json")
    record = Record.read(tmp_path / "r.json")
    assert record.data.startswith("census/sample/income+male/")
    assert record.objectives == {"income/average precision": "max", "parity/gap": "min"}
    assert len(record.points) == 2 * 11
    assert figures(shown) == 2  # one of them is of the registered runs


def test_utkface_shows_faces_triangles_and_a_front(tmp_path, execute):
    few = {"limit": 64, "epochs": 1, "batch_norm": "shared"}
    shown = execute("utkface", tmp_path, data="sample", **few, out="r.json")
    record = Record.read(tmp_path / "r.json")
    setting = {"W": 3, "lam": 0.0, "balancing": "gradient", "limit": 64, "epochs": 1}
    assert setting.items() <= record.options.items() and record.options["batch_norm"] == "shared"
    assert len(record.points) == 2 * 66
    assert figures(shown) == 7  # four of them are of real faces, from the records
    texts = [str(output.get("text", "")) for output in shown]
    assert any("No row of the paper is of these data." in text for text in texts)


def test_cityscapes_shows_streets_a_front_and_predictions_of_its_sample(tmp_path, execute):
    few = {"limit": 6, "width": 2, "epochs": 1}
    shown = execute("cityscapes", tmp_path, W=3, data="sample", **few, out="r.json")
    record = Record.read(tmp_path / "r.json")
    assert record.options["W"] == 3 and record.options["batch_norm"] == "recalibrated"
    assert len(record.points) == 2 * 11
    assert figures(shown) == 3


@pytest.mark.parametrize(
    ("notebook", "parameter", "runs", "drawn"),
    [
        ("ablation_multiforward", {"penalties": "printed"}, 17, 2),
        ("ablation_sampling", {"ps": "0,100"}, 2 * 3, 1),
    ],
)
def test_an_ablation_keeps_a_record_per_setting(
    tmp_path, execute, notebook, parameter, runs, drawn
):
    shown = execute(notebook, tmp_path, data="sample", epochs=1, results="kept", **parameter)
    records = [Record.read(path) for path in (tmp_path / "kept/census").glob("*.json")]
    assert len({record.key for record in records}) == len(records) == runs
    assert {record.options["epochs"] for record in records} == {1}
    assert figures(shown) == drawn


def test_conflict_trains_one_run_and_six_networks_at_a_number_of_features(tmp_path, execute):
    shown = execute("conflict", tmp_path, bottleneck=2, data="sample", epochs=5, results="kept")
    records = [Record.read(path) for path in (tmp_path / "kept").glob("*.json")]
    passes = {(r.method, str(r.options.get("weights"))): r.options["epochs"] for r in records}
    assert len(passes) == 7 and passes["ls", "None"] == passes["pamal", "None"] == 5
    assert sorted(passes.values()) == [1, 1, 1, 1, 1, 5, 5]
    assert {r.options["bottleneck"] for r in records} == {2}
    assert figures(shown) == 2


def test_the_toy_problem_runs_a_few_steps_and_writes_a_record(tmp_path, execute):
    execute("toy", tmp_path, epochs=1, out="r.json")
    assert Record.read(tmp_path / "r.json").experiment == "toy"


WRONG = [
    ("multimnist", ("W", "true"), "`W` must be a valid integer. Found W='true'."),
    ("multimnist", ("lamda", 2), "Unknown parameter `lamda`. Known: method,"),
    ("multimnist3", ("antialias", "yes"), "`antialias` must be a valid boolean."),
    ("census", ("tasks", "age,height"), "`tasks` must be"),
    ("utkface", ("split", "50/50"), "`split` must be '70/10/20' or 'paper'."),
    ("ablation_multiforward", ("penalties", "reversed"), "`penalties` must be"),
    ("ablation_sampling", ("ps", "0,-1"), "`ps` must be"),
    ("ablation_phn_cosmos", ("methods", "pamal"), "`methods` must be"),
    ("conflict", ("epochs", 12), "`epochs` must be a multiple of 5"),
    ("conflict", ("bottleneck", 0), "`bottleneck` must be"),
    ("conflict", ("W", 2), "This notebook has no `W`."),
    ("toy", ("method", "stl"), "`method` must be"),
    ("theory", ("family", "none"), "`family` must be"),
    ("your_model", ("device", "abacus"), "`device` must be auto or a device torch can"),
    ("cityscapes", ("setting", "III"), "`setting` must be"),
]


def test_papermill_stops_at_once_at_an_unknown_parameter_with_one_line(tmp_path):
    notebook, parameter, line = WRONG[1]
    run = papermill(f"{notebook}.ipynb", tmp_path, parameter)
    assert run.returncode == 1
    assert f"InputError: {line}" in run.stderr
    cells = nbformat.read(tmp_path / "out.ipynb", as_version=4).cells
    (error,) = (o for c in cells for o in c.get("outputs", []) if o.output_type == "error")
    (shown,) = error["traceback"]
    assert shown.startswith(f"InputError: {line}") and "\n" not in shown.strip()


@pytest.mark.parametrize(("notebook", "parameter", "line"), WRONG)
def test_the_cell_after_the_parameters_refuses_a_wrong_one(notebook, parameter, line):
    """The same without a kernel for each: the cells up to the check, and papermill's between."""
    cells = nbformat.read(ROOT / f"notebooks/{notebook}.ipynb", as_version=4).cells
    code = [c for c in cells if c.cell_type == "code"]
    (given,) = (i for i, c in enumerate(code) if "parameters" in c.metadata.get("tags", []))
    name, value = parameter
    assert given == 0  # nothing is trained before the check
    sources = [code[0].source, f"# Parameters\n{name} = {value!r}"]
    namespace = {"In": sources}
    for source in sources:
        exec(source, namespace)
    with plt.rc_context(), pytest.raises(InputError, match=f"^{re.escape(line)}"):
        exec(code[1].source, namespace)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_cells_are_short_and_define_no_functions(path):
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            assert len(cell.source.splitlines()) <= 15
            nodes = [*ast.walk(ast.parse(cell.source))]
            defined = {n.name for n in nodes if isinstance(n, ast.FunctionDef)}
            assert defined <= ALLOWED.get(path.stem, set())
            assert not any(isinstance(n, ast.Lambda) for n in nodes)


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.stem)
def test_every_experiment_takes_the_common_parameters(path):
    cells = nbformat.read(path, as_version=4).cells
    (cell,) = (c for c in cells if "parameters" in c.metadata.get("tags", []))
    assigned = {t.id for n in ast.parse(cell.source).body for t in n.targets}
    common = "method W lam p balancing seed epochs data data_root device out"
    assert assigned >= set(common.split())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_each_notebook_says_its_command_its_cost_and_what_to_expect(path):
    cells = nbformat.read(path, as_version=4).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    assert not any("@@" in text for text in texts)
    if path.stem in NAMES:  # computed, from the parameters and the records of the page
        (made,) = (cell for cell in cells if cell.id == "making")
        assert re.search(rf"pages\.(making|command)\(.{path.stem}.", made.source)
        return
    # What to expect is the answer that opens the page.
    assert ["| command |" in text for text in texts].count(True) == 1
    measured = any("frame.costs(" in cell.source for cell in cells if cell.cell_type == "code")
    assert measured or ["| cost |" in text for text in texts].count(True) == 1


NOTES = (
    "look like probabilities",
    "have a standard deviation of",
    "decides almost alone",
    "depends on the size of a batch",
    "is trained on a single example",
    "was not trained, because",
    "better than a constant answer",
)
"""Words of what `fit` notes of a program that may be meant otherwise."""


def test_no_executed_page_prints_a_note_of_fit():
    trees = [ast.parse(p.read_text("utf-8")) for p in (ROOT / "pamal_core").glob("*.py")]
    constants = (n.value for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Constant))
    told = " ".join(" ".join(text for text in constants if isinstance(text, str)).split())
    assert all(note in told for note in NOTES)
    pages = sorted((ROOT / "book" / "results").glob("*.ipynb"))
    cells = [cell for path in pages for cell in nbformat.read(path, as_version=4).cells]
    outputs = [str(output) for cell in cells for output in cell.get("outputs", [])]
    printed = [text for text in outputs if "as many passes" in text and "non_dominated" in text]
    assert len(outputs) > 50 and printed  # a result of `fit` is among them
    assert not [text for text in outputs if any(note in text for note in NOTES)]
