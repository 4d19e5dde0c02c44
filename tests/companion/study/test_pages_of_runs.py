"""What the pages of experiments say first and last is computed from their own records."""

import json
import math
import re
import shlex

import numpy as np
import pandas as pd
import pytest
import torch
from notebook_text import passage
from scipy.stats import spearmanr

from pamal_companion.experiments.census import CensusOptions
from pamal_companion.plots.table import table
from pamal_companion.runs import grid
from pamal_companion.runs.records import Record
from pamal_companion.study import (
    beside_ls,
    claims,
    comparisons,
    equal_compute,
    faces,
    frame,
    pages,
    registered,
    statistics,
)
from pamal_companion.study.frame import Setting, select
from pamal_core.front import Front
from pamal_core.objectives import Objective

PAGES = ("multimnist", "census", "multimnist3", "utkface", "cityscapes", "toy")


def page(name):
    return json.loads((grid.ROOT / f"book/results/{name}.ipynb").read_text("utf-8"))


def said(found):
    """What its cells show as Markdown, with hyphens for minus signs."""
    outputs = [output for cell in found["cells"] for output in cell.get("outputs", [])]
    texts = ["".join(output.get("data", {}).get("text/markdown", "")) for output in outputs]
    return [text.replace("\N{MINUS SIGN}", "-") for text in texts if text]


def records(name):
    """The records of `name`, from their files alone."""
    files = sorted((grid.ROOT / "results").glob(f"{name}_seed_*.json"))
    return [json.loads(file.read_text("utf-8")) for file in files]


def points(name):
    """The hypervolumes on validation of the records of `name`, by seed."""
    return {one["seed"]: one["summary"]["validation"]["hypervolume"] for one in records(name)}


def best_networks(name):
    """The largest product of two accuracies on validation of each record of `name`."""
    for one in records(name):
        found = [p["metrics"] for p in one["points"] if p["split"] == "validation"]
        yield max(math.prod(point[name] for name in one["objectives"]) for point in found)


@pytest.mark.parametrize("name", PAGES)
def test_the_command_on_a_page_makes_that_page(name):
    found = page(name)
    (command,) = (
        match[1] for text in said(found) if (match := re.search("`(papermill [^`]*)`", text))
    )
    program, source, _, *given = shlex.split(command)
    assert (program, source) == ("papermill", f"notebooks/{name}.ipynb")
    options = dict(zip(given[1::3], given[2::3], strict=True))
    made = found["metadata"]["pamal"]["parameters"]
    assert given[::3] == ["-p"] * len(options)
    usual, made = (
        {key: str(value) for key, value in values.items()}
        for values in (grid.notebook_defaults(name), made)
    )
    assert usual | options == usual | made and not options.items() & usual.items()


def right(name):
    """How often the network you would choose is right on test, in per cent, mean over tasks."""
    for one in records(name):
        at, names = {}, one["objectives"]
        for split in ("validation", "test"):
            points = [p["metrics"] for p in one["points"] if p["split"] == split]
            at[split] = np.array([[metrics[name] for name in names] for metrics in points])
        yield 100 * at["test"][at["validation"].prod(axis=1).argmax()].mean()


@pytest.mark.parametrize("name", ["multimnist", "census", "multimnist3"])
def test_a_page_of_full_data_opens_with_the_means_of_its_records(name):
    first = next(text for text in said(page(name)) if text.startswith("One run"))
    ours, ls = points(f"{name}/pamal"), points(f"{name}/ls")
    mean = np.mean([*ours.values()])
    single = np.mean([*best_networks(f"{name}/pamal")])
    volumes = f"{mean:.4f} for PaMaL's front, {single:.4f} for its best network and "
    assert volumes + f"{np.mean([*ls.values()]):.4f} for LS." in first
    shares = (np.mean([*right(f"{name}/{method}")]) for method in ("pamal", "ls"))
    told = (
        "the network you would choose is right in {:.1f} % of its answers on test, and LS in {:.1f}"
    )
    assert told.format(*shares) in first
    if name != "multimnist3":
        assert f" in the paper and {mean:.4f} here." in first
    expected = f"{ours[0]:.4f} with seed 0; {mean:.4f} ± "
    assert any(expected in text for text in said(page(name)))


WORDS = {
    "multimnist": ("PaMaL is ahead by", "LS is ahead by", "even PaMaL's whole front is behind"),
    "census": (
        "It is open which network is better: PaMaL's is 0.1 points above LS",
        "make LS worse",
        "If you tune both methods, LS gives the better network",
    ),
    "multimnist3": (
        "It is open which network is better: PaMaL's is 0.3 points below LS",
        "This is equal compute",
        "train LS, because it is simpler",
    ),
}
"""What each page says of LS at equal epochs, at equal compute, and else."""


@pytest.mark.parametrize("name", WORDS)
def test_a_page_says_at_once_what_happens_at_equal_compute(name, runs):
    ours, ls = Setting(name, "pamal"), Setting(name, "ls")
    record = runs[ours][0].record
    text = "\n\n".join(beside_ls.paragraphs(record, runs))
    first = next(text for text in said(page(name)) if text.startswith("One run"))
    assert text.replace("\N{MINUS SIGN}", "-") in first
    assert all(words in text for words in WORDS[name])
    assert "If you need one network only, train LS" in text and "beyond.html" in text
    assert "If you need one network only, train LS" in passage(name, "title")
    longer = ls.having(epochs=int(ours.passes))

    def is_ahead(one, other, measure, split):
        return statistics.word(beside_ls.away(runs, one, other, measure, split)) == "ahead"

    chosen = "chosen hypervolume", "test"
    assert ("PaMaL is ahead by" in text) == is_ahead(ours, ls, *chosen)
    assert ("LS is ahead by" in text) == (is_ahead(longer, ours, *chosen) and longer != ls)
    assert ("make LS worse" in text) == is_ahead(ls, longer, "hypervolume", "validation")


def test_what_a_page_says_of_ls_follows_the_numbers(runs):
    """The same sentences around records whose accuracies are moved."""
    ours, ls = Setting("multimnist", "pamal"), Setting("multimnist", "ls")
    found = {}
    for shift in (-0.05, 0.0, 0.05):
        moved = {seed: shifted(run.record, shift) for seed, run in runs[ours].items()}
        text = "\n\n".join(beside_ls.paragraphs(moved[0], {**runs, ours: moved}))
        found[shift] = text
    assert "PaMaL is ahead by" not in found[-0.05] and "LS is ahead by" in found[-0.05]
    assert "**Why does LS win" in found[0.0]
    assert "LS is ahead by" not in found[0.05] and "So PaMaL's network is the better" in found[0.05]
    assert "On validation PaMaL's whole front is ahead of it" in found[0.05]
    same = {seed: run.record for seed, run in runs[ls].items()}
    level = beside_ls.at_equal_epochs(ours, ls, {**runs, ours: same})
    assert "The two networks are level: they differ by less than 0.1 points" in level


def test_longer_training_on_census_overfits_as_its_losses_show(runs):
    ls = Setting("census", "ls")
    longer, ends = ls.having(epochs=20), []
    for name in ("census/ls", "beyond/census/ls-20-epochs"):
        every = [one for one in records(name) if one["history"]]
        last = [np.mean(one["history"][-1]["losses"]) for one in every]
        after = [
            np.mean([v for n, v in point["metrics"].items() if n.endswith("/loss")])
            for one in every
            for point in one["points"]
            if point["split"] == "validation"
        ]
        ends.append((np.mean(last), np.mean(after)))
    (short, before), (long, after) = ends
    assert short > long and before < after
    said = f"falls from {short:.3f} to {long:.3f}, and on validation it rises from {before:.3f} to "
    record = runs[Setting("census", "pamal")][0].record
    told = "\n\n".join(beside_ls.paragraphs(record, runs))
    assert f"The reason is overfitting: the loss on training {said}{after:.3f}." in told
    swapped = beside_ls.overfitting(longer, ls, runs)
    assert swapped == ""


def test_a_page_gives_no_reason_that_its_runs_do_not_show(runs):
    """Why LS gains on MultiMNIST, and that a part of PaMaL's lead is its rate."""
    ls, ours = Setting("multimnist", "ls"), Setting("multimnist", "pamal")
    doubled, one = ls.having(lr=ours.rate), ours.having(W=1, epochs=40)
    assert "Why does LS win" in beside_ls.of_steps(runs)
    assert "part of the lead at equal epochs is the learning rate" in beside_ls.of_the_rate(runs)
    assert beside_ls.of_steps({**runs, one: runs[ours]}) == ""
    assert beside_ls.of_the_rate({**runs, doubled: runs[ls]}) == ""
    assert "because α scales" not in passage("multimnist", "train-it")


def test_what_a_page_says_of_a_tuned_ls_is_registered(monkeypatch, runs):
    told = beside_ls.of_tuning(runs)
    low, high = equal_compute.leads_of_tuned_ls(registered.read("census-at-equal-cost"))
    assert f"(hypervolume {low:.4f} to {high:.4f}, on test)" in told and high < statistics.WITHIN
    monkeypatch.setattr(equal_compute, "WITHIN", 1e-6)
    with pytest.raises(ValueError, match="written for differences below 1e-06"):
        beside_ls.of_tuning(runs)


def shifted(record, shift):
    """The record with all accuracies moved."""
    points = []
    for point in record.points:
        metrics = {n: v + shift * n.endswith("/accuracy") for n, v in point["metrics"].items()}
        points.append({**point, "metrics": metrics})
    summary = dict(record.summary)
    for split in ("validation", "test"):
        moved = (summary[split]["hypervolume"] ** 0.5 + shift) ** 2
        summary[split] = {**summary[split], "hypervolume": moved}
    return Record(**{**record.model_dump(), "points": points, "summary": summary})


@pytest.mark.parametrize("name", ["utkface", "cityscapes"])
def test_a_page_of_a_sample_says_so_first_and_concludes_nothing(name):
    found = page(name)
    first = next(text for text in said(found) if text.startswith("One run"))
    assert "on the built-in sample of" in first
    assert "nothing about the numbers of the paper follows from it" in first
    shown = [c for c in found["cells"] if "remove-cell" not in c["metadata"].get("tags", [])]
    assert not any("full-data" in cell["metadata"].get("tags", []) for cell in shown)
    outputs = [output for cell in shown for output in cell.get("outputs", [])]
    texts = [output.get("text", output.get("data", {}).get("text/html", "")) for output in outputs]
    words = re.sub(r"[A-Za-z0-9+/=]{40,}", "", json.dumps(texts))  # without pictures
    assert "NaN" not in words


def test_the_page_of_faces_opens_with_the_records_of_real_ones(runs):
    outputs = [output for cell in page("utkface")["cells"] for output in cell.get("outputs", [])]
    shown = "".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
    names = comparisons.labels("utkface", "reduced/")
    made = {setting: name for setting, name in names.items() if setting in runs}
    metrics = {
        "loss on age ↓": "age/loss",
        "accuracy on gender ↑": "gender/accuracy",
        "accuracy on ethnicity ↑": "ethnicity/accuracy",
    }
    once = {setting: name for setting, name in made.items() if len(runs[setting]) == 1}
    often = {setting: name for setting, name in made.items() if setting not in once}
    assert len(once) == 10 and len(often) == 8
    for of, split in ((often, faces.SPLIT), (once, faces.SPLIT), (made, "test")):
        assert table(comparisons.methods(of, runs, metrics, split)) in shown
    asked = claims.table(runs, claims.FINDINGS).query("where == 'reduced'")
    short = asked["claim"].str.removeprefix("UTKFace, reduced protocol: ")
    assert claims.shown(asked.assign(claim=short), anchored=False) in shown
    first = said(page("utkface"))[0]
    number = sum(len(runs[setting]) for setting in made)
    assert f"**Nine statements** are tested on all {number} runs at equal epochs." in first
    assert len(short) == 9 and first == faces.answer(runs, names, asked.assign(claim=short))
    for verdict, of in short.groupby(asked["verdict"]):
        assert f"{beside_ls.in_words(len(of))} {faces.SAID[verdict][len(of) > 1]}" in first
        assert verdict == "open" or f"**{verdict}**: {'; '.join(of)}." in first


def test_the_page_of_faces_says_what_is_open_at_equal_compute(runs):
    first = said(page("utkface"))[0]
    reduced = [s for s in comparisons.labels("utkface", "reduced/") if s in runs]
    (ls,) = (s for s in reduced if s.method == "ls")
    found = {}
    for s in (s for s in reduced if s.method == "pamal"):
        for middle in (False, True):
            found[s.values["W"], s.values["balancing"], middle] = faces.words(runs, s, ls, middle)
    assert "at equal epochs PaMaL is ahead of LS" in first
    assert found[3, "gradient", False] == ["ahead"] * 3
    assert "but on gender and ethnicity the comparison is open" in first
    assert "of its best network is still lower" in first
    assert found[1, "gradient", False] == ["ahead", "open", "open"]
    assert "without balancing the loss on age is open, too" in first
    assert found[1, "none", False][0] == "open"
    assert "is open against LS on all three tasks" in first
    assert found[1, "gradient", True] == ["open"] * 3
    (three,) = (s for s in reduced if s.values["W"] == 3)
    assert three.values["p"] == 2 and "(p = 2)" in passage("utkface", "faces-text")
    assert faces.beside_ls(runs, [s for s in reduced if s != ls]) == ""
    assert faces.beside_ls({**runs, ls: runs[three]}, reduced) == ""
    longer = ls.having(epochs=30)
    assert longer not in runs and "LS of 30 epochs is not run" in first
    assert faces.beside_ls({**runs, longer: runs[ls]}, reduced) == ""


def test_the_page_of_faces_counts_networks_that_are_worse_than_a_constant(runs):
    """From the JSON alone."""
    worst, worse, every = [1.0, 1.0], [], 0
    for path in sorted((grid.ROOT / "results/reduced/utkface").glob("*.json")):
        record = json.loads(path.read_text("utf-8"))
        points = [p for p in record["points"] if p["split"] == "test, recalibrated"]
        if record["method"] == "stl" or not points:
            continue
        every += len(points)
        for point in points:
            shown = point["metrics"]
            for k, task in enumerate(("gender", "ethnicity")):
                worst[k] = min(worst[k], shown[f"{task}/accuracy"])
            if shown["age/loss"] > 0.42:
                worse.append((path.stem, record["options"]["W"], point["alpha"][2]))
    text = next(one for one in said(page("utkface")) if "**Did the networks learn?**" in one)
    assert (
        f"of all {every} networks is right in {100 * worst[0]:.1f} % and {100 * worst[1]:.1f} %"
        in text
    )
    runs_of_these = {(name, draws) for name, draws, _ in worse}
    assert {draws for _, draws in runs_of_these} == {1} and len(runs_of_these) == 2
    assert f"Here {len(worse)} networks are worse, all in two runs of PaMaL with one draw" in text
    assert f"has a share α of at least {min(share for *_, share in worse):.1f}." in text


def test_the_page_of_faces_names_the_best_baseline_of_each_task(runs):
    """By the records alone; a difference is positive in favour of PaMaL."""
    values = {metric: {} for metric in faces.METRICS}
    for path in (grid.ROOT / "results/reduced/utkface").glob("*.json"):
        record = json.loads(path.read_text())
        if record["method"] == "stl" or record["options"].get("W") == 1:
            continue
        points = [p["metrics"] for p in record["points"] if p["split"] == "test, recalibrated"]
        for metric, of in values.items():
            best = min if metric == "age/loss" else max
            of.setdefault(record["method"], []).append(best(point[metric] for point in points))
    told = next(t for t in said(page("utkface")) if "**LS is not the strongest baseline.**" in t)
    names = {"mgda": "MGDA", "nash_mtl": "Nash-MTL", "uw": "UW"}
    for metric, of in values.items():
        sign, ours = -1 if metric == "age/loss" else 1, np.mean(of.pop("pamal"))
        assert sorted(map(len, of.values())) == [1] * 10 + [3] * 2
        best = max(of, key=lambda method: sign * np.mean(of[method]))
        lead = sign * (ours - np.mean(of[best]))
        assert f"On {metric.partition('/')[0]} it is {names[best]}, and " in told
        assert f" ({lead:+.4f} [" in told
    assert "Ten of the baselines have one seed each" in told
    alone = {one: seeds for one, seeds in runs.items() if one.method in ("ls", "pamal")}
    assert faces.beside_the_best(alone, comparisons.labels("utkface", "reduced/")) == ""


def test_nothing_is_said_of_what_faces_learnt_without_runs(runs):
    made = [setting for setting in comparisons.labels("utkface", "reduced/") if setting in runs]
    assert faces.learnt(runs, []) == ""
    assert faces.learnt(runs, [one for one in made if one.method == "ls"]) == ""


def test_the_page_of_faces_says_that_each_seed_of_ls_is_better(runs):
    ls, (ours,) = records("utkface/ls"), records("utkface/pamal-W=1")
    (plain,) = records("utkface/pamal-none")
    assert ours["options"]["W"] == plain["options"]["W"] == 1
    assert len({one["options"]["epochs"] for one in [*ls, ours, plain]}) == 1

    def of(record, name):
        return [p["metrics"][name] for p in record["points"] if p["split"] == "test"]

    told = next(text for text in said(page("utkface")) if "**Each seed of LS is better" in text)
    assert f"(seeds: {len(ls)} of LS, 1 of PaMaL)" in told
    alone = [value for one in ls for value in of(one, "age/loss")]
    best = min(of(ours, "age/loss"))
    assert len(alone) == len(ls) and max(alone) < best < min(of(plain, "age/loss"))
    assert f"The loss on age is {min(alone):.3f} to {max(alone):.3f} for LS, whose" in told
    number = len(of(ours, "age/loss"))
    assert f"and {best:.3f} for the best of PaMaL's {number}, picked on test." in told
    assert f"as the paper says: {min(of(plain, 'age/loss')):.3f} (seeds: 1)." in told
    for task, words in (
        ("gender", f"{{}} % on gender and PaMaL's best of {number} in {{:.1f}} %"),
        ("ethnicity", "on ethnicity in {} % and {:.1f} %"),
    ):
        right = [100 * value for one in ls for value in of(one, f"{task}/accuracy")]
        best = 100 * max(of(ours, f"{task}/accuracy"))
        both = f"{min(right):.1f} to {max(right):.1f}"
        assert min(right) > best and words.format(both, best) in told


def test_it_is_not_said_that_ls_is_better_where_the_runs_do_not_say_so(runs):
    ls, ours = select("utkface/ls"), select("utkface/pamal W=1; p=1")
    plain = ours.having(balancing="none")
    swapped = runs | {ls: runs[ours], ours: runs[ls]}
    assert faces.one_draw_beside_ls(swapped) == "" == faces.one_draw_beside_ls({})
    assert faces.without_balancing(runs | {plain: runs[ours], ours: runs[plain]}, ours) == ""
    alone = faces.one_draw_beside_ls({one: runs[one] for one in (ls, ours)})
    assert "LS is better" in alone and "balancing" not in alone


def test_what_a_huber_loss_on_age_is_in_standard_deviations():
    assert "a loss of 0.1 is an error of 0.45 standard deviations" in passage(
        "utkface", "methods-text"
    )
    off, true = torch.tensor([0.45]), torch.zeros(1)
    assert torch.nn.functional.huber_loss(off, true).item() == pytest.approx(0.1, abs=0.002)


def test_the_paper_is_said_to_differ_only_where_the_word_stands():
    words = ["", "differs", ""]
    assert "none of these three numbers" in faces.at_the_protocol(
        {}, pd.DataFrame({"verdict": [""] * 3})
    )
    assert "call one of these three numbers" in faces.at_the_protocol(
        {}, pd.DataFrame({"verdict": words})
    )


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_data_or_an_answer_before_any_code(name):
    cells = [c for c in page(name)["cells"] if "remove-cell" not in c["metadata"].get("tags", [])]
    folds = {"hide-input", "hide-cell", "remove-input"}
    (first, *_) = (
        number
        for number, cell in enumerate(cells)
        if cell["cell_type"] == "code" and not folds & {*cell["metadata"].get("tags", [])}
    )
    before, pictures = cells[:first], {"image/svg+xml", "image/png", "text/html"}
    outputs = [output for cell in before for output in cell.get("outputs", [])]
    assert any(pictures & output.get("data", {}).keys() for output in outputs)
    texts = ["".join(cell["source"]) for cell in before if cell["cell_type"] == "markdown"]
    assert len(" ".join([*texts, *said({"cells": before})]).split()) > 60


def made_up(**fields):
    """A record of the sample that has one network or two."""
    record = frame.read()[Setting("multimnist", "pamal")][0]
    return Record(**{**record.model_dump(), "data": "multimnist/sample/x", **fields})


def test_whether_there_is_a_trade_is_said_by_the_means_over_seeds():
    up, noise = np.arange(5.0), np.array([2.0, 0, 4, 1, 3])
    objectives = Objective("a/accuracy", True), Objective("b/accuracy", True)

    def front(second):
        table = pd.DataFrame({"a/accuracy": up, "b/accuracy": second})
        return Front(np.c_[up, 4 - up] / 4, table, objectives)

    strict, none, some = front(-up), front(up), front(noise)
    costs, little = "that gains on one task tends to lose on another", "the tasks hardly compete"
    assert pages.trade([strict]) == (
        "Of the five, five are not dominated: no other one is as good at every task and better at "
        "one. Among these networks accuracy on a task changes by up to 400.0 points. "
        f"Along the front a network {costs} (rank correlation \N{MINUS SIGN}1.00)."
    )
    assert pages.trade([none]) == (
        "Of the five, only one is worth choosing, because no other one is better at any task."
    )
    found = pages.trade([strict, none, some])
    correlation = spearmanr(up, noise).statistic / 3
    start = "On average over three seeds, two or three are not dominated"
    assert found.startswith(start)  # 5, 1 and 2
    assert f"{little} (rank correlation {correlation:.2f})" in found


def test_a_spread_is_told_in_the_unit_of_each_task():
    losses = pd.DataFrame({"age/loss": [0.25, 0.5], "gender/accuracy": [0.8, 0.9]})
    objectives = Objective("age/loss", False), Objective("gender/accuracy", True)
    found = pages.trade([Front(np.eye(2), losses, objectives)])
    told = "loss on age changes by 0.250 and accuracy on gender changes by 10.0 points."
    assert f"Among these networks {told}" in found


def test_one_network_has_no_trade_and_a_sample_no_paper():
    whole = made_up()
    points = [dict(point, alpha=[0.5, 0.5]) for point in whole.points if point["alpha"][0] == 0.5]
    record = made_up(points=points)
    assert len(record.front("validation").alphas) == 1
    text = pages.opening(record, frame.runs([record]))
    assert "leaves you one network." in text and "worth choosing" not in text
    assert "in the paper" not in text


def test_a_setting_that_the_paper_does_not_have_is_compared_with_nothing():
    odd = made_up(
        data="multimnist/full/offset=6/seed=0/x",
        options={"W": 9, "lam": 3.0, "p": 0.3, "epochs": 10},
    )
    text = pages.opening(odd, frame.runs([odd]))
    assert "The paper has no number for this setting." in text and "LS" not in text


def test_a_cost_is_that_of_its_kind_or_says_it_was_not_measured():
    measured = made_up(data="multimnist/full/offset=6/seed=0/x")
    seconds = grid.cost("multimnist", "pamal").seconds
    assert pages.cost(measured).startswith(f"{seconds / 60:.1f} minutes")
    assert "minute" in pages.cost(made_up()) and "seed" not in pages.cost(made_up())
    assert "GPU" in pages.cost(measured.model_copy(update={"experiment": "cityscapes"}))


def test_the_command_has_values_not_the_notebooks_quoted_for_a_shell():
    usual = grid.notebook_defaults("census") | {"options": CensusOptions()}
    found = pages.command("census", usual | {"tasks": "a, b", "W": 3, "p": math.inf, "other": 1})
    assert shlex.split(found)[3:] == ["-p", "W", "3", "-p", "p", "inf", "-p", "tasks", "a, b"]
    assert pages.command("census", usual) == "papermill notebooks/census.ipynb out.ipynb"


@pytest.mark.parametrize(
    "given",
    [
        {"lr": 0.02, "batch_size": 32},
        {"method": "stl", "task": 1},
        {"method": "ls", "weights": [0.8, 0.2]},
        {"method": "cosmos", "lam": 2.0, "average": 0.9},
        {"W": 3, "draws": "stratified", "batch_norm": "recalibrated"},
    ],
)
def test_the_command_has_options_that_the_notebooks_cell_lacks(given):
    cell = grid.notebook_defaults("census")
    options = CensusOptions.from_notebook(cell | given)
    command = pages.command("census", cell | given | {"options": options})
    words = shlex.split(command)[3:]
    flags, names, values = words[::3], words[1::3], words[2::3]
    found = dict(zip(names, map(grid.value, values), strict=False)) if "-y" not in flags else given
    assert CensusOptions.from_notebook(cell | found) == options
    assert ("-y 'weights: [0.8, 0.2]'" in command) == ("weights" in given)
