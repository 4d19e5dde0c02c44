"""ResNet18 (He et al., CVPR 2016) as a shared encoder."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal

from torch import nn
from torchvision.models.resnet import BasicBlock

from pamal_companion.experiments.models import SharedBottom, channels_last
from pamal_core.errors import InputError


def resnet18(
    outputs: Sequence[int] = (1, 2, 5),
    *,
    width: int = 64,
    stem: Literal["released", "torchvision"] = "released",
    in_channels: int = 3,
    size: int = 64,
) -> SharedBottom:
    """Return ResNet18 without its last layer for images [n, in_channels, size, size], and one
    linear layer for each of `outputs` (appendix C).

    `stem="released"` follows the authors' code: a 3x3 convolution of stride 1, no pooling before
    the blocks, averages over 4x4 after them, so 2,048 features for images of 64x64 and 512 for
    32x32. With three channels that is 11,168,832 shared weights, and 2,049 for each output at size
    64. `stem="torchvision"` is the one for large images (7x7 of stride 2, max-pooling, one global
    average); it takes any size and has 512 features. `width` is the number of channels of the first
    stage, 64 in ResNet18; those of the others are 2, 4 and 8 times as many.

    The weights are named as torchvision's, so that its trained ones can be loaded into `encoder`.
    They start as PyTorch's layers do, as in the authors' code; torchvision's start differently.

    Raises InputError for a `size` that does not fit the averages over 4x4.
    """
    small = stem == "released"
    if small and (size < 32 or size % 32):
        raise InputError(f"`size` must be a multiple of 32. Found size={size}.")
    kernel, stride = (3, 1) if small else (7, 2)
    conv1 = nn.Conv2d(in_channels, width, kernel, stride, padding=kernel // 2, bias=False)
    layers: dict[str, nn.Module] = {"conv1": conv1, "bn1": nn.BatchNorm2d(width), "relu": nn.ReLU()}
    if not small:
        layers["maxpool"] = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
    layers["layer1"] = _stage(width, width, stride=1)
    for i in (2, 3, 4):
        layers[f"layer{i}"] = _stage(width * 2 ** (i - 2), width * 2 ** (i - 1), stride=2)
    layers["avgpool"] = nn.AvgPool2d(4) if small else nn.AdaptiveAvgPool2d(1)
    encoder = nn.Sequential(OrderedDict(layers, flatten=nn.Flatten()))
    cells = (size // 32) ** 2 if small else 1
    return channels_last(SharedBottom(encoder, (nn.Linear(8 * width * cells, n) for n in outputs)))


def _stage(inputs: int, outputs: int, stride: int) -> nn.Module:
    """Return two blocks of torchvision. Its ResNet would make them, too, but only 64 channels
    wide."""
    shortcut = None
    if (inputs, stride) != (outputs, 1):
        convolution = nn.Conv2d(inputs, outputs, kernel_size=1, stride=stride, bias=False)
        shortcut = nn.Sequential(convolution, nn.BatchNorm2d(outputs))
    first = BasicBlock(inputs, outputs, stride, shortcut)
    return nn.Sequential(first, BasicBlock(outputs, outputs))
