"""The grid of the paper's runs against its tables, the committed records and what reads them."""

import shlex
import statistics
from pathlib import Path

import nbformat
import pytest
import torch
import yaml
from torch.utils.data import TensorDataset

from pamal_companion.__main__ import main
from pamal_companion.data.splits import Splits
from pamal_companion.experiments.ablations import MultiForwardOptions, SamplingOptions, SweepOptions
from pamal_companion.experiments.options import options_of
from pamal_companion.runs import grid
from pamal_companion.runs.experiment import experiment_of
from pamal_companion.runs.files import RunFiles
from pamal_companion.runs.folder import files
from pamal_companion.runs.methods import affects
from pamal_companion.runs.records import ABOUT, Record, about
from pamal_companion.runs.run import file_name
from pamal_companion.study import frame
from pamal_companion.study.frame import is_full
from pamal_companion.study.paper import PRINTED, table
from pamal_companion.toy.rules import rules
from pamal_companion.toy.run import ToyOptions
from pamal_core.errors import InputError

RESULTS = grid.ROOT / "results"
NAMES = {**{printed: name for name, printed in PRINTED.items()}, "PML": "pamal"}


def settings(folder, targets=("multimnist", "census", "multimnist3", "utkface", "cityscapes")):
    rows = [r for r in grid.read("grid") if r["folder"] == folder and r["target"] in targets]
    return [(row["name"], row["method"], grid.parameters(row["options"])) for row in rows]


def splits_of(data):
    nothing = TensorDataset(torch.zeros(2, 1))
    return Splits(nothing, nothing, nothing, id=data, description="", is_sample="/sample/" in data)


def identity(run, data="full"):
    """What the record of `run` says that it is, by the code that writes it."""
    if run.experiment == "toy":
        toy = ToyOptions.create(**{"epochs": 50} | run.parameters)
        return about("toy", toy, "formula")
    experiment = experiment_of(run.experiment)
    options = experiment.options.create(**run.parameters)
    splits = splits_of(data)
    return about(run.experiment, experiment.resolved(options, splits), splits.id)


@pytest.fixture
def added_row(monkeypatch):
    """Adds a row to the grid for a while, and returns its run with seed 0."""
    rows = grid.read("grid")

    def add(data, method, options):
        row = {"target": "extras", "folder": data, "name": "mine", "method": method, "place": ""}
        row |= {"options": options, "seeds": "0"}
        monkeypatch.setattr(grid, "read", lambda name: [*rows, row])
        grid._all.cache_clear()
        return grid.by_record()[f"{data}/mine_seed_0.json"]

    yield add
    monkeypatch.undo()
    grid._all.cache_clear()


@pytest.mark.parametrize("data", ["multimnist", "census", "multimnist3", "utkface", "cityscapes"])
@pytest.mark.parametrize("method", ["pamal", "ls", "graddrop"])
def test_a_row_that_names_no_option_has_the_papers_setting(data, method, added_row):
    usual = options_of(data).of_the_paper.items()
    expected = {name: value for name, value in usual if affects(name, method)}
    run = added_row(data, method, "")
    assert run.options == expected and frame.of(run) == frame.Setting(data, method)


def test_a_row_on_census_has_the_labels_of_its_baselines(added_row):
    run, baseline = (
        added_row("census", "pamal", "W=1; lam=0"),
        grid.by_record()["census/ls_seed_0.json"],
    )
    assert run.options["masters"] == baseline.options["masters"] == "as_released"
    assert added_row("census", "pamal", "masters=mended").options == {"masters": "mended"}


@pytest.mark.parametrize(
    ("folder", "printed", "tasks"),
    [
        ("multimnist", table("hypervolume").query("dataset == 'multimnist'").method, 2),
        ("census", table("hypervolume").query("dataset == 'census'").method, 2),
        ("multimnist3", table("multimnist3").method, 3),
        ("utkface", table("utkface").method, 3),
        ("cityscapes", table("cityscapes").query("setting == 1").method, 2),
    ],
)
def test_each_data_set_has_the_methods_of_its_table_and_single_tasks(folder, printed, tasks):
    chosen = [s for s in settings(folder) if s[2].get("setting", "I") == "I" or tasks == 3]
    methods = {method for _, method, _ in chosen}
    assert methods == {NAMES[name] for name in printed} | {"stl"}
    single = [s[2]["task"] for s in chosen if s[1] == "stl" and "-I" not in s[0]]
    assert single == list(range(tasks))


def test_the_number_of_runs_is_that_of_the_tables():
    # Settings by hand: 11 baselines of one network, STL per task, PaMaL; times three seeds.
    counts = {"multimnist": (11 + 2 + 1) * 3, "census": (11 + 2 + 1) * 3}
    counts["multimnist3"] = (11 + 3 + 1) * 3
    # A row of the table is a setting, that of STL is one per task; a figure has PaMaL unbalanced.
    counts["utkface"] = (len(table("utkface")) - 1 + 3 + 1) * 3
    counts["cityscapes"] = (len(table("cityscapes")) - 2 + 2 * 2) * 3
    for target, count in counts.items():
        assert len(grid.runs(target)) == count, target
    # 17 points of which 5 have no penalty, the other 12 for two signs; p; tables of appendix B4.
    multiforward, sampling = 2 * (5 + 2 * 12), 2 * 4
    sweeps = ["phn_multimnist", "phn_census", "cosmos_multimnist", "cosmos_census"]
    swept = sum(len(table(name)) for name in sweeps) + 2
    assert len(grid.records("ablations")) == (multiforward + sampling + swept) * 3
    assert len(grid.runs()) == 762
    assert len(grid.records()) - len(grid.runs()) == 18


@pytest.mark.parametrize("name", ["multimnist", "census"])
def test_records_of_ablations_have_the_names_that_their_notebooks_look_for(name):
    wanted = {
        "multiforward": MultiForwardOptions,
        "sampling": SamplingOptions,
        "phn_cosmos": SweepOptions,
    }
    for kind, options in wanted.items():
        chosen = options.create(experiment=name, seeds="0,1,2").settings(is_sample=False)
        folder = f"ablation_{kind}/{name}/"
        found = [r for r in grid.records("ablations") if r.startswith(folder)]
        assert sorted(found) == sorted(folder + file_name(setting) for setting in chosen)


def test_no_record_is_in_the_grid_twice_and_none_of_two_runs_is_the_same():
    rows = grid.read("grid")
    paths = [(row["folder"], row["name"], seed) for row in rows for seed in row["seeds"].split()]
    assert len(paths) == len(set(paths)) == len(grid.by_record())
    every = list(dict.fromkeys(run.records for run in grid.by_record().values()))
    runs = [grid.by_record()[records[0]] for records in every]
    # What the data are is told apart by the data's id; here by the options that choose them.
    data = ("masters", "antialias", "setting")
    keys = {identity(run, str([run.options.get(name) for name in data]))["key"] for run in runs}
    assert len(keys) == len(runs)


def test_settings_are_the_papers():
    by_name = {run.records[0]: run for run in grid.runs() if run.seed == 2}
    assert by_name["cityscapes/pamal-I_seed_2.json"].parameters == {
        "method": "pamal",
        "W": 3,
        "lam": 1,
        "p": 7,
        "balancing": "gradient",
        "setting": "I",
        "seed": 2,
        "data": "full",
    }
    # Weights of two losses of unlike scale are PaMaL's idea, not that of linear scalarisation.
    assert identity(by_name["cityscapes/ls_seed_2.json"])["options"]["balancing"] == "none"
    assert by_name["utkface/phn_seed_2.json"].options == {"p": 0.2, "chunk": 10000}
    low = by_name["ablation_phn_cosmos/census/phn-p=0.5-solver=epo-lr=0.0001_seed_2.json"]
    assert low.options == {"p": 0.5, "solver": "epo", "lr": 1e-4, "masters": "as_released"}
    assert low.places == ("table:appendix:ablation:phn - census",)


# The toy problem has one record that its page makes.
RECORDS = [p for p in sorted(files(RESULTS, ".json")) if p.parent != RESULTS / "toy"]


def test_every_committed_record_is_in_the_grid_and_agrees_with_it():
    runs, names = grid.by_record(), (*ABOUT, "key")
    wrong = {}
    for path in RECORDS:
        run, record = runs[str(path.relative_to(RESULTS))], Record.read(path)
        found = {name: getattr(record, name) for name in names}
        # An option that came later has the default that it was introduced with.
        found["options"] = options_of(record.experiment).completed(record.method, record.options)
        expected = identity(run, record.data)
        is_done = run.is_done(RESULTS)
        is_asked = is_full(record) != (run.options.get("data") == "sample")
        if (found, is_asked, is_done) != (expected, True, True):
            wrong[path.name] = found, expected, is_done
    assert wrong == {}


def test_costs_are_medians_of_the_committed_records():
    seconds = {}
    usual = [
        p for p in RECORDS if "epochs" not in grid.by_record()[str(p.relative_to(RESULTS))].options
    ]
    for record in {r.key: r for r in map(Record.read, usual)}.values():
        kind = seconds.setdefault((record.experiment, record.method), [])
        kind.append(record.seconds)
    rows = {(row["experiment"], row["method"]): row for row in grid.read("costs")}
    assert {kind for kind, row in rows.items() if row["seconds"]} == set(seconds)
    for kind, values in seconds.items():
        row = rows[kind]
        assert float(row["seconds"]) == round(statistics.median(values)), kind
        assert (int(row["runs"]), row["basis"]) == (len(values), "measured"), kind
        assert int(row["minutes"]) * 60 > 2 * max(values), kind


def test_every_run_has_a_cost_and_those_without_a_measurement_say_so():
    rows = grid.read("costs")
    assert {row["basis"] for row in rows if not row["seconds"]} == {"estimate"}
    for run in grid.runs():
        assert run.cost.threads >= 1 and run.cost.mem_mb >= 2100
        assert (run.cost.gpu > 0) == (run.experiment in ("utkface", "cityscapes"))


def lines_of(results):
    table = grid.status(results).astype(str)
    return {target: list(cells) for target, *cells in table.itertuples(index=False)}


def test_what_is_done_and_left_adds_up(tmp_path):
    assert lines_of(tmp_path)["paper"][:4] == ["762", "0", "0", "762"]
    (tmp_path / "ablation_sampling/census").mkdir(parents=True)
    copy = tmp_path / "ablation_sampling/census/pamal-W=1-lam=0.0-p=1.0_seed_0.json"
    copy.touch()
    lines = lines_of(tmp_path)
    assert lines["paper"][:4] == ["762", "1", "0", "761"]
    assert lines["ablations"][1] == "1"
    *counts, hours, unmeasured = lines["cityscapes"]
    assert counts == ["96", "0", "0", "96"] and hours != hours and unmeasured == "96"
    # Of UTKFace LS, UW, STL of three tasks and PaMaL in four forms are measured, three seeds each.
    assert lines["utkface"][:4] == ["57", "0", "0", "57"]
    assert int(lines["utkface"][5]) == 57 - 3 * (2 + 3 + 4)
    rows = [row for row in grid.read("costs") if row["experiment"] == "multimnist3"]
    medians = {row["method"]: float(row["seconds"]) for row in rows if row["seconds"]}
    # Single-task learning is three settings, all others are one, and each has three seeds.
    hours = 3 * (sum(medians.values()) + 2 * medians["stl"]) / 3600
    assert lines["multimnist3"] == ["45", "0", "0", "45", f"{hours:.1f}", "0"]


def test_a_run_counts_as_running_while_its_lock_is_held(tmp_path):
    record = tmp_path / "census" / "ls_seed_1.json"
    files = RunFiles(record)
    with files.claimed(wait=False):
        assert lines_of(tmp_path)["census"][:4] == ["42", "0", "1", "41"]
    files.lock.touch()  # as a killed process leaves it
    assert lines_of(tmp_path)["census"][:4] == ["42", "0", "0", "42"]


def test_an_unknown_target_is_named():
    with pytest.raises(InputError, match=r"census, .*paper\. Found 'mnist'"):
        grid.runs("mnist")


def test_a_run_is_made_without_its_notebook(tmp_path):
    quick = ["-p", "data", "sample", "-p", "epochs", "1"]
    assert main(["run", "--results", str(tmp_path), "census/pamal_seed_1.json", *quick]) == 0
    record = Record.read(tmp_path / "census/pamal_seed_1.json")
    assert record.options["masters"] == "as_released" and record.options["lam"] == 5
    assert record.seed == 1 and record.data.startswith("census/sample/")


def test_a_run_of_the_toy_problem_is_made_like_any_other(tmp_path):
    name = "beyond/toy/baselines_seed_1.json"
    assert main(["run", "--results", str(tmp_path), name, "-p", "epochs", "1"]) == 0
    found = Record.read(tmp_path / name)
    assert (found.experiment, found.method, found.seed) == ("toy", "baselines", 1)
    assert {*found.summary} == {f"{m}, c = {c}" for c in ("1", "0.1") for m in rules(1e-3, 0)}
    assert found.options == identity(grid.by_record()[name])["options"] | {"epochs": 1}


def test_parameters_are_read_as_papermill_reads_them():
    from papermill import inspect_notebook

    for path in sorted((grid.ROOT / "notebooks").glob("*.ipynb")):
        assert grid.notebook_parameters(path) == set(inspect_notebook(str(path)))


def test_pages_are_those_of_the_book_with_their_parameters():
    pages = {row["page"]: row for row in grid.read("pages")}
    committed = sorted((grid.ROOT / "book/results").glob("*.ipynb"))
    for path in committed:
        about = nbformat.read(path, as_version=4).metadata["pamal"]
        row = pages[f"results/{path.stem}"]
        assert f"{row['notebook']}.ipynb" == about["source"]
        assert grid.parameters(row["parameters"]) == about["parameters"]
    toc = (grid.ROOT / "_toc.yml").read_text()
    for page in pages:
        assert page.startswith("fresh/") or f"file: {page}\n" in toc


def test_records_that_a_page_names_exist_in_the_grid():
    for row in grid.read("pages"):
        for pattern in row["records"].split():
            assert "*" in pattern or f"{pattern}.json" in grid.by_record(), row["page"]
            folder = pattern.rpartition("/")[0]
            assert any(record.startswith(f"{folder}/") for record in grid.by_record())


def test_a_seed_that_the_grid_lacks_is_made_for_a_setting_that_it_has(tmp_path):
    name = "census/ls_seed_77.json"
    assert name not in grid.by_record()
    grid.maker(name, tmp_path, {"data": "sample", "epochs": 1})()
    made = Record.read(tmp_path / name)
    assert (made.experiment, made.method, made.seed) == ("census", "ls", 77)


@pytest.mark.parametrize("changes", [{"seed": 3}, {"method": "pamal", "out": "x.json"}])
def test_what_the_name_of_a_record_says_is_not_changed(changes):
    with pytest.raises(InputError, match="of a record is in its name"):
        grid.maker("census/ls_seed_0.json", Path(), changes)


@pytest.mark.parametrize(
    "results", [grid.ROOT / "results", Path("results"), Path("notebooks/../results")]
)
def test_a_changed_run_is_not_kept_under_the_name_of_the_papers(results, monkeypatch):
    monkeypatch.chdir(grid.ROOT)
    with pytest.raises(InputError, match="needs a folder of its own, such as --results mine"):
        grid.maker("census/ls_seed_0.json", results, {"epochs": 1})


@pytest.mark.parametrize("seed", ["00", "01", "\u0663", "-1", "1.0"])
def test_a_seed_has_one_name(seed):
    with pytest.raises(InputError, match=r"must be FOLDER/NAME_seed_NUMBER\.json"):
        grid.maker(f"census/ls_seed_{seed}.json", Path())


def test_a_record_that_two_tables_share_is_copied_if_it_is_of_this_run(tmp_path):
    first, _, second = grid.by_record()["census/pamal_seed_0.json"].records
    sample = {"data": "sample", "epochs": 1}
    grid.maker(first, tmp_path, sample)()
    with pytest.raises(InputError, match="the record of another run"):
        grid.maker(second, tmp_path, sample | {"epochs": 2})()
    assert not (tmp_path / second).exists()
    grid.maker(second, tmp_path, sample)()
    assert (tmp_path / second).read_bytes() == (tmp_path / first).read_bytes()


def test_all_records_of_a_command_are_planned_before_one_is_made(tmp_path, capsys):
    names = ["census/ls_seed_0.json", "nothing.json"]
    assert main(["run", *names, "--results", str(tmp_path), "-p", "data", "sample"]) == 2
    assert "Found 'nothing.json'" in capsys.readouterr().err and not [*tmp_path.iterdir()]


ODD = ["W", "a b", "x;ls", "$(id)", "`id`", "it's", "a&b", "-p"]


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("value", [3, "a b", "'; rm -rf x", ""])
def test_a_command_to_copy_has_its_names_and_values_as_one_word_each(name, value):
    words = shlex.split(grid.papermill("census", {name: value, "seed": 0}))
    assert words[3:] == ["-p", name, str(value), "-p", "seed", "0"]


@pytest.mark.parametrize("weights", [[0.25, 0.75], [1, 2, 3]])
def test_a_command_to_copy_gives_a_list_as_papermill_reads_one(weights):
    from papermill.cli import NoDatesSafeLoader

    words = shlex.split(grid.papermill("census", {"weights": weights, "seed": 0}))
    assert words[3:5] == ["-y", f"weights: {weights}"] and words[5:] == ["-p", "seed", "0"]
    assert yaml.load(words[4], Loader=NoDatesSafeLoader) == {"weights": weights}
