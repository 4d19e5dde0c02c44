"""Draw the README's figure from the records: `python book/_assets/multimnist_front.py`."""

from pathlib import Path

from pamal_companion.plots import fronts, style
from pamal_companion.study import frame, paper
from pamal_companion.study.frame import Setting

style.use()
runs = frame.read(frame.RESULTS / "multimnist")
pamal, ls = (
    {seed: record.front("test") for seed, record in runs[Setting("multimnist", method)].items()}
    for method in ("pamal", "ls")
)
single = [
    frame.measured(
        runs, Setting("multimnist", "stl").having(task=t), f"{task}/accuracy", "test"
    ).mean()
    for t, task in enumerate(paper.TASKS["multimnist"])
]
provenance = "MultiMNIST, full data, test; our runs, three seeds per method."
figure = fronts.seeds_figure(pamal, {"LS": [*ls.values()]}, single, provenance)
figure.savefig(Path(__file__).with_suffix(".svg"), **style.VECTOR, bbox_inches="tight")
