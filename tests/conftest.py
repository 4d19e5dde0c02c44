"""Which modules are checked at run time, and which tests share a process."""

import gc
from pathlib import Path

import jaxtyping
import pytest
import torch
from jaxtyping import install_import_hook

# The shapes and types of each call are checked where tensors are. The study and the runs have none,
# and a face is drawn by functions of its own, each decorated anew: these take three times as long
# when checked. mypy reads all.
ROOT = Path(__file__).parents[1]
UNCHECKED = ("pamal_companion.study.", "pamal_companion.runs.", "pamal_companion.data.samples.")
FILES = [*(ROOT / "pamal_core").rglob("*.py"), *(ROOT / "pamal_companion").rglob("*.py")]
MODULES = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in FILES]
install_import_hook([m for m in MODULES if not m.startswith(UNCHECKED)], "beartype.beartype")
# Nor are they checked where whole runs, pages and programs are tried, as for a user.
WHOLE = {"book", "experiments", "faults", "runs", "study", "widgets"}
WHOLE |= {"test_toy_experiment.py", "test_ablation_balancing.py", "test_what_users_write.py"}
WHOLE |= {"test_diagnosis.py", "test_fit_is_open.py", "test_outputs_of_tasks.py"}
WHOLE |= {"test_loaders_by_task.py"}
# The hashes of 72 trainings say more than the shapes of what is in them.
WHOLE |= {"test_same_bits.py"}

# After the hook, since it imports the package.
pytest_plugins = ["small_problems", "required"]

# Nothing of what is imported and collected is garbage: to look for it there takes a worker seconds.
gc.disable()

# What takes longest begins first: the other worker would wait for one that begins it last.
LONG = ["test_pages", "kernel", "test_faults", "test_workflow", "test_every_method"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sorts tests into the groups of `--dist loadgroup`: by file, but those that need a kernel
    share one."""
    if not config.pluginmanager.hasplugin("xdist"):  # as in the environment of `make test-core`
        return

    def place(item: pytest.Item) -> tuple[int, str]:
        name = "kernel" if "kernel" in getattr(item, "fixturenames", []) else item.path.stem
        return (LONG.index(name) if name in LONG else len(LONG)), name

    places = {item: place(item) for item in items}
    for item, (_, name) in places.items():
        item.add_marker(pytest.mark.xdist_group(name))
    items.sort(key=lambda item: places[item][0])


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    is_whole = bool({*item.path.relative_to(ROOT / "tests").parts} & WHOLE)
    jaxtyping.config.update("jaxtyping_disable", is_whole)


@pytest.fixture(autouse=True)
def _same_random_numbers_in_every_test() -> None:
    torch.manual_seed(0)
