"""The directive `verdicts`: what a few comparisons of PaMaL with a baseline found, drawn.

    ```{verdicts}
    # At equal epochs, is PaMaL's front better than LS?
    - MultiMNIST: the name of a claim of the paper, or of a finding of ours
    - MultiMNIST, one draw: the name of a registered question: one of its hypotheses
    ```

A line links to the page that has its evidence. Estimate, interval and word are the study's; here
they are told in points: of 100 times the measure, and of a hypervolume in points of accuracy on
each task. Nothing here needs torch.
"""

import html
import re
from functools import cache
from typing import NamedTuple

import numpy as np
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from pamal_companion.study import claims, frame, registered
from pamal_companion.study.claim import Claim, judge
from pamal_companion.study.frame import Runs, Setting
from pamal_companion.study.registered import Question
from pamal_companion.study.statistics import Estimate, with_minus

WIDTH, HEIGHT = 200, 20
RULE = re.compile(r"- (.+?): (.+)")
PAGES = {"results/claims.html": claims.CLAIMS, "results/beyond.html": claims.FINDINGS}
TURNED = {"ahead": "behind", "behind": "ahead"}
DECIDED = "decided-in-advance"
"""The section that has the registered words of a page."""


class Line(NamedTuple):
    """A label, the address of its evidence, what was compared in words, the verdict, the estimate,
    how many points its unit is, and how many seeds it has, with "registered" behind it."""

    label: str
    address: str
    compared: str
    word: str
    estimate: Estimate
    points: float
    seeds: str

    def in_points(self) -> tuple[float, float, float]:
        """Return the estimate and the ends of its 95 % interval."""
        low, high = self.estimate.interval()
        return self.points * self.estimate.value, self.points * low, self.points * high


@cache
def points_of(experiment: str) -> float:
    """Return how many points of accuracy on each task a hypervolume of 1 is, near what LS reaches
    on an experiment of accuracies: the slope of `measures.points_apart` there."""
    setting = Setting(experiment, "ls")
    runs = frame.read()
    tasks = len(next(iter(runs[setting].values())).objectives)
    volume = frame.measured(runs, setting, "hypervolume", "validation").mean()
    return float(100 * volume ** (1 / tasks - 1) / tasks)


def of_claim(label: str, text: str, page: str, claim: Claim, runs: Runs) -> Line:
    """Return the line of a claim, turned round if it is of a baseline against PaMaL; raise
    ValueError where it is not one comparison of hypervolumes."""
    judged = judge(claim, runs)
    (part,) = judged.parts
    if not claim.is_compared or claim.of_ratio or "hypervolume" not in str(claim.measures[0]):
        raise ValueError(text)
    points = points_of(claim.ours[0].experiment)
    seeds = part.in_seeds if part.seeds else ""
    address, word, estimate = f"{page}#{claims.anchor(text)}", judged.word, part.estimate
    if claim.ours[0].method != "pamal":
        word, estimate = TURNED.get(word, word), estimate._replace(value=-estimate.value)
        seeds = re.sub(r"(\d+) against (\d+)", r"\2 against \1", seeds)
    return Line(label, address, text, word, estimate, points, seeds)


@cache
def judged_question(name: str) -> tuple[Question, dict[str, str], dict[str, Estimate]]:
    """Return a registered question with the words of its hypotheses, which are its progress until
    its last run, and the estimates that there are. It is judged once for all lines."""
    question = registered.read(name)
    words = registered.verdicts(question)["verdict"].to_dict()
    is_complete = question.progress == "complete"
    every = registered.hypotheses(question) if is_complete else []
    return question, words, {one.text: one.away for one in every}


def of_question(label: str, name: str, text: str) -> Line:
    """Return the line of a registered hypothesis."""
    question, words, estimates = judged_question(name)
    experiment = experiment_of(question, text)
    is_volume = question.asked.measure == "hypervolume"
    page = "results/beyond.html" if is_volume else f"results/{experiment}.html"
    estimate = estimates.get(text, Estimate(np.nan, np.nan, 0))
    points = points_of(experiment) if is_volume else 100.0
    seeds = f"{len(question.asked.seeds)} seeds, registered"
    return Line(label, f"{page}#{DECIDED}", text, words[text], estimate, points, seeds)


def experiment_of(question: Question, text: str) -> str:
    """Return the experiment of a hypothesis: the one that its text names, or that of all
    settings."""
    known = {row.experiment for row in question.rows.values()}
    named = [name for name in known if text.lower().startswith(name)]
    return (named or [*known])[0]


class Verdicts(SphinxDirective):
    """Its content is questions, each with lines under it."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the picture, and the intervals in numbers."""
        self.env.note_dependency(str(frame.FILE))
        rows = [
            text[2:] if text.startswith("# ") else self._line(text)
            for text in filter(None, map(str.strip, self.content))
        ]
        return [nodes.raw("", picture(rows), format="html")]

    def _line(self, text: str) -> Line:
        match = RULE.fullmatch(text)
        label, name = match.groups() if match else ("", "")
        question, _, hypothesis = name.partition(": ")
        if (registered.FOLDER / f"{question}.toml").exists():
            self.env.note_dependency(str(registered.FOLDER / f"{question}.toml"))
            if hypothesis in judged_question(question)[1]:
                return of_question(label, question, hypothesis)
        for page, known in PAGES.items():
            if name in known:
                try:
                    return of_claim(label, name, page, known[name], frame.read())
                except ValueError:
                    raise self.error(f"Expected one comparison of hypervolumes: {name!r}") from None
        raise self.error(f"Expected '- label: claim' or '- label: question: hypothesis': {text!r}.")


def picture(rows: list[str | Line]) -> str:
    """Return questions and lines as a table, with the intervals in numbers below it, folded."""
    lines = [row for row in rows if isinstance(row, Line)]
    edge = float(np.nanmax(np.abs([line.in_points() for line in lines])))
    texts = [
        '<table class="verdicts"><thead><tr><td></td> <td class="v-sides" aria-hidden="true">'
        '<span>behind</span> <span>ahead</span></td> <th scope="col">PaMaL is</th></tr></thead>'
        "<tbody>"
    ]
    for row in rows:
        if isinstance(row, str):
            head = f'<th colspan="3" scope="colgroup">{html.escape(row)}</th>'
            texts.append(f'<tr class="v-question">{head}</tr>')
            continue
        link = f'<a href="{row.address}">{html.escape(row.label)}</a>'
        plot = f'<td class="v-plot">{drawing(row, edge)}</td>'
        texts.append(f'<tr><th scope="row">{link}</th> {plot} {cell(row)}</tr>')
    numbers = "".join(
        f'<tr><th scope="row">{html.escape(one.compared)}</th> <td>{in_numbers(one)}</td></tr>'
        for one in lines
    )
    details = f"<summary>The intervals in numbers</summary><table>{numbers}</table>"
    return f'{"".join(texts)}</tbody></table><details class="v-numbers">{details}</details>'


def text_of(points: float) -> str:
    """Return a number of points with its sign."""
    return with_minus(f"{points:+.1f}")


def cell(line: Line) -> str:
    """Return the word, the number of points and the seeds."""
    found = f"{text_of(line.in_points()[0])} points" if np.isfinite(line.estimate.value) else ""
    seeds = f' <span class="v-seeds">{line.seeds}</span>' if line.seeds else ""
    return f'<td><span class="v-word {css(line.word)}">{line.word}</span> {found}{seeds}</td>'


def in_numbers(line: Line) -> str:
    """Return the estimate with its 95 % interval, in points and as it was measured."""
    if not np.isfinite(line.estimate.value):
        return line.word
    value, low, high = map(text_of, line.in_points())
    ends = ", ".join(f"{end:+.4f}" for end in line.estimate.interval())
    measured = with_minus(f"{line.estimate.value:+.4f} [{ends}]")
    return f"{value} points ({low} to {high}), as measured {measured}, {line.seeds}"


def drawing(line: Line, edge: float) -> str:
    """Return a drawing of the number with its interval, on the right if PaMaL is better."""

    def x(points: float) -> float:
        return round(WIDTH / 2 * (1 + 0.95 * points / edge), 1)

    value, low, high = line.in_points()
    bar = f'<path d="M{x(low)} {HEIGHT / 2}H{x(high)}"/>' if np.isfinite(low) else ""
    mark = ""
    if np.isfinite(value):
        mark = f'<circle r="4.5" cx="{x(value)}" cy="{HEIGHT / 2}"/>'
    bound = f'<path class="v-bound" d="M{WIDTH / 2} 0v{HEIGHT}"/>'
    drawn = f'{bound}<g class="{css(line.word)}">{bar}{mark}</g>'
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{drawn}</svg>'


def css(word: str) -> str:
    """Return the class of a verdict."""
    return f"v-{re.sub('[^a-z]+', '-', word)}"
