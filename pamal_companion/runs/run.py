"""Runs from options to records: one, or one for each of many settings."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

from tqdm.auto import tqdm

from pamal_companion.data.places import user_path
from pamal_companion.data.splits import Splits
from pamal_companion.runs.experiment import Experiment
from pamal_companion.runs.files import BusyError
from pamal_companion.runs.options import OF_DATA, Options
from pamal_companion.runs.recorder import Recorder
from pamal_companion.runs.records import Record
from pamal_core.errors import InputError
from pamal_core.evaluation import evaluate
from pamal_core.network import Network
from pamal_core.training import train


class Result(NamedTuple):
    """A finished run: its record, and the trained network if its weights are at hand."""

    record: Record
    network: Network | None


def run(
    experiment: Experiment,
    options: Options,
    splits: Splits | None = None,
    *,
    wait: bool = True,
    keep_weights: bool = True,
) -> Result:
    """Train and evaluate what `options` say, in a `Recorder` of these arguments.

    A finished run is read, not repeated. One that was stopped goes on from its last epoch and ends
    with the same record, except for its cost.
    """
    recorder = Recorder(experiment, options, splits, wait=wait, keep_weights=keep_weights)
    with recorder:
        if recorder.record is None:
            method, optimizer = recorder.method()
            history = train(method, recorder.batches(), **recorder.training(method, optimizer))
            network = method.network
            # A method of one's own may train on losses of its own. All are judged alike.
            tasks = experiment.tasks_of(recorder.options)
            fronts = {
                part: evaluate(network, tasks, loader, **points)
                for part, loader, points in recorder.parts()
            }
            recorder.write(network, history, fronts)
    return Result(cast(Record, recorder.record), recorder.network)


def sweep(
    experiment: Experiment,
    options: Options,
    settings: Sequence[Mapping[str, Any]],
    folder: str | Path | None = None,
    splits: Splits | None = None,
) -> list[Record]:
    """Return the record of a run for each setting, which is what differs from `options`.

    With `folder` each record is kept there under `file_name(setting)`. Runs that another process is
    making are left for last and then waited for, so that several sweeps share a folder. Raise
    InputError for a setting that is refused or has other data, before anything is trained.
    """
    common = options.model_dump(exclude_unset=True)
    chosen, place = [], None if folder is None else user_path(folder, "folder")
    for setting in settings:
        if own := sorted(setting.keys() & OF_DATA):
            raise InputError(
                f"All settings of a sweep share their data. Found {own[0]}={setting[own[0]]!r}."
            )
        out = {} if place is None else {"out": str(place / file_name(setting))}
        chosen.append(type(options).create(**{**common, **setting, **out}))
        experiment.check(chosen[-1])
    splits = splits or experiment.load(options)
    records: dict[int, Record] = {}
    with tqdm(total=len(chosen), unit="run") as bar:
        for wait in (False, True):
            for number, one in enumerate(chosen):
                if number not in records:
                    with suppress(BusyError):
                        records[number] = run(experiment, one, splits, wait=wait).record
                        bar.update()
    return [records[number] for number in range(len(chosen))]


def file_name(setting: Mapping[str, Any]) -> str:
    """Return the name of a setting's record: `{"method": "pamal", "W": 4, "seed": 0}` is
    `pamal-W=4_seed_0.json`."""
    rest = dict(setting)
    method, seed = rest.pop("method", "pamal"), rest.pop("seed", 0)
    return "-".join([method, *(f"{k}={v}" for k, v in rest.items())]) + f"_seed_{seed}.json"
