"""Say how a run does beside LS, at equal epochs and at equal compute, in sentences around numbers.

A network is judged on test: of a front the one with the largest hypervolume on validation, which is
the network you would choose. Its accuracy is a mean over the tasks.
"""

from collections.abc import Iterable

import numpy as np

from pamal_companion.plots.words import in_words
from pamal_companion.runs.records import Record
from pamal_companion.study import comparisons, equal_compute, frame, paper, registered, told
from pamal_companion.study.findings import FINDINGS
from pamal_companion.study.frame import Runs, Setting, select
from pamal_companion.study.hypotheses import FOUR, ONE
from pamal_companion.study.measured import MeasuredRun
from pamal_companion.study.registered import estimate
from pamal_companion.study.statistics import WITHIN, Estimate, bracket, minus, with_minus, word

CHOSEN, FRONT = "chosen hypervolume", "hypervolume"
BEYOND = "[all comparisons at equal compute](../results/beyond.html)"


def paragraphs(record: Record, runs: Runs) -> list[str]:
    """Return what a page says of the run of `record` beside LS: nothing where its setting has no
    such LS, as that of other tasks, of measures that are not accuracies, and with options that LS
    does not have."""
    ours = frame.of(record)
    ls = Setting(record.experiment, "ls")
    is_usual = {*dict(ours.options)} <= (comparisons.ALIKE if ours.method == "pamal" else {*()})
    are_made = [not np.isnan(_mean(runs, one, CHOSEN, "test")) for one in (ours, ls)]
    if not is_usual or ours.method in ("ls", "stl") or not all(are_made):
        return []
    found = [at_equal_epochs(ours, ls, runs)]
    if ours.method == "pamal":
        found.append(at_equal_compute(ours, ls, runs))
    found += [tell(runs) for tell in OTHERS.get(ours, ())]
    return [*filter(None, found)]


def at_equal_epochs(ours: Setting, ls: Setting, runs: Runs) -> str:
    """Return how the network you would choose does beside LS of as many epochs."""
    name, epochs = paper.PRINTED[ours.method], in_words(ours.values["epochs"])
    fronts = [run.front("validation") for run in runs[ours].values()]
    one = f"{name} is" if len(fronts[0].alphas) == 1 else "the network you would choose is"
    whole, best, theirs = (
        _mean(runs, *of, "validation") for of in ((ours, FRONT), (ours, CHOSEN), (ls, FRONT))
    )
    volumes = f"is {whole:.4f} for {name} and {theirs:.4f} for LS"
    if len(fronts[0].alphas) > 1:
        volumes = f"is {whole:.4f} for {name}'s front, {best:.4f} for its best network and "
        volumes += f"{theirs:.4f} for LS"
    return (
        f"**At equal epochs**, {epochs} for each method and {_rates(name, ours, ls)}, {one} right "
        f"in {_accuracy(runs, ours):.1f} % of its answers on test, and LS in "
        f"{_accuracy(runs, ls):.1f} %. {_networks(ours, ls, runs)} The hypervolume on "
        f"validation {volumes}."
    )


def _rates(name: str, ours: Setting, ls: Setting) -> str:
    """Return the rates of Adam of both methods."""
    if ours.rate == ls.rate:
        return f"both at a rate of {ls.rate:g}"
    return f"{name} at a rate of {ours.rate:g} and LS at {ls.rate:g}"


def at_equal_compute(ours: Setting, ls: Setting, runs: Runs) -> str:
    """Return how PaMaL does beside the best LS that makes at most as many passes."""
    draws, passes = ours.values["W"], int(ours.passes)
    if draws == 1:
        return (
            "**This is equal compute**, too, because PaMaL takes one draw in each step and so "
            f"makes as many passes as LS. {_advice(ours, ls, runs)}"
        )
    longer, times = ls.having(epochs=passes), "twice" if draws == 2 else f"{in_words(draws)} times"
    told = (
        f"**At equal compute** LS trains longer. Each of the {in_words(draws)} draws that PaMaL "
        f"takes in a step is a pass, so PaMaL had {times} the compute of this LS."
    )
    if longer not in runs:
        return f"{told} LS of {passes} epochs is not run. See {BEYOND}."
    accuracy = f"{_accuracy(runs, longer):.1f} %"
    if word(away(runs, longer, ls, FRONT, "validation")) == "behind":
        return (
            f"{told} But {passes} epochs make LS worse: it is right in {accuracy}. "
            f"{overfitting(ls, longer, runs)}So at the paper's rate the LS to beat is that of "
            f"{ls.values['epochs']} epochs. {_advice(ours, ls, runs)}"
        )
    return (
        f"{told} After {passes} epochs LS is right in {accuracy}. "
        f"{_networks(ours, longer, runs)} {_fronts(ours, longer, runs)} "
        f"{_advice(ours, longer, runs)}"
    )


def overfitting(short: Setting, longer: Setting, runs: Runs) -> str:
    """Return that longer training overfits, where the losses say so: those of the last epoch fall
    in training and rise on validation. They are means over tasks and over the runs that have
    kept their losses."""
    ends, after = [], []
    for setting in (short, longer):
        made = [run for run in runs[setting].values() if run.history]
        ends.append(np.mean([run.history[-1]["losses"] for run in made]))
        after.append(np.mean([run.front("validation").on("loss").values[0] for run in made]))
    if not (ends[0] > ends[1] and after[0] < after[1]):
        return ""
    return (
        f"The reason is overfitting: the loss on training falls from {ends[0]:.3f} to "
        f"{ends[1]:.3f}, and on validation it rises from {after[0]:.3f} to {after[1]:.3f}. "
    )


def away(runs: Runs, ours: Setting, theirs: Setting, measure: str, split: str) -> Estimate:
    """Return ours minus theirs."""
    one, two = (frame.measured(runs, of, measure, split) for of in (ours, theirs))
    return minus(one, two, frame.are_paired(runs, ours, theirs))


def in_volume(found: Estimate, of: str = "") -> str:
    """Return a difference of two hypervolumes with its interval, and `of` which two it is."""
    return with_minus(f"hypervolume {of}{bracket(found)}")


def _networks(ours: Setting, ls: Setting, runs: Runs) -> str:
    """Return which of two networks is ahead on test, and by how many points."""
    found, name = away(runs, ours, ls, CHOSEN, "test"), paper.PRINTED[ours.method]
    points = _accuracy(runs, ours) - _accuracy(runs, ls)
    seeds = f"{len(runs[ours])} and {len(runs[ls])} seeds"
    amount = f"{abs(points):.1f} points" if abs(points) >= 0.05 else "less than 0.1 points"
    volume = in_volume(found, f"of {name} minus LS ")
    sure, side = f"({volume}, {seeds})", "above" if points > 0 else "below"
    return {
        "ahead": f"{name} is ahead by {amount} {sure}.",
        "behind": f"LS is ahead by {amount} {sure}.",
        "level": f"The two networks are level: they differ by {amount} {sure}.",
        "open": f"It is open which network is better: {name}'s is {amount} {side} LS {sure}.",
    }[word(found)]


def _fronts(ours: Setting, ls: Setting, runs: Runs) -> str:
    """Return whether a whole front is ahead of the one network of LS, on validation."""
    found = away(runs, ours, ls, FRONT, "validation")
    return {
        "ahead": f"On validation PaMaL's whole front is ahead of it ({in_volume(found)}).",
        "behind": f"On validation even PaMaL's whole front is behind it ({in_volume(found)}).",
        "level": f"On validation PaMaL's whole front is level with it ({in_volume(found)}).",
        "open": f"Whether PaMaL's front is ahead of it on validation is open ({in_volume(found)}).",
    }[word(found)]


def _advice(ours: Setting, ls: Setting, runs: Runs) -> str:
    """Return what to train for one network."""
    if word(away(runs, ours, ls, CHOSEN, "test")) == "ahead":
        return (
            "So PaMaL's network is the better one here, but each method has its own "
            "[learning rate](../results/beyond.html#the-learning-rate), as in the paper."
        )
    return (
        "If you need one network only, train LS, because it is simpler and PaMaL's network is not "
        f"ahead of it. See {BEYOND}."
    )


def of_steps(runs: Runs) -> str:
    """Return why LS gains from the compute of PaMaL's draws on MultiMNIST, and how PaMaL gains from
    it, too; nothing where the runs do not say so."""
    four, one = Setting("multimnist", "pamal"), select("multimnist/pamal W=1; epochs=40")
    longer = select("multimnist/ls epochs=40")
    steps = away(runs, four, longer.having(batch_size=1024), FRONT, "validation")
    front = away(runs, one, longer, FRONT, "validation")
    more = away(runs, one, four, FRONT, "validation")
    network = away(runs, one, longer, CHOSEN, "test")
    doubled = longer.having(lr=one.rate)
    faster, slower = (_mean(runs, ls, FRONT, "validation") for ls in (doubled, longer))
    if doubled not in runs or faster > slower:
        return ""
    if [word(of) for of in (steps, front, more, network)] != ["ahead"] * 3 + ["open"]:
        return ""
    return (
        "**Why does LS win, and what can PaMaL do?** PaMaL's four draws share one step of the "
        "optimiser, so LS takes four times as many steps from the same compute. If LS takes as few "
        "steps, with batches four times as large, PaMaL's front is ahead of LS "
        f"({in_volume(steps)}). You can also give PaMaL those steps: take one draw in each, for "
        f"forty epochs. Its front is then ahead of LS of forty epochs ({in_volume(front)}), "
        "because more steps help PaMaL as well. PaMaL has twice the rate of LS here, but LS of "
        "forty epochs is no better at that rate. Between single networks, LS and the one that you "
        f"would choose from this front, the comparison is open ({in_volume(network)} on test)."
    )


def of_the_rate(runs: Runs) -> str:
    """Return that a part of PaMaL's lead on MultiMNIST is its doubled learning rate; nothing where
    the runs do not say so."""
    ours, ls = Setting("multimnist", "pamal"), Setting("multimnist", "ls")
    doubled = ls.having(lr=ours.rate)
    front = away(runs, ours, doubled, FRONT, "validation")
    network = away(runs, ours, doubled, CHOSEN, "test")
    gain = away(runs, doubled, ls, CHOSEN, "test")
    own = away(runs, ours.having(lr_scaling="plain"), ls, FRONT, "validation")
    if [word(of) for of in (front, network, gain, own)] != ["ahead", "open", "ahead", "open"]:
        return ""
    return (
        "**A part of the lead at equal epochs is the learning rate.** PaMaL has twice the rate of "
        "LS, as in the paper. After ten epochs LS with the doubled rate is ahead of LS with its "
        f"own ({in_volume(gain)} on test). PaMaL's front is still ahead of LS with the doubled "
        f"rate ({in_volume(front)}), but between single networks the comparison is open "
        f"({in_volume(network)} on test). If both have the rate of LS, it is open whose front is "
        f"better ({in_volume(own)})."
    )


def of_the_soup(runs: Runs) -> str:
    """Return the registered comparisons with a rewarded soup after forty passes."""
    question = equal_compute.forty()
    tuned, sweep = (
        with_minus(estimate(equal_compute.digits(), f"{told.OURS} - {name}", word))
        for name, word in (("a rewarded soup", "ahead"), ("a sweep of four LS", "open"))
    )
    four, one = (
        with_minus(estimate(question, f"front of PaMaL, {draws} - front of the better soup", word))
        for draws, word in ((FOUR, "ahead"), (ONE, "level"))
    )
    return (
        "**A rewarded soup costs as much as PaMaL and leaves you the same choice**, and the paper "
        "does not have it. After forty passes with averaged weights, on test and with "
        f"{len(question.asked.seeds)} seeds, PaMaL's front is ahead of the soup's with four "
        f"stratified draws (hypervolume {four}) and level with one draw ({one}). With every recipe "
        f"tuned, four networks of each and {len(equal_compute.digits().asked.seeds)} seeds, PaMaL "
        f"with p = 0.2 is ahead of the soup ({tuned}), and open against four short LS ({sweep}). "
        "These questions were [registered](../results/beyond.html#decided-in-advance)."
    )


def of_phn(runs: Runs) -> str:
    """Return the comparison with PHN after as many epochs; nothing where it is not open."""
    verdict, away = equal_compute.phn_minus_pamal(runs)
    if verdict != "open":
        return ""
    tuned = estimate(equal_compute.digits(), equal_compute.PHN_OF_ALL, "ahead")
    (setting,) = FINDINGS[equal_compute.PHN].ours
    trades = frame.measured(runs, setting, "competition", "validation").mean()
    if trades < -0.2 or equal_compute.singles("phn", "pamal").interval()[0] <= 0:
        raise ValueError(f"A sentence is written for other networks of PHN. Found S = {trades}.")
    return with_minus(
        "**PHN, a hypernetwork, leaves you a choice, too.** With its best setting and a quarter of "
        "PaMaL's passes it is open which front is better, on validation and with three seeds of "
        f"PHN (hypervolume of PHN minus PaMaL {away}). This setting has the largest hypervolume of "
        "PHN on validation, which favours it, and it hardly trades the digits off (its accuracies "
        f"have a rank correlation of {trades:.2f}). With every recipe tuned and equal compute, "
        "PaMaL with p = 0.2 is ahead of it in the hypervolume of four networks (PaMaL "
        f"minus PHN {tuned}). But the one network that you would choose for both digits is worse "
        "than PHN's, which was not registered."
    )


def of_tuning(runs: Runs) -> str:
    """Return the registered comparisons of PaMaL with a tuned LS on Census, and with a sweep. Raise
    ValueError if a verdict is another one."""
    tuned, sweeps = registered.known("census-at-equal-cost"), equal_compute.sweeps()
    low, high = equal_compute.leads_of_tuned_ls(tuned)
    right = {name: _right(by_seed.values()) for name, by_seed in tuned.records.items()}
    points = sorted(right["ls"] - right[name] for name in right.keys() - {"ls"})
    fronts = zip(equal_compute.TUNED, ("behind", "level", "ahead"), strict=True)
    *_, front = (estimate(tuned, f"{name} - LS: the front, test", word) for name, word in fronts)
    four = with_minus(estimate(sweeps, "Census: four points of PaMaL - four LS", "behind"))
    estimate(sweeps, "Census: eleven points of PaMaL - four LS", "behind")
    tuned_alike = equal_compute.census()
    for other in ("one LS", "a rewarded soup"):
        estimate(tuned_alike, f"{told.OURS} - {other}", "level")
    sweep = with_minus(estimate(tuned_alike, equal_compute.SWEEP_OF_FOUR, "level"))
    return (
        "**If you tune both methods, LS gives the better network.** So far LS had the paper's "
        "learning rate. We also chose the rate, the length and an average of the weights for each "
        "method, gave LS at most PaMaL's compute, registered the comparison, and then ran "
        f"{len(tuned.asked.seeds)} fresh seeds. LS is ahead of the network that you would choose "
        f"from each of three settings of PaMaL, by {points[0]:.2f} to {points[-1]:.2f} points "
        f"(hypervolume {low:.4f} to {high:.4f}, on test). The whole front of PaMaL with two draws "
        f"and the penalty is ahead of that one network of LS (hypervolume {front}), without the "
        "penalty it is level, and with one draw behind. All these "
        f"leads are smaller than {WITHIN:g}, within which we would call two methods level.\n\n"
        "**If you want several networks, it matters more how you tune than which of PaMaL, LS and "
        "a soup you train.** Two registered comparisons say so. At 0.0006, a rate that is probably "
        f"too high for twenty epochs, with {len(sweeps.asked.seeds)} seeds, four LS of five epochs "
        "each are ahead of four networks from one run of PaMaL of twenty passes (hypervolume of "
        f"PaMaL minus the sweep {four}), and of all eleven. If every recipe has its best rate, "
        f"sixteen passes and {len(tuned_alike.asked.seeds)} seeds, four points of the best variant "
        f"of PaMaL are level with the sweep ({sweep}), with one LS and with a rewarded soup "
        "([which recipe](../results/beyond.html#census-16-passes))."
    )


def of_three_digits(runs: Runs) -> str:
    """Return which baselines are not run on three digits."""
    if any(one.experiment == "multimnist3" and one.method == "soup" for one in runs):
        return ""
    return "A sweep of LS and a rewarded soup, which also leave you a choice, are not run here."


OTHERS = {
    Setting("multimnist", "pamal"): (of_the_soup, of_phn, of_steps, of_the_rate),
    Setting("census", "pamal"): (of_tuning,),
    Setting("multimnist3", "pamal"): (of_three_digits,),
}
"""By setting, what else its page says."""


def _mean(runs: Runs, setting: Setting, measure: str, split: str) -> float:
    """Return the mean over seeds, NaN without a number."""
    return float(frame.measured(runs, setting, measure, split).mean())


def _accuracy(runs: Runs, setting: Setting) -> float:
    """Return in per cent how often the network you would choose is right on test."""
    return _right(runs[setting].values())


def _right(made: Iterable[Record | MeasuredRun]) -> float:
    """Return in per cent how often the network you would choose is right, in the mean over runs."""
    numbers = []
    for run in made:
        best = run.front("validation").values.prod(axis=1).argmax()
        numbers.append(run.front("test").values[best].mean())
    return 100 * float(np.mean(numbers))
