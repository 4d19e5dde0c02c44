"""The table of methods: the paper's, by the names that `Options` and records give them.

No torch here: `pamal_companion.runs.build`, which builds a method, is imported when it is needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """A method: its name in print, its balancer, and the options that it has beside those of all.

    `rule` is "module.Class" in `pamal_core.balancing`, which balances one network with uniform task
    weights; it is called with the options of the method, and with the number of tasks where they
    name "num_tasks". Methods without a `rule` are cases of `pamal_companion.runs.build.build`.

    An option that any method lists is that of the methods that list it: the others neither use nor
    record it. `published` are the defaults of the method's own authors where they are not those of
    `Options`. `one_network` says whether a run ends with a single network for all tasks.
    """

    printed: str
    rule: str = ""
    options: tuple[str, ...] = ()
    published: Mapping[str, float] = field(default_factory=dict)
    one_network: bool = True


_BALANCING = ("balancing", "balancing_form", "history")
_DRAWING = ("p", "p_first", "draws", "grid")
_PENALTY = ("lam", "W", "penalty", "edges", "skip")
_PAMAL = (*_PENALTY, *_DRAWING, *_BALANCING, "lr_scaling", "shared_epochs")
_LOW_RANK = ("rank", "train_base", "shared_epochs", "W", *_DRAWING, "lr_scaling")
_PHN = (*_DRAWING, "solver", "chunk", "target")

METHODS: dict[str, Row] = {
    "pamal": Row("PaMaL", options=_PAMAL, one_network=False),
    "ls": Row("LS", options=("weights", "shared_epochs", *_BALANCING)),
    "stl": Row("STL", options=("task", *_BALANCING), one_network=False),
    "uw": Row("UW", "uncertainty.UncertaintyWeighting", ("num_tasks",)),
    "dwa": Row("DWA", "dwa.DynamicWeightAverage", ("temperature", "steps_per_window")),
    "rlw": Row("RLW", "rlw.RandomWeighting"),
    "mgda": Row("MGDA", "mgda.MGDA", ("heads",)),
    "pcgrad": Row("PCGrad", "pcgrad.PCGrad", ("heads",)),
    "imtl": Row("IMTL", "imtl.IMTL", ("heads",)),
    "graddrop": Row("Graddrop", "graddrop.GradDrop"),
    "cagrad": Row("CAGrad", "cagrad.CAGrad", ("c", "heads")),
    "nash_mtl": Row("Nash-MTL", "nash_mtl.NashMTL", ("heads",)),
    "auto_lambda": Row("Auto-lambda"),
    "rotograd": Row("RotoGrad", options=("trained",)),
    "soup": Row("Rewarded soup", options=("shared_epochs",), one_network=False),
    "low_rank": Row("Low rank", options=_LOW_RANK, one_network=False),
    "phn": Row("PHN", options=_PHN, published={"p": 0.2}, one_network=False),
    "cosmos": Row(
        "COSMOS", options=(*_DRAWING, "lam"), published={"p": 1.2, "lam": 2.0}, one_network=False
    ),
}


def affects(option: str, method: str) -> bool:
    """Whether `method` uses `option`, or no method in particular does; a name that is not in the
    table stands for several methods, and may use any."""
    owners = [name for name, row in METHODS.items() if option in row.options]
    return not owners or method in owners or method not in METHODS
