"""Faces are split, standardised and limited as the docstring and the authors' code say."""

import statistics

import numpy as np
import pytest
import torch
from faces_on_disk import faces
from hypothesis import given
from hypothesis import strategies as st
from packed import put
from same_data import equal, parts

from pamal_companion.data import utkface
from pamal_companion.data.samples import faces as drawn_faces
from pamal_core.errors import InputError


def numbered(num, size, seed):
    """Images that tell their number by their first two pixels."""
    rng = np.random.default_rng(seed)
    images = np.zeros((num, 3, size, size), np.uint8)
    images[:, 0, 0, 0], images[:, 0, 0, 1] = divmod(np.arange(num), 256)
    return images, rng.integers(1, 117, num), rng.integers(2, size=num), rng.integers(5, size=num)


@pytest.fixture
def people(monkeypatch):
    """The sample is made of `numbered` images; these are they."""
    monkeypatch.setattr(drawn_faces, "faces", numbered)
    return numbered(utkface.SAMPLE_NUM, 32, utkface.SAMPLE_SEED)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PAMAL_CACHE", str(tmp_path / "made"))
    return tmp_path / "data" / "utkface"


def rows(part):
    """The numbers of the images in `part`."""
    first = part.tensors[0][:, 0, 0, :2].long()
    return (first[:, 0] * 256 + first[:, 1]).tolist()


@pytest.mark.parametrize(("split", "cuts"), [("70/10/20", (2100, 2400)), ("paper", (2400, 2400))])
def test_the_parts_are_cut_from_one_permutation(people, split, cuts):
    order = np.random.default_rng(3).permutation(3000).tolist()
    train, validation, test = map(rows, parts(utkface.load("sample", split=split, seed=3)))
    assert train == order[: cuts[0]] and test == order[cuts[1] :]
    assert validation == (test if split == "paper" else order[cuts[0] : cuts[1]])


@pytest.mark.parametrize("split", utkface.SHARES)
def test_each_image_keeps_its_labels_and_comes_out_as_floats(people, split):
    splits = utkface.load("sample", split=split)
    images, ages, genders, ethnicities = people
    known = [ages[i] for i in (range(3000) if split == "paper" else rows(splits.train))]
    mean, deviation = statistics.fmean(map(int, known)), statistics.stdev(map(int, known))
    for part in parts(splits):
        chosen = rows(part)
        assert [t.dtype for t in part.tensors] == [torch.uint8, torch.float32, *[torch.int64] * 2]
        np.testing.assert_allclose(part.tensors[1], (ages[chosen] - mean) / deviation, rtol=1e-5)
        assert part.tensors[2].tolist() == genders[chosen].tolist()
        assert part.tensors[3].tolist() == ethnicities[chosen].tolist()
        np.testing.assert_allclose(part[0:5][0], images[chosen[:5]] / 255, rtol=1e-6)


def test_the_sample_has_small_images_unless_others_are_asked_for(people):
    splits = utkface.load("sample")
    assert splits.is_sample and [len(part) for part in parts(splits)] == [2100, 300, 600]
    assert splits.train.tensors[0].shape[1:] == (3, 32, 32)
    assert utkface.load("sample", size=16).train.tensors[0].shape[1:] == (3, 16, 16)
    assert splits.description == (
        "Age, gender and ethnicity from a small sample of drawn faces: "
        "2,100 for training, 300 for validation, 600 for test."
    )
    assert "0 for training, 600 for validation, and again 600 for test." in (
        utkface.load("sample", split="paper").description
    )


@pytest.mark.parametrize(
    ("split", "limit", "sizes"),
    [
        ("70/10/20", 2, (2, 1, 1)),
        ("70/10/20", 210, (210, 30, 60)),
        ("70/10/20", 2099, (2099, 299, 599)),
        ("70/10/20", 2100, (2100, 300, 600)),
        ("70/10/20", 10**9, (2100, 300, 600)),
        ("paper", 240, (240, 60, 60)),
    ],
)
def test_a_limit_keeps_the_first_of_each_part_in_proportion(people, split, limit, sizes):
    whole = utkface.load("sample", split=split)
    some = utkface.load("sample", split=split, limit=limit)
    assert tuple(len(part) for part in parts(some)) == sizes
    for few, many in zip(parts(some), parts(whole), strict=True):
        assert rows(few) == rows(many)[: len(few)]
    ages = some.train.tensors[1].double()
    if split == "70/10/20":
        assert ages.mean().abs() < 1e-6 and (ages.std() - 1).abs() < 1e-6
    else:
        assert torch.equal(ages.float(), whole.train.tensors[1][: len(ages)])


@given(st.integers(10, 500), st.sampled_from(list(utkface.SHARES)), st.integers(2, 500))
def test_whatever_the_number_of_images_no_part_is_empty_and_none_is_in_two(num, split, limit):
    found = utkface._rows(num, split, None, 0)
    assert len(found[0]) == int(num * {"70/10/20": 70, "paper": 80}[split] // 100)
    together = np.concatenate(found if split == "70/10/20" else found[::2])
    assert sorted(together.tolist()) == list(range(num))
    limited = utkface._rows(num, split, limit, 0)
    assert len(limited[0]) == min(limit, len(found[0])) and min(map(len, limited)) >= 1


def test_equal_options_give_equal_data_and_others_another_id(people):
    first, again = utkface.load("sample"), utkface.load("sample", size=32)
    assert first.id == again.id
    assert equal(first, again)
    changes = [{"seed": 1}, {"size": 16}, {"split": "paper"}, {"limit": 100}, {"limit": 101}]
    assert len({first.id, *(utkface.load("sample", **c).id for c in changes)}) == 6


def test_without_files_auto_takes_the_sample_and_full_says_how_to_get_them(folder, people):
    with pytest.warns(UserWarning, match="Found no folder .* of data: the sample is taken"):
        assert utkface.load("auto", folder.parent).id == utkface.load("sample").id
    assert not folder.parent.exists()
    with pytest.raises(
        InputError, match=r"Found nothing\. .*aligned and cropped .*kaggle"
    ) as error:
        utkface.load("full", folder.parent)
    assert str(folder) in str(error.value)


def test_auto_does_not_pass_over_an_archive_that_it_cannot_open(folder, people):
    put(folder, {"UTKFace.rar": b""})
    with pytest.raises(InputError, match=r"Found UTKFace\.rar\. Get"):
        utkface.load("auto", folder.parent)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (faces(9), "training, validation and test to have one each. Found 9"),
        ({f"30_0_0_{i}.jpg": c for i, c in enumerate(faces(20).values())}, "Found only 30"),
    ],
)
def test_too_few_images_and_equal_ages_are_named(folder, contents, message):
    put(folder, contents)
    with pytest.raises(InputError, match=message):
        utkface.load("full", folder.parent)
