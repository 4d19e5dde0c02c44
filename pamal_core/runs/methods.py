"""The table of methods: the paper's, by the names that `Options` and records give them.

No torch here: a method is built by `pamal_core.runs.build`, which is imported when it is needed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pamal_core.method import Method
    from pamal_core.runs.build import Parts


@dataclass(frozen=True)
class Row:
    """A method: its name in print, what builds it, and the options that it has beside those of all.

    An option that any method lists is that of the methods that list it: the others neither use nor
    record it. `published` are the defaults of the method's own authors where they are not those of
    `Options`. `one_network` says whether a run ends with a single network for all tasks.
    """

    printed: str
    build: "Callable[[Parts], Method]"
    options: tuple[str, ...] = ()
    published: Mapping[str, float] = field(default_factory=dict)
    one_network: bool = True


def _from(name: str) -> "Callable[[Parts], Method]":
    """The function `name` of `pamal_core.runs.build`."""
    return lambda parts: getattr(import_module("pamal_core.runs.build"), name)(parts)


def baseline(printed: str, rule: str, *arguments: str) -> Row:
    """One network with uniform task weights and a balancer of its own.

    `rule` is "module.Class" in `pamal_core.balancing`. The class is called with the options of the
    run that `arguments` names, and with the number of tasks where it names "num_tasks".
    """

    def build(parts: "Parts") -> "Method":
        module, _, name = rule.rpartition(".")
        known = dict(parts.options) | {"num_tasks": len(parts.tasks)}
        make = getattr(import_module(f"pamal_core.balancing.{module}"), name)
        return parts.one_network(make(**{name: known[name] for name in arguments}))

    return Row(printed, build, tuple(name for name in arguments if name != "num_tasks"))


_BALANCING = ("balancing", "balancing_form", "history")
_DRAWING = ("p", "draws", "grid")
_PENALTY = ("lam", "W", "penalty", "edges", "skip")

METHODS: dict[str, Row] = {
    "pamal": Row(
        "PaMaL",
        _from("pamal"),
        (*_PENALTY, *_DRAWING, *_BALANCING, "lr_scaling"),
        one_network=False,
    ),
    "ls": Row("LS", _from("fixed_weights"), ("weights", *_BALANCING)),
    "stl": Row("STL", _from("fixed_weights"), ("task", *_BALANCING), one_network=False),
    "uw": baseline("UW", "uncertainty.UncertaintyWeighting", "num_tasks"),
    "dwa": baseline("DWA", "dwa.DynamicWeightAverage", "temperature"),
    "rlw": baseline("RLW", "rlw.RandomWeighting"),
    "mgda": baseline("MGDA", "mgda.MGDA", "heads"),
    "pcgrad": baseline("PCGrad", "pcgrad.PCGrad", "heads"),
    "imtl": baseline("IMTL", "imtl.IMTL", "heads"),
    "graddrop": baseline("Graddrop", "graddrop.GradDrop"),
    "cagrad": baseline("CAGrad", "cagrad.CAGrad", "c", "heads"),
    "nash_mtl": baseline("Nash-MTL", "nash_mtl.NashMTL", "heads"),
    "auto_lambda": Row("Auto-lambda", _from("auto_lambda")),
    "rotograd": Row("RotoGrad", _from("rotograd")),
    "phn": Row("PHN", _from("phn"), (*_DRAWING, "solver", "chunk"), {"p": 0.2}, one_network=False),
    "cosmos": Row(
        "COSMOS", _from("cosmos"), (*_DRAWING, "lam"), {"p": 1.2, "lam": 2.0}, one_network=False
    ),
}


def matters(option: str, method: str) -> bool:
    """Whether `method` uses `option`, or no method in particular does; a name that is not in the
    table stands for several methods, and may use any."""
    owners = [name for name, row in METHODS.items() if option in row.options]
    return not owners or method in owners or method not in METHODS
