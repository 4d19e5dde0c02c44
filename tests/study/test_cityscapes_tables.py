import numpy as np
import pytest

from pamal_core.errors import InputError
from pamal_core.runs.records import Record
from pamal_core.study import cityscapes_tables as tables
from pamal_core.study.paper import table
from pamal_core.study.tables import PRINTED

DATA = "cityscapes/full/II/seed=0/128x256/multiply/0123456789ab"
PAMAL = {"W": 3, "lam": 1.0, "p": 7.0, "balancing": "gradient", "epochs": 100}
MIOU, ACCURACY, ABSOLUTE, RELATIVE = (column.title for column in tables.COLUMNS)
SEGMENTATION = {"segmentation/mIoU": 0.7, "segmentation/pixel accuracy": 0.92}
DEPTH = {"depth/absolute error": 0.015, "depth/relative error": 50.0}


def record(method="pamal", options=None, *, data=DATA, seed=0, tested=(SEGMENTATION | DEPTH,)):
    """A record with the given metrics at some alphas on test, and much better ones on
    validation."""
    better = {"segmentation/mIoU": 0.99, "segmentation/pixel accuracy": 0.99}
    worse = {"depth/absolute error": 0.001, "depth/relative error": 1.0}
    points = [{"alpha": [1.0], "split": "test", "metrics": metrics} for metrics in tested]
    points.append({"alpha": [1.0], "split": "validation", "metrics": better | worse})
    return Record(
        experiment="cityscapes",
        method=method,
        options=PAMAL if options is None else options,
        seed=seed,
        data=data,
        objectives={},
        points=points,
        summary={},
        cost={},
        versions={},
    )


def ours(records, row="PaMaL", setting="II"):
    return tables.beside_the_paper(records, setting).xs("ours", axis=1, level=1).loc[row].tolist()


@pytest.mark.parametrize(("setting", "number"), [("I", 1), ("II", 2)])
def test_the_papers_rows_and_numbers_are_those_of_its_table_in_its_order(setting, number):
    found = tables.beside_the_paper([], setting)
    rows = table("cityscapes").query("setting == @number")
    assert list(found.index) == rows["method"].tolist() and len(found) == 15
    for title, name in zip((MIOU, ACCURACY, ABSOLUTE, RELATIVE), rows.columns[2:], strict=True):
        np.testing.assert_array_equal(found[title, "paper"], rows[name])


def test_some_numbers_of_the_paper_read_off_its_page():
    first, second = (tables.beside_the_paper([], setting) for setting in ("I", "II"))
    assert first.loc["Nash-MTL", (MIOU, "paper")] == 72.07
    assert second.loc["MGDA", (MIOU, "paper")] == 66.45
    assert first.loc["PaMaL", (ABSOLUTE, "paper")] == 0.0138
    assert second.loc["COSMOS", (RELATIVE, "paper")] == 136.614


def test_without_records_every_number_of_ours_needs_the_data():
    found = tables.beside_the_paper([], "II").xs("ours", axis=1, level=1)
    assert (found == "needs the data").all(axis=None)


def test_ours_is_the_best_on_test_of_each_metric_on_its_own():
    one = {"segmentation/mIoU": 0.71234, "segmentation/pixel accuracy": 0.90}
    other = {"segmentation/mIoU": 0.69, "segmentation/pixel accuracy": 0.91235}
    near = {"depth/absolute error": 0.01406, "depth/relative error": 60.0}
    far = {"depth/absolute error": 0.016, "depth/relative error": 54.5204}
    run = record(tested=(one | far, other | near))
    assert ours([run]) == [71.23, 91.23, 0.0141, 54.52]


def test_ours_is_the_mean_over_seeds_and_the_last_record_of_a_seed_counts():
    runs = [
        record(seed=seed, tested=(SEGMENTATION | DEPTH | {"segmentation/mIoU": value},))
        for seed, value in ((0, 0.1), (0, 0.6), (1, 0.7))
    ]
    assert ours(runs)[0] == 65.0


def test_single_task_learning_is_two_records():
    options = {"balancing": "none", "epochs": 100}
    runs = [
        record("stl", {**options, "task": task}, tested=(metrics,))
        for task, metrics in enumerate((SEGMENTATION, DEPTH))
    ]
    assert ours(runs, "STL") == [70.0, 92.0, 0.015, 50.0]
    assert ours(runs[1:], "STL") == ["needs the data", "needs the data", 0.015, 50.0]


def test_every_row_finds_its_method():
    options = {
        "pamal": PAMAL,
        "ls": {"balancing": "none", "epochs": 100},
        "stl": {"task": 0, "balancing": "none", "epochs": 100},
        "cosmos": {"p": 1.2, "lam": 2.0, "epochs": 100},
    }
    methods = [name for name in PRINTED if name != "phn"]
    runs = [record(method, options.get(method, {"epochs": 100})) for method in methods]
    assert len(runs) == 15
    assert not (tables.beside_the_paper(runs, "II") == "needs the data").any(axis=None)
    for run in runs:
        alone = tables.beside_the_paper([run], "II").xs("ours", axis=1, level=1)
        assert (alone != "needs the data").all(axis=1).sum() == 1


@pytest.mark.parametrize(
    "changed",
    [{"setting": "I"}, {"validation": 475}, {"depth_scaling": "divide"}],
    ids=str,
)
def test_what_the_paper_leaves_open_may_be_any(changed):
    assert ours([record(options=PAMAL | changed)])[0] == 70.0


@pytest.mark.parametrize(
    "other",
    [
        record(data=DATA.replace("full", "sample")),
        record(data=DATA.replace("II/seed=0", "I")),
        record(data=DATA.replace("multiply", "plain")),
        record(data=DATA.replace("cityscapes", "utkface")),
        record("phn", {"p": 0.2, "epochs": 100}),
        record("ls", {"balancing": "gradient", "epochs": 100}),
        *(
            record(options=PAMAL | changed)
            for changed in (
                {"W": 4},
                {"lam": 0.0},
                {"p": 1.0},
                {"balancing": "none"},
                {"epochs": 99},
                {"limit": 20},
                {"width": 8},
                {"batch_norm": "recalibrated"},
                {"penalty": "printed"},
            )
        ),
    ],
)
def test_other_data_settings_and_options_are_not_set_beside_the_paper(other):
    found = tables.beside_the_paper([other], "II").xs("ours", axis=1, level=1)
    assert (found == "needs the data").all(axis=None)


def test_the_two_settings_do_not_mix():
    in_first = record(data="cityscapes/full/I/128x256/multiply/0123456789ab")
    assert ours([in_first], setting="I")[0] == 70.0
    assert ours([in_first], setting="II")[0] == "needs the data"


def test_another_setting_is_refused():
    with pytest.raises(InputError, match=r"`setting` must be .* Found 'III'"):
        tables.beside_the_paper([], "III")
