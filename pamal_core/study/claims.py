"""The paper's claims, rows of `claims.csv`, each judged by the records.

A row says what is compared (`ours`, `theirs`: settings as `frame.select` reads them), by which
measures, on which split, how seeds are taken together, and what has to be true of the result for
the claim to hold, or to hold in part. To add a claim is to add a row.

* level: `ours`, each seed of it or their mean, against the threshold; `theirs` is shown beside it,
  or is what the points of "share within" a margin are compared with.
* difference: `ours` minus `theirs` in the direction that is better, of means over seeds, or of the
  worst seed of ours and the best of theirs ("each"); the ratio of their medians ("median"). In part
  where it holds of any, or of the first, of several measures.
* rivals: the share of the baselines that are better than `ours`, or level with it; in part where
  it is small enough with seeds taken less strictly (`_rivals`).
* trend: the smallest step of `ours` from one value of the option in braces to the next.
* best: how far `theirs` is behind the best setting of a table of the paper, in deviations over
  seeds.
* criterion: what asking for a rank correlation below `theirs` costs the best run of a table.
* text: rests on no record; says where it is shown.
"""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray as Array

from pamal_core.errors import InputError, check_choice
from pamal_core.study import frame, paper, tables
from pamal_core.study.frame import Runs, Setting
from pamal_core.study.measures import is_better_high

FILE = Path(__file__).parent / "claims.csv"
WORDS = {True: "holds", False: "does not hold", None: "holds in part"}
SIGNS = {">": np.greater, ">=": np.greater_equal, "<": np.less, "<=": np.less_equal, "=": np.equal}
Claim = dict[str, str]
"""A row of the file."""


class Finding(NamedTuple):
    """What the condition is asked of, all of which must meet it, the evidence in words, and what is
    asked where seeds are taken less strictly, if that is something else."""

    estimate: Any
    evidence: str
    loosely: Any = None


class NotRunError(InputError):
    """There is no record for a claim."""


def table(runs: Runs) -> pd.DataFrame:
    """A row for each claim: what it says, where, our evidence, and the verdict."""
    rows = [(row["claim"], row["where"], *judge(row, runs)) for row in paper.read(FILE)]
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


def meets(values: Any, condition: str) -> Array:
    """Which of `values` meet a condition such as "> 0.5" or "19 to 23"."""
    values = np.atleast_1d(values)
    low, _, high = condition.partition(" to ")
    if high:
        return (values >= float(low)) & (values <= float(high))
    sign, _, bound = condition.partition(" ")
    if sign not in SIGNS:
        raise InputError(f'A condition is written "> 0.5" or "19 to 23". Found {condition!r}.')
    return SIGNS[sign](values, float(bound))


def _numbers(claim: Claim, who: str, runs: Runs, measure: str) -> pd.DataFrame:
    """A measure of every run of the settings in the cell `who`, those after a | side by side: a row
    per seed, a column for each objective where the measure names "objectives", else one.

    NotRunError where one has no record, or none has the measure.
    """
    split, columns = claim["split"], []
    for text in claim[who].split(" | "):
        if not (by_seed := runs.get(setting := frame.select(text))):
            raise NotRunError(text)
        if measure.startswith("share within"):
            least = _numbers(claim, "theirs", runs, "objectives").mean().to_numpy()
            near = least - float(measure.split()[-1])
            points = {seed: record.front(split).values for seed, record in by_seed.items()}
            columns.append(pd.Series({s: (p > near).all(1).mean() for s, p in points.items()}))
            continue
        names = [measure.replace("objectives", o) for o in next(iter(by_seed.values())).objectives]
        for name in dict.fromkeys(names):
            columns.append(frame.measured(runs, setting, name, split).rename(name))
    found = pd.concat(columns, axis=1)
    if found.isna().all(axis=None):
        raise NotRunError(f"{measure} of {claim[who]}")
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


def _theirs(claim: Claim) -> str:
    """The settings of `theirs` as a table names them."""
    return " and ".join(frame.select(one).label() for one in claim["theirs"].split(" | "))


def _level(claim: Claim, runs: Runs) -> Finding:
    first, *others = claim["measure"].split("; ")
    ours = _numbers(claim, "ours", runs, first)
    estimate = ours.mean() if claim["seeds"] == "mean" else ours.iloc[:, 0]
    evidence = [f"{first} {_words(estimate)}"]
    for measure in others:
        evidence.append(f"{measure} {_words(_numbers(claim, 'ours', runs, measure).iloc[:, 0])}")
    if claim["theirs"] and not first.startswith("share"):
        theirs = _numbers(claim, "theirs", runs, first)
        evidence.append(f"{_theirs(claim)} {_words(theirs.iloc[:, 0])}")
    return Finding(estimate.to_numpy(), "; ".join(evidence))


def _difference(claim: Claim, runs: Runs) -> Finding:
    estimates, evidence, names = [], [], _theirs(claim)
    for measure in claim["measure"].split("; "):
        ours, theirs = (_numbers(claim, who, runs, measure) for who in ("ours", "theirs"))
        if claim["seeds"] == "median":
            estimates.append(ours.median().to_numpy() / theirs.median().to_numpy())
            evidence.append(f"{measure} {estimates[-1].item():.1f} times that of {names}")
        elif claim["seeds"] == "each":
            estimates.append((_higher(ours).min() - _higher(theirs).max()).to_numpy())
            one, two = _words(ours.iloc[:, 0]), _words(theirs.iloc[:, 0])
            evidence.append(f"{measure} {one}, {names} {two}")
        else:
            one, two = ours.mean(), theirs.mean()
            estimates.append(_higher(ours).mean().to_numpy() - _higher(theirs).mean().to_numpy())
            evidence.append(f"{measure} {_words(one)}, {names} {_words(two)}")
    return Finding(np.concatenate(estimates), "; ".join(evidence))


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
    if claim["seeds"] == "mean":
        cells = {m: claim | {"theirs": f"{own.experiment}/{m}"} for m in found}
        ours = _higher(_numbers(claim, "ours", runs, name)).mean() + float(margin or 0)
        theirs = {m: _higher(_numbers(c, "theirs", runs, name)).mean() for m, c in cells.items()}
        better, loosely = [m for m, means in theirs.items() if (means > ours).all()], None
        text = f"{len(better)} of {len(found)} are better on {name}, means over seeds"
    elif claim["seeds"] == "union":
        ours = _numbers(claim, "ours", runs, name).iloc[:, 0]
        most = {m: frame.volume(by_seed.values(), split) for m, by_seed in found.items()}
        every = np.concatenate([frame.measured(runs, settings[m], name, split) for m in found])
        better, loosely = [m for m in most if most[m] >= ours.min()], (every >= ours.mean()).mean()
        best = max(most, key=lambda m: most[m])
        text = (
            f"{_words(ours)}; the best baseline, {paper.PRINTED[best]}, has {most[best]:.4f} "
            f"with all its seeds together, and the best single run {every.max():.4f}"
        )
    else:
        fronts = [record.front(split) for record in runs.get(own, {}).values()]
        spans = np.array([np.ptp(f.values[f.non_dominated()], axis=0).max() for f in fronts])
        apart = {
            m: [np.abs(one - two).max() for one, two in combinations(points, 2)]
            for m, by_seed in found.items()
            if len(points := [record.front(split).values for record in by_seed.values()]) > 1
        }
        if not apart or not fronts:
            raise NotRunError("a second seed of a baseline" if fronts else claim["ours"])
        every = np.concatenate([*apart.values()])
        better = [m for m, distances in apart.items() if max(distances) >= spans.min()]
        loosely = (every >= np.median(spans)).mean()
        text = (
            f"two seeds of a baseline are at most {every.max():.4f} apart in an accuracy, in the "
            f"median {np.median(every):.4f}; the non-dominated part of a front spans "
            f"{_words(spans)}"
        )
    names = f": {', '.join(paper.PRINTED[m] for m in better)}" if better else ""
    return Finding(len(better) / len(found), text + names, loosely)


def _trend(claim: Claim, runs: Runs) -> Finding:
    values = claim["theirs"].split()
    cells = [claim | {"ours": claim["ours"].format(v)} for v in values]
    means = [_numbers(cell, "ours", runs, claim["measure"]).mean().item() for cell in cells]
    evidence = f"{claim['measure']} for {', '.join(values)}: {_words(np.array(means))}"
    return Finding(np.diff(means).min(), evidence)


def _best(claim: Claim, runs: Runs) -> Finding:
    settings, own = [*tables.planned(claim["ours"])], frame.select(claim["theirs"])
    columns = [frame.measured(runs, s, claim["measure"], claim["split"]) for s in settings]
    by_seed = pd.concat(columns, axis=1, join="inner").dropna()
    if len(by_seed) < 2:  # the settings differ by less than seeds do
        raise NotRunError("every setting with the same two seeds")
    means, spread = by_seed.mean().to_numpy(), float(np.sqrt(by_seed.var().mean()))
    best, at = int(means.argmax()), settings.index(own)
    gap = means[best] - means[at]
    shown = [f"{settings[i].label('W', 'lam')}: {means[i]:.4f}" for i in (best, at)]
    evidence = f"{'; '.join(shown)}; {len(by_seed)} seeds, deviation {spread:.4f}"
    return Finding(gap / spread if gap else 0.0, evidence)


def _criterion(claim: Claim, runs: Runs) -> Finding:
    volume, rank = measures = claim["measure"].split("; ")
    settings = [setting for setting in tables.planned(claim["ours"]) if setting in runs]
    if not settings:
        raise NotRunError(claim["ours"])
    found = frame.rows({s: runs[s] for s in settings}, [], measures, claim["split"])
    best, below = found.loc[found[volume].idxmax()], found[found[rank] < float(claim["theirs"])]
    evidence = (
        f"best of {len(found)} runs {best[volume]:.4f}, with {rank} {best[rank]:.2f}; "
        f"best below {claim['theirs']}: {'none' if below.empty else f'{below[volume].max():.4f}'}"
    )
    return Finding(best[volume] - (-np.inf if below.empty else below[volume].max()), evidence)


KINDS: dict[str, Callable[[Claim, Runs], Finding]] = {
    "level": _level,
    "difference": _difference,
    "rivals": _rivals,
    "trend": _trend,
    "best": _best,
    "criterion": _criterion,
}
