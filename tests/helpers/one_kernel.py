"""One kernel for the notebooks of all tests: a new one imports torch for seconds."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# As in a kernel that has just started: no names, and no cells, among which a notebook looks for
# its parameters.
FRESH = "%reset -f\n%reset -f in\nimport os\nos.chdir({!r})"
# Samples of a tenth. What the tests ask of a notebook does not depend on how much it is trained on;
# papermill trains on a whole sample in runs/test_notebooks.py, and on all of them in `make book`.
SMALL = """
from pamal_companion.data import multimnist, utkface
from pamal_companion.data.samples import people
multimnist.SIZES = {"disjoint": (6_000, 1_000, 1_000)}
people.SIZES = 800, 200
utkface.SAMPLE_NUM = 300
# Nor does it depend on a second drawing for phones, of which plots/ has the tests.
from pamal_companion.plots import style
style.phone_figure = lambda figure: None
"""


@pytest.fixture(scope="session")
def kernel():
    pytest.importorskip("papermill", reason="needs the `book` extra")
    from jupyter_client.manager import AsyncKernelManager
    from jupyter_core.utils import run_sync

    manager = AsyncKernelManager(kernel_name="python3")
    # MPLBACKEND hides the figures; no notebook that is run here may need data.
    hidden = "MPLBACKEND", "PAMAL_DATA"
    environment = {k: v for k, v in os.environ.items() if k not in hidden}
    run_sync(manager.start_kernel)(env=environment, extra_arguments=["--log-level=CRITICAL"])
    yield manager
    run_sync(manager.shutdown_kernel)(now=True)


@pytest.fixture
def executed(kernel):
    """Runs a notebook: `executed("census", folder, epochs=1, ...)` with papermill's parameters; the
    notebook with its outputs. A cell that raises is an error."""
    import nbformat
    from nbclient import NotebookClient
    from papermill.iorw import load_notebook_node
    from papermill.parameterize import parameterize_notebook

    def run(name, folder, **parameters):
        source = load_notebook_node(str(ROOT / "notebooks" / f"{name}.ipynb"))
        notebook = parameterize_notebook(source, parameters)
        notebook.cells.insert(0, nbformat.v4.new_code_cell(FRESH.format(str(folder)) + SMALL))
        client = NotebookClient(notebook, km=kernel)
        try:
            client.execute()
        finally:
            client.kc.stop_channels()
        del notebook.cells[0]
        return notebook

    return run


@pytest.fixture
def execute(executed):
    """The same; what it shows, one output after the other."""

    def run(name, folder, **parameters):
        return [o for c in executed(name, folder, **parameters).cells for o in c.get("outputs", [])]

    return run


def figures(outputs):
    """How many of `outputs` are drawings."""
    return sum("image/svg+xml" in output.get("data", {}) for output in outputs)
