"""What the page of the dial and the three sentences say is what the records say."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from made_up import staircase
from notebook_text import passage, readme

from pamal_companion.plots.dial import FIVE, LONG, ONE, PAMAL, SOUP
from pamal_companion.runs import grid
from pamal_companion.study import (
    answer,
    claims,
    comparisons,
    dial,
    frame,
    layout,
    registered,
    tables,
)
from pamal_companion.study.fronts import span
from pamal_companion.study.hypotheses import WIDTHS
from pamal_companion.study.registered import read, verdicts

ROOT = Path(__file__).parents[3]


def test_every_side_of_the_dial_has_as_many_passes_as_it_says():
    question = dial.question()
    for width in WIDTHS:
        passes = {}
        for method, names in dial.settings(width).items():
            runs = [frame.of(question.records[name][20]) for name in names]
            assert {run.values["bottleneck"] for run in runs} == {width}
            passes[method] = sum(run.passes for run in runs)
        assert passes == {PAMAL: 10, FIVE: 10, ONE: 10, SOUP: 10, LONG: 50}
    assert question.progress == "complete"


def test_volumes_are_those_of_all_points_of_a_seed():
    volumes = dial.volumes()
    for width, of_seeds in zip(WIDTHS, volumes[FIVE], strict=True):
        fronts = dial.fronts(width)[FIVE]
        assert [len(front) for front in fronts] == [5] * 5
        assert of_seeds == pytest.approx([staircase(front.values) for front in fronts])


def test_the_answer_has_numbers_of_records_and_verdicts_of_registrations(monkeypatch):
    text = dial.answer()
    for width in (50, 6):
        assert f"{100 * float(span_of(width)):.0f} points" in text
    volumes = dial.volumes()
    reached = [np.mean(volumes[name][WIDTHS.index(50)]) for name in (ONE, FIVE)]
    assert (
        "reaches {:.2f}, more than the five together, which reach {:.2f}".format(*reached) in text
    )
    judged, again = dial.judged()["estimate"], dial.again()["estimate"]
    for estimate in judged[judged.index.str.contains("k = 50:")]:
        assert estimate in text
    fresh = again.str.split().str[0].astype(float)
    assert again[fresh.idxmax()] in text and "k = 6" in fresh.idxmax()
    middle = dial.judged().filter(like="k = 50: the middle", axis=0)["estimate"].item()
    points = 100 * abs(float(middle.split()[0])) / (2 * np.sqrt(reached[0]))
    assert points == pytest.approx(0.5, abs=0.1) and "by about half a point on each digit" in text
    monkeypatch.setattr(dial, "word", lambda *args: "open")
    assert dial.judged().filter(like="spread", axis=0)["verdict"].item() == "holds"
    with pytest.raises(ValueError, match="written for other verdicts"):
        dial.answer()


def test_captions_of_the_dial_say_what_the_seeds_that_are_drawn_decide():
    drawn = {seed for by_seed in dial.question().records.values() for seed in by_seed}
    assert drawn == {*range(20, 25)}
    by_word = {word: [w for w in WIDTHS if dial.word(w) == word] for word in ("ahead", "open")}
    assert by_word == {"ahead": [50], "open": [2, 3, 4, 6, 10]}
    again = dial.again()["verdict"]
    assert [int(name.split()[2].rstrip(":")) for name in again.index] == [3, 4, 6, 10]
    assert again.tolist() == ["ahead"] * 4


def test_pages_say_how_many_tasks_were_not_trained():
    """Of LS of ten epochs behind a ReLU: those that are not read, and those of them with the loss
    of a network that was never trained."""
    few = [width for width in WIDTHS if width <= 6]
    names = [name for width in few for name in dial.settings(width)[LONG]]
    records = [record for name in names for record in dial.question().records[name].values()]
    tests = [record.front("test").table for record in records]
    tasks = ("top-left", "bottom-right")
    accuracies, losses = (
        np.concatenate([table[f"{task}/{of}"] for table in tests for task in tasks])
        for of in ("accuracy", "loss")
    )
    is_lost = accuracies < 0.2
    is_stuck = is_lost & (abs(losses - np.log(10)) < 0.025)
    counts = len(records), accuracies.size, is_lost.sum(), is_stuck.sum()
    assert (few, counts) == ([2, 3, 4, 6], (100, 200, 86, 74))
    text = readme()
    assert "a hundred networks of LS with 2 to 6 features for ten epochs" in text
    said = "86 of their 200 tasks have an accuracy below 0.2. Of these, 74 end at a loss of ln 10"
    assert said in text
    text = dial.untrained()
    assert "With 2 to 6 features we trained 100 networks of LS for ten epochs" in text
    assert "Of their 200 tasks, 86 have a test accuracy below 0.2. Of these, 74 end with a" in text
    assert "a loss within 0.025 of ln 10" in text


def test_digits_that_no_network_reads_are_counted_for_each_method():
    records, counts = dial.question().records, []
    for method in (PAMAL, SOUP, FIVE):
        unread = 0
        for width in (2, 3, 4, 6):
            for seed in range(20, 25):
                names = dial.settings(width)[method]
                rows = [records[name][seed].front("test").values for name in names]
                unread += (np.concatenate(rows).max(axis=0) < 0.2).sum()
        counts.append(unread)
    said = (
        "Of 40 digits, two for each run, PaMaL leaves {} unread, a soup {}, and five short LS {}."
    )
    assert said.format(*counts) in dial.untrained()
    short = [
        records[name].values() for width in (2, 3, 4, 6) for name in dial.settings(width)[FIVE]
    ]
    accuracies = np.array([run.front("test").values for runs in short for run in runs])
    said = f"of {accuracies.size} tasks {(accuracies < 0.2).sum()} have so low an accuracy"
    assert said in dial.untrained()


def test_the_two_words_of_features_that_cannot_die_are_told_at_the_end():
    """With their differences, and the tasks at the loss of a constant answer, which are none."""
    question = dial.undying()
    text, found = dial.of_the_undying(question), verdicts(question)
    primary = [one.text for one in question.asked.asked if one.family == "primary"]
    words = re.findall(r"\*\*(\w+)\*\* whether PaMaL is better", text)
    assert words == found.loc[primary, "verdict"].tolist()
    assert all(f"(hypervolume {found.loc[name, 'estimate']})" in text for name in primary)
    runs = {}  # the smallest losses of a recipe and a seed, of all four networks of a sweep
    for name, by_seed in question.records.items():
        for seed, record in by_seed.items():
            losses = record.front("test").table.filter(like="/loss").min()
            key = re.sub(r"-\d$", "", name), seed
            runs[key] = np.minimum(runs.get(key, np.inf), losses.to_numpy())
    assert len(runs) == 13 * 12 and max(losses.max() for losses in runs.values()) < 2.25
    assert "not one ends at a loss above 2.25 in all networks of its run" in text


def test_unlearnt_digits_are_counted_network_by_network():
    """The sweep's two outer networks, with each seed; single networks of two others."""
    question = dial.undying()
    unlearnt, of = Counter(), Counter()
    for name, by_seed in question.records.items():
        for record in by_seed.values():
            for digit, losses in record.front("test").table.filter(like="/loss").items():
                unlearnt[name, digit] += int((losses > 2.25).sum())
                of[name] += len(losses)
    found = {key: count for key, count in unlearnt.items() if count}
    outer = {("k=3-sweep-1", "top-left/loss"): 12, ("k=3-sweep-4", "bottom-right/loss"): 12}
    assert found.items() >= outer.items()
    weights = {name: question.rows[f"k=3-sweep-{name}"].at(40)["weights"] for name in (1, 4)}
    assert weights == {1: [0.2, 0.8], 4: [0.8, 0.2]}
    by_recipe = Counter()
    for (name, _), count in found.items():
        by_recipe[re.sub(r"-\d$", "", name)] += count
    assert by_recipe == {"k=3-sweep": 24, "k=3-phn": 2, "k=3-today": 4}
    assert of["k=3-phn"] == of["k=3-today"] == 264
    text = dial.of_the_undying(question)
    assert "In the sweep with 3 features 24 of 96 are." in text
    assert "Of PHN 2 of 264 are, of PaMaL with one draw 4, and of all other recipes none." in text


def test_a_sentence_on_features_that_cannot_die_is_written_for_its_word(monkeypatch):
    found = verdicts(dial.undying())
    changed = found.assign(verdict="behind")
    monkeypatch.setattr(registered, "verdicts", lambda question: changed)
    with pytest.raises(ValueError, match=r"being open\. Found behind"):
        dial.of_the_undying(dial.undying())


def test_networks_that_gave_up_a_digit_are_counted_by_their_accuracies():
    text = dial.neglected()
    (uneven, networks), (equal, seeds) = re.findall(r"(\d+) of (\d+)", text)
    assert (networks, seeds) == ("20", "5")
    fronts = [front.values for front in dial.fronts(6)[LONG]]
    lost = np.array([[min(point) < 0.2 for point in values] for values in fronts])
    assert int(uneven) == lost[:, [0, 1, 3, 4]].sum() and int(equal) == lost[:, 2].sum()


def test_three_sentences_are_told_for_the_verdicts_that_they_say(runs, monkeypatch):
    text = answer.in_three_paragraphs(runs)
    assert text.count("**") == 6 and text.count("\n\n") == 2
    for data in ("multimnist", "census"):
        pair = [runs[frame.select(f"{data}/{method}")] for method in ("pamal", "ls")]
        ours, theirs = (np.mean([run.hypervolume() for run in found.values()]) for found in pair)
        assert f"(hypervolume {ours - theirs:+.4f} [" in text or f"({ours - theirs:+.4f} [" in text
        points = f"{100 * (ours**0.5 - theirs**0.5):.1f} points"
        assert f"by about {points} of accuracy" in text or f"by about {points} on each" in text
    known = {setting: by_seed for setting, by_seed in runs.items() if setting[0] == "census"}
    for few in ({}, known):
        assert "These records lack runs" in answer.in_three_paragraphs(few)
    monkeypatch.setattr(dial, "word", lambda *args: "open")
    with pytest.raises(ValueError, match=r"a middle that is behind LS\. Found open"):
        answer.in_three_paragraphs(runs)


def test_the_lead_over_ls_is_told_beside_that_of_the_authors_seeds(runs):
    text, leads = answer.of_the_lead(runs), comparisons.leads(runs)["lead [95 %]"]
    for split, whose in leads.index:
        assert leads[split, whose].split()[0].lstrip("+") in text
    assert answer.of_the_lead({}) == ""


def test_the_sum_counts_the_numbers_of_three_tables(runs):
    """The first page and README have the first count, too. A number of the paper counts once."""
    every = near = 0
    for name in ("multiforward_multimnist", "multiforward_census", "multimnist", "census"):
        found = tables.report(name, runs)
        found = found[~found.index.get_level_values(1).str.contains("the authors'")]
        assert not found.index.duplicated().any() and (found["seeds"] > 0).all()
        columns = [*layout.TABLES[name].columns.values()]
        printed = len(tables.rows(name)) * sum(not column.of_authors for column in columns)
        assert len(found) <= printed  # a network of one task has no hypervolume
        every += len(found)
        near += ((found["ours"] - found["paper"]).abs() <= 0.005).sum()
    said = answer.in_sum(runs)
    assert f"Of {every} numbers in Tables 2, 3 and 9, {near} of ours lie within 0.005" in said
    words = claims.table(runs)["verdict"]
    for word, text in (("holds", "hold"), ("fails", "fail"), ("open", "are open")):
        assert f"{(words == word).sum()} {text}" in said
    for name in ("README.md", "book/index.md"):
        text = " ".join((grid.ROOT / name).read_text("utf-8").split())
        assert f"f {every} numbers in three of its tables, ours lie within 0.005 of {near}" in text
    within = f"of {every} numbers in Tables 2, 3 and 9, ours lie within 0.005 of {near}"
    assert within in passage("tables", "about")
    hold, fail, are_open, left = (
        (words == one).sum() for one in ("holds", "fails", "open", "not run")
    )
    counts = f"{len(words)} claims {hold} hold, {fail} fail, {are_open} are open and {left} are not"
    assert f"Of {counts} run." in passage("claims", "answer")
    because = "because our seeds are too few or some of their runs are not made"
    left_out = f"Another {are_open} are open, {because}, and {left} are not run at all."
    assert f"Of {len(words)} of its claims {hold} hold and {fail} fail. {left_out}" in readme()


def test_pages_say_of_a_sweep_what_was_decided():
    """That on MultiMNIST the middle is ahead of all of a sweep, and on Census each of its networks
    of the whole front, as the page of equal compute says, is of the records alone."""
    question = read("one-run-against-a-sweep")
    ahead = [row.split(":")[0] for row in verdicts_of(question, "ahead")]
    assert ahead == ["MultiMNIST"] * 2 and len(verdicts_of(question, "behind")) == 2
    ours, *single = (
        np.mean([frame.volume(one.front("test")) for one in by_seed.values()])
        for name, by_seed in question.records.items()
        if name.startswith("census")
    )
    assert len(single) == 4 and ours < min(single)
    sweep = [n for n in question.records if n.startswith("multimnist-ls")]
    fronts = frame.united(question.records, sweep, "test")
    for_run = question.records["multimnist-pamal"]
    away = [
        np.prod(for_run[seed].front("test").values[5]) - staircase(front.values)
        for seed, front in fronts.items()
    ]
    assert len(sweep) == 4 and np.mean(away) > 2 * np.std(away) / len(away) ** 0.5


def test_census_at_equal_cost_says_what_was_decided():
    words = verdicts(read("census-at-equal-cost"))["verdict"]
    chosen, fronts = (
        words[[row for row in words.index if ("you would choose" in row) == is_chosen]].tolist()
        for is_chosen in (True, False)
    )
    assert chosen == ["behind"] * 3 and fronts == ["behind", "level", "ahead"]
    assert "if both methods are tuned, LS gives the better network" in passage("census", "title")


def test_forty_passes_say_what_was_decided():
    found = verdicts(read("forty-passes"))
    assert found["verdict"].tolist() == ["level", "ahead", "open", "level"]


def test_what_four_draws_gain_is_a_tenth_of_a_point_on_each_digit():
    """The hypervolume of a corner is the product of its two accuracies."""
    question = read("forty-passes")
    fronts = [r.front("test") for r in question.records["pamal-four-stratified"].values()]
    best = np.mean([front.values.max(axis=0) for front in fronts], axis=0)
    gain = float(verdicts(question)["estimate"].iloc[1].split()[0])
    assert 100 * gain / best.sum() == pytest.approx(0.1, abs=0.05)
    assert f"On MultiMNIST {gain:.4f} are some 0.1 points of accuracy on each digit." in readme()


def verdicts_of(question, word):
    found = verdicts(question)
    return [*found[found["verdict"] == word].index]


def span_of(width):
    spans = []
    for front in dial.fronts(width)[PAMAL]:
        points = front.values
        kept = [p for p in points if not any((q >= p).all() and (q > p).any() for q in points)]
        spans.append(np.ptp(kept, axis=0).max())
    return f"{np.mean(spans):.2f}"


def test_the_caption_says_where_the_lead_is_largest_and_why():
    caption = (ROOT / "notebooks/conflict.ipynb").read_text()
    assert "its lead over five LS is largest at k = 6" in caption
    leads = np.subtract(*(np.mean(dial.volumes()[method], axis=1) for method in (PAMAL, FIVE)))
    assert WIDTHS[leads.argmax()] == 6
    assert "four of five networks of LS leave one digit unread" in caption
    short = np.concatenate([front.values for front in dial.fronts(6)[FIVE]])
    assert (short < 0.2).any(axis=1).mean() == pytest.approx(0.8)


def test_two_seeds_with_a_leaky_relu_have_the_leads_that_are_said():
    """From the records alone, on test."""

    def volume(path):
        return json.loads((ROOT / "results" / path).read_text())["summary"]["test"]["hypervolume"]

    seeds, dying, other = (21, 23), "registered/dial-of-conflict/6-", "conflict/multimnist/"
    lost = [
        volume(f"{dying}pamal_seed_{s}.json") - volume(f"{dying}ls-0.5_seed_{s}.json")
        for s in seeds
    ]
    left = [
        volume(f"{other}pamal-draw={s}_seed_{s}.json") - volume(f"{other}ls-draw={s}_seed_{s}.json")
        for s in seeds
    ]
    said = f"falls from some {np.mean(lost):.1f} to {np.mean(left):.2f}. Two seeds decide nothing"
    assert said in (ROOT / "notebooks/conflict.ipynb").read_text()


def test_the_caption_says_where_the_ends_of_the_front_are_far_apart():
    caption = (ROOT / "notebooks/conflict.ipynb").read_text()
    assert "far apart if the digits share six features or fewer, and almost together" in caption
    spreads = {k: np.mean([span(front) for front in dial.fronts(k)[PAMAL]]) for k in WIDTHS}
    assert min(spreads[k] for k in WIDTHS if k <= 6) > 0.4 and spreads[50] < 0.03
