"""Pieces of the book that can be touched: one JavaScript for its pages and for JupyterLab."""
