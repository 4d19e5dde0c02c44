"""Drawn streets, the sample of CityScapes: a class and an inverse depth for each pixel."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Float32, Int8, UInt8
from numpy.random import Generator, default_rng

Array = np.ndarray
Thing = tuple[str, float, float, Array]
FLAT, CONSTRUCTION, OBJECT, NATURE, SKY, HUMAN, VEHICLE, VOID = (*range(7), -1)
FOCAL = 1.6  # the focal length, in heights of the picture
# Inverse depth times distance, as in the real data: the disparity in units of 256 pixels, of two
# cameras 0.209 m apart with a focal length of 2,263 pixels in pictures 2,048 pixels wide.
METRES, DISPARITY = 1.85, 256 / 2048
KERB, WALL = 4.6, 8.2  # metres from the middle of the road
LEAVES, SKIN, BLUE = np.reshape([0.25, 0.47, 0.2, 0.87, 0.67, 0.53, 0.72, 0.84, 0.96], (3, 3, 1, 1))
# The class, the most on either side, and the least and most metres from the middle of the road and
# from the camera.
KINDS = {
    "car": (VEHICLE, 3, (1.4, 3.4), (7, 70)),
    "person": (HUMAN, 5, (2.5, 7.5), (5.5, 30)),
    "tree": (NATURE, 2, (6.3, 6.4), (9, 60)),
    "lamp": (OBJECT, 3, (4.9, 5.3), (6, 40)),
    "sign": (OBJECT, 3, (4.9, 5.3), (6, 30)),
}
# What things look like, back to front: q of |u|^q + |v|^q < 1 (2 is an ellipse, 20 almost a box),
# metres of its middle above the ground, half its width and height, and a colour, None for their
# own. All of a kind are equally large, so that size tells distance.
SHAPES: dict[str, list[tuple[int, float, float, float, Any]]] = {
    "car": [(2, 0.8, 0.8, 0.7, 0.3), (20, 0.55, 0.95, 0.4, None)],
    "person": [(2, 0.75, 0.3, 0.75, None), (2, 1.57, 0.16, 0.18, SKIN)],
    "tree": [(20, 1.2, 0.16, 1.2, 0.25), (2, 3.6, 1.6, 1.5, LEAVES)],
    "lamp": [(20, 2.1, 0.07, 2.1, 0.3), (2, 4.35, 0.35, 0.35, 0.95)],
    "sign": [(20, 1.0, 0.07, 1.0, 0.3), (2, 2.3, 0.4, 0.4, None)],
}


def scenes(
    num: int, size: tuple[int, int], seed: int
) -> tuple[UInt8[Array, "num 3 H W"], Int8[Array, "num H W"], Float32[Array, "num 1 H W"]]:
    """Return `num` streets as pictures of `size` (H, W), the classes and the inverse depths of
    their pixels; equal arguments give equal bytes, on one kind of processor.

    Classes: 0 flat, 1 construction, 2 object, 3 nature, 4 sky, 5 human, 6 vehicle, -1 void. Inverse
    depth is 1.85 over the distance in metres; 0 where it is unknown: sky, bonnet, what a second
    camera to the right does not see, and a few holes. A street depends on `seed` and its number
    alone: larger pictures show the same ones again.
    """
    images, labels = np.empty((num, 3, *size), np.uint8), np.empty((num, *size), np.int8)
    depths = np.empty((num, 1, *size), np.float32)
    for k in range(num):
        rng = default_rng([seed, k])
        street = Street(size, rng, things(rng))
        noise = rng.uniform(0.01, 0.04) * rng.standard_normal((3, *size))
        images[k] = 255 * np.clip(street.colour + noise, 0, 1) + 0.5
        labels[k] = street.label
        unknown = hidden(street.inverse) | (rng.random(size) < 0.01)
        depths[k, 0] = np.where(unknown, 0, street.inverse)
    return images, labels, depths


def hidden(inverse: Array) -> Array:
    """Return whether a camera to the right does not see a pixel: something in front of it lands on
    the same or a farther left column there."""
    lands = np.arange(inverse.shape[1]) - DISPARITY * inverse.shape[1] * inverse
    farthest_left = np.minimum.accumulate(lands[:, :0:-1], 1)[:, ::-1]
    return np.pad(farthest_left <= lands[:, :-1], ((0, 0), (0, 1)))


def things(rng: Generator) -> Iterator[Thing]:
    """Yield what stands in a street: kind, metres right of the camera and ahead of it, and a
    colour.

    Distances are even on a logarithmic scale: a small picture shows as many things near as far.
    """
    for kind, (_, most, beside, (near, far)) in KINDS.items():
        for side in (-1, 1) * most:
            if rng.random() < 0.5:
                z = near * (far / near) ** rng.random()
                yield kind, side * rng.uniform(*beside), z, rng.uniform(0.2, 0.9, (3, 1, 1))


class Street:
    """A picture `colour` [3, H, W] with `label` and `inverse` depth [H, W]. At distance z, a pixel
    sees what is `a` z metres right of the camera and `b` z metres above the camera's `height`."""

    def __init__(self, size: tuple[int, int], rng: Generator, placed: Iterable[Thing]) -> None:
        rows, columns = size
        self.height, horizon, centre = rng.uniform([1.5, 0.36, -0.25], [2.4, 0.56, 0.25])
        self.end, phase, grey = rng.uniform([50, 0, 0.34], [110, 9, 0.48])
        self.a = a = ((np.arange(columns) + 0.5 - columns / 2) / rows - centre) / FOCAL
        self.b = b = (horizon - (np.arange(rows)[:, None] + 0.5) / rows) / FOCAL
        self.colour = BLUE * (1.05 - 0.7 * b.clip(0)) + 0 * a
        self.label, self.inverse = np.full(size, SKY, np.int8), np.zeros(size)
        x, y = a * self.end, self.height + b * self.end  # the street ends at a wood
        self._paint(y < 6 + 2 * np.sin(0.3 * x + phase), LEAVES, NATURE, METRES / self.end)
        z = self.height / np.maximum(-b, 1e-9)  # the ground has a lawn on one side
        seen, lawn = (z < self.end) & (abs(a * z) < WALL), a * z * np.sign(phase - 4.5) > 6
        self._paint(seen, np.where(abs(a * z) < KERB, grey, grey + 0.16), FLAT, METRES / z)
        self._paint(seen & lawn, LEAVES, NATURE, METRES / z)
        for side in (-1, 1):  # houses
            z = WALL / np.maximum(side * a, 1e-9)
            y = self.height + b * z
            lot = 43758.5 * np.sin(7.13 * (z // 11) + phase + side) % 1  # as good as random
            pane = (abs(z % 3 - 1.5) < 0.65) & (abs(y % 3.2 - 1.8) < 0.8)
            colour = 0.55 + 0.15 * np.sin(97 * lot + np.reshape([0, 2, 4], (3, 1, 1)))
            seen = (z < self.end) & (y > 0) & (y < 5 + 9 * lot)
            self._paint(seen, np.where(pane, 0.3, colour), CONSTRUCTION, METRES / z)
        for kind, right, z, own in placed:
            s, t, pixel = abs(a * z - right), self.height + b * z, z / FOCAL / rows
            for q, middle, wide, high, colour in SHAPES[kind]:
                u, v = s / max(wide, pixel / 2), (t - middle) / high  # no thinner than a pixel
                covers, shown = u**q + abs(v) ** q < 1, own if colour is None else colour
                self._paint(covers, shown, KINDS[kind][0], METRES / z)
        veil = 1 - np.exp(-rng.uniform(0.004, 0.016) * METRES / (self.inverse + 1e-3))
        self.colour += veil * (self.label != SKY) * (BLUE - self.colour)
        self.colour *= rng.uniform(0.7, 1.1)
        bonnet = b + 0.33 + 0.12 * (a + 0.06) ** 2 < rng.uniform(-0.05, 0.06)
        self._paint(bonnet, 0.16, VOID, np.inf)
        self.inverse[bonnet] = 0

    def _paint(self, covers: Array, colour: Any, label: int, inverse: Array | float) -> None:
        """Paint the pixels that something `covers` unless a nearer one is there."""
        seen = covers & (inverse >= self.inverse)
        np.copyto(self.colour, colour, where=seen)
        self.label[seen] = label
        np.copyto(self.inverse, inverse, where=seen)
