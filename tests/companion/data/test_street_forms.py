"""The same street scenes come out of every form in which people have them."""

import shutil

import numpy as np
import pytest
from PIL import Image
from same_data import equal

from pamal_companion.data import cityscapes
from pamal_core.errors import InputError

SIZE = (16, 32)
# The ids of the official table that have one of the 19 classes, in the order of these.
TRAINED = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33)
SEVEN = {-1: -1} | {k: cityscapes.CLASS_OF_ID[i] for k, i in enumerate(TRAINED)}
NUMBERS = {"train": 4, "val": 2}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PAMAL_CACHE", str(tmp_path / "cache"))


def scene(split, k):
    """An image, labels of 19 classes or -1, and disparities."""
    rng = np.random.default_rng([len(split), k])
    image = rng.integers(256, size=(*SIZE, 3), dtype=np.uint8)
    classes = rng.integers(-1, 19, SIZE)
    classes[0, :19] = range(19)
    return image, classes, rng.integers(0, 32258, SIZE).astype(np.uint16)


def save(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".png":
        Image.fromarray(array).save(path)
    else:
        np.save(path, array)


def arrays(folder, name, change):
    for split, num in NUMBERS.items():
        for k in range(num):
            image, classes, disparity = scene(split, k)
            save(folder / split / "image" / f"{k}.npy", image / 255)
            save(folder / split / name / f"{k}.npy", change(classes))
            save(folder / split / "depth" / f"{k}.npy", (disparity / 65535)[..., None])


def pictures(folder, name, change):
    for split, num in NUMBERS.items():
        for k in range(num):
            image, classes, disparity = scene(split, k)
            save(folder / split / "image" / f"{k}.png", image)
            save(folder / split / name / f"{k}.png", change(classes).astype(np.uint8))
            save(folder / split / "depth" / f"{k}.png", disparity)


def official(folder, parts=cityscapes.OFFICIAL, cities=("aachen", "ulm")):
    """Two scenes of each city for training, one for validation; `parts` are the trees' places."""
    for split, num in NUMBERS.items():
        for k in range(num):
            city = cities[k * len(cities) // num]
            image, classes, disparity = scene(split, k)
            for part, array in zip(parts, (image, ids(classes), disparity), strict=True):
                end = cityscapes.OFFICIAL[part.split("/")[-1]]
                save(folder / part / split / city / f"{city}_{k:06}_000019{end}", array)


def seven(classes):
    return np.vectorize(SEVEN.get)(classes)


def ids(classes):
    return np.array([*TRAINED, 3], np.uint8)[classes]


def ignored_as(value, kind):
    return lambda classes: np.where(classes < 0, value, classes).astype(kind)


def as_kind(kind):
    return lambda classes: seven(classes).astype(kind)


LITTER = ("__MACOSX/train/image/._0.npy", "train/image/._0.npy", "train/image/Thumbs.db")


def with_litter(folder):
    arrays(folder, "label", ignored_as(-1, float))
    for name in LITTER:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")


def with_others(folder):
    official(folder)
    for name in ("leftImg8bit/test/bonn/b_leftImg8bit.png", "gtFine/train/ulm/u_gtFine_color.png"):
        save(folder / name, np.zeros((*SIZE, 3), np.uint8))
    (folder / "license.txt").write_text("as is", "utf-8")


FORMS = {
    "seven classes": lambda f: arrays(f, "label_7", seven),
    "seven as float32": lambda f: arrays(f, "label_7", as_kind(np.float32)),
    "seven as int8": lambda f: arrays(f, "label_7", as_kind(np.int8)),
    "seven as uint8, 255": lambda f: arrays(f, "label_7", as_kind(np.uint8)),
    "seven as int32": lambda f: arrays(f, "label_7", as_kind(np.int32)),
    "seven as uint16": lambda f: arrays(
        f, "label_7", lambda classes: (seven(classes).astype(int) % 256).astype(np.uint16)
    ),
    "seven under label": lambda f: arrays(f, "label", seven),
    "19 classes": lambda f: arrays(f, "label", ignored_as(-1, float)),
    "19 as label_19": lambda f: arrays(f, "label_19", ignored_as(-1, np.int64)),
    "19 as uint8, 255": lambda f: arrays(f, "label", ignored_as(255, np.uint8)),
    "19 as uint8, 19": lambda f: arrays(f, "label", ignored_as(19, np.uint8)),
    "19 with 255 as float": lambda f: arrays(f, "label", ignored_as(255, float)),
    "ids in arrays": lambda f: arrays(f, "label", ids),
    "ids in pictures": lambda f: pictures(f, "seg", ids),
    "19 in pictures": lambda f: pictures(f, "seg", ignored_as(255, int)),
    "seven in pictures": lambda f: pictures(f, "label", seven),
    "two folders deep": lambda f: arrays(f / "archive" / "data", "label", ignored_as(-1, float)),
    "pictures one folder deep": lambda f: pictures(f / "cityscapes", "seg", ids),
    "official": official,
    "other cities": lambda f: official(f, cities=("bochum",)),
    "with other files": with_others,
    "each tree in a folder": lambda f: official(
        f, [f"{part}_trainvaltest/{part}" for part in cityscapes.OFFICIAL]
    ),
    "with litter": with_litter,
}


def load(root):
    return cityscapes.load("full", root, size=SIZE, validation=1, augment=False)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_the_same_tensors_and_the_same_id(form, tmp_path):
    FORMS["seven classes"](tmp_path / "plain" / "cityscapes")
    FORMS[form](tmp_path / "cityscapes")
    first, found = load(tmp_path / "plain"), load(tmp_path)
    assert equal(first, found) and first.id == found.id
    image, classes, disparity = scene("val", 1)
    assert np.array_equal(found.test.tensors[1][1].numpy(), seven(classes))
    assert np.array_equal(found.test.tensors[0][1].numpy(), image.transpose(2, 0, 1))
    assert np.allclose(found.test.tensors[2][1, 0].numpy(), disparity / 65535, atol=1e-7)


def drop(*names):
    return lambda folder: [shutil.rmtree(folder / name) for name in names]


TREES = FORMS["official"]


@pytest.mark.parametrize(
    ("make", "spoil", "message"),
    [
        (TREES, drop("gtFine/train/ulm"), "gtFine/train has no ulm/.* Unpack ulm there, or"),
        (TREES, drop("disparity"), "disparity has nothing. Put the others there"),
        (FORMS["19 classes"], drop("train/depth"), "depth has no 0.npy .* has image, label. Put"),
        (
            FORMS["19 classes"],
            drop("train/label", "val/label"),
            "label_7 has no .* has depth, image. Put",
        ),
        (TREES, lambda f: next(f.rglob("*Ids.png")).unlink(), "Unpack the data again"),
        (TREES, drop("leftImg8bit/val", "gtFine/val", "disparity/val"), "leftImg8bit has train"),
        (FORMS["seven classes"], drop("train"), "train/image, each a .npy. .* has val"),
        (lambda f: arrays(f, "label_7", ids), None, r"labels -1 to 6 in .*label_7.*7, 8, 11"),
        (lambda f: arrays(f, "label", ignored_as(34, int)), None, "labels -1 to 33 .* Found 34"),
        (lambda f: pictures(f, "seg", ignored_as(40, int)), None, "labels -1 to 33 .* Found 40"),
        (
            lambda f: arrays(f, "label", lambda c: np.where(c < 0, 7, seven(c))),
            None,
            "labels of 7 or 19 classes, or ids up to 33. Found 7 as the highest",
        ),
    ],
)
def test_what_is_missing_or_of_another_kind_is_named(make, spoil, message, tmp_path):
    make(tmp_path / "cityscapes")
    if spoil:
        spoil(tmp_path / "cityscapes")
    with pytest.raises(InputError, match=f"(?s){message}"):
        load(tmp_path)
