"""The explorer in JupyterLab, with a real kernel: dragged or typed into, it shows what
`evaluate` says."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from gestures import drag

pytest.importorskip("jupyterlab", reason="needs the `book` extra")
pytest.importorskip("anywidget", reason="needs the `book` extra")

ROOT = Path(__file__).parents[3]
# The kernel writes what `evaluate` says at the explorer's alpha whenever that has changed.
CODE = """
import json, torch
from torch.utils.data import DataLoader, TensorDataset
import pamal_core as pamal
from pamal_companion.experiments.models import mlp
from pamal_companion.widgets import Explorer

torch.manual_seed(0)
network = pamal.WeightEnsemble([mlp(5), mlp(5)], shared="encoder")
tasks = [pamal.classification("first"), pamal.classification("second")]
data = TensorDataset(torch.randn(400, 5), *torch.randint(2, (2, 400)))
loader = DataLoader(data, batch_size=200)
front = pamal.evaluate(network, tasks, loader)
explorer = Explorer(network, tasks, front, *data[:6], loader=loader)

def write(_change):
    there = pamal.evaluate(network, tasks, loader, [explorer.alpha]).table.iloc[0]
    text = json.dumps({"alpha": explorer.alpha, "metrics": there.to_dict()})
    open("said.json", "w").write(text)

explorer.observe(write, "measured")
explorer
"""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab in a folder with a notebook of one cell."""
    cells = [nbformat.v4.new_code_cell(CODE.strip())]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, tmp_path / "explore.ipynb")
    address = f"http://127.0.0.1:{(port := free_port())}"
    command = [sys.executable, "-m", "jupyterlab", f"--port={port}", "--no-browser"]
    options = ["--IdentityProvider.token=", "--ServerApp.password=", "--allow-root"]
    paths = {f"JUPYTER_{kind}_DIR": str(tmp_path / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            [*command, *options, "--ip=127.0.0.1", f"--ServerApp.root_dir={tmp_path}"],
            env={**os.environ, **paths, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            stdout=log,
            stderr=log,
        )
        try:
            wait_until(lambda: urllib.request.urlopen(f"{address}/api").read(), OSError)
            yield address
        finally:
            server.terminate()
            server.wait(30)
            print((tmp_path / "log").read_text())  # shown when the test fails


def wait_until(condition, error=(), seconds=120):
    """Until `condition()` is true and raises no `error`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if condition():
                return
        except error:
            pass
        time.sleep(0.1)
    pytest.fail(f"waited for {seconds} seconds")


def is_run(cell):
    """Whether `cell` was sent to the kernel; asked to, if not: keys are lost during loading."""
    if "[ ]" not in cell.locator(".jp-InputPrompt").text_content():
        return True
    cell.locator(".cm-content").click()
    cell.page.keyboard.press("Control+Enter")
    cell.page.wait_for_timeout(500)
    return False


def test_in_jupyterlab_the_explorer_shows_what_evaluate_says(chromium, lab, tmp_path):
    context = chromium.new_context(viewport={"width": 1300, "height": 1000})
    context.route(lambda url: not url.startswith(lab), lambda route: route.abort())
    page = context.new_page()
    page.goto(f"{lab}/lab/tree/explore.ipynb?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=120_000)
    # A cell that is run before its kernel is there makes JupyterLab ask for one, in a dialog.
    page.wait_for_selector("text=/^Python 3.* [|] Idle$/", timeout=120_000)
    wait_until(lambda: is_run(page.locator(".jp-CodeCell")))
    page.wait_for_selector(".jp-OutputArea .pw-dot", timeout=90_000)
    said = tmp_path / "said.json"

    def cells():
        return [float(text) for text in page.locator(".pw-table td").all_text_contents()]

    def is_shown():
        there = json.loads(said.read_text())
        alpha = json.loads(page.get_by_label("alpha in numbers").input_value())
        expected = [round(value, 4) for value in there["metrics"].values()]
        return alpha == there["alpha"] and cells() == pytest.approx(expected, abs=1e-4)

    page.get_by_role("slider", name="alpha", exact=True).focus()
    page.keyboard.press("End")
    wait_until(is_shown, (OSError, ValueError))
    before = cells()
    drag(page, page.locator(".pw-dot"), -600, 0)
    wait_until(lambda: json.loads(said.read_text())["alpha"][0] > 0.6 and is_shown(), ValueError)
    alpha = json.loads(said.read_text())["alpha"]
    assert alpha[0] > 0.6 and not re.search("nearest", page.text_content(".pw-facts"))
    assert cells() != before
    # Keys typed into the box are not the notebook's shortcuts (Enter, digits, brackets).
    box = page.get_by_label("alpha in numbers")
    box.click()
    page.keyboard.press("Control+A")
    page.keyboard.type("[0.25, 0.75]")
    page.keyboard.press("Enter")
    wait_until(
        lambda: json.loads(said.read_text())["alpha"] == [0.25, 0.75] and is_shown(), ValueError
    )
    assert page.locator(".jp-CodeCell").count() == 1
    context.close()
