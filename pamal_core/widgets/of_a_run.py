"""The explorer at the end of an experiment's notebook."""

from pamal_core.data.batches import batches
from pamal_core.data.splits import Splits
from pamal_core.inputs import moved
from pamal_core.networks.base import Network
from pamal_core.networks.ensemble import WeightEnsemble
from pamal_core.runs.options import Options
from pamal_core.runs.records import Record
from pamal_core.runs.run import Experiment, calibration
from pamal_core.widgets.explorer import Explorer

NUM_INPUTS = 8


def explore(
    experiment: Experiment,
    options: Options,
    splits: Splits,
    record: Record,
    network: Network | None,
) -> Explorer | None:
    """The explorer of a finished run: its front on validation, and its answers to the first eight
    test examples.

    None where there is nothing to move: no weights at hand, one member, or a method whose networks
    are no mixtures of members.
    """
    if not isinstance(network, WeightEnsemble) or network.num_members == 1:
        return None
    device = network.task_weights.device
    inputs, *targets = moved(splits.test[:NUM_INPUTS], device)
    return Explorer(
        network,
        experiment.tasks_of(options),
        record.front("validation"),
        inputs,
        *targets,
        loader=batches(splits.validation, experiment.evaluation_batch, device=device),
        calibration=calibration(experiment, experiment.resolved(options, splits), splits),
        about=splits.description,
    )
