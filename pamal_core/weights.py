"""Weights by name: as the parameters of a module, and as one vector, with which balancers compute.

A vector has the numbers of each weight as they lie in memory: a channels-last kernel [out, in, h,
w] as [out, h, w, in]. Then no weight and no gradient is copied into another order, and sums over a
vector have the same bits as sums over the weights themselves.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

Vector = Float[Tensor, " N"]
"""A number for each weight of one network: the weights, a gradient, or a direction."""
ByMember = Float[Tensor, "*batch M"]
"""Points of the simplex: a number for each member."""
ByTask = Float[Tensor, "*batch T"]
"""A number for each task, such as its loss or its weight."""
ByDraw = Float[Tensor, "*batch W T"]
"""A number for each draw of a step and each task."""
Jacobian = Float[Tensor, "*batch T S"]
"""The gradient of each task's loss by S of the weights."""
Direction = Float[Tensor, "*batch S"]
"""A combination of the rows of a Jacobian."""
Coefficients = Float[ndarray, " T"]
"""A number for each task gradient, in rules that are solved on the CPU."""
Gram = Float[ndarray, "T T"]
"""The inner products of the task gradients."""
Weights = dict[str, Tensor]
"""The trainable weights of one network by their names in the model, the shared ones first."""


class Layout(NamedTuple):
    """The axes of a weight from the outermost in memory to the innermost, their sizes in this
    order, and the order that brings the axes back."""

    order: tuple[int, ...]
    sizes: tuple[int, ...]
    inverse: tuple[int, ...]


@cache  # asked for each weight, several times a step
def layout(strides: tuple[int, ...], sizes: tuple[int, ...]) -> Layout:
    """Return how a weight with these strides and sizes lies in memory."""
    # If strides tie, the axis of size 1 is the inner one: nothing else tells a channels-last kernel
    # [out, 1, h, w] from another.
    axes = range(len(sizes))
    order = tuple(sorted(axes, key=lambda axis: (-strides[axis], -sizes[axis])))
    return Layout(
        order, tuple(sizes[axis] for axis in order), tuple(order.index(axis) for axis in axes)
    )


def memory_order(weight: Tensor) -> tuple[int, ...]:
    """Return the axes of `weight`, from the outermost in memory to the innermost."""
    return layout(weight.stride(), weight.shape).order


def in_order(tensor: Tensor, order: tuple[int, ...]) -> Tensor:
    """Return a view of `tensor` whose axes are in this order, or the tensor if they are."""
    return tensor if order == tuple(range(len(order))) else tensor.permute(order)


def as_leaves(theta: Weights) -> Weights:
    """Return `theta` as leaves of a new graph, which gather gradients of their own."""
    return {name: weight.detach().requires_grad_() for name, weight in theta.items()}


def flatten(tensors: Iterable[Tensor], like: Iterable[Tensor]) -> Vector:
    """Return the numbers of `tensors`, each in the memory order of its partner in `like`."""
    pairs = zip(tensors, like, strict=True)
    return torch.cat([in_order(tensor, memory_order(other)).flatten() for tensor, other in pairs])


def unflatten(vector: Vector, like: Sequence[Tensor]) -> list[Tensor]:
    """Return the pieces of `vector` as tensors with the shapes and the memory orders of `like`."""
    pieces = torch.split(vector, [partner.numel() for partner in like])
    return [laid(piece, partner) for piece, partner in zip(pieces, like, strict=True)]


def laid(piece: Tensor, like: Tensor) -> Tensor:
    """Return a view of `piece` [n] with the shape and the memory order of `like`."""
    given = layout(like.stride(), like.shape)
    return in_order(piece.view(given.sizes), given.inverse)


def parameter_tree(tensors: Mapping[str, Tensor]) -> nn.Module:
    """Return a module with a parameter for each of `tensors` under its name, dots included."""
    tree = nn.Module()
    for name, tensor in tensors.items():
        *path, leaf = name.split(".")
        module = tree
        for part in path:
            if part not in module._modules:
                module.add_module(part, nn.Module())
            module = module.get_submodule(part)
        module.register_parameter(leaf, nn.Parameter(tensor))
    return tree
