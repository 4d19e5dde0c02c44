"""`bench`: methods and data sets of one's own in files, beside the paper's at equal passes."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from commands_on_disk import ask, ask_json
from made_up import front_of, staircase
from made_up import record as made_up
from scipy import stats

from pamal_companion.plots.studies import methods_figure
from pamal_companion.runs import bench
from pamal_companion.runs.methods import METHODS, added
from pamal_companion.runs.records import Record
from pamal_companion.study import bench as bench_tables

DATA = """
from tiny_experiment import tiny
EXPERIMENT = tiny()
"""
WORST = """
from pamal_core.balancing import LossBalancer

class WorstFirst(LossBalancer):
    def reweigh(self, losses, weights):
        return weights * losses / losses.mean()
"""
NOTHING_NEW = """
from pamal_core.balancing import Linear

class AsLS(Linear):
    pass
"""
FRONT = """
from pamal_core import Method, MultiForward, WeightEnsemble

def ordered(tasks, make_network, shared) -> Method:
    network = WeightEnsemble([make_network(), make_network()], shared=shared)
    return Method(network, tasks, penalty=MultiForward(1.0), window=2)
"""
NAN = WORST.replace("losses.mean()", "0 / 0 * losses.mean()").replace("0 / 0", "float('nan')")
RATES = "rates: hypervolume ↑ on validation, at a seed that judges nothing"
MEANS = "test: mean ± deviation over seeds"
SMALL = ("-p", "batch_size", "50", "-p", "W", "2", "--epochs", "2", "--seeds", "0,1")


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write files of Python into a folder, in which the command then runs."""
    monkeypatch.chdir(tmp_path)

    def put(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(text)
        return [Path(f"{name}.py") for name in texts]

    return put


def records(folder):
    return {path.name: Record.read(path) for path in sorted(folder.glob("tiny/*.json"))}


def passes(record, window):
    """Passes over the data, from the epochs of a record and the networks that a step trains."""
    shared = record.options.get("shared_epochs") or 0
    return shared + (record.options["epochs"] - shared) * window


# What comes out


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A balancer, a front and LS under another name on tiny data: the document and the records."""
    folder = tmp_path_factory.mktemp("bench")
    texts = {"worst": WORST, "front": FRONT, "same": NOTHING_NEW, "data": DATA}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    files = [folder / f"{name}.py" for name in texts]
    code, document, _ = ask_json("bench", *files, "--out", folder / "out", *SMALL)
    assert code == 0
    return document["tiny"], folder, files


def test_all_methods_are_run_with_as_many_passes(made):
    document, folder, _ = made
    windows = {"pamal": 2, "soup": 2, "ordered": 2}
    found = records(folder / "out").values()
    assert {record.method for record in found} == {
        *("WorstFirst", "ordered", "AsLS"),
        *("pamal", "ls", "uw", "nash_mtl", "soup"),
    }
    assert {passes(record, windows.get(record.method, 1)) for record in found} == {4}
    assert document["passes"] == 4


def test_each_method_has_three_rates_and_the_best_is_judged(made):
    document, folder, _ = made
    found = records(folder / "out").values()
    for row in document[RATES]:
        names = {
            row["method"],
            *(n for n, known in METHODS.items() if known.printed in {*row.values()}),
        }
        of_method = [record for record in found if record.method in names]
        tried = {r.options["lr"]: r.hypervolume() for r in of_method if r.seed == bench.CHOOSING}
        assert {*tried} == {0.001, 0.0005, 0.002}
        chosen = float(row["chosen"].removesuffix(", an end"))
        assert tried[chosen] == max(tried.values())
        assert {r.options["lr"] for r in of_method if r.seed != bench.CHOOSING} == {chosen}
        assert {r.seed for r in of_method} == {0, 1, bench.CHOOSING}
        assert row["chosen"].endswith("an end") == (chosen != 0.001)


def test_a_mean_and_an_interval_are_those_of_the_points_of_the_records(made):
    document, folder, _ = made
    found = records(folder / "out").values()

    def volumes(method):
        """Areas above (0, 0), step by step."""
        judged = [r for r in found if r.method == method and r.seed != bench.CHOOSING]
        return [staircase(record.front("test").values) for record in judged]

    ours, theirs = volumes("WorstFirst"), volumes("pamal")
    assert len(ours) == len(theirs) == 2
    (row,) = (row for row in document[MEANS] if row["method"] == "WorstFirst")
    assert row["hypervolume ↑"] == f"{np.mean(ours):.4f} ± {np.std(ours, ddof=1):.4f}"
    (row,) = (
        row
        for row in document["test: WorstFirst minus each other method"]
        if (row["measure"], row["other method"]) == ("hypervolume ↑", "PaMaL")
    )
    value, low, high = map(float, re.findall(r"[+-][\d.]+", row["difference [95 %]"]))
    assert value == pytest.approx(np.mean(ours) - np.mean(theirs), abs=6e-5)
    welch = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval()
    assert (low, high) == pytest.approx((welch.low, welch.high), abs=6e-5)
    assert row["verdict"] == ("ahead" if low > 0 else "behind" if high < 0 else "open")


def test_ls_under_another_name_is_the_networks_of_ls(made):
    _, folder, _ = made
    found = records(folder / "out").values()
    ours, theirs = (
        {(r.seed, r.options["lr"]): r.points for r in found if r.method == method}
        for method in ("AsLS", "ls")
    )
    assert ours == theirs
    document = made[0]["test: AsLS minus each other method"]
    (row,) = (r for r in document if (r["measure"], r["other method"]) == ("hypervolume ↑", "LS"))
    assert row["difference [95 %]"] == "+0.0000" and row["verdict"] == "level"


def test_a_figure_is_written_and_its_place_is_printed(made):
    document, folder, files = made
    assert document["figure"] == str(folder / "out" / "tiny.png")
    assert (folder / "out" / "tiny.png").read_bytes()[:4] == b"\x89PNG"
    _, out, _ = ask("bench", *files, "--out", folder / "out", *SMALL)
    assert f"figure: {document['figure']}" in out and "A line for each front" in out


def test_a_second_call_reads_the_records_and_prints_the_same(made, monkeypatch):
    document, folder, files = made
    before = records(folder / "out")
    monkeypatch.setattr("pamal_companion.runs.run.train", None)  # nothing is trained
    code, again, _ = ask_json("bench", *files, "--out", folder / "out", *SMALL)
    assert (code, again["tiny"]) == (0, document)
    assert records(folder / "out") == before


def test_a_run_that_was_killed_goes_on(made, tmp_path, monkeypatch):
    _, folder, files = made
    done, train = [], bench.run

    def few(*arguments, **options):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(train(*arguments, **options))
        return done[-1]

    monkeypatch.setattr(bench, "run", few)
    assert ask("bench", *files, "--out", tmp_path / "out", *SMALL)[0] == 130
    kept = {path: path.stat().st_mtime_ns for path in records_paths(tmp_path / "out")}
    assert len(kept) == 3
    monkeypatch.setattr(bench, "run", train)
    assert ask("bench", *files, "--out", tmp_path / "out", *SMALL)[0] == 0
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    again, expected = records(tmp_path / "out"), records(folder / "out")
    assert again.keys() == expected.keys()
    for name, record in again.items():
        assert (record.key, record.points) == (expected[name].key, expected[name].points)


def test_a_file_that_changes_is_another_run_and_the_others_stay(write):
    files = write(mine=NOTHING_NEW, data=DATA)
    assert ask("bench", *files, "--out", "out", *SMALL)[0] == 0
    write(mine=NOTHING_NEW + "# Another balancer.\n")
    stamps = {path: path.stat().st_mtime_ns for path in records_paths("out")}
    assert ask("bench", *files, "--out", "out", *SMALL)[0] == 0
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())
    new = {*records_paths("out")} - {*stamps}
    assert len(new) == 5 and all(path.name.startswith("AsLS-") for path in new)


def records_paths(folder):
    return sorted(Path(folder).glob("tiny/*.json"))


def test_the_papers_methods_and_data_have_the_options_of_other_runs(write):
    (file,) = write(mine=WORST)
    found = bench.read([file])
    with added(found.methods):
        plan = bench.plan(experiment("census"), found, 2, {"data": "sample"})
    create = plan.methods["ls"]
    assert type(create()) is plan.experiment.options and "source" not in create.keywords
    assert plan.passes == create.keywords["epochs"] == 4  # the paper's W is 2
    assert plan.methods["WorstFirst"].keywords["source"] == found.digests["WorstFirst"]


def experiment(name):
    (found,) = bench.chosen([name], bench.Definitions({}, {}, {}), [name])
    return found


@pytest.mark.parametrize("num_tasks", [2, 3, 8])
def test_the_soup_has_every_pass_and_half_of_them_apart(num_tasks):
    for passes in range(num_tasks + 1, 100):
        length = bench.soup(passes, num_tasks)
        apart = (length["epochs"] - length["shared_epochs"]) * num_tasks
        assert length["shared_epochs"] + apart == passes and length["shared_epochs"] >= 1
        assert abs(apart - passes / 2) <= num_tasks / 2 or apart == num_tasks


def test_forty_passes_of_the_soup_are_those_that_were_registered():
    assert bench.soup(40, 2) == {"epochs": 30, "shared_epochs": 20}
    assert bench.soup(10, 2) == {"epochs": 7, "shared_epochs": 4}


# What a file defines


def test_a_file_defines_what_is_public_concrete_and_its_own(write):
    text = WORST + NOTHING_NEW + FRONT
    text += "class _Hidden(Linear): pass\nclass Open(LossBalancer): pass\n"
    text += "def helper(x): return x\nOther = WorstFirst\n"
    found = bench.read(write(mine=text, data=DATA))
    assert {*found.methods} == {"WorstFirst", "AsLS", "ordered"}
    assert {*found.experiments} == {"tiny"}
    assert {*found.digests} == {*found.methods, "tiny"} and not {*found.methods} & {*METHODS}


def test_a_constructor_gets_the_number_of_tasks_if_it_asks_for_it(write):
    text = WORST + "    def __init__(self, num_tasks, power=1): self.given = num_tasks, power\n"
    found = bench.read(write(mine=text, data=DATA))
    options = {"batch_size": 50, "epochs": 1, "method": "WorstFirst"}
    with added(found.methods):
        kind = found.experiments["tiny"].options
        splits = found.experiments["tiny"].load(None)
        method = found.experiments["tiny"].method(kind.create(**options), splits)
    assert method.balancer.given == (2, 1)
    assert "WorstFirst" not in METHODS


def test_the_members_of_a_front_of_ones_own_have_pamals_rate(write):
    found = bench.read(write(mine=FRONT, data=DATA))
    tiny = found.experiments["tiny"]
    with added(found.methods):
        options = tiny.options.create(method="ordered", lr=0.5)
        _, optimizer = bench.Recorder(tiny, options).method()
    assert {group["lr"] for group in optimizer.param_groups} == {1.0}


# What is judged, and when a run begins anew

OWN_LOSS = """
from torch.nn import functional as F
from pamal_core import Method, Task, WeightEnsemble

def flat(tasks, make_network, shared) -> Method:
    own = [Task(t.name, lambda o, y: 0.001 * F.cross_entropy(o, y), t.metrics) for t in tasks]
    return Method(WeightEnsemble([make_network(), make_network()], shared=shared), own)
"""


def test_a_method_with_a_loss_of_its_own_is_judged_by_that_of_all(write):
    found = bench.read(write(mine=OWN_LOSS, data=DATA))
    tiny = found.experiments["tiny"]
    with added(found.methods):
        given = {"batch_size": 50, "epochs": 2}
        record = bench.run(tiny, tiny.options.create(method="flat", **given)).record
    losses = record.front("test").table.filter(like="/loss")
    assert (losses > 0.1).all(axis=None)  # a thousandth of that is what it trains on
    assert max(record.history[-1]["losses"]) < 0.01


R2 = """
from dataclasses import replace
import torch
from tiny_experiment import tiny
from pamal_companion.experiments.models import SharedBottom
from pamal_core import Metric, classification, regression
from torch import nn

error = Metric.mean("miss", lambda o, y: (o.argmax(1) != y).float().mean(), maximise=False)
EXPERIMENT = replace(
    tiny(),
    tasks=(classification("first", metrics=[error]), regression("second", metrics=["R2"])),
    make_network=lambda o, s, extra: SharedBottom(nn.Linear(4, 8), [nn.Linear(8, 2), nn.Linear(8, 1)]),
    reference=(1.0, -50.0),
)
"""  # noqa: E501


def test_metrics_of_ones_own_and_none_called_loss_are_judged(write):
    files = write(mine=WORST, data=R2)
    code, document, _ = ask_json("bench", *files, "--out", "out", *SMALL)
    assert code == 0
    (row,) = (row for row in document["tiny"][MEANS] if row["method"] == "WorstFirst")
    found = [r for r in records(Path("out")).values() if r.method == "WorstFirst" and r.seed < 2]
    miss = np.mean([record.front("test").table["first/miss"].min() for record in found])
    assert row["first/miss ↓"].startswith(f"{miss:.4f}")
    assert "one network ↑" not in row  # as an objective is to be small
    assert found[0].summary["test"]["spearman"]["second/loss"] is None


def test_a_metric_that_fails_says_so_before_the_first_training(write, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "run", None)
    text = R2.replace("o.argmax(1) != y", "o.argmax(1) != y[:, 7]")
    with pytest.raises(IndexError, match="too many indices"):
        found = bench.read(write(data=text))
        bench.plan(found.experiments["tiny"], found, 4, {"batch_size": 50})
    found = bench.read(write(data=R2))
    bench.plan(found.experiments["tiny"], found, 4, {"batch_size": 50})
    assert not [*tmp_path.glob("**/*.json")]


def test_the_product_of_objectives_below_0_is_no_measure():
    """It would be the larger, the worse both are."""
    good, bad = (made_up("census/ls", [two]) for two in ((0.9, 0.8), (-3.0, -4.0)))
    assert bench_tables._measures([good])["one network ↑"] == "chosen hypervolume"
    assert "one network ↑" not in bench_tables._measures([good, bad])


def test_the_networks_of_data_of_ones_own_have_their_own_statistics(write):
    found = bench.read(write(mine=WORST, data=DATA))
    with added(found.methods):
        plan = bench.plan(found.experiments["tiny"], found, 4, {"batch_size": 50})
        shared = {"batch_size": 50, "batch_norm": "shared"}
        asked = bench.plan(found.experiments["tiny"], found, 4, shared)
        assert {make().batch_norm for make in plan.methods.values()} == {"recalibrated"}
        assert {make().batch_norm for make in asked.methods.values()} == {"shared"}


MEMORY = """
from pamal_core.balancing import LossBalancer

class Remembers(LossBalancer):
    def __init__(self):
        self.mean = None

    def reweigh(self, losses, weights):
        self.mean = losses if self.mean is None else 0.9 * self.mean + 0.1 * losses
        return weights / self.mean
"""
KEPT = """
    def state_dict(self):
        return {"mean": self.mean}

    def load_state_dict(self, state):
        self.mean = state["mean"]
"""


@pytest.mark.parametrize("text", [MEMORY, MEMORY + KEPT], ids=["forgets", "keeps"])
def test_a_run_that_was_stopped_ends_as_one_that_was_not(text, write, monkeypatch):
    """Stop a run after an epoch of four. Without a state of its balancer it begins anew."""
    found = bench.read(write(mine=text, data=DATA))
    with added(found.methods):
        plan = bench.plan(found.experiments["tiny"], found, 4, {"batch_size": 50})
        assert plan.forgetful == ({"Remembers"} if text is MEMORY else set())
        whole = bench._record(plan, "Remembers", 0.001, 0, Path("whole"))

        def stop(recorder, training):
            keep(recorder, training)
            raise KeyboardInterrupt

        keep = bench.Recorder.keep
        monkeypatch.setattr(bench.Recorder, "keep", stop)
        with pytest.raises(KeyboardInterrupt):
            bench._record(plan, "Remembers", 0.001, 0, Path("again"))
        monkeypatch.setattr(bench.Recorder, "keep", keep)
        assert [*Path("again").glob("**/*.checkpoint*")]
        again = bench._record(plan, "Remembers", 0.001, 0, Path("again"))
    assert again.points == whole.points


def test_what_a_file_imports_from_beside_it_counts(write, tmp_path, monkeypatch):
    text = "from helper import POWER\n" + WORST.replace("losses /", "losses**POWER /")
    write(mine=text, helper="import part.more\nPOWER = 1.0\n")
    (tmp_path / "part").mkdir()
    (tmp_path / "part/more.py").write_text("import helper\n")
    monkeypatch.chdir(tmp_path.parent)  # it lies beside the file, not where one is
    path = tmp_path / "mine.py"
    digests = [bench.read([path]).digests["WorstFirst"]]
    for changed, content in (("helper.py", "POWER = 1.0  # x\n"), ("part/more.py", "x = 1\n")):
        (tmp_path / changed).write_text(content)
        if changed == "helper.py":
            write(helper="import part.more\nPOWER = 2.0\n")
        digests.append(bench.read([path]).digests["WorstFirst"])
    assert len({*digests}) == 3
    assert digests[0] != bench.hashlib.sha256(path.read_bytes()).hexdigest()[:8]


# What is refused

NAMED = """
from dataclasses import replace
from tiny_experiment import tiny
from pamal_companion.runs.options import Options

class Own(Options):
    widths: dict[str, int] = {"body": 8}

EXPERIMENT = replace(tiny(), options=Own)
"""
BAD = [
    (
        {
            "mine": FRONT.replace("(network, tasks,", "(network, tasks[::-1],"),
            "data": DATA,
        },
        "ordered must have the tasks of tiny in their order, first, second. Found second, first.",
    ),
    (
        {
            "data": DATA.replace("tiny()", "replace(tiny(), reference=(0.0, 0.0, 5.0))").replace(
                "from", "from dataclasses import replace\nfrom", 1
            )
        },
        "`reference` of tiny must have 2 numbers, one for each task. Found (0.0, 0.0, 5.0).",
    ),
    (
        {
            "data": DATA.replace(
                "tiny()", 'replace(tiny(), defaults={"full": {"learning_rate": 1}})'
            ).replace("from", "from dataclasses import replace\nfrom", 1)
        },
        "Unknown parameter `learning_rate`.",
    ),
    (
        {
            "data": DATA.replace(
                "tiny()", 'replace(tiny(), defaults={"sample": {"lr": "8e-3"}})'
            ).replace("from", "from dataclasses import replace\nfrom", 1)
        },
        "`lr` must be a valid number. Found lr='8e-3'.",
    ),
    (
        {
            "data": DATA.replace(
                "tiny()",
                "replace(tiny(), tasks=(classification('a', metrics=[]), classification('b')))",
            ).replace(
                "from",
                "from dataclasses import replace\nfrom pamal_core import classification\nfrom",
                1,
            )
        },
        "Each task must have a metric, by which it is judged. Found none of a.",
    ),
    ({"mine": "x = 1\n"}, "mine.py must define a subclass of Balancer, a function that returns"),
    ({"mine": WORST.replace("reweigh", "weigh")}, "Found none, and WorstFirst lacks reweigh."),
    ({"mine": "def f(:\n"}, "mine.py is not Python: invalid syntax"),
    ({"mine": "x = '\0'\n"}, "mine.py is not Python: "),
    ({"mine": WORST, "more": WORST}, "Found WorstFirst in more.py and in mine.py."),
    ({"mine": WORST + WORST}, "Found WorstFirst in mine.py twice."),
    ({"mine": WORST.replace("WorstFirst", "LS")}, "Found LS in mine.py and in the methods of"),
    ({"mine": FRONT.replace("ordered", "Pamal")}, "Found Pamal in mine.py and in the methods of"),
    (
        {
            "data": DATA
            + "from dataclasses import replace\nEXPERIMENT = replace(tiny(), name='census')"
        },
        "Found census in data.py and in the experiments of this package.",
    ),
    ({"data": "EXPERIMENT = 3\n"}, "EXPERIMENT of data.py must be an Experiment. Found int."),
    (
        {"mine": WORST + "    def __init__(self, power): pass\n"},
        "WorstFirst may need no argument but num_tasks. Found `power` without a default.",
    ),
    (
        {"mine": FRONT.replace("(tasks,", "(tasks, window,")},
        "ordered may need no argument but tasks, make_network, shared. Found `window`",
    ),
    (
        {
            "mine": FRONT.replace("return Method(", "return dict(a=").replace(
                "tasks, pen", "b=0, pen"
            ),
            "data": DATA,
        },
        "ordered must return a Method. Found dict.",
    ),
    (
        {"mine": NAN, "data": DATA},
        "WorstFirst on tiny: Stopped in epoch 1, step 1. All losses are finite but their gradient",
    ),
    ({"mine": FRONT.replace("window=2", "window=3"), "data": DATA}, "ordered makes 3 passes"),
    (
        {"data": NAMED},
        "`widths` must be a number, a text or a list of such, because records hold no other",
    ),
    ({"mine": WORST}, "Found neither."),
]


@pytest.mark.parametrize(("texts", "said"), BAD, ids=[said[:40] for _, said in BAD])
def test_a_wrong_file_is_told_in_a_sentence_and_nothing_is_written(texts, said, write, tmp_path):
    files = write(**texts)
    code, out, err = ask("bench", *files, "--out", "out", *SMALL)
    assert (code, out) == (2, "") and said in err
    assert err.startswith("error: ") and err.count("\n") == 1
    assert not (tmp_path / "out").exists()


WRONG = [
    (["--experiments", "toy"], "`experiments` must be one of multimnist"),
    (["--seeds", "0,0"], "`seeds` must be different whole numbers"),
    (["--seeds", "0,x"], "Found '0,x'."),
    (["--seeds", "1000"], "without 1000, at which rates are chosen"),
    (["-p", "seed", "3"], "`seed` is decided by the command. Found 3."),
    (["-p", "colour", "3"], "Unknown parameter `colour`."),
    (["--epochs", "0"], "'--epochs'"),
    (["--epochs", "2"], "Found 2 passes and 2 tasks: choose more `epochs`."),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG, ids=lambda value: str(value)[:30])
def test_a_wrong_option_is_told_in_a_sentence(arguments, said, write, tmp_path):
    files = write(mine=WORST, data=DATA)
    code, out, err = ask("bench", *files, "--out", "out", *arguments)
    assert (code, out) == (2, "") and said in err
    assert err.startswith("error: ") and err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("returned", ["weights[:1]", "None", "losses.sum()"])
def test_a_balancer_that_returns_another_shape_is_told(returned, write, tmp_path):
    wrong = WORST.replace("weights * losses / losses.mean()", returned)
    code, _, err = ask("bench", *write(mine=wrong, data=DATA), "--out", "out", *SMALL)
    said = "error: `WorstFirst.reweigh` must return a weight for each task, a tensor [2]. Found "
    assert code == 2 and err.startswith(said) and err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_experiment_needs_epochs_for_its_data(write):
    text = DATA + "EXPERIMENT.defaults.pop('sample')\n"
    code, _, err = ask("bench", *write(mine=WORST, data=text), "--out", "out", *SMALL)
    assert code == 2 and '`defaults` of tiny must have `epochs` under "sample". Found {' in err


LOSSES = """
from dataclasses import replace
from tiny_experiment import tiny
from pamal_core import classification
tasks = classification("first", metrics=["loss"]), classification("second", metrics=["loss"])
EXPERIMENT = replace(tiny(), tasks=tasks, reference=(9.0, 9.0))
"""


def test_a_reference_that_no_network_reaches_is_refused(write):
    """Otherwise every hypervolume is 0, and every method would be level."""
    files = write(data=LOSSES.replace("9.0", "0.0"))
    code, out, err = ask("bench", *files, "--out", "out", *SMALL)
    assert (code, out) == (2, "")
    assert "The hypervolume of pamal on tiny is 0 at each rate: no network is better" in err
    assert "above a measure that should be low. Found (0.0, 0.0)." in err


def test_a_hypervolume_of_losses_has_no_margin_and_the_words_say_so(write, monkeypatch):
    """It has the units of the losses: in small units all methods would be level."""
    monkeypatch.setattr("pamal_companion.study.measures.WITHIN", 1e9)
    said = {}
    for name, text in (("accuracies", DATA), ("losses", LOSSES)):
        files = write(**{name: text})
        _, document, _ = ask_json("bench", *files, "--out", name, *SMALL)
        rows = document["tiny"]["test: PaMaL minus each other method"]
        said[name] = {row["verdict"] for row in rows}
        _, out, _ = ask("bench", *files, "--out", name, *SMALL)
        text = " ".join(out.split())
        assert ('"one network" is' in text) == (name == "accuracies")
        assert ("has no margin" in text) == (name == "losses")
    assert "level" in said["accuracies"] and "level" not in said["losses"]


def test_an_experiment_needs_a_reference_for_each_task(write):
    text = DATA + "from dataclasses import replace\n"
    text += "EXPERIMENT = replace(EXPERIMENT, reference=(0.0,))\n"
    _, _, err = ask("bench", *write(mine=WORST, data=text), "--out", "out", *SMALL)
    assert "`reference` of tiny must have 2 numbers, one for each task. Found 1." in err


LATER = """
from pamal_core.balancing import LossBalancer

class Late(LossBalancer):
    steps = 0

    def reweigh(self, losses, weights):
        self.steps += 1
        return weights * (float("nan") if self.steps > STEPS else 1.0)
"""


def test_a_method_that_diverges_later_leaves_the_others_and_no_checkpoint(write, tmp_path):
    files = write(mine=NOTHING_NEW, late=LATER.replace("STEPS", "5"), data=DATA)
    code, out, err = ask("bench", *files, "--out", "out", *SMALL)
    assert (code, out) == (2, "")
    last = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(last) == 1 and "Late on tiny, lr=0.002, seed 1000: Stopped in epoch 2" in last[0]
    found = records(tmp_path / "out")
    assert len(found) == 5 and {record.method for record in found.values()} == {"AsLS"}
    left = [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {name for name in left if not name.startswith(".")} == {*found}


def test_a_rate_at_which_a_method_diverges_is_not_chosen(write, monkeypatch):
    files, run = write(mine=NOTHING_NEW, data=DATA), bench.run

    def diverging(experiment, options, *rest, **more):
        if options.method == "AsLS" and options.lr == 0.002:
            raise bench.NonFiniteError("Stopped in epoch 1.")
        return run(experiment, options, *rest, **more)

    monkeypatch.setattr(bench, "run", diverging)
    code, out, _ = ask("bench", *files, "--out", "out", *SMALL, "--json")
    (row, *_) = json.loads(out)["tiny"][RATES]
    assert code == 0 and row["lr 0.002"] == "diverged" and not row["chosen"].startswith("0.002")


def test_a_data_set_alone_is_run_with_the_papers_methods(write):
    code, document, _ = ask_json("bench", *write(data=DATA), "--out", "out", *SMALL)
    means = document["tiny"][MEANS]
    names = ["PaMaL", "LS", "UW", "Nash-MTL", "Rewarded soup"]
    assert code == 0 and [row["method"] for row in means] == names
    ours = document["tiny"]["test: PaMaL minus each other method"]
    assert [row["other method"] for row in ours][:4] == names[1:]


def test_three_tasks_have_a_panel_for_each_pair():
    generator = np.random.default_rng(0)
    three = (True, True, True)
    fronts = {
        "mine": [front_of(generator.random((1, 3)), maximise=three)],
        "PaMaL": [front_of(generator.random((3, 3)), np.eye(3), maximise=three)] * 2,
    }
    figure = methods_figure(fronts, "Made up.")
    shown = [ax for ax in figure.axes if ax.lines]
    assert len(shown) == 3
    drawn = {tuple(line.get_xydata().ravel().round(6)) for ax in shown for line in ax.lines}
    point = fronts["mine"][0].values[0].round(6)
    assert (point[0], point[1]) in drawn and (point[1], point[2]) in drawn
    assert str(figure.get_label()).endswith("Made up.")
