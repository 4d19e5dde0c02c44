"""Made-up street scenes: pictures with a class and an inverse depth for each pixel."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int8, UInt8

from pamal_core.data.street_plan import LEAVES, Street, Wall, street
from pamal_core.data.street_things import KINDS, Thing
from pamal_core.errors import InputError

Array = np.ndarray

FOCAL = 1.6
"""Focal length, in heights of the picture."""
METRES = 1.85
"""Inverse depth times distance. As in the real data, an inverse depth is the disparity in pictures
2,048 pixels wide, in units of 256 pixels: 0.209 m from camera to camera x 2,263 pixels / 256."""
DISPARITY = 1 / 8
"""Disparity in widths of the picture over inverse depth: 256 of 2,048 pixels."""
FLAT, CONSTRUCTION, OBJECT, NATURE, SKY, HUMAN, VEHICLE = range(7)


class Canvas(NamedTuple):
    """What is painted on, and `a` [1, W] and `b` [H, 1]: at distance z, a pixel sees what is a z
    metres right of the camera and b z metres above it."""

    colour: Float[Array, "H W 3"]
    label: Int8[Array, "H W"]
    inverse: Float[Array, "H W"]
    a: Float[Array, "1 W"]
    b: Float[Array, "H 1"]


def scenes(
    num: int, size: tuple[int, int], seed: int
) -> tuple[UInt8[Array, "num 3 H W"], Int8[Array, "num H W"], Float[Array, "num 1 H W"]]:
    """`num` streets as pictures of `size` (H, W), the classes and the inverse depths of their
    pixels; equal arguments give equal bytes, on one kind of processor.

    Classes: 0 flat, 1 construction, 2 object, 3 nature, 4 sky, 5 human, 6 vehicle, -1 void. Inverse
    depth is 1.85 over the distance in metres, at most 0.4922; 0 where it is unknown: sky, the
    bonnet, what a second camera to the right would not see, and a few holes. A street depends on
    `seed` and its number alone, so more streets or larger pictures show the same ones again.

    Raises InputError unless `num` is at least 1, both sides at least 8 and `seed` at least 0.
    """
    if num < 1 or min(size) < 8 or seed < 0:
        raise InputError(
            "`num` must be at least 1, `size` two sides of at least 8 pixels and `seed` at least "
            f"0. Found num={num}, size={size}, seed={seed}."
        )
    images = np.empty((num, 3, *size), np.uint8)
    labels = np.empty((num, *size), np.int8)
    depths = np.empty((num, 1, *size), np.float32)
    for i, stream in enumerate(np.random.SeedSequence(seed).spawn(num)):
        rng = np.random.default_rng(stream)
        plan = street(rng)
        canvas = render(plan, size)
        images[i], labels[i] = _photograph(canvas.colour, plan.weather.noise, rng), canvas.label
        depths[i, 0] = _measure(canvas.inverse, rng)
    return images, labels, depths


def render(plan: Street, size: tuple[int, int]) -> Canvas:
    """The street without noise and holes: the ground and the walls, then its things, far to
    near."""
    height, width = size
    columns = (np.arange(width) + 0.5 - width / 2) / height - plan.camera.centre
    rows = plan.camera.horizon - (np.arange(height) + 0.5) / height
    blank = np.zeros(size, np.int8), np.zeros(size)
    canvas = Canvas(np.empty((*size, 3)), *blank, columns[None] / FOCAL, rows[:, None] / FOCAL)
    _paint_sky(canvas, plan)
    _paint_ground(canvas, plan)
    for wall in plan.walls:
        _paint_wall(canvas, wall, plan)
    for thing in sorted(plan.things, key=lambda thing: -thing.z):
        _paint_thing(canvas, thing, plan.camera.height)
    _paint_weather(canvas, plan)
    _paint_bonnet(canvas, plan)
    return canvas


def _paint_sky(canvas: Canvas, plan: Street) -> None:
    """A gradient with clouds, and what closes the street: trees far away or a house."""
    a, b, haze = canvas.a, canvas.b, plan.weather.haze
    drift = 40 * plan.camera.height
    clouds = np.sin(5 * a + 22 * b + drift) + np.sin(13 * a - 9 * b) + np.sin(2 * drift - 31 * b)
    canvas.colour[:] = haze * (1.08 - 0.5 * np.clip(b, 0, 1))[..., None]
    canvas.colour[:] += 0.06 * np.clip(3 * clouds - 2, 0, 1)[..., None]
    canvas.label[:] = SKY
    x, y = canvas.a * plan.end, plan.camera.height + canvas.b * plan.end
    trees = 5 + 2 * np.sin(0.31 * x + plan.end) + 1.3 * np.sin(1.1 * x) + 0.7 * np.sin(2.9 * x)
    seen = y < (np.full_like(x, 11) if plan.closed else trees)
    canvas.colour[seen] = plan.walls[0].colours[0] if plan.closed else LEAVES[0]
    panes = (x % 3 > 1.2) & (y % 3 > 1.3) & seen
    canvas.colour[panes] *= 0.6 if plan.closed else 0.9
    canvas.label[seen] = CONSTRUCTION if plan.closed else NATURE
    canvas.inverse[seen] = METRES / plan.end


def _paint_ground(canvas: Canvas, plan: Street) -> None:
    """Road, pavements and verges in the plane below the camera, with the shadow of a wall."""
    z = plan.camera.height / np.maximum(-canvas.b, 1e-9)
    seen = np.broadcast_to(z < plan.end, canvas.label.shape)
    x = canvas.a * z
    (left, right), (far_left, far_right) = plan.kerbs, (wall.x for wall in plan.walls)
    paved = (x < left) | (x > right)
    grass = (x < far_left + plan.verge[0]) | (x > far_right - plan.verge[1])
    colour = np.where(paved[..., None], plan.paving, plan.asphalt)
    colour[paved & ((x % 1 < 0.12) | (z % 1 < 0.12))] *= 0.85
    colour[(abs(x - left) < 0.12) | (abs(x - right) < 0.12)] *= 1.3
    colour[(abs(x - (left + right) / 2) < 0.1) & (z % 5 < 2.2)] = 0.9
    colour[grass] = LEAVES[1] * 0.9
    shade = min(plan.weather.sun * far for far in (far_left, far_right)) * plan.weather.sun
    colour[abs(x - shade) < 3.5 + plan.camera.height] *= 0.7
    for thing in plan.things:  # what stands there darkens the ground around its foot
        half = KINDS[thing.kind].width / 2
        colour[((x - thing.x) / half) ** 2 + ((z - thing.z) / (0.6 + half)) ** 2 < 1.2] *= 0.62
    canvas.colour[seen] = colour[seen]
    canvas.label[seen] = np.where(grass, NATURE, FLAT)[seen]
    canvas.inverse[:] = np.where(seen, METRES / z, canvas.inverse)


def _paint_wall(canvas: Canvas, wall: Wall, plan: Street) -> None:
    """Houses with rows of windows, and hedges, where they are nearer than what is there."""
    facing = np.sign(wall.x) * canvas.a > abs(wall.x) / plan.end
    columns = np.flatnonzero(facing[0])
    if not len(columns):
        return
    part = slice(columns[0], columns[-1] + 1)
    z = wall.x / canvas.a[:, part]
    y = plan.camera.height + canvas.b * z
    house = np.searchsorted(wall.ends, z[0])
    top, colour, frame = wall.heights[house], wall.colours[house], wall.frames[house]
    seen = (y > 0) & (y < top)
    bay, storey = np.maximum(wall.windows[house], 0.1).T
    hedge = wall.windows[house, 0] == 0
    u, v = z[0] / bay % 1, y / storey % 1
    panes = (u > 0.3) & (u < 0.75) & (v > 0.3) & (v < 0.8) & (y > 0.6) & (y < top - 0.7) & ~hedge
    ripple = np.sin(9 * z) * np.sin(8 * y + 3 * z) * np.where(hedge, 0.2, 0.06)
    lines = np.where((y % 0.5 < 0.1) & ~hedge, 0.93, 1) + ripple
    shaded = 0.68 if np.sign(wall.x) == plan.weather.sun else 1.0
    painted = np.where(panes[..., None], frame, colour) * (shaded * lines)[..., None]
    painted[(y > top - 0.5) & ~hedge] *= 0.6
    colours, label, inverse = (each[:, part] for each in canvas[:3])
    colours[seen] = painted[seen]
    label[:] = np.where(seen, np.where(hedge, NATURE, CONSTRUCTION), label)
    inverse[:] = np.where(seen, METRES / z, inverse)


def _paint_thing(canvas: Canvas, thing: Thing, height: float) -> None:
    """One flat figure at its distance, over what is farther."""
    kind = KINDS[thing.kind]
    x, y = canvas.a[0] * thing.z - thing.x, height + canvas.b[:, 0] * thing.z
    left, right = np.searchsorted(x, [-kind.width / 2, kind.width / 2])
    top, foot = np.searchsorted(-y, [-kind.height, 0])
    window = slice(top, foot), slice(left, right)
    s, t = x[None, left:right] * (2 / kind.width), y[top:foot, None] / kind.height
    ds = (x[1] - x[0]) * 2 / kind.width
    for mask, colour in kind.layers(thing, s, t, ds):
        canvas.colour[window][mask] = colour
        canvas.label[window][mask] = kind.category
        canvas.inverse[window][mask] = METRES / thing.z


def _paint_weather(canvas: Canvas, plan: Street) -> None:
    """Light, then haze: the farther, the more."""
    light, haze, density, *_ = plan.weather
    z = METRES / np.maximum(canvas.inverse, METRES / 400)
    clear = np.where(canvas.label == SKY, 1, np.exp(-density * z))[..., None]
    lit = np.where((canvas.label == SKY)[..., None], canvas.colour, canvas.colour * light)
    canvas.colour[:] = lit * clear + haze * (1 - clear)


def _paint_bonnet(canvas: Canvas, plan: Street) -> None:
    """The car that carries the camera, at the lower edge: void."""
    height = len(canvas.b)
    up = 1 - (np.arange(height)[:, None] + 0.5) / height
    seen = up < plan.bonnet * (1 - 1.2 * canvas.a**2)
    canvas.colour[seen] = 0.16
    canvas.label[seen] = -1
    canvas.inverse[seen] = 0


def _photograph(colour: Float[Array, "H W 3"], noise: float, rng: np.random.Generator) -> Array:
    grain = rng.standard_normal(colour.shape, np.float32)
    return (255 * np.clip(colour + noise * grain, 0, 1) + 0.5).astype(np.uint8).transpose(2, 0, 1)


def _measure(inverse: Float[Array, "H W"], rng: np.random.Generator) -> Array:
    """The inverse depths that two cameras measure: none for what the right one does not see, as
    something in front of it lands on the same or a farther left column there, and some holes."""
    width = inverse.shape[1]
    lands = np.arange(width) - DISPARITY * width * inverse
    beyond = np.minimum.accumulate(lands[:, ::-1], 1)[:, ::-1][:, 1:]
    hidden = np.zeros(inverse.shape, bool)
    hidden[:, :-1] = beyond <= lands[:, :-1]
    holes = rng.random(inverse.shape) < 0.01
    return np.where(hidden | holes, 0, inverse)
