"""The directive `widget`: a piece of JavaScript that works in the page, without kernel or network.

    ```{widget} explorer
    :data: multimnist
    What one would see, for those who run no scripts.
    ```

`data` names a JSON file under `_assets/widgets/` with the values of the widget's model.
"""

import json
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from pamal_companion.widgets import html

DATA = Path(__file__).parents[1] / "_assets" / "widgets"


class Widget(SphinxDirective):
    """Its content is shown where scripts do not run, so it must say what there would be to see."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"data": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the widget, and its content for those who run no scripts."""
        self.assert_has_content()
        name, values = self.arguments[0], self._values()
        if not (html.HERE / f"{name}.js").is_file():
            known = ", ".join(sorted(path.stem for path in html.HERE.glob("*.js")))
            raise self.error(f"Expected the name of a widget: {known}. Found {name!r}.")
        for path in [*html.HERE.glob("*.js"), html.HERE / "html.py"]:
            self.env.note_dependency(str(path))
        identifier = f"pw-{name}-{self.env.new_serialno('widget')}"
        texts = html.fragment(name, values, identifier), "<noscript>", "</noscript>"
        raw = [nodes.raw("", text, format="html") for text in texts]
        return [*raw[:2], *self.parse_content_to_nodes(), raw[2]]

    def _values(self) -> dict[str, Any]:
        if "data" not in self.options:
            return {}
        path = DATA / f"{self.options['data']}.json"
        if not path.is_file():
            raise self.error(f"Expected a file with the data of the widget. Found none at {path}.")
        self.env.note_dependency(str(path))
        return json.loads(path.read_text("utf-8"))
