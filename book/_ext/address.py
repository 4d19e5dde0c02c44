"""The address of the repository, where it is public: pages have buttons to edit and to run them."""

import re
from pathlib import Path
from typing import Any

import yaml
from sphinx.application import Sphinx
from sphinx.config import Config

FILE = Path(__file__).parents[2] / "CITATION.cff"


def configure_buttons(_app: Sphinx, config: Config) -> None:
    """Have the theme make the buttons, where CITATION.cff names an address."""
    if address := yaml.safe_load(FILE.read_text("utf-8")).get("repository-code"):
        config.html_theme_options |= {
            "repository_url": address,
            "repository_branch": "main",
            "path_to_docs": "book",
            "use_repository_button": True,
            "use_edit_page_button": True,
            "launch_buttons": {"binderhub_url": "https://mybinder.org"},
        }


def point_at_sources(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    """Let the buttons of an executed page lead to the notebook that it was made from."""
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            if "url" in button:
                button["url"] = re.sub("/book/(results|fresh)/", "/notebooks/", button["url"])
