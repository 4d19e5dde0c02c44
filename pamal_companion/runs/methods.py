"""The table of methods: the paper's, by the names that `Options` and records give them.

No torch here: `pamal_companion.runs.build`, which builds a method, is imported when it is needed.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MethodRow:
    """A method: its name in print, its balancer, and the options that it has beside those of all.

    `rule` is the balancer of one network with uniform task weights: a class, or the name of one in
    `pamal_core.balancing`, since this table is read without torch. It is called with the options of
    the method, and with the number of tasks if they name "num_tasks". `make` makes a whole `Method`
    instead, of the tasks, a function that makes a network, and the name of its encoder. Methods
    with neither are cases of `pamal_companion.runs.build.build`.

    An option that any method lists is that of the methods that list it: the others neither use nor
    record it. `one_network` says whether a run ends with a single network for all tasks.
    """

    printed: str
    rule: str | Callable[..., Any] = ""
    options: tuple[str, ...] = ()
    one_network: bool = True
    make: Callable[..., Any] | None = None


_BALANCING = ("balancing", "balancing_form", "history")
_DRAWING = ("p", "p_first", "draws", "grid")
_PENALTY = ("lam", "W", "penalty", "edges", "skip")
_PAMAL = (*_PENALTY, *_DRAWING, *_BALANCING, "lr_scaling", "shared_epochs")
_LOW_RANK = ("rank", "train_base", "shared_epochs", "W", *_DRAWING, "lr_scaling")
_PHN = (*_DRAWING, "solver", "chunk", "target")

METHODS: dict[str, MethodRow] = {
    "pamal": MethodRow("PaMaL", options=_PAMAL, one_network=False),
    "ls": MethodRow("LS", options=("weights", "shared_epochs", *_BALANCING)),
    "stl": MethodRow("STL", options=("task", *_BALANCING), one_network=False),
    "uw": MethodRow("UW", "UncertaintyWeighting", ("num_tasks",)),
    "dwa": MethodRow("DWA", "DynamicWeightAverage", ("temperature", "steps_per_window")),
    "rlw": MethodRow("RLW", "RandomWeighting"),
    "mgda": MethodRow("MGDA", "MGDA", ("heads",)),
    "pcgrad": MethodRow("PCGrad", "PCGrad", ("heads",)),
    "imtl": MethodRow("IMTL", "IMTL", ("heads",)),
    "graddrop": MethodRow("Graddrop", "GradDrop"),
    "cagrad": MethodRow("CAGrad", "CAGrad", ("c", "heads")),
    "nash_mtl": MethodRow("Nash-MTL", "NashMTL", ("heads",)),
    "auto_lambda": MethodRow("Auto-lambda"),
    "rotograd": MethodRow("RotoGrad", options=("trained",)),
    "soup": MethodRow("Rewarded soup", options=("shared_epochs",), one_network=False),
    "low_rank": MethodRow("Low rank", options=_LOW_RANK, one_network=False),
    "phn": MethodRow("PHN", options=_PHN, one_network=False),
    "cosmos": MethodRow("COSMOS", options=(*_DRAWING, "lam"), one_network=False),
}


@contextmanager
def added(rows: Mapping[str, MethodRow]) -> Iterator[None]:
    """Have the methods `rows` in the table, by their names, within a context."""
    METHODS.update(rows)
    try:
        yield
    finally:
        for name in rows:
            del METHODS[name]


def affects(option: str, method: str) -> bool:
    """Return whether `method` uses `option`, or no method in particular does; a name that is not in
    the table stands for several methods, and may use any."""
    owners = [name for name, row in METHODS.items() if option in row.options]
    return not owners or method in owners or method not in METHODS
