from .explorer import Explorer, explore
from .playground import Playground
from .runs import Runs

__all__ = ["Explorer", "Playground", "Runs", "explore"]
