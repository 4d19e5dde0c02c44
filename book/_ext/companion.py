"""Give the book its table of contents, math without a network, widgets and sources."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from address import configure_buttons, point_at_sources
from api import Api
from card import describe
from citation import Citation
from docutils import nodes
from figures import put_figures_in
from measured import Measured
from search_words import EnglishWithNumbers
from source import put_source_in
from sphinx.application import Sphinx
from sphinx.config import Config
from verdicts import Verdicts
from whole import begin, end
from widget import Widget

from pamal_companion.widgets.html import style

# The parameters of a long signature, one on each line.
PARAMETERS = re.compile(r'<dl>\n(<dd><em class="sig-param">.*?)</dl>', re.DOTALL)
MATHJAX = files("sphinx-mathjax-offline") / "static/mathjax/tex-svg-full.js"


def configure(app: Sphinx, config: Config) -> None:
    """Read `_toc.yml` beside `_config.yml`, as jupyter-book takes the one in the book's folder; and
    copy into the book the widgets' style sheet and MathJax, whose SVG build is one file, so that it
    also works over file://."""
    config.external_toc_path = str(Path(app.srcdir).parent / "_toc.yml")
    config.mathjax_path = MATHJAX.name
    sheet = Path(app.doctreedir) / "widgets.css"
    sheet.parent.mkdir(parents=True, exist_ok=True)
    sheet.write_text(style(), "utf-8")
    config.html_static_path = [*config.html_static_path, str(MATHJAX), str(sheet)]
    config.html_css_files = [*config.html_css_files, "widgets.css"]


def mend_lists(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    """Make no list of what none may hold: docutils' entries of citations, and the parameters of a
    long signature, which Sphinx writes as definitions without a term."""

    def lines(found: re.Match[str]) -> str:
        return found[1].replace("<dd>", '<div class="sig-line">').replace("</dd>", "</div>")

    if "body" in context:
        body = PARAMETERS.sub(lines, context["body"])
        context["body"] = body.replace('role="list" class="citation-list"', 'class="citation-list"')


def name_toggles(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    """Say what the arrow beside an entry with sections does: the theme gives it no name."""
    if "generate_toctree_html" in context:
        made = context["generate_toctree_html"]

        def named(*args: Any, **options: Any) -> str:
            opened = '<summary aria-label="Show or hide its sections">'
            return str(made(*args, **options)).replace("<summary>", opened)

        context["generate_toctree_html"] = named


def take_title_from_toc(app: Sphinx, _tree: nodes.document) -> None:
    """Call the page that was just read as `_toc.yml` does, in the contents, in a window's title and
    in search: its heading may say more, and pages of one notebook have one heading."""
    name, toc = app.env.docname, app.env.external_site_map
    if name in toc and toc[name].title:
        title = nodes.title("", toc[name].title)
        app.env.titles[name] = app.env.longtitles[name] = title


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect `configure` before sphinx_external_toc and Sphinx, which are at 500 and 800."""
    app.add_search_language(EnglishWithNumbers)
    app.add_directive("api", Api)
    app.add_directive("citation", Citation)
    app.add_directive("measured", Measured)
    app.add_directive("verdicts", Verdicts)
    app.add_directive("widget", Widget)
    app.connect("config-inited", begin)
    app.connect("config-inited", configure, priority=100)
    app.connect("config-inited", configure_buttons)
    app.connect("doctree-read", take_title_from_toc, priority=600)  # titles are collected at 500
    app.connect("html-page-context", describe)
    app.connect("html-page-context", mend_lists)
    app.connect("html-page-context", name_toggles, priority=900)  # after the theme
    app.connect("html-page-context", point_at_sources, priority=900)
    app.connect("html-page-context", put_figures_in)
    app.connect("build-finished", put_source_in)
    app.connect("build-finished", end, priority=900)  # when all else is written
    return {"parallel_read_safe": True, "parallel_write_safe": True}
