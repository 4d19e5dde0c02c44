"""SegNet (Badrinarayanan, Kendall and Cipolla, 2017), for tasks that predict every pixel."""

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from pamal_companion.experiments.models import SharedBottom, channels_last

# Channels in units of `width` and convolutions, for each of the five resolutions: those of VGG16.
STAGES = ((1, 2), (2, 2), (4, 3), (8, 3), (8, 3))


def segnet(
    outputs: Sequence[int] = (7, 1), *, width: int = 64, in_channels: int = 3
) -> SharedBottom:
    """Return SegNet for images [n, in_channels, H, W], H and W multiples of 32: `encoder` is the
    network down to H/32 and back up, shared by all tasks; each head is a 3x3 and a 1x1 convolution,
    without anything between them, to one of `outputs` channels [n, c, H, W].

    This is the network that multi-task papers share ("split", standard, in the code of MTAN: Liu,
    Johns and Davison, CVPR 2019) and that the authors' code trains. With three channels it has
    24,943,296 shared weights and 36,928 + 65 c for each head: 25,017,672 for (7, 1), not the 17
    million that appendix B4 speaks of. The outputs are plain: logits, not their log-softmax.
    `width` is the number of channels at full resolution; 64 is SegNet's.

    Convolutions start with Xavier's normal weights and biases of 0, as in MTAN, in every member of
    an ensemble and every baseline alike (in the authors' code the members do not).
    """
    heads = (
        nn.Sequential(_convolution(width, width, 3), _convolution(width, n, 1)) for n in outputs
    )
    return channels_last(SharedBottom(DownAndUp(width, in_channels), heads))


class DownAndUp(nn.Module):
    """Features [n, width, H, W] of images [n, in_channels, H, W], by way of five resolutions.

    Max-pooling keeps where each maximum was; on the way up the values go back there. The 2x2
    windows do not overlap, so no place is written twice and the result does not depend on the order
    of the writes. torch does not know that: `max_unpool2d` is refused, on every device, under
    `torch.use_deterministic_algorithms(True)`.
    """

    def __init__(self, width: int, in_channels: int) -> None:
        super().__init__()
        channels = [width * factor for factor, _ in STAGES]
        depths = [depth for _, depth in STAGES]
        below = zip([in_channels, *channels], channels, depths, strict=False)
        above = zip(channels, [width, *channels], depths, strict=False)
        self.down = nn.ModuleList(_stage(*sizes) for sizes in below)
        self.up = nn.ModuleList(_stage(*sizes) for sizes in reversed(list(above)))
        self.pool = nn.MaxPool2d(2, return_indices=True)
        self.unpool = nn.MaxUnpool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features of `x`, at its own resolution."""
        places = []
        for stage in self.down:
            x, place = self.pool(stage(x))
            places.append(place)
        for stage in self.up:
            x = stage(self.unpool(x, places.pop()))
        return x


def _stage(inputs: int, outputs: int, depth: int) -> nn.Module:
    """Return `depth` 3x3 convolutions, the first to `outputs` channels."""
    layers: list[nn.Module] = []
    for before, after in pairwise([inputs] + [outputs] * depth):
        layers += [_convolution(before, after, 3), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


def _convolution(inputs: int, outputs: int, kernel: int) -> nn.Module:
    layer = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2)
    weight, bias = layer.parameters()
    nn.init.xavier_normal_(weight)
    nn.init.zeros_(bias)
    return layer
