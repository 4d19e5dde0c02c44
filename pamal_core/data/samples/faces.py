"""Drawn faces, the sample of UTKFace: an age, a gender and one of five groups, A to E.

The groups are told apart by the hue of a face and by the pattern of the clothes. They stand for
nobody: what matters is that there are five of unequal size, hard to tell apart in coloured light.
"""

import numpy as np
from jaxtyping import Int64, UInt8

from pamal_core.errors import InputError

Array = np.ndarray
Labels = Int64[Array, " num"]

SHARES = (0.43, 0.19, 0.14, 0.17, 0.07)  # of the groups, about those of UTKFace's five
TONES = np.array(  # apricot, rose, lilac, sky and mint
    [[0.98, 0.8, 0.64], [0.96, 0.7, 0.74], [0.8, 0.72, 0.94], [0.66, 0.82, 0.95], [0.72, 0.9, 0.72]]
)
STRIPES = np.array([[0, 0], [0, 26], [18, 0], [9, 13], [0, 13]])  # to the right and down
HAIR = np.array([[0.15, 0.12, 0.12], [0.38, 0.25, 0.16], [0.85, 0.67, 0.34], [0.68, 0.32, 0.16]])
GREY, LIPS = np.array([[0.84, 0.84, 0.86], [0.75, 0.3, 0.32]])[..., None, None]
CHUNK = 64  # pictures drawn together: their arrays stay in the processor's cache


def faces(
    num: int, size: int, seed: int
) -> tuple[UInt8[Array, "num 3 size size"], Labels, Labels, Labels]:
    """Images, ages in years (1 to 100), genders (0 or 1) and groups (0 to 4), the labels
    independent of each other.

    Age shows in proportions, lines, eyes and grey hair; gender in the length and outline of the
    hair, brows and jaw, less so in children; the group as said above. Every cue is noisy, and they
    interfere, so that tasks compete for a small network (section 5.2): hair is lost and turns
    grey with the years, glasses hide lines and eyes, the colour of the light changes that of the
    face. Position, light, background and smile say nothing.

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
    draws = rng.random((num, 90))
    images = np.empty((num, 3, size, size), np.uint8)
    for start in range(0, num, CHUNK):
        rows = slice(start, start + CHUNK)
        drawn = _draw(size, ages[rows], genders[rows], groups[rows], draws[rows])
        drawn += rng.uniform(0.005, 0.04, (len(drawn), 1, 1, 1)) * rng.standard_normal(drawn.shape)
        images[rows] = 255 * drawn.clip(0, 1) + 0.5
    return images, ages, genders, groups


def _draw(size: int, ages: Array, genders: Array, groups: Array, draws: Array) -> Array:
    """Faces [n, 3, size, size] from uniform `draws` [n, 90], painted back to front.

    `x` and `y` run to the right and down in units of the face, whose head is about one wide around
    (0, 0). Edges are about a pixel soft, so that a face looks the same at any size.
    """
    stream = iter(draws.T[..., None, None])

    def about(mean: Array | float, spread: float) -> Array:
        return mean + 6**0.5 * spread * (next(stream) + next(stream) - 1)

    def between(low: float, high: float) -> Array:
        colour = np.concatenate([next(stream) for _ in range(3)], 1)
        return low + (high - low) * colour[..., None]

    def ramp(values: Array, low: float, high: float) -> Array:
        return ((values - low) / (high - low)).clip(0, 1)

    def paint(
        u: Array, v: Array, wide: Array | float, high: Array | float, colour: Array | float,
        opacity: Array | float = 1.0, box: bool = False,
    ) -> None:  # fmt: skip
        """Mix in `colour` where `u` and `v` are in an ellipse or a box, so `wide` and `high` on
        either side of 0."""
        far = np.maximum(abs(u / wide), abs(v / high)) if box else np.hypot(u / wide, v / high)
        cover = np.clip(0.5 - (far - 1) * np.minimum(wide, high) / pixel, 0, 1) * opacity
        image[:] += cover[:, None] * (colour - image)

    ages, genders = ages[:, None, None], genders[:, None, None]
    seems = about(ages, 3.0)
    child = 1 - ramp(seems, 1.0, 18.0)
    sign = (2 * genders - 1) * (0.35 + 0.65 * ramp(ages, 2.0, 16.0))  # children are more alike
    bald = ramp(about(ages, 12.0), 35.0, 90.0) * (1 - 0.7 * genders)
    grey = ramp(about(ages, 9.0), 30.0, 80.0)[..., None]
    own = HAIR[(len(HAIR) * next(stream)).astype(int).ravel(), :, None, None]
    hair = (own + between(-0.1, 0.1)) * (1 - grey) + GREY * grey
    skin = TONES[groups, :, None, None] * about(1.0, 0.04)[..., None] + between(-0.06, 0.06)
    worn = np.where(next(stream) < 0.6, groups[:, None, None], (5 * next(stream)).astype(int))

    pixel = 2 / size / about(1.0, 0.07)
    line = (np.arange(size) + 0.5 - size / 2) * pixel
    x, y = line - about(0.0, 0.06), np.swapaxes(line, 1, 2) - about(-0.02, 0.05)
    image = between(0.5, 0.9) * (1 - 0.15 * y)[:, None] + 0 * x[:, None]
    head_x, head_y = about(0.5 + 0.03 * child, 0.02), about(0.6 - 0.1 * child, 0.02)
    volume = about(0.09 + 0.03 * sign, 0.025).clip(0.03)
    length = about(0.35 + 0.27 * sign, 0.16).clip(0.2, 0.9)
    paint(x, y + 0.1, head_x + volume, head_y + volume, 0.88 * hair)
    paint(x, y - length / 2, head_x + volume, length / 2, 0.88 * hair, box=True)
    paint(x, y - 0.4, 0.2, 0.45, 0.86 * skin, box=True)  # the neck
    paint(x, y - 1.45, 0.95, 0.8, between(0.1, 0.7))
    right, down = STRIPES.T[:, worn]
    paint(x, y - 1.45, 0.95, 0.8, between(0.75, 1.0), np.sin(right * x + down * y) > 0.3)
    paint(abs(x) - head_x - 0.01, y - 0.06, 0.09, 0.13, 0.92 * skin)  # ears
    outline = x / (1 - (0.16 + 0.07 * about(sign, 0.7)) * y)  # the jaw
    paint(outline, y, head_x, head_y, skin)

    eyes, down = abs(x) - 0.21, y - about(0.02 + 0.12 * child, 0.02)
    eye = about(0.12 + 0.05 * child - 0.02 * ramp(seems, 18.0, 90.0), 0.008)
    for u, v, wide, high in (  # the lines of the forehead, under the eyes and beside the mouth
        (x, abs(down + 0.3) - 0.05, 0.22, 0.025),
        (eyes, down - 0.2, 0.11, 0.025),
        (abs(x) - 0.12 - 0.4 * y, y - 0.28, 0.025, 0.12),
    ):
        paint(u, v, wide, high, 0.62 * skin, ramp(about(seems, 6.0), 27.0, 88.0), box=True)
    paint(eyes, down, eye, 1.15 * eye, 1.0)
    paint(eyes, down, 0.6 * eye, 0.7 * eye, 0.12)
    paint(eyes, down + eye + 0.1, 0.14, about(0.038 - 0.01 * sign, 0.007), 0.75 * hair, box=True)
    paint(x, down - 0.17, 0.05, about(0.05 + 0.05 * ramp(seems, 5.0, 60.0), 0.008), 0.8 * skin)
    smile = about(2.0, 1.6) * x * x
    paint(x, down - 0.4 + smile, 0.18, about(0.033 + 0.006 * sign, 0.006), LIPS, box=True)
    hairline = about(-0.32 - 0.2 * bald, 0.05) + about(0.25, 0.3) * x * x
    above = np.clip(0.5 - (y - hairline) / pixel, 0, 1)
    paint(outline, y, head_x + 0.03, head_y + 0.03, hair, above)
    paint(eyes, down, 0.2, 0.17, 0.12, 0.7 * (next(stream) < 0.2))  # glasses
    light = between(0.86, 1.14) * about(0.95, 0.07)[..., None]
    return image * light * (1 + about(0.0, 0.12) * x)[:, None]
