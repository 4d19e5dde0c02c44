"""The dial of conflict: what the records have at each number of features between encoder and
heads."""

from functools import cache

import numpy as np
import pandas as pd

from pamal_companion.experiments.options import SWEEP
from pamal_companion.plots.dial import FIVE, LONG, ONE, PAMAL, SOUP
from pamal_companion.plots.words import listed
from pamal_companion.study import recipes
from pamal_companion.study.frame import united, volume
from pamal_companion.study.fronts import span
from pamal_companion.study.hypotheses import WIDTHS, sweep
from pamal_companion.study.measures import points_apart
from pamal_companion.study.registered import Question, beside, estimate, known, verdicts
from pamal_companion.study.statistics import bracket, summary
from pamal_core.front import Front

CHANCE = 0.2
"""An accuracy that is hardly above that of guessing, of ten digits."""


def settings(width: int) -> dict[str, list[str]]:
    """Return by method the names of its settings at so many features."""
    return {
        PAMAL: [f"{width}-pamal"],
        FIVE: sweep(width, 10),
        ONE: [f"{width}-ls-0.5"],
        SOUP: [f"{width}-soup"],
        LONG: sweep(width, 50),
    }


def question() -> Question:
    """Return the registration of the dial."""
    return known("dial-of-conflict")


@cache
def fronts(width: int) -> dict[str, list[Front]]:
    """Return by method the validation fronts at so many features, one for each seed."""
    found = settings(width).items()
    return {method: [*united(question().records, names).values()] for method, names in found}


@cache
def volumes() -> dict[str, list[list[float]]]:
    """Return by method, at each of `WIDTHS`, the hypervolume of each seed's front."""
    found = {width: fronts(width) for width in WIDTHS}
    return {
        method: [[volume(front) for front in found[width][method]] for width in WIDTHS]
        for method in found[WIDTHS[0]]
    }


def table() -> pd.DataFrame:
    """Return the hypervolumes for a page: mean ± standard deviation over seeds (n - 1), a row for
    each number of features."""
    columns = {name: [summary(pd.Series(one)) for one in of] for name, of in volumes().items()}
    return pd.DataFrame(columns, index=pd.Index(WIDTHS, name="k"))


@cache
def judged() -> pd.DataFrame:
    """Return the registered verdicts of the dial, by hypothesis."""
    return verdicts(question())


@cache
def again() -> pd.DataFrame:
    """Return the registered verdicts at fresh seeds, by hypothesis."""
    return verdicts(known("dial-at-fresh-seeds"))


def word(width: int, part: str = "the front") -> str:
    """Return the registered verdict at so many features, on the front or on the middle."""
    return str(judged().filter(like=f"k = {width}: {part}", axis=0)["verdict"].item())


def undying() -> Question:
    """Return the registration of features that cannot die."""
    return known("bottleneck-that-cannot-die")


def of_the_undying(question: Question) -> str:
    """Return the two words that decide whether a front pays behind features that cannot die."""
    networks = beside(question)
    if networks["as a constant"].any():
        raise ValueError("The sentences say that no task ends at the loss of a constant answer.")
    for width, other, word in UNDYING:
        name = f"k = {width}: the best variant of PaMaL - {other}"
        estimate(question, name, word)
    dead = {recipe: at_a_constant(question, recipe) for recipe in question.recipes}
    stuck = [recipe for recipe, (count, _) in dead.items() if count]
    if {*stuck} != {*UNTRAINED}:
        raise ValueError(f"The sentences count networks at a constant in others. Found {stuck}.")
    (lost, of_sweep), (few, of_front), (more, _) = (dead[recipe] for recipe in UNTRAINED)
    limit, tasks = question.asked.constant_loss, int(networks.loc["k=3-pamal", "tasks"])
    return (
        "**With features that cannot die we could not show that a front of PaMaL is better than "
        "that of the strongest other recipe, nor better than one LS.** We took 3 and 6 features "
        "with a LeakyReLU, gave each recipe eight passes, and asked with twelve seeds. Of each "
        "front the four points that are best on validation were compared on test. With 3 features "
        "it is **open** whether PaMaL is better than PHN, which was the strongest other recipe at "
        f"the seeds of the tuning: PaMaL is {lead(question, 3, 'phn')}. With 6 features it is "
        "**open** whether PaMaL is better than a rewarded soup, which was the strongest one there: "
        f"PaMaL is {lead(question, 6, 'soup')}.\n\n"
        "Here it is open with 3 features and open with 6 whether PaMaL is better than one LS with "
        "as many passes. So the large lead over LS at few features, in the runs with a ReLU below, "
        "is probably one over networks that had not trained. With 3 features PaMaL is behind a "
        f"soup, being {lead(question, 3, 'soup')}.\n\n"
        "What stays is the lead over a sweep, four LS that share PaMaL's passes. With 6 features "
        f"PaMaL is ahead of it, {lead(question, 6, 'sweep')}, probably because each LS trains for "
        f"two epochs only. With 3 features PaMaL is {lead(question, 3, 'sweep')}, but this larger "
        "lead is in part one over networks that have not learnt a digit.\n\n"
        f"How many are these? We call a digit unlearnt if its loss ends above {limit:g}, near "
        f"ln 10, the loss of a constant answer. In the sweep with 3 features {lost} of {of_sweep} "
        "are. With each seed they belong to its two outer networks, to the digit that has a weight "
        f"of 0.2. Of PHN {few} of {of_front} are, of PaMaL with one draw {more}, and of all other "
        f"recipes none. With 6 features there is none at all. And of {tasks} tasks of each recipe, "
        f"two for each seed, not one ends at a loss above {limit:g} in all networks of its run.\n\n"
        "A sweep whose four LS go on from one LS is the stronger one. PaMaL is ahead of it with 3 "
        f"features, {lead(question, 3, 'from-one')}, and with 6 it is open."
    )


UNDYING = (
    (3, "the best other recipe, PHN", "open"),
    (6, "the best other recipe, a rewarded soup", "open"),
    (3, "one LS", "open"),
    (6, "one LS", "open"),
    (3, "a rewarded soup", "behind"),
    (3, "a sweep of four LS", "ahead"),
    (6, "a sweep of four LS", "ahead"),
    (3, "a sweep from one LS", "ahead"),
    (6, "a sweep from one LS", "open"),
)
"""Features, recipe and word that the sentences on features that cannot die are written for."""


UNTRAINED = ("k=3-sweep", "k=3-phn", "k=3-today")
"""Recipes of which some network has not learnt a digit."""


def at_a_constant(question: Question, recipe: str) -> tuple[int, int]:
    """Return how many losses on test, of all networks of a recipe and each task, are above that of
    a constant answer or no number, and of how many."""
    above = [
        ~(front.on("loss").values <= question.asked.constant_loss)
        for by_seed in recipes.of_recipe(question, recipe).values()
        for front in (record.front("test") for record in by_seed.values())
    ]
    return sum(int(part.sum()) for part in above), sum(part.size for part in above)


def lead(question: Question, width: int, other: str) -> str:
    """Return how far PaMaL's four points are above those of another recipe, in points of accuracy
    on each digit, with the difference in hypervolume and its 95 % interval."""
    ours, theirs = (f"k={width}-{recipe}" for recipe in ("pamal", other))
    points = points_apart(question.values(ours).mean(), question.values(theirs).mean(), 2)
    side = "above" if points > 0 else "below"
    away = bracket(question.away(ours, theirs))
    return f"{abs(points):.1f} points of accuracy on each digit {side} it (hypervolume {away})"


FEW = tuple(width for width in WIDTHS if width <= 6)
"""Numbers of features behind which many networks did not train."""
STUCK = 0.025
"""The distance from ln 10 within which a loss is one of a network that was never trained."""


def fronts_at_few(method: str) -> list[Front]:
    """Return the fronts of a method on test, of each of `FEW` and of each seed."""
    records = question().records
    by_width = [united(records, settings(width)[method], "test") for width in FEW]
    return [front for by_seed in by_width for front in by_seed.values()]


def untrained() -> str:
    """Return how many networks with few features were never trained, on both sides."""
    long = fronts_at_few(LONG)
    accuracies = np.concatenate([front.values for front in long])
    losses = np.concatenate([front.on("loss").values for front in long])
    unread = accuracies < CHANCE
    stuck = unread & (np.abs(losses - np.log(10)) < STUCK)
    unread_of_short = sum(int((one.values < CHANCE).sum()) for one in fronts_at_few(FIVE))
    # Digits that no network of a run reads.
    unread_by = {
        method: sum(int((one.values.max(axis=0) < CHANCE).sum()) for one in fronts_at_few(method))
        for method in (PAMAL, SOUP, FIVE)
    }
    networks, runs = len(accuracies), 2 * len(fronts_at_few(PAMAL))
    return (
        "**What the older runs are worth.** All other runs of this page have a ReLU behind the "
        "features, and with few features many networks were never trained. With "
        f"{FEW[0]} to {FEW[-1]} features we trained {networks} networks of LS for ten epochs. "
        f"Of their {accuracies.size} tasks, {unread.sum()} have a test accuracy below {CHANCE:g}. "
        f"Of these, {stuck.sum()} end with a loss within {STUCK:g} of ln 10, the loss "
        "of a network that was never trained. The five short LS that PaMaL is compared with are "
        f"like them: of {accuracies.size} tasks {unread_of_short} have so low an accuracy. If one "
        f"counts a digit as unread only if no network of a run reads it, few are left. Of {runs} "
        f"digits, two for each run, PaMaL leaves {unread_by[PAMAL]} unread, a soup "
        f"{unread_by[SOUP]}, and five short LS {unread_by[FIVE]}.\n\n"
        "So a lead of PaMaL at the low end of the dial is in part a lead over networks that did "
        "not train. It is no proof that the two digits compete."
    )


def answer() -> str:
    """Return what the dial says. Raise ValueError unless its registered verdicts are those that the
    sentences are written for."""
    few, paper = 6, WIDTHS[-1]
    estimates, fresh = judged()["estimate"], again()["verdict"]
    front_text = f"k = {paper}: the front of PaMaL - five LS of two epochs"
    middle_text = f"k = {paper}: the middle of PaMaL's front - one LS of ten epochs"
    most_text = f"k = {few}: the front of PaMaL - five LS of two epochs"
    means = {name: np.mean(of[-1]) for name, of in volumes().items()}
    is_so = [
        word(paper) == "ahead",
        word(paper, "the middle") == "behind",
        {word(width) for width in WIDTHS[:-1]} == {"open"},
        {*fresh} == {"ahead"},
        judged().filter(like="spread", axis=0)["verdict"].item() == "holds",
        means[ONE] > means[FIVE],
    ]
    if not all(is_so):
        raise ValueError(f"The sentences on the dial are written for other verdicts. Found {is_so}")
    tried = listed([int(name.split()[2].rstrip(":")) for name in fresh.index])
    reach = {
        width: 100 * np.mean([span(one) for one in fronts(width)[PAMAL]]) for width in (few, paper)
    }
    return (
        "**What the dial shows.** At each number of features k, one run of PaMaL and five LS of "
        "different weights have ten passes over the training data in all, and there are five "
        "seeds. If the two digits share few features, the ends of PaMaL's front are far apart. "
        f"They differ by {reach[paper]:.0f} points of accuracy on a digit with the "
        f"paper's {paper} features, and by {reach[few]:.0f} points with {few}. That this "
        f"spread falls from k = 2 to k = {paper} was registered, and it **holds**.\n\n"
        f"With {paper} features **one run of PaMaL is ahead of five LS** (hypervolume "
        f"{estimates[front_text]}), because each of the five trains for two epochs only. One LS of "
        f"ten epochs alone reaches {means[ONE]:.2f}, more than the five together, which reach "
        f"{means[FIVE]:.2f}. And **one LS is better than the middle of PaMaL's front** "
        f"({estimates[middle_text]}), by about half a point on each digit.\n\n"
        "With fewer features five seeds were too few to decide between PaMaL and five LS. So we "
        f"ran fifteen fresh seeds with {tried} features. **PaMaL is ahead of five LS with each "
        f"of them**, most clearly with {few} (hypervolume {again()['estimate'][most_text]}). Two "
        "features were not tried again. These runs cannot tell how much of the lead comes from a "
        "conflict, and how much from networks that were never trained."
    )


def neglected() -> str:
    """Return how many networks of LS give up a digit, and whether runs of PaMaL do."""

    def given_up(front: Front) -> np.ndarray:
        return np.asarray((front.values < CHANCE).any(axis=1))

    few, even = 6, SWEEP.index(0.5)
    at_few = np.array([given_up(front) for front in fronts(few)[LONG]])
    equal, uneven = at_few[:, even], np.delete(at_few, even, axis=1)
    both = [
        width
        for width in WIDTHS
        if all((front.values.max(axis=0) > CHANCE).all() for front in fronts(width)[PAMAL])
    ]
    return (
        f"With {few} features and ten passes each, {uneven.sum()} of {uneven.size} networks of LS "
        f"with uneven weights read one of the digits with an accuracy below {CHANCE:g}. With equal "
        f"weights it is {equal.sum()} of {equal.size}. We do not know how many of them gave the "
        "digit up for the other one, and how many were stuck. With PaMaL you need not guess: with "
        f"{listed(both)} features, every front has a network for each of the two digits."
    )
