"""Example pictures of digits and of faces, under or over their labels."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from pamal_core.errors import InputError
from pamal_core.plots import style


def digits_figure(
    images: Sequence[ArrayLike],
    labels: Sequence[Sequence[int]],
    provenance: str,
    *,
    columns: int = 8,
) -> Figure:
    """Rows of `columns` images [n, 1, h, w] under their labels, T lists of n in the order of the
    tasks."""
    figure, axes = style.panels(len(images), columns, (1.1, 1.5))
    for ax, image, *digits in zip(axes, images, *labels, strict=True):
        ax.imshow(np.asarray(image)[0], cmap="gray_r")
        ax.set_title("  ".join(str(int(digit)) for digit in digits), fontsize=10)
        ax.set_axis_off()
    return style.stamp(figure, provenance)


def faces_figure(
    images: ArrayLike,
    ages: ArrayLike,
    genders: ArrayLike,
    ethnicities: ArrayLike,
    provenance: str,
    *,
    columns: int = 8,
) -> Figure:
    """Rows of `columns` faces over their labels, "34 · 1 · C"; arrays or tensors.

    `images` [n, 3, h, w] are uint8, or floats in [0, 1]. Ages [n] are whole years, or standardised
    where they are floats; ethnicities [n] count from 0, printed as A. InputError where the lengths
    or the shape are others.
    """
    faces, *labels = (np.asarray(a) for a in (images, ages, genders, ethnicities))
    n = len(faces)
    if faces.shape[1:2] != (3,) or faces.ndim != 4 or any(a.shape != (n,) for a in labels):
        raise InputError(
            "Faces are [n, 3, h, w], with an age, a gender and an ethnicity each. "
            f"Found shape {faces.shape} and {[len(a) for a in labels]} labels."
        )
    figure, axes = style.panels(n, columns, (1.1, 1.35))
    years = ".0f" if np.issubdtype(labels[0].dtype, np.integer) else "+.1f"
    for ax, image, age, gender, ethnicity in zip(axes, faces, *labels, strict=True):
        ax.imshow(image.transpose(1, 2, 0))
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.set_xlabel(f"{age:{years}} · {gender} · {chr(ord('A') + ethnicity)}", fontsize=10)
    return style.stamp(figure, f"Age · gender · ethnicity. {provenance}")
