"""Tests that share what takes long to make share a process (tests/conftest.py)."""


def test_a_test_is_in_the_group_of_its_file(request):
    is_grouped = bool(request.config.getoption("loadgroup", False))  # a worker's, with make test
    assert request.node.nodeid.endswith("@test_groups") == is_grouped
