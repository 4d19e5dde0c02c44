"""Small images named as those of UTKFace, for tests of the reader."""

import io

import numpy as np
from PIL import Image


def jpeg(seed: int, size: tuple[int, int] = (20, 20), mode: str = "RGB") -> bytes:
    """A smooth random image."""
    grey = np.random.default_rng(seed).integers(256, size=(3, 3, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(grey).resize(size).convert(mode).save(file, "JPEG", quality=90)
    return file.getvalue()


def faces(num: int) -> dict[str, bytes]:
    """Contents by name; ages, genders and ethnicities all differ."""
    return {
        f"{1 + i % 116}_{i % 2}_{i % 5}_2017{i:013}.jpg.chip.jpg": jpeg(i % 40) for i in range(num)
    }
