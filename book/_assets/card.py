"""Draw the picture that messengers show beside a link to the book: `python book/_assets/card.py`.

It has the front of one recorded run on MultiMNIST, 1200 by 630 pixels.
"""

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from pamal_companion.plots import style
from pamal_companion.runs.records import Record

RECORD = Path(__file__).parents[2] / "results" / "multimnist" / "pamal_seed_0.json"

style.use()
front = Record.read(RECORD).front("validation")
values = front.values[front.alphas[:, 0].argsort()]
figure, (words, ax) = plt.subplots(1, 2, figsize=(12, 6.301), width_ratios=(5, 6))
figure.get_layout_engine().set(rect=(0.03, 0.05, 0.94, 0.9))
words.set_axis_off()
words.text(0, 0.72, "The PaMaL\ncompanion", fontsize=40, weight="bold", va="center")
said = "One training run,\na network for every\ncompromise between\nyour tasks."
words.text(0, 0.28, said, fontsize=23, va="center", linespacing=1.3)
ax.plot(*values.T, color=style.METHODS["PaMaL"][0], lw=4, zorder=1)
shades = plt.get_cmap(style.MAP)(np.linspace(0, 1, len(values)))
ax.scatter(*values.T, s=260, c=shades, edgecolors=style.INK, zorder=2)
ax.set_xlabel("accuracy on the top-left digit  (higher is better →)", fontsize=15)
ax.set_ylabel("accuracy on the bottom-right digit\n(higher is better →)", fontsize=15)
ax.tick_params(labelsize=13)
ax.locator_params(nbins=5)
ax.margins(0.1)
figure.savefig(Path(__file__).with_suffix(".png"), dpi=100, metadata={"Software": None})
