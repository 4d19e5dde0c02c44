"""Add what others achieve to the values of the landing page's explorer, and the point it opens at:

python book/_assets/multimnist_beside.py

It reads records alone: linear scalarisation and the networks for one task, with the seed of the
explorer's run and on validation, as its front.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from pamal_core.front import Front, Objective
from pamal_core.runs.records import Record

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "book/_assets/widgets/multimnist.json"
OTHERS = {"LS": "ls", "top-left alone": "stl-0", "bottom-right alone": "stl-1"}

values = json.loads(TARGET.read_text())
points = values["points"]
objectives = tuple(Objective(**objective) for objective in points["objectives"])
front = Front(np.array(points["alphas"]), pd.DataFrame(points["columns"]), objectives)
values["alpha"] = front.choose().alpha.tolist()
values["beside"] = []
for label, name in OTHERS.items():
    (row,) = (
        Record.read(ROOT / f"results/multimnist/{name}_seed_0.json")
        .front("validation")
        .table.round(6)
        .to_dict("records")
    )
    values["beside"].append({"label": label, "values": row})
values["about"] = (
    "MultiMNIST; PaMaL with W = 4, λ = 0 and seed 0, measured on 10,000 validation images: the "
    "standard error of an accuracy is 0.002. LS is one network for both tasks, trained with equal "
    "weights; the dotted lines are networks for one task alone. All have ten epochs and seed 0."
)
TARGET.write_text(json.dumps(values, separators=(",", ":")) + "\n")
print(f"{TARGET.relative_to(ROOT)}: opens at {values['alpha']}, {len(values['beside'])} others.")
