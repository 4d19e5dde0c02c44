"""The table of all runs has what `results/measured.csv` has, computed here by pandas alone."""

from collections import Counter

import pandas as pd
import pytest

from pamal_companion.study import frame, overview

ALIKE = ["history", "measure_training"]
"""Options that are of no weight: a run with another one is the same run."""
LATER = {"activation": "relu", "target": "plain"}
"""Options that older records lack, with what they had."""
DATA = {
    "multimnist": ("MultiMNIST", "top-left/accuracy", "bottom-right/accuracy"),
    "census": ("Census", "age/accuracy", "education/accuracy"),
    "multimnist3": (
        *("MultiMNIST3", "top-left/accuracy"),
        *("bottom/accuracy", "top-right/accuracy"),
    ),
    "utkface": ("UTKFace", "age/loss", "gender/accuracy", "ethnicity/accuracy"),
    "cityscapes": ("CityScapes", "segmentation/mIoU", "depth/absolute error"),
}
"""The name in print of each experiment, and the objectives of its tasks."""


@pytest.fixture(scope="module")
def rows():
    return overview.table(frame.read()).reset_index()


@pytest.fixture(scope="module")
def csv():
    """The file, each run of a setting once, and the columns that a setting has."""
    names = [*pd.read_csv(frame.FILE, nrows=0)]
    options = names[names.index("seconds") + 1 : names.index("measured on")]
    key = ["experiment", "method", "data", "measured on", *(n for n in options if n not in ALIKE)]
    found = pd.read_csv(frame.FILE, dtype=dict.fromkeys(key, str))
    found[key] = found[key].fillna(LATER).fillna("")
    found["data"] = found["data"].str.split("/").str[1]  # full or a sample
    networks = found[found["experiment"] != "toy"]
    return networks.drop_duplicates([*key, "seed"], keep="last").sort_values("seed"), key


def spread(numbers):
    known = numbers.dropna().to_numpy()  # pandas adds in another order, which can round otherwise
    if not len(known):
        return ""
    return f"{known.mean():.4f}" + (f" ± {known.std(ddof=1):.4f}" if len(known) > 1 else "")


def test_every_row_is_a_mean_over_the_runs_of_a_setting_on_a_split(rows, csv):
    found, key = csv
    expected = Counter()
    for names, runs in found.groupby(key, sort=False):
        title, *objectives = DATA[names[0]]
        means = [spread(runs[name]) for name in ("hypervolume", *objectives)]
        expected[title, names[3], len(runs), *means, *[""] * (3 - len(objectives))] += 1
    columns = ["data", "split", "seeds", "hypervolume", "task 1", "task 2", "task 3"]
    assert Counter(rows[columns].itertuples(index=False, name=None)) == expected


def test_every_run_of_the_file_is_in_the_table_but_for_the_toy(rows, csv):
    assert rows["seeds"].sum() == len(csv[0])
    assert not (rows["data"] == "Toy").any()
    assert set(rows["split"]) == set(csv[0]["measured on"])


def test_a_row_is_told_by_its_data_method_options_epochs_and_split(rows):
    assert not rows.duplicated(["data", "method", "options", "epochs", "split"]).any()


FACES = "batch norm = both, split = paper, stem = torchvision, width = 16"
NAMED = {
    ("MultiMNIST", "PaMaL", "W = 4, λ = 5, printed sign, penalty as_released", 10): (
        "experiment == 'multimnist' and method == 'pamal' and W == 4 and lam == 5"
        " and penalty == 'printed'"
    ),
    ("MultiMNIST", "LS", "", 40): (
        "experiment == 'multimnist' and method == 'ls' and epochs == 40 and lr == 0.001"
        " and average == 0 and batch_size == 256"
    ),
    ("Census", "STL", "education", 10): (
        "experiment == 'census' and method == 'stl' and task == 1"
    ),
    ("UTKFace", "UW", FACES, 10): "experiment == 'utkface' and method == 'uw'",
}
"""Rows by what they say, and the lines of the file that this means."""


@pytest.mark.parametrize(("row", "where"), NAMED.items())
def test_a_setting_in_words_has_the_numbers_of_the_rows_it_names(rows, row, where):
    names = ["data", "method", "options", "epochs"]
    found = rows[rows[names].apply(tuple, axis=1) == row].set_index("split")
    runs = pd.read_csv(frame.FILE, low_memory=False).query(where)
    for split, on_split in runs.drop_duplicates(["seed", "measured on"]).groupby("measured on"):
        assert found.loc[split, "seeds"] == len(on_split)
        assert found.loc[split, "hypervolume"] == spread(on_split["hypervolume"])
        for place, name in enumerate(DATA[runs["experiment"].iloc[0]][1:], 1):
            assert found.loc[split, f"task {place}"] == spread(on_split[name])
    assert len(found) == runs["measured on"].nunique() > 0


def test_methods_and_data_stand_in_the_order_of_the_papers_tables(rows):
    assert [*dict.fromkeys(rows["data"])] == [title for title, *_ in DATA.values()]
    first = rows[rows["data"] == "MultiMNIST"]
    assert first["method"].iloc[0] == "PaMaL" and (first["method"] == "PaMaL").idxmin() > 20


def test_the_objectives_are_those_of_the_records():
    found = frame.read()
    known = overview.objectives(found)
    assert known == {name: [*objectives] for name, (_, *objectives) in DATA.items()}
    for setting, by_seed in found.items():
        if setting.method != "stl" and setting.experiment in DATA:
            run = next(iter(by_seed.values()))
            assert [*run.record.objectives] == known[setting.experiment]
