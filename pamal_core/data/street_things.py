"""What stands in a made-up street: flat figures that face the camera, a few plain shapes each."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

Array = np.ndarray
Layers = Iterator[tuple[Array, Array | tuple[float, ...]]]


class Thing(NamedTuple):
    """A thing of a kind of `KINDS` whose foot is `x` metres right of the camera and `z` metres
    ahead of it, painted in two colours, each [3] in [0, 1]; `phase` in [0, 1] varies its shape."""

    kind: str
    x: float
    z: float
    first: Array
    second: Array
    phase: float = 0.5


class Kind(NamedTuple):
    """All things of a kind are equally large, in metres, so that their size tells their distance.

    `layers(thing, s, t, ds)` yields shapes, back to front, with a colour each. `s` [1, w] runs from
    -1 (left) to 1 (right), `t` [h, 1] from 0 (foot) to 1 (top); pixels are `ds` apart in `s`.
    """

    category: int
    width: float
    height: float
    layers: Callable[[Thing, Array, Array, float], Layers]


def _ellipse(s: Array, t: Array, at: tuple[float, float], half: tuple[float, float]) -> Array:
    return ((s - at[0]) / half[0]) ** 2 + ((t - at[1]) / half[1]) ** 2 < 1


def _box(s: Array, t: Array, left: float, right: float, low: float, high: float) -> Array:
    return (s >= left) & (s <= right) & (t >= low) & (t <= high)


def _stem(s: Array, t: Array, half: float, ds: float, high: float) -> Array:
    """An upright bar that is never thinner than a pixel."""
    half = max(half, ds / 2)
    return (s >= -half) & (s < half) & (t <= high)


def _car(thing: Thing, s: Array, t: Array, ds: float) -> Layers:
    cabin = (abs(s) < 1.1 - 0.45 * t) & (t > 0.5)
    yield _box(s, t, -1.0, 1.0, 0.13, 0.58) | cabin, thing.first
    yield (abs(s) < 0.98 - 0.45 * t) & (t > 0.58) & (t < 0.92), (0.16, 0.20, 0.25)
    yield (abs(abs(s) - 0.76) < 0.16) & (t < 0.22), (0.05, 0.05, 0.06)
    yield (abs(abs(s) - 0.82) < 0.13) & (abs(t - 0.44) < 0.07), thing.second
    yield (abs(s) < 0.24) & (abs(t - 0.33) < 0.05), (0.9, 0.9, 0.85)


def _van(thing: Thing, s: Array, t: Array, ds: float) -> Layers:
    yield _box(s, t, -1.0, 1.0, 0.1, 1.0), thing.first
    yield (abs(abs(s) - 0.45) < 0.4) & (abs(t - 0.7) < 0.18), (0.16, 0.20, 0.25)
    yield (abs(abs(s) - 0.75) < 0.16) & (t < 0.16), (0.05, 0.05, 0.06)
    yield (abs(abs(s) - 0.86) < 0.1) & (abs(t - 0.3) < 0.05), thing.second


def _person(thing: Thing, s: Array, t: Array, ds: float) -> Layers:
    stride = 0.25 + 0.45 * thing.phase
    yield (abs(abs(s) - stride * (1 - 2 * t)) < 0.24) & (t < 0.5), thing.second
    yield _ellipse(s, t, (0.0, 0.65), (0.72, 0.22)), thing.first
    yield _ellipse(s, t, (0.0, 0.91), (0.34, 0.1)), (0.82, 0.62, 0.5)
    yield _ellipse(s, t, (0.0, 0.965), (0.32, 0.05)), (0.2, 0.13, 0.09)


def _tree(thing: Thing, s: Array, t: Array, ds: float) -> Layers:
    yield _stem(s, t, 0.09, ds, 0.5), (0.32, 0.23, 0.15)
    rim = 1 + 0.1 * np.sin(7 * np.arctan2(t - 0.68, s) + 9 * thing.phase)
    crown = _ellipse(s, t, (0.0, 0.68), (0.9, 0.32)) if thing.phase < 0.7 else abs(s) < 1.15 - t
    crown = crown & (t > 0.3) & (abs(s) < rim)
    yield crown, thing.first
    leaves = np.sin(11 * s + 3 * np.sin(19 * t)) + np.sin(29 * t + 4 * np.sin(9 * s))
    yield crown & (leaves > 0.8), 1.25 * thing.first
    yield crown & (leaves < -0.5), 0.7 * thing.first


def _bush(thing: Thing, s: Array, t: Array, ds: float) -> Layers:
    body = _ellipse(s, t, (0.0, 0.0), (1.0, 1.0))
    yield body, thing.first
    yield body & (np.sin(14 * s + 20 * thing.phase) * np.sin(11 * t) > 0.3), thing.second


def _lamp(thing: Thing, s: Array, t: Array, ds: float) -> Layers:
    yield _stem(s, t, 0.1, ds, 1.0), thing.first
    towards_road = -np.sign(thing.x) * s
    yield (towards_road > 0) & (abs(t - 0.97) < 0.025), thing.first
    yield (towards_road > 0.5) & (abs(t - 0.955) < 0.035), (0.97, 0.93, 0.75)


def _sign(thing: Thing, s: Array, t: Array, ds: float) -> Layers:
    yield _stem(s, t, 0.12, ds, 0.8), (0.55, 0.56, 0.58)
    if thing.phase < 0.4:
        plate = _ellipse(s, t, (0.0, 0.86), (1.0, 0.14)), _ellipse(s, t, (0.0, 0.86), (0.62, 0.087))
    elif thing.phase < 0.7:
        plate = _box(s, t, -0.9, 0.9, 0.74, 1.0), _box(s, t, -0.5, 0.5, 0.8, 0.94)
    else:
        plate = (abs(s) < 3.6 * (1 - t)) & (t > 0.72), (abs(s) < 3.6 * (0.91 - t)) & (t > 0.765)
    yield plate[0], thing.first
    yield plate[1], (0.94, 0.94, 0.92)


def _light(thing: Thing, s: Array, t: Array, ds: float) -> Layers:
    yield _stem(s, t, 0.15, ds, 0.75), (0.3, 0.31, 0.3)
    yield _box(s, t, -0.62, 0.62, 0.7, 1.0), (0.1, 0.11, 0.1)
    stop = thing.phase < 0.5
    lens = _ellipse(s, t, (0.0, 0.93 if stop else 0.77), (0.45, 0.055))
    yield lens, (1.0, 0.2, 0.15) if stop else (0.1, 0.9, 0.5)


def _bin(thing: Thing, s: Array, t: Array, ds: float) -> Layers:
    yield abs(s) < 0.75 + 0.2 * t, thing.first
    yield (t > 0.88) & (abs(s) <= 1), 0.5 * thing.first


KINDS = {
    "car": Kind(6, 1.9, 1.5, _car),
    "van": Kind(6, 2.2, 2.6, _van),
    "person": Kind(5, 0.75, 1.75, _person),
    "tree": Kind(3, 3.6, 6.2, _tree),
    "bush": Kind(3, 1.8, 1.0, _bush),
    "lamp": Kind(2, 1.5, 5.2, _lamp),
    "sign": Kind(2, 0.8, 2.7, _sign),
    "light": Kind(2, 0.6, 3.2, _light),
    "bin": Kind(-1, 0.7, 1.1, _bin),  # void: a thing of none of the classes
}
