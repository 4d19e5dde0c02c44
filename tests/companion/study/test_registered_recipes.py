"""The three files that compare recipes at equal passes, as they will be registered."""

import hashlib
import re
import runpy
import subprocess
import sys

import numpy as np
import pytest
from made_up import record

from pamal_companion.experiments.options import OPTIONS
from pamal_companion.runs import grid
from pamal_companion.runs.methods import affects
from pamal_companion.runs.records import Record
from pamal_companion.study import per_pass
from pamal_companion.study.registered import beside, best, read, verdicts
from pamal_core.errors import InputError

SEEDS = [40, 41, 42, 43, 44, 45]
BOTTLENECK = f"""
question = "Does PaMaL pay behind few features that cannot die?"
seeds = {SEEDS}
points = "four"
rule = "beyond the margin"
margin = 0.002
reference = [0, 0]
constant_loss = 2.25
other = "k=3-soup, k=6-ls"
"""
FAIRNESS = f"""
question = "Is the better point of PaMaL within a gap of .01?"
seeds = {SEEDS}
points = "four"
rule = "beyond the margin"
measure = "average precision within a gap"
margin = 0.005
limits = [0.01, 0.02, 0.005]
base_rate = 0.062
reference = [0.062, 0.06]
other = "soup"
"""
LINE = [(0.9, 0.3), (0.8, 0.6), (0.6, 0.8), (0.3, 0.9)]


def setting(name, experiment, method, options="draw=seed"):
    fields = {"name": name, "experiment": experiment, "method": method, "options": options}
    return "\n[[settings]]\n" + "".join(f'{key} = "{text}"\n' for key, text in fields.items())


def hypothesis(family, ours, theirs):
    fields = {
        "text": f"{family}: {ours} - {theirs}",
        "family": family,
        "ours": ours,
        "theirs": theirs,
    }
    return "\n[[hypotheses]]\n" + "".join(f'{key} = "{text}"\n' for key, text in fields.items())


def register(folder, name, text):
    (folder / f"{name}.toml").write_text(text)
    with (folder / "HASHES").open("a") as hashes:
        hashes.write(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}.toml\n")
    return read(name, folder)


def write(question, name, points, losses=None, spread=1e-4):
    """Records of a setting with these points, a little more or less at each seed."""
    row, noise = question.rows[name], np.random.default_rng(0)
    for seed, path in question.paths[name].items():
        path.parent.mkdir(exist_ok=True)
        more = spread * noise.normal()
        if row.experiment == "fairness":
            fairness(row.method, [(ap + more, gap) for ap, gap in points], seed, row).write(path)
            continue
        moved = [tuple(np.add(point, more)) for point in points]
        made = record(f"{row.experiment}/{row.method}", moved, seed=seed, **row.at(seed))
        for point in made.points if losses else []:
            point["metrics"] |= losses
        made.write(path)


def fairness(method, points, seed, row):
    """A record of average precision and gap, alike on both splits."""
    usual = OPTIONS["fairness"].defaults_of(method, "full").items()
    defaults = {name: value for name, value in usual if affects(name, method)}
    return Record(
        experiment="fairness",
        method=method,
        options=defaults | row.at(seed),
        seed=seed,
        data="census/full/income+male/mended/seed=0/x",
        objectives={"income/average precision": "max", "parity/gap": "min"},
        points=[
            {
                "alpha": [share, 1 - share],
                "split": split,
                "metrics": {
                    "income/average precision": ap,
                    "income/loss": 0.1,
                    "parity/gap": gap,
                    "parity/loss": gap,
                },
            }
            for split in ("validation", "test")
            for share, (ap, gap) in zip(np.linspace(1, 0, len(points)), points, strict=True)
        ],
        summary={},
        cost={},
        versions={},
    )


def bottleneck(folder):
    text = BOTTLENECK
    for k in (3, 6):
        width = f"bottleneck={k}; activation=leaky_relu; draw=seed"
        text += setting(f"k={k}-pamal", "multimnist", "pamal", f"W=1; lam=0; epochs=8; {width}")
        text += setting(f"k={k}-ls", "multimnist", "ls", f"epochs=8; {width}")
        for place in (1, 2, 3, 4):
            of_one = f"weights=[{place}, 1]; epochs=2; {width}"
            text += setting(f"k={k}-sweep-{place}", "multimnist", "ls", of_one)
        of_soup = f"shared_epochs=4; epochs=6; {width}"
        text += setting(f"k={k}-soup", "multimnist", "soup", of_soup)
    for k, other in ((3, "soup"), (6, "ls")):
        text += hypothesis("primary", f"k={k}-pamal", f"k={k}-{other}")
    for k in (3, 6):
        for other in ("ls", "sweep", "soup"):
            text += hypothesis(f"k={k}", f"k={k}-pamal", f"k={k}-{other}")
    return register(folder, "bottleneck-that-cannot-die", text)


def test_the_bottleneck_has_a_primary_and_a_family_for_each_width(tmp_path):
    question = bottleneck(tmp_path)
    assert {*verdicts(question)["verdict"]} == {"running, 0 of 84"}
    for k in (3, 6):
        write(question, f"k={k}-pamal", LINE)
        write(question, f"k={k}-ls", [(0.5, 0.5)])
        write(question, f"k={k}-soup", [(0.95, 0.4), (0.85, 0.85), (0.4, 0.95)])
        for place, point in enumerate(LINE, 1):
            dead = {"top-left/loss": 2.303, "bottom-right/loss": 2.302 if place < 4 else 0.1}
            write(question, f"k={k}-sweep-{place}", [point], dead)
    found = verdicts(question)["verdict"].tolist()
    assert found == ["behind", "ahead", *["ahead", "level", "behind"] * 2]
    counted = beside(question)
    assert counted.loc["k=3-sweep", ["as a constant", "as a constant, of four"]].tolist() == [6, 6]
    assert counted.loc["k=3-pamal", ["as a constant", "tasks"]].tolist() == [0, 12]


def of_fairness(folder):
    text = FAIRNESS + setting("pamal", "fairness", "pamal", "W=1; lam=0; epochs=8; draw=seed")
    text += setting("soup", "fairness", "soup", "shared_epochs=4; epochs=6; draw=seed")
    text += setting("ls", "fairness", "ls", "epochs=8; draw=seed")
    text += hypothesis("primary", "pamal", "soup") + hypothesis("five", "pamal", "ls")
    return register(folder, "fairness-front", text)


def test_a_constant_answer_stands_where_no_network_is_within_the_gap(tmp_path):
    question = of_fairness(tmp_path)
    write(question, "pamal", [(0.6, 0.05), (0.5, 0.015), (0.4, 0.008)])
    write(question, "soup", [(0.39, 0.0095)])
    write(question, "ls", [(0.7, 0.0101)])
    found = verdicts(question)
    assert found["verdict"].tolist() == ["ahead", "ahead"]
    assert found["estimate"].iloc[1].startswith("+0.338")  # .4 - .062
    table = beside(question)
    assert table["none within 0.01"].tolist() == [0, 0, 6]
    assert table.loc["pamal", "within 0.02"] == pytest.approx(0.5, abs=1e-3)
    assert table.loc["pamal", "on test, within 0.01"] == pytest.approx(0.008)
    assert table.loc["ls", "within 0.01"] == 0.062
    assert np.isnan(table.loc["ls", "on test, within 0.01"])


def test_two_constant_answers_are_level(tmp_path):
    question = of_fairness(tmp_path)
    for name in ("pamal", "soup", "ls"):
        write(question, name, [(0.6, 0.05)])
    assert verdicts(question)["verdict"].tolist() == ["level", "level"]


def test_four_points_of_a_gap_are_counted_from_the_reference():
    points = [(0.7, 0.059), (0.6, 0.04), (0.5, 0.03), (0.4, 0.02), (0.3, 0.01), (0.99, 0.07)]
    row = type("Row", (), {"at": lambda _, seed: {"draw": seed}})()
    made = fairness("pamal", points, 0, row)
    both = per_pass.Pair(made.front("validation"), made.front("test"))
    kept = per_pass.Measure((0.062, 0.06)).four(both).test.values
    assert (0.99, 0.07) not in {*map(tuple, kept)}  # beyond the reference: it adds nothing
    assert per_pass.Measure((0.062, 0.06)).volume(both.test) > 0


def test_a_network_without_a_number_is_not_chosen():
    points = [*LINE, (float("nan"), 0.99)]
    made = record("multimnist/pamal", LINE)
    made.points += [
        {"alpha": [0.5, 0.5], "split": split, "metrics": dict.fromkeys(made.points[0]["metrics"])}
        for split in ("validation", "test")
    ]
    both = per_pass.Pair(made.front("validation"), made.front("test"))
    assert len(both.test) == len(points) == 5
    assert len(per_pass.Measure().four(both).test) == 4


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('other = "soup"', 'other = "phn"', "Found 'phn', and soup"),
        ('other = "soup"\n', "", "`other` must have the recipes that primary"),
        ("[0.062, 0.06]", "[0.062]", "must have 2 numbers, one for each task of pamal"),
        ("reference = [0.062, 0.06]\n", "", "`reference` must be given for fairness"),
        ("limits = [0.01, 0.02, 0.005]\n", "", "`limits` must be given for the measure"),
        ("draw=seed", "draw=0", "each seed needs its own draw"),
        ('name = "ls"', 'name = "ls-1"', "A sweep must have 4 settings, ls-1 to ls-4. Found ls-1"),
        ("base_rate = 0.062\n", "", "`base_rate` must be given"),
        (f"seeds = {SEEDS}", "seeds = [40]", "Two seeds of both sides must be the same"),
        ("epochs=6", "epochs=7", "must make as many passes. Found 8 and 10"),
        ('theirs = "ls"', 'theirs = "pamal"', "Two recipes of the same data must be compared"),
        ('"five: pamal - ls"', '"primary: pamal - soup"', "each must be there once"),
        ("limits = [0.01,", "limits = [-0.01,", "limits.0: Input should be greater than or equal"),
        ("0.02, 0.005]", "0.02, 0.02]", "limits: Value error, each must be there once"),
        ("base_rate = 0.062", "base_rate = 62", "base_rate: Input should be less than or equal"),
        ('points = "four"', 'points = "four"\nsplit = "validation"', 'judged on the split "test"'),
        ('theirs = "soup"', 'thiers = "soup"', "hypotheses.0.theirs: Field required"),
        ('options = "epochs=8;', 'options = "W=1; epochs=8;', "that ls is recorded with. Found W"),
        (
            'method = "ls"\noptions = "epochs=8;',
            'method = "soup"\noptions = "shared_epochs=4; epochs=6;',
            "Settings must differ. Found soup and ls alike",
        ),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(tmp_path, old, new, said):
    of_fairness(tmp_path)
    text = (tmp_path / "fairness-front.toml").read_text()
    (tmp_path / "HASHES").unlink()
    assert old in text
    with pytest.raises(InputError, match=re.escape(said)):
        register(tmp_path, "fairness-front", text.replace(old, new))


GRID = f'question = "Which rate?"\nseeds = {SEEDS}\njudged = false\n'


def test_grids_that_are_joined_have_one_reference_and_no_setting_twice(tmp_path):
    made = {}
    for name, rate, reference in (("one", 1, 0.0), ("two", 2, 0.1), ("again", 1, 0.0)):
        text = f"{GRID}reference = [{reference}, 0.0]\n"
        question = register(tmp_path, name, text + setting(f"ls@0.00{rate}", "multimnist", "ls"))
        write(question, f"ls@0.00{rate}", [(0.8, 0.8)])
        made[name] = question
    with pytest.raises(InputError, match="one `reference`"):
        best([made["one"], made["two"]])
    with pytest.raises(InputError, match=r"'ls@0.001' twice"):
        best([made["one"], made["again"]])


@pytest.fixture
def script():
    return runpy.run_path(str(grid.ROOT / "workflow" / "registered.py"))


def test_an_incomplete_grid_has_a_count_and_no_number(tmp_path, script, capsys):
    question = register(tmp_path, "grid", GRID + setting("ls@0.001", "multimnist", "ls"))
    write(question, "ls@0.001", [(0.8, 0.8)])
    question.paths["ls@0.001"][40].unlink()
    script["main_best"](["grid"], tmp_path)
    assert capsys.readouterr().out == "grid: running, 5 of 6\n"


def test_shards_make_every_run_once(tmp_path, script, monkeypatch):
    made = []
    monkeypatch.setitem(
        script["main"].__globals__, "run", lambda _, options, **_how: made.append(options.seed)
    )
    register(tmp_path, "grid", GRID + setting("ls@0.001", "multimnist", "ls"))
    for number in (1, 2, 3, 4):
        script["main"](["grid"], tmp_path, (number, 4))
    assert made == [40, 44, 41, 45, 42, 43]
    with pytest.raises(InputError, match=r"I from 1 to N\. Found '5/4'"):
        script["_shard"]("5/4")


def test_the_rates_of_a_grid_are_looked_at_without_torch():
    code = (
        "import sys, runpy; runpy.run_path('workflow/registered.py'); print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=grid.ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
