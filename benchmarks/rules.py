"""What a gradient baseline costs: `python benchmarks/rules.py`, or `... --network resnet18`.

One step of each rule against a plain PyTorch loop that goes back through the network once for each
of the two losses and adds the gradients up. Both sides include the forward pass, zero_grad and
Adam, and both have their convolutions channels-last. The steps are run in turn and the ratio is
taken round by round, so that a machine that slows down slows all of them.

Auto-lambda also takes a forward and a backward pass for its other batch; RotoGrad saves one. The
images of 32x32 leave ResNet18 512 features, and RotoGrad rotations of that size; those of 64x64
would leave 2,048.
"""

import argparse
from collections.abc import Callable

import torch
from timing import in_turn, plain_step, report, training_step
from torch import nn
from torch.utils.data import TensorDataset

from pamal_companion.experiments.models import lenet
from pamal_companion.experiments.resnet import resnet18
from pamal_companion.runs.build import build
from pamal_companion.runs.options import Options
from pamal_core import classification

TASKS = [classification("first"), classification("second")]
RULES = ("mgda", "pcgrad", "imtl", "graddrop", "cagrad", "nash_mtl", "auto_lambda", "rotograd")
NETWORKS: dict[str, tuple[Callable[[int], nn.Module], tuple[int, ...]]] = {
    "lenet": (lambda extra: lenet(), (256, 1, 28, 28)),
    "resnet18": (lambda extra: resnet18((10, 10), size=32), (32, 3, 32, 32)),
}
PLAIN = "a plain step"


def our_step(
    rule: str, make: Callable[[int], nn.Module], batch: tuple[torch.Tensor, ...]
) -> Callable[[], None]:
    options = Options.create(method=rule, batch_size=len(batch[0]))
    method = build(options, TASKS, make, "encoder", TensorDataset(*batch))
    method.balancer.start_epoch([])
    return training_step(method, batch, torch.optim.Adam(method.parameters()))


def steps(network: str) -> dict[str, Callable[[], None]]:
    make, shape = NETWORKS[network]
    batch = (torch.rand(shape), *(torch.randint(10, shape[:1]) for _ in TASKS))
    plain = make(0).to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(plain.parameters())
    found = {PLAIN: plain_step(plain, TASKS, batch, optimizer, one_by_one=True)}
    return found | {rule: our_step(rule, make, batch) for rule in RULES}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", choices=NETWORKS, default="lenet")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    print(f"{arguments.network}, torch {torch.__version__}, {torch.get_num_threads()} threads")
    times = in_turn(steps(arguments.network), arguments.rounds, arguments.repeats)
    for rule in RULES:
        report(f"{rule} / {PLAIN}", times[rule] / times[PLAIN])
