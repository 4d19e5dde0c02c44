"""Made-up faces, the sample of UTKFace: cartoons that show an age, a gender and one of five groups.

The groups A to E are told apart by the hue of a face and by what is worn at the neck. They stand
for nobody: what matters is that there are five of unequal size, hard to tell apart in coloured
light.
"""

import numpy as np
from jaxtyping import Int64, UInt8

from pamal_core.data.face_drawing import Looks, draw
from pamal_core.errors import InputError

SHARES = (0.43, 0.19, 0.14, 0.17, 0.07)  # of the groups, about those of UTKFace's five
TONES = np.array(  # apricot, rose, lilac, sky and mint
    [
        [0.98, 0.80, 0.64],
        [0.96, 0.70, 0.74],
        [0.80, 0.72, 0.94],
        [0.66, 0.82, 0.95],
        [0.72, 0.90, 0.72],
    ]
)
HAIR = np.array([[0.15, 0.12, 0.12], [0.38, 0.25, 0.16], [0.85, 0.67, 0.34], [0.68, 0.32, 0.16]])
GREY = np.array([0.84, 0.84, 0.86])
CHUNK = 128  # pictures drawn together: their arrays stay in the processor's cache

Rng = np.random.Generator
Array = np.ndarray


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
    grey with the years, fringes and glasses hide lines and eyes, the colour of the light changes
    that of the face. Position, light, clothes, background and smile say nothing.

    Equal arguments give equal bytes. A `seed` draws the same people at every `size`, but for the
    noise of the pixels; fewer faces are not the first of more. InputError where `num` < 1 or `size`
    < 16.
    """
    if num < 1 or size < 16:
        raise InputError(
            f"A sample needs num >= 1 and size >= 16. Found num={num} and size={size}."
        )
    rng = np.random.default_rng(seed)
    ages, genders = _ages(rng, num), rng.integers(2, size=num)
    ethnicities = rng.choice(len(SHARES), num, p=SHARES)
    traits = _nuisance(rng, num) | _by_age(rng, ages) | _by_gender(rng, ages, genders)
    traits |= _by_group(rng, ethnicities) | {"hair": _hair_colour(rng, ages)}
    looks = {name: _column(values) for name, values in traits.items()}
    images = np.empty((num, 3, size, size), dtype=np.uint8)
    for start in range(0, num, CHUNK):
        rows = slice(start, start + CHUNK)
        drawn = draw({name: values[rows] for name, values in looks.items()}, size)
        drawn += rng.standard_normal(drawn.shape, dtype=np.float32) * looks["noise"][rows, None]
        images[rows] = drawn.clip(0, 1) * np.float32(255) + np.float32(0.5)
    return images, ages, genders, ethnicities


def _column(values: Array) -> Array:
    """float32, shaped to be broadcast with pictures: [n, 1, 1], and colours [n, 3, 1, 1]."""
    return values.astype(np.float32).reshape(*values.shape, 1, 1)


def _ages(rng: Rng, num: int) -> Array:
    """Years: one in eight is a small child, the others have a long tail."""
    small = rng.random(num) < 0.13
    years = np.where(small, 1 + 8 * rng.random(num) ** 2, 9 + rng.gamma(3.2, 9, num))
    return years.clip(1, 100).astype(np.int64)


def _ramp(values: Array, low: float, high: float) -> Array:
    """From 0 at `low` to 1 at `high`."""
    return ((values - low) / (high - low)).clip(0, 1)


def _by_age(rng: Rng, ages: Array) -> Looks:
    n = len(ages)
    looks_like = ages + rng.normal(0, 3, n)
    child = 1 - _ramp(looks_like, 1.0, 18.0)
    lines = {
        f"line_{k + 1}": _ramp(looks_like + rng.normal(0, 6, n), 25.0 + 4 * k, 85.0 + 3 * k)
        for k in range(4)
    }
    return lines | {
        "head_x": 0.5 + 0.03 * child + rng.normal(0, 0.02, n),
        "head_y": 0.6 - 0.1 * child + rng.normal(0, 0.02, n),
        "eye_line": 0.02 + 0.12 * child + rng.normal(0, 0.02, n),
        "eye": 0.1
        + 0.05 * child
        + 0.02 * _ramp(-looks_like, -90.0, -18.0)
        + rng.normal(0, 0.008, n),
        "nose": 0.05 + 0.05 * _ramp(looks_like, 5.0, 60.0) + rng.normal(0, 0.008, n),
        "line_width": 0.055 + rng.normal(0, 0.004, n),
        "blush": 0.9 + 0.1 * (rng.random((n, 1)) * [0.6, -1.4, -1]) - 0.05 * child[:, None],
    }


def _by_gender(rng: Rng, ages: Array, genders: Array) -> Looks:
    """Children of both are alike."""
    n = len(ages)
    grown = 0.35 + 0.65 * _ramp(ages, 2.0, 16.0)
    sign = (2 * genders - 1) * grown
    recedes = _ramp(ages + rng.normal(0, 12, n), 35.0, 90.0) * (1 - 0.7 * genders)
    return {
        "length": (0.35 + 0.27 * sign + rng.normal(0, 0.16, n)).clip(0.2, 0.9),
        "volume": 0.09 + 0.03 * sign + rng.normal(0, 0.025, n).clip(-0.05, 0.05),
        "brow": 0.075 - 0.02 * sign + rng.normal(0, 0.014, n),
        "jaw": -0.16 - 0.07 * sign + rng.normal(0, 0.05, n),
        "lips": 0.065 + 0.012 * sign + rng.normal(0, 0.012, n),
        "hairline": -0.32 - 0.2 * recedes + rng.normal(0, 0.05, n),
        "parting": rng.normal(0, 0.2, n),
        "fringe": rng.normal(0.25, 0.3, n),
    }


def _by_group(rng: Rng, groups: Array) -> Looks:
    n = len(groups)
    tone = TONES[groups] + rng.normal(0, 0.035, (n, 3))
    own = rng.random(n) < 0.6
    return {
        "tone": tone * rng.normal(1, 0.04, (n, 1)),
        "collar": np.where(own, groups, rng.integers(5, size=n)),
    }


def _hair_colour(rng: Rng, ages: Array) -> Array:
    n = len(ages)
    mix = rng.dirichlet(np.full(len(HAIR), 0.4), n)
    own = (mix[:, :, None] * HAIR).sum(1)  # not @, whose last digit depends on the machine
    grey = _ramp(ages + rng.normal(0, 9, n), 30.0, 80.0)[:, None]
    return (own * (1 - grey) + GREY * grey) * rng.normal(1, 0.06, (n, 1))


def _nuisance(rng: Rng, n: int) -> Looks:
    """What says nothing about the labels."""
    return {
        "right": rng.normal(0, 0.06, n),
        "down": rng.normal(-0.02, 0.05, n),
        "scale": rng.uniform(0.86, 1.12, n),
        "tilt": rng.normal(0, 0.05, n),
        "sky": rng.uniform(0.4, 0.9, (n, 1)) + rng.normal(0, 0.08, (n, 3)),
        "sky_slope": rng.normal(0, 0.12, (n, 3)),
        "cloth": rng.uniform(0.1, 0.7, (n, 3)),
        "trim": rng.uniform(0.75, 1, (n, 3)),
        "eye_x": rng.normal(0.21, 0.015, n),
        "iris": rng.uniform([0.15, 0.2, 0.15], [0.5, 0.5, 0.7], (n, 3)),
        "frown": rng.normal(0.02, 0.025, n),
        "mouth": rng.uniform(0.12, 0.24, n),
        "smile": rng.normal(0.06, 0.05, n),
        "lip": np.array([0.75, 0.3, 0.32]) + rng.normal(0, 0.06, (n, 3)),
        "glasses": rng.random(n) < 0.2,
        "frame": rng.uniform(0, 0.4, (n, 3)),
        "light_x": rng.normal(0, 0.12, n),
        "light_y": rng.normal(0, 0.1, n),
        "tint": rng.normal(1, 0.05, (n, 3)) * rng.uniform(0.8, 1.08, (n, 1)),
        "noise": rng.uniform(0.005, 0.04, n),
    }
