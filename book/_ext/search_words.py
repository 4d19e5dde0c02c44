"""The words of the book's search: a number with its decimals is one of them.

Sphinx splits 0.9184 at its point, and leaves out what is digits alone when a reader searches, so
that no number of a table could be found.
"""

import re

from sphinx.search.en import SearchEnglish

WORD = re.compile(r"\d+(?:\.\d+)+|\w+")


class EnglishWithNumbers(SearchEnglish):
    """English, split alike while the book is built and while it is searched."""

    js_splitter_code = r"""
var splitQuery = (query) => query.match(/\d+(?:\.\d+)+|[\p{Letter}\p{Number}_]+/gu) ?? [];
"""

    def split(self, input: str) -> list[str]:
        """Return the words of a text."""
        return WORD.findall(input)
