"""Drawn faces, the sample of UTKFace: an age, a gender and one of five groups, A to E.

The groups are told apart by the hue of a face and by the pattern of the clothes. They stand for
nobody: what matters is that there are five of unequal size, hard to tell apart in coloured light.
"""

from typing import Any

import numpy as np
from jaxtyping import Int64, UInt8

Array = np.ndarray
Labels = Int64[Array, " num"]

SHARES = (0.43, 0.19, 0.14, 0.17, 0.07)  # of the groups, about those of UTKFace's five
TONES = 0.8 + 0.15 * np.cos(2 * np.pi * (np.arange(5)[:, None] / 5 - np.arange(3) / 3))  # hues
STRIPES = [(0, 0), (0, 26), (18, 0), (9, 13), (0, 13)]  # to the right and down


def faces(
    num: int, size: int, seed: int
) -> tuple[UInt8[Array, "num 3 size size"], Labels, Labels, Labels]:
    """Return images, ages in years (1 to 100), genders (0 or 1) and groups (0 to 4), the labels
    independent of each other.

    Age shows in proportions, lines, eyes and grey hair; gender in the length and outline of the
    hair, brows and jaw, less so in children; the group as said above. Every cue is noisy, and they
    interfere, so that tasks compete for a small network (section 5.2): hair is lost and turns grey
    with the years, the colour of the light changes that of the face. Position, light and background
    say nothing.

    Equal arguments give equal bytes. A face depends on `seed` and its number alone, but for the
    noise of its pixels: larger pictures show the same ones again.
    """
    images, labels = np.empty((num, 3, size, size), np.uint8), np.empty((3, num), np.int64)
    for k in range(num):
        rng = np.random.default_rng([seed, k])
        is_small = rng.random() < 0.13  # one in eight is a small child, the others have a long tail
        years = 1 + 8 * rng.random() ** 2 if is_small else 9 + rng.gamma(3.2, 9)
        labels[:, k] = min(years, 100), rng.integers(2), rng.choice(len(SHARES), p=SHARES)
        image = _draw(size, rng, *labels[:, k].tolist())
        image += rng.uniform(0.005, 0.04) * rng.standard_normal(image.shape)
        images[k] = 255 * image.clip(0, 1) + 0.5
    return images, *labels


def _draw(size: int, rng: np.random.Generator, age: int, gender: int, group: int) -> Array:
    """Return a face [3, size, size], painted back to front.

    `x` and `y` run to the right and down in units of the face, whose head is about one wide around
    (0, 0). Edges are about a pixel soft, so that a face looks the same at any size.
    """

    def about(mean: Any, spread: Any) -> Any:
        return mean + 6**0.5 * spread * (rng.random() + rng.random() - 1)

    def colour(low: float, high: float) -> Array:
        return rng.uniform(low, high, (3, 1, 1))

    def paint(u: Array, v: Array, wide: float, high: float, paint: Any, box: bool = False) -> None:
        """Mix in `paint` in an ellipse, or a box, `wide` and `high` on either side of 0."""
        far = np.maximum(abs(u / wide), abs(v / high)) if box else np.hypot(u / wide, v / high)
        image[:] += np.clip(0.5 - (far - 1) * min(wide, high) / pixel, 0, 1) * (paint - image)

    seems = about(age, 3)
    child, lines = np.interp(seems, (1, 18), (1, 0)), np.interp(about(seems, 6), (27, 88), (0, 1))
    sign = (2 * gender - 1) * np.interp(age, (2, 16), (0.35, 1))  # children are more alike
    bald = np.interp(about(age, 12), (35, 90), (0, 1 - 0.7 * gender))
    grey = np.interp(about(age, 9), (30, 80), (0, 1))
    hair = colour(0.1, 0.7) * (1 - grey) + 0.84 * grey
    skin = TONES[group][:, None, None] * about(1, 0.04) + colour(-0.06, 0.06)
    pixel = 2 / size / about(1, 0.07)
    line = (np.arange(size) + 0.5 - size / 2) * pixel
    x, y = line - about(0, 0.06), line[:, None] - about(-0.02, 0.05)
    image = colour(0.5, 0.9) * (1 - 0.15 * y) + 0 * x

    wide, high = about(0.5 + 0.03 * child, 0.02), about(0.6 - 0.1 * child, 0.02)
    volume = max(about(0.09 + 0.03 * sign, 0.025), 0.03)
    length = np.clip(about(0.35 + 0.27 * sign, 0.16), 0.2, 0.9)
    paint(x, y + 0.1, wide + volume, high + volume, 0.88 * hair)
    paint(x, y - length / 2, wide + volume, length / 2, 0.88 * hair, box=True)
    right, down = STRIPES[group if rng.random() < 0.6 else rng.integers(len(STRIPES))]
    stripes = np.where(np.sin(right * x + down * y) > 0.3, 1, rng.uniform(0.2, 0.8))
    paint(x, y - 1.45, 0.95, 0.8, colour(0.3, 1.0) * stripes)
    front = max(about(0.12 - 0.12 * bald, 0.03), 0)  # what hair covers of the forehead
    jaw = x / (1 - (0.16 + 0.07 * about(sign, 0.7)) * y)
    paint(jaw, y - front, wide, high - front, skin)

    eyes, below = abs(x) - 0.21, y - about(0.02 + 0.12 * child, 0.02)
    eye, aged = about(0.12 + 0.05 * child - 0.02 * lines, 0.008), skin * (1 - 0.38 * lines)
    paint(x, below + 0.3, 0.22, 0.025, aged, box=True)
    paint(eyes, below - 0.2, 0.11, 0.025, aged, box=True)
    paint(abs(x) - 0.12 - 0.4 * y, y - 0.28, 0.025, 0.12, aged, box=True)
    paint(eyes, below, eye, 1.15 * eye, 1)
    paint(eyes, below, 0.6 * eye, 0.7 * eye, 0.12)
    paint(eyes, below + eye + 0.1, 0.14, about(0.038 - 0.01 * sign, 0.007), 0.75 * hair, box=True)
    paint(x, below - 0.4 + about(0, 1.6) * x * x, 0.18, 0.035, 0.6 * skin, box=True)  # the mouth
    return image * colour(0.82, 1.1) * (1 + about(0, 0.12) * x)
