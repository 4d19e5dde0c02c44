"""What the runs that were not made would compute: floating-point operations of a training.

    python benchmarks/operations.py

They are counted in one forward and one backward pass of the paper's network, and multiplied by
training examples, epochs and, for PaMaL, draws a step. Evaluations and the optimiser come on top.
"""

import torch
from torch.utils.flop_counter import FlopCounterMode

from pamal_companion.experiments.resnet import resnet18
from pamal_companion.experiments.segnet import segnet

# Network, shape of an example, training examples and epochs of the paper, and its W.
RUNS = {
    "UTKFace": (resnet18((1, 2, 5), stem="released", size=64), (3, 64, 64), 16_593, 100, 3),
    "CityScapes": (segnet((7, 1)), (3, 128, 256), 2_475, 100, 3),
}

for name, (network, shape, examples, epochs, draws) in RUNS.items():
    with FlopCounterMode(display=False) as counter:
        sum(output.sum() for output in network(torch.randn(2, *shape))).backward()
    one = counter.get_total_flops() / 2
    ls = one * examples * epochs
    print(f"{name}: {one:.2g} an example, {ls:.2g} a run of LS, {draws * ls:.2g} one of PaMaL")
