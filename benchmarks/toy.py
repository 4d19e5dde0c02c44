"""What the toy problem costs: `python benchmarks/toy.py`.

All 25 pairs at once, as the notebook trains them, against the same 25 runs one after another in a
plain PyTorch loop: losses by the formula, autograd, `torch.optim.Adam`, one pair at a time. The
plain loop trains one pair, and its time is multiplied by 25: a step costs the same whatever the
pair. The two sides are run in turn, A B A B, for the same number of steps, fewer than 50,000, and
the ratio is taken round by round, so that a machine that slows down slows both.
"""

import argparse
from collections import deque
from functools import partial

import numpy as np
import torch
from timing import in_turn
from torch import Tensor

from pamal_companion.toy.pairs import Pairs, initial_pairs
from pamal_companion.toy.problem import ToyProblem
from pamal_core.balancing import Linear, MovingAverage, UnitNorm

SCALE = 0.1
BALANCERS = {"none": Linear, "gradient": UnitNorm, "loss": MovingAverage}


def toy_losses(theta: Tensor) -> Tensor:
    x, y = theta
    f1 = torch.log(torch.clamp(torch.abs(0.5 * (-x - 7) - torch.tanh(-y)), min=5e-6)) + 6
    f2 = torch.log(torch.clamp(torch.abs(0.5 * (-x + 3) - torch.tanh(-y) + 2), min=5e-6)) + 6
    g1 = ((-x + 7) ** 2 + 0.1 * (-y - 8) ** 2) / 10 - 20
    g2 = ((-x - 7) ** 2 + 0.1 * (-y - 8) ** 2) / 10 - 20
    c1 = torch.clamp(torch.tanh(0.5 * y), min=0)
    c2 = torch.clamp(torch.tanh(-0.5 * y), min=0)
    return torch.stack([SCALE * (c1 * f1 + c2 * g1), c1 * f2 + c2 * g2])


def plain_loop(balancing: str, num_steps: int) -> None:
    rng = np.random.default_rng(0)
    stacked = torch.tensor(initial_pairs()[1], requires_grad=True)
    optimizer = torch.optim.Adam([stacked], lr=2e-3)
    past: deque[Tensor] = deque(maxlen=25)
    for _ in range(num_steps):
        alpha = torch.from_numpy(rng.dirichlet([1, 1]))
        theta = alpha @ stacked
        losses = toy_losses(theta)
        optimizer.zero_grad()
        if balancing == "gradient":
            grads = [torch.autograd.grad(loss, theta, retain_graph=True)[0] for loss in losses]
            theta.backward(sum(a * g / g.norm() for a, g in zip(alpha, grads, strict=True)))
        elif balancing == "loss":
            past.append(losses.detach())
            (alpha / torch.stack(list(past)).mean(0).abs() @ losses).backward()
        else:
            (alpha @ losses).backward()
        optimizer.step()


def all_pairs(balancing: str, num_steps: int) -> None:
    Pairs(ToyProblem(SCALE), [BALANCERS[balancing]()]).run(num_steps, every=100)


def measure(balancing: str, rounds: int, num_steps: int) -> None:
    runs = {"ours": all_pairs, "plain": plain_loop}
    times = in_turn({n: partial(run, balancing, num_steps) for n, run in runs.items()}, rounds)
    ours, plain = times["ours"], 25 * times["plain"]
    ratios, full = plain / ours, 50_000 / num_steps
    print(
        f"{balancing:8} 25 pairs at 50,000 steps: {full * np.median(ours):.1f} s together, "
        f"{full * np.median(plain):.0f} s one by one; "
        f"ratio {np.median(ratios):.0f} ({ratios.min():.0f} to {ratios.max():.0f})"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=2000)
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # more only slow down tensors this small
    print(
        f"torch {torch.__version__}, 1 thread, "
        f"medians of {arguments.rounds} rounds of {arguments.steps} steps"
    )
    for name in BALANCERS:
        measure(name, arguments.rounds, arguments.steps)
