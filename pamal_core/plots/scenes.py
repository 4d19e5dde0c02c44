"""Pictures of scenes whose pixels have a class and an inverse depth. No torch here."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Integer, UInt8
from matplotlib import colormaps
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Patch

from pamal_core.errors import InputError
from pamal_core.plots import style

Array = np.ndarray

CLASSES = {  # Okabe and Ito's colours
    "flat": "#CC79A7",
    "construction": "#D55E00",
    "object": "#F0E442",
    "nature": "#009E73",
    "sky": "#56B4E9",
    "human": "#000000",
    "vehicle": "#0072B2",
}


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
        _show_picture(column[0], image)
        _show_classes(column[1], label)
        drawn = _show_depth(column[2], depth, float(depths.max()))
    for ax, name in zip(axes[:, 0], ("picture", "classes", "inverse depth"), strict=True):
        ax.set_ylabel(name, fontsize=9)
    _scale(figure, drawn, axes[2])
    figure.legend(handles=_handles(), loc="outside upper center", ncols=8, fontsize=8)
    style.stamp(figure, provenance)
    return figure


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
    _show_picture(axes[0, 0], image)
    axes[1, 0].set_axis_off()
    axes[1, 0].legend(handles=_handles(), loc="center", ncols=2, fontsize=8)
    for ax, classes in zip(axes[0, 1:], [label, *predicted_labels], strict=True):
        _show_classes(ax, classes)
    top = float(depth.max())
    _show_depth(axes[1, 1], depth, top)
    for ax, predicted in zip(axes[1, 2:], predicted_depths, strict=True):
        drawn = _show_depth(ax, np.maximum(predicted, 1e-6), top)
    for ax, name in zip(axes[:, 1], ("classes", "inverse depth"), strict=True):
        ax.set_ylabel(name, fontsize=9)
    for ax, title in zip(axes[0], ("picture", "truth", *titles), strict=True):
        ax.set_title(title, fontsize=9)
    _scale(figure, drawn, axes[1])
    style.stamp(figure, provenance)
    return figure


def _show_picture(ax: Axes, image: Array) -> None:
    _blank(ax)
    ax.imshow(image.transpose(1, 2, 0))


def _show_classes(ax: Axes, label: Array) -> None:
    _blank(ax)
    colours = ListedColormap(list(CLASSES.values()))
    known = np.ma.masked_less(label, 0)
    ax.imshow(known, cmap=colours, vmin=-0.5, vmax=len(CLASSES) - 0.5, interpolation="nearest")


def _show_depth(ax: Axes, depth: Array, top: float) -> AxesImage:
    _blank(ax)
    valid = np.ma.masked_less_equal(depth[0], 0)
    return ax.imshow(valid, cmap=colormaps["cividis"], vmin=0, vmax=top, interpolation="nearest")


def _scale(figure: Figure, drawn: AxesImage, row: Array) -> None:
    bar = figure.colorbar(drawn, ax=row, fraction=0.03, pad=0.01)
    bar.set_label("disparity / 256 px", fontsize=8)
    bar.ax.tick_params(labelsize=8)


def _blank(ax: Axes) -> None:
    """No ticks, no frame; what is masked shows the hatched background."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.grid(False)
    ax.patch.set(facecolor="#E6E6E6", hatch="//////", edgecolor="#8C8C8C", linewidth=0)


def _handles() -> list[Patch]:
    hatched = Patch(facecolor="#E6E6E6", hatch="//////", edgecolor="#8C8C8C", label="void, unknown")
    return [*(Patch(color=c, label=name) for name, c in CLASSES.items()), hatched]
