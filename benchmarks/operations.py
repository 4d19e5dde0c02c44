"""What runs compute: floating-point operations of a training, counted.

    python benchmarks/operations.py

They are counted in one forward and one backward pass of the network, and multiplied by training
examples, epochs and the networks that a step draws. A rule that needs the gradient of every task
goes forward once and back T times. Evaluations, the optimiser and PHN's hypernetwork come on top.
"""

import importlib
import math
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from pamal_companion.runs.methods import affects

SHAPES: dict[str, tuple[tuple[int, ...], int]] = {
    "multimnist": ((1, 28, 28), 60_000),
    "multimnist3": ((1, 28, 28), 60_000),
    "census": ((468,), 159_617),
    "fairness": ((483,), 159_617),
    "utkface": ((3, 64, 64), 16_593),
    "cityscapes": ((3, 128, 256), 2_475),
}
"""The shape of an input of the full data by default, and the number of training examples."""

RULES = ("mgda", "pcgrad", "imtl", "cagrad", "nash_mtl", "graddrop")
"""Methods that go back once for each task."""

REPORTED = ("utkface", "cityscapes")


class Passes(NamedTuple):
    """Operations for one example: of a forward pass, of one backward pass through the mean of the
    losses, and of one for each task."""

    forward: float
    backward: float
    one_by_one: float


def data_of(experiment: Any, options: Any) -> tuple[tuple[int, ...], int, bool]:
    """Return the shape of an input, the number of training examples, and whether `options` ask for
    the sample, which alone is loaded for it."""
    if experiment.name not in SHAPES or options.data == "sample":
        splits = experiment.load(options)
        return tuple(splits.train.tensors[0].shape[1:]), len(splits.train), splits.is_sample
    shape, examples = SHAPES[experiment.name]
    if experiment.name.startswith("multimnist") and options.split == "released":
        examples = 50_000
    if getattr(options, "size", None):
        shape = (3, options.size, options.size)
    return shape, min(examples, getattr(options, "limit", None) or examples), False


def passes_of(network: nn.Module, shape: tuple[int, ...]) -> Passes:
    """Count the operations of `network`, in two examples, which BatchNorm needs. On the device
    "meta" nothing is computed."""
    network, x = network.to("meta"), torch.empty(2, *shape, device="meta")

    def count(back_one_by_one: bool) -> tuple[float, float]:
        with FlopCounterMode(display=False) as counter:
            outputs = [output.sum() for output in network(x)]
            forward = counter.get_total_flops()
            for output in outputs if back_one_by_one else [sum(outputs)]:
                output.backward(retain_graph=back_one_by_one)
        return forward / 2, (counter.get_total_flops() - forward) / 2

    forward, backward = count(False)
    return Passes(forward, backward, count(True)[1])


@cache
def _passes(experiment: str, given: str) -> Passes:
    found = importlib.import_module(f"pamal_companion.experiments.{experiment}").EXPERIMENT
    return _counted(found, found.options.model_validate_json(given))


def _counted(experiment: Any, options: Any) -> Passes:
    shape, _, is_sample = data_of(experiment, options)
    train = SimpleNamespace(tensors=(torch.zeros(2, *shape),))
    splits = SimpleNamespace(train=train, is_sample=is_sample)
    with torch.random.fork_rng([]):
        network = experiment.make_network(experiment.resolved(options, splits), splits, 0)
        return passes_of(network, shape)


def passes_for(experiment: Any, options: Any) -> Passes:
    """Count the operations of a network of the run, once for all runs that have the same one."""
    if experiment.name not in SHAPES:
        return _counted(experiment, options)
    # What changes neither the data's shape nor the network; PHN's `target` needs PHN.
    left_out = {"seed", "draw", "out", "lr", "average", "epochs", "shared_epochs", "device", "p"}
    return _passes(experiment.name, options.model_dump_json(exclude=left_out, exclude_unset=True))


def networks(experiment: Any, options: Any) -> int:
    """Return how many networks each step of a run trains on its batch."""
    if options.method == "soup":
        return len(experiment.tasks_of(options))
    return options.W if affects("W", options.method) else 1


def networks_by_epoch(experiment: Any, options: Any, is_sample: bool) -> int:
    """Return the number of passes over the training data, the start's included. `options` may be
    those of a user."""
    options = experiment.resolved(options, SimpleNamespace(is_sample=is_sample))
    start = options.shared_epochs or 0
    return start + (options.epochs - start) * networks(experiment, options)


def steps(experiment: Any, options: Any) -> float:
    """Return the number of networks that a run trains on a batch, over all its steps."""
    _, examples, is_sample = data_of(experiment, options)
    batch = experiment.resolved(options, SimpleNamespace(is_sample=is_sample)).batch_size
    return networks_by_epoch(experiment, options, is_sample) * math.ceil(examples / batch)


def operations(experiment: Any, options: Any) -> float:
    """Return the floating-point operations of the training of a run.

    - `experiment`, `options`: those that `pamal_companion.runs.run.run` gets. The full data are not
      loaded for it, those of other experiments and samples are.
    """
    _, examples, is_sample = data_of(experiment, options)
    one = passes_for(experiment, options)
    of_gradients = affects("balancing", options.method) and options.balancing == "gradient"
    if options.method in RULES or of_gradients:
        cost = one.forward + one.one_by_one
    else:
        cost = one.forward + one.backward
    if options.method == "auto_lambda":  # as much again for its other batch
        cost *= 2
    return cost * examples * networks_by_epoch(experiment, options, is_sample)


def main() -> None:
    """Print what runs of the paper's two large networks compute."""
    for name in REPORTED:
        experiment = importlib.import_module(f"pamal_companion.experiments.{name}").EXPERIMENT

        def of(method: str, experiment: Any = experiment, **more: Any) -> float:
            given = {"data": "full", "method": method, "W": 3, **more}
            return operations(experiment, experiment.options.create(**given))

        one = passes_for(experiment, experiment.options.create(data="full", method="ls"))
        print(
            f"{experiment.options.title}: {one.forward + one.backward:.2g} an example, "
            f"{of('ls'):.2g} a run of LS, {of('pamal', balancing='none'):.2g} one of PaMaL, "
            f"{of('pamal', balancing='gradient'):.2g} with gradient balancing"
        )


if __name__ == "__main__":
    main()
