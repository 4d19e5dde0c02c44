"""The plan of a made-up street: what is where, in metres, before anything is painted."""

from typing import NamedTuple

import numpy as np

from pamal_core.data.street_things import Thing

Array = np.ndarray
Generator = np.random.Generator


class Camera(NamedTuple):
    """`height` in metres above the road, the row of the `horizon` in heights of the picture from
    its top, and the column of the vanishing point in heights from its middle."""

    height: float
    horizon: float
    centre: float


class Wall(NamedTuple):
    """Houses and hedges in the plane `x` metres right of the camera (negative: left). House i ends
    at the distance ends[i]; `windows` [n, 2] are the width of a bay and the height of a storey, 0
    for a hedge."""

    x: float
    ends: Array
    heights: Array
    colours: Array
    frames: Array
    windows: Array


class Weather(NamedTuple):
    """Colours [3] of the light and of the haze, the haze per metre, the noise of the picture, and
    the side of the sun: -1 or 1."""

    light: Array
    haze: Array
    density: float
    noise: float
    sun: int


class Street(NamedTuple):
    """`kerbs` and the walls are metres right of the camera; `verge` is how much of each pavement is
    grass, from the wall. At distance `end` the street meets trees or, if `closed`, a house."""

    camera: Camera
    walls: tuple[Wall, ...]
    kerbs: tuple[float, float]
    verge: Array
    end: float
    closed: bool
    asphalt: Array
    paving: Array
    weather: Weather
    things: list[Thing]
    bonnet: float


PAINTS = np.array(  # of cars, clothes and doors
    [
        [0.72, 0.13, 0.12],
        [0.15, 0.28, 0.55],
        [0.85, 0.85, 0.83],
        [0.13, 0.13, 0.15],
        [0.55, 0.57, 0.60],
        [0.86, 0.67, 0.16],
        [0.18, 0.42, 0.30],
        [0.66, 0.52, 0.40],
    ]
)
WALLS = np.array(  # plaster, brick and concrete
    [
        [0.62, 0.32, 0.24],
        [0.78, 0.70, 0.56],
        [0.66, 0.66, 0.66],
        [0.48, 0.37, 0.32],
        [0.76, 0.56, 0.46],
        [0.55, 0.62, 0.62],
        [0.84, 0.80, 0.72],
    ]
)
PANES = np.array([[0.93, 0.78, 0.42], [0.45, 0.55, 0.62]])  # lit, and with the sky in them
LEAVES = np.array(  # summer, spring, conifers, autumn
    [[0.20, 0.37, 0.15], [0.36, 0.46, 0.16], [0.13, 0.29, 0.20], [0.58, 0.34, 0.15]]
)

REACH = {  # the nearest and the farthest that a thing may be, in metres
    "car": (7, 100),
    "van": (8, 100),
    "person": (5.5, 35),
    "tree": (9, 100),
    "bush": (7, 40),
    "lamp": (6, 40),
    "sign": (6, 40),
    "light": (6, 40),
    "bin": (6, 40),
}
POSTS = ("lamp", "lamp", "sign", "sign", "light", "bin")  # lamps and signs are twice as frequent


def street(rng: Generator) -> Street:
    """A street, drawn at random."""
    camera = Camera(rng.uniform(1.6, 2.6), rng.uniform(0.34, 0.6), rng.uniform(-0.25, 0.25))
    kerbs = -rng.uniform(3.6, 6.5), rng.uniform(2.8, 5.5)
    paved = rng.uniform(2.2, 4.5, 2)
    end = rng.uniform(45, 110)
    sides = kerbs[0] - paved[0], kerbs[1] + paved[1]
    verge = paved * np.where(rng.random(2) < 0.4, rng.uniform(0.3, 0.7, 2), 0)
    grey = rng.uniform(0.28, 0.5)
    return Street(
        camera,
        tuple(_wall(x, end, rng) for x in sides),
        kerbs,
        verge,
        end,
        closed=rng.random() < 0.4,
        asphalt=np.clip(grey + rng.uniform(-0.04, 0.04, 3), 0, 1),
        paving=np.clip(grey + rng.uniform(0.05, 0.2) + rng.uniform(-0.05, 0.05, 3), 0, 1),
        weather=_weather(rng),
        things=_things(kerbs, sides, end, rng),
        bonnet=max(0.0, rng.uniform(-0.05, 0.07)),
    )


def _wall(x: float, end: float, rng: Generator) -> Wall:
    lengths = rng.uniform(7, 19, 16)
    ends = np.cumsum(lengths) - rng.uniform(0, 7)
    n = int(np.searchsorted(ends, end)) + 1
    hedge = rng.random(n) < 0.18
    colours = _shade(WALLS[rng.integers(len(WALLS), size=n)], rng)
    leaves = _shade(LEAVES[rng.integers(len(LEAVES), size=n)], rng)
    panes = _shade(PANES[rng.integers(len(PANES), size=n)], rng)
    windows = np.stack([rng.uniform(2.2, 4, n), rng.uniform(2.7, 3.6, n)], 1)
    return Wall(
        x,
        np.append(ends[: n - 1], np.inf),
        np.where(hedge, rng.uniform(2.9, 4.5, n), rng.uniform(5, 16, n)),
        np.where(hedge[:, None], leaves, colours),
        np.where(rng.random((n, 1)) < 0.7, [0.2, 0.24, 0.3], panes),
        np.where(hedge[:, None], 0, windows),
    )


def _shade(colours: Array, rng: Generator) -> Array:
    """Lighter or darker versions of `colours` [n, 3]."""
    factor = rng.uniform(0.7, 1.25, (len(colours), 1)) + rng.uniform(-0.08, 0.08, colours.shape)
    return np.clip(colours * factor, 0, 1)


def _weather(rng: Generator) -> Weather:
    cloud, dusk = rng.random(), rng.random() ** 3
    sky = (1 - cloud) * np.array([0.42, 0.62, 0.88]) + cloud * np.array([0.74, 0.76, 0.78])
    haze = (1 - dusk) * sky + dusk * np.array([0.93, 0.66, 0.52])
    light = (1.12 - 0.25 * cloud - 0.3 * dusk) * (1 + dusk * np.array([0.12, -0.04, -0.1]))
    sun = 1 if rng.random() < 0.5 else -1
    return Weather(light, haze, rng.uniform(0.004, 0.025), rng.uniform(0.01, 0.04), sun)


def _things(
    kerbs: tuple[float, float], sides: tuple[float, float], end: float, rng: Generator
) -> list[Thing]:
    """Traffic in the lanes and at the kerbs, people and what stands on the pavements."""
    things: list[Thing] = []
    left, right = kerbs
    for lane, most in ((left / 2, 2), (right / 2, 2), (left + 1.2, 3), (right - 1.2, 3)):
        kind = "van" if rng.random() < 0.2 else "car"
        things += _row(kind, lane + rng.uniform(-0.2, 0.2, rng.integers(most)), end, rng)
    for kerb, wall in zip(kerbs, sides, strict=True):
        side, width = np.sign(kerb), abs(wall - kerb)
        walks = kerb + side * rng.uniform(0.4, width - 0.5, rng.integers(5))
        things += _row("person", walks, end, rng)
        things += _row("tree", np.full(rng.integers(5), wall - 1.85 * side), end, rng)
        things += _row("bush", np.full(rng.integers(3), wall - side), end, rng)
        for kind in rng.choice(POSTS, rng.integers(1, 5)):
            things += _row(str(kind), np.array([kerb + 0.5 * side]), end, rng)
    return things + _row("person", rng.uniform(left, right, rng.integers(3)), end, rng)


def _row(kind: str, x: Array, end: float, rng: Generator) -> list[Thing]:
    """Things of a kind at `x`; their distances are even on a logarithmic scale, so that a small
    picture shows as many of them near as far."""
    n = len(x)
    near, far = REACH[kind]
    z = near * (min(far, 0.95 * end) / near) ** rng.random(n)
    palette = LEAVES if kind in ("tree", "bush") else PAINTS
    first, second = (_shade(palette[rng.integers(len(palette), size=n)], rng) for _ in range(2))
    if kind in ("car", "van"):  # tail lights in the own lane, headlights in the other
        second[:] = np.where(x[:, None] > 0, [0.8, 0.1, 0.08], [1.0, 0.97, 0.8])
    if kind == "lamp":
        first[:] = rng.uniform(0.25, 0.6, (n, 1))
    phases = rng.random(n)
    return [Thing(kind, *row) for row in zip(x, z, first, second, phases, strict=True)]
