"""A step of every method and of every network on torch's meta device, which has no numbers: what
runs there waits for no number, and so it runs on a GPU without waiting."""

import traceback
from pathlib import Path

import pytest

from pamal_companion.data.batches import batches
from pamal_companion.runs.experiment import experiment_of
from pamal_companion.runs.methods import METHODS

# The balancers of these, not the step, copy T x T numbers to the CPU, by design.
ON_THE_CPU = {"mgda", "pcgrad", "imtl", "cagrad", "nash_mtl", "uw", "auto_lambda"}
NETWORKS = ("multimnist", "census", "multimnist3", "utkface", "cityscapes", "fairness")
NARROW = {"utkface": {"width": 2}, "cityscapes": {"width": 2}}


@pytest.fixture(scope="module")
def data():
    loaded = {}

    def load(experiment, options):
        if experiment.name not in loaded:
            loaded[experiment.name] = experiment.load(options)
        return loaded[experiment.name]

    return load


def step(name, method, data):
    """Build a method, move it to the meta device, and take a step there."""
    experiment = experiment_of(name)
    given = {"data": "sample", "method": method, "device": "cpu", **NARROW.get(name, {})}
    options = experiment.options.create(**given)
    splits = data(experiment, options)
    method = experiment.method(experiment.resolved(options, splits), splits)
    method.network.to("meta")
    batch = [tensor.to("meta") for tensor in next(iter(batches(splits.train, 4)))]
    return method, method.step(batch)


def check(method, losses):
    trained = [weight for weight in method.network.parameters() if weight.requires_grad]
    assert losses.device.type == "meta" and losses.shape == (method.window, len(method.tasks))
    assert all(weight.grad.shape == weight.shape for weight in trained)


@pytest.mark.parametrize("name", METHODS)
def test_a_step_of_every_method(name, data):
    if name not in ON_THE_CPU:
        check(*step("multimnist", name, data))
        return
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor") as caught:
        step("multimnist", name, data)
    frames = traceback.extract_tb(caught.value.__traceback__)
    ours = [frame for frame in frames if "pamal_" in frame.filename]
    assert Path(ours[-1].filename).parent.name in ("balancing", "baselines")


@pytest.mark.parametrize("name", NETWORKS)
def test_a_step_of_each_experiments_network(name, data):
    check(*step(name, "pamal", data))
