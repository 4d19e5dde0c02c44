"""What low rank saves: `python benchmarks/low_rank.py`, or `... --network vit_b_16`.

One step at W = 1 of a `WeightEnsemble` of M members and of a `LowRankEnsemble`, its base trained or
frozen, against a step of one plain network in PyTorch. All include zero_grad, a forward and a
backward pass, and Adam. The steps are run in turn and the ratio is taken round by round, so that a
machine that slows down slows all of them. Time is that of the processor.

Numbers are counted in units of the N weights of the network. "stored" are the parameters, "trained"
those with a gradient. "held" are all that a step holds at its end: parameters, gradients, Adam's
moments, and for an ensemble theta and its gradient. "peak" is the most memory that torch allocates
in a step, with what was allocated before. In the last columns step, held and peak are divided by
those of the `WeightEnsemble` with as many members.
"""

import argparse
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torchvision
from timing import in_turn, peak_bytes, plain_step, training_step
from torch import Tensor, nn

from pamal_companion.baselines.low_rank import LowRankEnsemble
from pamal_companion.experiments.models import SharedBottom, channels_last, lenet
from pamal_companion.experiments.resnet import resnet18
from pamal_core import Method, WeightEnsemble, classification
from pamal_core.network import Network

TASKS = [classification("first"), classification("second")]
PLAIN = "plain network"


def vit_b_16() -> SharedBottom:
    """Make torchvision's, with random weights and two heads of ten classes."""
    encoder = torchvision.models.vit_b_16(weights=None)
    encoder.heads = nn.Identity()
    return channels_last(SharedBottom(encoder, [nn.Linear(768, 10) for _ in TASKS]))


# The network, the shape of an image, and the batch.
NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], int]] = {
    "lenet": (lenet, (1, 28, 28), 256),
    "resnet18": (lambda: resnet18((10, 10)), (3, 64, 64), 16),
    "vit_b_16": (vit_b_16, (3, 224, 224), 4),
}


class Trained:
    """A network in training: `step` is one of its steps."""

    def __init__(self, network: nn.Module, batch: tuple[Tensor, ...]) -> None:
        self.network = network
        self.optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)
        if isinstance(network, Network):
            self.step = training_step(Method(network, TASKS), batch, self.optimizer)
        else:
            self.step = plain_step(network, TASKS, batch, self.optimizer)

    def counts(self) -> dict[str, int]:
        """Return how many numbers are held after a step."""
        network, parameters = self.network, [*self.network.parameters()]
        moments = [v for one in self.optimizer.state.values() for v in one.values() if v.ndim]
        return {
            "stored": size(parameters),
            "trained": size(p.grad for p in parameters if p.grad is not None),
            "moments": size(moments),
            "thetas": 2 * network.skeleton.num_weights if isinstance(network, Network) else 0,
        }

    def peak(self) -> int:
        """Return the bytes at the peak of a step, at whose start there are no gradients."""
        peak, counts = peak_bytes(self.step), self.counts()
        before = counts["stored"] + counts["moments"] + size(self.network.buffers())
        return peak + before * torch.float32.itemsize


def size(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors)


def ways(
    make: Callable[[], nn.Module], members: list[int], ranks: list[int]
) -> dict[str, tuple[nn.Module, str]]:
    """Return a network by its name, and what it is compared with beside the plain one."""
    found: dict[str, tuple[nn.Module, str]] = {PLAIN: (make(), PLAIN)}
    for m in members:
        rows = np.full((m, len(TASKS)), 1 / len(TASKS))
        full = f"weight ensemble, M = {m}"
        found[full] = WeightEnsemble([make() for _ in range(m)], task_weights=rows), full
        for rank in ranks:
            for word, train_base in (("trained", True), ("frozen", False)):
                network = LowRankEnsemble(
                    make(), m, rank=rank, train_base=train_base, peft=False, task_weights=rows
                )
                found[f"rank {rank}, base {word}, M = {m}"] = network, full
    return found


def measured(options: argparse.Namespace) -> pd.DataFrame:
    make, shape, num = NETWORKS[options.network]
    num = options.batch or num
    batch = (torch.rand(num, *shape), *(torch.randint(10, (num,)) for _ in TASKS))
    networks = ways(make, options.members, options.ranks)
    trained = {way: Trained(network, batch) for way, (network, _) in networks.items()}
    peak = pd.Series({way: one.peak() for way, one in trained.items()})
    steps = {way: one.step for way, one in trained.items()}
    seconds = pd.DataFrame(in_turn(steps, options.rounds, options.repeats, time.process_time))
    counts = pd.DataFrame({way: one.counts() for way, one in trained.items()}).T
    ratios, held = seconds.div(seconds[PLAIN], axis=0), counts.sum(axis=1)
    num_weights, full = counts.loc[PLAIN, "stored"], [full for _, full in networks.values()]
    columns = {
        "step": ratios.median(),
        "least": ratios.min(),
        "most": ratios.max(),
        "stored": counts["stored"] / num_weights,
        "trained": counts["trained"] / num_weights,
        "held": held / num_weights,
        "peak": peak / peak[PLAIN],
        "seconds": seconds.median(),
        "gigabytes": peak / 1e9,
        "step of ensemble": (seconds / seconds[full].to_numpy()).median(),
        "held of ensemble": held / held[full].to_numpy(),
        "peak of ensemble": peak / peak[full].to_numpy(),
    }
    return pd.DataFrame(columns).rename_axis("way")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", choices=NETWORKS, default="lenet")
    parser.add_argument("--members", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--ranks", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--batch", type=int, help="default: 256, 16 or 4 images, by the network")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=1, help="steps of each way in a round")
    parser.add_argument("--out", type=Path, help="a CSV file")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)  # others that wait for work would count as processor time
    print(f"{arguments.network}, torch {torch.__version__}, 1 thread")
    found = measured(arguments)
    print(found.round(2).to_string())
    if arguments.out:
        found.round(4).to_csv(arguments.out, lineterminator="\n")
