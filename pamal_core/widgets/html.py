"""A widget as HTML, for a page that has no kernel.

Of the standard library only, and nothing of this package: the book is built where neither torch nor
this package is installed.
"""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# A widget is made of these files, in this order; of `base` and its own where it is not listed.
PARTS: dict[str, tuple[str, ...]] = {
    "base": ("base",),
    "explorer": ("base", "lenet", "fronts", "panels", "drawing", "explorer"),
    "toy": ("base", "controls", "penalty", "toy_problem", "toy_run", "toy_view", "toy"),
    "multiforward": ("base", "controls", "penalty", "situations", "multiforward"),
    "replay": ("base", "controls", "replay"),
    "runs": ("base", "controls", "runs_state", "runs_plot", "runs_view", "runs_panels", "runs"),
}


def source(name: str) -> str:
    """The widget `name` as one ES module, which exports anywidget's `{ render }`."""
    parts = PARTS.get(name, ("base", name))
    return "\n".join((HERE / f"{part}.js").read_text("utf-8") for part in parts)


def style() -> str:
    """The style sheet of all widgets."""
    return (HERE / "widgets.css").read_text("utf-8")


def fragment(name: str, values: dict[str, Any], identifier: str) -> str:
    """The widget `name` as HTML without its style, to be put into a page.

    `values` are those of the widget's model. `identifier` is the id of its element, and must be
    the only one of the page. Nothing is loaded from anywhere, so it works over file:// as well.
    """
    module = source(name).replace("export default ", "const widget = ")
    # Inside a script HTML looks for nothing but the end of it; "<\/" is "</" to JSON.
    data = json.dumps(values, separators=(",", ":")).replace("</", "<\\/")
    return (
        f'<div id="{identifier}" class="pw"></div>\n'
        f'<script type="application/json" id="{identifier}-data">{data}</script>\n'
        f'<script type="module">\n{module}\nmount(widget, "{identifier}");\n</script>\n'
    )
