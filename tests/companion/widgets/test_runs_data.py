"""What the widget over all records is told, and its form for JupyterLab."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from pamal_companion.experiments.options import MultiMNISTOptions
from pamal_companion.runs import grid
from pamal_companion.runs.options import parse_value
from pamal_companion.study import frame
from pamal_companion.widgets import runs_data
from pamal_core.errors import InputError

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results"
FILES = [path.relative_to(RESULTS).as_posix() for path in frame.files(RESULTS)]
FILES = [path for path in FILES if "toy/" not in path]  # which trains no networks


@pytest.fixture(scope="module")
def packed():
    # As a page has it: what is no JSON would not come through.
    return json.loads(json.dumps(runs_data.pack(RESULTS), allow_nan=False))


def rows(packed, name):
    """A table of columns by row."""
    names, columns = zip(*packed[name].items(), strict=True)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def texts(packed, run):
    """The records of a run and its command."""
    known, seed = packed["texts"], str(run["seed"])
    records = [known[n].replace("%seed%", seed) for n in run["records"]]
    command = known[run["command"]]
    return records, command and command.replace("%record%", records[0]).replace("%seed%", seed)


@pytest.fixture(scope="module")
def by_record(packed):
    return {record: run for run in rows(packed, "runs") for record in texts(packed, run)[0]}


def test_every_record_is_there_once_and_all_fit_into_a_page(packed, by_record):
    assert sorted(by_record) == FILES and packed["records"] == len(FILES)
    assert packed["damaged"] == []
    assert sum(len(numbers) for numbers in packed["runs"]["records"]) == len(FILES)
    assert len(json.dumps(packed, separators=(",", ":"))) < 500_000


def test_a_setting_begins_with_its_method_in_print_said_once(packed):
    for setting in rows(packed, "settings"):
        printed = packed["methods"][setting["method"]]["printed"]
        assert setting["label"].split(", ")[0] == printed


@pytest.mark.parametrize("path", FILES[:: len(FILES) // 24])
def test_a_packed_run_has_the_points_and_hypervolumes_of_its_record(packed, by_record, path):
    record, run = json.loads((RESULTS / path).read_text()), by_record[path]
    setting = rows(packed, "settings")[run["setting"]]
    experiment = packed["experiments"][setting["experiment"]]
    assert packed["methods"][setting["method"]]["name"] == record["method"]
    assert (experiment["name"], run["seed"]) == (record["experiment"], record["seed"])
    of_splits = zip(packed["splits"], run["points"], run["hypervolume"], strict=True)
    for split, columns, volume in of_splits:
        points = [point for point in record["points"] if point["split"] == split]
        for alpha, point in zip(packed["alphas"][run["alphas"]], points, strict=True):
            assert alpha == pytest.approx(point["alpha"], abs=5e-5)
        for name, column in zip(experiment["metrics"], columns, strict=True):
            expected = [point["metrics"].get(name) for point in points]
            if column is None:
                assert None in expected
            else:
                values = [value / 10 ** packed["digits"] for value in column]
                assert values == pytest.approx(expected, abs=5.1e-5)
        expected = record["summary"].get(split, {}).get("hypervolume")
        if isinstance(expected, float):
            assert volume == pytest.approx(expected, abs=5.1e-6)
        else:
            assert volume is None


def test_a_command_makes_the_run_that_its_record_is_of(packed):
    known = grid.by_record()
    kinds = set()
    for run in rows(packed, "runs"):
        (record, *_), command = texts(packed, run)
        program, *words = shlex.split(command)
        kinds.add(program)
        if record not in known:
            continue
        if program == "python":
            assert words == ["-m", "pamal_companion", "run", record, "--results", "mine"]
            continue
        source, _, *given = words
        assert (ROOT / source).exists()
        said = dict(zip(given[1::3], map(parse_value, given[2::3]), strict=True))
        assert said.pop("out") == "mine.json" and set(given[::3]) == {"-p"}
        assert said == known[record].parameters
    assert kinds == {"python", "papermill"}


def test_a_setting_says_what_the_paper_prints_of_it(packed):
    on_multimnist = {s["key"]: s for s in rows(packed, "settings") if s["experiment"] == 0}
    setting = on_multimnist["pamal:W=4:lam=5:penalty=ordered"]
    assert setting["label"] == "PaMaL, W = 4, λ = 5, ordered sign"
    assert "hypervolume" not in setting["paper"].get("validation", {})
    released = on_multimnist["pamal:W=4:lam=5:penalty=printed:skip=as_released"]
    assert released["paper"]["validation"]["hypervolume"] == 0.9143  # appendix B1, as released
    assert "hypervolume" in on_multimnist["pamal:W=4:lam=0"]["paper"]["validation"]
    # That of a baseline on test is of three seeds together, which is no mean over runs.
    assert [*on_multimnist["ls"]["paper"]["test"]] == ["top-left/accuracy", "bottom-right/accuracy"]


def test_addresses_and_names_tell_the_settings_of_a_data_set_apart(packed):
    settings = packed["settings"]
    for name in ("key", "label"):
        found = [*zip(settings["experiment"], settings[name], strict=True)]
        assert len({*found}) == len(found), name
    assert not any(sign in key for key in settings["key"] for sign in " ,&#")


def test_methods_have_a_colour_each(packed):
    colours = [method["colour"] for method in packed["methods"]]
    assert len({*colours}) == len(colours)


@pytest.fixture
def own(tmp_path):
    """A folder of one's own, with two records, a damaged one, and a copy under another name."""
    place = tmp_path / "mine" / "deep"
    place.mkdir(parents=True)
    for name in ("pamal_seed_0.json", "ls_seed_1.json"):
        shutil.copy(RESULTS / "multimnist" / name, place / f"my-{name}")
    shutil.copy(RESULTS / "multimnist" / "ls_seed_1.json", tmp_path / "mine" / "copy.json")
    text = (RESULTS / "multimnist" / "uw_seed_0.json").read_text()
    (place / "broken.json").write_text(text[:1000])
    return tmp_path / "mine"


def test_a_folder_of_ones_own_is_packed_and_what_is_damaged_is_named(own):
    packed = runs_data.pack(own)
    runs, settings = rows(packed, "runs"), rows(packed, "settings")
    assert (packed["records"], len(runs), len(settings)) == (3, 2, 2)
    (why,) = packed["damaged"]
    assert "broken.json" in why and "not a whole record" in why
    pamal = next(run for run in runs if run["seed"] == 0)
    _, command = texts(packed, pamal)
    record = json.loads((RESULTS / "multimnist" / "pamal_seed_0.json").read_text())
    given = shlex.split(command)[3:]
    said = dict(zip(given[1::3], map(parse_value, given[2::3]), strict=True))
    assert said == {"data": "full", "method": "pamal", "seed": 0, "out": "mine.json"}
    assert MultiMNISTOptions.create(**said).identity().items() <= record["options"].items()


def test_runs_of_an_experiment_that_is_not_ours_have_no_command(own):
    path = own / "deep" / "my-pamal_seed_0.json"
    record = frame.Record.read(path)
    record.model_copy(update={"experiment": "mine"}).write(path)
    packed = runs_data.pack(own)
    mine = next(run for run in rows(packed, "runs") if run["seed"] == 0)
    assert texts(packed, mine)[1] is None
    assert [of["title"] for of in packed["experiments"]] == ["MultiMNIST", "mine"]


def test_two_different_records_of_one_run_are_both_there(own):
    path = own / "copy.json"
    record = frame.Record.read(path)
    record.points[0]["metrics"]["top-left/accuracy"] += 0.01
    record.write(path)
    assert len(rows(runs_data.pack(own), "runs")) == 3


def test_a_folder_without_records_is_refused_in_a_sentence(tmp_path):
    none = "must have records of networks"
    for folder, said in (
        (tmp_path, none),
        (RESULTS / "toy", none),
        (tmp_path / "no", "no: No such"),
    ):
        with pytest.raises(InputError, match=said) as refusal:
            runs_data.pack(folder)
        assert "\n" not in str(refusal.value)


def test_in_jupyterlab_it_is_a_widget_over_a_folder(own):
    pytest.importorskip("anywidget", reason="needs the `book` extra")
    from pamal_companion.widgets import Runs

    widget = Runs(own, selection="data=multimnist&show=ls")
    assert widget.records == json.loads(json.dumps(runs_data.pack(own)))
    assert set(widget.get_state()) >= {"records", "selection", "_esm", "_css"}
    assert "export default" in widget._esm
    (own / "empty").mkdir()
    with pytest.raises(InputError, match="must have records"):
        Runs(own / "empty")
