"""What `python -m pamal_core` can do, one command per module. No torch here but for `data`."""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from pamal_core.errors import InputError
from pamal_core.runs.commands import clean, compare, data, runs, show

COMMANDS = {
    "data": (data, "which data sets are ready, and how to get the others"),
    "runs": (runs, "every run in a folder: finished, unfinished or damaged"),
    "show": (show, "one run: options, results, cost and front"),
    "compare": (compare, "results beside the numbers in the paper's tables"),
    "clean": (clean, "what interrupted runs have left; deletes it with --yes"),
}


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, as all others are."""

    def error(self, message: str) -> NoReturn:
        raise InputError(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code, 2 where what was given is wrong."""
    # A name of a file need not be text that this terminal can show.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        given = _parser().parse_args(arguments)
        code: int = given.run(given)
        sys.stdout.flush()
        return code
    except InputError as error:
        reason = str(error)
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        reason = str(error)
    print("error:", " ".join(reason.split()), file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m pamal_core", description="Data, runs and results of PaMaL.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module, what) in COMMANDS.items():
        command = commands.add_parser(name, help=what, description=what)
        module.add_arguments(command)
        command.add_argument("--json", action="store_true", help="one JSON document instead")
        command.set_defaults(run=module.run)
    return parser
