"""Pieces of the book that can be touched: one JavaScript for its pages and for JupyterLab."""

import lazy_loader

# The names of __init__.pyi are imported when first used: pages need neither anywidget nor torch.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
