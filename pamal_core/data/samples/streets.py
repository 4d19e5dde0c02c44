"""Drawn streets, the sample of CityScapes: a class and an inverse depth for each pixel."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Float32, Int8, UInt8

from pamal_core.errors import InputError

Array = np.ndarray
FLAT, CONSTRUCTION, OBJECT, NATURE, SKY, HUMAN, VEHICLE, VOID = (*range(7), -1)
FOCAL = 1.6  # the focal length, in heights of the picture
# Inverse depth times distance, as in the real data: the disparity in units of 256 pixels, of two
# cameras 0.209 m apart with a focal length of 2,263 pixels in pictures 2,048 pixels wide.
METRES, DISPARITY = 1.85, 256 / 2048
KERB, WALL = 4.6, 8.2  # metres from the middle of the road
CHUNK = 16  # streets drawn together: their arrays stay in the processor's cache


def _colours(*rgb: int) -> Array:
    """Colours [k, 3, 1, 1] from their hexadecimal notation."""
    return np.array([[*value.to_bytes(3)] for value in rgb])[..., None, None] / 255


PAINTS = _colours(0xC7382E, 0x3866AD, 0xE6E0D1, 0x40454D, 0xEDBF4D, 0x4D8F73, 0xB88061, 0x999EA8)
LEAVES = _colours(0x407833, 0x6E8C38, 0x2B5E40, 0xA86B2B)
GLASS, SKIN, WOOD, LIGHT, DAY, DUSK = _colours(
    0x424F61, 0xDEAB87, 0x6B4D33, 0xFFEDA6, 0xB8D6F5, 0xFAC299
)
# By kind the class, the most on either side, the least and most metres from the middle of the road
# and from the camera, and the width and height, the same for all, so that size tells distance.
KINDS: dict[str, tuple[int, int, tuple[float, float], tuple[float, float], tuple[float, float]]] = {
    "car": (VEHICLE, 3, (1.4, 3.4), (7, 70), (1.9, 1.5)),
    "person": (HUMAN, 5, (2.5, 7.5), (5.5, 30), (0.6, 1.75)),
    "tree": (NATURE, 2, (6.3, 6.4), (9, 60), (3.2, 5.1)),
    "lamp": (OBJECT, 3, (4.9, 5.3), (6, 40), (0.7, 4.7)),
    "sign": (OBJECT, 3, (4.9, 5.3), (6, 30), (0.8, 2.7)),
}
# The shapes of a thing, back to front and mirrored: metres of their middle from the axis and from
# the ground, half their width and height, and a colour, where 0 and 1 are the thing's own.
FIGURES: dict[str, list[tuple[str, float, float, float, float, int | Array]]] = {
    "car": [
        ("box", 0.72, 0.2, 0.2, 0.2, PAINTS[3] * 0.3),
        ("ellipse", 0, 0.8, 0.8, 0.7, 0),
        ("ellipse", 0, 0.85, 0.7, 0.55, GLASS),
        ("box", 0, 0.6, 0.95, 0.35, 0),
        ("box", 0.75, 0.7, 0.16, 0.1, LIGHT),
    ],
    "person": [
        ("box", 0.12, 0.43, 0.1, 0.43, 1),
        ("ellipse", 0, 1.1, 0.3, 0.4, 0),
        ("ellipse", 0, 1.57, 0.16, 0.18, SKIN),
    ],
    "tree": [
        ("box", 0, 1.2, 0.16, 1.2, WOOD),
        ("ellipse", 0.7, 3.1, 0.9, 0.9, 1),
        ("ellipse", 0, 4, 1.2, 1.1, 0),
    ],
    "lamp": [("box", 0, 2.1, 0.07, 2.1, GLASS), ("ellipse", 0, 4.35, 0.35, 0.35, LIGHT)],
    "sign": [("box", 0, 1, 0.07, 1, GLASS), ("ellipse", 0, 2.3, 0.4, 0.4, 0)],
}


def scenes(
    num: int, size: tuple[int, int], seed: int
) -> tuple[UInt8[Array, "num 3 H W"], Int8[Array, "num H W"], Float32[Array, "num 1 H W"]]:
    """`num` streets as pictures of `size` (H, W), the classes and the inverse depths of their
    pixels; equal arguments give equal bytes, on one kind of processor.

    Classes: 0 flat, 1 construction, 2 object, 3 nature, 4 sky, 5 human, 6 vehicle, -1 void. Inverse
    depth is 1.85 over the distance in metres; 0 where it is unknown: sky, bonnet, what a second
    camera to the right does not see, and a few holes. A street depends on `seed` and its number
    alone: larger pictures show the same ones again.

    Raises InputError unless `num` is at least 1, both sides at least 8 and `seed` at least 0.
    """
    if num < 1 or min(size) < 8 or seed < 0:
        raise InputError(
            "`num` must be at least 1, `size` two sides of at least 8 pixels and `seed` at least "
            f"0. Found num={num}, size={size}, seed={seed}."
        )
    images, labels = np.empty((num, 3, *size), np.uint8), np.empty((num, *size), np.int8)
    depths = np.empty((num, 1, *size), np.float32)
    plans, grain, holes = (np.random.default_rng([seed, k]) for k in range(3))
    for start in range(0, num, CHUNK):
        rows = slice(start, min(start + CHUNK, num))
        streets = Streets(size, plans.random((rows.stop - start, 200)))
        noise = streets.noise[:, None] * grain.standard_normal(streets.colour.shape)
        images[rows] = 255 * np.clip(streets.colour + noise, 0, 1) + 0.5
        labels[rows] = streets.label
        unknown = hidden(streets.inverse) | (holes.random(streets.label.shape) < 0.01)
        depths[rows, 0] = np.where(unknown, 0, streets.inverse)
    return images, labels, depths


def hidden(inverse: Array) -> Array:
    """Whether a camera to the right does not see a pixel: something in front of it lands on the
    same or a farther left column there."""
    width = inverse.shape[-1]
    lands = np.arange(width) - DISPARITY * width * inverse
    farthest_left = np.minimum.accumulate(lands[..., ::-1], -1)[..., ::-1]
    behind = np.zeros(inverse.shape, bool)
    behind[..., :-1] = farthest_left[..., 1:] <= lands[..., :-1]
    return behind


class Streets:
    """Pictures `colour` [n, 3, H, W] with `label` and `inverse` depth [n, H, W], from uniform draws
    [n, 200]. At distance z, a pixel sees what is `a` z metres right of the camera and `b` z metres
    above the camera's `height`."""

    def __init__(self, size: tuple[int, int], draws: Array) -> None:
        stream = iter(draws.T[..., None, None])

        def draw(low: float, high: float) -> Array:
            return low + (high - low) * next(stream)

        rows, columns = size
        self.height, horizon, centre = draw(1.6, 2.6), draw(0.36, 0.56), draw(-0.25, 0.25)
        self.a = a = ((np.arange(columns) + 0.5 - columns / 2) / rows - centre) / FOCAL
        self.b = b = (horizon - (np.arange(rows)[:, None] + 0.5) / rows) / FOCAL
        self.end, self.noise, phase = draw(50.0, 110.0), draw(0.01, 0.04), draw(0.0, 9.0)
        dusk, sun, green = draw(0.0, 1.0)[:, None] ** 3, draw(-1.0, 1.0), np.sign(draw(-1.0, 1.0))

        haze = DAY + dusk * (DUSK - DAY)
        clouds = np.clip(np.sin(5 * a + 22 * b + phase) + np.sin(13 * a - 29 * b) - 0.8, 0, 0.7)
        blue = haze * (1.05 - 0.7 * b.clip(0))[:, None]
        self.colour = blue + (0.9 - blue) * clouds[:, None]
        self.label, self.inverse = np.full(clouds.shape, SKY, np.int8), np.zeros(clouds.shape)
        x, y = a * self.end, self.height + b * self.end  # the street ends at a wood
        trees = 6 + 2 * np.sin(0.3 * x + phase) + np.sin(1.1 * x) + 0.6 * np.sin(2.9 * x)
        self._paint(y < trees, LEAVES[0], NATURE, METRES / self.end)

        z = self.height / np.maximum(-b, 1e-9)
        x, grey = a * z, draw(0.34, 0.48)[:, None]
        lawn, far = abs(x - green * WALL) < 2.4, abs(x)[:, None]
        paving = np.where(lawn[:, None], LEAVES[1], grey + 0.16)
        colour = np.select([far < KERB, far < KERB + 0.25], [grey, grey + 0.35], paving)
        colour *= np.where(x * np.sign(sun) > WALL - 3 - 2 * self.height, 0.75, 1)[:, None]
        seen = (z < self.end) & (abs(x) < WALL)
        self._paint(seen, colour, np.where(lawn, NATURE, FLAT), METRES / z)
        self._paint((abs(x) < 0.1) & (z % 6 < 3) & seen, 0.9, FLAT, METRES / z)

        for side in (-1, 1):  # houses
            z = WALL / np.maximum(side * a, 1e-9)
            y = self.height + b * z
            lot = 43758.5 * np.sin(7.13 * (z // 11) + phase + side) % 1  # as good as random
            top = 5 + 9 * lot
            pane = (abs(z % 3 - 1.5) < 0.65) & (abs(y % 3.2 - 1.8) < 0.8) & (y < top - 0.6)
            paints = PAINTS[(97 * lot % 1 * len(PAINTS)).astype(int), :, 0, 0]
            colour = np.where(pane[:, None], GLASS, 0.3 + 0.45 * np.moveaxis(paints, 3, 1))
            colour *= np.where((y > top - 0.5) | (side * sun > 0), 0.7, 1)[:, None]
            seen = (z < self.end) & (y > 0) & (y < top)
            self._paint(seen, colour, CONSTRUCTION, METRES / z)

        for kind, right, z, colours in things(draw):
            label, *_, (width, _) = KINDS[kind]
            s, t, pixel = abs(a * z - right), self.height + b * z, z / FOCAL / rows
            shadow = (np.hypot(s, 3 * t) < 0.6 * width) & (self.label == FLAT)
            np.multiply(self.colour, 0.6, out=self.colour, where=shadow[:, None])
            for form, axis, middle, half_s, half_t, paint in FIGURES[kind]:
                u = (s - axis) / np.maximum(half_s, pixel / 2)  # never thinner than a pixel
                v = (t - middle) / half_t
                covers = np.maximum(abs(u), abs(v)) < 1 if form == "box" else u * u + v * v < 1
                own = colours[paint] if isinstance(paint, int) else paint
                self._paint(covers, own, label, METRES / z)

        veil = 1 - np.exp(-draw(0.004, 0.016) * METRES / (self.inverse + 1e-3))
        self.colour += (veil * (self.label != SKY))[:, None] * (haze - self.colour)
        self.colour *= 1.05 - 0.2 * dusk
        bonnet = b + 0.33 + 0.12 * (a + 0.06) ** 2 < draw(-0.05, 0.06)
        self._paint(bonnet, 0.16, VOID, np.inf)
        self.inverse[bonnet] = 0

    def _paint(
        self, covers: Array, colour: Array | float, label: Array | int, inverse: Array | float
    ) -> None:
        """Paint the pixels that something `covers` unless a nearer one is there."""
        seen = covers & (inverse >= self.inverse)
        np.copyto(self.colour, colour, where=seen[:, None])
        np.copyto(self.label, label, where=seen, casting="unsafe")
        np.copyto(self.inverse, inverse, where=seen)


def things(
    draw: Callable[[float, float], Array],
) -> Iterator[tuple[str, Array, Array, Sequence[Array]]]:
    """What stands in each of n streets: kind, metres right of the camera and ahead of it [n, 1, 1],
    behind it where there is none, and two colours [n, 3, 1, 1].

    Distances are even on a logarithmic scale: a small picture shows as many things near as far.
    """
    for kind, (_, slots, beside, (near, far), _) in KINDS.items():
        palette = LEAVES if kind == "tree" else PAINTS
        for k in range(2 * slots):
            x, z = (-1) ** k * draw(*beside), near * (far / near) ** draw(0.0, 1.0)
            colours = [
                palette[(len(palette) * draw(0.0, 1.0)).astype(int).ravel()] for _ in range(2)
            ]
            yield kind, x, np.where(draw(0.0, 1.0) < 0.5, z, -1), colours
