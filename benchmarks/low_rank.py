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
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torchvision
from timing import peak_bytes, seconds
from torch import Tensor, nn

from pamal_core import LowRankEnsemble, Method, WeightEnsemble, classification
from pamal_core.networks.base import Network
from pamal_core.networks.models import SharedBottom, lenet
from pamal_core.networks.resnet import resnet18
from pamal_core.tasks import task_losses

TASKS = [classification("first"), classification("second")]


def vit_b_16() -> SharedBottom:
    """Torchvision's, with random weights and two heads of ten classes."""
    encoder = torchvision.models.vit_b_16(weights=None)
    encoder.heads = nn.Identity()
    return SharedBottom(encoder, [nn.Linear(768, 10) for _ in TASKS])


# The network, the shape of an image, and the batch.
NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], int]] = {
    "lenet": (lenet, (1, 28, 28), 256),
    "resnet18": (lambda: resnet18((10, 10)), (3, 64, 64), 16),
    "vit_b_16": (vit_b_16, (3, 224, 224), 4),
}


class Trained:
    """A network in training: `step` is one of its steps."""

    def __init__(self, network: nn.Module, batch: tuple[Tensor, ...]) -> None:
        self.network, self.batch, self.rng = network, batch, np.random.default_rng(0)
        self.method = Method(network, TASKS) if isinstance(network, Network) else None
        self.optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)

    def step(self) -> None:
        self.optimizer.zero_grad()
        if self.method is None:
            task_losses(TASKS, self.network(self.batch[0]), self.batch[1:]).mean().backward()
        else:
            self.method.step(self.batch, self.rng)
        self.optimizer.step()

    def counts(self) -> dict[str, int]:
        """How many numbers are held after a step."""
        parameters = [*self.network.parameters()]
        moments = [v for one in self.optimizer.state.values() for v in one.values() if v.ndim]
        return {
            "stored": size(parameters),
            "trained": size(p.grad for p in parameters if p.grad is not None),
            "moments": size(moments),
            "thetas": 0 if self.method is None else 2 * self.method.network.skeleton.num_weights,
        }

    def peak(self) -> int:
        """Bytes at the peak of a step, at whose start there are no gradients."""
        peak, counts = peak_bytes(self.step), self.counts()
        before = counts["stored"] + counts["moments"] + size(self.network.buffers())
        return peak + before * torch.float32.itemsize


def size(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors)


def ways(
    make: Callable[[], nn.Module], members: list[int], ranks: list[int]
) -> dict[str, tuple[nn.Module, str]]:
    """By its name a network, and what it is compared with beside the plain one."""
    plain = make().to(memory_format=torch.channels_last)
    found: dict[str, tuple[nn.Module, str]] = {"plain network": (plain, "plain network")}
    for m in members:
        rows = np.full((m, len(TASKS)), 1 / len(TASKS))
        full = f"weight ensemble, M = {m}"
        found[full] = WeightEnsemble([make() for _ in range(m)], task_weights=rows), full
        for rank in ranks:
            for word, train_base in (("trained", True), ("frozen", False)):
                network = LowRankEnsemble(make(), m, rank, train_base, task_weights=rows)
                found[f"rank {rank}, base {word}, M = {m}"] = network, full
    return found


def measured(options: argparse.Namespace) -> list[dict[str, str | float]]:
    make, shape, num = NETWORKS[options.network]
    num = options.batch or num
    batch = (torch.rand(num, *shape), *(torch.randint(10, (num,)) for _ in TASKS))
    networks = ways(make, options.members, options.ranks)
    trained = {way: Trained(network, batch) for way, (network, _) in networks.items()}
    peaks = {way: one.peak() for way, one in trained.items()}  # its steps warm up, too
    times: dict[str, list[float]] = {way: [] for way in trained}
    for _ in range(options.rounds):
        for way, one in trained.items():
            took = seconds(one.step, options.repeats, time.process_time)
            times[way].append(took / options.repeats)
    num_weights = trained["plain network"].counts()["stored"]
    held = {way: sum(one.counts().values()) for way, one in trained.items()}

    def against(way: str, other: str) -> list[float]:
        return sorted(a / b for a, b in zip(times[way], times[other], strict=True))

    rows = []
    for way, (_, full) in networks.items():
        ratios, counts = against(way, "plain network"), trained[way].counts()
        rows.append(
            {
                "way": way,
                "step": statistics.median(ratios),
                "least": ratios[0],
                "most": ratios[-1],
                "stored": counts["stored"] / num_weights,
                "trained": counts["trained"] / num_weights,
                "held": held[way] / num_weights,
                "peak": peaks[way] / peaks["plain network"],
                "seconds": statistics.median(times[way]),
                "gigabytes": peaks[way] / 1e9,
                "step of ensemble": statistics.median(against(way, full)),
                "held of ensemble": held[way] / held[full],
                "peak of ensemble": peaks[way] / peaks[full],
            }
        )
    return rows


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
    print(pd.DataFrame(found).set_index("way").round(2).to_string())
    if arguments.out:
        pd.DataFrame(found).round(4).to_csv(arguments.out, index=False, lineterminator="\n")
