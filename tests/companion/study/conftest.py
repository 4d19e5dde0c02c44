"""The records of the repository, read once."""

import pytest
from matplotlib import pyplot as plt

from pamal_companion.study import frame


@pytest.fixture(scope="session")
def runs():
    """Every committed run on full data, by setting and seed. Tests must not change it."""
    return frame.read()


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")
