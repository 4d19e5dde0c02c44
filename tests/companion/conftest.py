"""Pages in a browser, the book and a kernel, which need more than the tests of the core have."""

import sys

import matplotlib
import pytest
from browser import blank as blank
from browser import chromium as chromium
from browser import functions as functions
from browser import open_page as open_page
from browser import open_widget as open_widget
from browser import spare as spare
from built_book import built_book as built_book
from built_book import tracked as tracked
from one_kernel import execute as execute
from one_kernel import executed as executed
from one_kernel import kernel as kernel

matplotlib.use("Agg")


@pytest.fixture(scope="session")
def runs():
    """Every committed run on full data, by setting and seed. Tests must not change it."""
    from pamal_companion.study import frame

    return frame.read()


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        matplotlib.pyplot.close("all")
