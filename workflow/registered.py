"""Make the runs of registrations that are not made yet: python workflow/registered.py [NAME ...]

A registration is results/registered/NAME.toml. It is written, and its SHA-256 put into the file
HASHES, before its first run. Of its fields this reads `seeds` and the list `settings`. A setting
has `name`, `experiment`, `method`, `options` in the grammar of grid.csv, and `seeds` where they are
others. The value `seed` of an option is that of the run, as in `draw=seed`. The record of a run is
results/registered/NAME/SETTING_seed_SEED.json.

Without names it makes the runs of all registrations. A run that was stopped goes on from its last
epoch. Several processes may work at once: each leaves out what another one is making.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pamal_companion.runs.files import BusyError
from pamal_companion.runs.grid import parameters
from pamal_companion.runs.run import run
from pamal_companion.study.registered import FOLDER, registered


def runs(name: str, folder: Path = FOLDER) -> Iterator[tuple[Any, Any]]:
    """Yield the experiment and the checked options of every run, all settings of a seed together.

    InputError for a setting that an experiment refuses.
    """
    registration = registered(name, folder)
    settings = registration["settings"]
    every = {seed for one in settings for seed in one.get("seeds", registration["seeds"])}
    for seed in sorted(every):
        for setting in settings:
            if seed in setting.get("seeds", registration["seeds"]):
                experiment = f"pamal_companion.experiments.{setting['experiment']}"
                module = importlib.import_module(experiment)
                given = parameters(setting.get("options", ""))
                given = {key: seed if value == "seed" else value for key, value in given.items()}
                given |= {"method": setting["method"], "seed": seed}
                given.setdefault("data", "full")
                given["out"] = str(folder / name / f"{setting['name']}_seed_{seed}.json")
                yield module.EXPERIMENT, module.EXPERIMENT.options.create(**given)


def main(names: list[str]) -> None:
    """Make what is missing of the registrations `names`, or of all."""
    names = names or sorted(path.stem for path in FOLDER.glob("*.toml"))
    planned = [one for name in names for one in runs(name)]  # refused here, before any is made
    for experiment, options in planned:
        if not Path(options.out).exists():
            with suppress(BusyError):
                run(experiment, options, wait=False)
                print(options.out, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
