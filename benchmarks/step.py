"""What a training step costs: `python benchmarks/step.py`.

Time: one PaMaL step with W = 4 and lam = 0 against four LS steps on the same batch, ours and those
of a plain PyTorch loop. Both sides include zero_grad and Adam. The variants are run in turn and the
ratio is taken round by round, so that a machine that slows down slows all of them.

Memory: the peak of what torch allocates during a step at W = 8 over that at W = 1, from torch's own
allocation events.
"""

import argparse
from collections.abc import Callable

import numpy as np
import torch
from timing import in_turn, peak_bytes, plain_step, report, training_step

from pamal_core import Dirichlet, Linear, Method, MultiForward, WeightEnsemble, classification
from pamal_core.networks.models import lenet

TASKS = [classification("top-left"), classification("bottom-right")]
BATCH = (torch.rand(256, 1, 28, 28), torch.randint(10, (256,)), torch.randint(10, (256,)))
PAMAL = "PaMaL W=4"


def plain() -> Callable[[], None]:
    network = lenet()
    return plain_step(network, TASKS, BATCH, torch.optim.Adam(network.parameters(), lr=1e-3))


def ours(window: int, num_members: int, lam: float = 0.0) -> Callable[[], None]:
    rows = np.eye(2) if num_members == 2 else [[0.5, 0.5]]
    members = [lenet() for _ in range(num_members)]
    network = WeightEnsemble(members, task_weights=rows, shared="encoder")
    method = Method(network, TASKS, Dirichlet(), Linear(), MultiForward(lam), window)
    optimizer = torch.optim.Adam(method.parameters(), lr=1e-3 * num_members)
    return training_step(method, BATCH, optimizer)


def four_of(step: Callable[[], None]) -> Callable[[], None]:
    return lambda: [step() for _ in range(4)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    print(f"LeNet, batch of 256, torch {torch.__version__}, {torch.get_num_threads()} threads")
    steps = {"our LS": four_of(ours(1, 1)), "a plain PyTorch loop": four_of(plain())}
    times = in_turn({PAMAL: ours(4, 2), **steps}, arguments.rounds, repeats=5)
    for name in steps:
        report(f"{PAMAL} / four steps of {name}", times[PAMAL] / times[name])
    one, eight, coupled = (peak_bytes(ours(w, 2, lam)) for w, lam in ((1, 0), (8, 0), (8, 5.0)))
    print(f"peak memory of a step: {one / 1e6:.2f} MB at W=1, {eight / 1e6:.2f} MB at W=8", end="")
    print(f" (ratio {eight / one:.3f}); with a penalty at W=8 {coupled / 1e6:.2f} MB")
