"""`python -m pamal_core COMMAND`."""

import sys

from pamal_core.runs.commands import main

if __name__ == "__main__":
    sys.exit(main())
