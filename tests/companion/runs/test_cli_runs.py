"""`python -m pamal_companion runs`: every run is listed, and what is damaged is named."""

import os

import pytest
from commands_on_disk import ask, ask_json, flip, record, write_checkpoint, write_weights
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_experiment import tiny

from pamal_companion.runs import grid
from pamal_companion.runs import run as experiment
from pamal_companion.runs.options import Options
from pamal_companion.runs.records import ABOUT, Record


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A folder with a real run that is finished, and one that was stopped after training."""
    folder = tmp_path_factory.mktemp("swept")
    experiment.run(tiny(), Options.create(batch_size=50, out=str(folder / "tiny" / "done.json")))
    options = Options.create(method="ls", epochs=3, out=str(folder / "tiny" / "stopped.json"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "evaluate", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            experiment.run(tiny(), options)
    return folder


def test_a_run_is_listed_as_its_record_says_a_stopped_one_by_epochs(swept):
    code, document, err = ask_json("runs", swept)
    done, stopped = document["runs"]
    found = Record.read(swept / done["path"])
    assert (code, err, done["state"], done["path"]) == (0, "", "finished", "tiny/done.json")
    for name in ABOUT:
        assert done[name] == getattr(found, name)
    assert found.data == "tiny/sample/1"
    assert done["hypervolume"] == found.summary["validation"]["hypervolume"]
    cost = found.cost["train_seconds"] + found.cost["evaluate_seconds"]
    assert done["seconds"] == pytest.approx(cost, abs=1e-3)
    assert stopped["path"] == "tiny/stopped.checkpoint.safetensors"
    assert (stopped["state"], stopped["epochs"], stopped["method"]) == ("unfinished", 3, "ls")
    assert (stopped["options"]["epochs"], stopped["data"]) == (3, "tiny/sample/1")
    assert ask_json("runs", swept, "--method", "ls")[1]["runs"] == [stopped]


def test_the_text_says_what_the_json_says(swept):
    _, document, _ = ask_json("runs", swept)
    code, out, _ = ask("runs", swept)
    done = document["runs"][0]
    for word in (f"{done['hypervolume']:.4f}", "done", "stopped", "3 epochs so far", "tiny: tiny"):
        assert word in out
    assert code == 0 and out.endswith("1 finished, 1 unfinished, 0 damaged\n")


def test_runs_of_other_data_stand_under_another_heading(tmp_path):
    for seed, labels in enumerate(("as_released", "mended", "mended")):
        data = f"census/full/age+education/{labels}/seed=0/x"
        record(experiment="census", seed=seed, data=data).write(tmp_path / f"a/{seed}.json")
    _, out, _ = ask("runs", tmp_path)
    parts = [part.splitlines() for part in out.split("\n\n")[:-1]]
    for part, labels, number in zip(parts, ("as_released", "mended"), (1, 2), strict=True):
        assert part[0].startswith(f"a: census on census/full/age+education/{labels}/seed=0/x")
        assert len([line for line in part if line.startswith("finished")]) == number


def test_what_is_not_of_the_method_or_experiment_is_left_out(tmp_path):
    for method, name in (("ls", "multimnist"), ("pamal", "multimnist"), ("ls", "census")):
        record(method=method, experiment=name).write(tmp_path / f"{method}-{name}.json")

    def listed(*arguments):
        return [run["path"] for run in ask_json("runs", tmp_path, *arguments)[1]["runs"]]

    assert listed("--method", "ls") == ["ls-census.json", "ls-multimnist.json"]
    assert listed("--method", "ls", "--experiment", "census") == ["ls-census.json"]
    assert listed("--method", "nobody") == []


def test_a_run_without_a_hypervolume_or_a_cost_is_listed(tmp_path):
    record(summary={}, cost={"train_seconds": None}, data="formula").write(tmp_path / "toy.json")
    code, document, _ = ask_json("runs", tmp_path)
    (run,) = document["runs"]
    assert (code, run["hypervolume"], run["seconds"], run["data"]) == (0, None, 0, "formula")


@pytest.mark.parametrize("keep", [0, 7, 100, -3])
@pytest.mark.parametrize("damaged", ["r.json", "r.safetensors", "u.checkpoint.safetensors"])
def test_a_truncated_file_is_named_and_the_rest_is_listed(tmp_path, damaged, keep):
    for name in ("good", "r"):
        record(seed=len(name)).write(tmp_path / f"{name}.json")
        write_weights(tmp_path / f"{name}.safetensors", record(seed=len(name)).key)
    write_checkpoint(tmp_path / "u.checkpoint.safetensors", "k")
    path = tmp_path / damaged
    path.write_bytes(path.read_bytes()[:keep])
    code, document, err = ask_json("runs", tmp_path)
    states = {run["path"]: run["state"] for run in document["runs"]}
    owner = "r.json" if damaged.startswith("r.") else damaged
    whole = {
        "good.json": "finished",
        "r.json": "finished",
        "u.checkpoint.safetensors": "unfinished",
    }
    assert states == whole | {owner: "damaged"} and (code, err) == (1, "")
    code, out, _ = ask("runs", tmp_path)
    assert code == 1 and f"damaged: {path} is" in out.replace("\n    ", " ")


def test_weights_of_another_run_are_named(tmp_path):
    record().write(tmp_path / "r.json")
    write_weights(tmp_path / "r.safetensors", record(seed=1).key)
    code, out, _ = ask("runs", tmp_path)
    assert code == 1 and "has the weights of another run" in " ".join(out.split())


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(bit=st.integers(0, 2**20), name=st.sampled_from(["r.json", "u.checkpoint.safetensors"]))
def test_a_flipped_bit_breaks_no_command_and_hides_no_other_run(tmp_path, bit, name):
    record(seed=1).write(tmp_path / "good.json")
    record().write(tmp_path / "r.json")
    write_checkpoint(tmp_path / "u.checkpoint.safetensors", "k")
    flip(tmp_path / name, bit)
    code, document, _ = ask_json("runs", tmp_path)
    runs = {run["path"]: run["state"] for run in document["runs"]}
    assert runs.keys() == {"good.json", "r.json", "u.checkpoint.safetensors"}
    assert runs["good.json"] == "finished" and code == ("damaged" in runs.values())
    shown, _, err = ask("runs", tmp_path / "r.json")
    assert shown == 0 or (shown == 2 and err.startswith("error: ") and err.count("\n") == 1)
    compared, document, _ = ask_json("compare", tmp_path)
    assert compared == code == bool(document["damaged"])
    assert document["rows"] and all(row["seeds"] >= 1 for row in document["rows"])


def test_a_checkpoint_beside_the_record_of_its_run_is_no_other_run(tmp_path):
    record().write(tmp_path / "r.json")
    write_checkpoint(tmp_path / "r.checkpoint.safetensors", record().key)
    assert [run["state"] for run in ask_json("runs", tmp_path)[1]["runs"]] == ["finished"]
    write_checkpoint(tmp_path / "r.checkpoint.safetensors", "another")
    states = [run["state"] for run in ask_json("runs", tmp_path)[1]["runs"]]
    assert states == ["unfinished", "finished"]


def test_hidden_files_and_what_is_no_file_are_passed_over(tmp_path):
    record().write(tmp_path / ".snakemake" / "r.json")
    (tmp_path / ".r.json.1.abcdef01").write_text("{")
    (tmp_path / ".r.json").write_text("{")
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")  # reading it would wait for ever
    (tmp_path / "nowhere.json").symlink_to(tmp_path / "missing")
    (tmp_path / "notes.txt").write_text("")
    code, out, _ = ask("runs", tmp_path)
    assert (code, out) == (0, "0 finished, 0 unfinished, 0 damaged\n")


def test_a_name_that_would_write_to_the_terminal_is_spelt_out(tmp_path):
    record().write(tmp_path / "a\x1b[31m\n.json")
    (tmp_path / os.fsdecode(b"\xff.json")).write_text("")
    code, out, _ = ask("runs", tmp_path)
    assert code == 1 and "\x1b" not in out and r"a\x1b[31m" in out and r"\udcff.json" in out


def test_the_table_fits_a_hundred_columns_and_nothing_is_lost(tmp_path):
    name = "pamal-W=2-lam=10.0-penalty=printed-skip=as_released_seed_0"
    options = {f"option_{i}": f"value_{i}" for i in range(8)}
    record(options=options).write(tmp_path / "folder" / f"{name}.json")
    record(options={}).write(tmp_path / "folder" / "other.json")
    _, out, _ = ask("runs", tmp_path)
    assert max(map(len, out.splitlines())) <= 100
    for word in [part for pair in options.items() for part in pair] + name.split("-"):
        assert word in out


def test_the_committed_results_are_whole():
    code, document, _ = ask_json("runs", grid.ROOT / "results")
    assert code == 0 and len(document["runs"]) > 50
    assert {run["state"] for run in document["runs"]} == {"finished"}
    for run in document["runs"]:
        # The toy problem has no data but a formula; samples have a folder of their own.
        kind = "sample" if run["path"].startswith("sample/") else "full"
        assert run["data"] == "formula" or run["data"].split("/")[1] == kind
