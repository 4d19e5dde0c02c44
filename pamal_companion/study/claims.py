"""The paper's claims, rows of `claims.csv`, each judged by the records.

A row says of which runs something is claimed (`ours`), beside which (`theirs`; empty where the
claim is about a level), what is measured and on which split, and what that must be (`holds`; of a
difference ours minus theirs, turned so that larger is better). Several settings or measures are
several parts, and `need` says how many of them must be so. At equal cost each of `theirs` is
trained for as many passes over the data as ours. To add a claim is to add a row.

The numbers of a part are of seeds, one by one where both sides have the same. By Student's interval
it meets the condition, fails it or is undecided, and the claim by the partial conjunction of its
parts (`statistics.of_parts`): it is said to hold wrongly, or to fail wrongly, in one case of forty
at most.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pamal_companion.plots.table import Html, Weak
from pamal_companion.plots.table import table as html
from pamal_companion.study import frame, paper, tables
from pamal_companion.study.frame import Runs, Setting
from pamal_companion.study.measures import is_better_high
from pamal_companion.study.statistics import (
    LEVEL,
    Condition,
    Estimate,
    Sample,
    bracket,
    holm,
    of_parts,
    rounded,
    seeds_needed,
)
from pamal_core.errors import check_choice

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
STANDS = 2 * LEVEL
"""What Holm's p is below where a verdict stands among all of its table."""
AT_COST = "At equal cost"
"""The line of the evidence that its parts follow."""
Claim = Mapping[str, str]
"""A row of the file."""


class Part(NamedTuple):
    """What is estimated of two settings, or of one, by one measure; NaN without records. `seeds`
    are those that are compared one by one, or those of either side; `each` says what is counted on
    the last."""

    name: str
    estimate: Estimate = Estimate(np.nan, np.nan, 0)
    seeds: tuple[int, ...] = ()
    each: str = "seed{}"

    @property
    def in_seeds(self) -> str:
        """How many seeds it rests on, in words; of a part with records."""
        counted = self.each.format("s" * (self.seeds[-1] > 1))
        alike = ", all alike" if self.estimate.error == 0 else ""
        return f"{' against '.join(map(str, self.seeds))} {counted}{alike}"


class Finding(NamedTuple):
    """What becomes of a claim: one of `WORDS`, the two p of its holding and of its failing, and the
    parts that it rests on, those with records first, from the least."""

    claim: Claim
    word: str
    p: tuple[float, float]
    parts: list[Part]

    @property
    def two_sided(self) -> float:
        """The p of the word; NaN of what is not run, and of numbers that are alike at every seed:
        where nothing is drawn there is nothing to test."""
        errors = {part.estimate.error for part in self.parts if part.seeds}
        return min(1.0, 2 * min(self.p)) if errors - {0.0} else np.nan

    def number(self, part: Part) -> str:
        """What was measured, with its 95 % interval; nothing without records."""
        if not part.seeds or not Condition.read(self.claim["holds"]).of_ratio:
            return bracket(part.estimate, sign="+" if self.claim["theirs"] else "")
        value, low, high = np.exp([part.estimate.value, *part.estimate.interval()])
        return f"{value:.2f} times" + ("" if np.isnan(low) else f" [{low:.2f}, {high:.2f}]")

    @property
    def estimate(self) -> str:
        """What was measured, in short: of several parts the least and the most."""
        texts = [*filter(None, map(self.number, self.parts))]
        if len(texts) < 2:
            return "".join(texts)
        return " to ".join(texts[end].split(" [")[0] for end in (0, -1))

    @property
    def asked(self) -> str:
        """What is measured, of which setting where it is one, and what it must be."""
        claim, ours = self.claim, _settings(self.claim["ours"])
        of = [ours[0].name()] * (len(ours) == 1)
        of += [f"{claim['need']} parts"] * (len(self.parts) > 1)
        way = "ours / theirs " if claim["holds"].endswith("times") else "ours ahead by "
        way *= bool(claim["theirs"])
        measure = _said(claim["measure"]).replace(" | ", " against ")
        asked = "Asked" + " of " * bool(of) + ", ".join(of)
        return f"{asked}: {measure}, {claim['split']}, {way}{claim['holds']}"

    @property
    def evidence(self) -> list[str]:
        """A line for each part, with its interval and its seeds."""
        known = [part for part in self.parts if part.seeds]
        lines = [f"{part.name}: {self.number(part)}, {part.in_seeds}" for part in known]
        missing = len(self.parts) - len(known)
        return lines + [f"{missing} not run"] * (missing > 0)

    @property
    def to_decide(self) -> str:
        """How many seeds would decide an undecided claim if all its estimates and deviations stayed
        as they are; "" of another, and where no number of seeds would."""
        if self.word != "undecided" or any(
            p.seeds and np.isnan(p.estimate.error) for p in self.parts
        ):
            return ""

        def decides(seeds: int) -> bool:
            scaled = [
                Estimate(value, error * np.sqrt(min(measured, default=0) / seeds), seeds - 1)
                for _, (value, error, _), measured, _ in self.parts
            ]
            return min(_tested(self.claim, scaled)) < LEVEL

        needed = seeds_needed(decides)
        return f"{needed:g}" if np.isfinite(needed) else ""


def table(runs: Runs, file: Path = FILE) -> pd.DataFrame:
    """A row for each claim of `file`: what it says, of which data, the verdict at equal epochs and
    at equal cost (`at_equal_cost`; "" of None), the estimate, how many seeds would decide what is
    undecided, and the evidence: what is asked, and a line a part. `p` and `p at equal cost` are
    Holm's, of all verdicts in both columns that have one (`Finding.two_sided`): below 0.05 one
    stands among them all."""
    rows, same = [], []
    for claim in paper.read(file):
        found = judge(claim, runs)
        cost = at_equal_cost(found, runs)
        other = cost if cost is not found else None
        same.append(cost is found)
        lines = [found.asked, *found.evidence, *([AT_COST, *other.evidence] if other else ())]
        rows.append(
            {
                "claim": claim["claim"],
                "data": paper.DATA[_settings(claim["ours"])[0].experiment],
                "equal epochs": found.word,
                "equal cost": cost.word if cost else "",
                "estimate": found.estimate,
                "seeds to decide": found.to_decide,
                "p": found.two_sided,
                "p at equal cost": other.two_sided if other else np.nan,
                "where": claim["where"],
                "evidence": "\n".join(lines),
            }
        )
    made = pd.DataFrame(rows, pd.RangeIndex(1, len(rows) + 1))
    p = made[["p", "p at equal cost"]].to_numpy(copy=True)
    p[~np.isnan(p)] = holm(p[~np.isnan(p)])
    return made.assign(**{"p": p[:, 0], "p at equal cost": np.where(same, p[:, 0], p[:, 1])})


def judge(claim: Claim, runs: Runs, equal_cost: bool = False) -> Finding:
    """What becomes of a row of `claims.csv`; `equal_cost` gives each of theirs the passes of ours.
    InputError for a setting, a measure, a condition or a need that is not known."""
    check_choice("need", claim["need"], [*NEED])
    parts = [*_parts(claim, runs, equal_cost)]
    known = sorted((p for p in parts if p.seeds), key=lambda p: float(p.estimate.value))
    parts = known + [part for part in parts if not part.seeds]
    if not known:
        return Finding(claim, "not run", (1.0, 1.0), parts)
    p = holds, fails = _tested(claim, [part.estimate for part in parts])
    word = "holds" if holds < LEVEL else "fails" if fails < LEVEL else "undecided"
    return Finding(claim, word, p, parts)


def _tested(claim: Claim, parts: Sequence[Estimate]) -> tuple[float, float]:
    """The p of a claim's holding and of its failing; of a part without records both are 1."""
    least = NEED[claim["need"]](len(parts))
    holds, fails = zip(*map(Condition.read(claim["holds"]).tested, parts), strict=True)
    return of_parts(holds, least), of_parts(fails, len(parts) - least + 1)


def at_equal_cost(found: Finding, runs: Runs) -> Finding | None:
    """The verdict where both sides see the data equally often: `found`, that at equal epochs, where
    they do so anyway. None where nothing is compared, or the cost itself is."""
    pairs = [(one, two) for one, two in _pairs(found.claim) if two]
    if all(one.passes == two.passes for one, two in pairs):
        return found if pairs else None
    of_cost = any(two.with_passes(one.passes) == one for one, two in pairs)
    if of_cost or found.claim["measure"] == "training time":
        return None
    return judge(found.claim, runs, equal_cost=True)


def _pairs(claim: Claim) -> list[tuple[Setting, Setting | None]]:
    """The settings that are compared: one by one where there are as many on both sides, else each
    of ours with each of theirs."""
    ours = _settings(claim["ours"])
    name, own = claim["theirs"], ours[0]
    if not name:
        return [(setting, None) for setting in ours]
    if name == "baselines":
        rivals = [Setting(own.experiment, m) for m in paper.ONE_NETWORK if m != own.method]
        others = [setting for setting in rivals if setting in frame.planned(own.experiment)]
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


def _parts(claim: Claim, runs: Runs, equal_cost: bool) -> Iterator[Part]:
    of_ratio, pairs = Condition.read(claim["holds"]).of_ratio, _pairs(claim)
    if equal_cost:
        pairs = [(one, two and two.with_passes(one.passes)) for one, two in pairs]
    several, split = len({one for one, _ in pairs}) > 1, claim["split"]
    measures = re.split(r"; (?!\w+=)", claim["measure"])  # a setting in one has options after a ;
    for (one, two), measure in product(pairs, measures):
        first, _, second = measure.partition(" | ")
        groups = frame.GROUPS.fullmatch(second or first)
        made = [*runs.get(one, {}).values(), *(runs.get(two, {}).values() if two else ())]
        names = [*made[0].objectives] if made else [""]
        for name in dict.fromkeys(
            re.sub("^(order of |chosen |)objectives$", rf"\g<1>{o}", first) for o in names
        ):
            if two and two.method == "stl" and not name.startswith(two.task):
                continue
            sides = " against ".join(s.name() for s in (one if several else None, two) if s)
            is_clear = sides and measure == claim["measure"] and name == first
            text = sides if is_clear else ", ".join(filter(None, (_said(name), sides)))
            numbers = [frame.measured(runs, one, name, split)]
            if two:
                numbers.append(frame.measured(runs, two, second or name, split))
            if of_ratio:
                numbers = [np.log(number) for number in numbers]
            elif two and not is_better_high(name):
                numbers = [-number for number in numbers]
            part = _part(text, *numbers)
            yield part._replace(each=f"group{{}} of {groups[2]} seeds") if groups else part


def _said(measure: str) -> str:
    """`measure` with the method where it names a setting."""
    share, of, setting = measure.partition(" of ")
    known = share.startswith("share within")
    return share + of + paper.PRINTED[frame.select(setting).method] if known else measure


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


AHEAD = {
    "holds": "is ahead of",
    "fails": "is behind",
    "undecided": "cannot be told apart from",
    "not run": "has not been compared with",
}
"""What the verdict on "is ahead of" says in a sentence."""


def word(found: pd.DataFrame, text: str) -> str:
    """The verdict at equal epochs of the one claim of a `table` that begins with `text`."""
    (verdict,) = found.loc[found["claim"].str.startswith(text), "equal epochs"]
    return str(verdict)


PRINTED, TEXT = ", with the sign as printed", ", with the sign of the text"
"""How a claim says which sign the penalty has."""


def anchor(claim: str) -> str:
    """The id of the row of a claim in a page."""
    return "claim-" + re.sub("[^a-z0-9]+", "-", claim.lower()).strip("-")


def shown(found: pd.DataFrame, anchored: bool = True) -> Html:
    """A `table` for a page: a row has the id `anchor`, a verdict without a p below 0.05 is `Weak`,
    and what holds for the printed sign of the penalty only says so. A claim of equal passes has no
    verdict at equal epochs."""
    words = dict(zip(found["claim"], found["equal epochs"], strict=True))

    def said(claim: str, word: str) -> str:
        other = words.get(claim.replace(PRINTED, TEXT), word) if PRINTED in claim else word
        note = f"; {other} with that of the text" if word == "holds" != other else ""
        of_data = claim.endswith(tuple(paper.DATA.values()))
        return (claim.rpartition(": ")[0] if of_data else claim) + note

    verdicts, at_cost = (
        found[name].astype(object).where(found[p] < STANDS, found[name].map(Weak))
        for name, p in (("equal epochs", "p"), ("equal cost", "p at equal cost"))
    )
    at_passes = found["claim"].str.contains(" passes")
    rows = found.assign(
        claim=[*map(said, found["claim"], found["equal epochs"])],
        **{"equal epochs": verdicts.mask(at_passes, ""), "equal cost": at_cost},
        p=found["p"].map(rounded),
        evidence=[*map(_folded, found["evidence"], found["p at equal cost"])],
    )
    single = [name for name in ("data", "where", "seeds to decide") if rows[name].nunique() < 2]
    return html(
        rows.drop(columns=[*single, "p at equal cost"]).set_index("claim"),
        filters=["data", "equal epochs", "equal cost"],
        ids=[*map(anchor, found["claim"])] if anchored else (),
    )


def _folded(text: str, p: float) -> Html:
    said = AT_COST if np.isnan(p) else f"{AT_COST}, p {rounded(p, '= ')}"
    lines = [line.replace(AT_COST, said) for line in text.splitlines()]
    items = "\n".join(f"<li>{escape(line)}</li>" for line in lines)
    return Html(f"<details><summary>evidence</summary>\n<ul>{items}</ul></details>")
