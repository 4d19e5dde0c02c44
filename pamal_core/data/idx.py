"""The IDX format of the MNIST files.

torchvision has a reader too, but it takes uncompressed files only, checks with assert, and its
import costs more than composing a whole data set here.
"""

import math
from pathlib import Path

import numpy as np

from pamal_core.data.files import gunzip
from pamal_core.errors import InputError


def read_idx(path: Path) -> np.ndarray:
    """The uint8 array, of any shape, in a gzip-compressed IDX file; InputError where it is anything
    else.

    The header is two zero bytes, the type (8 is uint8), the number of axes, and the length of each
    axis as a big-endian 32-bit integer; the bytes of the array follow, last axis fastest.
    """
    content = gunzip(path)
    if len(content) < 4 or content[:3] != b"\0\0\x08" or len(content) < 4 + 4 * content[3]:
        raise InputError(
            f"Expected an IDX file of unsigned bytes. {path} starts with {content[:4].hex(' ')!r}."
        )
    start = 4 + 4 * content[3]
    shape = np.frombuffer(content[4:start], ">u4").tolist()
    if len(content) - start != math.prod(shape):
        raise InputError(
            f"{path} ought to hold {math.prod(shape)} bytes of shape {shape}. "
            f"Found {len(content) - start}."
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
