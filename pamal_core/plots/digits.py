"""Example images of digit data."""

from collections.abc import Sequence

from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from pamal_core.plots import style


def examples_figure(
    images: Sequence[ArrayLike], labels: Sequence[Sequence[int]], provenance: str
) -> Figure:
    """A row of images [n, 1, h, w] under their labels, T lists of n in the order of the tasks."""
    figure, axes = plt.subplots(1, len(images), figsize=(1.1 * len(images), 1.5))
    for ax, image, *digits in zip(axes, images, *labels, strict=True):
        ax.imshow(image[0], cmap="gray_r")
        ax.set_title("  ".join(str(int(digit)) for digit in digits), fontsize=10)
        ax.set_axis_off()
    style.stamp(figure, provenance)
    return figure
