"""Compute what the drawings of the method show: small problems whose answers are known."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from pydantic import Field

from pamal_companion.experiments.models import mlp
from pamal_companion.runs.options import Options
from pamal_core.ensemble import WeightEnsemble
from pamal_core.front import Front
from pamal_core.objectives import Objective
from pamal_core.penalties import MultiForward
from pamal_core.simplex import lattice

Array = np.ndarray
CENTRES = np.array([[0.0, 0.0], [1.0, 0.0]])
"""The lowest point of each of the two bowls."""
OFF = 0.75
"""The distance from the segment between the centres of the draws that are off it."""


class SchematicsOptions(Options):
    """The common options that mean something for drawings: nothing is trained."""

    known: ClassVar = ("W", "p", "seed")
    W: Annotated[
        int, Field(ge=4, description="draws of alpha; fewer would not show the four cases")
    ] = 5


def bowls(thetas: Float[Array, "*batch 2"]) -> Float[Array, "*batch 2"]:
    """Return two losses of two weights, the squared distances to `CENTRES`; lower is better.

    The Pareto set is the segment between the centres. The ensemble whose members are the centres
    has it as its subspace: theta(alpha) has the losses (alpha_2^2, alpha_1^2), the exact front.
    """
    return ((thetas[..., None, :] - CENTRES) ** 2).sum(-1)


def four_situations(window: int) -> tuple[Float[Array, "W 2"], dict[str, Float[Array, "W 2"]]]:
    """Return `window` evenly spaced draws of alpha, and their losses under four ensembles (Figure
    3). From four draws on the one that is off the front is out of order for both tasks."""
    alphas = lattice(2, window)
    on, aside = alphas @ CENTRES, np.array([0.0, OFF])
    one_off = on + aside * (np.arange(window) == window // 2)[:, None]
    thetas = {
        "in order, on the front": on,
        "one draw off the front": one_off,
        "on the front, reversed": alphas @ CENTRES[::-1],
        "in order, all off the front": on + aside,
    }
    return alphas, {name: bowls(theta) for name, theta in thetas.items()}


def penalties(
    alphas: Float[Array, "W T"], situations: Mapping[str, Float[Array, "W T"]]
) -> pd.DataFrame:
    """Return the value of `MultiForward` (Eq. 3) in each situation, lower is better: a column per
    sign."""
    losses = torch.as_tensor(np.stack([*situations.values()]))
    weights = torch.as_tensor(alphas).expand(losses.shape)
    signs: tuple[Literal["ordered", "printed"], ...] = ("ordered", "printed")
    found = {sign: MultiForward(1.0, sign)(losses, weights).numpy() for sign in signs}
    return pd.DataFrame(found, index=[*situations])


def three_members(seed: int) -> tuple[int, Float[Array, "3 2"]]:
    """Return the number of weights N of the paper's perceptron for three tasks and 468 features,
    and where three members of it, initialised independently, lie in the plane through them. Every
    alpha^T Theta lies in this plane, at the same combination of the three points."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        ensemble = WeightEnsemble([mlp(468, num_tasks=3) for _ in range(3)])
    stacked = ensemble.members().double().numpy()
    return stacked.shape[1], in_plane(stacked)


def in_plane(stacked: Float[Array, "3 N"]) -> Float[Array, "3 2"]:
    """Return three points of any space as the same triangle in a plane, its centre at the origin
    and the first point straight above it."""
    centred = stacked - stacked.mean(0)
    up = centred[0] / np.linalg.norm(centred[0])
    across = centred[2] - centred[1]
    across = across - (across @ up) * up
    return np.stack((centred @ across / np.linalg.norm(across), centred @ up), axis=-1)


def bowls_front(alphas: Float[Array, "P 2"], losses: Float[Array, "P 2"]) -> Front:
    """Return points of the two bowls as a front of losses."""
    objectives = Objective("task 1/loss", False), Objective("task 2/loss", False)
    return Front(alphas, pd.DataFrame(losses, columns=[o.name for o in objectives]), objectives)
