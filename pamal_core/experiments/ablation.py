"""What an ablation varies."""

from dataclasses import replace

from pamal_core.experiment import Experiment
from pamal_core.experiments import census, multimnist
from pamal_core.experiments.ablation_options import AblationOptions
from pamal_core.options import Options


def subject(options: AblationOptions, sample_epochs: int) -> tuple[Experiment, Options]:
    """The experiment that is varied, and its options: the paper's, but on the sample trained for
    `sample_epochs` by default.

    Census has the labels of the authors' code, which its numbers in the paper come from.
    """
    common = options.model_dump(include={"epochs", "data", "data_root", "device"})
    experiment, chosen = {
        "census": (census.EXPERIMENT, census.CensusOptions.create),
        "multimnist": (multimnist.EXPERIMENT, multimnist.MultiMNISTOptions.create),
    }[options.experiment]
    own = {"masters": "as_released"} if options.experiment == "census" else {}
    epochs = experiment.epochs | {"sample": sample_epochs}
    return replace(experiment, epochs=epochs), chosen(**common, **own)
