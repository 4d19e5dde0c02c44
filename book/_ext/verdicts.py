"""The directive `verdicts`: what the records say of a few claims, drawn.

    ```{verdicts}
    # Is PaMaL's front better than linear scalarisation (LS)?
    - MultiMNIST: the name of a claim
    ```

A line names a claim of the paper or a finding of ours that is one comparison or one level, and
links to it in the page that has the evidence. Estimate, interval and word are the study's. Nothing
here needs torch.
"""

import html
import re
from typing import NamedTuple

import numpy as np
import pandas as pd
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from pamal_companion.study import claims, frame
from pamal_companion.study.claim import Claim, ClaimPart, judge
from pamal_companion.study.frame import Runs
from pamal_companion.study.statistics import number

WIDTH, HEIGHT = 200, 20
RULE = re.compile(r"- (.+?): (.+)")
PAGES = {"results/claims.html": claims.CLAIMS, "results/beyond.html": claims.FINDINGS}


class Line(NamedTuple):
    """A label, the page of the evidence, a claim, its text, its verdict, and what that rests on."""

    label: str
    page: str
    text_of_claim: str
    claim: Claim
    word: str
    part: ClaimPart

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
        """How far from the bound the further end of the interval is."""
        estimate = self.part.estimate
        ends = np.array([estimate.value, *estimate.interval()])
        return float(np.nanmax(np.abs(self.ahead(ends))))


def read(label: str, page: str, text: str, claim: Claim, runs: Runs) -> Line:
    """The line of `claim`; ValueError where it is several comparisons."""
    judged = judge(claim, runs)
    (part,) = judged.parts
    return Line(label, page, text, claim, judged.word, part)


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
    texts = [
        '<table class="verdicts"><thead><tr><td></td> <td class="v-sides" aria-hidden="true">'
        '<span>no</span> <span>yes</span></td> <th scope="col">verdict</th></tr></thead><tbody>'
    ]
    for row in rows:
        if isinstance(row, str):
            head = f'<th colspan="3" scope="colgroup">{html.escape(row)}</th>'
            texts.append(f'<tr class="v-question">{head}</tr>')
            continue
        link = f'<a href="{row.page}#{claims.anchor(row.text_of_claim)}">{row.label}</a>'
        plot = f'<td class="v-plot">{drawing(row, edges[kind(row)])}</td>'
        texts.append(f'<tr><th scope="row">{link}</th> {plot} {cell(row)}</tr>')
    numbers = "".join(
        f'<tr><th scope="row">{one.text_of_claim}</th> <td>{in_numbers(one)}</td></tr>'
        for one in lines
    )
    details = f"<summary>The intervals in numbers</summary><table>{numbers}</table>"
    return f'{"".join(texts)}</tbody></table><details class="v-numbers">{details}</details>'


def kind(line: Line) -> str:
    """Lines of one kind have one scale."""
    return str(line.claim.measures[0]).split()[-1]


def cell(line: Line) -> str:
    """The word, the number and its seeds."""
    part = line.part
    found = line.text(part.estimate.value) if np.isfinite(part.estimate.value) else ""
    about = f"span {number(part.span, 3)}, " if np.isfinite(part.span) else ""
    seeds = f' <span class="v-seeds">{about}{part.in_seeds}</span>' if part.seeds else ""
    return f'<td><span class="v-word {css(line.word)}">{line.word}</span> {found}{seeds}</td>'


def in_numbers(line: Line) -> str:
    """The estimate with its 95 % interval and its number of seeds."""
    part = line.part
    text = line.text(part.estimate.value) if np.isfinite(part.estimate.value) else line.word
    if part.seeds:
        low, high = map(line.text, part.estimate.interval())
        text += f" ({low} to {high}; {part.in_seeds})"
    return f"{line.claim.measures[0]}, {line.claim.split}: {text}"


def drawing(line: Line, edge: float) -> str:
    """The number with its interval, to the right of the middle where the claim holds."""

    def x(value: float) -> float:
        return round(WIDTH / 2 * (1 + 0.95 * line.ahead(value) / edge), 1)

    estimate, bar, mark = line.part.estimate, "", ""
    low, high = map(x, estimate.interval())
    if np.isfinite(low):
        bar = f'<path d="M{low} {HEIGHT / 2}H{high}"/>'
    if np.isfinite(estimate.value):
        mark = f'<circle r="4.5" cx="{x(estimate.value)}" cy="{HEIGHT / 2}"/>'
    bound = f'<path class="v-bound" d="M{WIDTH / 2} 0v{HEIGHT}"/>'
    drawn = f'{bound}<g class="{css(line.word)}">{bar}{mark}</g>'
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{drawn}</svg>'


def css(word: str) -> str:
    """The class of a verdict."""
    return f"v-{word.replace(' ', '-')}"


def raw(text: str) -> nodes.raw:
    """Markup of our own."""
    return nodes.raw("", text, format="html")
