"""Draw the first page's figure of the dial of conflict: `python book/_assets/dial.py`."""

from pathlib import Path

from pamal_companion.plots import dial as plots
from pamal_companion.plots import style
from pamal_companion.study import dial

style.use()
volumes = dial.volumes()
shown = {name: volumes[name] for name in (plots.PAMAL, plots.FIVE, plots.ONE)}
figure = plots.small_figure(dial.WIDTHS, shown)
Path(__file__).with_suffix(".svg").write_text(style.svg(figure), encoding="utf-8")
