"""The settings of the ablations, the parameters of their pages, and what is kept of their runs."""

from typing import get_args

import pytest

from pamal_companion.experiments import ablations
from pamal_companion.experiments.ablations import (
    MultiForwardOptions,
    Penalty,
    SamplingOptions,
    SweepOptions,
    subject,
)
from pamal_companion.runs.run import file_name
from pamal_companion.study import frame
from pamal_companion.study.paper import table
from pamal_companion.study.sweeps import penalty
from pamal_core.errors import InputError

TABLES = [(e, m) for e in ("census", "multimnist") for m in ("phn", "cosmos")]


def of_every_penalty():
    """What is trained of W times lambda with two seeds."""
    return MultiForwardOptions.create(penalties=get_args(Penalty), seeds=[0, 1]).settings()


def grid(experiment, method, is_sample=False, **options):
    """What is trained of `method` with one seed, which is left out."""
    made = SweepOptions.create(experiment=experiment, methods=method, **options)
    pamal, *found = made.settings(is_sample)
    assert pamal == {"method": "pamal", "seed": 0} and {s.pop("seed") for s in found} == {0}
    return found


def test_the_17_settings_are_made_once_per_form_of_the_penalty():
    chosen = of_every_penalty()
    printed = table("multiforward_census")[["W", "lam"]].itertuples(index=False)
    wanted = {tuple(row) for row in printed} | {(1, 0)}
    assert {(s["W"], s["lam"]) for s in chosen} == wanted and len(wanted) == 17
    free = [s for s in chosen if s["lam"] == 0]
    assert len(free) == 2 * 5 and not any("penalty" in s or "skip" in s for s in free)
    assert len(chosen) - len(free) == 2 * 4 * 12


def test_no_two_settings_share_a_file():
    names = [file_name(s) for s in of_every_penalty()]
    sampling = SamplingOptions.create(ps=[0.0, 0.1, 1.0, 100.0], seeds=[0, 1])
    names += [file_name(s) for s in sampling.settings()]
    assert len(set(names)) == len(names) == 106 + 8
    assert "pamal-W=2-lam=5.0-penalty=ordered_seed_0.json" in names
    assert "pamal-W=2-lam=5.0-penalty=printed-skip=as_released_seed_0.json" in names


@pytest.mark.parametrize("options", [MultiForwardOptions, SamplingOptions])
def test_lists_may_be_a_number_a_list_or_a_text(options):
    for given, wanted in [(1, (1,)), ([0, 2], (0, 2)), ("0, 1,2", (0, 1, 2)), ("3", (3,))]:
        assert options.create(seeds=given).seeds == wanted
    made = MultiForwardOptions.create(penalties="printed, ordered")
    assert made.penalties == ("printed", "ordered")
    assert SamplingOptions.create(ps="0,0.1,1").ps == (0.0, 0.1, 1.0)


def test_census_has_the_papers_labels_and_the_sample_its_own_epochs():
    options = MultiForwardOptions.create(data="sample", epochs=None)
    experiment, chosen = subject(options)
    assert chosen.masters == "as_released" and chosen.data == "sample" and chosen.epochs is None
    assert experiment.defaults == {"sample": {"epochs": 3}, "full": {"epochs": 10, "rank": 2}}
    other = subject(SamplingOptions.create(experiment="multimnist"))[0]
    assert other.name == "multimnist"
    assert other.defaults["sample"] == {"epochs": 2, "batch_size": 64}
    short = subject(SweepOptions.create(experiment="multimnist"))[0]
    assert short.defaults["sample"] == {"epochs": 1, "batch_size": 64}


def test_runs_are_kept_read_again_and_shared_by_both_ablations(tmp_path, monkeypatch):
    monkeypatch.setattr(ablations, "LAMS", (0.0, 5.0))
    common = {"data": "sample", "epochs": 1, "results": str(tmp_path)}
    options = MultiForwardOptions.create(windows="1,2", **common)
    first, splits = ablations.runs(options)
    assert splits.is_sample
    assert [penalty(frame.of(r)) for r in first] == [
        "none",
        "none",
        "ordered",
        "printed+as_released",
    ]
    assert len(list(tmp_path.glob("*.json"))) == 4
    assert ablations.runs(options)[0] == first
    at_one = SamplingOptions.create(ps=1.0, **common)
    assert ablations.runs(at_one)[0][0].key == first[0].key


@pytest.mark.parametrize(("experiment", "method"), TABLES)
def test_a_grid_is_the_rows_of_the_papers_table(experiment, method):
    rows = table(f"{method}_{experiment}").iloc[:, :3].values.tolist()
    lowered = [[v.lower() if isinstance(v, str) else v for v in row] for row in rows]
    found = grid(experiment, method)
    assert [[*setting.values()][1:] for setting in found] == lowered
    assert {setting["method"] for setting in found} == {method}
    few = grid(experiment, method, is_sample=True)
    assert 0 < len(few) <= 4 and all(setting in found for setting in few)


def test_learning_rates_narrow_a_grid_and_others_are_refused():
    assert len(grid("census", "cosmos", lrs=1e-4)) == 24
    with pytest.raises(InputError, match=r"phn on multimnist, \[0.001\]. Found \(0.0001,\)"):
        grid("multimnist", "phn", lrs=1e-4)


def test_each_seed_has_pamal_and_every_setting_under_a_name_of_its_own():
    options = SweepOptions.create(seeds="0,2", methods="phn, cosmos")
    found = options.settings(is_sample=False)
    assert len(found) == 2 * (1 + 20 + 48)
    assert len({file_name(setting) for setting in found}) == len(found)
    assert [s["seed"] for s in found if s["method"] == "pamal"] == [0, 2]


def test_the_sample_is_swept_and_recorded_runs_are_read_again(tmp_path):
    options = SweepOptions.create(
        methods="cosmos", data="sample", epochs=1, device="cpu", results=str(tmp_path)
    )
    records, splits = ablations.runs(options)
    assert splits.is_sample and [r.method for r in records] == ["pamal"] + 4 * ["cosmos"]
    kept = [*tmp_path.glob("cosmos*.json")]
    kept[0].unlink()
    again, _ = ablations.runs(options.model_copy(update={"recorded": True}))
    assert [r.method for r in again] == ["pamal"] + 3 * ["cosmos"] and not kept[0].exists()
    for path in kept[1:]:
        path.unlink()
    with pytest.raises(InputError, match="needs a record of cosmos"):
        ablations.runs(options.model_copy(update={"recorded": True}))


def test_what_is_compared_is_every_value_of_every_run():
    each = [MultiForwardOptions.create(seeds=[0, 1]), SweepOptions.create(experiment="multimnist")]
    found = ablations.compared(each)
    for options in each:
        for (experiment, method), row in found.iterrows():
            if experiment != options.experiment:
                continue
            settings = [s for s in options.settings(False) if s.get("method", "pamal") == method]
            assert row["runs"] == len(settings) > 0
            for name in found.columns.drop("runs"):
                values = {f"{s[name]}" for s in settings if name in s}
                assert {*filter(None, row[name].split(", "))} == values, name
    assert {method for _, method in found.index} == {"pamal", "phn", "cosmos"}


def test_one_run_alone_is_the_one_among_all():
    options = SamplingOptions.create(data="sample", ps=[0.1], seeds=[1], epochs=1)
    (among,), _ = ablations.runs(options)
    alone = ablations.run_one(options, W=1, lam=0.0, p=0.1, seed=1)
    assert alone.key == among.key and alone.points == among.points
