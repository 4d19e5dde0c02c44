"""MultiMNIST is composed as the paper and the authors' code say."""

import hashlib

import numpy as np
import pytest
import torch
from PIL import Image
from same_data import equal, parts
from torchvision.transforms.functional import resize

from pamal_companion.data import multimnist
from pamal_companion.data.files import data_root, entries
from pamal_core.errors import InputError

SMALL = (300, 40, 50)

needs_mnist = pytest.mark.skipif(
    not entries(data_root() / multimnist.HOME.folder), reason="needs MNIST under $PAMAL_DATA"
)


@pytest.fixture(scope="module")
def full():
    return multimnist.load("full")


def load_sample(**options):
    return multimnist.load("sample", **{"sizes": SMALL} | options)


def drawn(pools, seed, sizes, num_digits):
    """The digits an image is made of, drawn as the docstring promises."""
    for stream, pool, size in zip(np.random.SeedSequence(seed).spawn(3), pools, sizes, strict=True):
        yield np.random.default_rng(stream).integers(len(pool.labels), size=(size, num_digits))


def pasted(images, corners, canvas):
    """One canvas, digit by digit and pixel by pixel, as floats in [0, 1]."""
    out = np.zeros((canvas, canvas))
    for image, (top, left) in zip(images, corners, strict=True):
        for row, column in np.ndindex(28, 28):
            grey = image[row, column] / 255
            out[top + row, left + column] = max(out[top + row, left + column], grey)
    return out


@pytest.mark.parametrize("offset", [6, 8])
def test_two_digits_are_what_pillow_makes_of_them_one_by_one(offset):
    splits = load_sample(offset=offset, seed=3)
    pools = multimnist.sample()
    draws = drawn(pools, 3, SMALL, 2)
    for part, pool, draw in zip(parts(splits), pools, draws, strict=True):
        for i in (0, 1, -1):
            canvas = pasted(pool.images[draw[i]], [(0, 0), (offset, offset)], 36)
            expected = np.array(Image.fromarray(canvas.astype(np.float32)).resize((28, 28)))
            assert np.abs(part.tensors[0][i, 0].numpy() - expected).max() < 5e-6
        labels = torch.from_numpy(pool.labels[draw].astype(np.int64))
        assert torch.equal(torch.stack(part.tensors[1:], dim=1), labels)


@pytest.mark.parametrize("antialias", [None, False, True])
def test_three_digits_are_what_torchvision_makes_of_them_one_by_one(antialias):
    train = load_sample(num_digits=3, antialias=antialias).train
    pool, *_ = pools = multimnist.sample()
    draw = next(drawn(pools, 0, SMALL, 3))
    for i in (0, -1):
        canvas = pasted(pool.images[draw[i]], [(0, 0), (14, 7), (0, 14)], 42)
        expected = resize(torch.from_numpy(canvas).float()[None], [28], antialias=bool(antialias))
        assert torch.allclose(train.tensors[0][i], expected, atol=1e-6)
    assert [len(t) for t in train.tensors] == [SMALL[0]] * 4


def test_the_chunk_size_changes_nothing():
    pool = multimnist.sample()[0]
    draw = np.random.default_rng(0).integers(len(pool.labels), size=(50, 2))
    layout = multimnist.LAYOUTS[2, 6]
    whole, chunked = (multimnist._compose(pool, draw, layout, chunk=c) for c in (50, 7))
    assert torch.equal(whole.tensors[0], chunked.tensors[0])


def test_equal_seeds_give_equal_images_whatever_the_number_of_threads():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = load_sample()
        torch.set_num_threads(4)
        four = load_sample()
    finally:
        torch.set_num_threads(before)
    assert one.id == four.id
    assert equal(one, four)


def test_whatever_changes_the_images_changes_the_id():
    changes = [{}, {"seed": 1}, {"offset": 8}, {"num_digits": 3}, {"sizes": (301, 40, 50)}]
    changes += [{"num_digits": 3, "antialias": True}, {"split": "released"}]
    ids = [load_sample(**change).id for change in changes]
    assert len(set(ids)) == len(ids)
    assert ids[0].startswith("multimnist/sample/offset=6/seed=0/")
    assert ids[3].startswith("multimnist3/sample/offset=14/seed=0/")


def test_the_sample_says_that_it_is_one():
    splits = multimnist.load("sample")
    assert splits.is_sample
    assert "sample" in splits.description and "6,000 for training" in splits.description
    for part, size in zip(parts(splits), (6_000, 1_000, 1_000), strict=True):
        images, *labels = part.tensors
        assert images.shape == (size, 1, 28, 28) and images.dtype == torch.float32
        for label in labels:
            assert label.shape == (size,) and label.dtype == torch.int64
            assert set(label.tolist()) == set(range(10))


def test_the_pools_of_the_sample_are_all_of_its_digits_in_disjoint_parts():
    pools = multimnist.sample()
    assert [len(pool.labels) for pool in pools] == [1197, 300, 300]
    seen = [{image.tobytes() for image in pool.images} for pool in pools]
    assert len(set.union(*seen)) == sum(map(len, seen)) == 1797
    frame = np.ones((28, 28), bool)
    frame[4:24, 4:24] = False
    assert all((pool.images[:, frame] == 0).all() for pool in pools)
    assert all(pool.images.max() == 255 for pool in pools)


def test_the_released_split_draws_training_and_validation_from_one_pool():
    """By hand, image by image; the test images are the same as with ours."""
    own, released = load_sample(), load_sample(split="released")
    one, other, test = multimnist.sample()
    both = np.concatenate([one.images, other.images]), np.concatenate([one.labels, other.labels])
    pools = [multimnist.Pool(*both)] * 2 + [test]
    for part, pool, draw in zip(parts(released), pools, drawn(pools, 0, SMALL, 2), strict=True):
        labels = torch.from_numpy(pool.labels[draw].astype(np.int64))
        assert torch.equal(torch.stack(part.tensors[1:], dim=1), labels)
        assert draw.max() >= (len(one.labels) if pool is not test else 0)
    assert torch.equal(own.test.tensors[0], released.test.tensors[0])
    sizes = [len(part) for part in parts(multimnist.load("sample", split="released"))]
    assert sizes == [5_000, 1_000, 1_000]


def test_without_mnist_auto_takes_the_sample_and_says_so(tmp_path):
    splits = multimnist.load("auto", tmp_path, sizes=SMALL)
    assert splits.is_sample and splits.id == load_sample().id
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", multimnist.FILES)
def test_auto_does_not_pass_over_a_corrupt_file(tmp_path, name):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    (raw / f"{name}-ubyte.gz").write_bytes(b"half a downlo")
    with pytest.raises(InputError, match=r"Found nothing|truncated, corrupt"):
        multimnist.load("auto", tmp_path)


@needs_mnist
def test_full_mnist_has_the_papers_sizes(full):
    again = multimnist.load("auto")
    assert not full.is_sample and again.id == full.id
    assert [len(part) for part in parts(full)] == [60_000, 10_000, 10_000]
    assert torch.equal(again.train.tensors[0], full.train.tensors[0])


@needs_mnist
def test_full_mnist_is_the_same_on_every_machine(full):
    assert full.id == "multimnist/full/offset=6/seed=0/ed4b14d6a319"
    assert [t[:6].tolist() for t in full.test.tensors[1:]] == [
        [3, 0, 1, 4, 0, 2],
        [0, 2, 4, 7, 0, 1],
    ]
    assert full.train.tensors[0].double().mean().item() == pytest.approx(0.1464978, abs=1e-6)


@needs_mnist
def test_the_digits_of_full_mnist_are_disjoint_parts_of_the_original_files():
    train, validation, test = multimnist.mnist(data_root() / multimnist.HOME.folder)
    assert [len(p.labels) for p in (train, validation, test)] == [50_000, 10_000, 10_000]
    # The first digits of the two files, and the counts of the digit 1, are known everywhere.
    assert train.labels[:5].tolist() == [5, 0, 4, 1, 9] and test.labels[:3].tolist() == [7, 2, 1]
    assert (train.labels == 1).sum() + (validation.labels == 1).sum() == 6742
    hashes = [{hashlib.md5(i).digest() for i in p.images} for p in (train, validation, test)]
    assert not hashes[0] & hashes[1] and not hashes[0] & hashes[2]
