"""The table of faults that `make test-faults` ends with."""

import os
from collections import defaultdict

import pytest

TIMES = int(os.environ.get("PAMAL_FAULTS", "2"))
"""How often a fault is tried that strikes at random."""

COUNTS: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])


@pytest.fixture
def times() -> int:
    return TIMES


@pytest.fixture
def tally():
    """`tally(fault, lost, half_written)` counts one try."""

    def count(fault: str, lost: bool, half_written: int) -> None:
        row = COUNTS[fault]
        row[0], row[1], row[2] = row[0] + 1, row[1] + lost, row[2] + half_written

    return count


def pytest_terminal_summary(terminalreporter):
    if not COUNTS:
        return
    terminalreporter.section("faults")
    head = ("fault", "times tried", "runs lost", "files left half-written")
    rows = [head, *((name, *map(str, counts)) for name, counts in COUNTS.items())]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for name, *numbers in rows:
        cells = [name.ljust(widths[0])]
        cells += [n.rjust(w) for n, w in zip(numbers, widths[1:], strict=True)]
        terminalreporter.line("  ".join(cells))
