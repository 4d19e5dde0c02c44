"""What the page of equal compute says of its registered questions is what their records say."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from made_up import front_of

from pamal_companion.study import equal_compute, frame, registered, told
from pamal_companion.study.registered import verdicts
from pamal_core.simplex import lattice


def accuracies(question, name, split):
    """By seed the accuracies of a setting's networks, a row for each network."""
    return {seed: run.front(split).values for seed, run in question.records[name].items()}


def test_a_specialist_is_picked_on_validation_and_judged_on_test():
    def run(*values):
        ways = {"maximise": (True, True), "metric": "accuracy"}
        fronts = [front_of(of, lattice(2, 2)[: len(of)], **ways) for of in values]
        return SimpleNamespace(
            front=dict(zip(("validation", "test"), fronts, strict=True)).__getitem__
        )

    records = {
        "one": {0: run([(0.9, 0.1), (0.2, 0.3)], [(0.5, 0.4), (0.6, 0.7)])},
        "two": {0: run([(0.1, 0.2)], [(1.0, 0.8)])},
    }
    question = SimpleNamespace(records=records)
    assert equal_compute.specialists(question, ["one"]) == pytest.approx([50, 70])
    records["two"][0] = run([(0.95, 0.2)], [(0.1, 0.8)])
    assert equal_compute.specialists(question, ["one", "two"]) == pytest.approx([10, 70])


def test_points_on_a_digit_are_those_of_the_records():
    question = equal_compute.forty()
    picked = {}
    for name in ("pamal-four-stratified", "soup-0.002", "ls-0.002"):
        on, by = (accuracies(question, name, split) for split in ("validation", "test"))
        seeds = [[by[s][on[s][:, k].argmax(), k] for k in (0, 1)] for s in on]
        picked[name] = 100 * np.mean(seeds, axis=0)
    gains = picked["pamal-four-stratified"] - picked["soup-0.002"]
    text = equal_compute.against_the_soup()
    assert f"reads it {told.between(gains, 2)} points better" in text
    settings = [
        frame.of(question.records[f"pamal-{name}"][20]) for name in ("four-stratified", "one-draw")
    ]
    assert "has twice the rate" in text and settings[0].rate == 2 * settings[1].rate
    text = equal_compute.against_one_ls()
    for name in ("pamal-four-stratified", "ls-0.002"):
        assert "{:.1f} % and {:.1f} %".format(*picked[name]) in text


@pytest.mark.parametrize(
    ("name", "sentences"),
    [
        ("forty-passes", ("against_the_soup", "against_one_ls")),
        ("one-run-against-a-sweep", ("against_a_sweep",)),
        ("tasks", ("with_more_tasks",)),
        ("census-front", ("for_census", "tuned_alike")),
        ("multimnist-front", ("for_digits", "tuned_on_digits")),
    ],
)
def test_the_page_has_the_estimates_of_its_registrations(name, sentences):
    text = " ".join(getattr(equal_compute, sentence)() for sentence in sentences)
    found = verdicts(registered.read(name))["estimate"]
    assert [one for one in found[~found.index.str.contains("eleven")] if one not in text] == []


def test_no_sentence_is_told_for_other_words(monkeypatch, runs):
    def other(question):
        found = verdicts(question)
        words = {"ahead": "behind", "behind": "ahead", "level": "open", "open": "level"}
        return found.assign(verdict=found["verdict"].map(words))

    monkeypatch.setattr(registered, "verdicts", other)
    told_by = ("answer", "against_the_soup", "against_one_ls", "against_a_sweep", "tuned_on_census")
    budgets = ("for_digits", "for_census", "for_fairness", "for_few_features")
    for name in (*told_by, *budgets, "tuned_alike", "tuned_on_digits", "with_more_tasks"):
        with pytest.raises(ValueError, match="is written for"):
            getattr(equal_compute, name)()
    with pytest.raises(ValueError, match="is written for"):
        equal_compute.against_phn(runs)


def test_phn_is_told_where_its_runs_are_open():
    with pytest.raises(ValueError, match="Found not run"):
        equal_compute.against_phn({})


def test_phn_is_told_with_its_estimate_wherever_it_has_as_many_passes(runs):
    text = equal_compute.against_phn(runs)
    for name in ("census-front", "bottleneck-that-cannot-die"):
        found = verdicts(registered.read(name))["estimate"]
        said = found[found.index.str.endswith(f"{told.OURS} - PHN")]
        assert len(said) and all(estimate in text for estimate in said), name
    for name in ("fairness-front", "census-front"):
        question, took = registered.read(name), {}
        for side in ("pamal", "phn"):
            took[side] = np.mean([r.cost["train_seconds"] for r in question.records[side].values()])
        assert took["phn"] > 10 * took["pamal"], name


def test_a_range_is_of_positive_numbers():
    assert told.between(pd.Series([0.34, 0.26])) == "0.3"
    assert told.between([0.12, 0.25, 0.2], 2) == "0.12 to 0.25"
    with pytest.raises(ValueError, match=r"Found -0\.1"):
        told.between([-0.1, 0.2])


def test_no_run_on_digits_is_stuck_and_the_worst_one_is_named():
    worst, count = 1.0, 0
    questions = ("forty-passes", "one-run-against-a-sweep", "multimnist-front")
    for question in map(registered.read, questions):
        for name, by_seed in question.records.items():
            if "census" not in name:
                count += len(by_seed)
                tables = [run.front("test").table for run in by_seed.values()]
                columns = [table.filter(like="/accuracy").max() for table in tables]
                worst = min(worst, *(float(column.min()) for column in columns))
    said = f"in each of the {count} runs some network reads either digit in at least"
    assert f"{said} {100 * worst:.1f} %" in equal_compute.no_run_is_stuck()
