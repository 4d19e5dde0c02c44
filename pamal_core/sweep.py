"""The records of many settings of one experiment, made where they are missing."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from pamal_core.data.splits import Splits
from pamal_core.experiment import Experiment, run
from pamal_core.options import Options
from pamal_core.records import Record


def sweep(
    experiment: Experiment,
    options: Options,
    settings: Sequence[Mapping[str, Any]],
    folder: str | Path | None = None,
    splits: Splits | None = None,
    *,
    progress: bool = True,
) -> list[Record]:
    """One record per setting, in their order; each setting is what differs from `options`.

    With `folder` every record is kept there under `file_name(setting)` and read if it is there
    already, so that a sweep which was stopped goes on where it was. `splits` are the data of
    `options`, where they are loaded already. InputError where a record there
    is that of another run, and for a setting that `Options` refuses, before anything is trained.
    """
    common = options.model_dump(exclude_unset=True)
    chosen = []
    for setting in settings:
        out = {} if folder is None else {"out": str(Path(folder) / file_name(setting))}
        chosen.append(type(options).create(**{**common, **setting, **out}))
    splits = splits or experiment.load(options)
    bar = tqdm(chosen, disable=not progress, unit="run")
    return [run(experiment, one, splits).record for one in bar]


def file_name(setting: Mapping[str, Any]) -> str:
    """`{"method": "pamal", "W": 4, "seed": 0}` is `pamal-W=4_seed_0.json`."""
    rest = dict(setting)
    name, seed = str(rest.pop("method", "pamal")), rest.pop("seed", 0)
    return (
        "-".join([name, *(f"{key}={value}" for key, value in rest.items())]) + f"_seed_{seed}.json"
    )
