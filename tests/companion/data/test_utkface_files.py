"""The images of UTKFace are found, labelled by their names and decoded once."""

import io
import tarfile
import zipfile

import numpy as np
import packed
import pytest
from faces_on_disk import faces, jpeg
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PIL import Image
from torchvision.transforms import Resize

from pamal_companion.data.files import cache_root, entries
from pamal_companion.data.utkface import labels, read
from pamal_core.errors import InputError

FACE = "25_0_2_20170116174525125.jpg.chip.jpg"
UNLABELLED = "61_1_20170109142408075.jpg.chip.jpg"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the data belong; what is made from them goes to another folder."""
    monkeypatch.setenv("PAMAL_CACHE", str(tmp_path / "made"))
    (tmp_path / "utkface").mkdir()
    return tmp_path / "utkface"


def write_zip(folder, contents):
    packed.put(folder, packed.zipped(contents, "a.zip", zipfile.ZIP_STORED))
    return folder / "a.zip"


def split_by_hand(name):
    """The labels by the words of the data set's page, None where there are none."""
    stem, _, ending = name.partition(".")
    fields = stem.split("_")
    words = all(word.isascii() and word.isalpha() for word in ending.split("."))
    if not f".{ending}".lower().endswith(".jpg") or not words or not all(fields):
        return None
    if len(fields) == 4 and all(f.isascii() and f.isdigit() and len(f) < 4 for f in fields[:3]):
        age, gender, ethnicity = map(int, fields[:3])
        inside = age <= 116 and fields[1] in ("0", "1") and fields[2] in tuple("01234")
        return (age, gender, ethnicity) if inside else None
    return None


NUMBER = st.integers(0, 130).map(str) | st.sampled_from(["", "x", "-1", "٣", "1.5", " 1", "0007"])
DATE = st.from_regex(r"[0-9]{17}|[0-9a-z ]{0,20}", fullmatch=True)
ENDING = st.sampled_from([".jpg.chip.jpg", ".chip.jpg", ".jpg", ".JPG", ".png", "", "jpg", ".jpg."])


@settings(max_examples=500)
@example(["0", "0", "0", "1.5"], "", ".jpg.chip.jpg")
@given(st.lists(NUMBER, min_size=1, max_size=4), DATE, ENDING)
def test_names_are_split_at_underscores_before_the_first_dot(fields, date, ending):
    name = "_".join([*fields, date]) + ending
    assert labels(name) == split_by_hand(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (FACE, (25, 0, 2)),
        ("24_0_1_20170116220224657 .jpg.chip.jpg", (24, 0, 1)),
        ("55_0_0_20170116232725357jpg.chip.jpg", (55, 0, 0)),
        ("116_1_4_20170120134921760.jpg.chip.jpg", (116, 1, 4)),
        (UNLABELLED, None),
        ("39_1_20170116174525125.jpg.chip.jpg", None),
        ("61_3_20170109142408075.jpg.chip.jpg", None),
        ("61_1_2017010914240807.jpg.chip.jpg", None),
        ("117_0_2_20170116174525125.jpg.chip.jpg", None),
        ("25_2_2_20170116174525125.jpg.chip.jpg", None),
        ("25_0_5_20170116174525125.jpg.chip.jpg", None),
        ("25_0_2_1_20170116174525125.jpg.chip.jpg", None),
        ("25_0_2_20170116174525125.png", None),
        ("Thumbs.db", None),
    ],
)
def test_odd_names_of_the_original_are_read_and_others_are_not(name, expected):
    assert labels(name) == expected


@pytest.mark.parametrize(
    ("shape", "mode"), [((20, 20), "RGB"), ((64, 64), "RGB"), ((31, 200), "L"), ((9, 9), "CMYK")]
)
def test_an_image_is_what_torchvision_makes_of_it(folder, shape, mode):
    content = jpeg(3, shape, mode)
    write_zip(folder, {FACE: content})
    expected = Resize((64, 64))(Image.open(io.BytesIO(content)).convert("RGB"))
    found = read(folder, 64).images
    assert found.dtype == np.uint8 and found.shape == (1, 3, 64, 64)
    np.testing.assert_array_equal(found[0], np.array(expected).transpose(2, 0, 1))


def a_zip_and_other_images(folder):
    write_zip(folder, faces(2))
    packed.put(folder, dict(zip(faces(2), reversed(faces(2).values()), strict=True)))


def a_tarball(folder):
    tarfile.open(folder / "UTKFace.tar.gz", "w:gz").close()


def twice(folder):
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        zipfile.ZipFile(folder / "a.zip", "w") as z,
    ):
        z.writestr(FACE, jpeg(0))
        z.writestr(FACE, jpeg(1))


def cut(folder):
    path = write_zip(folder, faces(9))
    path.write_bytes(path.read_bytes()[:-200])


def zipped(contents):
    return lambda folder: write_zip(folder, contents)


def unpacked(contents):
    return lambda folder: packed.put(folder, contents)


def png():
    file = io.BytesIO()
    Image.new("RGB", (4, 4)).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: None, r"faces of UTKFace in .*utkface, .*Found nothing\. .*susanqq"),
        (a_zip_and_other_images, r"Found 2 images in \., 2 images in a\.zip\. Leave"),
        (a_tarball, r"Found UTKFace\.tar\.gz\. Get"),
        (lambda folder: (folder / "UTKFace").mkdir(), r"Found UTKFace\. Get"),
        (zipped({}), r"Found a\.zip\. Get"),
        (zipped({UNLABELLED: jpeg(0)}), r"Found a\.zip\. Get"),
        (unpacked({"notes.txt": b"", "cat.jpg": jpeg(0)}), r"Found cat\.jpg, notes\.txt\. Get"),
        (cut, r"a whole zip\. .*a\.zip could not be read"),
        (lambda folder: (folder / "a.zip").write_bytes(b"PK"), "a whole zip"),
        (twice, f"a.zip/{FACE} twice"),
        (unpacked({FACE: jpeg(0)[:-9]}), f"whole JPEG image. .*{FACE} could not .*truncated"),
        (zipped({FACE: b""}), f"a.zip/{FACE} could not be read: it is of another kind"),
        (zipped({FACE: png()}), "whole JPEG image"),
        (lambda folder: (folder / FACE).symlink_to("lost"), f"{FACE} could not be read: .*No such"),
    ],
)
def test_what_is_wrong_with_the_files_is_named(folder, make, message):
    make(folder)
    with pytest.raises(InputError, match=message):
        read(folder, 8)
    assert not cache_root().exists()


def test_a_file_in_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "utkface").write_bytes(b"")
    with pytest.raises(InputError, match=r"a folder\. .*utkface could not be read: .*Not a dir"):
        entries(tmp_path / "utkface")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_flipped_bit_in_the_zip_is_found_or_harmless(folder, data):
    path = write_zip(folder, faces(2))
    mark, content = read(folder, 8).mark, bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    try:
        assert read(folder, 8).mark == mark
    except InputError as error:
        assert "a.zip" in str(error)
