"""How many lines one reads to follow Algorithm 1: `python benchmarks/reading.py`.

Runs README's example with a penalty for one epoch, notes each function of the core that is called,
and counts their lines, docstrings included.
"""

import inspect
import re
import sys
from collections import Counter
from pathlib import Path

import pamal_core
from pamal_core import Method, MultiForward, evaluate, train

ROOT = Path(__file__).parents[1]
PACKAGE = str(Path(pamal_core.__file__).parent)


def lines_of(code):
    """Return where a function is, and its lines."""
    source, first = inspect.getsourcelines(code)
    return code.co_filename, {*range(first, first + len(source))}


def main():
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    block = next(block for block in blocks if "Houses" in block)
    names = {}
    exec(block.split("method = ")[0], names)  # the model, its data and the network
    tasks = [pamal_core.regression("price"), pamal_core.classification("sold")]
    method = Method(names["network"], tasks, penalty=MultiForward(1.0), window=3)
    loader = names["training"]
    seen = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            seen.add(frame.f_code)

    sys.setprofile(note)
    train(method, loader, epochs=1, progress=False)
    front = evaluate(names["network"], tasks, [next(iter(loader))], progress=False)
    names["network"].export(front.choose().alpha)
    sys.setprofile(None)
    files = {}
    for code in seen:
        file, numbers = lines_of(code)
        files.setdefault(file, set()).update(numbers)
    counts = Counter({Path(f).relative_to(PACKAGE).as_posix(): len(n) for f, n in files.items()})
    for name, number in counts.most_common():
        print(f"{number:5d} {name}")
    print(f"{counts.total():5d} lines of {len(seen)} functions")


if __name__ == "__main__":
    main()
