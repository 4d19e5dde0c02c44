"""The 23,708 images of UTKFace itself, resized to 64x64 and zipped."""

import io
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn.functional import huber_loss

from pamal_companion.data import utkface
from pamal_companion.data.files import data_root
from pamal_companion.study.faces import CONSTANT

ZIP = data_root() / "utkface" / "utkface_64.zip"
pytestmark = pytest.mark.skipif(not ZIP.exists(), reason=f"needs {ZIP.name} under $PAMAL_DATA")


@pytest.fixture(scope="module")
def faces(tmp_path_factory):
    """All of them, decoded and not kept."""
    nowhere = tmp_path_factory.mktemp("made") / "file"
    nowhere.write_bytes(b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PAMAL_CACHE", str(nowhere))
        with pytest.warns(UserWarning, match="Could not keep the decoded data"):
            return utkface.read(ZIP.parent, 64)


@pytest.fixture
def load(faces, monkeypatch):
    """`utkface.load` without decoding them again."""
    monkeypatch.setattr(utkface, "read", lambda folder, size: faces)
    return utkface.load


def test_ages_genders_and_ethnicities_have_the_published_counts(faces):
    assert faces.images.shape == (23_705, 3, 64, 64) and faces.num_unlabelled == 3
    assert (faces.ages.min(), faces.ages.max()) == (1, 116)
    assert round(faces.ages.mean(), 3) == 33.301 and round(faces.ages.std(ddof=1), 3) == 19.886
    assert np.bincount(faces.genders).tolist() == [12_391, 11_314]
    assert np.bincount(faces.ethnicities).tolist() == [10_078, 4_526, 3_434, 3_975, 1_692]


def test_an_image_is_what_pillow_decodes(faces):
    with zipfile.ZipFile(ZIP) as archive:
        names = sorted(n for n in archive.namelist() if n.split(".")[0].count("_") == 3)
        for i in (0, 1, 11_111, -1):
            expected = np.array(Image.open(io.BytesIO(archive.read(names[i]))))
            np.testing.assert_array_equal(faces.images[i], expected.transpose(2, 0, 1))
            assert int(names[i].split("_")[0]) == faces.ages[i]


def test_there_are_as_many_copies_as_the_docstring_says(faces, load):
    labels = np.stack([faces.ages, faces.genders, faces.ethnicities], 1).tolist()
    groups: dict[bytes, list[tuple[int, ...]]] = {}
    for image, label in zip(faces.images, labels, strict=True):
        groups.setdefault(image.tobytes(), []).append(tuple(label))
    copied = [group for group in groups.values() if len(group) > 1]
    assert (len(faces.ages) - len(groups), len(copied), sum(map(len, copied))) == (390, 375, 765)
    assert sum(len(set(group)) > 1 for group in copied) == 259
    splits = load("full")
    trained = {image.numpy().tobytes() for image in splits.train.tensors[0]}
    assert sum(i.numpy().tobytes() in trained for i in splits.test.tensors[0]) == 120


def test_full_data_have_the_authors_sizes_and_are_the_same_everywhere(load):
    splits = load("full")
    sizes = [len(part) for part in (splits.train, splits.validation, splits.test)]
    assert sizes == [16_593, 2_370, 4_742] and not splits.is_sample
    assert splits.id == "utkface/full/size=64/split=70/10/20/seed=0/c8d0f16788e0"
    assert splits.description == (
        "Age, gender and ethnicity from UTKFace (3 images without a label left out): "
        "16,593 for training, 2,370 for validation, 4,742 for test."
    )
    paper = load("full", split="paper")
    assert [len(part) for part in (paper.train, paper.validation, paper.test)] == [
        18_964,
        4741,
        4741,
    ]


def test_a_constant_answer_is_as_good_as_the_page_says(load):
    """Look for the best constant answers on the test parts of the reduced runs."""
    for seed in (0, 1, 2):
        _, ages, genders, ethnicities = load("full", split="paper", seed=seed).test.tensors
        tried = (huber_loss(torch.full_like(ages, c), ages) for c in torch.linspace(-0.5, 0.5, 101))
        loss = float(min(tried))
        shares = [100 * float(one.bincount().max()) / len(one) for one in (genders, ethnicities)]
        assert loss == pytest.approx(CONSTANT[0], abs=0.0075)
        assert shares == pytest.approx(CONSTANT[1:], abs=0.45)
