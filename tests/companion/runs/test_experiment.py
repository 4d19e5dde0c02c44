import itertools
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tiny_experiment import load, tiny

from pamal_companion.runs.judging import arc, calibration
from pamal_companion.runs.methods import METHODS, MethodRow
from pamal_companion.runs.options import Options
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run
from pamal_core.balancing import Linear
from pamal_core.classes import classification
from pamal_core.errors import InputError


@pytest.mark.parametrize("method", ["pamal", "ls", "stl"])
@pytest.mark.parametrize("balancing", ["none", "loss", "gradient"])
def test_every_method_runs_and_writes_a_whole_record(tmp_path, method, balancing):
    out = tmp_path / "r.json"
    options = Options.create(
        method=method, balancing=balancing, W=2, lam=1.0, batch_size=50, out=str(out)
    )
    record = run(tiny(), options).record
    assert Record.read(out) == record
    assert record.options["epochs"] == 2 and record.data == "tiny/sample/1"
    assert len(record.points) == 2 * (11 if method == "pamal" else 1)
    assert ("W" in record.options) == (method == "pamal")
    summary = record.summary["test"]
    assert (summary["hypervolume"] is None) == (method == "stl")
    assert set(summary["best"]) == set(record.objectives)
    assert {p.name for p in tmp_path.glob("[!.]*")} == {"r.json", "r.safetensors"}


def test_the_summary_follows_from_the_points():
    result = run(tiny(), Options.create(W=2))
    record = result.record
    for split in ("validation", "test"):
        front = record.front(split)
        summary = record.summary[split]
        assert summary["hypervolume"] == front.hypervolume([0.0, 0.0])
        assert summary["best"] == front.ideal_point()
    network = result.network
    cosine = torch.cosine_similarity(*network.members(), dim=0).item()
    assert record.summary["member_similarity"] == pytest.approx(cosine, rel=1e-5)
    chosen = record.summary["chosen_on_validation"]
    validation = record.front("validation")
    shares = [np.ptp(v) and (v - v.min()) / np.ptp(v) for v in validation.values.T]
    assert chosen["alpha"] == validation.alphas[np.argmax(sum(shares))].tolist()
    matching = [p for p in record.points if p["split"] == "test" and p["alpha"] == chosen["alpha"]]
    assert chosen["test"] == matching[0]["metrics"]


def test_a_finished_run_is_read_and_not_repeated(tmp_path):
    out = str(tmp_path / "r.json")
    first = run(tiny(), Options.create(out=out))
    stamp = Path(out).stat().st_mtime_ns
    checkpoint = tmp_path / "r.checkpoint.safetensors"
    checkpoint.touch()  # as a kill just after the record was written leaves one
    again = run(tiny(), Options.create(out=out))
    assert again.record == first.record and not checkpoint.exists()
    assert Path(out).stat().st_mtime_ns == stamp
    assert torch.equal(again.network.members(), first.network.members())
    (tmp_path / "r.safetensors").unlink()
    assert run(tiny(), Options.create(out=out)) == (first.record, None)


def test_the_record_of_another_run_is_never_overwritten(tmp_path):
    out = tmp_path / "r.json"
    run(tiny(), Options.create(out=str(out)))
    before = out.read_bytes()
    with pytest.raises(
        InputError, match=r"another run: tiny, pamal, .*seed 0.* Choose another `out`"
    ):
        run(tiny(), Options.create(seed=1, out=str(out)))
    assert out.read_bytes() == before


def test_options_that_mean_nothing_to_a_method_do_not_rename_its_runs():
    keys = {run(tiny(), Options.create(method="ls", W=W)).record.key for W in (1, 4)}
    assert len(keys) == 1
    keys = {run(tiny(), Options.create(W=W)).record.key for W in (1, 2)}
    assert len(keys) == 2


def test_an_infinite_concentration_survives_in_json(tmp_path):
    out = tmp_path / "r.json"
    run(tiny(), Options.create(p=float("inf"), out=str(out)))
    assert json.loads(out.read_text())["options"]["p"] == "Infinity"


def three_tasks():
    return replace(tiny(), tasks=tuple(classification(name) for name in "abc"))


@pytest.mark.parametrize(
    ("experiment", "values", "message"),
    [
        (tiny(), {"method": "stl", "task": 2}, r"`task` must be below 2\. Found task=2"),
        (tiny(), {"method": "ls", "weights": [0.2, 0.3, 0.5]}, "`weights` must have 2 finite"),
        (tiny(), {"method": "ls", "weights": [0.2, 0.3]}, r"`weights` must .* that sum to 1"),
        (tiny(), {"p": [1.0, 2.0, 3.0]}, r"`p` must be one number or 2, one per member"),
        (tiny(), {"p": [0.0, 2.0]}, "`p` must be one positive finite number"),
        (tiny(), {"device": "tpu9"}, "Found 'tpu9'"),
        (three_tasks(), {"grid": "arc"}, r"`grid` may be arc for 2 tasks\. Found 3 tasks"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_data_are_loaded(experiment, values, message):
    experiment = replace(experiment, load=lambda _: pytest.fail("The data were loaded."))
    with pytest.raises(InputError, match=message):
        run(experiment, Options.create(**values))


def test_statistics_are_recalibrated_and_the_callers_random_numbers_stay():
    options = Options.create(batch_norm="recalibrated")
    torch.manual_seed(7)
    state = torch.get_rng_state()
    splits = tiny().load(options)
    first, again = (calibration(tiny(), options, splits) for _ in "ab")
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(a, b) for (a,), (b,) in zip(first, again, strict=True))


@pytest.mark.parametrize("method", ["pamal", "ls"])
def test_one_training_is_measured_with_both_kinds_of_statistics(method):
    both, shared, recalibrated = (
        run(tiny(), Options.create(method=method, device="cpu", batch_norm=way)).record
        for way in ("both", "shared", "recalibrated")
    )
    for part in ("validation", "test"):
        for alone, ending in ((shared, ""), (recalibrated, ", recalibrated")):
            assert both.front(part + ending).table.equals(alone.front(part).table)
            assert both.summary[part + ending] == alone.summary[part]
    assert not both.front().table.equals(both.front("validation, recalibrated").table)
    assert both.history == shared.history == recalibrated.history
    assert len({both.key, shared.key, recalibrated.key}) == 3
    assert both.summary["chosen_on_validation"] == shared.summary["chosen_on_validation"]


@pytest.mark.parametrize("method", METHODS)
def test_only_the_members_of_an_ensemble_learn_at_a_multiple_of_the_rate(method, monkeypatch):
    seen = []

    def step(self, *_):
        seen.extend(group["lr"] for group in self.param_groups)

    monkeypatch.setattr(torch.optim.Adam, "step", step)
    epochs = 1 + (method in ("soup", "low_rank"))  # one is shared
    given = {"method": method, "epochs": epochs, "device": "cpu"}
    if method == "low_rank":
        given["rank"] = 2
    for scaling in ("members", "plain")[: 1 + (method == "pamal")]:
        run(tiny(), Options.create(**given, lr_scaling=scaling))
    # Those of Auto-lambda are of its weights of the tasks.
    others = {"pamal": {2e-3}, "low_rank": {2e-3}, "auto_lambda": {1e-4}}
    assert {*seen} == {1e-3} | others.get(method, set())


class Thirds(Linear):
    """The first loss counts a third."""

    def reweigh(self, losses, weights):
        return weights * torch.tensor([1 / 3, 1.0])


def test_a_row_of_the_table_and_a_class_make_a_baseline(monkeypatch, tmp_path):
    with pytest.raises(InputError, match="`method` must be one of pamal"):
        Options.create(method="thirds")
    monkeypatch.setitem(METHODS, "thirds", MethodRow("Thirds", Thirds))
    options = Options.create(method="thirds", device="cpu", out=str(tmp_path / "r.json"))
    record = run(tiny(), options).record
    assert Record.read(tmp_path / "r.json") == record
    assert (record.method, record.options["epochs"]) == ("thirds", 2)
    plain = run(tiny(), Options.create(method="ls", device="cpu")).record
    assert record.points != plain.points and len(record.points) == len(plain.points)
    with pytest.raises(InputError, match="thirds has no `c`"):
        Options.create(method="thirds", c=0.1)


def test_a_resumed_run_costs_what_all_its_epochs_did(tmp_path, monkeypatch):
    clock = SimpleNamespace(perf_counter=itertools.count(0.0).__next__)  # a second for each look
    monkeypatch.setattr("pamal_companion.runs.recorder.time", clock)
    options = Options.create(epochs=3, batch_size=100, out=str(tmp_path / "r.json"))
    with monkeypatch.context() as stopped, pytest.raises(KeyboardInterrupt):
        epochs = iter([0.5])  # an epoch passes, the second is stopped at its end
        similarity = "pamal_companion.runs.recorder.similarity"
        stopped.setattr(similarity, lambda _: next(epochs, None) or stop())
        run(tiny(), options)
    assert list(tmp_path.glob("*checkpoint*"))
    record = run(tiny(), options).record
    assert record.cost["train_seconds"] == 3 and record.cost["evaluate_seconds"] == 1
    assert all(set(row) == {"losses", "member_similarity"} for row in record.history)


def stop():
    raise KeyboardInterrupt


def test_defaults_depend_on_the_data_and_give_way_to_what_is_set():
    experiment = replace(tiny(), defaults={"full": {}, "sample": {"epochs": 2, "batch_size": 50}})
    splits = load(None)
    assert experiment.resolved(Options.create(), splits).batch_size == 50
    assert experiment.resolved(Options.create(batch_size=256), splits).batch_size == 256
    record = run(experiment, Options.create(W=1)).record
    assert record.options["epochs"] == 2 and record.options["batch_size"] == 50


def test_the_learning_rate_is_halved_after_its_share_of_the_epochs(rates):
    options = Options.create(method="ls", epochs=4, batch_size=200)
    run(replace(tiny(), halve_after=0.75), options)
    assert rates == [1e-3, 1e-3, 1e-3, 5e-4]


def test_the_arc_has_equal_angles_and_lies_on_the_simplex():
    points = arc()
    np.testing.assert_allclose(points.sum(1), 1)
    np.testing.assert_allclose(points[[0, 5, -1]], [[1, 0], [0.5, 0.5], [0, 1]], atol=1e-15)
    angles = np.arctan2(points[:, 1], points[:, 0])
    np.testing.assert_allclose(np.diff(angles), np.pi / 20)
