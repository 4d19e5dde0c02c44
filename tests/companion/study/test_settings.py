"""The setting of a run beside the paper's."""

import pandas as pd
import pytest
from torch import nn

from pamal_companion.runs.experiment import experiment_of
from pamal_companion.study import settings

NAMES = ("multimnist", "census", "multimnist3", "utkface", "cityscapes", "fairness")


def made(name, **given):
    experiment = experiment_of(name)
    options = experiment.options.create(data="sample", **given)
    splits = experiment.load(options)
    options = experiment.resolved(options, splits)
    method = experiment.method(options, splits)
    return settings.table(name, options, method, splits), method, splits


def test_multimnist_has_the_lenet_of_appendix_c1():
    frame, *_ = made("multimnist")
    assert frame.here.to_dict() == {
        "data": "6,000 / 1,000 / 1,000 examples",
        "network": (
            "encoder: convolution 5×5 to 10, convolution 5×5 to 20, linear to 50; "
            "each of 2 heads: linear to 50, linear to 10; 27,450 weights"
        ),
        "members": "2",
        "optimiser": "Adam, rate 2 × 0.001 (LS: 0.001)",
        "training": "4 epochs, batches of 64",
        "draws": "W = 4, p = 1, λ = 0",
    }
    assert frame.paper["training"] == "10 epochs, batches of 256"


@pytest.mark.parametrize("name", NAMES)
def test_each_experiment_has_six_rows_and_its_number_of_weights(name):
    frame, method, splits = made(name)
    assert len(frame) == 6 and ("paper" in frame) == (name != "fairness")
    assert not frame.isna().any(axis=None)
    corner = [1.0] + [0.0] * (method.network.num_members - 1)
    model = method.network.export(corner, calibration="shared")
    weights = sum(weight.numel() for weight in model.parameters())
    assert f"{weights:,} weights" in frame.here["network"]
    kinds = [type(layer) for layer in model.modules()]
    if kinds.count(nn.Conv2d) > 6:
        in_encoder = sum(isinstance(layer, nn.Conv2d) for layer in model.encoder.modules())
        assert f"{in_encoder} convolution layers" in frame.here["network"]
    assert frame.here["data"].startswith(f"{len(splits.train):,} / ")


@pytest.mark.parametrize(
    ("method", "rate", "draws"),
    [
        ("ls", "Adam, rate 0.001", "none: one network"),
        ("phn", "Adam, rate 0.001", "W = 1, p = 0.2, λ = 0"),
        ("cosmos", "Adam, rate 0.001", "W = 1, p = 1.2, λ = 2"),
        ("low_rank", "Adam, rate 2 × 0.001 (LS: 0.001)", "W = 4, p = 1, λ = 0"),
    ],
)
def test_a_baseline_has_its_own_rate_and_draws(method, rate, draws):
    frame, *_ = made("multimnist", method=method)
    assert frame.here["optimiser"] == rate and frame.here["draws"] == draws


@pytest.mark.parametrize(
    ("given", "draws"),
    [
        ({"p": [1.0, 2.5]}, "W = 4, p = 1 and 2.5, λ = 0"),
        ({"p_first": 5.0, "p": 0.2}, "W = 4, p from 5 to 0.2, λ = 0"),
    ],
)
def test_draws_are_told_if_there_are_several_concentrations(given, draws):
    assert made("multimnist", **given)[0].here["draws"] == draws


def test_unlike_heads_are_named_one_by_one():
    frame, *_ = made("utkface")
    assert "heads: linear to 1 | linear to 2 | linear to 5" in frame.here["network"]


def test_the_papers_rows_are_of_these_experiments_and_parts():
    printed = pd.read_csv(settings.FILE, keep_default_na=False)
    parts = made("census")[0].index
    assert {*printed.experiment} == {*NAMES} - {"fairness"}
    assert all([*rows.part] == [*parts] for _, rows in printed.groupby("experiment"))
