"""Pareto Manifold Learning (Dimitriadis, Frossard and Fleuret, ICML 2023).

Wrap M networks in a `WeightEnsemble`, train their convex hull with `Method` and `train`, look at
the `Front` that `evaluate` returns, and `export` the network at the alpha you choose.
"""

import getpass
import os
from importlib import import_module

__version__ = "1.0.0"

# Where each name of __init__.pyi is defined. A module is imported when a name of it is first used:
# fronts need no torch, whose import takes longer than all that one does with a record.
_HOMES = {
    "balancing": ["UnitNorm"],
    "classes": ["classification", "segmentation"],
    "ensemble": ["WeightEnsemble", "member_parameters"],
    "errors": ["InputError", "NonFiniteError"],
    "evaluation": ["evaluate"],
    "fitted": ["Fitted"],
    "recipe": ["fit"],
    "front": ["Front"],
    "labels": ["binary"],
    "metrics": ["Metric"],
    "method": ["Method"],
    "numbers": ["depth", "regression"],
    "penalties": ["MultiForward"],
    "simplex": ["Dirichlet", "lattice"],
    "tasks": ["Task"],
    "training": ["train"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME)


def _name_the_user() -> None:
    """Set LOGNAME if the user has no name, as in a container that runs as a number. torch asks for
    the name when it makes its first optimiser, and when it compiles, and would raise."""
    try:
        getpass.getuser()
    except (KeyError, OSError):  # KeyError up to Python 3.12
        os.environ["LOGNAME"] = f"user{os.getuid()}"


_name_the_user()


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
