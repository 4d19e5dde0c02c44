"""Recipes of fairness side by side, recomputed from the JSON of their records by other code."""

import inspect
import itertools
import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from notebook_text import passage
from scipy.stats import t

from pamal_companion.plots.recipes import within_figure
from pamal_companion.study import equal_compute, frame, recipes, registered, told
from pamal_core import fit

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "results/registered"
ASKED = tomllib.loads((FOLDER / "fairness-front.toml").read_text())
PRECISION, GAP = "income/average precision", "parity/gap"
FOURS = ("sweep", "from-one")


@pytest.fixture(scope="module")
def question():
    return registered.read("fairness-front")


def networks(recipe, seed, split):
    """The precision and the gap of every network of a recipe, in the order of the files."""
    names = [f"{recipe}-{k}" for k in range(1, 5)] if recipe in FOURS else [recipe]
    found = []
    for name in names:
        record = json.loads((FOLDER / f"fairness-front/{name}_seed_{seed}.json").read_text())
        rows = [p["metrics"] for p in record["points"] if p["split"] == split]
        found += [(row[PRECISION], row[GAP]) for row in rows]
    return np.array(found)


def area(points):
    """Right of the reference's precision, and below its gap."""
    low, best = ASKED["reference"]
    total = 0.0
    for x, y in sorted(map(tuple, points), reverse=True):
        if x > low and y < best:
            total += (x - low) * (best - y)
            best = y
    return total


def chosen(recipe, seed, limit):
    """The precision on test of the network that one would choose among four."""
    validation, test = (networks(recipe, seed, split) for split in ("validation", "test"))
    four = max(
        itertools.combinations(range(len(validation)), 4), key=lambda k: area(validation[[*k]])
    )
    fair = [k for k in four if validation[k, 1] <= limit]
    if not fair:
        return ASKED["base_rate"]
    return test[max(fair, key=lambda k: validation[k, 0]), 0]


def apart(ours, theirs):
    """The mean over seeds of ours minus theirs, and its 95 % interval."""
    away = [chosen(ours, s, 0.01) - chosen(theirs, s, 0.01) for s in ASKED["seeds"]]
    reach = t.ppf(0.975, len(away) - 1) * np.std(away, ddof=1) / np.sqrt(len(away))
    return np.mean(away), np.mean(away) - reach, np.mean(away) + reach


@pytest.mark.parametrize(("ours", "theirs"), [("pamal", "soup"), ("pamal", "sweep")])
def test_other_code_finds_the_same_difference(question, ours, theirs):
    away = question.away(ours, theirs)
    assert [away.value, *away.interval()] == pytest.approx(apart(ours, theirs), abs=1e-9)


def test_within_a_limit_other_code_finds_the_same(question):
    seeds = ASKED["seeds"][:6]
    for recipe, limit in (("soup", 0.02), ("sweep", 0.005), ("phn", 0.02)):
        measure, four = replace(question.asked.measured, limit=limit), question.chosen[recipe].four
        found = [measure.value(four[seed]) for seed in seeds]
        assert found == pytest.approx([chosen(recipe, seed, limit) for seed in seeds])
        means = recipes.means_within(question, [limit])[recipes.DRAWN[recipe]]
        every = [measure.value(pair) for pair in four.values()]
        assert means.loc[limit, "mean"] == pytest.approx(np.mean(every))


def test_networks_at_a_constant_answer_are_counted(question):
    values = np.concatenate(
        [
            networks(recipe, seed, "test")[:, 0]
            for recipe in recipes.RECIPES
            for seed in ASKED["seeds"]
        ]
    )
    near = int((np.abs(values - 0.5) <= 0.1).sum())
    assert recipes.as_constant(question, PRECISION, 0.5, 0.1) == (near, len(values))
    assert 0 < near < len(values)


def test_a_start_that_four_share_is_paid_for_once(question):
    runs = question.records
    each = [
        np.mean([run.cost["train_seconds"] for run in runs[f"from-one-{k}"].values()])
        for k in range(1, 5)
    ]  # four of five epochs are the start's
    four = recipes.of_recipe(question, "from-one")
    assert recipes.seconds(four) == pytest.approx(each[0] + sum(each[1:]) / 5)
    alone = [run.cost["train_seconds"] for run in runs["soup"].values()]
    assert recipes.seconds(recipes.of_recipe(question, "soup")) == pytest.approx(np.mean(alone))


def test_the_table_begins_with_what_reaches_most(question):
    grids = [
        registered.read(name) for name in ("grid-fairness", "grid-fairness-2", "grid-fairness-3")
    ]
    found = recipes.table(question, grids, ("average precision", "gap"))
    means = found["average precision ↑"].str.split().str[0].astype(float)
    assert means.is_monotonic_decreasing and len(found) == len(recipes.RECIPES)
    for recipe, said in recipes.RECIPES.items():  # the rate is that of the settings
        setting = recipe if recipe not in FOURS else f"{recipe}-1"
        given = question.rows[setting].at(40)["lr"]
        in_adam = 2 * given if recipe == "today" else given  # members of their own
        assert float(found.loc[said.words, "rate"].split()[0].rstrip(",")) == in_adam, recipe


def test_the_figure_has_a_line_for_each_recipe_twice(question):
    found = recipes.means_within(question, [0.005, 0.02])
    figure = within_figure(found, "x", "y", 0.062, (0.5, 0.6), "")
    for ax in figure.axes:
        drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
        for name in recipes.DRAWN.values():
            assert drawn[name] == pytest.approx(found[name]["mean"])
            assert (found[name]["low"] <= drawn[name]).all()
    assert figure.axes[1].get_ylim() == (0.5, 0.6)


# What a registration promises to say where

PLACES = {
    "first page": "book/index.md",
    "README": "README.md",
    "page of fairness": "book/results/fairness.ipynb",
    "page of the bottleneck": "book/results/conflict.ipynb",
    "page of equal compute": "book/results/beyond.ipynb",
}


def promised():
    for path in sorted(FOLDER.glob("*.toml")):
        asked = tomllib.loads(path.read_text())
        if registered.read(path.stem).progress != "complete":
            continue  # until its last run a question has no word
        for place, page in PLACES.items():
            if asked.get("judged", True) and place in asked["says"]:
                yield pytest.param(path.stem, page, id=f"{path.stem} on {place}")


@pytest.mark.parametrize(("name", "page"), [*promised()])
def test_what_was_promised_is_said_there(name, page):
    """Of a family that is promised whole, each word with its difference; else of the primary."""
    question, text = registered.read(name), (ROOT / page).read_text().replace("\N{MINUS SIGN}", "-")
    text = " ".join(text.split())
    found = registered.verdicts(question)
    if page == "README.md":
        shown = [one for one, *_ in OF_THE_README]  # in its table, whose rows are compared below
        assert name in shown
    elif name == "fairness-front":
        away = question.away("pamal", "soup")
        low, high = sorted(abs(100 * end) for end in away.interval())
        words = f"**{found['verdict'].iloc[0]}**"
        assert words in text
        if page.endswith(".md"):
            assert f"{words} a rewarded soup, by {abs(100 * away.value):.1f} points" in text
            assert f"The interval is {low:.1f} to {high:.1f} points." in text
        else:  # the page has all words, and the limits
            assert f"by {low:.1f} to {high:.1f} points" in text
            assert all(row["estimate"] in text for _, row in found.iterrows())
            assert all(f"{limit:g}</td>" in text for limit in ASKED["limits"])
    elif name == "fairness-by-picks":
        away = registered.hypotheses(question)[0].away
        low, high = (f"{100 * end:.1f}" for end in away.interval())
        words = f"**{found['verdict'].iloc[0]}** whether PaMaL or the soup is better"
        if page.endswith(".md"):
            assert f"Judged by whom they pick, it is {words}. At a gap of at most 0.03" in text
            assert "within a gap of .03 in whom it picks" in question.asked.question
            assert f"PaMaL's picks are right more often by {100 * away.value:.1f} points" in text
            assert f", but the interval is {low} to {high} points." in text
        else:
            assert all(row["estimate"] in text for _, row in found.iterrows())
    elif name in ("census-front", "multimnist-front") and page.endswith(".ipynb"):
        assert all(one in text for one in found["estimate"])
        assert text.index(found["estimate"].iloc[0]) < text.index(found["estimate"].iloc[1])
    elif name in (
        "census-front",
        "multimnist-front",
    ):  # which promise it the word of the primary alone
        assert f"{name}: {found.index[0]}" in text
    elif name == "bottleneck-that-cannot-die":
        primary = [one.text for one in question.asked.asked if one.family == "primary"]
        for width, (_, row) in zip((3, 6), found.loc[primary].iterrows(), strict=True):
            if page.endswith(".md"):
                assert f"**{row['verdict']}** with {width}" in text
            if page.endswith("index.md"):  # it promises the words alone
                assert "at other seeds, and have the higher means." in text
                assert row["estimate"].startswith("-")
            else:
                assert row["estimate"] in text
        assert page.endswith(".md") or all(one in text for one in found["estimate"])
    elif "```{verdicts}" in text:  # whose lines have the words, as test_front_page says
        assert all(f"{name}: {hypothesis}" in text for hypothesis in found.index)
    else:
        for _, row in found.iterrows():
            assert f"| {row['verdict']} | {row['estimate']} |" in text


def test_seeds_at_which_a_single_network_is_too_unfair_are_counted(question):
    """From the JSON alone: of LS the gap on validation, and the gap in picks."""
    gaps = [networks("ls", seed, "validation")[0, 1] for seed in ASKED["seeds"]]
    count = sum(gap > 0.01 for gap in gaps)
    words = f"at {count} of 20 seeds its gap on validation is too large"
    assert words in told.of_fairness(question)
    picks = []
    for seed in range(60, 80):
        record = json.loads((FOLDER / f"fairness-by-picks/ls_seed_{seed}.json").read_text())
        (point,) = (p["metrics"] for p in record["points"] if p["split"] == "validation")
        picks.append(point["parity/gap in picks"])
    text = told.of_picks(registered.read("fairness-by-picks"))
    assert f"picking at random at {sum(gap > 0.03 for gap in picks)}." in text


ONE, FOUR = "pamal-one-draw", "pamal-four-stratified"
OF_THE_README = [
    *(("multimnist-front", place, "pamal") for place in (0, 2)),
    *(("forty-passes", place, ours) for place, ours in enumerate((ONE, FOUR, ONE, FOUR))),
    ("census-front", 0, "pamal"),
    ("fairness-front", 0, "pamal"),
    ("fairness-by-picks", 0, "pamal"),
    *(("bottleneck-that-cannot-die", place, "k=3-pamal") for place in (0, 5)),
    *(("bottleneck-that-cannot-die", place, "k=6-pamal") for place in (1, 11)),
]
"""Names the question, the hypothesis and the setting of PaMaL of each row of its table."""
RIVALS = {
    "a soup's front": ("front of the better soup",),
    "a soup": ("a rewarded soup", "a rewarded soup: right picks"),
    "one LS": ("the better LS",),
    "four LS": ("a sweep of four LS",),
    "PHN": ("PHN",),
}
"""Says of what a row of README calls the other side how the hypotheses name it."""


def rows_of_the_readme():
    text = (ROOT / "README.md").read_text("utf-8").split("| data, passes |")[1]
    rows = [row.strip("| ").split(" | ") for row in text.split("\n\n")[0].splitlines()[2:]]
    return [*zip(OF_THE_README, rows, strict=True)]


@pytest.mark.parametrize(("asked", "row"), rows_of_the_readme())
def test_each_row_of_the_readme_is_a_registered_verdict(asked, row):
    """Compare its word, its difference, its rival, and how many passes and seeds there were."""
    (name, place, setting), (data, seeds, ours, theirs, word, away) = asked, row
    question = registered.read(name)
    found, (hypothesis, verdict) = registered.verdicts(question).iloc[place], question.judged[place]
    estimate = found["estimate"]
    if data.startswith("fairness"):
        ends = 100 * np.array([hypothesis.away.value, *hypothesis.away.interval()])
        estimate = "{:+.1f} points [{:+.1f}, {:+.1f}]".format(*ends)
    assert word.removesuffix(" \N{DAGGER}") == verdict and not found.get("by less than")
    assert away == estimate.replace("-", "\N{MINUS SIGN}")
    _, whose = hypothesis.text.split(" - ", 1)
    assert whose.removeprefix("the best other recipe, ") in RIVALS[theirs]
    assert (ours == "four networks") == ("the best variant" in hypothesis.text)
    assert ours.startswith("front") == hypothesis.text.startswith("front of PaMaL")
    (one,) = (row for row in question.asked.settings if row.name == setting)
    made = frame.setting(one.experiment, one.method, **one.at(0))
    assert data.split(", ")[1] == str(made.passes)
    if "draw" in ours:
        assert made.values["W"] == (4 if "four draws" in ours else 1)
    of_rival = {"a soup": "soup", "PHN": "phn", "four LS": "sweep-1"}.get(theirs, "")
    rivals = {setting.removesuffix("pamal") + of_rival} & {*question.paths}
    for recipe in (setting, *rivals):
        assert len(question.paths[recipe]) == int(seeds)


def test_the_readme_marks_words_that_all_questions_would_change():
    text = (ROOT / "README.md").read_text("utf-8")
    asked = [registered.read(path.stem) for path in sorted(FOLDER.glob("*.toml"))]
    whole = registered.as_one_family(asked)
    number = whole.hypotheses
    said = f"\N{DAGGER} *open* if one corrects for all {number} registered comparisons at once."
    assert said in text
    assert f"[the book](book/results/beyond.ipynb) has all {number}." in text
    assert len({name for name, *_ in OF_THE_README}) == 6
    assert "the main questions of six registrations" in text
    for (name, place, _), (*_, word, _) in rows_of_the_readme():
        hypothesis, _ = registered.read(name).judged[place]
        other = whole.changed.get(name, {}).get(hypothesis.text)
        assert other == ("open" if word.endswith("\N{DAGGER}") else None)


def test_other_code_finds_by_how_much_the_picks_differ():
    """From the JSON alone: the best fair one of four points, or the share by chance."""
    right, gap = "income/right picks", "parity/gap in picks"
    folder = FOLDER / "fairness-by-picks"

    def picks(recipe, seed):
        record = json.loads((folder / f"{recipe}_seed_{seed}.json").read_text())
        points = [
            np.array([[p["metrics"][right], p["metrics"][gap]] for p in record["points"]])[
                [p["split"] == split for p in record["points"]]
            ]
            for split in ("validation", "test")
        ]
        validation, test = points

        def covered(rows):
            total, least = 0.0, 0.08
            for x, y in sorted(map(tuple, validation[[*rows]]), reverse=True):
                if x > 0.062 and y < least:
                    total += (x - 0.062) * (least - y)
                    least = y
            return total

        four = max(itertools.combinations(range(len(validation)), 4), key=covered)
        fair = [k for k in four if validation[k, 1] <= 0.03]
        return test[max(fair, key=lambda k: validation[k, 0]), 0] if fair else 0.062

    away = np.array([picks("pamal", seed) - picks("soup", seed) for seed in range(60, 80)])
    reach = t.ppf(0.975, 19) * away.std(ddof=1) / 20**0.5
    (found, *_) = registered.hypotheses(registered.read("fairness-by-picks"))
    assert found.away.value == pytest.approx(away.mean(), abs=1e-9)
    assert found.away.interval() == pytest.approx((away.mean() - reach, away.mean() + reach))
    text = told.of_picks(registered.read("fairness-by-picks"))
    assert f"above the soup at {(away > 0).sum()} of the 20 seeds" in text


# All registrations together


def test_one_family_of_all_is_holm_over_all():
    """Each p is multiplied by how many are not smaller, and never below that of a smaller one."""
    asked = [registered.read(path.stem) for path in sorted(FOLDER.glob("*.toml"))]
    judged = [one for one in asked if one.asked.judged and one.progress == "complete"]
    every = [(q.name, h) for q in judged for h in registered.hypotheses(q)]
    p = np.array([h.p for _, h in every])

    def holds(p):
        running, found = 0.0, np.zeros(len(p), bool)
        for rank, k in enumerate(np.argsort(p)):
            running = max(running, p[k] * (len(p) - rank))
            found[k] = running < 0.05
        return found

    differs, is_level = holds(p), holds(np.array([h.p_level for _, h in every]))
    whole = registered.as_one_family(asked)
    assert (whole.hypotheses, whole.questions) == (len(every), len(judged)) == (75, 12)
    changed = {(name, t): word for name, of in whole.changed.items() for t, word in of.items()}
    words = {q.name: registered.verdicts(q)["verdict"] for q in judged}
    for (name, one), still, level in zip(every, differs, is_level, strict=True):
        said = words[name][one.text]
        if said in one.words:
            is_large = not one.beyond or abs(one.away.value) > one.margin
            other = None if still and is_large else "level" if level else "open"
            assert changed.get((name, one.text)) == other, one.text
    assert whole.changed["fairness-front"].keys() == {
        f"{told.OURS} - {one}" for one in ("a sweep of four LS", "a sweep from one LS", "PHN")
    }
    said = "The leads over both sweeps and PHN would be *open* if one"
    assert said in passage("fairness", "within-said")
    on_the_dial = ("bottleneck-that-cannot-die", "dial-at-fresh-seeds", "dial-of-conflict")
    assert sum(len(whole.changed[name]) for name in on_the_dial) == 3
    said = "Three of the words below would be *open* if one"
    assert said in passage("conflict", "words")
    text = told.of_one_family(asked)
    assert f"all {len(every)} hypotheses" in text
    assert f"{len(changed)} words would change: 15 would be *open* and 2 would be *level*" in text
    assert [*changed.values()].count("level") == 2
    assert all(f"{one} (*{word}*)" in text for (_, one), word in changed.items())


def test_a_word_for_a_difference_within_the_margin_is_marked():
    found = registered.verdicts(registered.read("census-at-equal-cost"))
    values = found["estimate"].str.split().str[0].astype(float).abs()
    decided = found["verdict"].isin(["ahead", "behind"])
    assert (found["by less than"] != "").tolist() == (decided & (values < 0.002)).tolist()
    assert "by less than" not in registered.verdicts(registered.read("forty-passes"))


# By hypervolume

DIGITS = ("top-left/accuracy", "bottom-right/accuracy")


def accuracies(folder, setting, seed, split):
    record = json.loads((FOLDER / f"{folder}/{setting}_seed_{seed}.json").read_text())
    points = [p["metrics"] for p in record["points"] if p["split"] == split]
    return [tuple(point[name] for name in DIGITS) for point in points]


def staircase(points):
    total = best = 0.0
    for x, y in sorted(points, reverse=True):
        total += x * max(y - best, 0.0)
        best = max(best, y)
    return total


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ("PaMaL, p = 0.2", ["pamal"]),
        ("PHN", ["phn"]),
        ("one LS", ["ls"]),
        ("sweep of four LS", [f"sweep-{k}" for k in (1, 2, 3, 4)]),
    ],
)
def test_other_code_finds_the_same_of_forty_passes(words, settings):
    """Four points that validation chooses, and for each digit the network that one would pick."""
    one = next(one for one in equal_compute.on_digits() if one.words == words)
    volumes, picked = [], []
    for seed in range(40, 56):
        validation, test = (
            [
                point
                for name in settings
                for point in accuracies("multimnist-front", name, seed, split)
            ]
            for split in ("validation", "test")
        )
        rows = range(len(validation))
        fours = itertools.combinations(rows, min(4, len(validation)))
        best = max(fours, key=lambda four: staircase(validation[k] for k in four))
        volumes.append(staircase(test[k] for k in best))
        picked.append([test[max(rows, key=lambda k: validation[k][d])][d] for d in (0, 1)])
    row = recipes.by_volume([one]).loc[words]
    reach = t.ppf(0.975, 15) * np.std(volumes, ddof=1) / 4
    ends = [np.mean(volumes) - reach, np.mean(volumes) + reach]
    assert row["hypervolume ↑"] == "{:.4f} [{:.4f}, {:.4f}]".format(np.mean(volumes), *ends)
    at = [float(row[f"best at {digit} % ↑"]) for digit in ("top-left", "bottom-right")]
    assert at == pytest.approx(100 * np.mean(picked, axis=0), abs=0.005)


def points_of_digits(recipe, seed, split):
    names = [f"{recipe}-{k}" for k in (1, 2, 3, 4)] if recipe in FOURS else [recipe]
    return [p for name in names for p in accuracies("multimnist-front", name, seed, split)]


def single_network(recipe):
    """Return the product of accuracies, by seed, of the network that one would choose for both."""
    found = []
    for seed in range(40, 56):
        validation, test = (points_of_digits(recipe, seed, s) for s in ("validation", "test"))
        best = max(range(len(test)), key=lambda k: validation[k][0] * validation[k][1])
        found.append(test[best][0] * test[best][1])
    return np.array(found)


def from_a_corner(recipe, corner):
    """Return the area above (corner, corner), by seed, of the four points that validation chose."""
    found = []
    for seed in range(40, 56):
        validation, test = (
            [tuple(max(x - corner, 0.0) for x in p) for p in points_of_digits(recipe, seed, s)]
            for s in ("validation", "test")
        )
        fours = itertools.combinations(range(len(test)), min(4, len(test)))
        best = max(fours, key=lambda four: staircase(validation[k] for k in four))
        found.append(staircase(test[k] for k in best))
    return np.array(found)


def ends_of(away):
    reach = t.ppf(0.975, len(away) - 1) * away.std(ddof=1) / np.sqrt(len(away))
    return away.mean(), away.mean() - reach, away.mean() + reach


def test_single_networks_on_digits_are_compared_as_other_code_does():
    one = {name: single_network(name) for name in ("pamal", "today", "ls", *FOURS, "phn", "soup")}
    text = equal_compute.for_digits()
    for begins, ours, theirs, sign in (
        ("every other recipe here: below one LS by ", "ls", "pamal", ""),
        ("below that of PHN by ", "phn", "pamal", ""),
        ("below that of the four LS by ", "sweep", "pamal", ""),
        ("from one LS is better, by ", "from-one", "ls", ""),
        ("(LS minus PaMaL ", "ls", "today", "+"),
    ):
        away = ends_of(one[ours] - one[theirs])
        assert begins + "{:{s}.4f} [{:{s}.4f}, {:{s}.4f}]".format(*away, s=sign) in text
    away = ends_of(one["sweep"] - one["pamal"])
    assert "better than PaMaL's, by {:.4f} [{:.4f}, {:.4f}]".format(*away) in equal_compute.answer()
    assert ends_of(one["phn"] - one["pamal"])[1] > 0 and ends_of(one["ls"] - one["pamal"])[1] > 0
    assert "worse than that of PHN or one LS" in (ROOT / "book/index.md").read_text()
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert "[worse than that of PHN or one LS]" in readme
    costs = f"{ends_of(one['today'] - one['pamal'])[0]:.4f} worse, which was not registered"
    assert f"for both digits was {costs}" in readme
    assert f"for both digits is {costs}" in passage("your_model", "methods")
    assert ends_of(one["soup"] - one["pamal"])[1] > 0
    assert "its network for both digits is better" in (ROOT / "book/ten_minutes.md").read_text()


def test_the_lead_on_digits_is_one_from_the_reference_that_was_registered():
    """Find others above from (0.9, 0.9), and four short LS above PaMaL with p = 1 from (0, 0)."""
    names = ("pamal", "phn", "ls", "soup", "today", *FOURS)
    area = {name: from_a_corner(name, 0.9) for name in names}
    away = {name: ends_of(area["pamal"] - area[name]) for name in names if name != "pamal"}
    assert {name for name, (_, _, high) in away.items() if high < 0} == {*FOURS}
    assert {name for name, (_, low, _) in away.items() if low > 0} == {"ls"}
    whole = {name: from_a_corner(name, 0.0) for name in ("today", "sweep", "ls")}
    text = equal_compute.tuned_on_digits()
    below = ends_of(whole["sweep"] - whole["today"])
    assert "below four LS by {:.4f} [{:.4f}, {:.4f}]".format(*below) in text
    above = ends_of(whole["today"] - whole["ls"])
    assert "above one LS by {:.4f} [{:.4f}, {:.4f}]".format(*above) in text
    said = f"by {below[0]:.4f}, which was not registered"
    assert f"below the sweep {said}" in passage("your_model", "methods")
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"{below[0]:.4f} below the four LS, which was not registered" in readme


def on_validation(recipe, rate):
    """The mean over three seeds of the largest hypervolume of four points, from the JSON."""
    volumes = []
    for seed in (0, 1, 2):
        names = [f"multimnist-{recipe}@{rate}"]
        if recipe in FOURS:
            names = [f"{names[0]}.{k}" for k in (1, 2, 3, 4)]
        made = [
            p for n in names for p in accuracies("grid-front-multimnist", n, seed, "validation")
        ]
        fours = itertools.combinations(made, min(4, len(made)))
        volumes.append(max(map(staircase, fours)))
    return np.mean(volumes)


def test_what_twice_the_rate_gives_to_others_is_that_of_the_grid():
    text = equal_compute.against_the_soup()
    for name, recipe in {"soup": "soup", "LS": "ls", "one draw": "pamal-one-p1"}.items():
        low, high = (on_validation(recipe, rate) for rate in (0.002, 0.004))
        assert high < low and f"{name} ({high:.4f} in place of {low:.4f})" in text
    low, high, ours = (
        on_validation(*one) for one in (("sweep", 0.002), ("sweep", 0.004), ("pamal-one-p1", 0.002))
    )
    text = equal_compute.against_a_sweep()
    assert low < high < ours
    assert f"is above it by {ours - low:.4f} if both have 0.002" in text
    assert f"and by {ours - high:.4f} if the sweep has 0.004" in text


def test_recipes_of_forty_passes_have_their_rates_and_the_best_is_first():
    every = equal_compute.on_digits()
    found = recipes.by_volume(every)
    assert len(found) == len(equal_compute.OF_DIGITS) == 8
    rates = {
        row["name"]: float(re.search(r"lr=([\d.]+)", row["options"])[1])
        for row in tomllib.loads((FOLDER / "multimnist-front.toml").read_text())["settings"]
    }
    assert found["hypervolume ↑"].str.split().str[0].astype(float).is_monotonic_decreasing
    for one in every:
        lr = rates[next(iter(one.records))]
        of_its_own = one.words in ("PaMaL, p = 0.2", "PaMaL, one draw")
        in_adam = 2 * lr if of_its_own else lr  # of members of their own, one for each digit
        assert float(one.rate.split(" of ")[0]) == pytest.approx(in_adam), one.words


def test_a_picture_has_the_networks_on_test_of_the_recipes_that_it_names():
    drawn = recipes.fronts(equal_compute.on_digits(), ["one LS", "sweep of four LS"])
    assert [*drawn] == ["one LS", "sweep of four LS"]
    assert [len(front.values) for front in drawn["one LS"]] == [1] * 16
    expected = [accuracies("multimnist-front", f"sweep-{k}", 40, "test")[0] for k in (1, 2, 3, 4)]
    assert sorted(map(tuple, drawn["sweep of four LS"][0].values)) == sorted(expected)


# What `fit` does when it is told nothing

TODAY = "PaMaL with one draw and p = 1"
NEW = {
    "fairness": ("fairness-front", f"{told.OURS} - {TODAY}"),
    "Census": ("census-front", f"PaMaL from a shared start - {TODAY}"),
    "MultiMNIST": ("multimnist-front", f"PaMaL from a shared start - {TODAY}"),
}
"""By data set the registration, and its hypothesis, of PaMaL from a shared start against PaMaL with
one draw from members of their own. On fairness that variant is the best one."""


def words_on_the_start():
    """The word by data set; "" where nothing is judged yet."""
    said = {}
    for data, (name, hypothesis) in NEW.items():
        is_judged = (FOLDER / f"{name}.toml").exists()
        is_judged = is_judged and registered.read(name).progress == "complete"
        found = registered.verdicts(registered.read(name))["verdict"] if is_judged else {}
        said[data] = found[hypothesis] if is_judged else ""
    return said


def test_the_default_of_fit_is_another_recipe_only_if_the_records_say_so():
    """It changes where the new one is ahead on two data sets, and is judged and behind on none."""
    said = [*words_on_the_start().values()]
    changes = said.count("ahead") >= 2 and "behind" not in said and "" not in said
    usual = {name: one.default for name, one in inspect.signature(fit).parameters.items()}
    assert bool(usual["start"]) == changes
    assert (usual["soup"], usual["window"], usual["preference"]) == (False, 1, None)


def test_the_readme_says_where_a_start_is_ahead_of_the_default_of_fit():
    text = " ".join((ROOT / "README.md").read_text().split())
    passage = text.split("**The recipe of `fit`**")[1].split(" - **")[0]
    for data, said in words_on_the_start().items():
        assert f"on {data} it is **{said or 'not judged yet'}**" in passage
