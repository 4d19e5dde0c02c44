"""Make runs: options, the table of methods, a run from options to record, its files, the
grid, notebooks, and methods of one's own beside them.
"""

from pamal_companion import needs

needs("companion", "pydantic", "filelock", "click", "safetensors")
