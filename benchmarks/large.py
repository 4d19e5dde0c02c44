"""What a step of a large network costs: `python benchmarks/large.py --network resnet18`.

The throughput of our training over that of a plain PyTorch loop, which trains one network on the
same batch: images a second that go forward and back, so that a PaMaL step with W = 3 counts three
times. "LS" is an ensemble of one member, "PaMaL" has a member per task; all losses are weighted
linearly, one backward pass a draw. Both sides include zero_grad and Adam, which has M times as many
weights to move for PaMaL, once in W draws. Both have convolutions channels-last, and with
`--precision bf16` both run the network, but not the weights' mixing, under autocast.

The steps are run in turn and the ratio is taken round by round, so that a machine that slows down
slows all of them.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from timing import ensemble_step, in_turn, plain_step, report
from torch import Tensor, nn

from pamal_companion.experiments.models import SharedBottom
from pamal_companion.experiments.resnet import resnet18
from pamal_companion.experiments.segnet import segnet
from pamal_core import classification, regression
from pamal_core.classes import segmentation
from pamal_core.numbers import depth
from pamal_core.tasks import Task

FACES = [regression("age"), classification("gender"), classification("ethnicity")]
STREETS = [segmentation("classes", 7), depth("depth")]
DRAWS = 3


class Half(SharedBottom):
    """A shared bottom that computes in bf16 and returns float32."""

    def forward(self, x: Tensor) -> list[Tensor]:
        with torch.autocast(x.device.type, torch.bfloat16):
            return [output.float() for output in super().forward(x)]


def faces(n: int) -> tuple[Tensor, ...]:
    return torch.rand(n, 3, 64, 64), torch.rand(n), torch.randint(2, (n,)), torch.randint(5, (n,))


def streets(n: int) -> tuple[Tensor, ...]:
    labels, distance = torch.randint(-1, 7, (n, 128, 256)), torch.rand(n, 1, 128, 256)
    return torch.rand(n, 3, 128, 256), labels, distance


# The network, its tasks, its batch and the batch size of the paper.
NETWORKS: dict[str, tuple[Callable[[int], SharedBottom], list[Task], Callable, int]] = {
    "resnet18": (lambda width: resnet18(width=width), FACES, faces, 256),
    "segnet": (lambda width: segnet(width=width), STREETS, streets, 8),
}


def ratios(options: argparse.Namespace) -> dict[str, np.ndarray]:
    build, tasks, make_batch, batch_size = NETWORKS[options.network]
    batch = [part.to(options.device) for part in make_batch(options.batch or batch_size)]

    def make() -> nn.Module:
        network = build(options.width)
        return Half(network.encoder, network.heads) if options.precision == "bf16" else network

    plain = make().to(options.device, memory_format=torch.channels_last)
    steps = {
        "plain": plain_step(plain, tasks, batch, torch.optim.Adam(plain.parameters())),
        "LS": ensemble_step([make()], tasks, batch, 1),
        "PaMaL": ensemble_step([make() for _ in tasks], tasks, batch, DRAWS),
    }
    # On a CPU by the time of all threads, which other programs hardly change.
    clock = gpu_clock if options.device == "cuda" else time.process_time
    floor, one, many = in_turn(steps, options.rounds, options.repeats, clock).values()
    print(f"a plain step, last round: {floor[-1]:.4f} s")
    return {"LS": floor / one, f"PaMaL M={len(tasks)} W={DRAWS}": DRAWS * floor / many}


def gpu_clock() -> float:
    torch.cuda.synchronize()
    return time.perf_counter()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", choices=NETWORKS, default="resnet18")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--batch", type=int, help="default: the paper's, 256 or 8")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    print(vars(arguments), f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    for name, values in ratios(arguments).items():
        report(f"{name} / a plain loop", values)
