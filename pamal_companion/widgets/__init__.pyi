from .explorer import Explorer, explore
from .playground import Playground

__all__ = ["Explorer", "Playground", "explore"]
