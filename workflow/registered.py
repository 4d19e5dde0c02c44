"""Make the runs of registrations that are not made yet: python workflow/registered.py [NAME ...]

With `--best` it names, instead, the best rate of each recipe of grids that are complete, by the
hypervolume of four points on validation, and whether it is at an edge of the rates that were tried:
python workflow/registered.py --best GRID [GRID ...]. Until the last run it says how many are made.

A registration is results/registered/NAME.toml. It is written, and its SHA-256 put into the file
HASHES, before its first run. Of its fields this reads `seeds` and the list `settings`. A setting
has `name`, `experiment`, `method`, `options` in the grammar of grid.csv, and `seeds` where they are
others. The value `seed` of an option is that of the run, as in `draw=seed`. The record of a run is
results/registered/NAME/SETTING_seed_SEED.json.

Without names it makes the runs of all registrations, without their weights. A run that was stopped
goes on from its last epoch. Several processes may work at once: each leaves out what another one is
making, and with `--shard 2/8` a process makes every eighth run, from the second.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pamal_companion.runs.files import BusyError
from pamal_companion.study.registered import FOLDER, Question, best, read
from pamal_core.errors import InputError


def missing(question: Question) -> Iterator[tuple[Any, Any]]:
    """Yield the experiment and the options of every run that is not made, all settings of a seed
    together; InputError where there is another run in its place."""
    for seed in sorted({seed for by_seed in question.paths.values() for seed in by_seed}):
        for name, by_seed in question.paths.items():
            if seed not in by_seed:
                continue
            if by_seed[seed].exists():
                question.record(name, seed)
                continue
            from pamal_companion.runs.experiment import experiment_of  # torch: only now

            row = question.rows[name]
            experiment = experiment_of(row.experiment)
            given = {"data": "full", **row.at(seed), "method": row.method, "seed": seed}
            given["out"] = str(by_seed[seed])
            yield experiment, experiment.options.create(**given)


def run(experiment: Any, options: Any, *, wait: bool, keep_weights: bool = False) -> Any:
    """Make a run by `pamal_companion.runs.run`, which imports torch only now."""
    from pamal_companion.runs.run import run as make

    return make(experiment, options, wait=wait, keep_weights=keep_weights)


def main(names: list[str], folder: Path = FOLDER, shard: tuple[int, int] = (1, 1)) -> None:
    """Make what is missing of the registrations `names`, or of all: of several shards, which are
    counted from 1, the runs of one."""
    number, shards = shard
    names = names or sorted(path.stem for path in folder.glob("*.toml"))
    questions = [read(name, folder) for name in names]  # refused here, before any run is made
    runs = [one for question in questions for one in missing(question)]
    for experiment, options in runs[number - 1 :: shards]:
        with suppress(BusyError):
            run(experiment, options, wait=False, keep_weights=False)
            print(options.out, flush=True)


def main_best(names: list[str], folder: Path = FOLDER) -> None:
    """Print the best rate of each recipe of the grids `names`, which are taken together."""
    if not names:
        raise InputError("--best needs the name of a grid. Found none.")
    questions = [read(name, folder) for name in names]
    if running := [question for question in questions if question.progress != "complete"]:
        for question in running:
            print(f"{question.name}: {question.progress}")
        return
    found = best(questions)
    for recipe, row in found.iterrows():
        edge = f"the {row.edge} of its rates" if row.edge else ""
        tried = ", ".join(f"{rate}: {value:.5f}" for rate, value in row["all"].items())
        print(f"{recipe:24} {row.rate:8} {row.hypervolume:.5f}  {edge:22} {tried}")


def _shard(text: str) -> tuple[int, int]:
    number, _, shards = text.partition("/")
    if not (number.isdecimal() and shards.isdecimal() and 1 <= int(number) <= int(shards)):
        raise InputError(f"`--shard` must be I/N with I from 1 to N. Found {text!r}.")
    return int(number), int(shards)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--best", action="store_true", help="name the best rate of each recipe")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="make every N-th run, from I")
    given = parser.parse_args()
    try:
        if given.best:
            main_best(given.names)
        else:
            main(given.names, shard=_shard(given.shard))
    except InputError as error:
        sys.exit(f"error: {error}")
