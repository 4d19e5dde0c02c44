"""The directive `verdicts`: what the records say of a few claims, drawn.

    ```{verdicts}
    # Is PaMaL's front better than linear scalarisation (LS)?
    - MultiMNIST: the name of a claim
    ```

A line names a claim of the paper or a finding of ours that is one comparison or one level, and
links to it in the page that has the evidence. Estimate, interval and word are the study's, of the
settings that it names and at equal cost; the paper's number is that of its tables. Nothing here
needs torch.
"""

import html
import re
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from pamal_companion.study import claims, frame, layout, tables
from pamal_companion.study.claim import Claim, Part, judge
from pamal_companion.study.equal_cost import at_equal_cost
from pamal_companion.study.frame import Runs
from pamal_companion.study.statistics import Estimate, number

EPOCHS, COST, PAPER = "as asked", "at equal cost", "paper"
MARKS = {
    EPOCHS: '<circle r="4.5"/>',
    COST: '<path d="M0 -5l5 5l-5 5l-5 -5z"/>',
    PAPER: '<path class="v-paper" d="M-4 -4l8 8m0 -8l-8 8"/>',
}
"""By column what marks a number, and below how far down in a picture."""
HEIGHTS = {EPOCHS: 8, COST: 20, PAPER: 8}
WIDTH, HEIGHT = 200, 28
RULE = re.compile(r"- (.+?): (.+)")
PAGES = {"results/claims.html": claims.CLAIMS, "results/beyond.html": claims.FINDINGS}


class Line(NamedTuple):
    """A label, the page of the evidence, a claim, its text, and by column its word ("" for the
    paper) and what it rests on; a column is left out where it asks no other question."""

    label: str
    page: str
    text_of_claim: str
    claim: Claim
    cells: dict[str, tuple[str, Part]]

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
        estimates = (part.estimate for _, part in self.cells.values())
        ends = np.array([(e.value, *e.interval()) for e in estimates])
        return float(np.nanmax(np.abs(self.ahead(ends))))


def read(label: str, page: str, text: str, claim: Claim, runs: Runs) -> Line:
    """The line of `claim`; ValueError where it is several comparisons."""
    cells = {}
    for column, its in ((EPOCHS, judge(claim, runs)), (COST, at_equal_cost(claim, runs))):
        if its:
            (cells[column],) = ((its.word, part) for part in its.parts)
    if np.isfinite(theirs := printed(claim)):
        cells[PAPER] = "", Part("", Estimate(theirs, np.nan, 0))
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
        """The picture, and the intervals in numbers."""
        self.env.note_dependency(str(frame.FILE))
        runs = frame.read()
        known = {
            text: (page, text, claim)
            for page, every in PAGES.items()
            for text, claim in every.items()
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
        return [raw(picture(rows))]


def picture(rows: list[str | Line]) -> str:
    """Questions and lines as a table; intervals in numbers below it, folded."""
    lines = [row for row in rows if isinstance(row, Line)]
    ends = pd.Series([line.edge() for line in lines], dtype=float)
    edges = ends.groupby([kind(line) for line in lines]).max()
    heads = " ".join(f'<th scope="col">{key(name)}{name}</th>' for name in MARKS)
    texts = [
        '<table class="verdicts"><thead><tr><td></td> <td class="v-sides" aria-hidden="true">'
        f"<span>no</span> <span>yes</span></td> {heads}</tr></thead><tbody>"
    ]
    for row in rows:
        if isinstance(row, str):
            head = f'<th colspan="5" scope="colgroup">{html.escape(row)}</th>'
            texts.append(f'<tr class="v-question">{head}</tr>')
            continue
        link = f'<a href="{row.page}#{claims.anchor(row.text_of_claim)}">{row.label}</a>'
        plot = f'<td class="v-plot">{drawing(row, edges[kind(row)])}</td>'
        cells = " ".join(map(partial(cell, row), MARKS))
        texts.append(f'<tr><th scope="row">{link}</th> {plot} {cells}</tr>')
    numbers = "".join(
        f'<tr><th scope="row">{one.text_of_claim}</th> <td>{in_numbers(one)}</td></tr>'
        for one in lines
    )
    details = f"<summary>The intervals in numbers</summary><table>{numbers}</table>"
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
    word, part = line.cells[column]
    found = line.text(part.estimate.value) if np.isfinite(part.estimate.value) else ""
    its = f'<span class="v-word {css(word)}">{word}</span> ' if word else ""
    about = f"span {number(part.span, 3)}, " if np.isfinite(part.span) else ""
    seeds = f' <span class="v-seeds">{about}{part.in_seeds}</span>' if part.seeds else ""
    return f"<td><b>{key(column)}{column}</b> {its}{found}{seeds}</td>"


def in_numbers(line: Line) -> str:
    """Each estimate with its 95 % interval and its number of seeds."""
    texts = []
    for column, (word, part) in line.cells.items():
        estimate = part.estimate
        text = line.text(estimate.value) if np.isfinite(estimate.value) else word
        if part.seeds:
            low, high = map(line.text, estimate.interval())
            text += f" ({low} to {high}; {part.in_seeds})"
        texts.append(f"{column}: {text}")
    (measure,), split = line.claim.measures, line.claim.split
    return f"{measure}, {split}. {'; '.join(texts)}"


def drawing(line: Line, edge: float) -> str:
    """Each number with its interval, to the right of the middle where the claim holds."""

    def x(value: float) -> float:
        return round(WIDTH / 2 * (1 + 0.95 * line.ahead(value) / edge), 1)

    found = [f'<path class="v-bound" d="M{WIDTH / 2} 0v{HEIGHT}"/>']
    for column, (word, part) in line.cells.items():
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
