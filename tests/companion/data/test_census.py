"""Census-Income is read, labelled and encoded as the paper and the authors' code say."""

import functools
import gzip
import io

import numpy as np
import pandas as pd
import pytest
import torch
from same_data import equal, parts
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from pamal_companion.data import census
from pamal_companion.data.census import (
    COLUMNS,
    NUMBERS,
    ODD_HOUSEHOLD,
    SEX,
    TASKS,
    UNUSED,
    features,
    labels,
    parse,
)
from pamal_companion.data.files import data_root
from pamal_companion.data.samples.people import texts
from pamal_companion.study.constant import CENSUS
from pamal_core.errors import InputError

FOLDER = data_root() / "census"
needs_census = pytest.mark.skipif(
    not all((FOLDER / f"{name}.gz").exists() for name in census.FILES),
    reason="needs Census-Income under $PAMAL_DATA",
)
PAIR = ("age", "education")


@pytest.fixture(scope="module")
def sample():
    return census.load("sample")


@pytest.fixture(scope="module")
def people():
    """The training file of the sample."""
    return parse(texts(COLUMNS)[0])


@pytest.fixture(scope="module")
def full_files():
    """The two real files, parsed."""
    return [parse(gzip.decompress((FOLDER / f"{n}.gz").read_bytes())) for n in census.FILES]


@pytest.fixture(scope="module")
def full():
    return census.load("full")


@functools.cache
def first_line():
    return texts(COLUMNS)[0].split(b"\n", 1)[0].decode().split(", ")


def line(**changes):
    """One line of a file, with some fields changed."""
    return ", ".join((dict(zip(COLUMNS, first_line(), strict=True)) | changes).values())


def content(*lines):
    return "\n".join([*lines, ""]).encode()


def test_the_features_are_what_pandas_and_scikit_learn_make_of_the_columns(people):
    rows = np.arange(0, len(people), 2)
    found = features(people, people, rows, PAIR)
    left = [c for c in COLUMNS if c not in (*UNUSED, "AAGE", "AHGA")]
    numbers = people[[c for c in left if c in NUMBERS]].to_numpy()
    kinds = people[[c for c in left if c not in NUMBERS and c != SEX]].astype(str)
    expected = np.hstack(
        [
            StandardScaler().fit(numbers[rows]).transform(numbers),
            pd.get_dummies(kinds).to_numpy(),
            (people[[SEX]] == "Male").to_numpy(),
        ]
    )
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("education", "mended", "released"),
    [
        ("Bachelors degree(BA AB BS)", 1, 1),
        ("Some college but no degree", 1, 1),
        ("Associates degree-occup /vocational", 1, 1),
        ("Doctorate degree(PhD EdD)", 1, 1),
        ("Prof school degree (MD DDS DVM LLB JD)", 1, 1),
        ("Masters degree(MA MS MEng MEd MSW)", 1, 0),
        ("High school graduate", 0, 0),
        ("12th grade no diploma", 0, 0),
        ("Children", 0, 0),
    ],
)
def test_a_masters_degree_is_high_unless_it_is_misspelt_as_in_the_release(
    education, mended, released
):
    row = parse(content(line(AHGA=education)))
    assert [labels(row, ["education"], m)[0].item() for m in ("mended", "as_released")] == [
        mended,
        released,
    ]


def test_the_other_tasks_are_age_40_50000_dollars_and_no_marriage():
    yes = line(AAGE="40", INCOME="50000+.", AMARITL="Never married")
    no = line(AAGE="39", INCOME="- 50000.", AMARITL="Divorced")
    for answers in labels(parse(content(yes, no)), ["age", "income", "never-married"]):
        assert answers.tolist() == [1, 0]


@pytest.mark.parametrize("tasks", [("income", "never-married"), ("age", "education", "income")])
def test_what_is_asked_for_is_no_input(people, tasks):
    unseen = {*UNUSED, *(TASKS[task][0] for task in tasks)}
    found = features(people, people, np.arange(100), tasks)
    for column in COLUMNS:
        other = people.assign(**{column: people[column].to_numpy()[::-1]})
        other = other.astype({column: people[column].dtype})
        is_same = np.array_equal(features(other, people, np.arange(100), tasks), found)
        assert is_same == (column in unseen), column


def test_the_scales_know_the_training_rows_alone(people):
    rows = np.arange(100)
    other = people.copy()
    other.loc[other.index[100:], "WKSWORK"] = 1e6
    before, after = (features(people, known, rows, PAIR) for known in (people, other))
    np.testing.assert_array_equal(before, after)


def test_a_number_that_never_changes_stays_finite(people):
    found = features(people, people.assign(DIVVAL=3.0), np.arange(50), PAIR)
    assert np.isfinite(found).all()


def test_the_sample_says_that_it_is_one_and_has_all_columns(sample):
    assert sample.is_sample and "sample of made-up people: 6,400 for training" in sample.description
    assert sample.id.startswith("census/sample/age+education/mended/seed=0/")
    assert [len(part) for part in parts(sample)] == [6_400, 1_600, 2_000]
    for part in parts(sample):
        features, *answers = part.tensors
        assert features.dtype == torch.float32 and features.isfinite().all()
        assert all(a.dtype == torch.int64 and set(a.tolist()) == {0, 1} for a in answers)


@pytest.mark.parametrize("name", ["age", "education", "income", "never-married"])
def test_each_task_of_the_sample_can_be_learnt_but_not_without_error(name):
    pair = sorted((name, "education" if name == "age" else "age"))
    splits = census.load("sample", tasks=pair)
    column = 1 + pair.index(name)
    (x, *_), (test_x, *_) = splits.train.tensors, splits.test.tensors
    y, test_y = splits.train.tensors[column], splits.test.tensors[column]
    chance = max(test_y.double().mean(), 1 - test_y.double().mean())
    accuracy = LogisticRegression(max_iter=1000).fit(x, y).score(test_x, test_y)
    assert chance + 0.01 < accuracy < 0.97
    best_column = max(
        max(((x[:, d] > 0) == y.bool()).double().mean() for d in range(x.shape[1])), chance
    )
    assert accuracy > best_column - 0.02


def test_the_splits_are_the_rows_of_the_files_each_once(people):
    rows = np.random.default_rng(3).permutation(len(people))[: len(people) // 5]
    splits = census.load("sample", seed=3)
    chosen = np.isin(np.arange(len(people)), rows)
    for part, mask in ((splits.train, ~chosen), (splits.validation, chosen)):
        expected = labels(people[mask], PAIR)
        assert all((a.numpy() == e).all() for a, e in zip(part.tensors[1:], expected, strict=True))


def test_equal_options_give_equal_data_and_others_another_id(sample):
    again = census.load("sample", tasks=("education", "age"))
    assert again.id == sample.id
    assert equal(again, sample)
    changes = [{"seed": 1}, {"masters": "as_released"}, {"tasks": ("age", "income")}]
    assert len({sample.id, *(census.load("sample", **c).id for c in changes)}) == 4


def test_without_the_files_auto_takes_the_sample(tmp_path, sample):
    assert census.load("auto", tmp_path).id == sample.id
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_named_with_the_place_to_get_it(tmp_path):
    with pytest.raises(
        InputError, match=r"Expected census-income\.data, .*nothing.*10\.24432/C5N30T"
    ):
        census.load("full", tmp_path)


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (b"half a downlo", r"data\.gz: truncated, .* Remove that first"),
        (gzip.compress(b"1, 2\n", mtime=0), r"data\.gz: truncated, .* Remove that first"),
    ],
    ids=["truncated", "other"],
)
def test_auto_does_not_pass_over_a_file_that_is_not_the_original(tmp_path, damaged, message):
    (tmp_path / "census").mkdir()
    (tmp_path / "census" / "census-income.data.gz").write_bytes(damaged)
    with pytest.raises(InputError, match=message):
        census.load("auto", tmp_path)


def test_a_test_file_may_lack_categories(people):
    frames = parse(content(line())), people
    one, every = (features(frame, people, np.arange(100), PAIR) for frame in frames)
    np.testing.assert_array_equal(one[0], every[0])


@needs_census
def test_the_full_files_have_the_published_counts(full_files):
    assert [len(f) for f in full_files] == [199_523 - 2, 99_762]
    # The counts of the two rows of the odd household come on top.
    lines = gzip.decompress((FOLDER / "census-income.data.gz").read_bytes()).split(b"\n")
    of_household = b"\n".join(row for row in lines if ODD_HOUSEHOLD.encode() in row)
    odd = pd.read_csv(io.BytesIO(of_household), names=COLUMNS, skipinitialspace=True)
    assert len(odd) == 2
    extra = [sum(a) for a in labels(odd, list(TASKS))]
    counts = [[a.sum() for a in labels(f, list(TASKS))] for f in full_files]
    assert np.add(counts[0], extra).tolist() == [
        *(78_316, 21_141, 67_003, 70_314),
        *(12_382, 79_582, 95_539, 86_485),
    ]
    assert counts[1] == [39_366, 10_528, 33_410, 35_052, 6_186, 39_743, 47_971, 43_143]
    released = [labels(f, ["education"], "as_released")[0].sum() for f in full_files]
    assert released == [60_462 - labels(odd, ["education"], "as_released")[0].sum(), 30_104]


@needs_census
@pytest.mark.parametrize(
    ("tasks", "num_features"),
    [(PAIR, 468), (("income", "never-married"), 477), (("age", "income"), 483)],
)
def test_pairs_of_tasks_have_as_many_features_as_in_the_authors_code(
    full_files, tasks, num_features
):
    train, test = full_files
    assert features(test.iloc[:5], train, np.arange(1000), tasks).shape == (5, num_features)


@needs_census
def test_what_a_constant_answer_has_is_counted_in_the_test_file(full_files):
    for task, expected in CENSUS.items():
        share = labels(full_files[1], [task], "as_released")[0].mean()
        assert max(share, 1 - share) == pytest.approx(expected, abs=0.00005), task


@needs_census
def test_full_census_has_the_papers_sizes_and_is_the_same_on_every_machine(full):
    assert full.id == "census/full/age+education/mended/seed=0/d6b1fbd52639"
    assert [t.tensors[0].shape for t in parts(full)] == [
        (159_617, 468),
        (39_904, 468),
        (99_762, 468),
    ]
    x = full.train.tensors[0]
    assert x[:, :6].mean(0).abs().max() < 1e-5
    assert torch.allclose(x[:, :6].std(0), torch.ones(6), atol=1e-4)
    assert ((x[:, 6:] == 0) | (x[:, 6:] == 1)).all()
    assert (x[:, 6:-1].sum(1) == 29).all()  # one category of each column
    assert full.test.tensors[1].sum() == 39_366 and full.test.tensors[2].sum() == 33_410
