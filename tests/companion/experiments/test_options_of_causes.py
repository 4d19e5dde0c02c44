"""Options that come from the authors' code, or from a doubt of ours: what they change."""

import pytest
import torch
from torch import nn

from pamal_companion.experiments import multimnist, multimnist3
from pamal_companion.experiments.models import lenet
from pamal_companion.experiments.options import MultiMNIST3Options, MultiMNISTOptions
from pamal_companion.runs.run import run
from pamal_core.errors import InputError

SAMPLE = {"data": "sample", "device": "cpu", "epochs": 1}


def test_features_behind_a_leaky_relu_are_negative_where_a_relu_has_0():
    torch.manual_seed(0)
    plain = lenet(bottleneck=3)
    torch.manual_seed(0)
    leaky = lenet(bottleneck=3, activation="leaky_relu")
    images = torch.rand(64, 1, 28, 28)
    features, others = plain.encoder(images), leaky.encoder(images)
    assert (features == 0).any() and (others < 0).any()
    torch.testing.assert_close(others.clamp(min=0), features)
    torch.testing.assert_close(others[others < 0] / 0.1, plain.encoder[:-1](images)[others < 0])


def test_the_released_target_has_linear_heads_and_no_relu_before_them():
    experiment = multimnist.EXPERIMENT
    options = MultiMNISTOptions.create(method="phn", target="released", **SAMPLE)
    splits = experiment.load(options)
    network = experiment.method(options, splits).network
    model = network.skeleton.model
    assert isinstance(model.encoder[-1], nn.Linear)
    assert all(isinstance(head, nn.Linear) for head in model.heads)
    hidden = [layer for layer in network.layers if isinstance(layer, nn.Linear)]
    assert [layer.out_features for layer in hidden[:-1]] == [100, 100, 100]
    run(experiment, options, splits)


def test_rotograd_as_released_never_trains_the_third_head():
    experiment = multimnist3.EXPERIMENT
    given = MultiMNIST3Options.create(method="rotograd", trained="released", **SAMPLE)
    splits = experiment.load(given)
    before = experiment.method(given, splits).network.export([1.0])
    after = run(experiment, given, splits).network.export([1.0])
    for name, value in after.state_dict().items():
        same = torch.equal(value, before.state_dict()[name])
        assert same == ("heads.2" in name), name


def test_multimnist3_as_released_trains_on_fewer_images():
    plain, released = (
        multimnist3.EXPERIMENT.load(MultiMNIST3Options.create(split=split, **SAMPLE))
        for split in ("disjoint", "released")
    )
    assert (len(plain.train), len(released.train)) == (6_000, 5_000)
    assert plain.id != released.id


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (MultiMNISTOptions, {"target": "released"}, "pamal has no `target`"),
        (MultiMNISTOptions, {"method": "cosmos", "target": "released"}, "cosmos has no `target`"),
        (MultiMNIST3Options, {"trained": "released"}, "pamal has no `trained`"),
        (MultiMNIST3Options, {"activation": "leaky_relu"}, "Unknown parameter `activation`"),
        (MultiMNISTOptions, {"activation": "gelu"}, "`activation` must be"),
    ],
)
def test_an_option_of_another_method_or_experiment_is_refused(kind, given, message):
    with pytest.raises(InputError, match=message):
        kind.create(**given)


@pytest.mark.parametrize("kind", [MultiMNISTOptions, MultiMNIST3Options])
def test_new_options_leave_the_keys_of_old_runs_alone(kind):
    for method in ("pamal", "ls", "phn", "rotograd"):
        identity = kind.create(method=method, epochs=1).identity()
        new = {"activation", "target", "trained", "shared_epochs", "split"}
        assert not new & identity.keys()
