"""Error barriers: how far the middle between the members falls."""

import warnings

import numpy as np

from pamal_core.errors import InputError
from pamal_core.front import Front

WORSE = 0.1
"""Share of the worst end's value by which the middle may be worse without a warning."""


def barrier(front: Front) -> dict[str, float]:
    r"""Return by how much the middle is worse than the line between the ends, for each objective
    and in its unit: 0.05 of an accuracy is 0.05 below the line, 0.05 of a loss 0.05 above. A
    negative number is better than the line.

    The middle is the point nearest to (1/M, ..., 1/M), the line $\sum_k \alpha_k v_k$ with the
    objective $v_k$ at corner k. Frankle et al., "Linear mode connectivity and the lottery ticket
    hypothesis" (ICML 2020), call the largest gap along it the error barrier: small for networks
    that share the first part of their training, and large for others.

    Warns if the middle is worse than every end by more than a tenth of the worst end's value.
    Raises InputError unless every corner is a point of the front.
    """
    front = front.finite()
    alphas, num_members = front.alphas, front.alphas.shape[1]
    is_end = np.isclose(alphas, 1, atol=1e-6)
    if num_members < 2 or not is_end.any(0).all() or is_end.any(1).all():
        raise InputError(
            "A barrier needs a front of two members or more with every corner of the simplex "
            f"and a point between them, as `evaluate` gives it. Found {len(front)} points of "
            f"{num_members} members, {int(is_end.any(0).sum())} of the corners among them."
        )
    middle = np.linalg.norm(alphas - 1 / num_members, axis=1).argmin()
    sign, values = np.where(front.maximise, -1, 1), front.values
    ends = values[is_end.argmax(0)]
    worst = (sign * ends).max(0)
    apart = sign * values[middle] - worst > WORSE * abs(worst)
    if apart.any():
        gaps_in_words = " and ".join(
            f"{front.objectives[t].name} is {values[middle, t]:.3g} in the middle and "
            f"{', '.join(f'{end:.3g}' for end in ends[:, t])} at the ends"
            for t in np.flatnonzero(apart)
        )
        warnings.warn(
            f"The members do not belong together: {gaps_in_words}. Mix networks that were trained "
            "together, or from one network.",
            stacklevel=2,
        )
    gaps = sign * (values[middle] - alphas[middle] @ ends)
    return dict(zip((o.name for o in front.objectives), gaps.tolist(), strict=True))
