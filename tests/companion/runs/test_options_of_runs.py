"""What an option changes of a run: precision, compilation, mean weights, weights of tasks."""

import pytest
import torch
from pandas.testing import assert_frame_equal
from tiny_experiment import tiny

from pamal_companion.runs.options import Options
from pamal_companion.runs.run import run


@pytest.mark.parametrize("method", ["pamal", "rotograd", "phn", "cosmos", "auto_lambda", "mgda"])
def test_every_kind_of_method_trains_in_bfloat16(method):
    common = {"method": method, "epochs": 1, "batch_size": 50, "device": "cpu"}
    plain = run(tiny(), Options.create(**common)).record
    half = run(tiny(), Options.create(precision="bfloat16", **common)).record
    assert half.options["precision"] == "bfloat16" and half.key != plain.key
    for one, other in zip(half.history[0]["losses"], plain.history[0]["losses"], strict=True):
        assert one == pytest.approx(other, rel=0.02)


def test_a_summary_of_a_run_in_bfloat16_is_made_in_full_precision():
    options = Options.create(epochs=1, batch_size=50, device="cpu", precision="bfloat16")
    record, network = run(tiny(), options)
    exact = network.member_similarity().min().item()
    assert record.summary["member_similarity"] == exact


def test_compiling_is_an_option_that_names_no_other_run(monkeypatch):
    compiled = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self: compiled.append(self))
    plain = run(tiny(), Options.create(epochs=1)).record
    assert compiled == []
    assert run(tiny(), Options.create(epochs=1, compile=True)).record.key == plain.key
    assert len(compiled) == 1


@pytest.mark.parametrize("method", ["pamal", "ls", "rotograd", "auto_lambda", "phn", "cosmos"])
def test_an_average_that_forgets_at_once_is_the_last_weights(method):
    common = {"method": method, "W": 2, "batch_size": 50}
    last = run(tiny(), Options.create(**common)).record
    forgetful = run(tiny(), Options.create(**common, average=1e-9)).record
    for split in ("validation", "test"):
        assert_frame_equal(forgetful.front(split).table, last.front(split).table, rtol=1e-5)


def test_the_average_is_what_is_recorded_kept_and_read_again(tmp_path):
    common = {"W": 2, "batch_size": 50, "out": str(tmp_path / "r.json"), "average": 0.5}
    made = run(tiny(), Options.create(**common))
    assert made.record.options["average"] == 0.5
    assert torch.equal(
        run(tiny(), Options.create(**common)).network.members(), made.network.members()
    )
    last = run(tiny(), Options.create(W=2, batch_size=50))
    assert last.record.history == made.record.history
    assert last.record.points != made.record.points


def test_all_weight_on_a_task_learns_it_as_a_single_task_does():
    alone = run(tiny(), Options.create(method="stl", task=0)).record.front("test").table
    both = run(tiny(), Options.create(method="ls", weights=[1.0, 0.0])).record.front("test").table
    torch.testing.assert_close(both["first/loss"].item(), alone["first/loss"].item())


def test_weights_of_linear_scalarisation_are_its_own_and_change_the_run():
    even, uneven = (
        run(tiny(), Options.create(method="ls", weights=weights, epochs=40)).record
        for weights in (None, [0.01, 0.99])
    )
    assert even.options["weights"] is None and uneven.options["weights"] == [0.01, 0.99]
    first, second = (r.history[-1]["losses"] for r in (even, uneven))
    assert second[0] > first[0] + 0.01 and second[1] < first[1] - 0.005
