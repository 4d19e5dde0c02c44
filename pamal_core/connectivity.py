"""Whether members belong together: how far a front falls below the line between its ends."""

import warnings

import numpy as np

from pamal_core.errors import InputError, check_type
from pamal_core.front import Front

WORSE = 0.1
"""Members do not belong together where the middle is worse than the worst end by more than this
share of that end's value."""


def barrier(front: Front) -> dict[str, float]:
    r"""By how much the middle of `front` is worse than the line between its ends, for each
    objective and in its unit: 0.05 of an accuracy is 0.05 below the line, 0.05 of a loss 0.05
    above. A negative number is better than the line.

    The middle is the point whose alpha is nearest to (1/M, ..., 1/M). The line is $\sum_k \alpha_k
    v_k$, with $v_k$ the objective at corner k. Frankle et al., "Linear mode connectivity and the
    lottery ticket hypothesis" (ICML 2020), call the largest such gap along the line the error
    barrier. It is small for networks that share the first part of their training, and as large as
    can be for those that start independently.

    Warns where the middle is worse than every end by more than a tenth of the worst end's value.
    Raises InputError unless every corner is a point of `front`.
    """
    check_type("front", front, Front, "evaluate(network, tasks, loader)")
    finite = front.finite()
    alphas, values, num_members = finite.alphas, finite.values, finite.alphas.shape[1]
    is_end = np.isclose(alphas, 1, atol=1e-6)
    if num_members < 2 or not is_end.any(0).all() or is_end.any(1).all():
        raise InputError(
            "A barrier needs a front of two members or more with every corner of the simplex and a "
            f"point between them, as `evaluate` gives it. Found {len(alphas)} points of "
            f"{num_members} members, {int(is_end.any(0).sum())} of the corners among them."
        )
    ends = values[is_end.argmax(0)]
    middle = np.linalg.norm(alphas - 1 / num_members, axis=1).argmin()
    sign = np.where(front.maximise, -1, 1)
    gaps = sign * (values[middle] - alphas[middle] @ ends)
    worst = (sign * ends).max(0)
    names = [objective.name for objective in front.objectives]
    apart = sign * values[middle] - worst > WORSE * abs(worst)
    if apart.any():
        found = " and ".join(
            f"{names[t]} is {values[middle, t]:.3g} in the middle and "
            f"{', '.join(f'{end:.3g}' for end in ends[:, t])} at the ends"
            for t in np.flatnonzero(apart)
        )
        warnings.warn(
            f"The members do not belong together, as networks do that were trained from one or "
            f"together: {found}.",
            stacklevel=2,
        )
    return dict(zip(names, gaps.tolist(), strict=True))
