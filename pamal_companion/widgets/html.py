"""A widget as HTML, for a page that has no kernel.

It imports the standard library alone, because the book is built where torch is not installed.
"""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PALETTE = json.loads((HERE.parent / "palette.json").read_text("utf-8"))
"""The one palette of figures, widgets and pages (`plots.style` reads it, too)."""
SHARED = ("base", "page")
# A widget is made of the shared files and these, in this order; of its own where it is not listed.
PARTS: dict[str, tuple[str, ...]] = {
    "base": (),
    "explorer": (
        *("simplex", "lenet", "fronts", "front_plot", "labels", "front_marks", "panels", "ask"),
        *("drawing", "digits", "explorer"),
    ),
    "toy": ("controls", "penalty", "toy_problem", "toy_run", "toy_view", "toy"),
    "multiforward": ("simplex", "controls", "penalty", "situations", "multiforward"),
    "replay": ("controls", "accuracies", "replay"),
    "dial": ("controls", "accuracies", "dial"),
    "triangle": ("simplex", "fronts", "panels", "ask", "triangle"),
}


def source(name: str) -> str:
    """Return the widget `name` as one ES module, which exports anywidget's `{ render }`."""
    parts = (*SHARED, *PARTS.get(name, (name,)))
    colours = f"const PALETTE = {json.dumps(PALETTE, separators=(',', ':'))};"
    return "\n".join((colours, *((HERE / f"{part}.js").read_text("utf-8") for part in parts)))


def style() -> str:
    """Return the style sheet of all widgets, with the colours of the palette."""
    return f"{colours()}\n{(HERE / 'widgets.css').read_text('utf-8')}"


def colours() -> str:
    """Return the palette as properties of a style sheet: each hue, light or dark as the scheme of
    the element is, and what has it: tasks, methods, the front, the alpha that is looked at; and a
    class for each method."""
    hues = {f"hue-{name}": f"light-dark({', '.join(two)})" for name, two in PALETTE["hues"].items()}
    roles = {f"task-{k}": hue for k, hue in enumerate(PALETTE["tasks"], start=1)}
    roles |= {f"method-{name}": row["hue"] for name, row in PALETTE["methods"].items()}
    roles |= {name: PALETTE[name] for name in ("front", "here")}
    named = {name: f"var(--hue-{hue})" if hue else "var(--pw-ink)" for name, hue in roles.items()}
    lines = "\n".join(f"  --{name}: {value};" for name, value in (hues | named).items())
    own = "\n".join(f".pw-{n} {{ --pw-own: var(--method-{n}); }}" for n in PALETTE["methods"])
    return f".pw, figure.drawn {{\n{lines}\n}}\n{own}"


def fragment(name: str, values: dict[str, Any], identifier: str) -> str:
    """Return the widget `name` as HTML without its style, to be put into a page.

    `values` are those of the widget's model. `identifier` is the id of its element, and must be
    the only one of the page. Nothing is loaded from anywhere, so it works over file:// as well, and
    the script runs while the page is read, so that nothing below it jumps.
    """
    code = source(name).replace("export default ", "const widget = ")
    # HTML looks into a script for "</script" and "<!--"; "\u003c" is "<" to JSON alone.
    data = json.dumps(values, separators=(",", ":")).replace("<", "\\u003c")
    script = f'(() => {{\n"use strict";\n{code}\nmount(widget, "{identifier}");\n}})();'
    return (
        f'<div id="{identifier}" class="pw pw-widget"></div>\n'
        f'<script type="application/json" id="{identifier}-data">{data}</script>\n'
        f"<script>\n{script}\n</script>\n"
    )
