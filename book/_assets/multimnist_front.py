"""Draw the README's figure from the records: `python book/_assets/multimnist_front.py`."""

from pathlib import Path

from pamal_core.plots import fronts, style
from pamal_core.study import multimnist_tables as tables

ROOT = Path(__file__).parents[2]

style.use()
runs = tables.read_runs(ROOT / "results" / "multimnist")
pamal, ls = ([record.front("test") for record in runs[name]] for name in ("pamal", "ls"))
provenance = "MultiMNIST, full data, test; our runs, three seeds per method."
figure = fronts.seeds_figure(pamal, {"LS": ls}, tables.single_task(runs), provenance)
figure.savefig(Path(__file__).with_suffix(".svg"), **style.VECTOR, bbox_inches="tight")
