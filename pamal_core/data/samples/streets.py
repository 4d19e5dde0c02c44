"""Drawn streets, the sample of CityScapes: a class and an inverse depth for each pixel."""

import numpy as np
from jaxtyping import Float32, Int8, UInt8

from pamal_core.errors import InputError

Array = np.ndarray
Generator = np.random.Generator
Shapes = list[tuple[Array, Array | float]]

FLAT, CONSTRUCTION, OBJECT, NATURE, SKY, HUMAN, VEHICLE, VOID = (*range(7), -1)
FOCAL = 1.6  # the focal length, in heights of the picture
# Inverse depth times distance, as in the real data: the disparity in units of 256 pixels, of two
# cameras 0.209 m apart with a focal length of 2,263 pixels.
METRES = 1.85
KERB, WALL = 4.6, 8.2  # metres from the middle of the road
# By kind the class, the most on either side, and the least and most metres from the middle of the
# road and from the camera.
KINDS: dict[str, tuple[int, int, tuple[float, float], tuple[float, float]]] = {
    "car": (VEHICLE, 3, (1.4, 3.4), (7, 70)),
    "person": (HUMAN, 5, (2.5, 7.5), (5.5, 30)),
    "tree": (NATURE, 3, (6.3, 6.7), (9, 60)),
    "lamp": (OBJECT, 3, (4.9, 5.3), (6, 40)),
    "sign": (OBJECT, 3, (4.9, 5.3), (6, 30)),
}
PAINTS = np.array(  # of cars, clothes and houses
    [
        *([0.78, 0.22, 0.18], [0.22, 0.4, 0.68], [0.9, 0.88, 0.82], [0.25, 0.27, 0.3]),
        *([0.93, 0.75, 0.3], [0.3, 0.56, 0.45], [0.72, 0.5, 0.38], [0.6, 0.62, 0.66]),
    ]
)
LEAVES = np.array([[0.25, 0.47, 0.2], [0.43, 0.55, 0.22], [0.17, 0.37, 0.25], [0.66, 0.42, 0.17]])
GLASS, SKIN, WOOD = np.array([[0.26, 0.31, 0.38], [0.87, 0.67, 0.53], [0.42, 0.3, 0.2]])
RED, YELLOW = np.array([[0.95, 0.15, 0.1], [1.0, 0.93, 0.65]])


def scenes(
    num: int, size: tuple[int, int], seed: int
) -> tuple[UInt8[Array, "num 3 H W"], Int8[Array, "num H W"], Float32[Array, "num 1 H W"]]:
    """`num` streets as pictures of `size` (H, W), the classes and the inverse depths of their
    pixels; equal arguments give equal bytes, on one kind of processor.

    Classes: 0 flat, 1 construction, 2 object, 3 nature, 4 sky, 5 human, 6 vehicle, -1 void. Inverse
    depth is 1.85 over the distance in metres; 0 where it is unknown: sky, bonnet, and a few holes.
    A street depends on `seed` and its number alone: larger pictures show the same ones again.

    Raises InputError unless `num` is at least 1, both sides at least 8 and `seed` at least 0.
    """
    if num < 1 or min(size) < 8 or seed < 0:
        raise InputError(
            "`num` must be at least 1, `size` two sides of at least 8 pixels and `seed` at least "
            f"0. Found num={num}, size={size}, seed={seed}."
        )
    images, labels = np.empty((num, 3, *size), np.uint8), np.empty((num, *size), np.int8)
    depths = np.empty((num, 1, *size), np.float32)
    for i, stream in enumerate(np.random.SeedSequence(seed).spawn(num)):
        rng = np.random.default_rng(stream)
        street = Street(size, rng)
        grain = rng.uniform(0.01, 0.04) * rng.standard_normal((*size, 3))
        pixels = 255 * np.clip(street.colour + grain, 0, 1) + 0.5
        images[i], labels[i] = pixels.astype(np.uint8).transpose(2, 0, 1), street.label
        depths[i] = np.where(rng.random(size) < 0.015, 0, street.inverse)
    return images, labels, depths


class Street:
    """A picture `colour` [H, W, 3], with `label` and `inverse` depth [H, W], painted from far to
    near. A pixel sees, at distance z, what is `a` z metres right of the camera and `b` z metres
    above the camera's `height`."""

    def __init__(self, size: tuple[int, int], rng: Generator) -> None:
        rows, columns = size
        self.height, horizon, centre = rng.uniform([1.6, 0.36, -0.25], [2.6, 0.56, 0.25])
        self.a = ((np.arange(columns)[None] + 0.5 - columns / 2) / rows - centre) / FOCAL
        self.b = (horizon - (np.arange(rows)[:, None] + 0.5) / rows) / FOCAL
        self.label, self.inverse = np.full(size, SKY, np.int8), np.zeros(size)
        dusk, sun, end = rng.random() ** 3, int(rng.choice([-1, 1])), rng.uniform(50, 110)
        haze = (1 - dusk) * np.array([0.72, 0.84, 0.96]) + dusk * np.array([0.98, 0.76, 0.6])
        self._sky(haze, end, rng)
        self._ground(sun, end, rng)
        for side in (-1, 1):
            self._houses(side, 0.75 if side == sun else 1.05, end, rng)
        for kind, x, z, *colours in things(rng):
            self._thing(kind, x, z, colours)
        veil = 1 - np.exp(-rng.uniform(0.004, 0.016) * METRES / (self.inverse + 1e-3))
        veil[self.label == SKY] = 0
        self.colour += veil[..., None] * (haze - self.colour)
        self.colour *= 1.05 - dusk * np.array([0.1, 0.22, 0.25])
        bonnet = self.b + 0.33 + 0.12 * (self.a + 0.06) ** 2 < rng.uniform(-0.05, 0.06)
        self._paint(bonnet, rng.choice(PAINTS) * 0.5, VOID, 0.0)

    def _paint(
        self, cover: Array, colour: Array | float, label: Array | int, inverse: Array | float
    ) -> None:
        """Mix in `colour` by the share `cover`; a pixel is what covers at least half of it."""
        self.colour += cover[..., None] * (colour - self.colour)
        self.label[:] = np.where(cover >= 0.5, label, self.label)
        self.inverse[:] = np.where(cover >= 0.5, inverse, self.inverse)

    def _sky(self, haze: Array, end: float, rng: Generator) -> None:
        """Clouds, and the wood at which the street ends."""
        a, b = self.a, self.b
        clouds = np.sin(5 * a + 22 * b + rng.uniform(0, 9)) + np.sin(13 * a - 29 * b)
        blue = haze * (1.05 - 0.7 * b.clip(0))[..., None] * (1, 1, 1.06)
        self.colour = blue + (0.9 - blue) * np.clip(clouds - 0.8, 0, 0.7)[..., None]
        x, y = a * end, self.height + b * end
        trees = 6 + 2 * np.sin(0.3 * x + end) + np.sin(1.1 * x) + 0.6 * np.sin(2.9 * x)
        self._paint(y < trees, rng.choice(LEAVES) * 0.9, NATURE, METRES / end)

    def _ground(self, sun: int, end: float, rng: Generator) -> None:
        """The road with its line, kerbs, pavements and a lawn, and the shadow of the houses."""
        z = self.height / np.maximum(-self.b, 1e-9)
        x, grey = self.a * z, rng.uniform(0.34, 0.48)
        paving = grey + rng.uniform(0.08, 0.25) + rng.uniform(-0.05, 0.05, 3)
        colour = np.where((abs(x) < KERB)[..., None], grey, paving)
        colour[(abs(x) < 0.1) & (z % 6 < 3)] = 0.95
        colour[abs(abs(x) - KERB) < 0.12] = grey + 0.35
        lawn = abs(x - rng.choice([-1, 1]) * WALL) < 2.4
        colour[lawn] = LEAVES[1] * (1 + 0.1 * np.sin(9 * x + 7 * z))[lawn, None]
        colour[x * sun > WALL - 3 - 2 * self.height] *= 0.75
        below = (z < end) & (abs(x) < WALL)
        self._paint(below, colour, np.where(lawn, NATURE, FLAT), METRES / z)

    def _houses(self, side: int, light: float, end: float, rng: Generator) -> None:
        z = WALL / np.maximum(side * self.a, 1e-9)
        y = self.height + self.b * z
        house = (z / rng.uniform(9, 13) + rng.random()).clip(0, 15).astype(int)[0]
        top = rng.uniform(5, 14, 16)[house]
        pane = (abs(z % 3 - 1.5) < 0.65) & (abs(y % 3.2 - 1.8) < 0.8) & (y < top - 0.6)
        colour = np.where(pane[..., None], GLASS, 0.8 * rng.choice(PAINTS, 16)[house])
        colour[y > top - 0.5] *= 0.6
        seen = (z < end) & (y > 0) & (y < top)
        self._paint(seen, colour * light, CONSTRUCTION, METRES / z)

    def _thing(self, kind: str, x: float, z: float, colours: list[Array]) -> None:
        """A flat figure at distance `z`, with a shadow at its foot `x` metres to the right."""
        pixel = z / FOCAL / len(self.b)
        s, t = self.a * z - x, self.height + self.b * z
        columns, rows = np.flatnonzero(abs(s[0]) < 2.2), np.flatnonzero(abs(t[:, 0] - 2.4) < 3)
        if not len(columns) or not len(rows):
            return
        part = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
        s, t, whole = s[:, part[1]], t[part[0]], (self.colour, self.label, self.inverse)
        self.colour, self.label, self.inverse = whole[0][part], whole[1][part], whole[2][part]
        self.colour[np.hypot(s, 3 * t) < (1.1 if kind == "car" else 0.5)] *= 0.6
        for distance, colour in shapes(kind, s, t, pixel, x, *colours):
            cover = np.clip(0.5 - distance / pixel, 0, 1)
            self._paint(cover, colour, KINDS[kind][0], METRES / z)
        self.colour, self.label, self.inverse = whole


def things(rng: Generator) -> list[tuple[str, float, float, Array, Array]]:
    """Kind, metres right of the camera and ahead of it, and two colours of what stands in a street,
    from far to near; distances are even on a logarithmic scale, so that a small picture shows as
    many things near as far."""
    found = []
    for kind, (_, most, (inner, outer), (near, far)) in KINDS.items():
        for side in (-1, 1):
            for _ in range(rng.integers(most + 1)):
                x, z = side * rng.uniform(inner, outer), near * (far / near) ** rng.random()
                colours = rng.choice(LEAVES if kind == "tree" else PAINTS, 2)
                found.append((kind, x, z, *(colours * rng.uniform(0.8, 1.1, (2, 1)))))
    return sorted(found, key=lambda thing: -thing[2])


def shapes(
    kind: str, s: Array, t: Array, pixel: float, x: float, one: Array, other: Array
) -> Shapes:
    """What a figure is drawn by, back to front: signed distances [h, w] with a colour each, `s`
    metres to the right of its foot and `t` metres above it."""
    match kind:
        case "car":
            return [
                (_box(abs(s) - 0.65, t - 0.2, 0.16, 0.2), 0.08),
                (_box(s, t - 1.05, 0.8 - 0.3 * (t - 0.9), 0.4), one * 0.9),
                (_box(s, t - 1.12, 0.7 - 0.3 * (t - 0.9), 0.22), GLASS * 0.8),
                (_box(s, t - 0.58, 0.92, 0.36), one),
                (_box(abs(s) - 0.72, t - 0.68, 0.15, 0.09), RED if x > 0 else YELLOW),
                (_box(s, t - 0.45, 0.25, 0.07), 0.95),
            ]
        case "person":
            return [
                (_box(abs(s) - 0.12, t - 0.42, 0.1, 0.42), other * 0.6),
                (_ellipse(s, t - 1.08, 0.27, 0.38), one),
                (_ellipse(s, t - 1.58, 0.15, 0.17), other * 0.4),
                (_ellipse(s, t - 1.53, 0.13, 0.13), SKIN),
            ]
        case "tree":
            sides = _ellipse(abs(s) - 0.7, t - 3.1, 0.9, 0.9)
            crown = np.minimum(sides, _ellipse(s, t - 4, 1.2, 1.1))
            leaves = np.sin(5 * s + 3 * t + 9 * x) * np.sin(7 * t - 2 * s) - 0.2
            return [
                (_box(s, t - 1.2, max(0.16, pixel / 2), 1.2), WOOD),
                (crown, one * 0.85),
                (np.maximum(crown + 0.15, -leaves / 9), one * 1.15),
            ]
    pole = max(0.07, pixel / 2)  # never thinner than a pixel
    if kind == "sign":
        plate, bar = _ellipse(s, t - 2.3, 0.42, 0.42), _box(s, t - 2.3, 0.24, 0.09)
        return [(_box(s, t - 1.0, pole, 1.0), 0.45), (plate, one), (bar, 0.95)]
    in_road = -np.sign(x) * s
    post = np.minimum(_box(s, t - 2.3, pole, 2.3), _box(in_road - 0.45, t - 4.6, 0.5, pole))
    return [(post, 0.3), (_ellipse(in_road - 0.8, t - 4.5, 0.32, 0.16), YELLOW)]


def _ellipse(s: Array, t: Array, half_s: float, half_t: float) -> Array:
    """About the signed distance."""
    return (np.hypot(s / half_s, t / half_t) - 1) * min(half_s, half_t)


def _box(s: Array, t: Array, half_s: float | Array, half_t: float) -> Array:
    return np.maximum(abs(s) - half_s, abs(t) - half_t)
