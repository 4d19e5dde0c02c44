"""The directive `verdicts`: what the records say of a few claims, drawn, and of how many in all.

    ```{verdicts}
    # Is PaMaL's front better than linear scalarisation (LS)?
    - MultiMNIST: the name of a claim
    ```

A line names a claim of the paper or a finding of ours that is one comparison or one level, and
links to it in the page that has the evidence. Estimate, interval and word are the study's, at equal
epochs and at equal cost; the paper's number is that of its tables. Nothing here needs torch.
"""

import html
import re
from collections import Counter
from functools import partial
from typing import NamedTuple
from urllib.parse import quote

import numpy as np
import pandas as pd
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from pamal_companion.study import claims, frame, layout, tables
from pamal_companion.study.claim import Claim, Part, at_equal_cost, judge
from pamal_companion.study.frame import Runs
from pamal_companion.study.statistics import Estimate

EPOCHS, COST, PAPER = "equal epochs", "equal cost", "paper"
MARKS = {
    EPOCHS: '<circle r="4.5"/>',
    COST: '<path d="M0 -5l5 5l-5 5l-5 -5z"/>',
    PAPER: '<path class="v-paper" d="M-4 -4l8 8m0 -8l-8 8"/>',
}
"""By column what marks a number, and below how far down in a picture."""
HEIGHTS = {EPOCHS: 8, COST: 20, PAPER: 8}
WIDTH, HEIGHT = 200, 28
RULE = re.compile(r"- (.+?): (.+)")
PAGES = {"results/reproduction.html": claims.CLAIMS, "results/beyond.html": claims.FINDINGS}


class Line(NamedTuple):
    """A label, the page of the evidence, a claim, its text, and by column its word ("" for the
    paper), what it rests on, and Holm's p; a column is left out where it asks no other question."""

    label: str
    page: str
    text_of_claim: str
    claim: Claim
    cells: dict[str, tuple[str, Part, float]]

    def ahead(self, value: float | np.ndarray) -> float | np.ndarray:
        """How far a number is on the side of the bound where the claim holds."""
        side, bound = 1, self.claim.bounds[0]
        if not np.isfinite(self.claim.low):
            side, bound = -1, self.claim.bounds[1]
        return side * (value - bound)

    def text(self, value: float) -> str:
        """A number of this claim in words."""
        if self.claim.of_ratio:
            return f"{np.exp(value):.2f}\N{MULTIPLICATION SIGN}"
        return f"{value:{'+.4f' if self.claim.is_compared else '.2f'}}".replace(
            "-", "\N{MINUS SIGN}"
        )

    def edge(self) -> float:
        """How far from the bound the furthest end of an interval is."""
        estimates = (part.estimate for _, part, _ in self.cells.values())
        ends = np.array([(e.value, *e.interval()) for e in estimates])
        return float(np.nanmax(np.abs(self.ahead(ends))))


def read(label: str, page: str, text: str, claim: Claim, row: pd.Series, runs: Runs) -> Line:
    """The line of `claim`, whose row of the table is `row`; ValueError where it is several
    comparisons."""
    cells = {}
    judged = judge(claim, runs)
    cost = at_equal_cost(judged, runs)
    for column, its, p in ((EPOCHS, judged, "p"), (COST, cost, "p at equal cost")):
        if its and (its is not judged or column == EPOCHS):
            (cells[column],) = ((its.word, part, float(row[p])) for part in its.parts)
    if np.isfinite(number := printed(claim)):
        cells[PAPER] = "", Part("", Estimate(number, np.nan, 0)), np.nan
    return Line(label, page, text, claim, cells)


def printed(claim: Claim) -> float:
    """Ours minus theirs of `claim` in the table of the paper that has both; NaN where none has."""
    for name, table in layout.TABLES.items():
        rows = [row for s in claim.pairs()[0] if s and (row := tables.row_of(s, name))]
        for column, its in table.columns.items():
            if len(rows) == 2 and [its.measure] == [*claim.measures]:
                return float(rows[0].numbers[column].mean - rows[1].numbers[column].mean)
    return np.nan


class Verdicts(SphinxDirective):
    """Its content is questions, each with lines under it."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The picture, the intervals in numbers, and the count of all claims of the paper."""
        self.env.note_dependency(str(frame.FILE))
        runs = frame.read()
        judged = {page: claims.table(runs, every) for page, every in PAGES.items()}
        known = {
            text: (page, text, claim, row)
            for page, every in PAGES.items()
            for (text, claim), (_, row) in zip(every.items(), judged[page].iterrows(), strict=True)
        }
        rows: list[str | Line] = []
        for text in filter(None, map(str.strip, self.content)):
            if text.startswith("# "):
                rows.append(text[2:])
                continue
            if not (match := RULE.fullmatch(text)) or match[2] not in known:
                raise self.error(f"Expected '- label: claim', a known one. Found {text!r}.")
            try:
                rows.append(read(match[1], *known[match[2]], runs))
            except ValueError:
                raise self.error(f"Expected one comparison. {match[2]!r} has several.") from None
        return [raw(picture(rows)), raw(counted(next(iter(judged.values()))))]


def counted(found: pd.DataFrame) -> str:
    """How many claims of a table have which verdict, as a bar and in words that open those rows,
    and how many of those that hold and fail stand among all that are tested."""
    of = found.groupby("equal epochs")["p"]
    counts, tested = Counter(of.size().to_dict()), of.count()
    stand = of.apply(lambda p: (p < claims.STANDS).sum())
    parts = (f'<i class="{css(w)}" style="flex: {counts[w]}"></i>' for w in claims.WORDS)
    verbs = zip(claims.WORDS, ("hold", "fail", "undecided", "not run"), strict=True)
    page = next(iter(PAGES))
    each = ", ".join(
        f'<a href="{page}?equal-epochs={quote(word)}#the-claims">{counts[word]} {verb}</a>'
        for word, verb in verbs
    )
    held, failed = (f"{stand.get(word, 0)} of {tested.get(word, 0)}" for word in claims.WORDS[:2])
    holm = '<a href="glossary.html#term-Holm-s-correction">Holm\'s correction</a>'
    alike = sum(counts[word] - tested.get(word, 0) for word in claims.WORDS[:3])
    return (
        f'<div class="v-counts" aria-hidden="true">{"".join(parts)}</div>'
        f'<p><a href="{page}#the-claims">{len(found)} claims of the paper</a>, at equal epochs: '
        f"{each}. Of those, {alike} rest on numbers that are alike at every seed, as most are on "
        f"the toy problem. After {holm} over all other verdicts {held} still hold and {failed} "
        "still fail.</p>"
    )


def picture(rows: list[str | Line]) -> str:
    """Questions and lines as a table; intervals in numbers below it, folded."""
    lines = [row for row in rows if isinstance(row, Line)]
    ends = pd.Series([line.edge() for line in lines], dtype=float)
    edges = ends.groupby([kind(line) for line in lines]).max()
    heads = "".join(f'<th scope="col">{key(name)}{name}</th>' for name in MARKS)
    texts = [
        '<table class="verdicts"><thead><tr><td></td><td class="v-sides" aria-hidden="true">'
        f"<span>fails</span><span>holds</span></td>{heads}</tr></thead><tbody>"
    ]
    for row in rows:
        if isinstance(row, str):
            head = f'<th colspan="5" scope="colgroup">{html.escape(row)}</th>'
            texts.append(f'<tr class="v-question">{head}</tr>')
            continue
        link = f'<a href="{row.page}#{claims.anchor(row.text_of_claim)}">{row.label}</a>'
        plot = f'<td class="v-plot">{drawing(row, edges[kind(row)])}</td>'
        cells = "".join(map(partial(cell, row), MARKS))
        texts.append(f'<tr><th scope="row">{link}</th>{plot}{cells}</tr>')
    numbers = "".join(f"<dt>{one.text_of_claim}</dt><dd>{in_numbers(one)}</dd>" for one in lines)
    details = f"<summary>The intervals in numbers</summary><dl>{numbers}</dl>"
    return f'{"".join(texts)}</tbody></table><details class="v-numbers">{details}</details>'


def kind(line: Line) -> str:
    """Lines of one kind have one scale."""
    return str(line.claim.measures[0]).split()[-1]


def key(column: str) -> str:
    """The mark of a column, for its head."""
    box = 'class="v-key" viewBox="-6 -6 12 12" aria-hidden="true"'
    return f"<svg {box}>{MARKS[column]}</svg>"


def cell(line: Line, column: str) -> str:
    """The word and the number of a column, under its name where there is no head."""
    if column not in line.cells:
        return '<td class="v-none">\N{EN DASH}</td>'
    word, part, p = line.cells[column]
    number = line.text(part.estimate.value) if np.isfinite(part.estimate.value) else ""
    weak = "" if p < claims.STANDS else " v-weak"
    its = f'<span class="v-word {css(word)}{weak}">{word}</span> ' if word else ""
    seeds = f' <span class="v-seeds">{part.in_seeds}</span>' if part.seeds else ""
    return f"<td><b>{key(column)}{column}</b>{its}{number}{seeds}</td>"


def in_numbers(line: Line) -> str:
    """Each estimate with its 95 % interval and its number of seeds."""
    texts = []
    for column, (word, part, p) in line.cells.items():
        estimate = part.estimate
        number = line.text(estimate.value) if np.isfinite(estimate.value) else word
        if part.seeds:
            low, high = map(line.text, estimate.interval())
            number += f" ({low} to {high}; {part.in_seeds}; p {claims.rounded(p, '= ')} after Holm)"
        texts.append(f"{column}: {number}")
    (measure,), split = line.claim.measures, line.claim.split
    of = measure if measure == "training time" else f"{measure}, {split}"
    return f"{of}. {'; '.join(texts)}"


def drawing(line: Line, edge: float) -> str:
    """Each number with its interval, to the right of the middle where the claim holds."""

    def x(value: float) -> float:
        return round(WIDTH / 2 * (1 + 0.95 * line.ahead(value) / edge), 1)

    found = [f'<path class="v-bound" d="M{WIDTH / 2} 0v{HEIGHT}"/>']
    for column, (word, part, _) in line.cells.items():
        estimate = part.estimate
        if np.isfinite(estimate.value):
            y, (low, high) = HEIGHTS[column], map(x, estimate.interval())
            bar = f'<path d="M{low} {y}H{high}"/>' if np.isfinite(low) else ""
            mark = f'<g transform="translate({x(estimate.value)} {y})">{MARKS[column]}</g>'
            found.append(f'<g class="{css(word)}">{bar}{mark}</g>')
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{"".join(found)}</svg>'


def css(word: str) -> str:
    """The class of a verdict."""
    return f"v-{word.replace(' ', '-')}"


def raw(text: str) -> nodes.raw:
    """Markup of our own."""
    return nodes.raw("", text, format="html")
