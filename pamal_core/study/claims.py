"""The paper's claims, rows of `claims.csv`, each judged by the records.

A row says of which runs something is claimed (`ours`), beside which (`theirs`; empty where the
claim is about a level), what is measured and on which split, and what that must be (`holds`; of a
difference ours minus theirs, turned so that larger is better). Several settings or measures are
several parts, and `need` says how many of them must be so. `cost` names what stands for `theirs`
where both see the data equally often. To add a claim is to add a row.

The numbers of a part are of seeds, one by one where both sides have the same. By Student's interval
it meets the condition, fails it or is undecided, and the claim by the partial conjunction of its
parts (`statistics.of_parts`): it is said to hold wrongly, or to fail wrongly, in one case of forty
at most.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pamal_core.errors import check_choice
from pamal_core.study import frame, paper, tables
from pamal_core.study.frame import Runs, Setting
from pamal_core.study.measures import is_better_high
from pamal_core.study.statistics import (
    LEVEL,
    Condition,
    Estimate,
    Sample,
    holm,
    of_parts,
    seeds_needed,
)

FILE = Path(__file__).parent / "claims.csv"
FINDINGS = FILE.with_name("findings.csv")
"""What our own runs say beyond the paper, in the same columns."""
WORDS = ("holds", "fails", "undecided", "not run")
NEED: dict[str, Callable[[int], int]] = {
    "all": lambda parts: parts,
    "any": lambda parts: 1,
    "most": lambda parts: parts // 2 + 1,
}
"""How many of so many parts must meet the condition."""
Claim = Mapping[str, str]
"""A row of the file."""


class Part(NamedTuple):
    """What is estimated of two settings, or of one, by one measure; NaN without records. `seeds`
    are those that are compared one by one, or those of either side."""

    name: str
    estimate: Estimate = Estimate(np.nan, np.nan, 0)
    seeds: tuple[int, ...] = ()


class Finding(NamedTuple):
    """What becomes of a claim: one of `WORDS`, the two p of its holding and of its failing, and the
    parts that it rests on."""

    word: str
    p: tuple[float, float]
    parts: list[Part]


def table(runs: Runs, file: Path = FILE) -> pd.DataFrame:
    """A row for each claim of `file`: what it says, where, the evidence, and the verdict at equal
    epochs and at equal cost, passes over the data: "" where that is no other question, "not run"
    where nobody has given theirs as many. `p` is Holm's, of all claims that have been run: below
    0.05 the verdict stands among them all."""
    rows = []
    for claim in paper.read(file):
        found = judge(claim, runs)
        rows.append(
            {
                "claim": claim["claim"],
                "verdict": found.word,
                "at equal cost": at_equal_cost(claim, runs),
                "evidence": evidence(claim, found),
                "p": min(1.0, 2 * min(found.p)) if found.word != "not run" else np.nan,
                "where": claim["where"],
            }
        )
    made = pd.DataFrame(rows, pd.RangeIndex(1, len(rows) + 1))
    run = made["p"].notna()
    made.loc[run, "p"] = holm(made.loc[run, "p"].to_numpy())
    return made


def judge(claim: Claim, runs: Runs, theirs: str = "theirs") -> Finding:
    """What becomes of a row of `claims.csv`, with the settings in its cell `theirs`. InputError for
    a setting, a measure, a condition or a need that is not known."""
    check_choice("need", claim["need"], [*NEED])
    condition, parts = Condition.read(claim["holds"]), [*_parts(claim, runs, theirs)]
    if not any(part.seeds for part in parts):
        return Finding("not run", (1.0, 1.0), parts)
    p = [condition.tested(part.estimate) for part in parts]
    least = NEED[claim["need"]](len(parts))
    holds = of_parts([one for one, _ in p], least)
    fails = of_parts([other for _, other in p], len(parts) - least + 1)
    word = "holds" if holds < LEVEL else "fails" if fails < LEVEL else "undecided"
    return Finding(word, (holds, fails), parts)


def at_equal_cost(claim: Claim, runs: Runs) -> str:
    """The verdict where both sides see the data equally often; "" for a level, or where they do so
    anyway."""
    if claim["cost"]:
        return judge(claim, runs, "cost").word
    passes = [{setting.passes for setting in two if setting} for two in _pairs(claim, "theirs")]
    return "" if all(len(number) == 1 for number in passes) else "not run"


def evidence(claim: Claim, found: Finding) -> str:
    """The parts in words, each with its 95 % interval and its number of seeds; of more than three
    the two ends. And how many seeds would decide a single part that is undecided."""
    known = [part for part in found.parts if part.seeds]
    known.sort(key=lambda part: float(part.estimate.value))
    if not known:
        return "no record"
    condition = Condition.read(claim["holds"])
    texts = [_words(part, condition, bool(claim["theirs"])) for part in known]
    if len(known) > 3:
        texts = [f"{len(known)} comparisons, from {texts[0]} to {texts[-1]}"]
    if missing := len(found.parts) - len(known):
        texts.append(f"{missing} not run")
    elif found.word == "undecided" and len(known) == len(known[0].seeds) == 1:
        value, error, freedom = known[0].estimate

        def decides(seeds: int) -> bool:
            scaled = Estimate(value, error * np.sqrt((freedom + 1) / seeds), seeds - 1)
            return bool(min(condition.tested(scaled)) < LEVEL)

        if np.isfinite(needed := seeds_needed(decides)):
            texts.append(f"{needed:g} seeds would decide")
    return "; ".join(texts)


def _words(part: Part, condition: Condition, is_difference: bool) -> str:
    numbers = np.array([part.estimate.value, *part.estimate.interval()])
    if condition.of_ratio:
        value, low, high = (f"{number:.2f}" for number in np.exp(numbers))
        value += " times"
    else:
        value, low, high = (f"{number:{'+' if is_difference else ''}.4f}" for number in numbers)
    seeds = " against ".join(map(str, part.seeds)) + (" seed" if part.seeds == (1,) else " seeds")
    where = seeds if np.isnan(part.estimate.error) else f"{low} to {high}; {seeds}"
    return f"{part.name} {value} ({where})"


def _pairs(claim: Claim, theirs: str) -> list[tuple[Setting, Setting | None]]:
    """The settings that are compared: one by one where there are as many on both sides, else each
    of ours with each of theirs."""
    ours = _settings(claim["ours"])
    name, own = claim[theirs], ours[0]
    if not name:
        return [(setting, None) for setting in ours]
    if name == "baselines":
        rivals = [Setting(own.experiment, m) for m in paper.ONE_NETWORK if m != own.method]
        others = [setting for setting in rivals if setting in frame.planned()]
    elif name.startswith("table "):
        check_choice("table", name := name.removeprefix("table "), [*paper.TABLES])
        others = [s for s in tables.planned(name) if s.method == own.method and s not in ours]
    else:
        others = _settings(name)
    if len(ours) == len(others):
        return [*zip(ours, others, strict=True)]
    return [*product(ours, others)]


def _settings(text: str) -> list[Setting]:
    """Those of a cell: after each |, and one for each value in braces."""
    found = []
    for one in text.split(" | "):
        before, values, after = [*re.split(r"[{}]", one), "", ""][:3]
        found += [frame.select(before + v + after) for v in re.split(", *", values)]
    return found


def _parts(claim: Claim, runs: Runs, theirs: str) -> Iterator[Part]:
    of_ratio, pairs = Condition.read(claim["holds"]).of_ratio, _pairs(claim, theirs)
    several = len({one for one, _ in pairs}) > 1
    for (one, two), measure in product(pairs, claim["measure"].split("; ")):
        first, _, second = measure.partition(" | ")
        made = runs.get(one, {}).values()
        names = [*next(iter(made)).objectives] if made else [""]
        for name in dict.fromkeys(
            re.sub("^(order of |chosen |)objectives$", rf"\g<1>{o}", first) for o in names
        ):
            if two and two.method == "stl" and not name.startswith(two.task):
                continue
            text = name + (f" of {one.label()}" if several else "")
            text += f" against {second}" if second else ""
            if two:
                shared = {option for option, _ in {*one.options} & {*two.options}}
                text += f", {two.label(without=shared)}"
            ours = _measured(runs, one, name, claim["split"])
            if two is None:
                yield _part(text, np.log(ours) if of_ratio else ours)
                continue
            rival = _measured(runs, two, second or name, claim["split"])
            if of_ratio:
                yield _part(text, np.log(ours), np.log(rival))
            elif is_better_high(name):
                yield _part(text, ours, rival)
            else:
                yield _part(text, -ours, -rival)


def _part(name: str, ours: "pd.Series[float]", theirs: "pd.Series[float] | None" = None) -> Part:
    """Ours, or ours minus theirs: seed by seed where they have two in common, else by Welch."""
    if ours.empty or (theirs is not None and theirs.empty):
        return Part(name)
    if theirs is not None:
        both = ours.index.intersection(theirs.index)
        if len(both) < 2:
            away = Sample.of(ours.to_numpy()).minus(Sample.of(theirs.to_numpy()))
            return Part(name, away, (len(ours), len(theirs)))
        ours = ours[both] - theirs[both]
    return Part(name, Estimate.of(ours.to_numpy()), (len(ours),))


def _measured(runs: Runs, setting: Setting, measure: str, split: str) -> "pd.Series[float]":
    """`frame.measured`, by seed; or of disjoint groups of seeds "hypervolume of 3 seeds", of their
    points together, or "distance of 2 seeds", the largest in an objective; or "share within 0.005
    of SETTING", of the points that on no objective are further behind the mean of its best."""
    by_seed, found = runs.get(setting, {}), dict[int | str, float]()
    if match := re.fullmatch(r"(hypervolume|distance) of (\d+) seeds", measure):
        for k, group in enumerate(frame.disjoint(by_seed, int(match[2]))):
            values = np.concatenate([record.front(split).values for record in group])
            distance = np.ptp(values, axis=0).max()
            found[f"group {k}"] = frame.volume(group, split) if match[1] != "distance" else distance
    elif match := re.fullmatch(r"share within ([\d.]+) of (.*)", measure):
        theirs = [record.front(split) for record in runs.get(frame.select(match[2]), {}).values()]
        for seed, record in by_seed.items() if theirs else ():
            front = record.front(split)
            better = np.where(front.maximise, 1, -1)
            least = np.mean([(better * rival.values).max(0) for rival in theirs], axis=0)
            near = better * front.values > least - float(match[1])
            found[seed] = near.all(axis=1).mean()
    else:
        return frame.measured(runs, setting, measure, split).dropna()
    return pd.Series(found, dtype=float)


def filtered(found: pd.DataFrame) -> str:
    """A `table` as HTML for a page, with buttons that leave one verdict; it needs no script."""
    classes, counts = found["verdict"].str.replace(" ", "-"), found["verdict"].value_counts()
    button = '<label><input type="radio" name="verdict" value="{}"{}> {}</label>'
    buttons, rules = [button.format("all", " checked", f"all {len(found)}")], []
    for word in (word for word in WORDS if word in counts):
        name = word.replace(" ", "-")
        buttons.append(button.format(name, "", f"{word}: {counts[word]}"))
        rules.append(f".claims:has([value={name}]:checked) tbody tr:not(.{name})")
    rows = found.assign(p=["" if np.isnan(p) else f"{p:.3f}" for p in found["p"]]).to_html()
    names = iter(classes)  # the row of the head has a style
    rows = re.sub("<tr>", lambda _: f'<tr class="{next(names)}">', rows)
    left = ".claims :is(th, td) { text-align: left !important }"  # all of it is words
    style = f"<style>{left} {', '.join(rules)} {{ display: none }}</style>"
    return f'{style}<div class="claims"><p>{" ".join(buttons)}</p>{rows}</div>'
