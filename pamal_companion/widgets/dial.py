"""The dial of conflict: the networks of each side at a number of features, in a page."""

from typing import Any

from IPython.display import HTML

from pamal_companion.plots.dial import FIVE, ONE, PAMAL
from pamal_companion.study import dial as study
from pamal_companion.study.frame import volume
from pamal_companion.study.hypotheses import WIDTHS
from pamal_companion.widgets import html

SIDES = {"pamal": PAMAL, "five": FIVE, "one": ONE}
"""Each has as many passes in all as the others."""
OPENED = 6
"""The number of features at which it opens."""
WITHOUT_SCRIPTS = (
    "<noscript><p>Where scripts run, a slider here goes over the number of features k, and the "
    "plot shows the networks of all three sides at that k.</p></noscript>"
)


def dial(about: str) -> HTML:
    """Return the registered runs as a widget that needs no kernel; `about` is a line that says
    where the numbers are from."""
    steps = [step(k) for k in WIDTHS]
    (front, *_) = study.fronts(OPENED)[PAMAL]
    objectives = [objective.words for objective in front.objectives]
    values = {"steps": steps, "objectives": objectives, "about": about, "opened": OPENED}
    fragment = html.fragment("dial", values, "pw-dial")
    return HTML(f"<style>{html.style()}</style>\n{fragment}{WITHOUT_SCRIPTS}")  # type: ignore[no-untyped-call]


def step(k: int) -> dict[str, Any]:
    """Return the accuracies of each side at `k` features, and the hypervolume of all its networks
    in the mean over seeds."""
    every = study.fronts(k)
    values, volumes = {}, {}
    for side, method in SIDES.items():
        fronts = every[method]
        values[side] = [front.values.round(4).tolist() for front in fronts]
        volumes[side] = round(sum(map(volume, fronts)) / len(fronts), 4)
    return {"k": k, "values": values, "hypervolume": volumes}
