"""Write the values of the landing page's explorer:

python book/_assets/multimnist_explorer.py [RECORD | --others]

RECORD is the record of a run of PaMaL on the full data. It takes a minute of one thread, and
with no weights beside the record the time of the run again. With --others the values of the run
stay, and only what others achieve and the point it opens at are written again, from records alone.
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader

import pamal_core as pamal
from pamal_companion.experiments.multimnist import EXPERIMENT, MultiMNISTOptions
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run
from pamal_companion.widgets import explorer_data
from pamal_core.front import Front
from pamal_core.objectives import Objective

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "book/_assets/widgets/multimnist.json"
LOW, HIGH = -0.25, 1.25  # bicubic resizing overshoots [0, 1]
NUM_IMAGES = 24
OTHERS = {
    "LS": "multimnist/ls",
    "LS, equal compute": "beyond/multimnist/ls-40-epochs",
    "top-left alone": "multimnist/stl-0",
    "bottom-right alone": "multimnist/stl-1",
}
ABOUT = (
    "MultiMNIST; PaMaL with W = 4, λ = 0 and seed 0, measured on 10,000 validation images: the "
    "standard error of an accuracy is 0.002. LS is one network for both tasks: after ten epochs, "
    "as PaMaL has, and after forty, with equal compute. Dotted lines are networks for one task "
    "alone."
)


def of_run(path: Path) -> dict[str, Any]:
    """Return the front of the run whose record is at `path`, its networks, and images for them to
    read."""
    record = Record.read(path)
    given = {k: v for k, v in record.options.items() if k in MultiMNISTOptions.model_fields}
    options = MultiMNISTOptions(data="full", seed=record.seed, out=str(path), **given)
    splits = EXPERIMENT.load(options)
    _, ensemble = run(EXPERIMENT, options, splits)
    if ensemble is None:  # a clone has the record without its weights
        _, ensemble = run(EXPERIMENT, options.model_copy(update={"out": None}), splits)
    alphas = pamal.lattice(2, 101)
    front = pamal.evaluate(ensemble, EXPERIMENT.tasks, DataLoader(splits.validation, 1000), alphas)

    # Test images whose answer changes on the way from one member to the other, then any others.
    images, *labels = (tensor[:2000] for tensor in splits.test.tensors)
    with torch.no_grad():
        answers = torch.stack(
            [torch.stack(ensemble(images, alpha)).argmax(-1) for alpha in alphas[::10]]
        )
    changes = (answers != answers[0]).any(0).any(0)
    halves = [kind.nonzero()[: NUM_IMAGES // 2, 0] for kind in (changes, ~changes)]
    chosen = torch.stack(halves, 1).flatten()  # in turns
    pixels = ((images[chosen] - LOW) / (HIGH - LOW) * 255).round().to(torch.uint8)
    print(f"{int(changes.sum())} of {len(images)} test images change their answer on the way.")
    return {
        "tasks": [task.name for task in EXPERIMENT.tasks],
        "points": explorer_data.points(front),
        "gram": explorer_data.gram(ensemble),
        "network": explorer_data.network(ensemble),
        "images": {
            "pixels": base64.b64encode(pixels.numpy().tobytes()).decode(),
            "range": [LOW, HIGH],
            "labels": torch.stack([label[chosen] for label in labels], 1).tolist(),
        },
        "drawing": {"canvas": 36, "side": 28, "corners": [[0, 0], [6, 6]]},
    }


def of_others(points: dict[str, Any]) -> dict[str, Any]:
    """Return where the explorer opens on the front `points`; and linear scalarisation and the
    networks for one task, with the seed of the explorer's run and on validation, as its front."""
    objectives = tuple(Objective(**objective) for objective in points["objectives"])
    front = Front(np.array(points["alphas"]), pd.DataFrame(points["columns"]), objectives)
    beside = []
    for label, name in OTHERS.items():
        record = Record.read(ROOT / f"results/{name}_seed_0.json")
        (row,) = record.front("validation").table.round(6).to_dict("records")
        beside.append({"label": label, "values": row})
    return {"alpha": front.choose().alpha.tolist(), "beside": beside, "about": ABOUT}


given = sys.argv[1:] or [ROOT / "results/multimnist/pamal_seed_0.json"]
values = json.loads(TARGET.read_text("utf-8")) if given == ["--others"] else of_run(Path(given[0]))
values |= of_others(values["points"])
TARGET.write_text(json.dumps(values, separators=(",", ":")) + "\n", "utf-8")
print(f"{TARGET}: {TARGET.stat().st_size / 1000:.0f} kB, opens at {values['alpha']}")
