"""Example images of digit data."""

from collections.abc import Sequence

from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from pamal_core.plots import style


def examples_figure(
    images: Sequence[ArrayLike],
    labels: Sequence[Sequence[int]],
    provenance: str,
    *,
    columns: int = 8,
) -> Figure:
    """Rows of `columns` images [n, 1, h, w] under their labels, T lists of n in the order of the
    tasks."""
    rows = -(-len(images) // columns)
    size = (1.1 * columns, 1.5 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
    for ax in axes.flat:
        ax.set_axis_off()
    examples = zip(images, *labels, strict=True)
    for ax, (image, *digits) in zip(axes.flat, examples, strict=False):  # the last row may be short
        ax.imshow(image[0], cmap="gray_r")
        ax.set_title("  ".join(str(int(digit)) for digit in digits), fontsize=10)
    style.stamp(figure, provenance)
    return figure
