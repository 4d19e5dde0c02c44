"""Figures of notebooks as part of the page: its font and its colours, light and dark, a number and
the caption below; on a phone the figure for phones that `pamal_companion.plots.style` draws."""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from pamal_companion.widgets.html import PALETTE

DRAWN = re.compile(
    r'(?:<p>)?<img alt="([^"]*)" src="((?:\.\./)*_images/([^"]+\.svg))" />(?:</p>)?'
    r"(?:\s*<p><em>(.*?)</em></p>)?",
    re.DOTALL,
)
# What is not for a page: how matplotlib names itself, and a style that would hold for all of it.
OUTSIDE = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<defs>\s*<style.*?</defs>", re.DOTALL)
POINT = 4 / 3
HUES = {light: name for name, (light, _) in PALETTE["hues"].items()}
"""The colours of figures that the page changes in the dark, and their names in its style sheet."""
PHONE = re.compile(r'<defs class="phone">(.*)</defs><!-- phone -->', re.DOTALL)
SMALLEST = 0.85
"""The factor by which a figure shrinks in a narrow page, before it scrolls."""


def put_figures_in(
    app: Sphinx, docname: str, _template: str, context: dict[str, Any], _: Any
) -> None:
    """Replace each image of an SVG by the SVG itself, with the caption that follows it."""
    files = {
        name: Path(app.srcdir, uri) for uri, name in getattr(app.builder, "images", {}).items()
    }
    number, page = 0, docname.rpartition("/")[2]

    def drawn(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        alt, link, name, caption = found.groups()
        text = files[name].read_text("utf-8")
        group = f'role="group" aria-label="Figure {number}"'
        svg = f'<div tabindex="0" {group}>{inline(PHONE.sub("", text), f"f{number}-", alt)}</div>'
        if narrow := PHONE.search(text):
            svg += f'<div class="for-phones" {group}>{inline(narrow[1], f"p{number}-", alt)}</div>'
        return (
            f'<figure class="drawn" id="figure-{number}">{svg}'
            f"<figcaption><b>Figure {number}.</b> {caption or ''} "
            f'<a href="{link}" download="{page}_figure_{number}.svg" target="_blank" '
            f'aria-label="Save figure {number} as SVG">SVG</a></figcaption></figure>'
        )

    if "body" in context:
        context["body"] = DRAWN.sub(drawn, context["body"])


def inline(svg: str, prefix: str, alt: str) -> str:
    """Return `svg` for a page that has others: the names in it begin with `prefix`, and those that
    nothing refers to are left out; hues are the page's, which are others in the dark. `alt` is
    escaped."""
    svg = OUTSIDE.sub("", svg)
    for colour, hue in HUES.items():
        svg = svg.replace(colour, f"var(--hue-{hue}, {colour})")
    used = {*re.findall(r'(?:url\(|href=")#([^")]+)', svg)}
    named = re.compile(r' id="([^"]*)"')
    svg = named.sub(lambda m: f' id="{prefix}{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r'(url\(|href=")#', rf"\1#{prefix}", svg)
    head, inner = svg.split(">", 1)
    ((box, points),) = re.findall(r'(viewBox="0 0 ([\d.]+) [\d.]+")', head)
    width = float(points) * POINT
    size = f"max-width: {width:.0f}px; min-width: {width * SMALLEST:.0f}px"
    return f'<svg role="img" aria-label="{alt}" {box} style="{size}">{inner}'
