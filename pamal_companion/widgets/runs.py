"""Every run of a folder in one picture, in JupyterLab. The `book` extra is needed."""

from pathlib import Path

import anywidget
import traitlets

from pamal_companion.widgets import html, runs_data


class Runs(anywidget.AnyWidget):
    """The runs whose records are in `folder`, at any depth, as fronts to choose from and compare.

    The records are read once. `selection` says what is shown, in the words of the address of the
    book's page, such as "split=test&show=ls,uw&seeds=0"; it can be read and set from Python.
    InputError for a folder without records; damaged ones are counted and named in the widget.
    """

    _esm = html.source("runs")
    _css = html.style()
    records = traitlets.Dict().tag(sync=True)
    selection = traitlets.Unicode().tag(sync=True)

    def __init__(self, folder: str | Path = "results", selection: str = "") -> None:
        super().__init__(records=runs_data.pack(Path(folder)), selection=selection)
