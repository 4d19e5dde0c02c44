"""What the page of the dial and the three sentences say is what the records say."""

import re

import numpy as np
import pytest
from made_up import staircase
from notebook_text import passage, readme

from pamal_companion.plots.dial import FIVE, LONG, ONE, PAMAL, SOUP
from pamal_companion.runs import grid
from pamal_companion.study import answer, claims, dial, frame, tables
from pamal_companion.study.claims import AHEAD
from pamal_companion.study.frame import RESULTS
from pamal_companion.study.hypotheses import WIDTHS
from pamal_companion.study.registered import read, verdicts


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


def test_the_answer_has_words_of_verdicts_and_numbers_of_records():
    text = dial.answer()
    assert f"One run {AHEAD[dial.word(50)]} five LS" in text
    assert f"its middle network {AHEAD[dial.word(50, 'the middle')]} one LS" in text
    covers = re.search(r"covers (0\.\d\d) where the five LS cover (0\.\d\d)", text)
    volumes = dial.volumes()
    means = [np.mean(volumes[name][WIDTHS.index(6)]) for name in (PAMAL, FIVE)]
    assert [float(number) for number in covers.groups()] == pytest.approx(means, abs=0.005)
    assert f"50 a front spans {span_of(50)}." in text
    assert f"With 6 features a front spans {span_of(6)}," in text
    left_open = [width for width in WIDTHS if dial.word(width) == "open"]
    assert f" Five seeds leave k = {dial.listed(left_open)} open. " in text
    assert "At fifteen fresh seeds one run is ahead of five LS for k = 3, 4, 6 and 10." in text


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
    said = "86 of their tasks have an accuracy below 0.2. Of these, 74 end at a loss of ln 10"
    assert said in text
    text = passage("conflict", "found-since")
    assert "With k of 2 to 6 we trained 100 networks of LS for ten epochs" in text
    assert "86 of their 200 tasks have a test accuracy below 0.2. Of these, 74 end with a" in text
    assert "a loss within 0.025 of ln 10" in text


def test_networks_that_gave_up_a_digit_are_counted_by_their_accuracies():
    text = dial.neglected()
    (uneven, networks), (equal, seeds) = re.findall(r"(\d+) of (\d+)", text)
    assert (networks, seeds) == ("20", "5")
    fronts = [front.values for front in dial.fronts(6)[LONG]]
    lost = np.array([[min(point) < 0.2 for point in values] for values in fronts])
    assert int(uneven) == lost[:, [0, 1, 3, 4]].sum() and int(equal) == lost[:, 2].sum()


def test_three_sentences_say_the_verdicts(runs):
    text = answer.in_three_sentences(runs)
    assert text.count("**") == 6 and text.count("\n\n") == 2
    sweep = "One run is ahead of four LS of as many passes on MultiMNIST, and is behind them"
    assert f"{sweep} on Census." in text
    assert "Train a rewarded soup beside it: on fairness PaMaL is behind it." in text
    assert "ahead of linear scalarisation (LS) on MultiMNIST and Census." in text
    assert answer.in_three_sentences({}).count("is not run against") == 1
    known = {setting: by_seed for setting, by_seed in runs.items() if setting[0] == "census"}
    mixed = (
        "is not run against linear scalarisation (LS) on MultiMNIST, and is ahead of it on Census"
    )
    assert mixed in answer.in_three_sentences(known)


def test_the_sum_counts_the_numbers_of_three_tables(runs):
    """The first page and README have the first count, too."""
    found = tables.compare(runs)
    near = every = 0
    for (table, _, _), row in found.iterrows():
        if table.split(":")[0] in ("Table 2", "Table 3", "Table 9") and row["seeds"]:
            every += 1
            near += abs(row["ours"] - row["paper"]) <= 0.005
    said = answer.in_sum(runs)
    assert f"Of {every} numbers in Tables 2, 3 and 9, {near} of ours lie within 0.005" in said
    words = claims.table(runs)["verdict"]
    for word, text in (("holds", "hold"), ("fails", "fail"), ("open", "are open")):
        assert f"{(words == word).sum()} {text}" in said
    for name in ("README.md", "book/index.md"):
        text = " ".join((grid.ROOT / name).read_text("utf-8").split())
        assert f"f {every} numbers in three of its tables, ours lie within 0.005 of {near}" in text


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
    for place, said in (
        (
            "README.md",
            "one run of PaMaL with one draw is also ahead of four LS of a quarter of its passes",
        ),
    ):
        assert said in (RESULTS.parent / place).read_text("utf-8").replace("\n", " "), place


def test_pages_say_of_census_at_equal_cost_what_was_decided():
    words = verdicts(read("census-at-equal-cost"))["verdict"]
    chosen, fronts = (
        words[[row for row in words.index if ("chosen" in row) == is_chosen]].tolist()
        for is_chosen in (True, False)
    )
    assert chosen == ["behind"] * 3 and fronts == ["behind", "level", "ahead"]
    for place, said in (
        (
            "README.md",
            "both methods on Census, LS is ahead of the network that you would choose from PaMaL's",
        ),
    ):
        assert said in (RESULTS.parent / place).read_text("utf-8").replace("\n", " "), place


def test_pages_say_of_forty_passes_what_was_decided():
    found = verdicts(read("forty-passes"))
    assert found["verdict"].tolist() == ["level", "ahead", "open", "level"]
    # The first page tells the four words, too, in its chart (test_front_page).
    chosen = "he network that you would choose from the front with"
    text = readme()
    for sentence in (
        "With one draw per step PaMaL's front is level with the soup's front.",
        "With four draws that are spread over the trade-offs (stratified) it is ahead, by",
        f"it is open whether t{chosen} one draw is better than LS.",
        f"T{chosen} four draws is level with LS.",
    ):
        assert sentence in text
    rows = re.findall(r"\| (ahead|behind|level|open) \| ([^|]*) \|", text)
    assert rows == [*zip(found["verdict"], found["estimate"], strict=True)]


def test_what_four_draws_gain_is_a_tenth_of_a_point_on_each_digit():
    """The hypervolume of a corner is the product of its two accuracies."""
    question = read("forty-passes")
    fronts = [r.front("test") for r in question.records["pamal-four-stratified"].values()]
    best = np.mean([front.values.max(axis=0) for front in fronts], axis=0)
    gain = float(verdicts(question)["estimate"].iloc[1].split()[0])
    assert 100 * gain / best.sum() == pytest.approx(0.1, abs=0.05)


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
