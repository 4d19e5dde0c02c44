"""Example pictures: digits and faces with their labels, scenes whose pixels have a class and an
inverse depth."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Integer, UInt8
from matplotlib import colormaps
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Patch
from numpy import ndarray as Array
from numpy.typing import ArrayLike

from pamal_companion.plots import style

COLUMNS = 8
# Okabe and Ito's colours. None is a hue of the palette, which a page changes in the dark.
CLASSES = {
    "flat": "#CC79A7",
    "construction": "#D55E00",
    "object": "#F0E442",
    "nature": "#009E73",
    "sky": "#56B4E9",
    "human": "#000000",
    "vehicle": "#0173B2",
}
UNKNOWN: dict[str, Any] = {"facecolor": "#E6E6E6", "hatch": "//////", "edgecolor": "#8C8C8C"}
KEY = [Patch(fc=hue, ec="#8C8C8C", lw=0.5, label=name) for name, hue in CLASSES.items()]
KEY += [Patch(**UNKNOWN, label="void, unknown")]


@style.twice
def digits_figure(
    images: Sequence[ArrayLike], labels: Sequence[Sequence[int]], provenance: str
) -> Figure:
    """Draw rows of images [n, 1, h, w] under their labels, T lists of n in the order of the
    tasks."""
    titles = ["  ".join(str(int(d)) for d in digits) for digits in zip(*labels, strict=True)]
    figure, axes = style.panels(titles, COLUMNS, 1.2, phone=COLUMNS // 2)
    for ax, image in zip(axes, images, strict=True):
        ax.imshow(np.asarray(image)[0], cmap="gray")
        ax.set_axis_off()
    return style.stamp(figure, provenance)


@style.twice
def faces_figure(
    images: ArrayLike,
    ages: ArrayLike,
    genders: ArrayLike,
    ethnicities: ArrayLike,
    provenance: str,
    third: str = "ethnicity",
) -> Figure:
    """Draw rows of faces over their labels, "34 · 1 · C"; arrays or tensors.

    `images` [n, 3, h, w] are uint8, or floats in [0, 1]. Ages [n] are whole years, or standardised
    where they are floats; ethnicities [n] count from 0, printed as A, and `third` is their name
    in the caption.
    """
    faces, *labels = (np.asarray(a) for a in (images, ages, genders, ethnicities))
    figure, axes = style.panels([""] * len(faces), COLUMNS, 1.2, phone=COLUMNS // 2)
    years = ".0f" if np.issubdtype(labels[0].dtype, np.integer) else "+.1f"
    for ax, image, age, gender, ethnicity in zip(axes, faces, *labels, strict=True):
        _show(ax, image.transpose(1, 2, 0))
        ax.set_xlabel(f"{age:{years}} · {gender} · {chr(ord('A') + ethnicity)}")
    return style.stamp(figure, f"Age · gender · {third}. {provenance}")


@style.twice
def scenes_figure(
    images: UInt8[Array, "_ 3 H W"],
    labels: Integer[Array, "_ H W"],
    depths: Float[Array, "_ 1 H W"],
    provenance: str,
) -> Figure:
    """Draw a row for each scene: the picture, the classes 0 ... 6 and the inverse depth of its
    pixels; void ones (class -1) and those without a depth (0 or less) are hatched. On a phone the
    three of the first two scenes, one below the other."""
    words = f"{_near_and_far(labels, depths)}{_hatched(labels, depths)}"
    if style.on_phone():
        images, labels, depths = images[:2], labels[:2], depths[:2]
    num, each = len(images), images.shape[2] / images.shape[3]
    if style.on_phone():
        size, shape = (style.width(), 3 * num * (style.width() * each + 0.25) + 1.6), (3 * num, 1)
    else:
        size, shape = (style.WIDTH, num * (style.WIDTH / 3 * each + 0.1) + 1.6), (num, 3)
    figure, axes = plt.subplots(*shape, figsize=size, squeeze=False)
    rows = axes.reshape(num, 3)
    for ax, image in zip(rows[:, 0], images, strict=True):
        _show(ax, image.transpose(1, 2, 0))
    rows[0, 0].set_title("picture")
    _show_maps(figure, rows[:, 1:], labels, depths, float(depths.max()))
    return style.finish(figure, provenance, KEY, words, ncols=4)


def _hatched(labels: Array, depths: Array) -> str:
    """Return what is hatched, and how many of the pixels."""
    void, unknown = (f"{100 * np.mean(one):.0f} %" for one in (labels < 0, depths <= 0))
    return f"Hatched: no class ({void} of the pixels), or no depth measured ({unknown})."


def _near_and_far(labels: Array, depths: Array) -> str:
    """Return a sentence that says which class is the nearest one on average, and which is the
    furthest; nothing of fewer than two classes with a depth."""
    known = depths[:, 0] > 0
    means = {
        name: float(depths[:, 0][known & (labels == number)].mean())
        for number, name in enumerate(CLASSES)
        if (known & (labels == number)).any()
    }
    if len(means) < 2:
        return ""
    near, far = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    return (
        f"Of the classes with a measured depth “{near}” is the nearest on average and “{far}” the "
        "furthest, so the class of a pixel says something about its depth. "
    )


@style.twice
def prediction_figure(
    image: UInt8[Array, "3 H W"],
    label: Integer[Array, "H W"],
    depth: Float[Array, "1 H W"],
    predicted_labels: Integer[Array, "P H W"],
    predicted_depths: Float[Array, "P 1 H W"],
    titles: Sequence[str],
    provenance: str,
) -> Figure:
    """Draw one scene: the picture, and below it a row for the truth and for each of P predictions,
    with its title: the classes and the inverse depth. Predictions have no gaps, and all depths
    share the colour scale of the true ones."""
    rows, wide = 2 + len(titles), style.width()
    size = (wide, rows * (wide / 2 * image.shape[1] / image.shape[2]) + 1.1)
    if style.on_phone():
        size = (wide, size[1] + 0.9)
    figure, axes = plt.subplots(rows, 2, figsize=size)
    _show(axes[0, 0], image.transpose(1, 2, 0))
    axes[0, 0].set_ylabel("picture")
    axes[0, 1].set_axis_off()
    labels, depths = [label, *predicted_labels], [depth, *np.maximum(predicted_depths, 1e-6)]
    _show_maps(figure, axes[1:], labels, depths, float(depth.max()))
    for ax, title in zip(axes[1:, 0], ("truth", *titles), strict=True):
        ax.set_ylabel(title)
    right = np.mean(predicted_labels == label, axis=(1, 2), where=label >= 0)
    wrong = np.abs(np.stack(depths[1:]) - depth).mean(axis=(1, 2, 3), where=depth > 0)
    words = f"{_best_predictions(titles, right, wrong)}Hatched: no class, or no depth measured."
    if style.on_phone():
        return style.finish(figure, provenance, KEY, words, ncols=4)
    axes[0, 1].legend(handles=KEY, loc="center left", ncols=2)
    return style.stamp(figure, provenance, words)


def _best_predictions(titles: Sequence[str], right: Array, wrong: Array) -> str:
    """Return a sentence that says which prediction has the most classes right, and which the
    smallest error of inverse depth; of a single prediction both numbers."""
    if len(titles) == 1:
        return (
            f"On this scene {100 * right[0]:.0f} % of the classes are right, and the inverse depth "
            f"is off by {wrong[0]:.3f} on average. "
        )
    most, least = int(right.argmax()), int(wrong.argmin())
    both = "one network is the best" if most == least else "no network is the best"
    high, low = (f"{100 * share:.0f} %" for share in (right.max(), right.min()))
    return (
        f"{titles[most]} has the most classes right, {high} of the pixels (the worst has {low}). "
        f"{titles[least]} errs the least in inverse depth, by {wrong.min():.3f} (the worst by "
        f"{wrong.max():.3f}), so {both} at both. "
    )


def prediction_images(
    labels: Integer[Array, "P H W"], depths: Float[Array, "P 1 H W"], top: float
) -> UInt8[Array, "P H V 3"]:
    """Return P predictions of a scene as images: the classes, and right of them the inverse depths,
    in the colours of `prediction_figure`, which reach up to `top`."""
    classes = ListedColormap(list(CLASSES.values()))(labels)
    far = colormaps[style.MAP](np.clip(depths[:, 0] / top, 0, 1))
    gap = np.ones_like(classes[:, :, :2])
    pixels = np.concatenate([classes, gap, far], axis=2)[..., :3]
    return np.rint(255 * pixels).astype(np.uint8)


def _show(ax: Axes, pixels: Array, **look: Any) -> AxesImage:
    """Show a picture without ticks and frame; what is masked shows the hatched background."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.grid(False)
    if np.ma.is_masked(pixels):
        ax.patch.set(**UNKNOWN, linewidth=0)
    return ax.imshow(pixels, **look)


def _show_maps(figure: Figure, rows: Array, labels: Any, depths: Any, top: float) -> None:
    """Draw a row for each scene: its classes, and inverse depths, whose colours reach up to
    `top`."""
    colours, exact = ListedColormap(list(CLASSES.values())), {"interpolation": "nearest"}
    for (left, right), label, depth in zip(rows, labels, depths, strict=True):
        limits: dict[str, Any] = {"vmin": -0.5, "vmax": len(CLASSES) - 0.5}
        _show(left, np.ma.masked_less(label, 0), cmap=colours, **limits, **exact)
        pixels = np.ma.masked_less_equal(depth[0], 0)
        drawn = _show(right, pixels, cmap=style.MAP, vmin=0, vmax=top, **exact)
    rows[0, 0].set_title("classes")
    rows[0, 1].set_title("inverse depth")
    bar = figure.colorbar(drawn, ax=rows[-1, 1], location="bottom", shrink=0.9, aspect=30)
    bar.set_label("inverse depth\n(disparity / 256 px,\nhigher is nearer)")
