"""Drawn faces, the sample of UTKFace: an age, a gender and one of five groups, A to E.

The groups are told apart by the hue of a face and by what is worn at the neck. They stand for
nobody: what matters is that there are five of unequal size, hard to tell apart in coloured light.
"""

from types import SimpleNamespace

import numpy as np
from jaxtyping import Int64, UInt8

from pamal_core.errors import InputError

Array = np.ndarray

SHARES = (0.43, 0.19, 0.14, 0.17, 0.07)  # of the groups, about those of UTKFace's five
TONES = np.array(  # apricot, rose, lilac, sky and mint
    [[0.98, 0.8, 0.64], [0.96, 0.7, 0.74], [0.8, 0.72, 0.94], [0.66, 0.82, 0.95], [0.72, 0.9, 0.72]]
)
HAIR = np.array([[0.15, 0.12, 0.12], [0.38, 0.25, 0.16], [0.85, 0.67, 0.34], [0.68, 0.32, 0.16]])
GREY = np.array([0.84, 0.84, 0.86])
LIPS = np.array([0.75, 0.3, 0.32], np.float32)[:, None, None]
BLUSH = np.array([1, 0.86, 0.88], np.float32)[:, None, None]
CHUNK = 128  # pictures drawn together: their arrays stay in the processor's cache


def faces(
    num: int, size: int, seed: int
) -> tuple[
    UInt8[Array, "num 3 size size"],
    Int64[Array, " num"],
    Int64[Array, " num"],
    Int64[Array, " num"],
]:
    """Images, ages in years (1 to 100), genders (0 or 1) and groups (0 to 4), the labels
    independent of each other.

    Age shows in proportions, lines, eyes and grey hair; gender in the length and outline of the
    hair, brows and jaw, less so in children; the group as said above. Every cue is noisy, and they
    interfere, so that tasks compete for a small network (section 5.2): hair is lost and turns
    grey with the years, glasses hide lines and eyes, the colour of the light changes that of the
    face. Position, light, clothes, background and smile say nothing.

    Equal arguments give equal bytes. A `seed` draws the same people at every `size`, but for the
    noise of the pixels; fewer faces are not the first of more. InputError where `num` < 1 or `size`
    < 16.
    """
    if num < 1 or size < 16:
        raise InputError(
            f"A sample needs num >= 1 and size >= 16. Found num={num} and size={size}."
        )
    rng = np.random.default_rng(seed)
    small = rng.random(num) < 0.13  # one in eight is a small child, the others have a long tail
    years = np.where(small, 1 + 8 * rng.random(num) ** 2, 9 + rng.gamma(3.2, 9, num))
    ages, genders = years.clip(1, 100).astype(np.int64), rng.integers(2, size=num)
    groups = rng.choice(len(SHARES), num, p=SHARES)
    looks = {
        name: values.astype(np.float32)[..., None, None]
        for name, values in _looks(rng, ages[:, None], genders[:, None], groups).items()
    }
    images = np.empty((num, 3, size, size), np.uint8)
    for start in range(0, num, CHUNK):
        rows = slice(start, start + CHUNK)
        drawn = _draw(size, SimpleNamespace(**{name: v[rows] for name, v in looks.items()}))
        drawn += rng.standard_normal(drawn.shape, np.float32) * looks["noise"][rows]
        images[rows] = drawn.clip(0, 1) * np.float32(255) + np.float32(0.5)
    return images, ages, genders, groups


def _looks(
    rng: np.random.Generator, ages: Array, genders: Array, groups: Array
) -> dict[str, Array]:
    """What a face looks like: for each trait a number or a colour, [n, 1] or [n, 3]."""
    n = len(ages)

    def about(mean: Array | float, spread: float, width: int = 1) -> Array:
        return mean + rng.normal(0, spread, (n, width))

    def ramp(values: Array, low: float, high: float) -> Array:
        return ((values - low) / (high - low)).clip(0, 1)

    seems = about(ages, 3)
    child = 1 - ramp(seems, 1, 18)
    sign = (2 * genders - 1) * (0.35 + 0.65 * ramp(ages, 2, 16))  # children are more alike
    bald = ramp(about(ages, 12), 35, 90) * (1 - 0.7 * genders)
    grey = ramp(about(ages, 9), 30, 80)
    mix = rng.dirichlet(np.full(len(HAIR), 0.4), n)
    own = (mix[:, :, None] * HAIR).sum(1)  # not @, whose last digit depends on the machine
    typical = rng.random(n) < 0.6
    return {
        "right": about(0, 0.06),
        "down": about(-0.02, 0.05),
        "scale": rng.uniform(0.86, 1.12, (n, 1)),
        "head_x": about(0.5 + 0.03 * child, 0.02),
        "head_y": about(0.6 - 0.1 * child, 0.02),
        "eye_y": about(0.02 + 0.12 * child, 0.02),
        "eye": about(0.12 + 0.05 * child - 0.02 * ramp(seems, 18, 90), 0.008),
        "nose": about(0.05 + 0.05 * ramp(seems, 5, 60), 0.008),
        "lines": ramp(about(seems, 6, 3), 27, 88),
        "length": about(0.35 + 0.27 * sign, 0.16).clip(0.2, 0.9),
        "volume": about(0.09 + 0.03 * sign, 0.025).clip(0.03),
        "brow": about(0.075 - 0.02 * sign, 0.014),
        "jaw": about(-0.16 - 0.07 * sign, 0.05),
        "lips": about(0.065 + 0.012 * sign, 0.012),
        "hairline": about(-0.32 - 0.2 * bald, 0.05),
        "fringe": about(0.25, 0.3),
        "hair": (own * (1 - grey) + GREY * grey) * about(1, 0.06),
        "skin": about(TONES[groups], 0.035, 3) * about(1, 0.04),
        "collar": np.where(typical, groups, rng.integers(5, size=n))[:, None],
        "cloth": rng.uniform(0.1, 0.7, (n, 3)),
        "trim": rng.uniform(0.75, 1, (n, 3)),
        "mouth": rng.uniform(0.12, 0.24, (n, 1)),
        "smile": about(0.06, 0.05),
        "glasses": rng.random((n, 1)) < 0.2,
        "sky": rng.uniform(0.4, 0.9, (n, 1)) + rng.normal(0, 0.08, (n, 3)),
        "light": about(0, 0.12),
        "tint": about(1, 0.05, 3) * rng.uniform(0.8, 1.08, (n, 1)),
        "noise": rng.uniform(0.005, 0.04, (n, 1)),
    }


def _draw(size: int, its: SimpleNamespace) -> Array:
    """Faces [n, 3, size, size] with the traits `its`, [n, 1 or 3, 1, 1], painted back to front.

    `x` and `y` run to the right and down in units of the face, whose head is about one wide around
    (0, 0). Shapes are signed distances, so every edge is half a pixel soft at any size.
    """
    line = (np.arange(size, dtype=np.float32) + 0.5) * 2 / size - 1
    x, y = (line - its.right) / its.scale, (line[:, None] - its.down) / its.scale
    image = its.sky * (1 - 0.15 * y) + 0 * x

    def paint(distance: Array, colour: Array | float, opacity: Array | float = 1.0) -> None:
        cover = np.clip(0.5 - distance * (size * its.scale / 2), 0, 1) * opacity
        image[:] += cover * (colour - image)

    half, eye_x, down = its.head_x + its.volume, abs(x) - 0.21, y - its.eye_y
    middle, reach = (its.length - 0.1) / 2, (its.length + 0.1) / 2 - 0.16
    fall = np.hypot((abs(x) - half + 0.16).clip(0), (abs(y - middle) - reach).clip(0)) - 0.16
    crown = _ellipse(x, y + 0.1, half, its.head_y + its.volume - 0.03)
    paint(np.minimum(crown, fall), its.hair * 0.88)

    paint(np.maximum(abs(x) - 0.2, abs(y - 0.4) - 0.45), its.skin * 0.86)  # the neck
    body, cut = _ellipse(x, y - 1.45, 0.95, 0.8), _ellipse(x, y - 0.64, 0.22, 0.14)
    paint(body, its.cloth)
    patterns = [
        abs(cut) - 0.06,  # a round collar
        np.maximum(abs(x) - (1 - y) * 0.8, 0.62 - y),  # an open one
        np.maximum(0.07 - abs((y - 0.62) % 0.24 - 0.12), body),  # stripes
        _ellipse(abs(x) - 0.16, y - 0.77, 0.16, 0.11),  # a bow tie
        np.maximum(0.12 - abs(x), body),  # all but a strip in the middle
    ]
    paint(np.select([its.collar == k for k in range(5)], patterns), its.trim)

    paint(_ellipse(abs(x) - its.head_x - 0.01, y - 0.06, 0.09, 0.13), its.skin * 0.92)  # ears
    head = _ellipse(x / (1 + its.jaw * y), y, its.head_x, its.head_y)
    paint(head, its.skin)
    paint(_ellipse(abs(x) - 0.3, down - 0.25, 0.12, 0.09), its.skin * BLUSH, 0.5)
    for k, wrinkle in enumerate(
        (
            np.minimum(_stroke(x, down + 0.26, 0.24, 0.05), _stroke(x, down + 0.35, 0.2, 0.05)),
            _stroke(eye_x, down - 0.18, 0.11, 0.05, -0.04),  # under the eyes
            _stroke(y - 0.28, abs(x) - 0.12 - 0.4 * y, 0.12, 0.05),  # beside the mouth
        )
    ):
        paint(wrinkle, its.skin * 0.62, its.lines[:, k : k + 1])

    for share, colour in ((1.0, 1.0), (0.6, 0.12)):
        paint(_ellipse(eye_x, down, its.eye * share, its.eye * share * 1.15), colour)
    paint(_stroke(eye_x, down + its.eye + 0.1, 0.14, its.brow, 0.02), its.hair * 0.75)
    paint(_ellipse(x, down - 0.17, 0.05, its.nose), its.skin * 0.8)
    paint(_stroke(x, down - 0.4, its.mouth, its.lips, -its.smile), LIPS)
    fringe = y - its.hairline - its.fringe * x * x
    paint(np.maximum(head - 0.03, fringe * 0.9), its.hair)
    rims = abs(_ellipse(eye_x, down, 0.19, 0.17)) - 0.025
    paint(np.minimum(rims, _stroke(x, down, 0.03, 0.05)), 0.12, its.glasses)
    return image * (1 + its.light * x) * its.tint


def _ellipse(x: Array, y: Array, rx: Array | float, ry: Array | float) -> Array:
    """About the signed distance: the implicit function over the length of its gradient."""
    a, b = x / rx, y / ry
    inside = np.sqrt(a * a + b * b) + 1e-6
    return inside * (inside - 1) / (np.sqrt((a / rx) ** 2 + (b / ry) ** 2) + 1e-6)


def _stroke(
    x: Array, y: Array, reach: Array | float, wide: Array | float, bend: Array | float = 0
) -> Array:
    """About the signed distance to a line from -reach to reach, its ends `bend` lower."""
    return np.maximum(abs(y - bend * (x / reach) ** 2) - wide / 2, abs(x) - reach)
