"""The recorded sweeps of PHN and COSMOS, and what the notebook says of them."""

from pathlib import Path

import pytest
from notebook_text import conclusion

from pamal_core.experiments.ablations import SweepOptions
from pamal_core.runs.records import Record
from pamal_core.runs.sweep import file_name
from pamal_core.study import ablation_phn_cosmos as ablation

RECORDS = Path(__file__).parents[2] / "results" / "ablation_phn_cosmos" / "census"


def records(data, method, lrs=None):
    """Those of a sweep on full data with seed 0."""
    chosen = SweepOptions.create(experiment=data, methods=method, lrs=lrs).settings(is_sample=False)
    names = [file_name(setting) for setting in chosen if setting["method"] == method]
    return [Record.read(RECORDS.parent / data / name) for name in names]


def swept(data, method):
    """The page's table of them."""
    return ablation.measured(records(data, method))


def test_what_the_notebook_says_of_cosmos_is_what_the_records_say():
    text = conclusion("ablation_phn_cosmos")
    two, census = swept("multimnist", "cosmos"), swept("census", "cosmos")
    assert (len(two), len(census)) == (16, 48)
    assert f"`order` is {two.order.max():.2f} or lower" in text
    low, passing = two[two.spearman < -0.5], census[census.spearman < -0.5]
    assert f"{len(low)} of them have S < -0.5" in text
    assert f"{len(passing)} of 48 have S < -0.5, and {(passing.order < 0).sum()} of" in text
    paper = ablation.printed("multimnist", "cosmos").hypervolume
    more = two.hypervolume - paper
    assert (more > 0).all() and f"by {more.mean():.3f} in the mean" in text
    assert two.hypervolume.idxmax() == paper.idxmax() == (5.0, 1.0, 1e-3)
    best = census.loc[census.hypervolume.idxmax()]
    assert best.name[-1] == 1e-4 and f"{best.hypervolume:.4f}, more" in text
    assert f"S is {best.spearman:.2f} and `order` {best.order:.2f}" in text
    ours = Record.read(RECORDS / "pamal_seed_0.json").hypervolume()
    assert best.hypervolume > ours and f"PaMaL's {ours:.4f} with this seed" in text


def test_what_the_notebook_says_of_phn_on_census_is_what_the_records_say():
    text, found = conclusion("ablation_phn_cosmos"), swept("census", "phn")
    quick, slow = found.xs(1e-3, level="lr"), found.xs(1e-4, level="lr")
    assert (len(quick), len(slow)) == (6, 14) and quick.spearman.isna().all()
    authors = Record.read(RECORDS.parents[1] / "census" / "phn_seed_0.json")
    for record in (authors, *records("census", "phn", [1e-3])):
        front = record.front("validation").values
        assert (front == front[0]).all()
    assert f"At 0.0001 {(slow.order > 0).sum()} of 14 run the right way" in text
    low = slow[slow.spearman < -0.5]
    assert f"{len(low)} have S < -0.5, one of them backwards" in text and (low.order < 0).sum() == 1
    best, pamal = slow.hypervolume.max(), Record.read(RECORDS / "pamal_seed_0.json").hypervolume()
    assert found.hypervolume.max() == best < pamal
    assert f"is {best:.4f}, just below PaMaL's {pamal:.4f} with" in text
    paper = ablation.printed("census", "phn")
    for table, said in (
        (found, "costs {:.4f} and the stricter one {:.4f}"),
        (paper, "in the paper {:.4f} and {:.4f}"),
    ):
        volumes = ablation.winners({"phn": table}).hypervolume.to_numpy()
        assert said.format(*(volumes[0] - volumes[1:])) in text
    apart = (found.hypervolume - paper.hypervolume).abs()
    assert f"are {apart.mean():.4f} from the paper's in the mean" in text
    order = found.hypervolume.corr(paper.hypervolume, method="spearman")
    assert f"in another order (rank correlation {order:.2f})" in text
    known = paper.xs(1e-3, level="lr").spearman
    assert known.notna().all() and (known == 0).sum() == 1


def test_what_the_notebook_says_of_phn_on_multimnist_is_what_the_records_say():
    text, found = conclusion("ablation_phn_cosmos"), swept("multimnist", "phn")
    assert len(found) == 14 and (found.order > 0).all()
    assert f"and {(found.spearman < -0.5).sum()} have S" in text
    paper = ablation.printed("multimnist", "phn").hypervolume
    apart = (found.hypervolume - paper).abs()
    assert f"are {apart.mean():.3f} from the paper's in" in text
    assert apart.idxmax() == (1e-3, "linear", 1e-3) and f"solver {apart.max():.3f}." in text
    best = found.hypervolume.idxmax()
    assert best == (2.0, "linear", 1e-3)
    setting = {"method": "phn"} | dict(zip(ablation.SWEPT["phn"], best, strict=True))
    names = [file_name(setting | {"seed": seed}) for seed in (0, 1, 2)]
    rivals = [Record.read(RECORDS.parent / "multimnist" / name).hypervolume() for name in names]
    folder = RECORDS.parents[1] / "multimnist"
    ours = [Record.read(folder / f"pamal_seed_{seed}.json").hypervolume() for seed in (0, 1, 2)]
    assert f"has {rivals[0]:.4f}, more than PaMaL's {ours[0]:.4f} with" in text
    assert f"best, {paper.max():.4f};" in text
    assert "has {:.4f} and {:.4f}, PaMaL {:.4f} and {:.4f}.".format(*rivals[1:], *ours[1:]) in text


def test_the_recorded_cosmos_runs_that_meet_a_threshold_run_backwards():
    runs = records("census", "cosmos", [1e-3])
    found = ablation.measured(runs)
    assert all(map(ablation.is_comparable, runs)) and len(found) == 24
    corners = found.loc[0.01]
    assert corners.hypervolume.iloc[[0, -1]].tolist() == pytest.approx([0.6514, 0.6412], abs=5e-5)
    assert corners.spearman.iloc[[0, -1]].tolist() == pytest.approx([0.65, -1], abs=5e-3)
    passing = found[found.spearman < -0.5]
    assert len(passing) > 12 and (passing.order < -0.7).all()
