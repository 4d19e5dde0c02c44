"""`PAMAL_REQUIRE` makes an error of a test that is skipped for want of a browser or of data."""

import os

import pytest

# What may be missing, and a word in the reason for which a test is then skipped.
MISSING = {"browser": "chromium", "data": "PAMAL_DATA"}
REQUIRED = {*os.environ.get("PAMAL_REQUIRE", "").split(",")} - {""}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail a test that is skipped for want of what `PAMAL_REQUIRE` names: "browser", "data" or
    both, with a comma between."""
    report = yield
    reason = str(call.excinfo.value) if report.skipped and call.excinfo else ""
    for name in REQUIRED:
        if MISSING[name] in reason:
            report.outcome = "failed"
            report.longrepr = f"PAMAL_REQUIRE={name}, and it is not there: {reason}"
    return report


def pytest_configure() -> None:
    if unknown := REQUIRED - MISSING.keys():
        known = ", ".join(MISSING)
        raise pytest.UsageError(f"PAMAL_REQUIRE must name some of {known}. Found {min(unknown)}.")
