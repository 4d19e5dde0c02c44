"""What each experiment takes from the paper."""

import pytest

from pamal_companion.experiments import census, cityscapes, multimnist3, utkface

OPTIONS = {
    census: census.CensusOptions,
    multimnist3: multimnist3.MultiMNIST3Options,
    utkface: utkface.UTKFaceOptions,
    cityscapes: cityscapes.CityScapesOptions,
}
PAPER = {
    census: {"W": 2, "lam": 5.0, "balancing": "none", "batch_size": 256, "lr": 1e-3},
    multimnist3: {"W": 1, "lam": 0.0, "p": 1.0, "balancing": "none"},
    utkface: {"W": 3, "lam": 0.0, "p": 2.0, "balancing": "gradient", "batch_size": 256}
    | {"width": 64, "stem": "released", "lr": 1e-3},
    cityscapes: {"W": 3, "lam": 1.0, "p": 7.0, "balancing": "gradient", "batch_size": 8}
    | {"width": 64, "setting": "II", "lr": 1e-4},
}
EPOCHS = {census: 10, multimnist3: 20, utkface: 100, cityscapes: 100}
OBJECTIVES = {
    census: ["age/accuracy up", "education/accuracy up"],
    multimnist3: [f"{place}/accuracy up" for place in multimnist3.POSITIONS],
    utkface: ["age/loss down", "gender/accuracy up", "ethnicity/accuracy up"],
    cityscapes: ["segmentation/mIoU up", "depth/absolute error down"],
}
every = pytest.mark.parametrize("module", OPTIONS, ids=lambda module: module.EXPERIMENT.name)


@every
def test_the_defaults_are_the_papers(module):
    chosen, experiment = OPTIONS[module].create(), module.EXPERIMENT
    assert chosen.method == "pamal"
    assert {name: getattr(chosen, name) for name in PAPER[module]} == PAPER[module]
    assert experiment.options.by_data["full"]["epochs"] == EPOCHS[module]
    first = [(task.name, task.metrics[0]) for task in experiment.tasks_of(chosen)]
    ways = [f"{task}/{one.name} {('down', 'up')[one.maximise]}" for task, one in first]
    assert ways == OBJECTIVES[module]


@pytest.mark.parametrize("method", ["ls", "stl", "mgda", "cosmos"])
@pytest.mark.parametrize("module", [utkface, cityscapes])
def test_only_pamal_is_balanced_unless_somebody_says_so(module, method):
    options = OPTIONS[module]
    assert options.create(method=method).balancing == "none"
    assert options.create(method=method, balancing=None).balancing == "none"
    assert options.create(method=method, balancing="loss").balancing == "loss"
    assert options.create(method=None, balancing=None).balancing == "gradient"
