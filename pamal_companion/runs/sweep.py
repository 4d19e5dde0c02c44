"""The records of many settings of one experiment, made where they are missing."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from pamal_companion.data.places import user_path
from pamal_companion.data.splits import Splits
from pamal_companion.runs.experiment import Experiment
from pamal_companion.runs.files import BusyError
from pamal_companion.runs.options import OF_DATA, Options
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run
from pamal_core.errors import InputError


def sweep(
    experiment: Experiment,
    options: Options,
    settings: Sequence[Mapping[str, Any]],
    folder: str | Path | None = None,
    splits: Splits | None = None,
    *,
    progress: bool = True,
) -> list[Record]:
    """Return one record per setting, in their order; each setting is what differs from `options`.

    With `folder` every record is kept there under `file_name(setting)` and read if it is there
    already, so that a sweep which was stopped goes on where it was. Runs that another process is
    making are left for last and then waited for, so that several sweeps share a folder. `splits`
    are the data of `options`, where they are loaded already. InputError where a record there is
    that of another run, and for a setting that is refused or has other data, before anything is
    trained.
    """
    common = options.model_dump(exclude_unset=True)
    chosen, place = [], None if folder is None else user_path(folder, "folder")
    for setting in settings:
        out = {} if place is None else {"out": str(place / file_name(setting))}
        one = type(options).create(**{**common, **setting, **out})
        if own := sorted(setting.keys() & OF_DATA):
            raise InputError(
                f"All settings of a sweep share their data. Found {own[0]}={setting[own[0]]!r}."
            )
        experiment.check(one)
        chosen.append(one)
    splits = splits or experiment.load(options)
    found: dict[int, Record] = {}
    with tqdm(total=len(chosen), disable=not progress, unit="run") as bar:
        for wait in (False, True):
            for number, one in enumerate(chosen):
                if number not in found:
                    with suppress(BusyError):
                        found[number] = run(experiment, one, splits, wait=wait).record
                        bar.update()
    return [found[number] for number in range(len(chosen))]


def file_name(setting: Mapping[str, Any]) -> str:
    """Return the name of a setting's record: `{"method": "pamal", "W": 4, "seed": 0}` is
    `pamal-W=4_seed_0.json`."""
    rest = dict(setting)
    method, seed = rest.pop("method", "pamal"), rest.pop("seed", 0)
    return "-".join([method, *(f"{k}={v}" for k, v in rest.items())]) + f"_seed_{seed}.json"
