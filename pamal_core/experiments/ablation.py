"""What an ablation varies."""

from dataclasses import replace

from pamal_core.experiments import census, multimnist
from pamal_core.experiments.ablation_options import AblationOptions
from pamal_core.runs.options import Options
from pamal_core.runs.run import Experiment


def subject(options: AblationOptions, sample_epochs: int) -> tuple[Experiment, Options]:
    """The experiment that is varied, and its options: the paper's, but on the sample trained for
    `sample_epochs` by default; on that of MultiMNIST, whose network is larger, for a fifth of
    them in batches of 64, a quarter of the usual size.

    Census has the labels of the authors' code, which its numbers in the paper come from.
    """
    common = options.model_dump(include={"epochs", "data", "data_root", "device"})
    experiment, chosen = {
        "census": (census.EXPERIMENT, census.CensusOptions.create),
        "multimnist": (multimnist.EXPERIMENT, multimnist.MultiMNISTOptions.create),
    }[options.experiment]
    own = {"masters": "as_released"} if options.experiment == "census" else {}
    sample = {
        "census": {"epochs": sample_epochs},
        "multimnist": {"epochs": max(1, sample_epochs // 5), "batch_size": 64},
    }[options.experiment]
    defaults = experiment.defaults | {"sample": sample}
    return replace(experiment, defaults=defaults), chosen(**common, **own)
