"""Write the data of the training replay:

python book/_assets/multimnist_replay.py OUT.json [--data full|sample] [--seed S] [--epochs N]

MultiMNIST, PaMaL, W = 4 and no penalty, on one thread of a CPU.
"""

import argparse
import json
import shlex
import sys
from pathlib import Path

from pamal_companion.data.atomic import write_atomic
from pamal_companion.demos.replay import replay
from pamal_companion.experiments.multimnist import EXPERIMENT, MultiMNISTOptions
from pamal_core.errors import InputError

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("out", type=Path)
parser.add_argument("--data", choices=("full", "sample"), default="full")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--epochs", type=int)
given = vars(parser.parse_args())
out = given.pop("out")
try:
    options = MultiMNISTOptions.create(**given, device="cpu")
    found = replay(EXPERIMENT, options, EXPERIMENT.load(options))
    command = shlex.join(["python", "book/_assets/multimnist_replay.py", *sys.argv[1:]])
    write_atomic(out, (json.dumps({"command": command} | found) + "\n").encode())
except InputError as error:
    sys.exit(str(error))
