"""Example pictures of faces."""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from pamal_core.errors import InputError
from pamal_core.plots import style


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
    pictures, *labels = (np.asarray(a) for a in (images, ages, genders, ethnicities))
    n = len(pictures)
    if pictures.shape[1:2] != (3,) or pictures.ndim != 4 or any(a.shape != (n,) for a in labels):
        raise InputError(
            "Faces are [n, 3, h, w], with an age, a gender and an ethnicity each. "
            f"Found shape {pictures.shape} and {[len(a) for a in labels]} labels."
        )
    rows = -(-n // columns)
    size = (1.1 * columns, 1.35 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
    for ax in axes.flat[n:]:  # the last row may be short
        ax.set_axis_off()
    years = ".0f" if np.issubdtype(labels[0].dtype, np.integer) else "+.1f"
    people = zip(pictures, *labels, strict=True)
    for ax, (image, age, gender, ethnicity) in zip(axes.flat, people, strict=False):
        ax.imshow(image.transpose(1, 2, 0))
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.set_xlabel(f"{age:{years}} · {gender} · {chr(ord('A') + ethnicity)}", fontsize=10)
    style.stamp(figure, f"Age · gender · ethnicity. {provenance}")
    return figure
