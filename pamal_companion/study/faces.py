"""Say what the runs on real faces found, in sentences around their numbers."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from pamal_companion.plots.table import Html, folded, table
from pamal_companion.plots.words import in_words, listed, ranged
from pamal_companion.study import comparisons, frame
from pamal_companion.study.frame import Runs, Setting, select
from pamal_companion.study.fronts import middle
from pamal_companion.study.measures import is_better_high, margin
from pamal_companion.study.statistics import Estimate, bracket, minus, word
from pamal_core.front import Front

SPLIT = "test, recalibrated"
SAID = {
    "holds": ("holds", "hold"),
    "fails": ("fails", "fail"),
    "open": ("is open", "are open"),
    "not run": ("is not run", "are not run"),
}
"""A verdict as a sentence says it of one statement, and of several."""
BESIDE = {
    "ahead": "PaMaL is ahead",
    "behind": "PaMaL is behind",
    "level": "the two are level",
    "open": "the comparison is open",
}
METRICS = ("age/loss", "gender/accuracy", "ethnicity/accuracy")
CONSTANT = (0.42, 52.5, 42.5)
"""Says what the best constant answer has: a loss on age, and how often it is right on gender and on
ethnicity, in percent. Each test part is a little different."""


def answer(runs: Runs, named: Mapping[Setting, str], asked: pd.DataFrame) -> str:
    """Return what the runs of the settings in `named` say of PaMaL beside LS, and of the statements
    `asked` how many hold, in Markdown."""
    made = [setting for setting in named if setting in runs]
    number = sum(len(runs[setting]) for setting in made)
    counts = asked["verdict"].value_counts()
    words = [f"{in_words(counts[of])} {SAID[of][int(counts[of] > 1)]}" for of in counts.index]
    lines = [
        f"* **{of}**: {'; '.join(asked['claim'][asked['verdict'] == of])}."
        for of in ("holds", "fails")
        if of in counts
    ]
    statements = (
        f"**{in_words(len(asked)).capitalize()} statements** are tested on all {number} runs at "
        f"equal epochs. Of these {listed(words)}:\n\n" + "\n".join(lines)
    )
    told = beside_ls(runs, made), beside_the_best(runs, named), learnt(runs, made)
    return "\n\n".join([*filter(None, told), statements])


def beside_ls(runs: Runs, made: list[Setting]) -> str:
    """Return how PaMaL is beside LS at equal epochs and at equal compute; nothing where the runs
    are not made, or say other words."""
    pamal = {(s.values["W"], s.values["balancing"]): s for s in made if s.method == "pamal"}
    ls = [setting for setting in made if setting.method == "ls"]
    if not ls or not {(3, "gradient"), (1, "gradient"), (1, "none")} <= pamal.keys():
        return ""
    three, one, plain = (pamal[at] for at in ((3, "gradient"), (1, "gradient"), (1, "none")))
    longer = ls[0].having(epochs=int(three.passes))
    found = [
        words(runs, three, ls[0]),
        words(runs, one, ls[0]),
        words(runs, plain, ls[0])[:1],
        words(runs, one, ls[0], of_middle=True),
    ]
    expected = [["ahead"] * 3, ["ahead", "open", "open"], ["open"], ["open"] * 3]
    if found != expected or longer in runs:
        return ""
    _, gender, ethnicity = (away(runs, three, ls[0], metric) for metric in METRICS)
    age = away(runs, one, ls[0], "age/loss")
    ours, theirs = (
        frame.measured(runs, setting, "age/loss", SPLIT).mean() for setting in (three, ls[0])
    )
    number = in_words(len(runs[three][0].front(SPLIT).alphas))
    epochs, seeds = in_words(three.values["epochs"]), in_words(len(runs[three]))
    return (
        f"**By the reduced protocol and at equal epochs PaMaL is ahead of LS.** We trained both "
        f"for {epochs} epochs with {seeds} seeds. PaMaL took three draws in each step, "
        "balanced the gradients of the tasks, and had "
        f"{in_words(round(three.rate / ls[0].rate))} times the rate of LS, as in the paper. Of "
        f"PaMaL's {number} networks we "
        "took the best at each task on test, because the reduced protocol holds out no faces, and "
        "LS has one network. So a part of the lead is probably this choice, and another part the "
        "rate, at which LS is not run. A sweep of LS and a "
        "rewarded soup, which also leave you a choice, are not run on faces. The loss on age is "
        f"{ours:.3f} for PaMaL's best of {number} and {theirs:.3f} for LS. PaMaL's best of "
        f"{number} is {100 * gender.value:.1f} points more accurate on gender "
        f"({bracket(gender)}), and {100 * ethnicity.value:.1f} points on ethnicity "
        f"({bracket(ethnicity)}).\n\n"
        "**At equal compute most of the lead is open.** Three draws are three passes, so PaMaL had "
        f"three times the compute of LS, and LS of {longer.values['epochs']} epochs is not run. "
        "With one draw PaMaL makes as many passes as LS. The loss on age of its best network is "
        f"still lower, by {age.value:.3f} ({bracket(age)}), but on gender and "
        "ethnicity the comparison is open. Gradient balancing needs a backward run for each task, "
        "which passes do not count, and without balancing the loss on age is open, too. The "
        "network in the middle, which nobody has chosen on test, is open against LS on all three "
        "tasks. So if you need one network only, train LS: it is simpler, and at equal compute no "
        "network of PaMaL that is chosen without the test set is ahead of LS here."
    )


def beside_the_best(runs: Runs, named: Mapping[Setting, str]) -> str:
    """Return how the best of PaMaL's fronts with three draws is beside the best baseline of each
    task; nothing where it is not run, or where LS is the best baseline of a task."""
    pamal = [s for s in named if s in runs and s.method == "pamal" and s.values["W"] == 3]
    others = [s for s in named if s in runs and s.method not in ("pamal", "stl")]
    once = [setting for setting in others if len(runs[setting]) == 1]
    if len(pamal) != 1 or not once:
        return ""
    said = []
    for metric in METRICS:
        means = {one: upwards(runs, one, metric, SPLIT).mean() for one in others}
        best = max(others, key=means.__getitem__)
        if best.method == "ls":
            return ""
        lead = away(runs, pamal[0], best, metric)
        verb = BESIDE[word(lead, margin(metric))]
        task = metric.partition("/")[0]
        said.append(f"On {task} it is {named[best]}, and {verb} ({bracket(lead)}).")
    return (
        "**LS is not the strongest baseline.** We compared PaMaL with three draws with the best of "
        f"{in_words(len(others))} baselines at each task. {' '.join(said)} A positive difference "
        f"is in favour of PaMaL. {in_words(len(once)).capitalize()} of the baselines have one seed "
        "each, so that their intervals are wide; and PaMaL is again the best of its front on test, "
        "with three draws in a step."
    )


def each_method(runs: Runs, named: Mapping[Setting, str], metrics: Mapping[str, str]) -> Html:
    """Return a table of the methods in `named`, which are run, with a row for each that has several
    seeds; and folded below it one of the others."""
    often = {setting: name for setting, name in named.items() if len(runs[setting]) > 1}
    once = {setting: name for setting, name in named.items() if setting not in often}
    first, second = (
        table(comparisons.methods(of, runs, metrics, SPLIT)) if of else "" for of in (often, once)
    )
    rest = folded(f"The methods with one seed, {len(once)} rows", second) if once else ""
    return Html("\n".join(filter(None, [first, rest])))


def learnt(runs: Runs, made: list[Setting]) -> str:
    """Return how far the worst networks are from a constant answer; nothing where the runs are not
    made, or where others are worse on age than those near the member of ethnicity, in one run of
    each setting."""
    fronts = [
        (setting, run.front(SPLIT))
        for setting in made
        if setting.method != "stl"
        for run in runs[setting].values()
    ]
    if not fronts:
        return ""
    gender, ethnicity = (
        100 * min(front.table[metric].min() for _, front in fronts) for metric in METRICS[1:]
    )
    of_each = [(one, front.alphas[front.table["age/loss"] > CONSTANT[0]]) for one, front in fronts]
    worse = [(one, alphas) for one, alphas in of_each if len(alphas)]
    settings = {one for one, _ in worse}
    is_of_one_draw = all(one.method == "pamal" and one.values["W"] == 1 for one in settings)
    if not worse or not is_of_one_draw or len(settings) != len(worse):
        return ""
    alphas = np.concatenate([alphas for _, alphas in worse])
    share, number = alphas[:, 2].min(), len(alphas)
    return (
        f"**Did the networks learn?** A constant answer is right in some {CONSTANT[1]} % on gender "
        f"and in {CONSTANT[2]} % on ethnicity. The worst of all {sum(len(f) for _, f in fronts)} "
        f"networks is right in {gender:.1f} % and {ethnicity:.1f} %. The loss on age of a constant "
        f"answer is {CONSTANT[0]}. Here {number} networks are worse, all in {in_words(len(worse))} "
        f"runs of PaMaL with one draw. In each of these networks the member of ethnicity, which "
        f"is hardly trained for age, has a share α of at least {share:.1f}."
    )


def words(runs: Runs, ours: Setting, ls: Setting, of_middle: bool = False) -> list[str]:
    """Return the word on each task: whether the best of a front, or its middle, is ahead of LS."""
    return [word(away(runs, ours, ls, metric, of_middle), margin(metric)) for metric in METRICS]


def away(runs: Runs, ours: Setting, ls: Setting, metric: str, of_middle: bool = False) -> Estimate:
    """Return the lead over LS of the best of a front, or of its middle."""
    one, two = (upwards(runs, setting, metric, SPLIT) for setting in (ours, ls))
    if of_middle:
        found = {seed: middle(run.front(SPLIT))[metric] for seed, run in runs[ours].items()}
        one = sign(metric) * pd.Series(found, dtype=float)
    return minus(one, two)


def upwards(runs: Runs, setting: Setting, metric: str, split: str) -> "pd.Series[float]":
    """Return the best of each seed of a setting, negated if lower is better."""
    return sign(metric) * frame.measured(runs, setting, metric, split)


def sign(metric: str) -> int:
    """Return 1 if higher is better, and else -1."""
    return 1 if is_better_high(metric) else -1


def at_the_protocol(runs: Runs, beside: pd.DataFrame) -> str:
    """Return how many numbers differ from the paper's, how one seed of PaMaL is beside LS, and what
    is not run."""
    number, every = int((beside["verdict"] == "differs").sum()), in_words(len(beside))
    told = (
        f"We call none of these {every} numbers different from the paper's, because no 95% "
        "interval of a difference lies wholly beyond the tolerance."
    )
    if number:
        told = (
            f"We call {in_words(number)} of these {every} numbers different from the paper's, "
            "because the 95% interval of the difference lies wholly beyond the tolerance."
        )
    rest = (
        "But one or two seeds have a wide interval, so this table cannot confirm the paper either. "
        "The row that the paper's text is about, three draws with gradient balancing, is not run. "
        "It costs the most, because each of its three draws needs a backward run for each of three "
        "tasks."
    )
    return "\n\n".join(filter(None, [f"{told} {rest}", one_draw_beside_ls(runs)]))


def one_draw_beside_ls(runs: Runs) -> str:
    """Return that at the paper's protocol every seed of LS is better at all three tasks than the
    best of PaMaL's fronts with one draw, and what gradient balancing changes; nothing where the
    runs do not say so."""
    ls, ours = select("utkface/ls"), select("utkface/pamal W=1; p=1")
    theirs, best = (
        [upwards(runs, setting, metric, "test") for metric in METRICS] for setting in (ls, ours)
    )
    pairs = [*zip(theirs, best, strict=True)]
    if not all(len(one) and len(two) and one.min() > two.max() for one, two in pairs):
        return ""
    number = in_words(len(next(iter(runs[ours].values())).front("test").alphas))
    seeds = [len(runs[setting]) for setting in (ls, ours)]
    losses, *right = pairs
    age = [ranged(-values, ".3f") for values in losses]
    gender, ethnicity = ([ranged(100 * values, ".1f") for values in pair] for pair in right)
    told = (
        "**Each seed of LS is better at all three tasks than PaMaL with one draw** (seeds: "
        f"{seeds[0]} of LS, {seeds[1]} of PaMaL). With one draw in a step PaMaL makes as many "
        f"passes as LS. The loss on age is {age[0]} for LS, whose run gives one network, and "
        f"{age[1]} for the best of PaMaL's {number}, picked on test. In the same way LS is right "
        f"in {gender[0]} % on gender and PaMaL's best of {number} in {gender[1]} %, and on "
        f"ethnicity in {ethnicity[0]} % and {ethnicity[1]} %. A choice on test favours PaMaL, and "
        "LS is better all the same. So few seeds do not tell whether other seeds would agree, and "
        "we do not know why LS is better here."
    )
    return " ".join(filter(None, [told, without_balancing(runs, ours)]))


def without_balancing(runs: Runs, balanced: Setting) -> str:
    """Return that PaMaL's best loss on age is higher at each seed without gradient balancing;
    nothing where the runs do not say so."""
    with_it, without = (
        frame.measured(runs, setting, METRICS[0], "test")
        for setting in (balanced, balanced.having(balancing="none"))
    )
    if not len(with_it) or not len(without) or without.min() <= with_it.max():
        return ""
    return (
        "Without gradient balancing PaMaL's best loss on age is higher, as the paper says: "
        f"{ranged(without, '.3f')} (seeds: {len(without)}). That is open, too."
    )


def of_a_front(front: Front) -> str:
    """Return how many networks of one run are not dominated, and where the best ones lie."""
    best, members = front.values.argmax(0), front.alphas.argmax(0)
    shares = [f"{front.alphas[point, k]:.1f}" for k, point in enumerate(best)]
    own = np.array([front.values[point, k] for k, point in enumerate(members)])
    places = [f"{place}" for place in 1 + (front.values > own).sum(0)]
    names = [objective.task for objective in front.objectives]
    return (
        f"In this run {in_words(front.non_dominated().sum())} of the {len(front.alphas)} networks "
        "are not dominated: no other one is as good at every task and better at one. For "
        f"{listed(names)} the best network takes a share of {listed(shares)} from the member of "
        f"that task. A member alone has rank {listed(places)} of {len(front.alphas)} at its own "
        "task."
    )
