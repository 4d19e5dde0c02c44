"""Trainings end with the bits they had: twelve balancers, three kinds of step, two memory layouts.

What is compared is a hash of the history and of the weights at one alpha. Another processor or
another torch may round otherwise: a plain convolution and a plain product tell, and then the test
is skipped. `plain` and `fast` make the network; they alone know how it is stored.

After a change that is meant to change bits: `python tests/core/method/test_same_bits.py` writes the
hashes anew.
"""

import copy
import hashlib
import json
from pathlib import Path

import pytest
import torch
from torch import nn

from pamal_core import Method, MultiForward, WeightEnsemble, balancing, classification, train

HASHES = Path(__file__).with_name("same_bits.json")
RULES = {
    "Linear": balancing.Linear,
    "MovingAverage": balancing.MovingAverage,
    "UnitNorm": balancing.UnitNorm,
    "MGDA": balancing.MGDA,
    "PCGrad": balancing.PCGrad,
    "CAGrad": balancing.CAGrad,
    "NashMTL": balancing.NashMTL,
    "IMTL": balancing.IMTL,
    "GradDrop": balancing.GradDrop,
    "DWA": balancing.DynamicWeightAverage,
    "UW": lambda: balancing.UncertaintyWeighting(2),
    "RLW": balancing.RandomWeighting,
}
STEPS = {"W=1": (1, 0.0), "W=3": (3, 0.0), "W=3, penalty": (3, 2.0)}


def plain(members):
    """Return the network in torch's usual memory layout."""
    return WeightEnsemble(members, shared="encoder")


def fast(members):
    """Return the network with convolutions that are channels-last."""
    moved = [member.to(memory_format=torch.channels_last) for member in members]
    return WeightEnsemble(moved, shared="encoder")


LAYOUTS = {"plain": plain, "fast": fast}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            *(nn.Conv2d(1, 6, 5), nn.MaxPool2d(2), nn.ReLU()),
            *(nn.Conv2d(6, 8, 5), nn.BatchNorm2d(8), nn.MaxPool2d(2), nn.ReLU()),
            *(nn.Flatten(), nn.Linear(128, 20), nn.ReLU()),
        )
        self.heads = nn.ModuleList([nn.Linear(20, 10), nn.Linear(20, 10)])

    def forward(self, images):
        features = self.encoder(images)
        return [head(features) for head in self.heads]


def digest(*parts):
    found = hashlib.sha256()
    for part in parts:
        is_tensor = isinstance(part, torch.Tensor)
        found.update(part.contiguous().numpy().tobytes() if is_tensor else repr(part).encode())
    return found.hexdigest()[:16]


def batches():
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(128, 1, 28, 28, generator=generator)
    labels = torch.randint(10, (2, 128), generator=generator)
    return [(images[rows], *labels[:, rows]) for rows in torch.arange(128).split(32)]


def members():
    torch.manual_seed(1)
    return [Net(), Net()]


def of_machine():
    """Return the hash of two passes of plain torch, forward and backward."""
    parts = []
    for layout in (torch.contiguous_format, torch.channels_last):
        model = members()[0].to(memory_format=layout)
        images, *labels = batches()[0]
        outputs = model(images.to(memory_format=layout))
        losses = [nn.functional.cross_entropy(*two) for two in zip(outputs, labels, strict=True)]
        sum(losses).backward()
        parts += [p.grad for p in model.parameters()]
    return digest(torch.__version__.partition("+")[0], *parts)


def of_training(layout, rule, step):
    """Return the hash of what a training ends with."""
    network = LAYOUTS[layout]([copy.deepcopy(member) for member in members()])
    window, lam = STEPS[step]
    tasks = [classification("left"), classification("right")]
    penalty = MultiForward(lam) if lam else None
    method = Method(network, tasks, balancer=RULES[rule](), penalty=penalty, window=window)
    history = train(method, batches(), epochs=2, progress=False, calibration="shared")
    state = network.export([0.3, 0.7]).state_dict()
    return digest(history, *[state[name] for name in sorted(state)])


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_trainings_end_with_the_bits_they_had(layout):
    known = json.loads(HASHES.read_text("utf-8"))
    if of_machine() not in known:
        pytest.skip("this processor, or this version of torch, rounds otherwise")
    expected = known[of_machine()][layout]
    found = {f"{r}, {s}": of_training(layout, r, s) for r in RULES for s in STEPS}
    assert found == expected


if __name__ == "__main__":
    torch.set_num_threads(1)
    bits = {
        layout: {f"{r}, {s}": of_training(layout, r, s) for r in RULES for s in STEPS}
        for layout in LAYOUTS
    }
    HASHES.write_text(json.dumps({of_machine(): bits}, indent=1) + "\n", "utf-8")
