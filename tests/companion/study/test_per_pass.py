"""Recipes at equal passes are compared by four points of each; rates are chosen in grids."""

import hashlib
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from made_up import record

from pamal_companion.runs import grid
from pamal_companion.runs.records import Record
from pamal_companion.study import per_pass, registered
from pamal_companion.study.per_pass import Measure, Pair
from pamal_companion.study.registered import read, verdicts
from pamal_core.errors import InputError

SEEDS = [*range(20, 30)]
HEAD = f"""
question = "Is it ahead?"
seeds = {SEEDS}
points = "four"
rule = "beyond the margin"
margin = 0.01
"""
SETTING = """
[[settings]]
name = "{name}"
experiment = "{experiment}"
method = "{method}"
options = "{options}"
"""
HYPOTHESIS = """
[[hypotheses]]
text = "{place}: {ours} - {theirs}"
family = "{family}"
ours = "{ours}"
theirs = "{theirs}"
"""


def register(folder, names, asked, head=HEAD, experiment="multimnist", name="question"):
    """Write a registration of recipes by their methods, and hypotheses (family, ours, theirs)."""
    text = head
    for setting, method in names.items():
        options = "epochs=8; draw=seed"
        if method == "pamal":
            options = "W=1; lam=0; " + options
        if "sweep" in setting:  # of four networks, with other weights and a quarter of the passes
            options = f"weights=[{setting[-1]}, 1]; epochs=2; draw=seed"
        if "@" in setting:
            options += f"; lr={per_pass.AT.fullmatch(setting)['rate']}"
        text += SETTING.format(name=setting, experiment=experiment, method=method, options=options)
    for place, (family, ours, theirs) in enumerate(asked):
        text += HYPOTHESIS.format(place=place, family=family, ours=ours, theirs=theirs)
    (folder / f"{name}.toml").write_text(text)
    with (folder / "HASHES").open("a") as hashes:
        hashes.write(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}.toml\n")
    return folder


def write(question, name, points, spread=0.0, losses=(0.1, 0.1)):
    """Records of a setting with these points, a little more or less of each seed."""
    rng = np.random.default_rng(len(name))
    row = question.rows[name]
    for seed, path in question.paths[name].items():
        path.parent.mkdir(exist_ok=True)
        moved = [tuple(np.clip(np.add(point, spread * rng.normal()), 0, 1)) for point in points]
        made = record(f"{row.experiment}/{row.method}", moved, seed=seed, **row.at(seed))
        for point in made.points:
            for task, loss in zip(question_tasks(made), losses, strict=True):
                point["metrics"][f"{task}/loss"] = loss
        made.write(path)


def question_tasks(made):
    return [name.partition("/")[0] for name in made.objectives]


CASES = {
    "ahead": (0.85, 0.001),
    "behind": (0.75, 0.001),
    "level": (0.80, 0.001),
    "within the margin": (0.803, 0.0001),
    "open": (0.81, 0.03),
}


@pytest.mark.parametrize("case", CASES)
def test_each_case_has_its_word(tmp_path, case):
    score, spread = CASES[case]
    folder = register(tmp_path, {"pamal": "pamal", "ls": "ls"}, [("first", "pamal", "ls")])
    question = read("question", folder)
    write(question, "ls", [(0.8, 1.0)])
    write(question, "pamal", [(score, 1.0)], spread)
    found = verdicts(question)
    # A difference inside the margin is level, however sure it is that it is not 0.
    expected = {"within the margin": "level"}.get(case, case)
    assert found["verdict"].tolist() == [expected]
    assert (found["seeds to decide"].iloc[0] != "") == (expected == "open")


def test_until_the_last_run_there_is_no_number_and_nothing_stands_beside(tmp_path):
    folder = register(tmp_path, {"pamal": "pamal", "ls": "ls"}, [("first", "pamal", "ls")])
    question = read("question", folder)
    write(question, "ls", [(0.8, 1.0)])
    write(question, "pamal", [(0.9, 1.0)])
    question.paths["pamal"][SEEDS[-1]].unlink()
    assert verdicts(question)["verdict"].tolist() == ["running, 19 of 20"]
    with pytest.raises(InputError, match="must be complete"):
        registered.beside(question)


def test_a_file_that_was_changed_after_its_hash_is_refused(tmp_path):
    folder = register(tmp_path, {"pamal": "pamal", "ls": "ls"}, [("first", "pamal", "ls")])
    file = folder / "question.toml"
    file.write_text(file.read_text().replace("0.01", "0.001"))
    with pytest.raises(InputError, match="is not the one that was registered"):
        read("question", folder)


def test_a_sweep_is_one_front_and_has_all_its_networks(tmp_path):
    sweep = {f"sweep-{k}": "ls" for k in (1, 2, 3, 4)}
    folder = register(tmp_path, {"pamal": "pamal", **sweep}, [("first", "pamal", "sweep")])
    question = read("question", folder)
    line = [(0.9, 0.3), (0.8, 0.6), (0.6, 0.8), (0.3, 0.9)]
    write(question, "pamal", line)
    for name, point in zip(sweep, line, strict=True):
        write(question, name, [point])
    assert verdicts(question)["estimate"].iloc[0].startswith(("+0.0000", "0.0000"))
    assert registered.beside(question)["four points"].nunique() == 1


def test_families_are_corrected_apart(tmp_path):
    """A difference that is certain only if it is asked alone."""
    shape = np.linspace(-1, 1, 10)
    away = 0.03 + 0.034 * shape / shape.std(ddof=1)
    names = {"pamal": "pamal", "ls": "ls"}
    alone = [("first", "pamal", "ls")]
    among = [*alone, *[("first", "ls", "pamal")] * 9]
    apart = [*alone, *[("others", "ls", "pamal")] * 9]
    found = {}
    for name, asked in {"alone": alone, "among": among, "apart": apart}.items():
        question = read(name, register(tmp_path, names, asked, name=name))
        write(question, "ls", [(0.8, 1.0)])
        for (seed, path), more in zip(question.paths["pamal"].items(), away, strict=True):
            given = question.rows["pamal"].at(seed)
            record("multimnist/pamal", [(0.8 + more, 1.0)], seed=seed, **given).write(path)
        found[name] = verdicts(question)["verdict"].iloc[0]
    assert found == {"alone": "ahead", "among": "open", "apart": "ahead"}


def pair(points, maximise=(True, True), on_test=None):
    """The points on both splits, or others on test."""
    first = record("multimnist/pamal", points)
    second = record("multimnist/pamal", on_test or points)
    objectives = dict(zip(first.objectives, np.where(maximise, "max", "min"), strict=True))
    parts = [one.model_copy(update={"objectives": objectives}) for one in (first, second)]
    return Pair(parts[0].front("validation"), parts[1].front("test"))


@pytest.mark.parametrize("seed", range(3))
def test_the_four_points_are_the_best_of_all_330_by_another_sum(seed):
    rng = np.random.default_rng(seed)
    points = [(x, (1 - x**2) ** 0.5 - 0.1 * rng.random()) for x in np.linspace(0.1, 0.9, 11)]
    kept = Measure().four(pair(points)).validation.values

    def area(rows):
        total, reached = 0.0, 0.0
        for x, y in sorted(rows, reverse=True):
            total += x * max(y - reached, 0)
            reached = max(reached, y)
        return total

    assert len(kept) == 4
    assert area(map(tuple, kept)) == pytest.approx(max(map(area, combinations(points, 4))))


def test_of_choices_with_one_hypervolume_the_first_is_taken():
    """Three points span the front, so the fourth may be any of those below them."""
    front = [(0.9, 0.2), (0.5, 0.5), (0.2, 0.9)]
    below = [(0.1 * k, 0.1) for k in (3, 1, 2)] + [(0.3, 0.3), (0.1, 0.5)]
    kept = Measure().four(pair([*below, *front]))
    assert [tuple(row) for row in kept.validation.values.tolist()] == [below[0], *front]
    gaps = [[(x, 0.4 - y / 4) for x, y in points] for points in (below, front)]
    kept = Measure(reference=(0.05, 0.4)).four(pair([*gaps[0], *gaps[1]], (True, False)))
    assert [tuple(row) for row in kept.validation.values.tolist()] == [gaps[0][0], *gaps[1]]


def test_a_gap_is_better_low_and_is_counted_from_the_reference():
    measure = Measure(reference=(0.1, 0.05))
    both = pair([(0.6, 0.03), (0.5, 0.01), (0.05, 0.0)], maximise=(True, False))
    assert measure.volume(both.test) == pytest.approx(0.5 * 0.02 + 0.4 * 0.02)
    with pytest.raises(InputError, match="`reference` must be given"):
        Measure().volume(both.test)
    with pytest.raises(InputError, match="a number for each of"):
        Measure(reference=(0.1, 0.2, 0.3)).volume(both.test)


def test_a_network_within_a_limit_is_chosen_on_validation():
    points = [(0.7, 0.03), (0.6, 0.009), (0.5, 0.001)]
    both = pair(points, (True, False), on_test=[(0.9, 0.0), (0.55, 0.02), (0.8, 0.0)])
    measure = Measure((0.1, 0.05), limit=0.01, base_rate=0.06)
    assert measure.value(both) == 0.55
    assert Measure((0.1, 0.05), limit=0.0001, base_rate=0.06).value(both) == 0.06


def test_tasks_at_the_loss_of_a_constant_are_counted_for_every_recipe(tmp_path):
    head = HEAD + "constant_loss = 2.25\n"
    folder = register(tmp_path, {"pamal": "pamal", "ls": "ls"}, [("all", "pamal", "ls")], head)
    question = read("question", folder)
    write(question, "pamal", [(0.8, 0.9)], losses=(0.5, 0.4))
    write(question, "ls", [(0.8, 0.1)], losses=(0.5, 2.3026))
    assert registered.beside(question)["as a constant"].tolist() == [0, 10]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('rule = "beyond the margin"', 'rule = "any"', "rule: Input should be"),
        ('points = "four"\n', "", 'must have `points` "four" and `rule`'),
        ('ours = "pamal"', 'ours = "pamel"', "must name a recipe of the settings. Found 'pamel'"),
        ('family = "first"', "", "cannot be read: hypotheses"),
        ("margin = 0.01", "margin = 0.01\nlimits = [0.01]", "Only fairness has a gap"),
        ("margin = 0.01", 'margin = 0.01\nreference = ["a"]', "Input should be a valid number"),
    ],
)
def test_what_does_not_fit_together_is_refused(tmp_path, old, new, said):
    folder = register(tmp_path, {"pamal": "pamal", "ls": "ls"}, [("first", "pamal", "ls")])
    text = (folder / "question.toml").read_text().replace(old, new)
    (folder / "question.toml").write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "HASHES").write_text(f"{digest}  question.toml\n")
    with pytest.raises(InputError) as refused:
        read("question", folder)
    assert said in str(refused.value)


GRID = HEAD.partition("points")[0] + "judged = false\n"


def of_a_grid(folder, name, scores):
    """A grid of LS and of a sweep of four, by its rates the score of each network."""
    names = {f"ls@{rate}": "ls" for rate in scores}
    names |= {f"k=3-sweep@{rate}.{k}": "ls" for rate in scores for k in (1, 2, 3, 4)}
    question = read(name, register(folder, names, [], GRID, name=name))
    for setting in names:
        rate = setting.partition("@")[2].rpartition(".")[0] if "sweep" in setting else None
        score = scores[rate or setting.partition("@")[2]]
        write(question, setting, [(score, 1.0)])
    return question


def test_a_grid_names_the_best_rate_of_each_recipe_and_its_edge(tmp_path):
    first = of_a_grid(tmp_path, "grid", {"0.001": 0.5, "0.002": 0.6, "0.004": 0.7})
    found = registered.best([first])
    assert found["rate"].to_dict() == {"ls": "0.004", "k=3-sweep": "0.004"}
    assert found["edge"].tolist() == ["highest", "highest"]
    more = of_a_grid(tmp_path, "grid-2", {"0.008": 0.65})
    found = registered.best([first, more])
    assert found["rate"].tolist() == ["0.004", "0.004"] and found["edge"].tolist() == ["", ""]
    assert found["hypervolume"].tolist() == pytest.approx([0.7, 0.7])


def test_a_grid_that_is_not_complete_or_is_judged_names_nothing(tmp_path):
    question = of_a_grid(tmp_path, "grid", {"0.001": 0.5})
    question.paths["ls@0.001"][20].unlink()
    with pytest.raises(InputError, match="Found grid running, 49 of 50"):
        registered.best([question])
    folder = register(tmp_path, {"pamal": "pamal", "ls": "ls"}, [("first", "pamal", "ls")])
    with pytest.raises(InputError, match="Found question judged"):
        registered.best([read("question", folder)])
    names = register(tmp_path, {"ls": "ls"}, [], GRID, name="other")
    other = read("other", names)
    write(other, "ls", [(0.8, 1.0)])
    with pytest.raises(InputError, match=r"must be named RECIPE@RATE. Found 'ls'"):
        registered.best([other])


def test_the_command_prints_the_best_of_a_grid_of_this_repository():
    command = [sys.executable, "workflow/registered.py", "--best", "grid-fairness"]
    done = subprocess.run(command, cwd=grid.ROOT, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 11 and {line.split()[1] for line in lines} <= {"0.001", "0.002", "0.004"}


def test_every_grid_has_for_each_recipe_as_many_passes_as_the_others():
    names = {path.stem for path in registered.FOLDER.glob("grid-*.toml")} - {"grid-census"}
    assert len(names) >= 10  # the one left out tunes lengths, too
    for name in sorted(names):
        question, passes = read(name), {}
        for setting, by_seed in question.paths.items():
            row = question.rows[setting]
            seed = next(iter(by_seed))
            own = row.setting(seed).passes
            match = per_pass.AT.fullmatch(setting)
            if "from-one" in setting and not setting.endswith(".1"):
                own -= row.at(seed)["shared_epochs"]  # the start of all four counts once
            key = match["recipe"], match["rate"]
            passes[key] = passes.get(key, 0) + own
        assert len({*passes.values()}) == 1 and name


def test_a_made_up_record_is_one_of_the_kind():
    assert isinstance(record("multimnist/pamal", [(0.1, 0.2)]), Record)
