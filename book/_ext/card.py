"""Tell messengers what a link to a page shows: its title and, if the book is public, a picture.

The picture needs a whole address, which `html_baseurl` in _config.yml begins. Without it pages have
no `og:image`, since every other address would be of the machine that built them.
"""

from html import escape
from typing import Any

from sphinx.application import Sphinx

PICTURE = "_static/card.png"
SEEN = "The front of one run on MultiMNIST: accuracy on one digit against accuracy on the other."


def describe(app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """Add the properties of Open Graph that differ between pages."""
    title = context.get("title") or page
    properties = {"og:title": title, "og:type": "article"}
    if base := app.config.html_baseurl.rstrip("/"):
        properties |= {
            "og:url": f"{base}/{page}.html",
            "og:image": f"{base}/{PICTURE}",
            "og:image:alt": SEEN,
        }
    tags = (
        f'<meta content="{escape(value)}" property="{name}" />'
        for name, value in properties.items()
    )
    context["metatags"] = "\n".join((context.get("metatags", ""), *tags))
