"""Notebooks on their way into the book: run, and made the same for every run.

No torch here. The packages of the `book` extra are needed.
"""

import copy
import logging
import os
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from pamal_companion.data.atomic import write_atomic
from pamal_companion.runs import grid
from pamal_companion.runs.files import check_writable
from pamal_core.errors import InputError

# Cells for pages of one kind of data, and the kind of data whose pages leave them out.
ONLY = {"full-data": "sample", "sample-data": "full"}
WIDGET = "application/vnd.jupyter.widget-view+json"  # dead in a page: there is no kernel
INSTEAD = "*In JupyterLab this cell shows a widget. A page has no kernel, which it needs.*"


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Return a copy of an executed notebook without what differs between two identical runs.

    Timings, paths, versions of the kernel, cell ids, memory addresses, stderr (progress bars), and
    how stdout was cut into pieces. In place of a widget stands what it is. The name of the source
    and the parameters of the run stay, under `metadata.pamal`.
    """
    notebook = copy.deepcopy(notebook)
    provenance = notebook.metadata.get("pamal", {})
    if papermill := notebook.metadata.get("papermill"):  # else it is normalised, or was never run
        source = Path(papermill.input_path).name
        provenance = {"source": source, "parameters": dict(papermill.parameters)}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
        "pamal": provenance,
    }
    data = provenance.get("parameters", {}).get("data")
    hidden = {tag for tag, other in ONLY.items() if data == other}
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        kept = {key: cell.metadata[key] for key in ("tags", "mystnb") if cell.metadata.get(key)}
        cell.metadata = kept
        if hidden & {*kept.get("tags", [])}:
            cell.metadata["tags"] = [*kept["tags"], "remove-cell"]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for count, cell in enumerate(code, start=1):
        cell.execution_count = count
        cell.outputs = _normal_outputs(cell.outputs, count)
    return notebook


def run(source: Path, target: Path, parameters: dict[str, Any]) -> None:
    """Execute `source` from the top and replace `target` by the normalised result in one step."""
    from papermill import execute_notebook  # slow to import
    from papermill.exceptions import PapermillExecutionError

    if not source.is_file():
        raise InputError(f"Expected a notebook. Found nothing at {source}.")
    try:
        known = grid.notebook_parameters(source)  # papermill's own reader stumbles over "="
    except (ValueError, RecursionError):
        raise InputError(f"{source} is not a notebook: it is no JSON.") from None
    except (LookupError, TypeError, AttributeError):
        raise InputError(f"{source} is not a notebook: it has no cells.") from None
    unknown = parameters.keys() - known  # of which papermill would only log that it is
    if unknown and "from_notebook(" not in source.read_text("utf-8"):  # which names what is wrong
        raise InputError(f"{source} has no parameter {', '.join(sorted(unknown))}.")
    check_writable(target)
    if target.suffix != ".ipynb" or target.resolve() == source.resolve():
        raise InputError(f"The target is replaced: it must be another NAME.ipynb. Found {target}.")
    logging.getLogger("papermill").setLevel(logging.ERROR)  # it warns of what it cannot parse
    os.environ.pop("MPLBACKEND", None)  # with one set, a kernel shows no figures
    try:
        # Nothing is written while it runs, so that a run that fails leaves nothing behind.
        executed = execute_notebook(
            source,
            None,
            parameters,
            progress_bar=sys.stderr.isatty(),
            extra_arguments=["--log-level=CRITICAL"],  # the kernel warns of a local socket
        )
    except PapermillExecutionError as error:
        reason = (error.evalue.strip().splitlines() or [""])[-1]
        raise InputError(f"{source} stopped with {error.ename}: {reason}") from error
    except (ValueError, KeyError) as error:  # no kernel, or one that is not here
        raise InputError(f"{source} could not be executed: {error}") from error
    text = nbformat.writes(normalise(_of_its_own(executed, source, parameters)))
    write_atomic(target, (text.rstrip("\n") + "\n").encode())


def _of_its_own(notebook: NotebookNode, source: Path, parameters: dict[str, Any]) -> NotebookNode:
    """Return the executed `notebook` with the command that makes it in its row "| command |", and
    the parameters that it was given folded in the place of those of the source."""
    command = grid.papermill(source.stem, parameters)
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "markdown":
            row = r"(\| command \| `)papermill [^`]*"
            cell.source = re.sub(row, lambda row: row[1] + command, cell.source)
        elif "injected-parameters" in tags:
            cell.metadata["tags"] = [*tags, "hide-input"]
            cell.metadata["mystnb"] = {"code_prompt_show": "Parameters"}
        elif parameters and "parameters" in tags:
            cell.metadata["tags"] = [*tags, "remove-cell"]
    return notebook


def _normal_outputs(outputs: list[NotebookNode], count: int) -> list[NotebookNode]:
    kept: list[NotebookNode] = []
    for output in outputs:
        if WIDGET in output.get("data", {}):
            if output.output_type != "execute_result":
                continue  # a progress bar
            output = nbformat.v4.new_output("display_data", {"text/markdown": INSTEAD})
        if output.get("name") == "stderr":
            continue
        if kept and output.get("name", "") == kept[-1].get("name"):
            kept[-1].text += output.text
        else:
            kept.append(output)
    for output in kept:
        if output.output_type == "execute_result":
            output.execution_count = count
        texts = output if output.output_type == "stream" else output.get("data", {})
        for key in texts:
            if key == "text" or key.startswith("text/"):
                texts[key] = re.sub(r"\bat 0x[0-9a-fA-F]{6,}", "at 0x0", texts[key])
    return kept
