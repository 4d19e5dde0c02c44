"""Pareto Manifold Learning (Dimitriadis, Frossard and Fleuret, ICML 2023).

Wrap M networks in a `WeightEnsemble`, train their convex hull with `Method` and `train`, look at
the `Front` that `evaluate` returns, and `export` the network at the alpha you choose.
"""

import lazy_loader

# The names of __init__.pyi are imported when first used: records, fronts and plots need no torch.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
