from .explorer import Explorer

__all__ = ["Explorer"]
