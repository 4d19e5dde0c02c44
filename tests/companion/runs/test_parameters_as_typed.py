"""Parameters that somebody typed are taken, or refused in a sentence: never dropped."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout

import nbformat
import pytest

pytest.importorskip("IPython", reason="needs the `book` extra")
from IPython.core.interactiveshell import InteractiveShell

from pamal_companion.__main__ import main
from pamal_companion.demos.schematics import SchematicsOptions
from pamal_companion.demos.theory import TheoryOptions
from pamal_companion.experiments import ablations, options
from pamal_companion.experiments.conflict import ConflictOptions
from pamal_companion.experiments.your_model import YourModelOptions
from pamal_companion.runs import grid, notebooks
from pamal_companion.runs.options import names_in
from pamal_companion.toy.ablation import BalancingOptions
from pamal_core.errors import InputError

NOTEBOOKS = sorted((grid.ROOT / "notebooks").glob("*.ipynb"))
USE = """from pamal_companion.experiments.options import CensusOptions
options = CensusOptions.from_notebook(globals())"""


@pytest.fixture
def shell(monkeypatch):
    """Runs cells in IPython; what the last one printed, and the options or the error."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    InteractiveShell.clear_instance()
    instance = InteractiveShell.instance()

    def run(*cells):
        out = io.StringIO()
        for cell in cells:
            out = io.StringIO()
            with redirect_stdout(out), redirect_stderr(io.StringIO()):
                result = instance.run_cell(cell, store_history=True)
        return out.getvalue(), result.error_in_exec or instance.user_ns.get("options")

    yield run
    InteractiveShell.clear_instance()


TYPED = {
    "a comment on top": "# mine\n# Parameters\nW = 7\nseed = 5",
    "two magics": "%%capture\nW = 7\nseed = 5",
    "a magic on a line": "%precision 3\nW = 7\nseed = 5",
    "a cell mark": "# %% [parameters]\nW = 7; seed = 5",
    "a heading of its own": "# PARAMETERS OF TODAY\nW = 7\nseed = 5",
    "a type": "W: int = 7\nseed: int = 5",
    "both at once": "W, seed = 7, 5",
    "a list of both": "[W, *_, seed] = [7, 6, 5]",
    "one after the other": "W = seed = 5\nW += 2",
    "under an if": "if True:\n    W = 7\n    seed = 5\nelse:\n    W = 1",
    "in a loop": "for W in range(8):\n    pass\nseed = 5",
    "in a try": "try:\n    W, seed = 7, 5\nfinally:\n    pass",
    "in a dict": "globals().update({'W': 7, 'seed': 5})",
    "with a walrus": "(seed := 5)\nprint(W := 7)",
    "computed": "import math\nW = int(math.sqrt(49))\nseed = len('seeds')",
    "after a cell that failed": "W = 7\nseed = 5\nraise SystemError",
}


@pytest.mark.parametrize("cell", TYPED.values(), ids=TYPED)
def test_values_are_taken_however_they_got_there(shell, cell):
    said, found = shell("# Parameters\nW = 2\nlam = 1", cell, USE)
    assert (found.W, found.seed, found.lam) == (7, 5, 1.0)
    assert said == "Parameters: W=7, lam=1, seed=5.\n"


def test_a_script_that_is_run_sets_them_too(shell, tmp_path):
    (tmp_path / "mine.py").write_text("W = 7\nseed = 5\n")
    assert shell(f"%run {tmp_path / 'mine.py'}", USE)[1].W == 7
    assert shell(f"%run -i {tmp_path / 'mine.py'}", "W = 3", USE)[1].W == 3


def test_the_cell_runs_again_after_others_and_takes_the_new_values(shell):
    assert shell("W = 3", USE, "found = options.W\nresult = [1]\nimport numpy as np", USE)[1].W == 3
    said, found = shell("W = 4\nlam = None", USE)
    assert (found.W, said) == (4, "Parameters: W=4.\n")
    assert shell("del W", USE)[1].W == 2


IMPORTS = [
    "import json as data",
    "from random import seed",
    "from torch import device",
    "def draws(): pass",
    "class task: pass",
    "import numpy as np, pandas as pd, math as lm",
    "from math import e as base, pi",
    "k = 3; x = [1]; df = None; n = 5; i = 0",
    "Out",
]


@pytest.mark.parametrize("cell", IMPORTS)
def test_imports_definitions_and_helpers_are_no_parameters(shell, cell):
    said, found = shell(cell, USE)
    assert found == options.CensusOptions.create() and said == "Parameters: all as by default.\n"


@pytest.mark.parametrize("name", ["Lam", "epoch", "sed", "w", "OUT", "data_rot", "learning_rate"])
@pytest.mark.parametrize("value", [5, "x", [1]])
def test_a_name_in_the_notebooks_own_cell_that_is_no_option_is_refused(shell, name, value):
    own = f"# Parameters: change them here\n{name} = {value!r}\nW = 3"
    _, error = shell(own, USE)
    assert isinstance(error, InputError)
    assert str(error).startswith(f"Unknown parameter `{name}`. Known: method, task, W, lam, p,")
    assert str(error).endswith(f" A kernel keeps a name: once it is mended, `del {name}`.")
    assert shell(f"del {name}", USE)[1].W == 3


def test_names_of_other_cells_are_no_parameters_however_alike(shell):
    said, found = shell("Lam = 5\nsed = 1\nepoch = 2", USE)
    assert found == options.CensusOptions.create() and said == "Parameters: all as by default.\n"


@pytest.mark.parametrize("name", ["nobody", "momentum", "lambda_"])
def test_what_papermill_sets_and_no_notebook_knows_is_refused(shell, name):
    for cell in (f"# Parameters\n{name} = 1", f"# Parameters\n%precision 3\n{name} = 1\n"):
        assert f"Unknown parameter `{name}`" in str(
            shell("%reset -f", "%reset -f in", cell, USE)[1]
        )
    assert shell("%reset -f", "%reset -f in", f"{name} = 1", "# Parameters\nW = 3", USE)[1].W == 3


def test_an_option_of_other_notebooks_is_refused_an_object_like_it_is_not():
    given = {"W": 3, "lam": 1.0}
    for name, value in {"lr": 0.1, "method": "ls", "weights": [0.2, 0.8]}.items():
        with pytest.raises(InputError, match=f"This notebook has no `{name}`. Known: seed, epochs"):
            YourModelOptions.from_notebook({**given, name: value})
    taught = {"method": object(), "penalty": object(), "tasks": [1], "average": object()}
    assert YourModelOptions.from_notebook(given | taught).W == 3


OPTIONS = {
    "ablation_balancing": BalancingOptions,
    "ablation_multiforward": ablations.MultiForwardOptions,
    "ablation_phn_cosmos": ablations.SweepOptions,
    "ablation_sampling": ablations.SamplingOptions,
    "conflict": ConflictOptions,
    "schematics": SchematicsOptions,
    "theory": TheoryOptions,
    "your_model": YourModelOptions,
} | options.OPTIONS
TAUGHT = {"your_model": {"average", "method", "penalty"}}
"""Options of other notebooks that name an object here, which no parameter is."""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_later_cell_binds_an_option(path):
    cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    takes = [number for number, cell in enumerate(cells) if "from_notebook(" in cell.source]
    assert bool(takes) == (path.stem in OPTIONS)
    if not takes:
        return
    known = OPTIONS[path.stem]
    assert f"{known.__name__}.from_notebook(" in cells[takes[0]].source
    for cell in cells[takes[0] :]:
        bound = names_in(cell.source)
        assert not bound & (known.model_fields.keys() - TAUGHT.get(path.stem, set())), cell.source


BINDS = {
    'out = "lr=0.1.json"': {"out"},
    "out = None  # a file = a record": {"out"},
    "seed = 0; epochs = 1": {"seed", "epochs"},
    "W: int = 7": {"W"},
    "W, (seed, *rest) = 1, (2, 3)": {"W", "seed", "rest"},
    "if True:\n    lr = 1e-3": {"lr"},
    "%%time\np = 1 if 2 == 2 else 3": {"p"},
    "!ls = 1\ntext = '''\nW = 1'''": {"text"},
    "import numpy as np\ndef f(x=1): return x": set(),
    "W = (": set(),
}


@pytest.mark.parametrize(("cell", "names"), BINDS.items())
def test_the_names_of_a_cell_are_read_from_its_code(cell, names):
    assert names_in(cell) == names


VALUES = ['out = "a=b"', "out = None  # x = y", "out: str | None = None", "out, k = None, {1: 2}"]


@pytest.mark.parametrize("line", VALUES)
def test_a_notebook_whose_cell_has_equals_signs_takes_its_parameters(tmp_path, line, monkeypatch):
    new = nbformat.v4
    cell = new.new_code_cell(f"{line}\nW = 1", metadata={"tags": ["parameters"]})
    about = {
        "kernelspec": {"name": "python3", "display_name": "Python"},
        "language_info": {"name": "python"},
    }
    book = new.new_notebook(cells=[cell, new.new_code_cell("print(out, W)")], metadata=about)
    nbformat.write(book, tmp_path / "mine.ipynb")
    notebooks.run(tmp_path / "mine.ipynb", tmp_path / "made.ipynb", {"out": "x = y", "W": 3})
    made = json.loads((tmp_path / "made.ipynb").read_text())
    assert made["cells"][-1]["outputs"][0]["text"] == ["x = y 3\n"]
    monkeypatch.setattr("papermill.execute_notebook", lambda *_, **__: pytest.fail("executed"))
    record = tmp_path / "r.json"
    record.write_text("{}")
    for target, said in (
        (tmp_path, "Found a folder"),
        (tmp_path / "mine.ipynb/x", "Could not"),
        (record, r"must be another NAME\.ipynb"),
        (tmp_path / ".." / tmp_path.name / "mine.ipynb", r"must be another NAME\.ipynb"),
    ):
        with pytest.raises(InputError, match=said):
            notebooks.run(tmp_path / "mine.ipynb", target, {})
    assert record.read_text() == "{}"
    with pytest.raises(InputError, match="has no parameter V"):
        notebooks.run(tmp_path / "mine.ipynb", tmp_path / "made.ipynb", {"V": 3})
    words = ["run", str(tmp_path / "mine.ipynb"), str(tmp_path / "made.ipynb")]
    assert main([*words, "--results", str(tmp_path)]) == 2


def test_an_option_that_the_cell_lacks_is_one_of_the_notebook(tmp_path, monkeypatch):
    given = []

    def execute(_source, _target, parameters, **_):
        given.append(parameters)
        raise ValueError("no kernel")

    monkeypatch.setattr("papermill.execute_notebook", execute)
    source = grid.ROOT / "notebooks" / "census.ipynb"
    with pytest.raises(InputError, match="no kernel"):
        notebooks.run(source, tmp_path / "made.ipynb", {"method": "stl", "task": 1})
    assert given == [{"method": "stl", "task": 1}]  # its own check refuses others


def test_a_notebook_without_a_kernel_is_refused_in_a_sentence(tmp_path):
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "mine.ipynb")
    with pytest.raises(InputError, match=r"mine\.ipynb could not be executed: No kernel name"):
        notebooks.run(tmp_path / "mine.ipynb", tmp_path / "made.ipynb", {})


NO_NOTEBOOKS = dict.fromkeys(["", '{"cells": ['], "is no JSON")
NO_NOTEBOOKS |= dict.fromkeys(["[]", "3", "{}", '{"cells": 3}', '{"cells": [1]}'], "has no cells")


@pytest.mark.parametrize(("text", "why"), NO_NOTEBOOKS.items())
def test_what_is_no_notebook_is_refused_in_a_sentence(tmp_path, text, why):
    (tmp_path / "mine.ipynb").write_text(text)
    with pytest.raises(InputError, match=rf"mine\.ipynb is not a notebook: it {why}\.$"):
        notebooks.run(tmp_path / "mine.ipynb", tmp_path / "made.ipynb", {})
