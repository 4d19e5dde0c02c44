"""The settings of the sweeps and the parameters of their pages.

These are of `experiments`; they stand here until the definitions of the sweeps have moved there.
"""

import pytest
from pamal_core.experiments.ablation import subject
from pamal_core.experiments.ablation_phn_cosmos_runs import runs as phn_cosmos_runs

from pamal_core.errors import InputError
from pamal_core.experiments import ablation_multiforward as multiforward
from pamal_core.experiments import ablation_sampling as sampling
from pamal_core.runs.sweep import file_name
from pamal_core.study import ablation_phn_cosmos as ablation
from pamal_core.study import frame
from pamal_core.study.paper import table
from pamal_core.study.sweeps import penalty

TABLES = [(e, m) for e in ("census", "multimnist") for m in ("phn", "cosmos")]


def test_the_17_settings_of_the_paper_are_made_once_without_and_per_form_with_a_penalty():
    chosen = multiforward.settings(list(multiforward.PENALTIES), [0, 1])
    printed = table("multiforward_census")[["W", "lam"]].itertuples(index=False)
    wanted = {tuple(row) for row in printed} | {(1, 0)}
    assert {(s["W"], s["lam"]) for s in chosen} == wanted and len(wanted) == 17
    free = [s for s in chosen if s["lam"] == 0]
    assert len(free) == 2 * 5 and not any("penalty" in s or "skip" in s for s in free)
    assert len(chosen) - len(free) == 2 * 4 * 12


def test_no_two_settings_share_a_file():
    names = [file_name(s) for s in multiforward.settings(list(multiforward.PENALTIES), [0, 1])]
    names += [file_name(s) for s in sampling.settings([0.0, 0.1, 1.0, 100.0], [0, 1])]
    assert len(set(names)) == len(names) == 106 + 8
    assert "pamal-W=2-lam=5.0-penalty=ordered_seed_0.json" in names
    assert "pamal-W=2-lam=5.0-penalty=printed-skip=as_released_seed_0.json" in names


@pytest.mark.parametrize("options", [multiforward.MultiForwardOptions, sampling.SamplingOptions])
def test_seeds_may_be_a_number_a_list_or_a_text_and_others_are_refused(options):
    for given, wanted in [(1, (1,)), ([0, 2], (0, 2)), ("0, 1,2", (0, 1, 2)), ("3", (3,))]:
        assert options.create(seeds=given).seeds == wanted
    for given in ("a", "-1", "1.5", ""):
        with pytest.raises(InputError, match="`seeds` must be"):
            options.create(seeds=given)
    with pytest.raises(InputError, match=r"This notebook has no `p`\. Known: experiment, seeds"):
        options.create(p=0.5)


def test_penalties_and_values_of_p_are_checked():
    made = multiforward.MultiForwardOptions.create(penalties="printed, ordered")
    assert made.penalties == ("printed", "ordered")
    with pytest.raises(InputError, match="`penalties` must be 'ordered', 'printed'"):
        multiforward.MultiForwardOptions.create(penalties="ordered,reversed")
    assert sampling.SamplingOptions.create(ps="0,0.1,1").ps == (0.0, 0.1, 1.0)
    with pytest.raises(InputError, match="`ps` must be"):
        sampling.SamplingOptions.create(ps="0,-1")
    with pytest.raises(InputError, match="`W` must be at least 2"):
        sampling.SamplingOptions.create(lam=1.0)


def test_census_has_the_labels_of_the_paper_and_the_sample_its_own_number_of_epochs():
    options = multiforward.MultiForwardOptions.create(data="sample", epochs=None)
    experiment, chosen = subject(options, sample_epochs=3)
    assert chosen.masters == "as_released" and chosen.data == "sample" and chosen.epochs is None
    assert experiment.defaults == {"sample": {"epochs": 3}, "full": {"epochs": 10}}
    other = subject(multiforward.MultiForwardOptions.create(experiment="multimnist"), 10)[0]
    assert other.name == "multimnist"
    assert other.defaults["sample"] == {"epochs": 2, "batch_size": 64}


def test_runs_are_kept_read_again_and_shared_by_both_ablations(tmp_path, monkeypatch):
    monkeypatch.setattr(multiforward, "LAMS", (0.0, 5.0))
    common = {"data": "sample", "epochs": 1, "results": str(tmp_path)}
    options = multiforward.MultiForwardOptions.create(windows="1,2", **common)
    first = multiforward.runs(options, progress=False)
    assert [penalty(frame.of(r)) for r in first] == [
        "none",
        "none",
        "ordered",
        "printed+as_released",
    ]
    assert len(list(tmp_path.glob("*.json"))) == 4
    assert multiforward.runs(options, progress=False) == first
    at_one = sampling.SamplingOptions.create(ps=1.0, **common)
    assert sampling.runs(at_one, progress=False)[0].key == first[0].key


@pytest.mark.parametrize(("experiment", "method"), TABLES)
def test_a_grid_is_the_rows_of_the_papers_table(experiment, method):
    rows = table(f"{method}_{experiment}").iloc[:, :3].values.tolist()
    lowered = [[v.lower() if isinstance(v, str) else v for v in row] for row in rows]
    found = ablation.grid(experiment, method)
    assert [[*setting.values()][1:] for setting in found] == lowered
    assert {setting["method"] for setting in found} == {method}
    few = ablation.grid(experiment, method, excerpt=True)
    assert 0 < len(few) <= 4 and all(setting in found for setting in few)


def test_learning_rates_narrow_a_grid_and_others_are_refused():
    assert len(ablation.grid("census", "cosmos", [1e-4])) == 24
    with pytest.raises(InputError, match=r"phn on multimnist, \[0.001\]. Found \[0.0001\]"):
        ablation.grid("multimnist", "phn", [1e-4])


def test_each_seed_has_pamal_and_every_setting_under_a_name_of_its_own():
    options = ablation.SweepOptions.create(seeds="0,2", methods="phn, cosmos")
    found = ablation.settings(options, excerpt=False)
    assert len(found) == 2 * (1 + 20 + 48)
    assert len({file_name(setting) for setting in found}) == len(found)
    assert [s["seed"] for s in found if s["method"] == "pamal"] == [0, 2]


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"methods": "phn,pamal"}, "`methods` must be 'phn' or 'cosmos'"),
        ({"seeds": "0,x"}, "`seeds` must be a valid integer"),
        ({"lrs": "fast"}, "`lrs` must be a valid number"),
        ({"W": 2}, "This notebook has no `W`. Known: experiment, seeds, results"),
        ({"recorded": True}, "`recorded` needs `results`"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused_in_one_line(values, line):
    with pytest.raises(InputError, match=line):
        ablation.SweepOptions.create(**values)


def test_the_sample_is_swept_and_recorded_runs_are_read_again(tmp_path):
    options = ablation.SweepOptions.create(
        methods="cosmos", data="sample", epochs=1, device="cpu", results=str(tmp_path)
    )
    records, splits = phn_cosmos_runs(options, progress=False)
    assert splits.is_sample and len(records["pamal"]) == 1 and len(records["cosmos"]) == 4
    kept = [*tmp_path.glob("cosmos*.json")]
    kept[0].unlink()
    again, _ = phn_cosmos_runs(options.model_copy(update={"recorded": True}), progress=False)
    assert len(again["cosmos"]) == 3 and not kept[0].exists()
    for path in kept[1:]:
        path.unlink()
    with pytest.raises(InputError, match="must have a record of cosmos"):
        phn_cosmos_runs(options.model_copy(update={"recorded": True}), progress=False)
