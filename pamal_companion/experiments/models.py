"""The architectures of the paper, as plain modules that return one output per task."""

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn


class SharedBottom(nn.Module):
    """One encoder, then one head per task: the layout of every experiment in the paper (section
    2)."""

    def __init__(self, encoder: nn.Module, heads: Iterable[nn.Module]) -> None:
        super().__init__()
        self.encoder = encoder
        self.heads = nn.ModuleList(heads)

    def forward(self, x: Tensor) -> list[Tensor]:
        """Return one output per task."""
        features = self.encoder(x)
        return [head(features) for head in self.heads]


def lenet(
    num_tasks: int = 2,
    in_channels: int = 1,
    bottleneck: int = 50,
    activation: Literal["relu", "leaky_relu"] = "relu",
) -> SharedBottom:
    """Return LeNet of appendix C1 for images [n, in_channels, 28, 28]: with one channel 21,330
    shared weights, and 3,060 for each head of 10 classes.

    `bottleneck` is the number of features between encoder and heads, 50 in the paper. Fewer make
    the tasks compete. `activation` is what the features pass through: a LeakyReLU has slope 0.1.
    """
    encoder = nn.Sequential(
        nn.Conv2d(in_channels, 10, kernel_size=5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(10, 20, kernel_size=5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(20 * 4 * 4, bottleneck),
        nn.ReLU() if activation == "relu" else nn.LeakyReLU(0.1),
    )
    heads = (
        nn.Sequential(nn.Linear(bottleneck, 50), nn.ReLU(), nn.Linear(50, 10))
        for _ in range(num_tasks)
    )
    return channels_last(SharedBottom(encoder, heads))


def released_target(in_channels: int = 1, bottleneck: int = 50) -> SharedBottom:
    """Return LeNet as the hypernetwork of the authors' code writes it: no ReLU after the encoder's
    last layer, and heads that are one linear layer."""
    whole = lenet(in_channels=in_channels, bottleneck=bottleneck)
    encoder = nn.Sequential(*[*whole.encoder.children()][:-1])
    return SharedBottom(encoder, (nn.Linear(bottleneck, 10) for _ in whole.heads))


def channels_last(model: SharedBottom) -> SharedBottom:
    """Return `model` with its kernels in the memory format in which convolutions are faster:
    LeNet's step takes 1/1.8 of the time on a CPU.

    A strided 1x1 convolution with fewer inputs than a register of the CPU holds (8 or 16) keeps the
    whole model in torch's usual format, because oneDNN's backward pass may write past its memory
    (its issue 6035).
    """
    convolutions = [module for module in model.modules() if isinstance(module, nn.Conv2d)]
    strided = [c for c in convolutions if max(c.kernel_size) == 1 < max(c.stride)]
    if any(c.in_channels // c.groups < 16 for c in strided):
        return model
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


class OneScore(nn.Module):
    """A perceptron with one layer of 64 for features [n, num_features], whose one logit [n] both
    tasks judge."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(num_features, 64), nn.ReLU())
        self.head = nn.Linear(64, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logit."""
        return self.head(self.encoder(x)).squeeze(1)


def mlp(num_features: int, num_tasks: int = 2) -> SharedBottom:
    """Return the perceptron of appendix C1 for features [n, num_features]: one layer of 256, and
    514 weights for each head of two classes."""
    encoder = nn.Sequential(nn.Linear(num_features, 256), nn.ReLU())
    return SharedBottom(encoder, (nn.Linear(256, 2) for _ in range(num_tasks)))
