"""Write the drawings of "PaMaL in ten minutes": `python book/_assets/drawings.py`.

Every point is computed: by runs of Algorithm 1 on the toy problem, by the penalty, or from the
record and the weights that the first page's explorer shows. A drawing is SVG that stands in the
page itself, so that it takes the colours of the page, light or dark.
"""

import base64
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from contourpy import contour_generator
from torch.nn.utils import vector_to_parameters

from pamal_companion.demos import schematics
from pamal_companion.experiments.models import lenet
from pamal_companion.plots.edges import edges
from pamal_companion.plots.style import PALETTE
from pamal_companion.toy.pairs import Pairs
from pamal_companion.toy.problem import INITIAL_POINTS, ToyProblem, pareto_set
from pamal_companion.widgets.explorer_data import pictures
from pamal_core.balancing import Linear
from pamal_core.front import Front
from pamal_core.objectives import Objective
from pamal_core.penalties import MultiForward
from pamal_core.simplex import lattice

HERE = Path(__file__).parent
TARGET = HERE / "drawings"
WIDE, HIGH = 360, 300
LEFT, TOP, RIGHT, BOTTOM = 16, 34, 344, 268
"""The frame of a panel in its picture."""
STYLE = """
.sketch { color-scheme: light dark; display: block; width: 100%; max-width: 30rem; height: auto;
  margin: 0.5rem auto; --one: ONE; --two: TWO; --good: GOOD; --ink: light-dark(#1f2328, #e6edf3);
  --soft: light-dark(#57606a, #9ea7b1); --faint: light-dark(#d0d7de, #3d444d);
  --paper: var(--pst-color-background, light-dark(#ffffff, #14181e)); }
html[data-theme=light] .sketch { color-scheme: light; }
html[data-theme=dark] .sketch { color-scheme: dark; }
.sketch text { font: 13px system-ui, sans-serif; fill: var(--ink); stroke: var(--paper);
  stroke-width: 4px; paint-order: stroke; stroke-linejoin: round; }
.sketch .title { font-weight: 600; font-size: 14px; }
.sketch .soft { fill: var(--soft); font-size: 12px; }
.sketch .one { --hue: var(--one); } .sketch .two { --hue: var(--two); }
.sketch .good { --hue: var(--good); } .sketch .ink { --hue: var(--ink); }
.sketch .grey { --hue: var(--soft); } .sketch .faint { --hue: var(--faint); }
.sketch text:is(.one, .two, .good) { fill: var(--hue); font-weight: 600; }
.sketch path { fill: none; stroke: var(--hue); stroke-width: 2; stroke-linejoin: round; }
.sketch circle { fill: var(--hue); stroke: var(--paper); stroke-width: 1.5; }
.sketch circle.hollow { fill: var(--paper); stroke: var(--hue); stroke-width: 2; }
.sketch rect { fill: var(--hue); opacity: 0.14; } .sketch .thin { stroke-width: 1; }
.sketch .contour { stroke-width: 1; opacity: 0.3; }
.sketch .band { stroke-width: 9; opacity: 0.35; stroke-linecap: round; }
.sketch .dashed { stroke-dasharray: 5 4; } .sketch .heavy { stroke-width: 3.5; }
""".strip()
for word, hue in zip(("ONE", "TWO", "GOOD"), PALETTE["tasks"], strict=True):
    STYLE = STYLE.replace(f" {word};", f" light-dark({', '.join(PALETTE['hues'][hue])});")


class Panel:
    """A plane with horizontal and vertical limits, and what is drawn in it, in order."""

    def __init__(self, title: str, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.x, self.y = x, y
        self.parts = [f'<text class="title" x="{LEFT}" y="16">{title}</text>']

    def at(self, points: Iterable[Sequence[float]]) -> np.ndarray:
        """Return where points of the plane lie in the picture."""
        low, high = np.array([self.x, self.y], float).T
        share = (np.array([*points], float) - low) / (high - low)
        return np.array([LEFT, BOTTOM]) + share * [RIGHT - LEFT, TOP - BOTTOM]

    def axes(self, x: str, y: str) -> None:
        """Draw the left and the lower side of the frame, named."""
        self.parts += [
            f'<path class="grey thin" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"/>',
            f'<text class="soft" x="{RIGHT}" y="{BOTTOM + 18}" text-anchor="end">{x}</text>',
            f'<text class="soft" x="{LEFT + 6}" y="{TOP + 4}">{y}</text>',
        ]

    def line(self, points: Iterable[Sequence[float]], look: str) -> None:
        """Draw a line through `points`."""
        joined = "L".join(f"{x:.1f} {y:.1f}" for x, y in self.at(points))
        self.parts.append(f'<path class="{look}" d="M{joined}"/>')

    def arrow(self, start: Sequence[float], end: Sequence[float], look: str) -> None:
        """Draw an arrow that stops short of both points."""
        a, b = self.at([start, end])
        along = (b - a) / np.linalg.norm(b - a)
        across = np.array([-along[1], along[0]])
        a, b = a + 10 * along, b - 10 * along
        tips = b - 8 * along + 5 * across, b, b - 8 * along - 5 * across
        head = "L".join(f"{x:.1f} {y:.1f}" for x, y in tips)
        self.parts.append(
            f'<path class="{look}" d="M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}M{head}"/>'
        )

    def dots(self, points: Iterable[Sequence[float]], look: str, radius: float = 5) -> None:
        """Draw a disc at each of `points`."""
        self.parts += [
            f'<circle class="{look}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>'
            for x, y in self.at(points)
        ]

    def box(self, low: Sequence[float], high: Sequence[float], look: str) -> None:
        """Draw a pale rectangle between two corners."""
        (x, y), (x2, y2) = np.sort(self.at([low, high]), axis=0)
        size = f'width="{x2 - x:.1f}" height="{y2 - y:.1f}"'
        self.parts.append(f'<rect class="{look}" x="{x:.1f}" y="{y:.1f}" {size}/>')

    def text(
        self,
        words: str,
        point: Sequence[float],
        look: str = "",
        side: str = "start",
        shift: tuple[float, float] = (9, 4),
    ) -> None:
        """Write `words` beside a point; `side` is what of them stands there: start, middle or
        end."""
        x, y = self.at([point])[0] + shift
        anchor = f'text-anchor="{side}"'
        self.parts.append(f'<text class="{look}" x="{x:.1f}" y="{y:.1f}" {anchor}>{words}</text>')

    def write(self, name: str, seen: str) -> None:
        """Write the picture into a file; `seen` is what it says to who cannot see it."""
        TARGET.mkdir(exist_ok=True)
        text = "\n".join(self.parts)
        (TARGET / f"{name}.svg").write_text(
            f'<svg class="sketch" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" '
            f'role="img" aria-label="{seen}">\n<style>\n{STYLE}\n</style>\n{text}\n</svg>\n',
            encoding="utf-8",
        )


def conflict() -> None:
    """Draw three networks as points in the plane of two losses, and the front."""
    front = schematics.bowls(lattice(2, 101) @ schematics.CENTRES)
    a, b = schematics.bowls(np.array([[0.25, 0.0], [0.62, 0.0]]))
    (worse,) = schematics.bowls(np.array([[0.6, 0.5]]))
    panel = Panel("Three networks, two losses", (0, 1), (0, 1))
    panel.box(b, (1, 1), "grey")
    panel.line(front, "good band")
    panel.axes("loss of task 1 (lower is better)", "loss of task 2")
    panel.dots([a, b], "ink", 6)
    panel.dots([worse], "hollow grey", 6)
    panel.text("A: good at task 1", a)
    panel.text("B: good at task 2", b, shift=(8, -6))
    panel.text("C: B is better at both", worse, "", "middle", (20, -14))
    panel.text("the Pareto front", front[10], "good", shift=(12, 4))
    panel.write(
        "conflict",
        "Three points in the plane of two losses. A and B lie on the front. C lies above it, and "
        "B is better than C at both tasks.",
    )


def idea() -> None:
    """Draw a run of Algorithm 1 on the toy problem: the segment in weight space, and its losses."""
    problem = ToyProblem()
    starts = np.array([[INITIAL_POINTS[2], INITIAL_POINTS[3]]])
    every, seen = 200, (0, 10, 25, 250)
    found = Pairs(problem, [Linear()], starts).run(every * seen[-1], every)[:, 0, 0]
    x, y = np.linspace(-11, 11, 121), np.linspace(-12, 12, 121)
    losses = problem.losses(np.stack(np.meshgrid(x, y), -1))
    # Member 1 is on the left.
    weights = Panel("Weight space: a segment of networks", (11, -11), (-12, 12))
    plane = Panel("Loss space: the same networks", (-22, 16), (-22, 16))
    for t, look in enumerate(("one", "two")):
        for level in (-18, -14, -10, -6):
            for line in contour_generator(x, y, losses[..., t]).lines(level):
                weights.line(line[::2], f"{look} contour")
        weights.line(found[:, t], f"{look} thin")
    weights.line(pareto_set(2), "good band")
    plane.line(problem.front(101), "good band")
    plane.axes("loss of task 1 (lower is better)", "loss of task 2")
    for step in seen:
        last = step == seen[-1]
        for panel, place in ((weights, lambda theta: theta), (plane, problem.losses)):
            line = place(lattice(2, 2 if panel is weights else 101) @ found[step])
            panel.line(line, "ink heavy" if last else "grey dashed")
            for k, look in enumerate(("one", "two")):
                panel.dots(line[[-k]], look, 7 if last else 4)
    first, last = found[0], found[-1]
    weights.text("start of member 1", first[0], "one", "start", (10, 0))
    weights.text("start of member 2", first[1], "two", "end", (50, -42))
    weights.text("member 1", last[0], "one", "middle", (0, 22))
    weights.text("member 2", last[1], "two", "middle", (0, 22))
    weights.text("every point between", last.mean(0), "", "middle", (0, -26))
    weights.text("is a network", last.mean(0), "", "middle", (0, -11))
    weights.text("thin lines: where a loss is the same", (0, -12), "soft", "middle", (0, 18))
    start = problem.losses(first.mean(0))
    plane.text("member 1", problem.losses(last[0]), "one", shift=(12, 4))
    plane.text("member 2", problem.losses(last[1]), "two", shift=(12, 0))
    plane.text("the trained segment lies", (16, -8), "", "end", (0, 0))
    plane.text("on the Pareto front", (16, -8), "good", "end", (0, 16))
    plane.text("the segment at the start", start, "soft", "end", (-10, 0))
    weights.write(
        "idea_weights",
        "The plane of two weights. Two members start far from each other and move to the bottoms "
        "of two bowls, one for each loss. Dashed lines show the segment between them on the way.",
    )
    plane.write(
        "idea_losses",
        "The plane of two losses. The images of the dashed segments come closer to the Pareto "
        "front, and that of the last segment lies on it.",
    )


def digit() -> None:
    """Draw one test image of the first page's explorer, and what the network at each alpha
    reads."""
    values = json.loads((HERE / "widgets" / "multimnist.json").read_text("utf-8"))
    stacked = np.frombuffer(base64.b64decode(values["network"]["stacked"]), "<f4").reshape(2, -1)
    raw = np.frombuffer(base64.b64decode(values["images"]["pixels"]), np.uint8)
    low, high = values["images"]["range"]
    images = torch.tensor(raw.reshape(-1, 1, 28, 28) / 255 * (high - low) + low).float()
    labels = torch.tensor(values["images"]["labels"])
    alphas, model = lattice(2, 101), lenet(in_channels=1).eval()
    shares = []
    for alpha in torch.tensor(alphas).float():
        vector_to_parameters(alpha @ torch.tensor(stacked), model.parameters())
        with torch.no_grad():
            shares.append(torch.stack([out.softmax(-1) for out in model(images)]))
    shares = torch.stack(shares)  # [alpha, task, image, class]
    right = torch.stack([shares[:, t, range(len(labels)), labels[:, t]] for t in (0, 1)], 1)
    # For each task the image on which its own member gains most over the other one.
    gain = (right[0] - right[-1]) * torch.tensor([[1.0], [-1.0]])
    shown, names = gain.argmax(1).tolist(), values["tasks"]
    ends = {"member 1": ("one", (0, 0), "start"), "member 2": ("two", (1, 0), "end")}
    panel = Panel("How sure the network is, on two images", (0, 1), (0, 1.12))
    panel.axes("", "probability of the correct digit")
    for tick in (0, 1):
        panel.text(str(tick), (0, tick), "soft", "end", (-4, 4))
    looks = ("one", (0.03, 0.76), 0, "start", (8, -10)), ("two", (0.78, 0.85), -1, "end", (-8, -10))
    for t, (look, corner, end, side, shift) in enumerate(looks):
        i = shown[t]
        curve = np.stack([alphas[:, 1], right[:, t, i].numpy()], -1)
        panel.line(curve, f"{look} heavy")
        (left, top), png = panel.at([corner])[0], pictures(images[i : i + 1])[0]
        panel.parts.append(
            f'<image x="{left:.0f}" y="{top:.0f}" width="64" height="64" href="{png}" '
            'style="image-rendering: pixelated"/>'
        )
        panel.text(f"{names[t]}: {labels[i, t]}", curve[end], look, side, shift)
    for word, (look, place, side) in ends.items():
        panel.text(word, place, look, side, (0, 18))
    panel.text("α moves →", (0.5, 0), "soft", "middle", (0, 18))
    panel.write(
        "digit",
        "As alpha moves from member 1 to member 2 the probability that the network gives to the "
        f"correct {names[0]} digit of one image falls, and to the correct {names[1]} digit of "
        "another rises.",
    )
    panel = Panel("How often it is right, on 10,000 images", (-0.15, 1.15), (0.925, 0.97))
    panel.axes("", "accuracy (higher is better)")
    # The ends of the two curves are close to each other.
    looks = ("one", 55, "start", (4, -12), (5, 8)), ("two", 60, "middle", (0, 24), (5, -2))
    for task, (look, k, side, shift, beside) in zip(names, looks, strict=True):
        accuracies = values["points"]["columns"][f"{task}/accuracy"]
        curve = np.stack([alphas[:, 1], accuracies], -1)
        panel.line(curve, f"{look} heavy")
        panel.text(f"{task} digit", curve[k], look, side, shift)
        panel.text(f"{100 * accuracies[0]:.1f} %", curve[0], "soft", "end", (-5, 4))
        panel.text(f"{100 * accuracies[-1]:.1f} %", curve[-1], "soft", shift=beside)
    for word, (look, *_) in ends.items():
        panel.text(word, (0 if look == "one" else 1, 0.925), look, "middle", (0, 18))
    panel.text("α moves →", (0.5, 0.925), "soft", "middle", (0, 18))
    panel.write(
        "digits",
        f"As alpha moves from member 1 to member 2 accuracy on the {names[0]} digit falls and on "
        f"the {names[1]} digit rises, but for a little close to the members.",
    )


def order() -> None:
    """Draw what the penalty looks at: the losses of one task, over how much each draw cares for
    it."""
    alphas = np.array([[0.15, 0.85], [0.4, 0.6], [0.65, 0.35], [0.9, 0.1]])
    situations = {"ordered": [0.9, 0.62, 0.4, 0.25], "violated": [0.62, 0.3, 0.72, 0.25]}
    titles = {"ordered": "In order: nothing to pay", "violated": "Out of order: one edge pays"}
    for name, losses in situations.items():
        panel = Panel(titles[name], (0, 1), (0, 1))
        panel.axes("α₁: how much a draw cares for task 1", "loss of task 1")
        points = np.stack([alphas[:, 0], losses], -1)
        for i, j in edges(alphas)[0]:
            rise = losses[j] - losses[i]
            panel.arrow(points[i], points[j], "two heavy" if rise > 0 else "good")
            if rise > 0:
                words = f"cares more, does worse: v = {rise:.2f}"
                panel.text(words, points[j], "two", "middle", (-40, -20))
        panel.dots(points, "hollow ink", 10)
        for w, point in enumerate(points, start=1):
            panel.text(str(w), point, "", "middle", (0, 4.5))
        one = torch.tensor([losses, [0.1, 0.2, 0.3, 0.4]]).double().T  # task 2 is in order
        value = MultiForward(1.0)(one, torch.tensor(alphas)).item()
        panel.text(f"penalty R = {value:.2f}", (1, 1), "", "end", (0, 22))
        panel.write(
            f"order_{name}",
            f"Four draws, loss of task 1 over its weight, joined by arrows from left to right; "
            f"{'every arrow goes down' if name == 'ordered' else 'the second arrow goes up'}.",
        )


def choose() -> None:
    """Eleven networks on validation, a bound, and the network that `Front.choose` takes."""
    points = json.loads((HERE / "widgets" / "multimnist.json").read_text("utf-8"))["points"]
    objectives = tuple(Objective(**one) for one in points["objectives"])
    front = Front(np.array(points["alphas"]), pd.DataFrame(points["columns"]), objectives)
    every = Front(front.alphas[::10], front.table[::10].reset_index(drop=True), objectives)
    bound = 0.964
    choice = every.choose(at_least={objectives[0].name: bound})
    panel = Panel("Name a bound, take the best that keeps it", (0.939, 0.9665), (0.929, 0.95))
    panel.box((bound, 0.929), (0.9665, 0.95), "good")
    panel.axes("accuracy, top-left digit (higher is better)", "accuracy, bottom-right digit")
    panel.line([(bound, 0.929), (bound, 0.95)], "good dashed")
    panel.line(every.values, "ink thin")
    kept = every.non_dominated()
    panel.dots(every.values[~kept], "hollow grey", 5)
    panel.dots(every.values[kept], "ink", 5)
    (here,) = (every.alphas == choice.alpha).all(1).nonzero()[0]
    panel.dots(every.values[here : here + 1], "two", 8)
    chosen = f"chosen: α = ({choice.alpha[0]:.1f}, {choice.alpha[1]:.1f})"
    panel.text(chosen, every.values[here], "two", "end", (-12, 5))
    panel.text("top-left at least 0.964", (bound, 0.929), "good", "end", (-6, -60))
    panel.text("member 1", every.values[0], "one", "end", (-10, 4))
    panel.text("member 2", every.values[-1], "two", "start", (8, 14))
    panel.write(
        "choose",
        "Eleven networks as a curve of accuracy on two digits, a dashed line at the bound 0.964, "
        "and beyond it the chosen network.",
    )


if __name__ == "__main__":
    for draw in (conflict, idea, digit, order, choose):
        draw()
