"""What a training step costs: `python benchmarks/step.py`.

Time: one PaMaL step with W = 4 and lam = 0 against four LS steps on the same batch, ours and those
of a plain PyTorch loop, in torch's usual memory layout and in ours, which is faster. All of them
include zero_grad and Adam. The variants are run in turn and the ratio is taken round by round, so
that a machine that slows down slows all of them.

Memory: the peak of what torch allocates during a step at W = 8 over that at W = 1, from torch's own
allocation events.
"""

import argparse
from collections.abc import Callable

import torch
from timing import ensemble_step, in_turn, peak_bytes, plain_step, report

from pamal_companion.experiments.models import lenet
from pamal_core import classification

TASKS = [classification("top-left"), classification("bottom-right")]
BATCH = (torch.rand(256, 1, 28, 28), torch.randint(10, (256,)), torch.randint(10, (256,)))
PAMAL = "PaMaL W=4"


def pamal_step(window: int, lam: float = 0.0) -> Callable[[], None]:
    return ensemble_step([lenet() for _ in TASKS], TASKS, BATCH, window, lam)


def four_of(step: Callable[[], None]) -> Callable[[], None]:
    return lambda: [step() for _ in range(4)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    print(f"LeNet, batch of 256, torch {torch.__version__}, {torch.get_num_threads()} threads")
    steps = {"our LS": four_of(ensemble_step([lenet()], TASKS, BATCH, 1))}
    plain = {"a plain PyTorch loop": lenet()}
    plain["one that is channels-last, too"] = lenet().to(memory_format=torch.channels_last)
    for name, network in plain.items():
        step = plain_step(network, TASKS, BATCH, torch.optim.Adam(network.parameters()))
        steps[name] = four_of(step)
    times = in_turn({PAMAL: pamal_step(4), **steps}, arguments.rounds, repeats=5)
    for name in steps:
        report(f"{PAMAL} / four steps of {name}", times[PAMAL] / times[name])
    one, eight, coupled = map(peak_bytes, (pamal_step(1), pamal_step(8), pamal_step(8, 5.0)))
    print(f"peak memory of a step: {one / 1e6:.2f} MB at W=1, {eight / 1e6:.2f} MB at W=8", end="")
    print(f" (ratio {eight / one:.3f}); with a penalty at W=8 {coupled / 1e6:.2f} MB")
