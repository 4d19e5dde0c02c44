"""CityScapes is the same from both forms in which it lies on a disk, and odd files are refused."""

import os
import shutil

import numpy as np
import pytest
import torch
from matplotlib import image as matplotlib_image
from PIL import Image
from same_data import equal, parts

from pamal_companion.data import cityscapes
from pamal_companion.data.batches import batches
from pamal_companion.data.samples import streets
from pamal_core.errors import InputError

SIZE = (16, 32)
# As the official table lists them.
CATEGORIES = {
    "void": range(0, 7),
    "flat": (7, 8, 9, 10),
    "construction": (11, 12, 13, 14, 15, 16),
    "object": (17, 18, 19, 20),
    "nature": (21, 22),
    "sky": (23,),
    "human": (24, 25),
    "vehicle": range(26, 34),
}
SCENES = {"train": (("aachen", 7), ("bochum", 5)), "val": (("frankfurt", 3),)}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PAMAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def official_scene(rng, height, width):
    """An image that is smooth with noise, label ids in blocks, and disparities that are often 0;
    more than 64 x 128 pixels are these again and again."""
    coarse = rng.integers(256, size=(4, 8, 3), dtype=np.uint8)
    smooth = np.asarray(Image.fromarray(coarse).resize((128, 64), Image.Resampling.BICUBIC))
    image = np.clip(smooth + rng.integers(-20, 20, smooth.shape), 0, 255).astype(np.uint8)
    ids = rng.integers(34, size=(16, 32), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
    disparity = rng.integers(1, 32258, (64, 128)) * (rng.random((64, 128)) > 0.2)
    disparity[:8, :16] = 1  # infinitely far away, and measured
    times = height // 64, width // 128
    return tuple(
        np.tile(array, times + (1,) * (array.ndim - 2))
        for array in (image, ids, disparity.astype(np.uint16))
    )


def write_official(folder, height=64, width=128, scenes=SCENES, seed=0):
    rng = np.random.default_rng(seed)
    for split, cities in scenes.items():
        for city, num in cities:
            for i in range(num):
                stem = f"{city}_{i:06}_000019"
                arrays = official_scene(rng, height, width)
                for (part, end), array in zip(cityscapes.OFFICIAL.items(), arrays, strict=True):
                    path = folder / part / split / city / f"{stem}{end}"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    Image.fromarray(array).save(path, compress_level=1)


def write_mtan(folder, official, size=SIZE):
    """The arrays that somebody makes of the official files with other tools than ours."""
    height, width = size
    table = {i: k - 1 for k, ids in enumerate(CATEGORIES.values()) for i in ids}
    for split in ("train", "val"):
        for part in ("image", "label_7", "depth"):
            (folder / split / part).mkdir(parents=True)
        for k, path in enumerate(sorted((official / "leftImg8bit" / split).glob("*/*.png"))):
            image = Image.open(path).resize((width, height), Image.Resampling.BILINEAR)
            np.save(folder / split / "image" / f"{k}.npy", np.asarray(image) / 255)
            other = str(path).replace("leftImg8bit/", "gtFine/").removesuffix("_leftImg8bit.png")
            ids = Image.open(f"{other}_gtFine_labelIds.png")
            ids = np.asarray(ids.resize((width, height), Image.Resampling.NEAREST))
            np.save(folder / split / "label_7" / f"{k}.npy", np.vectorize(table.get)(ids) + 0.0)
            depth = matplotlib_image.imread(f"{other}_disparity.png".replace("gtFine", "disparity"))
            depth = Image.fromarray(depth).resize((width, height), Image.Resampling.NEAREST)
            np.save(folder / split / "depth" / f"{k}.npy", np.asarray(depth)[..., None])


@pytest.fixture(scope="session")
def forms(tmp_path_factory):
    """The same 12 + 3 scenes in both forms, as two data roots."""
    root = tmp_path_factory.mktemp("forms")
    write_official(root / "official" / "cityscapes")
    write_mtan(root / "mtan" / "cityscapes", root / "official" / "cityscapes")
    return root


@pytest.fixture
def roots(forms, tmp_path):
    """Copies of both forms that a test may spoil."""
    shutil.copytree(forms, tmp_path / "roots")
    return tmp_path / "roots"


def load(root, **options):
    return cityscapes.load("full", root, **{"size": SIZE, "validation": 4} | options)


def test_both_forms_give_the_same_tensors_and_the_same_id(forms):
    official, mtan = load(forms / "official"), load(forms / "mtan")
    assert equal(official, mtan)
    assert official.id == mtan.id and not official.is_sample
    assert [len(part) for part in parts(official)] == [8, 4, 3]
    images, labels, depth = official.train.tensors
    assert (images.dtype, labels.dtype, depth.dtype) == (torch.uint8, torch.int8, torch.float32)
    assert images.shape == (8, 3, *SIZE) and labels.shape == (8, *SIZE)
    assert depth.shape == (8, 1, *SIZE)
    assert set(labels.unique().tolist()) == set(range(-1, 7))
    assert images.float().std() > 20  # not empty pictures
    assert depth[:, 0, :2, :4].eq(1 / 65535).all() and depth.max() < 0.4923
    assert 0.1 < depth.eq(0).float().mean() < 0.3
    assert "8 for training, 4 for validation, 3 for test" in official.description


def test_a_scene_of_the_official_size_becomes_128_by_256(tmp_path):
    write_official(
        tmp_path / "cityscapes", 1024, 2048, {"train": (("ulm", 2),), "val": (("bonn", 1),)}
    )
    images, labels, depth = cityscapes.load("full", tmp_path, validation=1).train.tensors
    assert images.shape == (1, 3, 128, 256) and labels.shape == (1, 128, 256)
    assert depth.shape == (1, 1, 128, 256)
    # The middle of a new pixel lies between the old ones 8k + 3 and 8k + 4; the latter is taken.
    order = np.random.default_rng(0).permutation(2)
    path = sorted((tmp_path / "cityscapes" / "disparity" / "train").glob("*/*"))[order[1]]
    disparity = np.asarray(Image.open(path))[4::8, 4::8]
    assert np.array_equal(depth[0, 0].numpy(), (disparity / 65535).astype(np.float32))


def test_the_classes_are_the_categories_of_the_official_table():
    assert tuple(CATEGORIES)[1:] == cityscapes.CLASSES
    for k, ids in enumerate(CATEGORIES.values()):
        assert set(cityscapes.CLASS_OF_ID[list(ids)]) == {k - 1}
    assert len(cityscapes.CLASS_OF_ID) == sum(map(len, CATEGORIES.values()))


def test_inverse_depth_is_that_of_mtan_and_0_where_nothing_was_measured():
    p = np.arange(65536, dtype=np.uint16)
    found = cityscapes.inverse_depth(p)
    assert found.dtype == np.float32 and f"{found[32257]:.4f}" == "0.4922"
    assert found[0] == 0 and (found[1:] > 0).all() and (np.diff(found) > 0).all()
    disparity = (p[1:] - 1.0) / 256  # as the official description has it
    assert np.abs(found[1:] - disparity / 256).max() < 3.1e-5


def test_in_setting_two_a_seed_holds_out_training_scenes(forms):
    whole = load(forms / "mtan", setting="I", augment=False)
    seen = set()
    for seed in (0, 0, 1):
        splits = load(forms / "mtan", seed=seed, augment=False)
        order = np.random.default_rng(seed).permutation(12)
        for part, rows in ((splits.train, order[4:]), (splits.validation, order[:4])):
            for found, every in zip(part.tensors, whole.train.tensors, strict=True):
                assert torch.equal(found, every[np.sort(rows)])
        assert all(map(torch.equal, splits.test.tensors, whole.test.tensors))
        seen.add(splits.id)
    assert len(seen) == 2


def test_in_setting_one_all_scenes_train_and_the_test_scenes_validate(forms):
    splits = load(forms / "mtan", setting="I")
    assert [len(part) for part in parts(splits)] == [12, 3, 3]
    assert all(map(torch.equal, splits.validation.tensors, splits.test.tensors))
    assert splits.train.augment is not None
    assert splits.validation.augment is None and splits.test.augment is None


def test_only_training_batches_are_augmented_and_only_if_wanted(forms):
    with_it, without = load(forms / "mtan"), load(forms / "mtan", augment=False)
    halved = load(forms / "mtan", depth_scaling="divide")
    assert len({with_it.id, without.id, halved.id}) == 3
    for ours, plain in zip(parts(with_it), parts(without), strict=True):
        same = [
            torch.equal(a, b)
            for batch, other in zip(batches(ours, 3), batches(plain, 3), strict=True)
            for a, b in zip(batch, other, strict=True)
        ]
        assert all(same) == (ours is not with_it.train)
    torch.manual_seed(3)
    multiplied = with_it.train[0:8]
    torch.manual_seed(3)
    divided = halved.train[0:8]
    assert torch.equal(multiplied[0], divided[0]) and torch.equal(multiplied[1], divided[1])
    assert (multiplied[2] >= divided[2]).all() and not torch.equal(multiplied[2], divided[2])


def test_another_size_is_decoded_from_official_files_not_from_arrays(forms):
    for size in (SIZE, (64, 128), (20, 30)):
        splits = load(forms / "official", size=size)
        assert splits.train.tensors[0].shape == (8, 3, *size)
        assert f"{size[0]}x{size[1]}" in splits.id
    load(forms / "mtan")
    with pytest.raises(InputError, match=r"shape \(8, 16, 3\) .* of shape \(16, 32, 3\)"):
        load(forms / "mtan", size=(8, 16))


def test_images_that_a_resize_left_a_last_bit_too_bright_are_taken(roots):
    first = load(roots / "mtan", setting="I")
    path = roots / "mtan" / "cityscapes" / "train" / "image" / "0.npy"
    image = np.load(path)
    image[0, 0], image[0, 1] = np.nextafter(np.float32(1), 2), -1e-8
    np.save(path, image)
    images = load(roots / "mtan", setting="I").train.tensors[0]
    assert images[0, :, 0, 0].eq(255).all() and images[0, :, 0, 1].eq(0).all()
    assert torch.equal(images[0, :, 1:], first.train.tensors[0][0, :, 1:])


def test_a_limit_keeps_the_first_scenes_of_each_part(forms):
    splits, whole = load(forms / "mtan", limit=3), load(forms / "mtan")
    for part, every in zip(parts(splits), parts(whole), strict=True):
        assert len(part) == 3
        assert all(map(torch.equal, part.tensors, (t[:3] for t in every.tensors)))
    assert splits.id != whole.id


def test_decoded_scenes_are_taken_from_the_cache_until_a_file_changes(roots, monkeypatch):
    read, scenes = cityscapes.read_mtan, []
    monkeypatch.setattr(
        cityscapes, "read_mtan", lambda scene, size: (scenes.append(scene), read(scene, size))[1]
    )
    first = load(roots / "mtan")
    assert len(scenes) == 15
    assert equal(load(roots / "mtan", seed=0), first) and len(scenes) == 15
    path = roots / "mtan" / "cityscapes" / "train" / "depth" / "3.npy"
    np.save(path, np.load(path)[::-1])
    os.utime(path, ns=(0, 0))
    again = load(roots / "mtan")
    assert len(scenes) == 30 and again.id != first.id


@pytest.fixture
def numbered_streets(monkeypatch):
    """Stands in for the generator: labels are the seed's, the images say which scene it is."""

    def scenes(num, size, seed):
        rng = np.random.default_rng(seed)
        labels = rng.integers(-1, 7, (num, *size)).astype(np.int8)
        images = np.broadcast_to(np.arange(num)[:, None, None, None] % 256, (num, 3, *size))
        return images.astype(np.uint8), labels, rng.random((num, 1, *size)).astype(np.float32) / 2

    monkeypatch.setattr(streets, "scenes", scenes)


@pytest.mark.usefixtures("numbered_streets")
def test_without_files_a_sample_of_made_up_streets_is_taken(tmp_path):
    splits = cityscapes.load("auto", tmp_path)
    assert splits.is_sample and [len(part) for part in parts(splits)] == [240, 60, 60]
    assert splits.train.tensors[0].shape == (240, 3, 32, 64)
    assert splits.train.augment is splits.test.augment is None
    assert cityscapes.load("sample", augment=True).train.augment is not None
    assert equal(splits, cityscapes.load("sample")) and "made-up" in splits.description
    other = cityscapes.load("sample", seed=1)
    assert not torch.equal(other.validation.tensors[1], splits.validation.tensors[1])
    assert torch.equal(other.test.tensors[1], splits.test.tensors[1])
    assert cityscapes.load("sample", setting="I", size=(8, 16)).train.tensors[1].shape == (
        300,
        8,
        16,
    )


@pytest.mark.usefixtures("numbered_streets")
def test_auto_takes_the_files_where_there_are_any_and_sample_never(forms):
    assert not cityscapes.load("auto", forms / "mtan", size=SIZE, validation=4).is_sample
    assert cityscapes.load("sample", forms / "mtan").is_sample


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": "all"}, r"auto, sample, full\. Found 'all'"),
        ({"validation": 12}, r"some of the 12 training scenes\. Found 12"),
    ],
)
def test_what_is_no_kind_of_data_or_leaves_nothing_to_train_on_is_refused(forms, options, message):
    with pytest.raises(InputError, match=message):
        cityscapes.load(**{"data": "full", "root": forms / "mtan", "size": SIZE} | options)


@pytest.mark.parametrize("data", ["auto", "full"])
def test_a_folder_of_something_else_is_named_with_both_trees(tmp_path, data):
    (tmp_path / "cityscapes" / "gtFine_trainvaltest").mkdir(parents=True)
    with pytest.raises(InputError, match=r"(?s)Found gtFine_trainvaltest\. .*label_7.*") as caught:
        cityscapes.load(data, tmp_path)
    assert "leftImg8bit/train" in str(caught.value)


def spoil_array(change):
    return lambda path: np.save(path, change(np.load(path)))


def nan_at(array):
    array[3, 4] = np.nan
    return array


def set_to(value):
    def change(array):
        array[3, 4] = value
        return array

    return change


MTAN_FAULTS = [
    ("train/image/3.npy", lambda p: p.unlink(), r"has no 3\.npy \(found 11, 12, 12 files\)"),
    ("train/depth/3.npy", lambda p: p.write_bytes(p.read_bytes()[:300]), "could not be read"),
    (
        "train/image/3.npy",
        spoil_array(lambda a: a[1:]),
        r"\(16, 32, 3\).*Found float64 of shape \(15",
    ),
    ("train/label_7/3.npy", spoil_array(lambda a: a[None]), r"\(16, 32\).*shape \(1, 16, 32\)"),
    ("train/depth/3.npy", spoil_array(lambda a: a[..., 0]), r"\(16, 32, 1\).*shape \(16, 32\)"),
    ("train/image/3.npy", spoil_array(lambda a: (a * 255).astype(np.uint8)), "Found uint8"),
    ("train/image/3.npy", spoil_array(lambda a: a * 255), "numbers from 0 to 1 in"),
    ("train/image/3.npy", spoil_array(nan_at), "Found nan"),
    ("train/depth/3.npy", spoil_array(set_to(-1)), "Found -1 to 0"),
    ("train/depth/3.npy", spoil_array(np.zeros_like), "some depth .* Found 0"),
    ("train/label_7/3.npy", spoil_array(set_to(1.5)), r"Found 1\.5"),
    ("train/label_7/3.npy", spoil_array(lambda a: a.astype(object)), "could not be read"),
]


def spoil_picture(change):
    return lambda path: Image.fromarray(change(np.asarray(Image.open(path)))).save(path)


IMAGE, IDS, DISPARITY = (
    f"{part}/train/aachen/aachen_000003_000019{end}" for part, end in cityscapes.OFFICIAL.items()
)
OFFICIAL_FAULTS = [
    (IMAGE, lambda p: p.unlink(), r"has no aachen/aachen_000003_.*\(found 11, 12, 12 files\)"),
    (IMAGE, lambda p: p.write_bytes(p.read_bytes()[:2000]), "could not be read"),
    (IMAGE, spoil_picture(lambda a: a[..., 0]), "8-bit colour pixels .* Found 8-bit grey"),
    (DISPARITY, spoil_picture(lambda a: (a // 256).astype(np.uint8)), "16-bit grey .* 8-bit grey"),
    (IDS, spoil_picture(lambda a: a.astype(np.uint16)), "8-bit grey pixels .* Found 16-bit grey"),
    (IDS, spoil_picture(lambda a: a[1:]), r"\(128, 64\) pixels in .* Found \(128, 63\)"),
    (IDS, spoil_picture(lambda a: np.where(a == a[0, 0], 34, a).astype(np.uint8)), "Found 34"),
    (DISPARITY, spoil_picture(lambda a: a * 0), "some depth .* Found 0"),
]


@pytest.mark.parametrize(
    ("layout", "name", "spoil", "message"),
    [
        *(("mtan", *fault) for fault in MTAN_FAULTS),
        *(("official", *fault) for fault in OFFICIAL_FAULTS),
    ],
)
def test_a_fault_in_a_file_is_named_with_it(roots, layout, name, spoil, message):
    path = roots / layout / "cityscapes" / name
    spoil(path)
    with pytest.raises(InputError, match=message) as caught:
        load(roots / layout)
    folder = roots.joinpath(layout, "cityscapes", *name.split("/")[:2])
    assert str(folder) in str(caught.value) and path.name in str(caught.value)


def test_a_picture_cut_anywhere_is_refused_or_whole(forms, tmp_path):
    """No cut makes another error, and none goes through with pixels missing."""
    source = forms / "official" / "cityscapes"
    scene = cityscapes.find(source).train[0]
    whole = scene.depth.read_bytes()
    expected = cityscapes.read_official(scene, SIZE)[2]
    cut = tmp_path / "cut.png"
    refused = 0
    for length in range(0, len(whole), len(whole) // 150):
        cut.write_bytes(whole[:length])
        try:
            found = cityscapes.read_official(scene._replace(depth=cut), SIZE)[2]
        except InputError:
            refused += 1
        else:
            assert np.array_equal(found, expected)
    assert refused > 140
