"""Images that are kept as bytes."""

import torch
from torch.utils.data import TensorDataset

from pamal_core.data.batches import batches
from pamal_core.data.images import Images

IMAGES = torch.randint(256, (7, 3, 4, 5), dtype=torch.uint8)
MAPS = torch.randint(-1, 7, (7, 4, 5), dtype=torch.int8)
AGES = torch.randn(7)


def test_images_come_out_as_shares_of_full_brightness_and_label_maps_as_int64():
    images, maps, ages = Images(IMAGES, MAPS, AGES)[2:5]
    torch.testing.assert_close(images, IMAGES[2:5] / 255)
    assert images.min() >= 0 and images.max() <= 1
    assert maps.dtype == torch.int64 and torch.equal(maps, MAPS[2:5].long())
    assert torch.equal(ages, AGES[2:5])


def test_batches_of_images_equal_those_of_floats_made_before():
    ours = batches(Images(IMAGES, MAPS), 3)
    before = batches(TensorDataset(IMAGES / 255, MAPS.long()), 3)
    for mine, other in zip(ours, before, strict=True):
        for a, b in zip(mine, other, strict=True):
            torch.testing.assert_close(a, b)


def test_a_batch_is_augmented_and_a_single_example_is_not():
    mirrored = Images(IMAGES, augment=lambda batch: (batch[0].flip(-1), *batch[1:]))
    torch.testing.assert_close(mirrored[0:7][0], (IMAGES / 255).flip(-1))
    torch.testing.assert_close(mirrored[0][0], IMAGES[0] / 255)
