"""The paper's claims, rows of `claims.csv`, each judged by the records.

A row says what is compared (`ours`, `theirs`: settings as `frame.select` reads them), by which
measures, on which split, how seeds are taken together, and what has to be true of the result for
the claim to hold, or to hold in part. To add a claim is to add a row.

* level: `ours`, each seed of it or their mean, against the threshold; `theirs` is shown beside it.
* difference: `ours` minus `theirs` in the direction that is better, of means over seeds, or of the
  worst seed of ours and the best of theirs ("each"); in part where it holds of any, or of the
  first, of several measures. ratio: of medians.
* rivals: the share of the baselines that are better than `ours`, or level with it.
* trend: the smallest step of `ours` from one value of the option in braces to the next.
* best: how far `theirs` is behind the best setting of a table of the paper, in deviations over
  seeds.
* criterion: what asking for a rank correlation below `theirs` costs the best setting of a table.
* text: rests on no record; says where it is shown.
"""

import csv
import operator
import re
from collections.abc import Mapping
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from numpy import ndarray as Array

from pamal_core.errors import InputError
from pamal_core.runs.records import Record
from pamal_core.study import frame, paper, tables
from pamal_core.study.frame import Runs, Setting
from pamal_core.study.measures import MEASURES, value
from pamal_core.study.pool import Group

WORDS = {True: "holds", False: "does not hold", None: "holds in part"}
Found = tuple[Array, str]
"""What a condition is asked of, all of which must meet it, and the evidence in words."""


class NotRunError(InputError):
    """There is no record for a claim."""


def table(runs: Runs) -> pd.DataFrame:
    """A row for each claim: what it says, where, our evidence, and the verdict."""
    with (Path(__file__).parent / "claims.csv").open(newline="") as file:
        claims = list(csv.DictReader(file))
    rows = [(row["claim"], row["where"], *judge(row, runs)) for row in claims]
    columns = ["claim", "where", "evidence", "verdict"]
    return pd.DataFrame(rows, pd.RangeIndex(1, len(rows) + 1), columns)


def judge(claim: Mapping[str, str], runs: Runs) -> tuple[str, str]:
    """The evidence for a row of `claims.csv`, and one of `WORDS`; "not run" without records."""
    if claim["kind"] == "text":
        return claim["measure"], WORDS[claim["holds"] == "yes"]
    try:
        estimate, evidence = KINDS[claim["kind"]](claim, runs)
    except NotRunError as error:
        return f"no record of {error}", "not run"
    part = claim["part"]
    met = meets(estimate, claim["holds"])
    if met.all():
        return evidence, WORDS[True]
    if part in ("any", "first"):
        partly = bool(met.any() if part == "any" else met[0])
    elif claim["kind"] == "rivals" and part:
        partly = bool(meets(_loosely(claim, runs), part).all())
    else:
        partly = bool(part) and bool(meets(estimate, part).all())
    return evidence, WORDS[None if partly else False]


def meets(values: Array, condition: str) -> Array:
    """Which of `values` meet a condition such as "> 0.5" or "19 to 23"."""
    if " to " in condition:
        low, high = map(float, condition.split(" to "))
        return (values >= low) & (values <= high)
    found = re.fullmatch(r"([<>]=?|=) *(\S+)", condition)
    if not found:
        raise InputError(f'A condition is written "> 0.5" or "19 to 23". Found {condition!r}.')
    sign, bound = found.groups()
    compare = {
        ">": operator.gt,
        ">=": operator.ge,
        "<": operator.lt,
        "<=": operator.le,
        "=": operator.eq,
    }
    return compare[sign](values, float(bound))


def _seeds(runs: Runs, text: str, measure: str, split: str, reference: str = "") -> pd.DataFrame:
    """A measure of every run of the setting `text`: a row per seed, a column for each task of
    "objectives", else one. Several settings, with | between, give their columns side by side.

    NotRunError where one has no record.
    """
    if "|" in text:
        parts = [_seeds(runs, one.strip(), measure, split) for one in text.split("|")]
        return pd.concat(parts, axis=1)
    by_seed = runs.get(frame.select(text))
    if not by_seed:
        raise NotRunError(text)
    rows = {}
    for seed, record in by_seed.items():
        if measure == "objectives":
            rows[seed] = record.summary[split]["best"]
        elif measure == "order of objectives":
            front = record.front(split)
            rows[seed] = dict(
                zip([o.name for o in front.objectives], front.spearman(), strict=True)
            )
        elif measure.startswith("share within"):
            least = _seeds(runs, reference, "objectives", split).mean().to_numpy()
            near = record.front(split).values > least - float(measure.split()[-1])
            rows[seed] = {measure: near.all(1).mean()}
        else:
            rows[seed] = {measure: value(record, measure, split)}
    return pd.DataFrame(rows).T


def _words(values: Array) -> str:
    """Counts as they are, correlations with two digits, all else with four."""
    if (values == values.round()).all():
        return ", ".join(f"{value:g}" for value in values)
    return ", ".join(f"{value:.{2 if (values < 0).any() else 4}f}" for value in values)


def _names(text: str) -> str:
    """The settings of a claim as a table names them."""
    return " and ".join(frame.select(one.strip()).label() for one in text.split("|"))


def _better(values: Array, measure: str) -> Array:
    """`values` so that higher is better; objectives are accuracies where no metric is named."""
    lower = measure.endswith(("loss", "error")) if "/" in measure else False
    maximise = MEASURES[measure].maximise if measure in MEASURES else not lower
    return values if maximise else -values


def _level(claim: Mapping[str, str], runs: Runs) -> Found:
    first, *others = claim["measure"].split("; ")
    ours = _seeds(runs, claim["ours"], first, claim["split"], claim["theirs"])
    estimate = (ours.mean() if claim["seeds"] == "mean" else ours.iloc[:, 0]).to_numpy()
    evidence = [f"{first} {_words(estimate)}"]
    for measure in others:
        values = _seeds(runs, claim["ours"], measure, claim["split"]).iloc[:, 0].to_numpy()
        evidence.append(f"{measure} {_words(values)}")
    if claim["theirs"] and not first.startswith("share"):
        theirs = _seeds(runs, claim["theirs"], first, claim["split"]).iloc[:, 0].to_numpy()
        evidence.append(f"{_names(claim['theirs'])} {_words(theirs)}")
    return estimate, "; ".join(evidence)


def _difference(claim: Mapping[str, str], runs: Runs) -> Found:
    estimates, evidence = [], []
    for measure in claim["measure"].split("; "):
        ours, theirs = (
            _seeds(runs, claim[who], measure, claim["split"]) for who in ("ours", "theirs")
        )
        means = ours.mean().to_numpy(), theirs.mean().to_numpy()
        one, two = (_better(values.to_numpy(), measure) for values in (ours, theirs))
        if claim["seeds"] == "each":
            estimates.append(one.min(0) - two.max(0))
            means = ours.iloc[:, 0].to_numpy(), theirs.iloc[:, 0].to_numpy()
        else:
            estimates.append(one.mean(0) - two.mean(0))
        evidence.append(
            f"{measure} {_words(means[0])}, {_names(claim['theirs'])} {_words(means[1])}"
        )
    return np.concatenate(estimates), "; ".join(evidence)


def _ratio(claim: Mapping[str, str], runs: Runs) -> Found:
    medians = [
        _seeds(runs, claim[who], claim["measure"], claim["split"]).median().item()
        for who in ("ours", "theirs")
    ]
    ratio = medians[0] / medians[1]
    return np.array(
        [ratio]
    ), f"{claim['measure']} {ratio:.1f} times that of {_names(claim['theirs'])}"


def _baselines(claim: Mapping[str, str], runs: Runs) -> dict[str, Mapping[int, Record]]:
    """The runs of every method with one network but `ours`; NotRunError where LS has none."""
    own = frame.select(claim["ours"])
    found = {
        m: runs.get(Setting(own.experiment, m), {}) for m in paper.ONE_NETWORK if m != own.method
    }
    if not any(found.values()) or (own.method != "ls" and not found["ls"]):
        raise NotRunError(f"{own.experiment}/ls")
    return {method: by_seed for method, by_seed in found.items() if by_seed}


def _rivals(claim: Mapping[str, str], runs: Runs) -> Found:
    """By mean: rivals whose means over seeds are better on every measure. By union: whose seeds
    together have a hypervolume as large as our worst seed's. By reach: two of whose seeds are as
    far apart in an accuracy as our narrowest front spans."""
    split, found = claim["split"], _baselines(claim, runs)
    name, _, margin = claim["measure"].partition(" within ")
    if claim["seeds"] == "mean":
        ours = _better(_seeds(runs, claim["ours"], name, split).mean().to_numpy(), name)
        data = claim["ours"].partition("/")[0]
        theirs = {
            m: _better(_seeds(runs, f"{data}/{m}", name, split).mean().to_numpy(), name)
            for m in found
        }
        better = [m for m, values in theirs.items() if (values > ours + float(margin or 0)).all()]
        text = f"{len(better)} of {len(found)} are better on {name}, means over seeds"
    elif claim["seeds"] == "union":
        ours = _seeds(runs, claim["ours"], name, split).iloc[:, 0].to_numpy()
        unions = {m: Group([*by_seed.values()]).hypervolume(split) for m, by_seed in found.items()}
        best, single = max(unions, key=lambda m: unions[m]), _single_runs(found, split).max()
        better = [m for m, volume in unions.items() if volume >= ours.min()]
        text = (
            f"{_words(ours)}; the best baseline, {paper.PRINTED[best]}, has {unions[best]:.4f} "
            f"with all its seeds together, and the best single run {single:.4f}"
        )
    else:
        ours, apart = _reach(claim, runs), _apart(found, split)
        better = [m for m, values in apart.items() if max(values) >= ours.min()]
        every = np.concatenate([*apart.values()])
        text = (
            f"two seeds of a baseline are at most {every.max():.4f} apart in an accuracy, in the "
            f"median {np.median(every):.4f}; the non-dominated part of a front spans {_words(ours)}"
        )
    names = f": {', '.join(paper.PRINTED[m] for m in better)}" if better else ""
    return np.array([len(better) / len(found)]), text + names


def _loosely(claim: Mapping[str, str], runs: Runs) -> Array:
    """The share of rivals where seeds are taken less strictly: our mean against single runs, our
    median reach against the median distance."""
    found, split = _baselines(claim, runs), claim["split"]
    if claim["seeds"] == "union":
        ours = _seeds(runs, claim["ours"], claim["measure"], split).mean().item()
        return np.array([(_single_runs(found, split) >= ours).mean()])
    every = np.concatenate([*_apart(found, split).values()])
    return np.array([(every >= np.median(_reach(claim, runs))).mean()])


def _single_runs(found: Mapping[str, Mapping[int, Record]], split: str) -> Array:
    volumes = [value(r, "hypervolume", split) for by in found.values() for r in by.values()]
    return np.array(volumes)


def _reach(claim: Mapping[str, str], runs: Runs) -> Array:
    """Of each seed the largest span of the non-dominated part of its front."""
    by_seed = runs.get(frame.select(claim["ours"]))
    if not by_seed:
        raise NotRunError(claim["ours"])
    fronts = [record.front(claim["split"]) for record in by_seed.values()]
    return np.array([np.ptp(f.values[f.non_dominated()], axis=0).max() for f in fronts])


def _apart(found: Mapping[str, Mapping[int, Record]], split: str) -> dict[str, list[float]]:
    """For each rival the largest difference in an objective between every two seeds."""
    values = {m: [r.front(split).values for r in by.values()] for m, by in found.items()}
    apart = {
        m: [float(np.abs(a - b).max()) for a, b in combinations(v, 2)] for m, v in values.items()
    }
    if not (apart := {method: distances for method, distances in apart.items() if distances}):
        raise NotRunError("a second seed of a baseline")
    return apart


def _trend(claim: Mapping[str, str], runs: Runs) -> Found:
    settings = [claim["ours"].format(value) for value in claim["theirs"].split()]
    means = [_seeds(runs, s, claim["measure"], claim["split"]).mean().item() for s in settings]
    steps = np.array([after - before for before, after in pairwise(means)])
    text = f"{claim['measure']} for {', '.join(claim['theirs'].split())}: {_words(np.array(means))}"
    return np.array([steps.min()]), text


def _best(claim: Mapping[str, str], runs: Runs) -> Found:
    own = frame.select(claim["theirs"])
    values = {
        s: frame.measured(runs, s, claim["measure"], claim["split"])
        for s in tables.planned(claim["ours"])
    }
    by_seed = pd.DataFrame(values).dropna()
    if len(by_seed) < 2:  # the settings differ by less than seeds do
        raise NotRunError("every setting with the same two seeds")
    by_seed.columns = [*values]
    means, spread = by_seed.mean(), float(np.sqrt(by_seed.var().mean()))
    best = means.idxmax()
    text = (
        f"{Setting(*best).label('W', 'lam')}: {means[best]:.4f}; "
        f"{own.label('W', 'lam')}: {means[own]:.4f}; "
        f"{len(by_seed)} seeds, deviation {spread:.4f}"
    )
    return np.array([(means[best] - means[own]) / spread]), text


def _criterion(claim: Mapping[str, str], runs: Runs) -> Found:
    volume, rank = claim["measure"].split("; ")
    pairs = [
        tuple(value(record, name, claim["split"]) for name in (volume, rank))
        for setting in tables.planned(claim["ours"])
        for record in runs.get(setting, {}).values()
    ]
    if not pairs:
        raise NotRunError(claim["ours"])
    best, at = max(pairs)
    below = [v for v, r in pairs if r < float(claim["theirs"])]
    cost = best - max(below, default=-np.inf)
    inside = f"{max(below):.4f}" if below else "none"
    text = (
        f"best of {len(pairs)} runs {best:.4f}, with {rank} {at:.2f}; "
        f"best below {claim['theirs']}: {inside}"
    )
    return np.array([cost]), text


KINDS = {
    "level": _level,
    "difference": _difference,
    "ratio": _ratio,
    "rivals": _rivals,
    "trend": _trend,
    "best": _best,
    "criterion": _criterion,
}
