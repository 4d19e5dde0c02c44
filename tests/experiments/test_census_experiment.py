from pathlib import Path

import pytest

from pamal_core.errors import InputError
from pamal_core.experiments.census import EXPERIMENT, CensusOptions
from pamal_core.networks.models import mlp
from pamal_core.runs.records import Record
from pamal_core.runs.run import run
from pamal_core.study import frame, tables
from pamal_core.study.frame import Setting

RESULTS = Path(__file__).parents[2] / "results" / "census"


def options(**values):
    return CensusOptions.create(**{"data": "sample", "epochs": 1, "device": "cpu"} | values)


def test_the_perceptron_of_the_paper_has_one_layer_of_256_and_a_head_for_each_task():
    model = mlp(468, 2)
    assert sum(p.numel() for p in model.encoder.parameters()) == 468 * 256 + 256
    assert [sum(p.numel() for p in h.parameters()) for h in model.heads] == [514, 514]


def test_the_defaults_are_the_papers():
    chosen = CensusOptions()
    assert (chosen.W, chosen.lam, chosen.batch_size, chosen.lr) == (2, 5.0, 256, 1e-3)
    assert [task.name for task in EXPERIMENT.tasks_of(chosen)] == ["age", "education"]
    assert EXPERIMENT.defaults["full"] == {"epochs": 10, "rank": 2}
    assert EXPERIMENT.reference_of(chosen) == (0, 0)


@pytest.mark.parametrize(
    "given", ["education, age", ["education", "age"], ("age", "education"), "age,education"]
)
def test_tasks_are_the_same_in_any_order_and_form(given):
    assert CensusOptions.create(tasks=given) == CensusOptions()


@pytest.mark.parametrize(
    "given", ["age", "age,age", "age,height", "age,education,income,never-married", 3, [1, 2], ""]
)
def test_tasks_that_are_none_are_refused_in_one_line(given):
    with pytest.raises(InputError, match="`tasks` must"):
        CensusOptions.create(tasks=given)


def test_a_record_names_the_tasks_that_were_trained():
    for tasks in ("age,income", "age,education,income"):
        found = run(EXPERIMENT, options(tasks=tasks)).record
        assert list(found.objectives) == [f"{task}/accuracy" for task in tasks.split(",")]
        assert found.hypervolume() > 0


@pytest.mark.parametrize("tasks", ["age,education", "income,never-married,age"])
@pytest.mark.parametrize("method", ["pamal", "ls"])
def test_a_run_on_the_sample_beats_guessing_on_every_task(tasks, method):
    chosen = options(tasks=tasks, method=method, epochs=5)
    found = run(EXPERIMENT, chosen).record
    assert list(found.objectives) == [f"{task}/accuracy" for task in chosen.tasks]
    splits = EXPERIMENT.load(chosen)
    for labels, best in zip(
        splits.test.tensors[1:], found.summary["test"]["best"].values(), strict=True
    ):
        share = labels.double().mean().item()
        assert best > max(share, 1 - share)


def test_a_network_has_as_many_inputs_as_the_data():
    splits = EXPERIMENT.load(options())
    width = splits.train.tensors[0].shape[1]
    assert EXPERIMENT.make_network(options(), splits, 0).encoder[0].in_features == width


@pytest.mark.parametrize(
    ("name", "hypervolume", "order"),
    [
        ("pamal", 0.6546, -0.80),
        ("pamal-printed", 0.6566, 0.63),
        ("pamal-mended", 0.6745, -0.75),
        ("pamal-printed-mended", 0.6737, 0.47),
    ],
)
def test_the_recorded_runs_are_as_the_book_says(name, hypervolume, order):
    summary = Record.read(RESULTS / f"{name}_seed_0.json").summary["validation"]
    assert summary["hypervolume"] == pytest.approx(hypervolume, abs=5e-5)
    assert summary["spearman"]["age/loss"] == pytest.approx(order, abs=5e-3)


@pytest.mark.parametrize("sign", ["ordered", "printed"])
def test_the_recorded_runs_with_the_slip_of_the_release_are_near_the_paper(sign):
    setting = Setting("census", "pamal").having(penalty=sign)
    found = tables.compare({setting: frame.read(RESULTS)[setting]})
    row = found.loc[(tables.TABLES["multiforward_census"].title,)].iloc[0]
    assert abs(row["difference"]) < 0.006


def test_the_recorded_ls_has_the_accuracies_of_the_papers_table():
    best = Record.read(RESULTS / "ls_seed_0.json").summary["test"]["best"]
    assert list(best.values()) == pytest.approx([0.827, 0.785], abs=2e-3)
