from .explorer import Explorer
from .of_a_run import explore
from .playground import Playground

__all__ = ["Explorer", "Playground", "explore"]
