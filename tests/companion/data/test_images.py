"""Images that are kept as bytes, and batches of what is in memory."""

import pytest
import torch
from torch.utils.data import TensorDataset

from pamal_companion.data import cityscapes
from pamal_companion.data.batches import batches, resident
from pamal_companion.data.images import Images

IMAGES = torch.randint(256, (7, 3, 4, 5), dtype=torch.uint8)
MAPS = torch.randint(-1, 7, (7, 4, 5), dtype=torch.int8)
AGES = torch.randn(7)


def test_images_come_out_as_shares_of_brightness_and_maps_as_int64():
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
    mirrored = Images(IMAGES)
    mirrored.augment = lambda batch: (batch[0].flip(-1), *batch[1:])
    torch.testing.assert_close(mirrored[0:7][0], (IMAGES / 255).flip(-1))
    torch.testing.assert_close(mirrored[0][0], IMAGES[0] / 255)


@pytest.mark.parametrize("augment", [None, lambda batch: batch])
@pytest.mark.parametrize("free", [10, 10**9])
def test_data_that_fit_stay_on_the_gpu_and_others_are_prepared_ahead(monkeypatch, augment, free):
    data, gpu = Images(IMAGES, MAPS), torch.device("cuda")
    data.augment = augment
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda _: (free, 10**10))
    monkeypatch.setattr(
        "pamal_companion.data.batches.resident", lambda data, _: resident(data, torch.device("cpu"))
    )
    stays = free > 10 and augment is None
    loader = batches(data, 3, device=gpu)
    assert (loader.num_workers == 0) == (not loader.pin_memory) == stays
    examples = loader.dataset if augment is None else loader.dataset.examples
    assert (examples is data) == (not stays)


def test_resident_data_have_the_same_batches_where_they_are():
    data = Images(IMAGES, MAPS)
    there = resident(data, torch.device("meta"))
    assert {tensor.device.type for tensor in there[[0, 2]]} == {"meta"}
    assert [t.dtype for t in there[[0, 2]]] == [torch.float32, torch.int64]
    assert {tensor.device.type for tensor in data.tensors} == {"cpu"}
    same = zip(batches(resident(data, torch.device("cpu")), 3), batches(data, 3), strict=True)
    for one, other in same:
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # more workers than cores
@pytest.mark.parametrize("shuffle", [False, True])
def test_augmented_batches_do_not_depend_on_the_number_of_workers(shuffle):
    """Nor do the numbers that are drawn during an epoch and after it."""
    data = cityscapes.load("sample", augment=True, limit=22).train

    def epochs(workers):
        torch.manual_seed(5)
        loader = batches(data, 4, shuffle=shuffle, workers=workers)
        return [[*batch, torch.rand(3)] for _ in range(2) for batch in loader]

    expected = epochs(0)
    assert len(expected) == 12
    for workers in (1, 4):
        for one, other in zip(epochs(workers), expected, strict=True):
            assert all(map(torch.equal, one, other))
    first, second = expected[0], expected[6]
    assert not torch.equal(first[0], second[0])  # another epoch is augmented anew


def test_batches_are_augmented_each_by_draws_of_its_own():
    augmented = Images(torch.zeros(6, 1, 1, 1, dtype=torch.uint8))
    augmented.augment = lambda batch: (torch.rand(3), *batch[1:])
    drawn = torch.cat([x for (x,) in batches(augmented, 3)])
    assert len({*drawn.tolist()}) == 6


def test_batches_cover_the_data_once_in_a_new_order_each_epoch():
    data = TensorDataset(torch.arange(10), torch.arange(10) * 2)
    loader = batches(data, 4, shuffle=True)
    epochs = [list(loader) for _ in range(2)]
    orders = [torch.cat([x for x, _ in epoch]).tolist() for epoch in epochs]
    assert [len(x) for x, _ in epochs[0]] == [4, 4, 2]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(10))
    assert orders[0] != orders[1]
    assert all(torch.equal(y, 2 * x) for x, y in epochs[0])
    assert torch.cat([x for x, _ in batches(data, 4)]).tolist() == list(range(10))
