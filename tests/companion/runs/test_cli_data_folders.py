"""`python -m pamal_companion data` says of a folder what it is, what it lacks and what to do."""

import re

import numpy as np
import pytest
from commands_on_disk import ask
from faces_on_disk import faces
from packed import gzipped, known, named, put, tarred, zipped

from pamal_companion.data import census, cityscapes, multimnist, utkface

DIGITS = {f"{name}-ubyte": name.encode() for name in multimnist.FILES}
PEOPLE = {name: name.encode() for name in census.FILES}
FACES = faces(6)
IN_RAW, IN_CENSUS = "MNIST/raw/{}".format, "census/{}".format
ODD = {"61_3_20170109150557335.jpg.chip.jpg": b"x"}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    files = {name.removesuffix("-ubyte"): content for name, content in DIGITS.items()}
    monkeypatch.setattr(multimnist, "FILES", known(files))
    monkeypatch.setattr(census, "FILES", known(PEOPLE))


def streets(folder, height=128):
    """A scene for each split, as MTAN's arrays."""
    size, files = (height, 256), {}
    for split in ("train", "val"):
        for part, shape in (("image", (*size, 3)), ("label_7", size), ("depth", (*size, 1))):
            files[f"{folder}{split}/{part}/0.npy"] = np.full(shape, 0.5 * (part != "label_7"))
    return files


def write(root, files):
    for name in [name for name in files if name.endswith(".npy")]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        np.save(root / name, files.pop(name))
    put(root, files)


FOLDERS = {
    "right": (named(gzipped(DIGITS), IN_RAW), "mnist: 4 files with the right SHA-256."),
    "one folder off": (
        named(gzipped(DIGITS), "MNIST/{}".format),
        "mnist: nothing there. The data are in ROOT/MNIST. They belong in ROOT/MNIST/raw: move "
        "them there.",
    ),
    "one folder too deep a root": (
        named(gzipped(PEOPLE), "data/census/{}".format),
        "census: nothing there. The data are in ROOT/data/census. They belong in ROOT/census: "
        "move them there.",
    ),
    "repacked": (
        named(gzipped(PEOPLE, 1), IN_CENSUS),
        "census: 2 files whose texts have the right SHA-256.",
    ),
    "unpacked": (
        named(DIGITS, lambda name: IN_RAW(name.replace("-idx", ".idx"))),
        "mnist: 4 files with the right SHA-256.",
    ),
    "mixed": (
        named(dict([*DIGITS.items()][:2]), IN_RAW)
        | zipped(dict([*DIGITS.items()][2:]), "MNIST/raw/archive.zip"),
        "mnist: 4 files with the right SHA-256.",
    ),
    "half": (
        named(gzipped(dict([*PEOPLE.items()][:1])), IN_CENSUS),
        "census: Expected census-income.test in ROOT/census, packed or not. Found "
        f"census-income.data.gz. {census.HOW_TO_GET}",
    ),
    "foreign under right names": (
        named(gzipped(dict.fromkeys(DIGITS, b"a shirt")), IN_RAW),
        "Remove that first. Download it: python -m pamal_companion data --get mnist",
    ),
    "three folders of faces": (
        zipped(
            named(FACES, "UTKFace/{}".format) | named(dict([*FACES.items()][:2]), "crop/{}".format),
            "utkface/archive.zip",
        ),
        "utkface: 6 images labelled by their names in archive.zip/UTKFace, 0 without a label.",
    ),
    "an odd name": (
        named(FACES | ODD, "utkface/UTKFace/{}".format) | {"utkface/Thumbs.db": b""},
        "utkface: 6 images labelled by their names, 1 without a label.",
    ),
    "faces elsewhere": (
        tarred(named(FACES, "UTKFace/{}".format), "downloads/UTKFace.tar.gz"),
        "utkface: nothing there. The data are in ROOT/downloads. They belong in ROOT/utkface: "
        "move them there.",
    ),
    "foreign": (
        {"utkface/notes.txt": b"", "utkface/cats.rar": b""},
        "utkface: Expected the faces of UTKFace in ROOT/utkface, named "
        f"age_gender_ethnicity_date.jpg. Found cats.rar, notes.txt. {utkface.HOW_TO_GET}",
    ),
    "streets one folder off": (
        streets("cityscapes2/"),
        "cityscapes: nothing there. The data are in ROOT/cityscapes2. They belong in "
        "ROOT/cityscapes: move them there.",
    ),
    "rooms, which are no streets": (
        streets("nyuv2/", 100),
        "cityscapes: nothing there. Register at https://www.cityscapes-dataset.com",
    ),
    "streets still packed": (
        {"cityscapes/gtFine_trainvaltest.zip": b"PK"},
        "cityscapes: Expected CityScapes in ROOT/cityscapes. Found gtFine_trainvaltest.zip. "
        "Register at https://www.cityscapes-dataset.com and unpack leftImg8bit, gtFine",
    ),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_described(name, tmp_path):
    files, expected = FOLDERS[name]
    write(tmp_path, dict(files))
    _, out, err = ask("data", "--root", tmp_path)
    said = re.sub(r"\s+", " ", out.replace(str(tmp_path), "ROOT"))
    assert expected in said and not err


@pytest.mark.parametrize("name", [name for name in FOLDERS if "They belong" in FOLDERS[name][1]])
def test_auto_warns_before_it_passes_over_data_in_another_folder(name, tmp_path):
    files, expected = FOLDERS[name]
    write(tmp_path, dict(files))
    modules = {"mnist": multimnist, "census": census, "utkface": utkface, "cityscapes": cityscapes}
    module = modules[expected.split(":")[0]]
    with pytest.warns(UserWarning, match=r"move them there\. Until then the sample is taken"):
        assert module.load("auto", tmp_path).is_sample
    with pytest.raises(ValueError, match=r"They belong in .*: move them there"):
        module.load("full", tmp_path)
    assert module.load("sample", tmp_path).is_sample
