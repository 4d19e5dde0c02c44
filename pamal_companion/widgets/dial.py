"""The dial of conflict: the networks of each side at a number of features, in a page."""

from pathlib import Path
from typing import Any

from IPython.display import HTML

from pamal_companion.runs.records import Record
from pamal_companion.widgets import html
from pamal_core.errors import InputError
from pamal_core.front import Front

WIDTHS = (2, 3, 4, 6, 10, 50)
WEIGHTS = (0.1, 0.3, 0.5, 0.7, 0.9)
SIDES = {
    "pamal": ("pamal",),
    "five": tuple(f"ls-{weight}-short" for weight in WEIGHTS),
    "one": ("ls-0.5",),
}
"""The runs of each side, which has as many passes in all as the others."""
WITHOUT_SCRIPTS = (
    "Where scripts run, a slider here goes over the number of features k, and the plot shows the "
    "networks of all three sides at that k."
)


def dial(folder: Path, about: str, opened: int = 6) -> HTML:
    """Return the records of `folder`, `dial-of-conflict`, as a widget that needs no kernel.

    - `about`: a line that says where the numbers are from.
    - `opened`: the number of features at which it opens.

    Raises InputError for a folder without such records.
    """
    seeds = sorted(int(path.stem.split("_")[-1]) for path in folder.glob(f"{opened}-pamal_seed_*"))
    if not seeds:
        raise InputError(f"Expected records of the dial in {folder}. Found none at k={opened}.")
    steps = [step(folder, k, seeds) for k in WIDTHS]
    objectives = [objective.words for objective in _front(folder, "50-pamal", seeds[0]).objectives]
    values = {"steps": steps, "objectives": objectives, "about": about, "opened": opened}
    fragment = html.fragment("dial", values, "pw-dial")
    without = f"<noscript><p>{WITHOUT_SCRIPTS}</p></noscript>"
    return HTML(f"<style>{html.style()}</style>\n{fragment}{without}")  # type: ignore[no-untyped-call]


def step(folder: Path, k: int, seeds: list[int]) -> dict[str, Any]:
    """Return the accuracies of each side at `k` features, and the hypervolume of all its networks
    in the mean over `seeds`."""
    values, volumes = {}, {}
    for side, runs in SIDES.items():
        fronts = []
        for seed in seeds:
            first, *others = (_front(folder, f"{k}-{run}", seed) for run in runs)
            fronts.append(first.union(*others))
        values[side] = [front.values.round(4).tolist() for front in fronts]
        volumes[side] = round(sum(f.hypervolume([0.0, 0.0]) for f in fronts) / len(fronts), 4)
    return {"k": k, "values": values, "hypervolume": volumes}


def _front(folder: Path, name: str, seed: int) -> Front:
    return Record.read(folder / f"{name}_seed_{seed}.json").front("validation")
