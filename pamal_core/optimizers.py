"""The weights of an ensemble, member by member, for optimisers that treat a weight as a whole."""

from torch import Tensor

from pamal_core.network import Network


def member_parameters(network: Network) -> list[tuple[str, Tensor]]:
    """Return the trained weights of `network` by name: each member's own, as "1.encoder.0.weight".

    Muon, Adafactor and LARS look at the shape or the norm of a whole weight, so they need the
    weight of one member, not of all. The tensors are views: a step on them moves the network. Adam,
    AdamW and SGD treat each number alike and need `network.parameters()` alone. Weights that are no
    member's, as those of a hypernetwork, are returned as they are.

    - `network`: is on its device and in its dtype already.

    A loop of your own clears the gradients of both, of the optimiser and of the network.
    """
    pairs: list[tuple[str, Tensor]] = []
    for name, weight in network.named_parameters():
        if not weight.requires_grad:
            continue
        if not name.startswith("stacked."):
            pairs.append((name, weight))
            continue
        views = [*weight.detach()]
        pairs += [(f"{k}.{name.removeprefix('stacked.')}", view) for k, view in enumerate(views)]

        def share(whole: Tensor, views: list[Tensor] = views) -> None:
            assert whole.grad is not None
            for view, gradient in zip(views, whole.grad, strict=True):
                view.grad = gradient

        weight.register_post_accumulate_grad_hook(share)  # type: ignore[no-untyped-call]
    return pairs
