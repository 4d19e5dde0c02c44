"""The repository that the book is of, first on the path: the package need not be installed, and the
book shows the widgets and the records of its own checkout."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
