"""ResNet18 and SegNet, alone and in an ensemble."""

import forked
import pytest
import torch
from small_problems import slopes_of
from torch import nn
from torchvision import models

from pamal_companion.experiments.resnet import resnet18
from pamal_companion.experiments.segnet import segnet
from pamal_core.classes import classification, segmentation
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.numbers import depth, regression


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def same(a, b):
    torch.testing.assert_close(a, b)


# ResNet18.


@pytest.mark.parametrize(
    ("size", "outputs", "weights"),
    [(64, (1, 2, 5), 11_168_832 + 8 * 2_049), (32, (10, 10), 11_168_832 + 20 * 513)],
)
def test_resnet18_has_11_million_weights(size, outputs, weights):
    network = resnet18(outputs, size=size)
    assert count(network) == weights
    assert [o.shape for o in network.eval()(torch.rand(1, 3, size, size))] == [
        (1, n) for n in outputs
    ]


def test_with_the_stem_of_torchvision_resnet18_is_torchvisions():
    theirs, ours = models.resnet18(num_classes=3).eval(), resnet18((3,), stem="torchvision").eval()
    state = {n: v for n, v in theirs.state_dict().items() if not n.startswith("fc.")}
    assert list(ours.encoder.state_dict()) == list(state)
    ours.encoder.load_state_dict(state)
    ours.heads[0].load_state_dict(theirs.fc.state_dict())
    x = torch.randn(2, 3, 80, 96)
    same(ours(x)[0], theirs(x))


def test_the_released_resnet_differs_in_stem_and_average_alone():
    theirs, ours = models.resnet18().eval(), resnet18(in_channels=5).eval()
    theirs.conv1 = nn.Conv2d(5, 64, 3, padding=1, bias=False)
    theirs.maxpool, theirs.fc = nn.Identity(), nn.Identity()
    theirs.avgpool = nn.AdaptiveAvgPool2d(2)  # of 8x8 places
    ours.encoder.load_state_dict(theirs.state_dict())
    x = torch.randn(1, 5, 64, 64)
    assert ours.encoder(x).shape == (1, 2_048)
    same(ours.encoder(x), theirs(x))


def test_the_width_scales_every_stage():
    shapes = [
        [p.shape for p in resnet18(width=w).encoder.parameters() if p.ndim == 4] for w in (16, 32)
    ]
    for narrow, wide in zip(*(s[1:] for s in shapes), strict=True):
        assert wide == (narrow[0] * 2, narrow[1] * 2, *narrow[2:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 48}, "a multiple of 32. Found size=48"),
        ({"size": 0}, "a multiple of 32. Found size=0"),
    ],
)
def test_a_resnet_that_does_not_fit_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        resnet18(**options)


# SegNet.


def test_segnet_has_25_million_weights():
    with torch.device("meta"):
        assert count(segnet()) == 25_017_672 == 24_943_296 + 2 * 36_928 + 65 * (7 + 1)
        # The number that the code of MTAN divides by: its network for 13 classes alone.
        assert count(segnet((13,))) == 24_981_069


def test_segnet_goes_down_as_vgg16_does_and_up_by_as_many_convolutions():
    vgg16 = [channels for channels in models.vgg.cfgs["D"] if channels != "M"]
    with torch.device("meta"):
        encoder = segnet().encoder
    down, up = (
        [m.weight.shape for m in part.modules() if isinstance(m, nn.Conv2d)]
        for part in (encoder.down, encoder.up)
    )
    assert [s[0] for s in down] == vgg16
    assert [s[1] for s in down] == [3, *vgg16[:-1]]
    # As in MTAN the first convolution of a stage narrows; SegNet's own paper has the last do so.
    narrowing = [512] * 4 + [256] * 3 + [128] * 3 + [64] * 3
    assert [s[1] for s in up] == narrowing
    assert [s[0] for s in up] == [512] * 3 + narrowing[4:] + [64]


def reference(encoder: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """SegNet with its pooling and unpooling by windows of four, the first maximum of each."""
    firsts = []
    for stage in encoder.down:
        y = stage(x)
        windows = y.unflatten(3, (-1, 2)).unflatten(2, (-1, 2)).transpose(3, 4).flatten(4)
        x = windows.amax(-1)
        ties = windows == x.unsqueeze(-1)
        firsts.append(ties & (ties.cumsum(-1) == 1))
    for stage in encoder.up:
        spread = (x.unsqueeze(-1) * firsts.pop()).unflatten(-1, (2, 2)).transpose(3, 4)
        x = stage(spread.flatten(4).flatten(2, 3))
    return x


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_values_go_back_to_where_the_maxima_were(memory_format):
    encoder = segnet(width=3).encoder.double().to(memory_format=memory_format)
    x = torch.randn(2, 3, 64, 96, dtype=torch.float64).to(memory_format=memory_format)
    same(encoder(x), reference(encoder, x))


def test_outputs_are_plain_and_at_full_resolution():
    network, x = segnet((7, 1, 2), width=4), torch.randn(2, 3, 32, 96)
    outputs = network(x)
    assert [o.shape for o in outputs] == [(2, 7, 32, 96), (2, 1, 32, 96), (2, 2, 32, 96)]
    assert not torch.allclose(outputs[0].exp().sum(1), torch.ones(2, 32, 96))


def test_convolutions_start_with_xaviers_weights():
    for layer in segnet(width=16).modules():
        if isinstance(layer, nn.Conv2d):
            out, inputs, height, width = layer.weight.shape
            expected = (2 / ((out + inputs) * height * width)) ** 0.5
            spread = 6 * expected / (2 * layer.weight.numel()) ** 0.5  # six standard errors
            assert layer.weight.std().item() == pytest.approx(expected, abs=spread)
            assert not layer.bias.any()


# Both at full size.

FULL = {
    "resnet18": (
        lambda: resnet18((1, 2)),
        [regression("age"), classification("gender")],
        lambda: (torch.rand(2, 3, 64, 64), torch.rand(2), torch.tensor([0, 1])),
    ),
    "segnet": (
        segnet,
        [segmentation("classes", 7), depth("depth")],
        lambda: (
            torch.rand(1, 3, 64, 128),
            torch.randint(-1, 7, (1, 64, 128)),
            torch.rand(1, 1, 64, 128).clamp(min=0.1) - 0.1,
        ),
    ),
}


@pytest.mark.parametrize("name", FULL)
def test_one_step_at_full_size_lowers_the_loss(name):
    make, tasks, make_batch = FULL[name]
    network, batch = WeightEnsemble([make(), make()], shared="encoder"), make_batch()
    method = Method(network, tasks)
    alphas = torch.tensor([[0.5, 0.5]])
    before = method.step(batch, alphas)
    assert slopes_of(network).isfinite().all()
    with torch.no_grad():
        for weight in network.stacked.parameters():
            weight -= 1e-4 * weight.grad
    assert method.step(batch, alphas).mean() < before.mean()


NARROW_STEPS = """
import torch
from pamal_core import Method, WeightEnsemble, classification
from pamal_companion.experiments.resnet import resnet18
torch.set_num_threads(1)
network = WeightEnsemble([resnet18((2, 2), width=4) for _ in "ab"], shared="encoder")
method = Method(network, [classification("a"), classification("b")])
batch = torch.rand(16, 3, 64, 64), torch.randint(2, (16,)), torch.randint(2, (16,))
for _ in range(6):
    method.step(batch)
"""


def test_a_narrow_resnet_does_not_write_past_its_memory(tmp_path):
    """Channels-last, this ends with a signal on most CPUs: oneDNN, issue 6035."""
    (code,), (errors,) = forked.run(NARROW_STEPS, tmp_path)
    assert code == 0, errors
