"""Run README's example for the core, and the command, with what a wheel alone has installed.

    python tests/of_the_wheel.py README.md ENVIRONMENT/bin/python

Both run in an empty folder, where no file of the repository can stand in for one of the wheel.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent

HINT = "The commands need more than the core."


def of_the_core(readme: str) -> str:
    """Return the one example that needs nothing but the core."""
    examples = re.findall(r" *```python\n(.*?)```", readme, re.DOTALL)
    (code,) = [dedent(code) for code in examples if "pamal_companion" not in code]
    return code


def main(readme: str, python: str) -> int:
    """Return 0 if the example runs and the command names the extra that it needs."""
    example = of_the_core(Path(readme).read_text("utf-8"))
    python = str(Path(python).absolute())
    with tempfile.TemporaryDirectory() as folder:
        code = "import torch; torch.manual_seed(0)\n" + example
        subprocess.run([python, "-I", "-c", code], cwd=folder, check=True)
        command = [python, "-I", "-m", "pamal_companion", "grid"]
        said = subprocess.run(command, cwd=folder, capture_output=True, text=True).stderr
    print(f"The example ran. The command says: {said.strip()}")
    return int(HINT not in said)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
