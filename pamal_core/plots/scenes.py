"""Pictures of scenes whose pixels have a class and an inverse depth."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Integer, UInt8
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Patch
from numpy import ndarray as Array

from pamal_core.errors import InputError
from pamal_core.plots import style

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
KEY = [Patch(color=colour, label=name) for name, colour in CLASSES.items()]
KEY.append(Patch(**UNKNOWN, label="void, unknown"))


def scenes_figure(
    images: UInt8[Array, "_ 3 H W"],
    labels: Integer[Array, "_ H W"],
    depths: Float[Array, "_ 1 H W"],
    provenance: str,
) -> Figure:
    """A column for each scene: the picture, the classes 0 ... 6 and the inverse depth of its
    pixels.

    Void pixels (class -1) and pixels without a depth (0 or less) are hatched.
    """
    if not 0 < len(images) == len(labels) == len(depths):
        raise InputError(
            "There must be at least one scene, and as many label and depth maps as pictures. "
            f"Found {len(images)} pictures, {len(labels)} label and {len(depths)} depth maps."
        )
    size = (1 + 2 * len(images), 6.6 * images.shape[2] / images.shape[3] + 0.5)
    figure, axes = plt.subplots(3, len(images), figsize=size, squeeze=False)
    for column, image, label, depth in zip(axes.T, images, labels, depths, strict=True):
        _show(column[0], image.transpose(1, 2, 0))
        drawn = _show_maps(column[1:], label, depth, float(depths.max()))
    for ax, name in zip(axes[:, 0], ("picture", "classes", "inverse depth"), strict=True):
        ax.set_ylabel(name, fontsize=9)
    _add_scale(figure, drawn, axes[2])
    return style.finish(figure, provenance, KEY, ncols=8, fontsize=8)


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
    title for each of P predictions of the two.

    What has no truth is hatched in the truth alone: a network predicts a class and a depth for
    every pixel. All depths share the colour scale of the true ones.
    """
    if not 0 < len(titles) == len(predicted_labels) == len(predicted_depths):
        raise InputError(
            "There must be a title, a label map and a depth map for each prediction. Found "
            f"{len(titles)}, {len(predicted_labels)} and {len(predicted_depths)}."
        )
    columns = 2 + len(titles)
    size = (1 + 2.1 * columns, 4.3 * image.shape[1] / image.shape[2] + 0.5)
    figure, axes = plt.subplots(2, columns, figsize=size)
    _show(axes[0, 0], image.transpose(1, 2, 0))
    axes[1, 0].set_axis_off()
    axes[1, 0].legend(handles=KEY, loc="center", ncols=2, fontsize=8)
    labels, depths = [label, *predicted_labels], [depth, *np.maximum(predicted_depths, 1e-6)]
    for pair, classes, known in zip(axes.T[1:], labels, depths, strict=True):
        drawn = _show_maps(pair, classes, known, float(depth.max()))
    for ax, name in zip(axes[:, 1], ("classes", "inverse depth"), strict=True):
        ax.set_ylabel(name, fontsize=9)
    for ax, title in zip(axes[0], ("picture", "truth", *titles), strict=True):
        ax.set_title(title, fontsize=9)
    _add_scale(figure, drawn, axes[1])
    return style.stamp(figure, provenance)


def _show(ax: Axes, pixels: Array, **look: Any) -> AxesImage:
    """No ticks, no frame; what is masked shows the hatched background."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.grid(False)
    ax.patch.set(**UNKNOWN, linewidth=0)
    return ax.imshow(pixels, **look)


def _show_maps(pair: Array, label: Array, depth: Array, top: float) -> AxesImage:
    """The classes above the inverse depth, whose colours reach up to `top`."""
    above, below = pair
    colours, last = ListedColormap(list(CLASSES.values())), len(CLASSES) - 0.5
    look: dict[str, Any] = {"cmap": colours, "vmin": -0.5, "vmax": last}
    _show(above, np.ma.masked_less(label, 0), interpolation="nearest", **look)
    look = {"cmap": "cividis", "vmin": 0, "vmax": top}
    return _show(below, np.ma.masked_less_equal(depth[0], 0), interpolation="nearest", **look)


def _add_scale(figure: Figure, drawn: AxesImage, row: Array) -> None:
    bar = figure.colorbar(drawn, ax=row, fraction=0.03, pad=0.01)
    bar.set_label("disparity / 256 px", fontsize=8)
    bar.ax.tick_params(labelsize=8)
