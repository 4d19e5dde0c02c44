"""The file of a state: its text, and a checksum of all that is in it. No torch here."""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import safetensors

from pamal_companion.data.atomic import READ_ERRORS
from pamal_core.errors import InputError

TORCH_NAMES = {
    **{f"F{bits}": f"torch.float{bits}" for bits in (16, 32, 64)},
    **{f"I{bits}": f"torch.int{bits}" for bits in (8, 16, 32, 64)},
    "BF16": "torch.bfloat16",
    "U8": "torch.uint8",
    "BOOL": "torch.bool",
}
"""The types of numbers by their names in safetensors, as torch prints them."""

READ_STATE_ERRORS = safetensors.SafetensorError, *READ_ERRORS
"""Exceptions that reading a damaged file of a state may raise."""


def checksum(text: str, tensors: Iterable[tuple[str, tuple[int, ...], str, Any]]) -> str:
    """Return the SHA-256 of `text` and of the key, shape, type and bytes of each tensor."""
    digest = hashlib.sha256(text.encode())
    for key, shape, kind, content in sorted(tensors, key=lambda tensor: tensor[0]):
        digest.update(f"{key} {shape} {kind}".encode())
        digest.update(content)
    return digest.hexdigest()


def check(metadata: dict[str, str], found: str) -> None:
    """Raise ValueError if a file that says `metadata` of itself has not the checksum `found`."""
    if "state" not in metadata:
        raise ValueError("it has tensors alone")
    if metadata.get("checksum") != found:
        raise ValueError("its checksum is that of other values")


def outline(path: Path, *, whole: bool) -> dict[str, Any]:
    """Return the state in `path` by name, tensors and all below left as they are written.

    If `whole`, all its bytes are read and checked, and else its header alone. Raises InputError if
    the file is damaged or another.
    """
    try:
        with path.open("rb") as file:  # once: a run may replace it meanwhile
            length = int.from_bytes(file.read(8), "little")
            rest = os.fstat(file.fileno()).st_size - 8 - length
            if rest < 0:
                raise ValueError("it is shorter than it says")
            header = file.read(length)
            entries = json.loads(header)
            metadata = entries.pop("__metadata__")
            if max((one["data_offsets"][1] for one in entries.values()), default=0) != rest:
                raise ValueError("it is shorter or longer than it says")
            if whole:
                content = b"".join((length.to_bytes(8, "little"), header, file.read()))
                tensors = (
                    (name, tuple(one["shape"]), TORCH_NAMES[one["dtype"]], one["data"])
                    for name, one in safetensors.deserialize(content)  # type: ignore[no-untyped-call]
                )
                check(metadata, checksum(metadata.get("state", ""), tensors))
        state = dict(json.loads(metadata["state"])["dict"])
        return state | {"key": str(state["key"])}
    except (*READ_STATE_ERRORS, LookupError, AttributeError) as error:
        raise InputError(f"{path} is damaged or another file: {error}.") from error
