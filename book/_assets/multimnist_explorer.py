"""Write the values of the landing page's explorer:

python book/_assets/multimnist_explorer.py [RECORD]

RECORD is the record of a run of PaMaL on the full data. It takes a minute of one thread, and
with no weights beside the record the time of the run again.
"""

import base64
import json
import runpy
import sys
from pathlib import Path

import torch
from torch.utils.data import DataLoader

import pamal_core as pamal
from pamal_core.experiments.multimnist import EXPERIMENT, MultiMNISTOptions
from pamal_core.runs.records import Record
from pamal_core.runs.run import run
from pamal_core.widgets import explorer_data

ROOT = Path(__file__).parents[2]
LOW, HIGH = -0.25, 1.25  # bicubic resizing overshoots [0, 1]
NUM_IMAGES = 24

path = Path(sys.argv[1] if sys.argv[1:] else ROOT / "results/multimnist/pamal_seed_0.json")
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
    thetas = ensemble.weights(ensemble.alpha_tensor(alphas[::10]))
    answers = torch.stack([torch.stack(ensemble(t, images)).argmax(-1) for t in thetas])
changes = (answers != answers[0]).any(0).any(0)
chosen = torch.cat([changes.nonzero()[: NUM_IMAGES // 2], (~changes).nonzero()[: NUM_IMAGES // 2]])
chosen = chosen.flatten()[torch.arange(NUM_IMAGES).reshape(2, -1).T.flatten()]  # in turns
pixels = ((images[chosen] - LOW) / (HIGH - LOW) * 255).round().to(torch.uint8)
print(f"{int(changes.sum())} of {len(images)} test images change their answer on the way.")

result = {
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
target = ROOT / "book/_assets/widgets/multimnist.json"
target.parent.mkdir(exist_ok=True)
target.write_text(json.dumps(result, separators=(",", ":")) + "\n")
print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1000:.0f} kB")
runpy.run_path(str(Path(__file__).with_name("multimnist_beside.py")))
