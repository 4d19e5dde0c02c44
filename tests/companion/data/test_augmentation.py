"""Street scenes are zoomed into and mirrored together with their labels and their depth."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pamal_companion.data import images
from pamal_companion.data.images import SCALES, zoom_and_flip

augment = zoom_and_flip


def scenes(n=6, height=16, width=32, seed=0):
    """Random images, labels and depth, a fifth of it not measured."""
    draw = torch.Generator().manual_seed(seed)
    images = torch.rand(n, 3, height, width, generator=draw)
    labels = torch.randint(-1, 7, (n, height, width), generator=draw)
    depth = torch.rand(n, 1, height, width, generator=draw) * 0.4922
    return images, labels, depth * (torch.rand(depth.shape, generator=draw) > 0.2)


def fixed(monkeypatch, scale, corner=(0.0, 0.0), flip=False):
    """Every example is drawn this scale, this corner as shares, and flipped or not."""
    monkeypatch.setattr(images, "SCALES", (scale,))
    real = torch.rand

    def rand(*shape):
        flips = real(*shape) * 0.5 + (0 if flip else 0.5)
        return torch.tensor([corner]).expand(shape) if len(shape) == 2 else flips

    monkeypatch.setattr(torch, "rand", rand)


def by_hand(image, label, depth, scale, top, left, flip, factor):
    """One example pixel by pixel, from nothing but the rule."""
    height, width = label.shape
    h, w = int(height / scale), int(width / scale)
    out = np.empty_like(image), np.empty_like(label), np.empty_like(depth)
    for y, x in np.ndindex(height, width):
        to = width - 1 - x if flip else x
        out[1][y, to] = label[top + y * h // height, left + x * w // width]
        out[2][0, y, to] = factor * depth[0, top + y * h // height, left + x * w // width]
        down, right = y * (h - 1) / (height - 1), x * (w - 1) / (width - 1)
        for c, i, j in np.ndindex(3, 2, 2):
            row, column = min(int(down) + i, h - 1), min(int(right) + j, w - 1)
            weight = abs(1 - i - down % 1) * abs(1 - j - right % 1)
            old = out[0][c, y, to] if i + j else 0
            out[0][c, y, to] = old + weight * image[c, top + row, left + column]
    return out


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("scaling", ["multiply", "divide"])
def test_an_example_is_what_the_rule_makes_of_it_pixel_by_pixel(monkeypatch, scale, flip, scaling):
    batch = scenes(2)
    fixed(monkeypatch, scale, (0.5, 0.999), flip)
    found = zoom_and_flip(batch, scaling)
    h, w = int(16 / scale), int(32 / scale)
    top, left = (16 - h + 1) // 2, 32 - w  # half way down, as far right as the window can be
    factor = scale if scaling == "multiply" else 1 / scale
    for i in range(2):
        one = [part[i].numpy() for part in batch]
        expected = by_hand(*one, scale, top, left, flip, factor)
        assert np.array_equal(found[1][i].numpy(), expected[1])
        assert np.allclose(found[0][i].numpy(), expected[0], atol=1e-5)
        assert np.allclose(found[2][i].numpy(), expected[2], rtol=1e-6, atol=0)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(0, 5),
    height=st.integers(2, 40),
    width=st.integers(2, 40),
    seed=st.integers(0, 2**32),
)
def test_labels_and_depth_are_those_of_pixels_that_were_there(n, height, width, seed):
    batch = scenes(n, height, width, seed)
    before = [part.clone() for part in batch]
    torch.manual_seed(seed)
    images, labels, depth = augment(batch)
    assert all(map(torch.equal, batch, before))  # it works on copies
    for new, old in zip((images, labels, depth), batch, strict=True):
        assert new.shape == old.shape and new.dtype == old.dtype
    for i in range(n):
        assert images[i].min() >= batch[0][i].min() - 1e-6
        assert images[i].max() <= batch[0][i].max() + 1e-6
        new = set(zip(labels[i].flatten().tolist(), depth[i].flatten().tolist(), strict=True))
        assert any(new <= pairs_at(scale, batch, i) for scale in SCALES)


def pairs_at(scale, batch, i):
    """The labels of one example with its depths, times the scale."""
    depth = (batch[2][i] * scale).flatten().tolist()
    return set(zip(batch[1][i].flatten().tolist(), depth, strict=True))


def test_torchs_seed_decides_and_every_scale_corner_and_side_comes_up():
    column = torch.arange(32).expand(16, 32) * 100 + torch.arange(16)[:, None]
    batch = torch.rand(400, 3, 16, 32), column.repeat(400, 1, 1), torch.full((400, 1, 16, 32), 0.1)
    torch.manual_seed(7)
    first = augment(batch)
    assert not torch.equal(augment(batch)[1], first[1])
    torch.manual_seed(7)
    assert all(map(torch.equal, augment(batch), first))
    scales = (first[2][:, 0, 0, 0] / 0.1).tolist()
    shares = [np.mean(np.isclose(scales, scale)) for scale in SCALES]
    assert np.allclose(shares, 1 / 3, atol=0.1)  # 4 deviations of 400 draws
    flipped = first[1][:, 0, 0] > first[1][:, 0, -1]
    assert 0.4 < flipped.float().mean() < 0.6
    largest = np.isclose(scales, 1.5)
    tops = first[1][:, 0, 0].remainder(100)[largest]
    assert set(tops.tolist()) == set(range(16 - 10 + 1))
