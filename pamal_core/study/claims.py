"""The paper's claims, rows of `claims.csv`, each judged by the records.

A row says what is compared (`ours`, `theirs`: settings as `frame.select` reads them), by which
measures, on which split, how seeds are taken together, and what has to be true of the result for
the claim to hold, or to hold in part. To add a claim is to add a row.

* level: `ours`, each seed of it or their mean, against the threshold; `theirs` is shown beside it.
* difference: `ours` minus `theirs` in the direction that is better, of means over seeds, or of the
  worst seed of ours and the best of theirs ("each"); in part where it holds of any, or of the
  first, of several measures. ratio: of medians.
* rivals: the share of the baselines that are better than `ours`, or level with it; in part where
  it is small enough with seeds taken less strictly (`_rivals`).
* trend: the smallest step of `ours` from one value of the option in braces to the next.
* best: how far `theirs` is behind the best setting of a table of the paper, in deviations over
  seeds.
* criterion: what asking for a rank correlation below `theirs` costs the best setting of a table.
* text: rests on no record; says where it is shown.
"""

import csv
import operator
import re
from collections.abc import Callable, Mapping
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray as Array

from pamal_core.errors import InputError, check_choice
from pamal_core.runs.records import Record
from pamal_core.study import frame, paper, tables
from pamal_core.study.frame import Runs, Setting
from pamal_core.study.measures import is_better_high, value
from pamal_core.study.pool import Group

FILE = Path(__file__).parent / "claims.csv"
WORDS = {True: "holds", False: "does not hold", None: "holds in part"}
Claim = Mapping[str, str]
"""A row of the file."""


class Finding(NamedTuple):
    """What the condition is asked of, all of which must meet it, the evidence in words, and what is
    asked where seeds are taken less strictly, if that is something else."""

    estimate: Array
    evidence: str
    loosely: Array | None = None


class NotRunError(InputError):
    """There is no record for a claim."""


def table(runs: Runs) -> pd.DataFrame:
    """A row for each claim: what it says, where, our evidence, and the verdict."""
    with FILE.open(newline="") as file:
        rows = [(row["claim"], row["where"], *judge(row, runs)) for row in csv.DictReader(file)]
    columns = ["claim", "where", "evidence", "verdict"]
    return pd.DataFrame(rows, pd.RangeIndex(1, len(rows) + 1), columns)


def judge(claim: Claim, runs: Runs) -> tuple[str, str]:
    """The evidence for a row of `claims.csv`, and one of `WORDS`; "not run" without records.
    InputError for a kind, a setting, a measure or a condition that is not known."""
    check_choice("kind", claim["kind"], [*KINDS, "text"])
    if claim["kind"] == "text":
        return claim["measure"], WORDS[claim["holds"] == "yes"]
    try:
        estimate, evidence, loosely = KINDS[claim["kind"]](claim, runs)
    except NotRunError as error:
        return f"no record of {error}", "not run"
    met, part = meets(estimate, claim["holds"]), claim["part"]
    if part in ("any", "first"):
        partly = met.any() if part == "any" else met[0]
    else:
        partly = bool(part) and meets(estimate if loosely is None else loosely, part).all()
    return evidence, WORDS[True if met.all() else None if partly else False]


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


def _by_seed(runs: Runs, text: str) -> Mapping[int, Record]:
    """The runs of the setting `text`; NotRunError where there is none."""
    by_seed = runs.get(frame.select(text))
    if not by_seed:
        raise NotRunError(text)
    return by_seed


def _numbers(
    runs: Runs, text: str, measure: str, split: str, reference: str = ""
) -> "pd.DataFrame":
    """A measure of every run of the setting `text`: a row per seed, a column for each task of
    "objectives", else one. Several settings, with | between, give their columns side by side.

    NotRunError where one has no record, or none has the measure.
    """
    parts = [part.strip() for part in text.split("|")]
    if len(parts) > 1:
        return pd.concat([_numbers(runs, part, measure, split) for part in parts], axis=1)
    rows = {}
    for seed, record in _by_seed(runs, text).items():
        if measure == "objectives":
            rows[seed] = record.summary[split]["best"]
        elif measure == "order of objectives":
            front = record.front(split)
            names = [objective.name for objective in front.objectives]
            rows[seed] = dict(zip(names, front.spearman(), strict=True))
        elif measure.startswith("share within"):
            least = _numbers(runs, reference, "objectives", split).mean().to_numpy()
            near = record.front(split).values > least - float(measure.split()[-1])
            rows[seed] = {measure: near.all(1).mean()}
        else:
            rows[seed] = {measure: value(record, measure, split)}
    found = pd.DataFrame(rows).T
    if found.isna().all(axis=None):
        raise NotRunError(f"{measure} of {text}")
    return found


def _higher(found: pd.DataFrame) -> pd.DataFrame:
    """The same numbers so that higher is better."""
    return found * [1 if is_better_high(name) else -1 for name in found]


def _words(values: Array | pd.Series) -> str:
    """Counts as they are, correlations with two digits, all else with four."""
    values = np.asarray(values)
    if (values == values.round()).all():
        return ", ".join(f"{value:g}" for value in values)
    return ", ".join(f"{value:.{2 if (values < 0).any() else 4}f}" for value in values)


def _names(text: str) -> str:
    """The settings of a claim as a table names them."""
    return " and ".join(frame.select(one.strip()).label() for one in text.split("|"))


def _level(claim: Claim, runs: Runs) -> Finding:
    first, *others = claim["measure"].split("; ")
    ours = _numbers(runs, claim["ours"], first, claim["split"], claim["theirs"])
    estimate = (ours.mean() if claim["seeds"] == "mean" else ours.iloc[:, 0]).to_numpy()
    evidence = [f"{first} {_words(estimate)}"]
    for measure in others:
        values = _numbers(runs, claim["ours"], measure, claim["split"])
        evidence.append(f"{measure} {_words(values.iloc[:, 0])}")
    if claim["theirs"] and not first.startswith("share"):
        theirs = _numbers(runs, claim["theirs"], first, claim["split"])
        evidence.append(f"{_names(claim['theirs'])} {_words(theirs.iloc[:, 0])}")
    return Finding(estimate, "; ".join(evidence))


def _difference(claim: Claim, runs: Runs) -> Finding:
    estimates, evidence = [], []
    for measure in claim["measure"].split("; "):
        ours, theirs = (
            _numbers(runs, claim[who], measure, claim["split"]) for who in ("ours", "theirs")
        )
        one, two = _higher(ours), _higher(theirs)
        if claim["seeds"] == "each":
            estimates.append(one.min().to_numpy() - two.max().to_numpy())
            shown = ours.iloc[:, 0], theirs.iloc[:, 0]
        else:
            estimates.append(one.mean().to_numpy() - two.mean().to_numpy())
            shown = ours.mean(), theirs.mean()
        names = _names(claim["theirs"])
        evidence.append(f"{measure} {_words(shown[0])}, {names} {_words(shown[1])}")
    return Finding(np.concatenate(estimates), "; ".join(evidence))


def _ratio(claim: Claim, runs: Runs) -> Finding:
    ours, theirs = (
        _numbers(runs, claim[who], claim["measure"], claim["split"]).median().item()
        for who in ("ours", "theirs")
    )
    evidence = f"{claim['measure']} {ours / theirs:.1f} times that of {_names(claim['theirs'])}"
    return Finding(np.array([ours / theirs]), evidence)


def _rivals(claim: Claim, runs: Runs) -> Finding:
    """By mean: rivals whose means over seeds are better on every measure. By union: whose seeds
    together have a hypervolume as large as our worst seed's; loosely, single runs as large as our
    mean. Apart: two of whose seeds are as far apart in an objective as the non-dominated part of
    our narrowest front spans; loosely, pairs of seeds as far apart as our median front spans."""
    own, split = frame.select(claim["ours"]), claim["split"]
    settings = {m: Setting(own.experiment, m) for m in paper.ONE_NETWORK if m != own.method}
    found = {m: runs[setting] for m, setting in settings.items() if runs.get(setting)}
    if not found or (own.method != "ls" and "ls" not in found):
        raise NotRunError(f"{own.experiment}/ls")
    name, _, margin = claim["measure"].partition(" within ")
    loosely = None
    if claim["seeds"] == "mean":
        ours = _higher(_numbers(runs, claim["ours"], name, split)).mean()
        texts = {m: f"{own.experiment}/{m}" for m in found}
        theirs = {m: _higher(_numbers(runs, t, name, split)).mean() for m, t in texts.items()}
        better = [m for m, means in theirs.items() if (means > ours + float(margin or 0)).all()]
        text = f"{len(better)} of {len(found)} are better on {name}, means over seeds"
    elif claim["seeds"] == "union":
        ours = _numbers(runs, claim["ours"], name, split).iloc[:, 0]
        unions = {m: Group([*by_seed.values()]).hypervolume(split) for m, by_seed in found.items()}
        single = np.array([value(r, name, split) for by in found.values() for r in by.values()])
        better = [m for m, volume in unions.items() if volume >= ours.min()]
        loosely = np.array([(single >= ours.mean()).mean()])
        best = max(unions, key=lambda m: unions[m])
        text = (
            f"{_words(ours)}; the best baseline, {paper.PRINTED[best]}, has {unions[best]:.4f} "
            f"with all its seeds together, and the best single run {single.max():.4f}"
        )
    else:
        fronts = [record.front(split) for record in _by_seed(runs, claim["ours"]).values()]
        spans = np.array([np.ptp(f.values[f.non_dominated()], axis=0).max() for f in fronts])
        apart = {
            m: [
                np.abs(one.front(split).values - two.front(split).values).max()
                for one, two in combinations(by_seed.values(), 2)
            ]
            for m, by_seed in found.items()
            if len(by_seed) > 1
        }
        if not apart:
            raise NotRunError("a second seed of a baseline")
        every = np.concatenate([*apart.values()])
        better = [m for m, distances in apart.items() if max(distances) >= spans.min()]
        loosely = np.array([(every >= np.median(spans)).mean()])
        text = (
            f"two seeds of a baseline are at most {every.max():.4f} apart in an accuracy, in the "
            f"median {np.median(every):.4f}; the non-dominated part of a front spans "
            f"{_words(spans)}"
        )
    names = f": {', '.join(paper.PRINTED[m] for m in better)}" if better else ""
    return Finding(np.array([len(better) / len(found)]), text + names, loosely)


def _trend(claim: Claim, runs: Runs) -> Finding:
    values = claim["theirs"].split()
    means = [
        _numbers(runs, claim["ours"].format(v), claim["measure"], claim["split"]).mean().item()
        for v in values
    ]
    evidence = f"{claim['measure']} for {', '.join(values)}: {_words(np.array(means))}"
    return Finding(np.array([min(after - before for before, after in pairwise(means))]), evidence)


def _best(claim: Claim, runs: Runs) -> Finding:
    settings, own = [*tables.planned(claim["ours"])], frame.select(claim["theirs"])
    columns = [frame.measured(runs, s, claim["measure"], claim["split"]) for s in settings]
    by_seed = pd.concat(columns, axis=1, join="inner").dropna()
    if len(by_seed) < 2:  # the settings differ by less than seeds do
        raise NotRunError("every setting with the same two seeds")
    means, spread = by_seed.mean().to_numpy(), float(np.sqrt(by_seed.var().mean()))
    best, at = int(means.argmax()), settings.index(own)
    gap = means[best] - means[at]
    evidence = (
        f"{settings[best].label('W', 'lam')}: {means[best]:.4f}; "
        f"{own.label('W', 'lam')}: {means[at]:.4f}; "
        f"{len(by_seed)} seeds, deviation {spread:.4f}"
    )
    return Finding(np.array([gap / spread if gap else 0.0]), evidence)


def _criterion(claim: Claim, runs: Runs) -> Finding:
    volume, rank = claim["measure"].split("; ")
    pairs = [
        (value(record, volume, claim["split"]), value(record, rank, claim["split"]))
        for setting in tables.planned(claim["ours"])
        for record in runs.get(setting, {}).values()
    ]
    if not pairs:
        raise NotRunError(claim["ours"])
    best, at = max(pairs)
    below = max((v for v, r in pairs if r < float(claim["theirs"])), default=-np.inf)
    evidence = (
        f"best of {len(pairs)} runs {best:.4f}, with {rank} {at:.2f}; "
        f"best below {claim['theirs']}: {f'{below:.4f}' if np.isfinite(below) else 'none'}"
    )
    return Finding(np.array([best - below]), evidence)


KINDS: dict[str, Callable[[Claim, Runs], Finding]] = {
    "level": _level,
    "difference": _difference,
    "ratio": _ratio,
    "rivals": _rivals,
    "trend": _trend,
    "best": _best,
    "criterion": _criterion,
}
