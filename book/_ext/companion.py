"""What the book needs beyond jupyter-book: its table of contents, offline math, widgets, source."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from api import Api
from citation import Citation
from docutils import nodes
from figures import put_figures_in
from hypervolumes import Hypervolumes
from source import put_source_in
from sphinx.application import Sphinx
from sphinx.config import Config
from verdicts import Verdicts
from widget import WIDGETS, Widget

# The parameters of a long signature, one on each line.
PARAMETERS = re.compile(r'<dl>\n(<dd><em class="sig-param">.*?)</dl>', re.DOTALL)
MATHJAX = files("sphinx-mathjax-offline") / "static/mathjax/tex-svg-full.js"


def use_top_level_toc(app: Sphinx, config: Config) -> None:
    """Read `_toc.yml` beside `_config.yml`; jupyter-book takes the one in the book's folder."""
    config.external_toc_path = str(Path(app.srcdir).parent / "_toc.yml")


def use_installed_mathjax(_app: Sphinx, config: Config) -> None:
    """Copy MathJax into the book. The SVG build is one file, so it also works over file://."""
    config.html_static_path = [*config.html_static_path, str(MATHJAX)]
    config.mathjax_path = MATHJAX.name


def use_widget_style(_app: Sphinx, config: Config) -> None:
    """Copy the widgets' style sheet into the book."""
    config.html_static_path = [*config.html_static_path, str(WIDGETS / "widgets.css")]
    config.html_css_files = [*config.html_css_files, "widgets.css"]


def mend_citations(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    """Take the role from docutils' list of citations: its entries are not what a list may hold."""
    list_of = '<div role="list" class="citation-list">'
    if "body" in context:
        context["body"] = context["body"].replace(list_of, '<div class="citation-list">')


def mend_signatures(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    """Make the parameters of a long signature plain lines: Sphinx writes them as a list of
    definitions without a term, which such a list may not be."""

    def lines(found: re.Match[str]) -> str:
        return found[1].replace("<dd>", '<div class="sig-line">').replace("</dd>", "</div>")

    if "body" in context:
        context["body"] = PARAMETERS.sub(lines, context["body"])


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
    """These run before sphinx_external_toc and Sphinx look at the settings (priority 500, 800)."""
    app.add_directive("api", Api)
    app.add_directive("citation", Citation)
    app.add_directive("hypervolumes", Hypervolumes)
    app.add_directive("verdicts", Verdicts)
    app.add_directive("widget", Widget)
    app.connect("config-inited", use_top_level_toc, priority=100)
    app.connect("config-inited", use_installed_mathjax, priority=100)
    app.connect("config-inited", use_widget_style, priority=100)
    app.connect("doctree-read", take_title_from_toc, priority=600)  # titles are collected at 500
    app.connect("html-page-context", mend_citations)
    app.connect("html-page-context", mend_signatures)
    app.connect("html-page-context", name_toggles, priority=900)  # after the theme
    app.connect("html-page-context", put_figures_in)
    app.connect("build-finished", put_source_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
