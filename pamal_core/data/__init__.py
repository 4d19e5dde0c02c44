"""Data sets, each a module with one `load` that returns `Splits`; imports the method alone.

`load(data="auto")` takes the full set where its files are found under `data_root`, and otherwise a
built-in sample that needs no files; which of the two it was stands in the result.
"""
