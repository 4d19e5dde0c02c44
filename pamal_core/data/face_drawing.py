"""Cartoon faces, many at once: shapes are signed distances, so every edge is smooth at any size."""

import numpy as np
from jaxtyping import Float32

Array = np.ndarray
Looks = dict[str, Array]

WHITE = np.ones((1, 3, 1, 1), dtype=np.float32)
DARK = np.full((1, 3, 1, 1), 0.12, dtype=np.float32)


class Canvas:
    """n square pictures, `image` float32 [n, 3, size, size] in [0, 1], to be painted back to front.

    `x` and `y` [n, size, size] are the coordinates of each pixel's centre in units of the face: x
    to the right, y down, the head about one wide around (0, 0). A head is tilted by the angle whose
    half has the tangent `tilt`, and then moved and scaled.
    """

    def __init__(self, size: int, looks: Looks) -> None:
        line = ((np.arange(size, dtype=np.float32) + 0.5) * 2 / size - 1)[None]
        u = (line[:, None, :] - looks["right"]) / looks["scale"]
        v = (line[:, :, None] - looks["down"]) / looks["scale"]
        # Rational in the tangent: no sines, which differ between machines in the last digit.
        cos, sin = 1 - looks["tilt"] ** 2, 2 * looks["tilt"]
        self.x, self.y = (cos * u + sin * v) / (2 - cos), (cos * v - sin * u) / (2 - cos)
        self.pixel = 2 / (size * looks["scale"])
        self.image = looks["sky"] + looks["sky_slope"] * (v + 0 * u)[:, None]

    def paint(self, distance: Array, colour: Array, opacity: Array | float = 1.0) -> None:
        """Cover where `distance` [n, size, size] to the outline is negative, half a pixel soft."""
        cover = np.clip(0.5 - distance / self.pixel, 0, 1) * opacity
        self.image += cover[:, None] * (colour - self.image)

    def aside(self, cx: Array | float) -> Array:
        """x from -cx and cx, whichever is on the pixel's side: for what a face has two of."""
        return abs(self.x) - cx


def ellipse(dx: Array, dy: Array, rx: Array | float, ry: Array | float) -> Array:
    """About the signed distance to an ellipse: its implicit function over the length of its
    gradient."""
    a, b = dx / rx, dy / ry
    inside = np.sqrt(a * a + b * b) + 1e-6
    slope = np.sqrt((a / rx) ** 2 + (b / ry) ** 2) + 1e-6
    return inside * (inside - 1) / slope


def stroke(
    dx: Array, dy: Array, reach: Array | float, bend: Array | float, width: Array | float
) -> Array:
    """About the distance to a line `width` thick from -reach to reach, its ends `bend` lower."""
    return np.maximum(abs(dy - bend * (dx / reach) ** 2) - width / 2, abs(dx) - reach)


def draw(looks: Looks, size: int) -> Float32[Array, "n 3 size size"]:
    """The faces of n `looks`, arrays [n, 1, 1] and colours [n, 3, 1, 1], without noise."""
    canvas = Canvas(size, looks)
    _hair_behind(canvas, looks)
    _clothes(canvas, looks)
    outline = _head(canvas, looks)
    _lines(canvas, looks)
    _features(canvas, looks)
    _hair_in_front(canvas, looks, outline)
    _glasses(canvas, looks)
    light = 1 + looks["light_x"] * canvas.x + looks["light_y"] * canvas.y
    return canvas.image * light[:, None] * looks["tint"]


def _hair_behind(canvas: Canvas, looks: Looks) -> None:
    half, corner = looks["head_x"] + looks["volume"], 0.16
    crown = ellipse(canvas.x, canvas.y + 0.1, half, looks["head_y"] + looks["volume"] - 0.03)
    # From the ears down to `length` it hangs straight, with round corners.
    below = abs(canvas.y - (looks["length"] - 0.1) / 2) - (looks["length"] + 0.1) / 2 + corner
    beside = abs(canvas.x) - half + corner
    fall = np.sqrt(beside.clip(0) ** 2 + below.clip(0) ** 2) - corner
    canvas.paint(np.minimum(crown, fall), looks["hair"] * 0.88)


def _clothes(canvas: Canvas, looks: Looks) -> None:
    x, y, top = abs(canvas.x), canvas.y, 0.62
    neck = np.maximum(x - 0.2, y - 0.85)
    canvas.paint(np.maximum(neck, -y), looks["tone"] * 0.86)
    body = ellipse(canvas.x, canvas.y - 1.45, 0.95, 0.8)
    canvas.paint(body, looks["cloth"])
    cut = ellipse(canvas.x, y - top - 0.02, 0.22, 0.14)
    patterns = [
        abs(cut) - 0.06,  # a round collar
        np.maximum(x - (1.0 - y) * 0.8, -y + top),  # an open one, a V
        0.07 - abs((y - top) % 0.24 - 0.12),  # stripes
        np.minimum(ellipse(x - 0.17, y - 0.78, 0.15, 0.11), ellipse(x, y - 0.78, 0.07, 0.07)),
        0.12 - x,  # all but a strip in the middle
    ]
    picked = np.select([looks["collar"] == k for k in range(5)], patterns)
    canvas.paint(np.maximum(picked, np.where(looks["collar"] < 2, -9, body)), looks["trim"])


def _head(canvas: Canvas, looks: Looks) -> Array:
    """Ears, head and cheeks; the distance to the outline of the head."""
    side = looks["head_x"] + 0.01
    canvas.paint(ellipse(canvas.aside(side), canvas.y - 0.06, 0.09, 0.13), looks["tone"] * 0.92)
    narrowing = 1 + looks["jaw"] * canvas.y
    outline = ellipse(canvas.x / narrowing, canvas.y, looks["head_x"], looks["head_y"])
    canvas.paint(outline, looks["tone"])
    cheek = ellipse(canvas.aside(0.3), canvas.y - looks["eye_line"] - 0.25, 0.12, 0.09)
    canvas.paint(cheek, looks["tone"] * looks["blush"], 0.7)
    return outline


def _lines(canvas: Canvas, looks: Looks) -> None:
    """What the years write on the forehead, under the eyes and beside the mouth."""
    ink, wide = looks["tone"] * 0.62, looks["line_width"]
    down = canvas.y - looks["eye_line"]
    for k, opacity in enumerate(("line_1", "line_2")):
        forehead = stroke(canvas.x, down + 0.26 + 0.09 * k, 0.24 - 0.04 * k, -0.02, wide)
        canvas.paint(forehead, ink, looks[opacity])
    bags = stroke(canvas.aside(looks["eye_x"]), down - 0.17, 0.11, -0.04, wide)
    canvas.paint(bags, ink, looks["line_3"])
    slanted = canvas.aside(0.2 + (canvas.y - 0.2) * 0.4)
    fold = np.maximum(abs(slanted) - wide / 2, abs(canvas.y - 0.28) - 0.12)
    canvas.paint(fold, ink, looks["line_4"])


def _features(canvas: Canvas, looks: Looks) -> None:
    down, big, beside = canvas.y - looks["eye_line"], looks["eye"], canvas.aside(looks["eye_x"])
    for share, colour in ((1.0, WHITE), (0.68, looks["iris"]), (0.38, DARK)):
        canvas.paint(ellipse(beside, down, big * share, big * share * 1.15), colour)
    brow = stroke(beside, down + big + 0.1, 0.14, looks["frown"], looks["brow"])
    canvas.paint(brow, looks["hair"] * 0.75)
    nose = ellipse(canvas.x, down - 0.17, 0.05, looks["nose"])
    canvas.paint(nose, looks["tone"] * 0.8)
    smile = stroke(canvas.x, down - 0.4, looks["mouth"], -looks["smile"], looks["lips"])
    canvas.paint(smile, looks["lip"])


def _hair_in_front(canvas: Canvas, looks: Looks, outline: Array) -> None:
    side = canvas.x - looks["parting"]
    below = canvas.y - looks["hairline"] - looks["fringe"] * side * side
    canvas.paint(np.maximum(outline - 0.03, below * 0.9), looks["hair"])


def _glasses(canvas: Canvas, looks: Looks) -> None:
    rim = abs(ellipse(canvas.aside(looks["eye_x"]), canvas.y - looks["eye_line"], 0.19, 0.17))
    bridge = stroke(canvas.x, canvas.y - looks["eye_line"], looks["eye_x"] - 0.19, 0.0, 0.05)
    canvas.paint(np.minimum(rim - 0.025, bridge), looks["frame"], looks["glasses"])
