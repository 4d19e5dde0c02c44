"""Comparing, joining and averaging fronts, and measures of them that the method does not need,
without torch.
"""

from pamal_companion.fronts.attainment import attained
from pamal_companion.fronts.barriers import barrier
from pamal_companion.fronts.comparison import compare
from pamal_companion.fronts.joining import union
from pamal_companion.fronts.seeds import OverSeeds, over_seeds
from pamal_companion.fronts.volume import approximate_hypervolume, hypervolume

__all__ = [
    "OverSeeds",
    "approximate_hypervolume",
    "attained",
    "barrier",
    "compare",
    "hypervolume",
    "over_seeds",
    "union",
]
