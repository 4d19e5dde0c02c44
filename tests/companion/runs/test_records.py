import importlib.util
import json
import math

import numpy as np
import pandas as pd
import pytest
from commands_on_disk import ask
from commands_on_disk import record as whole_record

from pamal_companion.experiments.options import MultiMNISTOptions
from pamal_companion.runs import folder, grid
from pamal_companion.runs.records import Record, _digest, about, run_key, summarise, to_points
from pamal_companion.study import frame
from pamal_companion.study.measured import readable
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import Objective

spec = importlib.util.spec_from_file_location(
    "convert_records", grid.ROOT / "workflow" / "convert_records.py"
)
converting = importlib.util.module_from_spec(spec)
spec.loader.exec_module(converting)
convert = converting.convert


def point(alpha, metrics):
    return {"alpha": alpha, "split": "test", "metrics": metrics}


def record(**changes):
    fields = {
        "experiment": "multimnist",
        "method": "pamal",
        "options": {"W": 4, "epochs": 10},
        "seed": 0,
        "data": "multimnist/full/abc",
        "objectives": {"left/accuracy": "max", "right/loss": "min"},
        "points": [
            point([1.0, 0.0], {"left/accuracy": 0.9, "right/loss": 0.4}),
            point([0.0, 1.0], {"left/accuracy": 0.7, "right/loss": 0.2}),
        ],
        "summary": {"test": {"hypervolume": None}},
        "cost": {"train_seconds": 1.5, "evaluate_seconds": 0.1, "peak_memory_bytes": None},
        "versions": {"torch": "2"},
    }
    return Record(**fields | changes)


def test_a_record_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "deep" / "r.json"
    record().write(path)
    assert Record.read(path) == record()
    assert json.loads(path.read_text())["points"][1]["alpha"] == [0, 1]
    assert list(path.parent.iterdir()) == [path]


def test_a_record_has_one_line_per_field_per_point_and_for_its_checksum():
    fields = len(Record.model_fields)
    made_here = record(made_on={"device": "a processor"})
    assert len(made_here.to_text().splitlines()) == 2 + fields + 1 + 2 + 1
    assert len(record().to_text().splitlines()) == 2 + fields - 1 + 1 + 2 + 1


@pytest.mark.parametrize(
    ("cost", "seconds"),
    [
        ({"train_seconds": 2.5, "evaluate_seconds": 0.25, "peak_memory_bytes": 1e9}, 2.75),
        ({"train_seconds": 2.5, "evaluate_seconds": None}, 2.5),
        ({}, 0),
    ],
)
def test_the_seconds_of_a_run_are_those_of_training_and_of_evaluation(cost, seconds):
    assert record(cost=cost).seconds == seconds


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"options": {"W": 3, "epochs": 10}}, {"data": "x"}, {"method": "ls"}]
)
def test_the_key_names_the_run(change):
    assert record().key != record(**change).key
    assert len(record().key) == 16


def test_the_key_does_not_depend_on_results_cost_or_the_order_of_options():
    other = record(summary={}, cost={}, options={"epochs": 10, "W": 4}, versions={})
    assert record().key == other.key
    said = {"experiment": "e", "method": "m", "options": {"a": 1, "b": 2}, "seed": 0, "data": "d"}
    turned = dict(reversed(said.items())) | {"options": {"b": 2, "a": 1}}
    assert [*turned] != [*said] and run_key(said) == run_key(turned)


def test_a_hypervolume_that_a_record_does_not_have_is_nan():
    assert math.isnan(record().hypervolume("test"))  # null, as single-task learning has it
    assert math.isnan(record(summary={}).hypervolume("validation"))
    assert record(summary={"test": {"hypervolume": 1}}).hypervolume("test") == 1.0


def test_a_number_that_json_does_not_have_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        record(cost={"train_seconds": float("nan")}).to_text()


def test_a_value_that_has_changed_is_noticed(tmp_path):
    path = tmp_path / "r.json"
    text = record().to_text()
    path.write_text(text.replace('"left/accuracy": 0.9', '"left/accuracy": 0.8'))
    with pytest.raises(InputError, match=r"r\.json has changed since it was written"):
        Record.read(path)
    path.write_text("".join(line for line in text.splitlines(True) if '"checksum"' not in line))
    path.write_text(path.read_text().replace('{"torch": "2"},', '{"torch": "2"}'))
    with pytest.raises(InputError, match=r"or is of another version\. .* found None"):
        Record.read(path)


def test_a_record_of_older_code_is_the_same_run_and_comes_to_say_all(tmp_path):
    options = MultiMNISTOptions.create(epochs=10, average=0.99)
    new = Record(**record().model_dump() | about("multimnist", options, "multimnist/full/abc"))
    assert new.options.keys() > {"W", "offset", "bottleneck", "average", "measure_training"}
    fields = new.model_dump(exclude={"key"}) | {"options": options.identity()}
    assert fields["options"].keys() == {"W", "lam", "p", "balancing", "epochs", "average"}
    path = tmp_path / "r.json"
    path.write_text(json.dumps(fields | {"checksum": _digest(fields)}))
    assert Record.find(path, new.key).options == options.identity()
    assert convert(path) and Record.read(path) == new and not convert(path)


def test_points_survive_the_way_through_a_record():
    objectives = Objective("left/accuracy", True), Objective("right/loss", False)
    table = pd.DataFrame({"left/accuracy": [0.9, 0.7], "right/loss": [0.4, 0.2]})
    before = Front(np.eye(2), table, objectives)
    points = to_points({"test": before, "validation": before[1:]})
    after = record(points=points).front("test")
    pd.testing.assert_frame_equal(after.to_frame(), before.to_frame())
    assert after.objectives == before.objectives


def test_records_name_the_network_with_the_highest_mean_of_scaled_values():
    rng = np.random.default_rng(0)
    for _ in range(20):
        table = pd.DataFrame(rng.random((9, 2)), columns=["left/accuracy", "right/loss"])
        table["left/loss"] = 1 - table["left/accuracy"]
        front = front_of(table)
        kept = front.better[front.non_dominated()]
        mean = ((front.better - kept.min(0)) / np.ptp(kept, axis=0)).mean(1)
        found = summarise({"validation": front, "test": front}, (0.0, 1.0))["chosen_on_validation"]
        assert found["test"] == table.iloc[mean.argmax()].to_dict()


def front_of(table):
    objectives = Objective("left/accuracy", True), Objective("right/loss", False)
    metrics = tuple(Objective(name, False) for name in table if name == "left/loss")
    share = np.linspace(1, 0, len(table))
    return Front(np.stack([share, 1 - share], axis=1), table, objectives, metrics=metrics)


@pytest.mark.parametrize(("theirs", "is_newer"), [("99.0.0", True), ("0.0.1", False)])
def test_a_record_of_a_newer_version_is_called_that(tmp_path, theirs, is_newer):
    path = tmp_path / "r.json"
    record().write(path)
    fields = json.loads(path.read_text())
    fields["versions"]["pamal-core"] = theirs
    path.write_text(json.dumps(fields | {"a_field_of_later": 1}))
    with pytest.raises(InputError) as refused:
        Record.read(path)
    said = f"was written by version {theirs}. This is version"
    assert (said in str(refused.value)) == is_newer


def test_two_records_of_one_run_that_tell_different_numbers_are_named(tmp_path):
    one = record()
    other = Record(**one.model_dump() | {"points": [*reversed(one.points)]})
    one.write(tmp_path / "a.json")
    one.write(tmp_path / "b.json")
    assert len([*readable([tmp_path / "a.json", tmp_path / "b.json"])]) == 2
    other.write(tmp_path / "c.json")
    with pytest.warns(UserWarning, match=r"a\.json and .*c\.json are records of one run and tell"):
        found = dict(readable([tmp_path / "a.json", tmp_path / "c.json"]))
    assert found[tmp_path / "c.json"] == other


def otherwise(points=None, objectives=None, **summary):
    """The record that `commands_on_disk.record` makes, with other numbers."""
    one = whole_record()
    changes = {"summary": {**one.summary, **summary}}
    changes |= {"points": points} if points else {}
    return one.model_copy(update=changes | ({"objectives": objectives} if objectives else {}))


WHOLE = whole_record()
CONTRADICTIONS = {
    "another test front": ("b.json", otherwise(test={**WHOLE.summary["test"], "hypervolume": 0.1})),
    "another chosen point": ("a copy.json", otherwise(chosen_on_validation={"alpha": [1.0, 0.0]})),
    "a point less": ("a.2024-01-01.json", otherwise(points=WHOLE.points[1:])),
    "points in another order": ("a-1.json", otherwise(points=WHOLE.points[::-1])),
    "other directions": ("b.json", otherwise(objectives=dict.fromkeys(WHOLE.objectives, "min"))),
    "in a folder beside it": ("old/a.json", otherwise(points=WHOLE.points[1:])),
    "in a folder in a folder": ("z/old/a.json", otherwise(member_similarity=0.25)),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_two_records_that_contradict_each_other_are_named_where_they_lie(tmp_path, name):
    """Whoever reads the folder is told: the study, `runs` and `compare`."""
    path, other = CONTRADICTIONS[name]
    WHOLE.write(tmp_path / "a.json")
    other.write(tmp_path / path)
    said = "are records of one run and tell different numbers"
    (found,) = folder.contradictions(folder.runs(tmp_path))
    names = sorted(found.partition(f" {said}")[0].split(" and "))
    assert names == sorted(["a.json", path])
    with pytest.warns(UserWarning, match=said) as caught:
        frame.read(tmp_path)
    assert len(caught) == 1 and path in str(caught[0].message)
    for command in ("runs", "compare"):
        _, out, _ = ask(command, tmp_path)
        assert out.count(said) == 1 and path in out


@pytest.mark.parametrize(
    "change", [{"cost": WHOLE.cost | {"train_seconds": 7.0}}, {"versions": {}}]
)
def test_copies_that_differ_in_what_they_cost_are_told_nothing_of(tmp_path, change):
    WHOLE.write(tmp_path / "a.json")
    WHOLE.model_copy(update=change).write(tmp_path / "old" / "a.json")
    assert not folder.contradictions(folder.runs(tmp_path))
    assert [len(by_seed) for by_seed in frame.read(tmp_path).values()] == [1]
