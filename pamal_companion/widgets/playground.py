"""Train the sample again with other settings, by hand, and see what becomes of its front."""

from typing import Any

import matplotlib.pyplot as plt
from IPython.display import display
from ipywidgets import HTML, Button, FloatSlider, IntSlider, Output, SelectionSlider, VBox
from matplotlib.figure import Figure

from pamal_companion.plots import style
from pamal_companion.plots.fronts import name_axes
from pamal_companion.runs.experiment import Experiment
from pamal_companion.runs.options import Options
from pamal_companion.runs.run import run
from pamal_core.errors import InputError
from pamal_core.front import Front


class Playground(VBox):  # type: ignore[misc]
    """Controls for W, lambda and p; each press of the button trains once more and adds a front.

    `fixed` are the other options of the experiment, such as `epochs`. `fronts` has those trained so
    far, on validation, by their settings; the last few are drawn, at most as many as there are
    colours.
    """

    def __init__(self, experiment: Experiment, options: type[Options], **fixed: Any) -> None:
        self.fronts: dict[str, Front] = {}
        self._experiment, self._options, self._fixed = experiment, options, fixed
        wide, ps = {"style": {"description_width": "8em"}}, [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
        self.W = IntSlider(2, 1, 6, description="W, draws a step", **wide)
        self.lam = FloatSlider(0, min=0, max=10, step=0.5, description="λ, penalty", **wide)
        self.p = SelectionSlider(options=ps, value=1.0, description="p of Dirichlet", **wide)
        self.button = Button(description="Train", button_style="primary")
        self.message, self.figure = HTML(), Output()
        self.button.on_click(self.train)
        controls = [self.W, self.lam, self.p, self.button, self.message]
        super().__init__([VBox(controls), self.figure])

    def train(self, _: object = None) -> None:
        """Make one run with the settings of the controls, and say there what is wrong with them."""
        chosen = {"W": self.W.value, "lam": self.lam.value, "p": self.p.value}
        self.button.disabled, self.message.value = True, "training …"
        try:
            options = self._options.create(**self._fixed, **chosen)
            record = run(self._experiment, options).record
        except InputError as error:
            self.message.value = str(error)
            return
        finally:
            self.button.disabled = False
        front = record.front("validation")
        self.fronts[", ".join(f"{name} = {value:g}" for name, value in chosen.items())] = front
        self.message.value = f"rank correlation of the tasks {front.task_correlation():.2f}"
        self.figure.clear_output(wait=True)
        with self.figure:
            display(self._drawn(record.data))  # type: ignore[no-untyped-call]
            plt.close()

    def _drawn(self, data: str) -> Figure:
        figure, ax = plt.subplots(figsize=(6, 4.5))
        last = list(self.fronts)[-len(style.SEEDS) :]
        for name, look in style.looks(last).items():
            ax.plot(*self.fronts[name].values.T[:2], ms=4, label=name, **look)
        name_axes(ax, self.fronts[last[-1]])
        ax.legend(fontsize=8)
        return style.stamp(figure, f"{data}, validation; the last {len(last)} runs.")
