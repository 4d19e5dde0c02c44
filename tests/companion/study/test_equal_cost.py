"""At equal cost each side is the best of a declared grid, chosen at seeds that are not judged."""

from itertools import product

import numpy as np
import pytest
from made_up import record, runs_of

from pamal_companion.study import frame
from pamal_companion.study.claim import Claim
from pamal_companion.study.equal_cost import at_equal_cost, candidates, winner

PAMAL, LS = frame.select("multimnist/pamal"), frame.select("multimnist/ls")
ROW = Claim("5.1", [PAMAL], [LS])


def made(setting, volume, seeds=range(6), noise=1e-4):
    """Records with such a hypervolume, hardly another at each seed."""
    where, options = f"{setting.experiment}/{setting.method}", dict(setting.options)
    return [record(where, [(volume + noise * (s % 3), 1.0)], seed=s, **options) for s in seeds]


def grid(setting, epochs, volume):
    """Every setting of the grid of one method, `volume` of its epochs, rate and average."""
    found = []
    for n, rate, average in product(epochs, (0.001, 0.002, 0.004), (0.0, 0.99)):
        rates = {"lr": rate / 2} if setting.method == "pamal" else {"lr": rate}
        one = setting.having(epochs=n, average=average, **rates)
        assert one.rate == pytest.approx(rate)
        found += made(one, volume(n, rate, average))
    return found


def ours(n, rate, average):
    return 0.8 + 0.01 * (rate == 0.004) + 0.01 * (average > 0)


def theirs(n, rate, average):
    """The longest training overfits."""
    return 0.7 + 0.1 * (n == 20) + 0.01 * (rate == 0.002) + 0.005 * (average > 0)


WHOLE = [*grid(PAMAL, (10,), ours), *grid(LS, (10, 20, 40), theirs)]


def test_the_winners_are_the_best_of_at_most_as_many_passes():
    runs = runs_of(*WHOLE)
    assert len(candidates(LS, 40, runs)) == 18 and len(candidates(LS, 39, runs)) == 12
    assert winner(LS, 40, runs) == LS.having(epochs=20, lr=0.002, average=0.99)
    assert winner(LS, 10, runs) == LS.having(lr=0.002, average=0.99)
    assert winner(PAMAL, 40, runs) == PAMAL.having(lr=0.002, average=0.99)
    found = at_equal_cost(ROW, runs)
    assert found.word == "holds" and found.parts[0].seeds == (3, 3)
    assert found.parts[0].name == "LS, 20 epochs, rate 0.002, EMA 0.99"
    assert found.parts[0].estimate.value == pytest.approx(0.82 - 0.815)


def test_the_seeds_that_choose_do_not_judge():
    """At the seeds that choose LS is far ahead, which only says which of its settings is best."""
    lucky = LS.having(epochs=40, lr=0.002)
    others = [one for one in WHOLE if frame.of(one) != lucky]
    runs = runs_of(*others, *made(lucky, 0.99, range(3)), *made(lucky, 0.7, range(3, 6)))
    assert winner(LS, 40, runs) == lucky
    assert at_equal_cost(ROW, runs).word == "holds"
    runs = runs_of(*others, *made(lucky, 0.99, range(3)))
    assert at_equal_cost(ROW, runs).word == "not run"  # the winner has no other seed


@pytest.mark.parametrize("lacking", [{"epochs": 40}, {"average": 0.99}, {"lr": 0.002}])
@pytest.mark.parametrize("seeds", [(), (0, 3, 4, 5)])
def test_a_grid_with_a_hole_has_no_winner(lacking, seeds):
    (name, value), kept = *lacking.items(), []
    for one in WHOLE:
        is_missing = one.method == "ls" and one.options[name] == value and one.seed not in seeds
        kept += [] if is_missing else [one]
    assert winner(LS, 40, runs_of(*kept)) is None
    assert at_equal_cost(ROW, runs_of(*kept)).word == "not run"


def test_data_without_a_grid_are_not_run():
    row = Claim("5.3", [frame.select("cityscapes/pamal")], [frame.select("cityscapes/ls")])
    assert at_equal_cost(row, {}).word == "not run"


@pytest.mark.parametrize(
    "row",
    [
        Claim("5.1", [PAMAL], low=0.5),  # of one side alone
        Claim("5.1", [LS.having(epochs=40)], [LS]),  # of what the grid varies
        Claim("5.1", [PAMAL.having(W=1)], [LS]),  # of as many passes anyway
    ],
)
def test_some_claims_have_no_other_verdict_at_equal_cost(row):
    assert at_equal_cost(row, runs_of(*WHOLE)) is None


def test_of_equal_methods_neither_holds_in_more_than_one_case_of_twenty():
    """Whatever wins by chance at the seeds that choose is no better at the others."""
    rng, words = np.random.default_rng(0), []
    runs = runs_of(*WHOLE)
    for _ in range(100):
        for by_seed in runs.values():
            for one in by_seed.values():
                for split in ("validation", "test"):
                    one.summary[split]["hypervolume"] = 0.9 + 0.003 * rng.normal()
        words.append(at_equal_cost(ROW, runs).word)
    at_most = 0.05 + 3 * np.sqrt(0.05 * 0.95 / 100)
    assert max(words.count("holds"), words.count("fails")) / 100 <= at_most
