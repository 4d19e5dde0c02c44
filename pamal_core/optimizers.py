"""Settings of an optimiser by the names of weights."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from torch import Tensor

from pamal_core.method import Method
from pamal_core.networks.skeleton import Skeleton


def parameter_groups(
    method: Method, settings: Callable[[str, torch.Size], Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return groups for any optimiser of torch, which `train` may then be given.

    - `method`: what is trained, on its device already.
    - `settings(name, shape)`: returns what is special to a weight, such as {"weight_decay": 0.0},
      and {} for nothing. Names and shapes are those of a member's `named_parameters()`; a tied
      weight goes by its first name.

    The tensors are views of the matrix [M, N] of an ensemble, one for each weight of each
    member, so that the optimiser does with them exactly what it does with plain modules. A low-rank
    ensemble has views of its base, where that is trained, and the adapters of all members to a
    weight, as "A.encoder/0/weight". Other networks are grouped by their own parameters. The
    parameters of a balancer have no settings.

    A loop of your own must clear the gradients of both the optimiser and the network.
    """
    network = method.network
    named: list[tuple[str, Tensor]] = [*network.named_parameters()]
    flat = network.flat
    if flat is not None:
        views = _views(network.skeleton, flat.detach())
        named = views + [(name, p) for name, p in named if p is not flat and p.requires_grad]

        def share(whole: Tensor) -> None:
            slopes = _views(network.skeleton, cast(Tensor, whole.grad))
            for (_, view), (_, slope) in zip(views, slopes, strict=True):
                view.grad = slope

        flat.register_post_accumulate_grad_hook(share)  # type: ignore[no-untyped-call]
    groups: dict[str, dict[str, Any]] = {}
    for name, weight in named:
        own = settings(name, weight.shape)
        key = repr(sorted(own.items()))
        groups.setdefault(key, {**own, "params": []})["params"].append(weight)
    learned = list(method.balancer.parameters())
    return [*groups.values(), *([{"params": learned}] if learned else [])]


def _views(skeleton: Skeleton, stacked: Tensor) -> list[tuple[str, Tensor]]:
    """The name and the view of each weight of each row; of a vector, of the one."""
    rows = stacked.view(-1, skeleton.num_weights)
    return [pair for row in rows for pair in skeleton.views(row).items()]
