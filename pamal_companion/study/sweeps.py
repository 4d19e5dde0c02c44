"""One experiment under many settings: W times lambda, the draws of alpha, PHN and COSMOS."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from pamal_companion.plots import words
from pamal_companion.plots.captions import NO_PENALTY, Winner
from pamal_companion.study import frame, layout, paper, tables
from pamal_companion.study.frame import Runs, Setting
from pamal_companion.study.fronts import middle
from pamal_companion.study.measures import is_better_high, margin
from pamal_companion.study.statistics import Sample, differences, minus, spread, summary
from pamal_core.front import Front

CRITERIA = {"no threshold": None, "S < \N{MINUS SIGN}0.5": -0.5, "S < \N{MINUS SIGN}0.6": -0.6}
"""Bounds that Spearman's correlation must be below, by their names; None asks for nothing."""
TITLES = {"hypervolume": "hypervolume ↑", "spearman": "S", "order": "order ↑"}
"""The heads of the columns in a page."""
BEST = {TITLES["hypervolume"]: True}
"""The column whose best is bold in a page."""
CHANGED = {
    "hypervolume ↑": "hypervolume",
    "rank correlation ↓": "order",
    "ordered pairs ↑": "ordered pairs",
}
"""Measures that a penalty changes on validation. The last two are -1, and 1, if the front is in
order."""


def printed(name: str) -> pd.DataFrame:
    """Return the paper's table `name`, such as "phn_census", indexed by what it varies."""
    return paper.table(name).set_index([*layout.TABLES[name].keys])


def _printed_beside(name: str, runs: Runs, ours: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `printed` for those of `ours`: NaN where the paper has no such setting, or
    a run with these keys is not the paper's, as one of a sample or with other options."""
    keys, own = layout.TABLES[name].keys, {s.method for s in tables.rows(name)}
    others = (s for s in runs if s.method in own and not tables.row_of(s, name))
    theirs = printed(name).drop([tuple(s.values[k] for k in keys) for s in others], errors="ignore")
    return theirs.reindex(ours.index)


# W times lambda (appendix B1)


def penalty(setting: Setting) -> str:
    """Return the sign of the penalty, and the rule that skips it, if any; at lambda = 0
    `NO_PENALTY`."""
    values = setting.values
    if not values["lam"]:
        return NO_PENALTY
    rule = "" if values["skip"] == "never" else f"+{values['skip']}"
    return f"{values['penalty']}{rule}"


def by_penalty(runs: Runs, penalties: Iterable[str], measures: Sequence[str]) -> pd.DataFrame:
    """Return a row for each run `of` each of `penalties`, to which those at lambda = 0 belong, too:
    its penalty, W, lam, seed and `measures` on validation."""
    found = frame.rows(runs, ["W", "lam"], measures)
    found["penalty"] = found["setting"].map(penalty)
    return pd.concat(
        found[found["penalty"].isin([name, NO_PENALTY])].assign(of=name) for name in penalties
    )


def hypervolumes(runs: Runs, penalties: Sequence[str]) -> pd.DataFrame:
    """Return the table of appendix B1: validation hypervolume of each W and lambda, mean ±
    deviation over seeds (n - 1), for each penalty and, where it has that, in the paper."""
    found = by_penalty(runs, penalties, ["hypervolume"])
    ours = found.groupby(["W", "lam", "of"])["hypervolume"].agg(summary).unstack()
    ours, name = ours.reindex(columns=[*penalties]), f"multiforward_{next(iter(runs)).experiment}"
    theirs = _printed_beside(name, runs, ours)
    deviations = theirs["std"] * np.sqrt(layout.TABLES[name].divisor / 2)
    texts = [spread(Sample(*pair, 0)) for pair in zip(theirs["mean"], deviations, strict=True)]
    return ours.assign(paper=texts).fillna("").rename_axis(["W", "λ"])


def more_draws(runs: Runs) -> "pd.Series[str]":
    """Compare the least W with the largest, as `differences` does, both without a penalty."""
    found = by_penalty(runs, [NO_PENALTY], ["hypervolume"])
    volumes = found.pivot_table("hypervolume", "seed", "W")
    few, many = volumes.columns.min(), volumes.columns.max()
    pairs = {f"W = {few} to W = {many}": (volumes[few], volumes[many])}
    return differences(pairs, ("few", "many")).iloc[0]


def effects(runs: Runs, penalties: Sequence[str]) -> pd.DataFrame:
    """Compare runs "without" a penalty and "with" it, on validation: a row for each of `CHANGED`,
    of `penalties` and lambda. A seed's number is a mean over those W for which it has both."""
    found, parts = by_penalty(runs, penalties, [*CHANGED.values()]), []
    lams = sorted({setting.values["lam"] for setting in runs} - {0})
    for text, measure in CHANGED.items():
        pairs = {}
        for name, lam in product(penalties, lams):
            by_lam = found[found["of"] == name].pivot_table(measure, ["seed", "W"], "lam")
            means = by_lam.reindex(columns=[0, lam]).dropna().groupby("seed").mean()
            pairs[text, name, f"{lam:g}"] = means[0], means[lam]
        is_high, within = is_better_high(measure), margin(measure)
        parts.append(differences(pairs, ("without", "with"), is_high, within))
    return pd.concat(parts).rename_axis(["measure", "penalty", "λ"])


DRAWS = {
    "ahead": "**Several draws per step make the front better** if there is no penalty: from {} the "
    "hypervolume changes by {}.",
    "behind": "**Several draws per step make the front worse** if there is no penalty: from {} the "
    "hypervolume changes by {}.",
    "level": "**Several draws per step leave the front as it is** if there is no penalty: from {} "
    "the hypervolume changes by {}.",
    "open": "It is **open** whether several draws per step make the front better if there is no "
    "penalty: from {} the hypervolume changes by {}.",
}
"""By verdict: what more draws change, with the two W and the difference."""
VOLUME = {
    "ahead": "With {} (λ = {}) the front is **better** than without a penalty: the hypervolume "
    "changes by {}.",
    "behind": "With {} (λ = {}) the front is **worse** than without a penalty: the hypervolume "
    "changes by {}.",
    "level": "With {} (λ = {}) the front is **as good** as without a penalty: the hypervolume "
    "changes by {}.",
    "open": "With {} (λ = {}) it is **open** whether the front is better than without a penalty: "
    "the hypervolume changes by {}.",
}
"""By verdict: what a penalty changes, with its name, lambda and the difference."""
ORDER = {
    "ahead": "Its losses are in **better order**: the rank correlation changes by {}.",
    "behind": "Its losses are in **worse order**: the rank correlation changes by {}.",
    "level": "Its losses are in **the same order**: the rank correlation changes by {}.",
    "open": "Whether its losses are in better order is **open**: the rank correlation changes by "
    "{}.",
}
"""By verdict: how a penalty changes the order of the losses, with the difference."""
SIGNS = {
    "ordered": "the penalty of the paper's text",
    "printed": "the penalty as printed",
    "ordered+as_released": "the penalty of the paper's text and the rule of the code",
    "printed+as_released": "the penalty as printed and the rule of the code",
}
"""A penalty in a sentence, by its name as `penalty` gives it."""


def in_words(runs: Runs, penalties: Sequence[str]) -> str:
    """Return what more draws change, and each penalty at the largest lambda, on validation."""
    free, found = more_draws(runs), effects(runs, penalties)
    largest = found.index[-1][-1]

    def told(sentences: Mapping[str, str], row: "pd.Series[str]", *before: object) -> str:
        # A single seed has no verdict: its sign may be chance.
        sentence = sentences.get(row["verdict"], sentences["open"])
        return sentence.format(*before, row["difference [95 %]"])

    texts = [told(DRAWS, free, free.name)]
    for sign in penalties:
        area, order = (found.loc[(measure, sign, largest)] for measure in [*CHANGED][:2])
        texts += [told(VOLUME, area, SIGNS[sign], largest), told(ORDER, order)]
    return " ".join(texts)


def maps(runs: Runs, penalties: Sequence[str], measures: Mapping[str, str]) -> dict[str, Any]:
    """Return means over seeds for each penalty and measure (by the text that names it): a row for
    each W, a column for each lambda, NaN where there is no run."""
    found = by_penalty(runs, penalties, [*measures]).rename(columns=measures)
    return {
        name: {text: of.pivot_table(text, "W", "lam", dropna=False) for text in measures.values()}
        for name, of in found.groupby("of", sort=False)
    }


def fronts(runs: Runs) -> dict[tuple[int, float], dict[str, list[Front]]]:
    """Return the validation fronts of each (W, lambda), by penalty, a front per seed."""
    found: dict[tuple[int, float], dict[str, list[Front]]] = {}
    for setting, by_seed in runs.items():
        panel = found.setdefault((setting.values["W"], setting.values["lam"]), {})
        panel[penalty(setting)] = [record.front() for record in by_seed.values()]
    return found


# The draws of alpha (appendix A1)


def sampling(runs: Runs) -> pd.DataFrame:
    """Return a row per p, mean ± deviation over its seeds on test, of what `sampled` has."""
    return sampled(runs).groupby("p").agg(summary)


def sampled(runs: Runs) -> pd.DataFrame:
    """Return a row for each run: p, the cosine of the members at the end of training, the
    hypervolume, and each objective in the middle of the subspace and at its best along it."""
    fronts = [run.front("test") for by_seed in runs.values() for run in by_seed.values()]
    found = frame.rows(runs, ["p"], ["cosine of the members", "hypervolume"], "test")
    middles = pd.DataFrame(middle(front) for front in fronts).add_suffix(", middle")
    best = pd.DataFrame(front.ideal_point() for front in fronts).add_suffix(", best")
    return found.drop(columns=["setting", "seed"]).join([middles, best])


def drawn_in_words(runs: Runs) -> str:
    """Return how alike the members become, and how good the middle is, with the least p and the
    largest, and which p has the largest hypervolume: means over seeds on test. Add which other p it
    cannot be told from."""
    by_p = sampled(runs).groupby("p")
    means = by_p.mean()
    few, many = means.index.min(), means.index.max()
    cosine, middles = means["cosine of the members"], means.filter(like="middle").mean(axis=1)
    volumes = {p: its["hypervolume"].reset_index(drop=True) for p, its in by_p}
    best = max(volumes, key=lambda p: volumes[p].mean())
    apart = {p: minus(volumes[best], of).interval() for p, of in volumes.items() if p != best}
    near = [f"p = {p:g}" for p, (low, _) in apart.items() if not low > 0]  # or not a number
    return (
        f"With p = {few:g} the members end with a cosine of {abs(cosine[few]):.2f}, and the "
        f"network in the middle has a mean accuracy of {100 * middles[few]:.1f} %. With p = "
        f"{many:g} the cosine is {abs(cosine[many]):.2f} and the accuracy of the middle "
        f"{100 * middles[many]:.1f} %. The mean hypervolume is largest with p = {best:g}"
        + (f", but these seeds do not tell it from {words.listed(near)}." if near else ".")
    )


# PHN and COSMOS (appendix B4)


def swept(name: str, runs: Runs) -> pd.DataFrame:
    """Return `printed`, with the task names for the accuracies, of our `runs` of its method, and
    their `order`: validation, means over the seeds.

    Spearman is as low where the trade-off works backwards; then `order`, a mean over tasks, is -1
    and not 1. Either is NaN where one task has the same accuracy at every alpha, with any seed.
    """
    table, (method, data) = layout.TABLES[name], name.split("_")
    measures = [f"{task}/accuracy" for task in paper.TASKS[data]]
    measures += ["hypervolume", "competition", "order in metrics"]
    own = {setting: by_seed for setting, by_seed in runs.items() if setting.method == method}
    found = frame.rows(own, table.keys, measures).groupby([*table.keys], sort=False)[measures]
    means = found.agg(lambda numbers: numbers.mean(skipna=False))
    return means.rename(columns={"competition": "spearman", "order in metrics": "order"})


def beside_the_paper(name: str, runs: Runs) -> pd.DataFrame:
    """Return `swept` for a page, and the paper's numbers where any of `runs` is the paper's."""
    ours = swept(name, runs)
    theirs = _printed_beside(name, runs, ours)[["hypervolume", "spearman"]]
    both = ours[["hypervolume", "spearman", "order", *ours.columns[:-3]]].rename(columns=TITLES)
    if theirs.notna().any(axis=None):
        both = both.join(theirs.rename(columns=TITLES).add_prefix("paper: "))
    return both


def backwards_in_words(found: pd.DataFrame) -> str:
    """Return how many settings of `swept` have a trade-off, and how many of these run backwards."""
    low = found[found["spearman"] < -0.5]
    return (
        f"We tried {len(found)} settings. In {len(low)} of them one accuracy falls where the other "
        f"rises (S < \N{MINUS SIGN}0.5), and **{(low['order'] < 0).sum()} of these run "
        "backwards**."
    )


def seeds_in_words(runs: Runs, *methods: str) -> str:
    """Return how many seeds the settings of `methods` have: "three seeds", or "one to three seeds"
    if some have fewer than others."""
    counts = [len(by_seed) for setting, by_seed in runs.items() if setting.method in methods]
    ends = sorted({min(counts), max(counts)})
    return f"{' to '.join(map(words.in_words, ends))} seed{'s' if ends[-1] > 1 else ''}"


def winner(table: pd.DataFrame, threshold: float | None) -> tuple[Any, ...] | None:
    """Return the setting with the largest hypervolume among those with Spearman below `threshold`,
    the first of equals; None where there is none. One without a correlation is below no number."""
    allowed = table if threshold is None else table[table.spearman < threshold]
    return None if allowed.empty else tuple(allowed.hypervolume.idxmax())


def describe(table: pd.DataFrame, found: tuple[Any, ...] | None) -> str:
    """Return a `winner` of `table` in words."""
    if found is None:
        return "no setting passes"
    pairs = zip(table.index.names, found, strict=True)
    return ", ".join(f"{n} = {v}" if isinstance(v, str) else f"{n} = {v:g}" for n, v in pairs)


def winners(sweeps: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a row per method and criterion: the winning setting in `sweeps[method]`, and its
    numbers."""
    rows = {}
    for (method, table), (name, threshold) in product(sweeps.items(), CRITERIA.items()):
        found, known = winner(table, threshold), table.filter(["hypervolume", "spearman", "order"])
        numbers = {} if found is None else known.loc[found].to_dict()
        rows[paper.PRINTED[method], name] = {"setting": describe(table, found)} | numbers
    index = ["method", "criterion"]
    return pd.DataFrame.from_dict(rows, "index").rename(columns=TITLES).rename_axis(index)


def panels(runs: Runs, sweeps: Mapping[str, pd.DataFrame]) -> dict[str, dict[str, Winner]]:
    """Return for each criterion PaMaL and the winners in `sweeps`, with their validation fronts."""

    def fronts_of(method: str, keys: Sequence[str], found: tuple[Any, ...] | None) -> list[Front]:
        own = [s for s in runs if s.method == method and tuple(map(s.values.get, keys)) == found]
        return [run.front() for setting in own for run in runs[setting].values()]

    shown: dict[str, dict[str, Winner]] = {}
    for criterion, threshold in CRITERIA.items():
        shown[criterion] = {paper.PRINTED["pamal"]: ("default", fronts_of("pamal", (), ()))}
        for method, table in sweeps.items():
            found = winner(table, threshold)
            fronts = fronts_of(method, table.index.names, found)
            shown[criterion][paper.PRINTED[method]] = describe(table, found), fronts
    return shown
