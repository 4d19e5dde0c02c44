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
CLASSES = {  # Okabe and Ito's colours
    "flat": "#CC79A7",
    "construction": "#D55E00",
    "object": "#F0E442",
    "nature": "#009E73",
    "sky": "#56B4E9",
    "human": "#000000",
    "vehicle": "#0072B2",
}
UNKNOWN: dict[str, Any] = {"facecolor": "#E6E6E6", "hatch": "//////", "edgecolor": "#8C8C8C"}
KEY = [Patch(fc=hue, ec="#8C8C8C", lw=0.5, label=name) for name, hue in CLASSES.items()]
KEY += [Patch(**UNKNOWN, label="void, unknown")]
HATCHED = "Hatched: no class, or no depth measured."


def digits_figure(
    images: Sequence[ArrayLike], labels: Sequence[Sequence[int]], provenance: str
) -> Figure:
    """Rows of images [n, 1, h, w] under their labels, T lists of n in the order of the tasks."""
    titles = ["  ".join(str(int(d)) for d in digits) for digits in zip(*labels, strict=True)]
    figure, axes = style.panels(titles, COLUMNS, 1.2)
    for ax, image in zip(axes, images, strict=True):
        ax.imshow(np.asarray(image)[0], cmap="gray")
        ax.set_axis_off()
    return style.stamp(figure, provenance)


def faces_figure(
    images: ArrayLike,
    ages: ArrayLike,
    genders: ArrayLike,
    ethnicities: ArrayLike,
    provenance: str,
    third: str = "ethnicity",
) -> Figure:
    """Rows of faces over their labels, "34 · 1 · C"; arrays or tensors.

    `images` [n, 3, h, w] are uint8, or floats in [0, 1]. Ages [n] are whole years, or standardised
    where they are floats; ethnicities [n] count from 0, printed as A, and `third` is their name
    in the caption.
    """
    faces, *labels = (np.asarray(a) for a in (images, ages, genders, ethnicities))
    figure, axes = style.panels([""] * len(faces), COLUMNS, 1.2)
    years = ".0f" if np.issubdtype(labels[0].dtype, np.integer) else "+.1f"
    for ax, image, age, gender, ethnicity in zip(axes, faces, *labels, strict=True):
        _show(ax, image.transpose(1, 2, 0))
        ax.set_xlabel(f"{age:{years}} · {gender} · {chr(ord('A') + ethnicity)}")
    return style.stamp(figure, f"Age · gender · {third}. {provenance}")


def scenes_figure(
    images: UInt8[Array, "_ 3 H W"],
    labels: Integer[Array, "_ H W"],
    depths: Float[Array, "_ 1 H W"],
    provenance: str,
) -> Figure:
    """A column for each scene: the picture, the classes 0 ... 6 and the inverse depth of its
    pixels; void ones (class -1) and those without a depth (0 or less) are hatched."""
    each = style.WIDTH / len(images) * images.shape[2] / images.shape[3]
    size = (style.WIDTH, 3 * each + 1.3)
    figure, axes = plt.subplots(3, len(images), figsize=size, squeeze=False)
    for ax, image in zip(axes[0], images, strict=True):
        _show(ax, image.transpose(1, 2, 0))
    axes[0, 0].set_ylabel("picture")
    _show_maps(figure, axes[1:], labels, depths, float(depths.max()))
    return style.finish(figure, provenance, KEY, HATCHED, ncols=4)


def prediction_figure(
    image: UInt8[Array, "3 H W"],
    label: Integer[Array, "H W"],
    depth: Float[Array, "1 H W"],
    predicted_labels: Integer[Array, "P H W"],
    predicted_depths: Float[Array, "P 1 H W"],
    titles: Sequence[str],
    provenance: str,
) -> Figure:
    """One scene: the picture, the true classes above the true inverse depth, and a column with its
    title for each of P predictions of the two, which have no gaps. All depths share the colour
    scale of the true ones.
    """
    columns = 2 + len(titles)
    each = style.WIDTH / columns * image.shape[1] / image.shape[2]
    figure, axes = plt.subplots(2, columns, figsize=(style.WIDTH, 2 * each + 1.4))
    _show(axes[0, 0], image.transpose(1, 2, 0))
    axes[1, 0].set_axis_off()
    labels, depths = [label, *predicted_labels], [depth, *np.maximum(predicted_depths, 1e-6)]
    _show_maps(figure, axes[:, 1:], labels, depths, float(depth.max()))
    for ax, title in zip(axes[0], ("picture", "truth", *titles), strict=True):
        ax.set_title(title)
    return style.finish(figure, provenance, KEY, HATCHED, ncols=4)


def prediction_images(
    labels: Integer[Array, "P H W"], depths: Float[Array, "P 1 H W"], top: float
) -> UInt8[Array, "P H V 3"]:
    """Return P predictions of a scene as images: the classes, and right of them the inverse depths,
    in the colours of `prediction_figure`, which reach up to `top`."""
    classes = ListedColormap(list(CLASSES.values()))(labels)
    far = colormaps["cividis"](np.clip(depths[:, 0] / top, 0, 1))
    gap = np.ones_like(classes[:, :, :2])
    pixels = np.concatenate([classes, gap, far], axis=2)[..., :3]
    return np.rint(255 * pixels).astype(np.uint8)


def _show(ax: Axes, pixels: Array, **look: Any) -> AxesImage:
    """No ticks, no frame; what is masked shows the hatched background."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.grid(False)
    if np.ma.is_masked(pixels):
        ax.patch.set(**UNKNOWN, linewidth=0)
    return ax.imshow(pixels, **look)


def _show_maps(figure: Figure, axes: Array, labels: Any, depths: Any, top: float) -> None:
    """A row of classes above a row of inverse depths, whose colours reach up to `top`."""
    colours, exact = ListedColormap(list(CLASSES.values())), {"interpolation": "nearest"}
    for (above, below), label, depth in zip(axes.T, labels, depths, strict=True):
        limits: dict[str, Any] = {"vmin": -0.5, "vmax": len(CLASSES) - 0.5}
        _show(above, np.ma.masked_less(label, 0), cmap=colours, **limits, **exact)
        pixels = np.ma.masked_less_equal(depth[0], 0)
        drawn = _show(below, pixels, cmap="cividis", vmin=0, vmax=top, **exact)
    axes[0, 0].set_ylabel("classes")
    axes[1, 0].set_ylabel("inverse depth")
    bar = figure.colorbar(drawn, ax=axes[1], location="bottom", shrink=0.4, aspect=30)
    bar.set_label("inverse depth, disparity / 256 px")
