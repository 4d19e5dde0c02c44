"""A run from options to record: load, train, evaluate, write. Resumes where it was stopped."""

from typing import NamedTuple, cast

from pamal_companion.data.splits import Splits
from pamal_companion.runs.experiment import Experiment
from pamal_companion.runs.options import Options
from pamal_companion.runs.recorder import Recorder
from pamal_companion.runs.records import Record
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
    """Train and evaluate; with `options.out` also write the record there and, if `keep_weights`,
    the weights beside it.

    A finished run is read, not repeated. One that was stopped goes on from its last epoch and ends
    with the same record, except for its cost. If another process is making the run, it is waited
    for, or refused with BusyError unless `wait`. A record of another run at `options.out` is never
    overwritten: InputError. `splits` are the data of `options`, if they are loaded already.
    """
    recorder = Recorder(experiment, options, splits, wait=wait, keep_weights=keep_weights)
    with recorder:
        if recorder.record is None:
            method, optimizer = recorder.method()
            history = train(method, recorder.batches(), **recorder.training(method, optimizer))
            network, tasks = method.network, method.tasks
            fronts = {
                part: evaluate(network, tasks, loader, **points)
                for part, loader, points in recorder.parts()
            }
            recorder.write(network, history, fronts)
    return Result(cast(Record, recorder.record), recorder.network)
