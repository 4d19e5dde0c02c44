"""LS and PaMaL that begin as one network: a start with equal weights, then ends."""

import copy

import pytest
import torch
from test_soup import plain, trained
from tiny_experiment import tiny

from pamal_companion.data.batches import batches
from pamal_companion.runs.options import Options
from pamal_companion.runs.recorder import Recorder
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run
from pamal_core.errors import InputError
from pamal_core.training import seed_everything


def options(**values):
    given = {"method": "ls", "shared_epochs": 2, "epochs": 4, "batch_size": 64, "device": "cpu"}
    return Options.create(**given | values)


def test_an_end_of_ls_is_what_torch_makes_of_the_start():
    experiment = plain()
    splits = experiment.load(options())
    loader = batches(splits.train, 64, shuffle=True)
    seed_everything(0)
    one = trained(experiment.make_network(options(), splits, 0), (0.5, 0.5), loader, (1, 2))
    by_hand = trained(copy.deepcopy(one), (0.2, 0.8), loader, (3, 4)).state_dict()
    network = run(experiment, options(weights=[0.2, 0.8])).network
    for name, value in network.export([1.0]).state_dict().items():
        torch.testing.assert_close(value, by_hand[name], rtol=1e-4, atol=1e-6)


def test_the_start_is_made_once_for_all_ends_and_is_the_same_to_the_bit(tmp_path, monkeypatch):
    trainings = []
    real = Recorder.training

    def counted(recorder, *made):
        trainings.append(recorder.about["key"])
        return real(recorder, *made)

    monkeypatch.setattr(Recorder, "training", counted)
    steps = []
    step = torch.optim.Adam.step
    monkeypatch.setattr(
        torch.optim.Adam, "step", lambda self, *a, **k: (steps.append(1), step(self, *a, **k))[1]
    )
    counts = []
    for number, weight in enumerate((0.2, 0.4, 0.8)):
        given = options(weights=[weight, 1 - weight], out=str(tmp_path / f"{number}.json"))
        run(tiny(), given, keep_weights=False)
        counts.append(len(steps))
    first, second, third = counts
    assert third - second == second - first == first / 2  # two epochs of four are the start's
    assert len({*trainings[::2]}) == 1
    records = [Record.read(tmp_path / f"{number}.json") for number in range(3)]
    starts = [[row["losses"] for row in record.history[:2]] for record in records]
    assert starts[0] == starts[1] == starts[2]
    assert len({str(record.points) for record in records}) == 3
    alone = run(tiny(), options(weights=[0.8, 0.2])).record
    shared = run(tiny(), options(weights=[0.8, 0.2], out=str(tmp_path / "again.json"))).record
    assert alone.points == shared.points
    assert len([*tmp_path.glob(".start-*.checkpoint.safetensors")]) == 1


def test_another_rate_or_seed_has_a_start_of_its_own(tmp_path):
    for name, given in {"a": {}, "b": {"lr": 2e-3}, "c": {"seed": 1}}.items():
        run(tiny(), options(**given, out=str(tmp_path / f"{name}.json")), keep_weights=False)
    assert len([*tmp_path.glob(".start-*.checkpoint.safetensors")]) == 3


@pytest.mark.parametrize("p", [1.0, 0.2])
def test_the_members_of_pamal_are_one_network_until_the_start_ends(p):
    record = run(tiny(), options(method="pamal", p=p)).record
    similar = [row["member_similarity"] for row in record.history]
    assert similar[:2] == [None, None] and 0 < similar[3] < 1
    assert record.options["shared_epochs"] == 2


@pytest.mark.parametrize("method", ["ls", "pamal", "soup", "low_rank"])
def test_a_start_as_long_as_the_run_is_refused_before_data_are_loaded(method):
    with pytest.raises(InputError, match=r"`epochs` must be above `shared_epochs`, 4"):
        tiny().check(options(method=method, shared_epochs=4))


@pytest.mark.parametrize("method", ["uw", "phn", "cosmos", "stl"])
def test_other_methods_have_no_start(method):
    with pytest.raises(InputError, match=f"{method} has no `shared_epochs`"):
        options(method=method)


def test_a_run_without_a_start_has_the_key_that_it_had():
    without = Options.create(method="ls", epochs=2)
    assert without.of_method()["shared_epochs"] is None
    assert "shared_epochs" not in without.identity()
