"""The illustrative example as the notebook runs it. The counts are those of the paper's 50,000
steps: with fewer, pairs that cover the front at the end do not cover it yet."""

import numpy as np
import pytest
from notebook_text import passage

from pamal_companion.runs import grid
from pamal_companion.runs.records import Record
from pamal_companion.toy import figures as toy_figures
from pamal_companion.toy.outcomes import COVERED, VARIANTS, Outcome, answer, counts, pair_by_pair
from pamal_companion.toy.problem import ToyProblem
from pamal_companion.toy.run import MOMENTS, ToyOptions, run
from pamal_core.errors import InputError, NonFiniteError

PAMAL = [v.name for v in VARIANTS if v.method == "pamal"]


def test_what_another_distance_would_count_is_that_of_the_record():
    record = Record.read(grid.RESULTS / "toy/all_seed_0.json")
    gaps = {
        name: [run["gap"] for run in of["runs"].values()] for name, of in record.summary.items()
    }
    counted = {name: of["covering"] for name, of in record.summary.items()}
    near = {name: sum(gap <= 0.1 for gap in its) for name, its in gaps.items()}
    (changed,) = (name for name in near if near[name] != counted[name])
    between = [gap for gap in gaps[changed] if 0.1 < gap <= record.summary[changed]["within"]]
    said = passage("toy", "counts-text")
    assert changed == "PaMaL, c = 0.1, loss balancing"
    assert f"would count {near[changed]} pairs in place of {counted[changed]}" in said
    far = f"because {len(between)} of its segments leave some point of the front"
    assert f"{far} {min(between):.2f} to {max(between):.2f} away." in said


@pytest.fixture(scope="module")
def short():
    return run(ToyOptions.create(epochs=1))


# One test for all four counts: the run behind them is the longest of all tests.
def test_pairs_cover_the_front_as_often_as_the_paper_says():
    full = run(ToyOptions.create(method="pamal"))
    found = full.record.summary
    within = [found[name]["within"] for name in PAMAL]
    covering = [found[name]["covering"] for name in PAMAL]
    equal, unbalanced, gradient, loss = (found[name]["verdicts"] for name in PAMAL)
    assert within == [0.1, 1.0, 0.5, 1.0]
    assert covering[0] >= 20 and equal["exact"] >= 20
    assert covering[1] == 0 and unbalanced["subset"] >= 20
    assert covering[2] == 25 and gradient == {"superset": 25}
    assert covering[3] >= 18 and loss["exact"] >= 18

    table, pairs = counts(full.record), pair_by_pair(full.record)
    assert list(table.index) == list(pairs.columns) == PAMAL
    assert list(table.covers) == [f"{count} of 25" for count in covering]
    for count, name in zip(covering, PAMAL, strict=True):
        assert COVERED[name].format(f"**{count} of 25**") in answer(full.record)
    assert "on a part of the front, where task 2 is good" in answer(full.record)
    plain = full.outcomes["PaMaL, c = 0.1"]
    short = plain.image().min(axis=1) - plain.front.min(axis=0)
    is_at_task_2 = (short[:, 1] < 0.5) & (short[:, 0] > 0.25 * np.ptp(plain.front[:, 0]))
    assert is_at_task_2.sum() >= 20
    assert [(pairs[name].str[0] == "✓").sum() for name in PAMAL] == covering

    worst = full.outcomes["PaMaL, c = 1"].worst
    assert pairs.index[worst] == "3-1"  # the pair of Figure 1, far up on both tasks
    assert pairs["PaMaL, c = 1"].iloc[worst] == "✓ exact, 0.00"


def test_the_run_holds_all_variants_from_start_to_end(short):
    assert list(short.outcomes) == [v.name for v in VARIANTS]
    for name, outcome in short.outcomes.items():
        num_members = 1 if name.startswith("LS") else 2
        assert outcome.stacked.shape == (MOMENTS + 1, 5**num_members, num_members, 2)
        np.testing.assert_array_equal(outcome.image(num_points=2)[:, 0], outcome.members[-1][:, 0])


def test_the_record_has_every_run_at_every_alpha_and_reads_back(short, tmp_path):
    path = tmp_path / "r.json"
    short.record.write(path)
    record = Record.read(path)
    assert record == short.record
    assert (record.experiment, record.method, record.data) == ("toy", "all", "formula")
    assert record.options["epochs"] == 1
    assert len(record.points) == 2 * 5 + 4 * 25 * 11
    front = record.front("PaMaL, c = 0.1, loss balancing, 2-5")
    image = short.outcomes["PaMaL, c = 0.1, loss balancing"].image(num_points=11)[9]
    np.testing.assert_allclose(front.values, image)


def test_two_runs_give_one_record_but_for_its_cost_another_seed_not(tmp_path):
    def made(seed, name):
        out = str(tmp_path / name)
        options = ToyOptions.create(epochs=1, balancing="loss", method="pamal", seed=seed, out=out)
        return run(options).record.model_dump(exclude={"cost"})

    assert made(0, "a.json") == made(0, "a.json")
    assert made(0, "b.json")["points"] != made(1, "c.json")["points"]
    with pytest.raises(InputError, match=r"a\.json has the record of another run"):
        made(1, "a.json")


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({"method": "ls"}, [v.name for v in VARIANTS if v.method == "ls"]),
        ({"method": "pamal", "balancing": "none"}, ["PaMaL, c = 1", "PaMaL, c = 0.1"]),
        ({"method": "pamal", "balancing": "loss"}, ["PaMaL, c = 0.1, loss balancing"]),
    ],
)
def test_a_choice_of_method_and_balancing_runs_those_variants_alone(values, names):
    result = run(ToyOptions.create(epochs=1, **values))
    assert list(result.outcomes) == names
    assert list(counts(result.record).index) == names
    assert bool(answer(result.record)) == any(name in PAMAL for name in names)
    assert all(toy_figures.pairs(result, name) == [] for name in set(PAMAL) - set(names))


def test_several_draws_with_a_penalty_run():
    options = ToyOptions.create(W=2, lam=1.0, p=2.0, method="pamal", balancing="none", epochs=1)
    assert np.isfinite(run(options).outcomes["PaMaL, c = 1"].stacked).all()


def test_weights_that_are_not_finite_stop_the_run_and_name_it():
    with np.errstate(all="ignore"), pytest.raises(NonFiniteError, match=r"PaMaL, c = .*, 1-1: "):
        run(ToyOptions.create(lr=1e200, method="pamal", balancing="none", epochs=1))


def test_an_outcome_on_the_pareto_set_is_judged_exact():
    ends = np.array([[7.0, -8.4], [-7.0, -8.4]])
    stacked = np.broadcast_to(ends, (2, 25, 2, 2))
    summary = Outcome(ToyProblem(), stacked).summary()
    assert summary["covering"] == 25 and summary["verdicts"] == {"exact": 25}
    for measured in summary["runs"].values():
        assert measured["verdict"] == "exact"
        assert measured["spearman"] == [-1, -1]
        assert measured["hypervolume"] == pytest.approx(335.6, abs=0.1)
