"""A mark in the folder of pages, which is there only while what the last build made is whole.

Sphinx asks of each page whether it is newer than its source. The index of search, downloads and
images are written at the end of a build, and only for pages that were read. So a build that is
stopped leaves pages that the next build takes for finished, and that no index knows.
"""

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

MARK = ".whole"
READ_PAGES = "environment.pickle"
"""The file in which Sphinx keeps what it knows of the pages that it has read."""
INDEX = "searchindex.js"
"""The words of all pages, among which Sphinx leaves those that a page has no more."""


def begin(app: Sphinx, _config: Config) -> None:
    """Remove the mark. If it is missing, forget all pages, so that they are read again."""
    mark = Path(app.outdir, MARK)
    if not mark.exists():
        Path(app.doctreedir, READ_PAGES).unlink(missing_ok=True)
        Path(app.outdir, INDEX).unlink(missing_ok=True)
    mark.unlink(missing_ok=True)


def end(app: Sphinx, exception: Exception | None) -> None:
    """Write the mark, unless the build failed or warned: the next one has to say that again."""
    if exception is None and not app._warncount:
        Path(app.outdir, MARK).touch()
