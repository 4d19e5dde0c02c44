"""The optimiser of the paper, and which of its rates is whose."""

import torch

from pamal_companion.rivals.phn import Hypernetwork
from pamal_core.method import Method
from pamal_core.networks.low_rank import LowRankEnsemble
from pamal_core.networks.mixture import Mixture


def adam(method: Method, lr: float, *, scaled: bool = True) -> torch.optim.Adam:
    """Return Adam for all that `method` trains, with `lr`; if `scaled`, with M times that for what
    alpha mixes: the gradient of a member is scaled by its alpha, 1/M in expectation (section 5).
    """
    network, rate = method.network, lr
    mixed = []
    if isinstance(network, Mixture):
        base = network.base if isinstance(network, LowRankEnsemble) else None
        mixed = [p for p in network.parameters() if p is not base and p.requires_grad]
        if scaled:
            rate = lr * network.num_members
    others = [p for p in method.parameters() if not any(p is one for one in mixed)]
    pairs = (mixed, rate), ([p for p in others if p.requires_grad], lr)
    groups = [{"params": params, "lr": own} for params, own in pairs if params]
    # A hypernetwork has a hundred parameters for each weight of its model, and torch's usual dozen
    # passes over them take three times as long as their gradient.
    is_large = isinstance(network, Hypernetwork) or network.device.type == "cuda"
    return torch.optim.Adam(groups, fused=True if is_large else None)
