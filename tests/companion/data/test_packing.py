"""Files are known by what is in them, however they are named and packed, and no size is trusted."""

import gzip
import io
import struct
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from faces_on_disk import faces, jpeg
from packed import gzipped, known, named, put, tarred, zipped

from pamal_companion.data import census, cityscapes, multimnist, utkface
from pamal_companion.data.files import File, contents, entries, inside, walk
from pamal_core.errors import InputError

DIGITS = {
    f"{name}-ubyte": struct.pack(f">HBBI{n}s", 0, 8, 1, n, bytes([n]) * n)
    for n, name in enumerate(multimnist.FILES, start=3)
}
KNOWN = known(named(DIGITS, lambda name: name.removesuffix("-ubyte")))
PEOPLE = {name: name.encode() * 9 for name in census.FILES}
IMAGES, LABELS = [k for k in DIGITS if "images" in k], [k for k in DIGITS if "labels" in k]


def only(names):
    return {name: DIGITS[name] for name in names}


def kaggle(name):
    return name.replace("-idx", ".idx")


def in_folders(name):
    return f"{name}/{name}"


@pytest.mark.parametrize(
    "files",
    [
        gzipped(DIGITS, 1),
        DIGITS,
        named(DIGITS, kaggle),
        named(DIGITS, in_folders),
        gzipped(DIGITS, end=""),
        named(DIGITS, "{}.gz".format),
        zipped(DIGITS),
        zipped(gzipped(DIGITS), "mnist"),
        zipped(named(named(DIGITS, kaggle), in_folders)),
        tarred(gzipped(DIGITS)),
        tarred(DIGITS, "mnist.tar", "w"),
        gzipped(only(IMAGES)) | named(only(LABELS), kaggle),
        zipped(only(IMAGES)) | tarred(only(LABELS)) | {"Thumbs.db": b"", "notes.txt": b"PK"},
        DIGITS | dict.fromkeys(gzipped(DIGITS), b"\x1f\x8bhalf a downlo"),
        named(DIGITS, "{} (1)".format),
        tarred(gzipped(only(IMAGES)) | only(LABELS), "MNIST.tar", "w"),
        zipped(named(gzipped(DIGITS, end=".GZ"), str.upper), "Zahlen é (1).ZIP"),
    ],
)
def test_mnist_is_known_by_its_content(files, tmp_path, monkeypatch):
    monkeypatch.setattr(multimnist, "FILES", KNOWN)
    put(tmp_path, files)
    assert multimnist.files(tmp_path) == [*DIGITS.values()]


FASHION = {name: content[:-1] + b"!" for name, content in DIGITS.items()}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            FASHION,
            "t10k-images-idx3-ubyte, .*another file, by SHA-256. Remove that first. Download",
        ),
        (gzipped(FASHION), "idx1-ubyte.gz, .*another file"),
        (named(FASHION, kaggle), "t10k-images.idx3-ubyte, .*another file"),
        (only(LABELS) | gzipped(named(FASHION, kaggle)), "Expected train-images-idx3, t10k-images"),
        (zipped(FASHION), r"Found archive\.zip\. Download"),
        ({"train-images-idx3-ubyte.gz": b"\x1f\x8bhalf"}, "could not be read"),
        (only(IMAGES), "Expected train-labels-idx1, t10k-labels-idx1 in .* Found t10k-images"),
    ],
)
def test_a_file_of_another_content_is_never_taken(files, message, tmp_path, monkeypatch):
    monkeypatch.setattr(multimnist, "FILES", KNOWN)
    put(tmp_path, files)
    with pytest.raises(InputError, match=message):
        multimnist.files(tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        PEOPLE,
        zipped(tarred(PEOPLE, "census.tar.gz") | gzipped(PEOPLE), "census+income+kdd.zip"),
        tarred(PEOPLE, "census.tar.gz"),
        named(PEOPLE, "{}.txt".format),
        zipped(named(gzipped(PEOPLE), "data/{}".format)),
    ],
)
def test_census_is_known_by_its_content(files, tmp_path, monkeypatch):
    monkeypatch.setattr(census, "FILES", known(PEOPLE))
    put(tmp_path, files | {"census-income.names": b"A text"})
    assert census.texts(tmp_path) == [*PEOPLE.values()]


FACES = faces(12)
PART = dict([*FACES.items()][:5])
ODD = {"61_3_20170109150557335.jpg.chip.jpg": b"", "53__0_20170116184028385.jpg": b""}
KAGGLE = {
    f"{place}/{name}": content
    for place, part in (
        ("UTKFace", FACES),
        ("crop_part1", PART | ODD),
        ("utkface_aligned_cropped/UTKFace", FACES),
        ("utkface_aligned_cropped/crop_part1", PART | ODD),
    )
    for name, content in part.items()
}
BELOW = "UTKFace/{}".format
LEFT = {
    "__MACOSX/UTKFace/._1_0_0_2017.jpg": b"x",
    "UTKFace/Thumbs.db": b"x",
    "UTKFace/.DS_Store": b"x",
    "UTKFace/desktop.ini": b"x",
}


@pytest.mark.parametrize(
    ("files", "num_others"),
    [
        (tarred(named(FACES, BELOW), "UTKFace.tar.gz"), 0),
        (tarred(named(dict(reversed(FACES.items())), "./UTKFace/{}".format), "faces.tar", "w"), 0),
        (zipped(KAGGLE), 0),
        (KAGGLE, 0),
        (named(KAGGLE, "archive/{}".format), 0),
        (named(FACES, "utkface_aligned_cropped/UTKFace/{}".format), 0),
        (named(FACES | ODD, BELOW), 2),
        (zipped(FACES | {"117_0_0_2017.jpg": b"", "5_2_0_2017.jpg": b"", "cat.png": b""}), 3),
        (tarred(named(FACES, BELOW) | LEFT), 0),
        (named(FACES, BELOW) | LEFT, 0),
        (zipped(named(FACES, "UTKFace\\{}".format) | LEFT), 0),
        (named(FACES, BELOW) | tarred(named(FACES, BELOW)) | {"readme.txt": b"A text"}, 0),
    ],
)
def test_faces_are_the_same_however_packed(files, num_others, tmp_path, monkeypatch):
    monkeypatch.setenv("PAMAL_CACHE", str(tmp_path / "cache"))
    put(tmp_path / "plain", FACES)
    put(tmp_path / "utkface", files)
    first, found = utkface.read(tmp_path / "plain", 8), utkface.read(tmp_path / "utkface", 8)
    assert (found.mark, found.num_unlabelled) == (first.mark, num_others)
    assert np.array_equal(found.images, first.images)
    by_name = [[*map(int, name.split("_")[:3])] for name in sorted(FACES)]
    assert np.stack([found.ages, found.genders, found.ethnicities], 1).tolist() == by_name


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (named(PART, BELOW) | named(FACES, "part2/{}".format), "12 images in part2. Leave only"),
        (zipped(dict.fromkeys(FACES, b"a"), "b.zip") | zipped(FACES), "12 images in b.zip"),
        (named(FACES, "a/b/c/d/e/{}".format), "Found a. Get"),
    ],
)
def test_of_several_folders_none_is_taken_by_chance(files, message, tmp_path):
    put(tmp_path, files)
    with pytest.raises(InputError, match=message):
        utkface.find(tmp_path)


def test_a_tar_that_is_cut_where_a_file_would_begin_is_not_taken_for_whole(tmp_path):
    ((name, content),) = tarred(FACES, "faces.tar", "w").items()
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        starts = [member.offset for member in tar][1:]
    for cut in starts + [start + 100 for start in starts]:
        put(tmp_path, {name: content[:cut]})
        with pytest.raises(InputError, match=r"whole tar.*it has no end\. Get it again"):
            utkface.find(tmp_path)


def test_litter_alone_is_nothing(tmp_path):
    put(tmp_path, LEFT)
    for name in ("Thumbs.db", ".DS_Store"):
        (tmp_path / "UTKFace" / name).rename(tmp_path / name)
    assert entries(tmp_path)
    for path in (tmp_path / "UTKFace").iterdir():
        path.unlink()
    (tmp_path / "UTKFace").rmdir()
    assert not entries(tmp_path)


MANY = bytes(1 << 25)


@pytest.mark.parametrize("pack", [gzipped, zipped, tarred], ids=["gzip", "zip", "tar"])
def test_what_unpacks_to_more_than_can_be_used_is_not_read_whole(pack, tmp_path):
    put(tmp_path, pack({"census-income.data": MANY}))
    (packed,) = walk(tmp_path)
    tracemalloc.start()
    try:
        for file in inside(packed):
            with pytest.raises(InputError, match=r"at most 1,000 bytes in .*Found more"):
                file.read(1000)
        assert tracemalloc.get_traced_memory()[1] < len(MANY) / 16
    finally:
        tracemalloc.stop()


def test_a_zip_that_lies_about_a_size_is_refused(tmp_path):
    (packed,) = zipped({"5_0_0_2017.jpg": MANY}).values()
    true, false = struct.pack("<I", len(MANY)), struct.pack("<I", 100)
    put(tmp_path, {"a.zip": packed.replace(true, false)})
    with pytest.raises(InputError, match="could not be read: Bad CRC-32"):
        utkface.read(tmp_path, 8)


def test_a_tar_whose_header_asks_for_all_memory_is_refused(tmp_path):
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 40
    put(tmp_path, {"a.tar.gz": gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(2048))})
    with pytest.raises(InputError, match="parts of at most 134,217,728 bytes"):
        utkface.find(tmp_path)


def test_a_large_stranger_among_the_files_is_passed_over(tmp_path):
    put(tmp_path, gzipped({"strange": MANY}) | DIGITS)
    right, faults = contents(tmp_path, KNOWN)
    assert [*right] == sorted(KNOWN) and len(faults) == 1


@pytest.mark.parametrize("outer", [zipped, tarred])
@pytest.mark.parametrize("inner", [zipped, tarred])
def test_an_archive_in_an_archive_is_not_opened(outer, inner, tmp_path):
    put(tmp_path, outer(inner(DIGITS, "inner") | {"5_0_0_2017.jpg": jpeg(0)}))
    found = [file for packed in walk(tmp_path) for file in inside(packed)]
    assert [Path(file.path).name for file in found] == ["inner", "5_0_0_2017.jpg"]
    with pytest.raises(
        InputError, match=r"Expected train-images-idx3, .* packed or not. Found [a-z.]+. Download"
    ):
        multimnist.files(tmp_path)


def test_an_array_whose_header_speaks_of_more_than_there_is_is_refused(tmp_path):
    header = {"descr": "<f8", "fortran_order": False, "shape": (1 << 16, 1 << 16, 3)}
    with (tmp_path / "0.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.write(bytes(100))
    with pytest.raises(InputError, match=r"0\.npy could not be read"):
        cityscapes._array(tmp_path / "0.npy", (1 << 16, 1 << 16, 3), "f")


def test_an_empty_zip_and_a_text_are_no_faults(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w"):
        pass
    put(tmp_path, {"b.txt": b"text"})
    assert [Path(file.path).name for one in walk(tmp_path) for file in inside(one)] == ["b.txt"]
    assert File("x", None, lambda: io.BytesIO(b"abc")).read(3) == b"abc"
