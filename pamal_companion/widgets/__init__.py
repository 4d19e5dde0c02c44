"""Pieces of the book that can be touched: one JavaScript for its pages and for JupyterLab."""

from importlib import import_module

from pamal_companion import needs

# Where each name of __init__.pyi is defined; pages need neither anywidget nor torch.
_HOME = {"Explorer": "explorer", "Playground": "playground", "explore": "explorer"}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    needs("widgets", "anywidget", "ipywidgets")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
