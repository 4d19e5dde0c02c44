"""`data`: which data sets are ready."""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from pamal_core.errors import InputError
from pamal_core.runs.commands import output

if TYPE_CHECKING:
    from pamal_core.data.inventory import Status


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `data`."""
    parser.add_argument("--root", help="where data lie; default: $PAMAL_DATA, or ~/.cache/pamal")
    parser.add_argument(
        "--get", metavar="NAME", help="download this data set, or say how to get it"
    )


def run(given: Namespace) -> int:
    """The state of the data set to get, or of all; 1 unless ready."""
    from pamal_core.data.files import data_root  # here, as these import torch
    from pamal_core.data.inventory import DATA_SETS, status

    root = data_root(given.root)
    if given.get is None:
        found = [status(name, root) for name in DATA_SETS]
    elif given.get in DATA_SETS:
        found = [status(given.get, root, download=True)]
    else:
        raise InputError(f"`--get` must name one of {', '.join(DATA_SETS)}. Found {given.get!r}.")
    output.put(given.json, {"root": root, "data": [one._asdict() for one in found]}, _text(found))
    return int(any(one.state != "ready" for one in found))


def _text(found: "list[Status]") -> str:
    """A table, and below it what is wrong and what to do about it."""
    rows = [
        {
            "data set": one.name,
            "state": one.state,
            "size": output.size(one.bytes),
            "where": str(one.place),
            "what": one.what if one.state == "ready" else "see below",
        }
        for one in found
    ]
    below = [
        output.paragraph(f"{one.name}: {one.what.rstrip('.')}. {one.advice}")
        for one in found
        if one.state != "ready"
    ]
    return "\n\n".join([output.table(rows, ["where", "what"]), *below])
