"""Tell what the registered comparisons of recipes found, in sentences around their numbers."""

from collections import Counter
from collections.abc import Iterable, Sequence

from pamal_companion.plots.words import listed, ranged
from pamal_companion.study import recipes, registered
from pamal_companion.study.hypotheses import WITHIN_PICKS, by_picks
from pamal_companion.study.registered import Question
from pamal_companion.study.statistics import minus, with_minus

OURS, STRONGEST = "the best variant of PaMaL", "the best other recipe, a rewarded soup"
BY_PICKS = "a rewarded soup: right picks"
NEAR = 0.002
"""The distance from a constant answer's value within which a network is no better than it."""


def between(numbers: Iterable[float], digits: int = 1) -> str:
    """Return positive numbers for a sentence: "0.3 to 0.4", or "0.3" if all are alike when they are
    rounded. Raise ValueError for others, since a sentence says who is better."""
    low, *_, high = sorted(numbers)
    if low <= 0:
        raise ValueError(f"A sentence is written for positive numbers. Found {low}.")
    return ranged([low, high], f".{digits}f")


def of_fairness(question: Question) -> str:
    """Return the answer of the page of fairness."""
    theirs = [
        "one LS",
        "a sweep of four LS",
        "a sweep from one LS",
        "PHN",
        "PaMaL with one draw and p = 1",
    ]
    words = registered.verdicts(question)["verdict"]
    by_word: dict[str, list[str]] = {}
    for one in theirs:
        by_word.setdefault(words[f"{OURS} - {one}"], []).append(one)
    others = " ".join(
        f"Against {listed(names)} it is **{said}**." for said, names in by_word.items()
    )
    low, high = sorted(abs(end) for end in question.away("pamal", "soup").interval())
    limit, seeds = question.asked.limits[0], len(question.asked.seeds)
    ours, soup = (question.values(recipe).mean() for recipe in ("pamal", "soup"))
    without = int(registered.beside(question).loc["ls", f"none within {limit:g}"])
    return (
        "**What we found.** Suppose you accept a gap of at most 0.01, and train for eight passes. "
        "(The recipes and the measures are described [below](#two-losses-of-one-logit).) The "
        "network that you would choose from a rewarded soup has an average precision of "
        f"{soup:.3f} on test, and the one from the best variant of PaMaL {ours:.3f}. Against the "
        f"soup PaMaL is **{words[f'{OURS} - {STRONGEST}']}**, by {100 * low:.1f} to "
        f"{100 * high:.1f} points of average precision. {others} The lead over one LS says little, "
        "because its weights are equal and it has a single network: at "
        f"{without} of {seeds} seeds its gap on validation is too large, and a constant answer "
        "counts in its place. So if you need a choice by mean scores, train a soup first. If you "
        "judge by the people who are picked, [it is open](#and-by-the-people-who-are-picked) which "
        "of the two is better. We do not know why the soup wins by mean scores. One difference is "
        "that the soup trains no mixture of networks. It trains one network on both losses, then a "
        "copy for each, with nine tenths of the weight on that loss."
    )


def at_other_limits(question: Question) -> str:
    """Return what comes of the comparison at the two limits of the gap that its verdicts are not
    of, by means. Raise ValueError if the order of the recipes is another one."""
    lower, decided, higher = sorted(question.asked.limits)
    means = registered.beside(question)
    at_limit = {limit: means[f"within {limit:g}"] for limit in (lower, decided, higher)}
    others = ["sweep", "from-one", "phn"]
    ours, theirs = ({k: at[r] for k, at in at_limit.items()} for r in ("pamal", "soup"))
    low, high = (sorted(at_limit[limit][others]) for limit in (lower, higher))
    is_so = [
        all(at.idxmax() == "soup" for at in at_limit.values()),
        ours[lower] < low[0] and ours[decided] > max(at_limit[decided][others]),
        abs(ours[higher] - high[0]) < 0.001,
    ]
    if not all(is_so):
        raise ValueError(f"The sentences are written for another order of recipes. Found {is_so}")
    return (
        f"The order below the soup belongs to the limit of {decided:g}. With a gap of at most "
        f"{lower:g} the best variant of PaMaL has {ours[lower]:.3f}, below the two sweeps and PHN "
        f"({low[0]:.3f} to {low[-1]:.3f}). With {higher:g} it has {ours[higher]:.3f}, about as "
        f"much as these three ({high[0]:.3f} to {high[-1]:.3f}). The soup is above all others at "
        f"each limit, with {theirs[lower]:.3f} and {theirs[higher]:.3f}. One reason is that only "
        "four networks of a front are judged: how near one of the four comes to a limit is partly "
        "chance. No word was registered for these two limits."
    )


def of_picks(question: Question) -> str:
    """Return what came of the comparison by whom a network picks."""
    registered.estimate(question, f"{OURS} - {BY_PICKS}", "open")
    ours, theirs, ls = (by_picks(question.records, name) for name in ("pamal", "soup", "ls"))
    away = minus(ours, theirs, paired=True)
    low, high = (with_minus(f"{100 * end:.1f}") for end in away.interval())
    none, above = int((theirs == WITHIN_PICKS.base_rate).sum()), int((ours > theirs).sum())
    both, alone = theirs != WITHIN_PICKS.base_rate, int((ls == WITHIN_PICKS.base_rate).sum())
    typical = 100 * float((ours - theirs)[both].mean())
    return (
        "**It is open whether PaMaL or the soup is better by this measure.** PaMaL's picks are "
        f"right more often by {100 * away.value:.1f} points, but the interval reaches from {low} "
        f"to {high}. It is wide because of {none} of {len(ours)} seeds: none of the soup's four "
        "networks picks women and men that evenly there, so that picking at random is all that is "
        f"left of the soup. At the other seeds the difference is {typical:.1f} points. PaMaL is "
        f"above the soup at {above} of the {len(ours)} seeds. One LS is left with picking at "
        f"random at {alone}. So the soup's lead by mean scores does not carry over to the people "
        "who are picked. The two can disagree, because a mean score depends on how high a network "
        "scores everybody, and a pick only on the order. Why they do so here we do not know."
    )


def of_constants(question: Question) -> str:
    """Return how many networks are no better than a constant answer, on both scales."""
    rate = question.asked.measured.base_rate
    none, every = recipes.as_constant(question, "income/average precision", rate, NEAR)
    many, _ = recipes.as_constant(question, "income/accuracy", 1 - rate, NEAR)
    return (
        f"**No network is dead.** A constant answer has an average precision of {rate}, and of all "
        f"{every:,} networks of this comparison {none} are within {NEAR} of that. Accuracy would "
        f"not tell you: {many} of them are within {NEAR} of {1 - rate:.3f}, the accuracy of *no* "
        "to everybody."
    )


def of_one_family(questions: Sequence[Question]) -> str:
    """Return what a correction over all registered hypotheses together would change."""
    whole = registered.as_one_family(questions)
    counts = Counter(word for family in whole.changed.values() for word in family.values())
    of_each = listed([f"{number} would be *{word}*" for word, number in counts.most_common()])
    said = (
        "Each registration corrects its verdicts for its own questions. If we corrected for all "
        f"{whole.hypotheses} hypotheses of {whole.questions} registrations together, "
        f"{counts.total()} words would change: {of_each}."
    )
    lines = [
        f"* `{name}`: " + "; ".join(f"{text} (*{word}*)" for text, word in family.items())
        for name, family in whole.changed.items()
    ]
    return "\n".join([said, "", *lines])
