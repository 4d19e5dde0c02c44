"""Draw the README's figure from the records: `python book/_assets/multimnist_front.py`."""

from pathlib import Path

from pamal_companion.plots import fronts, style
from pamal_companion.study import frame, paper
from pamal_companion.study.frame import Setting

style.use()
runs, ls_setting = frame.read(), Setting("multimnist", "ls")
settings = Setting("multimnist", "pamal"), ls_setting, ls_setting.having(epochs=40)
pamal, ls, dear = (
    {seed: runs[setting][seed].front("test") for seed in (0, 1, 2)} for setting in settings
)
single = [
    frame.measured(
        runs, Setting("multimnist", "stl").having(task=t), f"{task}/accuracy", "test"
    ).mean()
    for t, task in enumerate(paper.TASKS["multimnist"])
]
provenance = "MultiMNIST, full data, test; our runs, three seeds per method."
rivals = {"LS": [*ls.values()], "LS, same cost": [*dear.values()]}
figure = fronts.seeds_figure(pamal, rivals, single, provenance)
figure.savefig(Path(__file__).with_suffix(".svg"), **style.VECTOR, bbox_inches="tight")
