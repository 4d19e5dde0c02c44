"""The directive `widget`: a piece of JavaScript that works in the page, without kernel or network.

    ```{widget} explorer
    :data: multimnist
    What one would see, for those who run no scripts.
    ```

`data` names a JSON file under `_assets/widgets/` with the values of the widget's model. `records`
names a folder of the repository instead, whose records they are: they are packed while the book is
built, so that no copy of them can be old.
"""

import json
from pathlib import Path
from typing import Any, ClassVar

from checkout import ROOT
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from pamal_companion.widgets import html, runs_data  # not torch, but pandas and others
from pamal_core.errors import InputError

WIDGETS = ROOT / "pamal_companion" / "widgets"
DATA = ROOT / "book" / "_assets" / "widgets"


def note_records(directive: SphinxDirective, folder: Path) -> None:
    """The page is to be read again when a record of the folder has changed, gone or come."""
    # Records are replaced, never written in place, so their folders show it.
    for path in (folder, *folder.rglob("*/")):
        directive.env.note_dependency(str(path))


class Widget(SphinxDirective):
    """Its content is shown where scripts do not run, so it must say what there would be to see."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = dict.fromkeys(
        ("data", "records"), directives.unchanged_required
    )

    def run(self) -> list[nodes.Node]:
        """The widget, and its content for those who run no scripts."""
        self.assert_has_content()
        name, values = self.arguments[0], self._values()
        if not (WIDGETS / f"{name}.js").is_file():
            known = ", ".join(sorted(path.stem for path in WIDGETS.glob("*.js")))
            raise self.error(f"Expected the name of a widget: {known}. Found {name!r}.")
        for path in [*WIDGETS.glob("*.js"), WIDGETS / "html.py"]:
            self.env.note_dependency(str(path))
        identifier = f"pw-{name}-{self.env.new_serialno('widget')}"
        texts = html.fragment(name, values, identifier), "<noscript>", "</noscript>"
        raw = [nodes.raw("", text, format="html") for text in texts]
        return [*raw[:2], *self.parse_content_to_nodes(), raw[2]]

    def _values(self) -> dict[str, Any]:
        if "records" in self.options:
            folder = ROOT / self.options["records"]
            note_records(self, folder)
            self.env.note_dependency(str(WIDGETS / "runs_data.py"))
            try:
                return {"records": runs_data.pack(folder)}
            except InputError as error:
                raise self.error(f"Expected records in {folder}. {error}") from None
        if "data" not in self.options:
            return {}
        path = DATA / f"{self.options['data']}.json"
        if not path.is_file():
            raise self.error(f"Expected a file with the data of the widget. Found none at {path}.")
        self.env.note_dependency(str(path))
        return json.loads(path.read_text("utf-8"))
