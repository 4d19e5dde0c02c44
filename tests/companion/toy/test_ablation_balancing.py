"""The experiment of the balancing notebook."""

import numpy as np
import pytest
import torch

from pamal_companion.experiments import balancing_scales
from pamal_companion.toy import rules as toy_rules
from pamal_companion.toy.ablation import BalancingOptions, run
from pamal_companion.toy.outcomes import Outcome
from pamal_companion.toy.pairs import Pairs
from pamal_companion.toy.problem import INITIAL_POINTS, ToyProblem, pareto_set
from pamal_companion.toy.run import ToyOptions
from pamal_companion.toy.run import run as toy_run
from pamal_core.classes import classification


@pytest.fixture(scope="module")
def short():
    return run(BalancingOptions.create(epochs=1))


def test_mgda_reaches_the_front_and_scalarisation_one_point_of_it():
    rules = [toy_rules.rules(2e-3, 0)[name] for name in ("LS", "MGDA")]
    starts, half = np.array(INITIAL_POINTS)[:, None], np.full((1, 2), 0.5)
    scaled = (
        Pairs(ToyProblem(scale), rules, starts, task_weights=half).run(20_000, 20_000)
        for scale in (1.0, 0.1)
    )
    found = np.stack([stacked[-1, :, :, 0] for stacked in scaled], 1)
    front = pareto_set(1001)
    for weights in found[1].reshape(-1, 2):  # MGDA, distances in weight space
        assert np.linalg.norm(front - weights, axis=-1).min() < 0.3
    # LS, from (0, 0) and (-7.5, -0.5): theta_1 = 7 (2 w - 1), with w / (1 - w) = c.
    for v, c in enumerate((1.0, 0.1)):
        share = c / (1 + c)
        expected = 7 * (2 * share - 1)
        np.testing.assert_allclose(found[0, v, [1, 3], 0], expected, atol=0.05)


def test_the_baselines_are_a_run_of_the_toy_problem_too(short):
    found = toy_run(ToyOptions.create(method="baselines", epochs=1))
    names = [name for name in short.outcomes[1.0] if not name.startswith("PaMaL")]
    assert [*found.outcomes] == [f"{name}, c = {c}" for c in ("1", "0.1") for name in names]
    for scale, outcomes in short.outcomes.items():
        for name in names:
            weights = found.outcomes[f"{name}, c = {scale:g}"].stacked
            np.testing.assert_array_equal(weights, outcomes[name].stacked)
    assert len(found.record.points) == 2 * len(names) * len(INITIAL_POINTS)


def test_every_method_is_there_for_both_scales_from_start_to_end(short):
    assert list(short.outcomes) == [1.0, 0.1]
    for scale, outcomes in short.outcomes.items():
        assert len(outcomes) == 13
        for name, one in outcomes.items():
            pair = name.startswith("PaMaL")
            assert one.stacked.shape == (501, 1, 2, 2) if pair else (501, 5, 1, 2)
            assert one.problem.factor.tolist() == [scale, 1]
    starts = [one["MGDA"].stacked[0, :, 0] for one in short.outcomes.values()]
    np.testing.assert_array_equal(*starts)


def test_a_row_counts_the_ends_on_the_front_and_says_where_they_are():
    some = pareto_set(1001)[[200, 600]]
    ends = np.concatenate((some, [(9.0, 9.0), (0.0, 0.0), (-7.0, 7.0)]))
    row = Outcome(ToyProblem(), ends[None, :, None]).ends()
    assert row["on the front"] == "2 of 5 runs"
    assert (row["from"], row["to"]) == (0.2, 0.6)
    none = Outcome(ToyProblem(), ends[None, 2:, None]).ends()
    assert none["on the front"] == "0 of 3 runs" and np.isnan(none["spread"])


def test_a_row_of_a_pair_says_what_its_subspace_is():
    pair = np.array([[7.0, -8.4], [-7.0, -8.4]])
    row = Outcome(ToyProblem(), pair[None, None]).ends()
    assert row["on the front"] == "subspace: exact" and row["spread"] == 1


def test_the_figure_has_a_panel_for_each_method(short):
    figure = short.figure(0.1)
    shown = [ax.get_title().replace("\n", " ") for ax in figure.axes if ax.get_title()]
    assert shown == list(short.outcomes[0.1])
    assert "1,000 steps" in figure.get_label()
    spread = np.nan_to_num(float(short.table(0.1).loc["PaMaL", "spread"]))
    said = f"PaMaL reaches {100 * spread:.0f} % of the front with no balancing"
    assert figure.get_label().startswith(said)


def test_a_scaled_task_trains_on_the_multiple_and_is_judged_as_before():
    task = classification("kind")
    output, target = torch.randn(8, 3), torch.randint(3, (8,))
    scaled = balancing_scales.scaled(task, 4.0)
    torch.testing.assert_close(scaled.loss(output, target), 4 * task.loss(output, target))
    assert scaled.metrics == task.metrics


def test_factors_move_the_sample_unless_losses_are_balanced():
    found = [
        balancing_scales.record(scales, 1, 0, balancing_scales.SETTINGS[name])
        for name in ("none", "loss, as printed")
        for scales in ([1.0] * 3, [0.2, 0.6, 4.0])
    ]
    plain, moved, balanced, undone = (record.front("test").on("loss").values for record in found)
    assert np.abs(moved / plain - 1).max() > 0.02
    np.testing.assert_allclose(undone, balanced, rtol=1e-3)

    table = balancing_scales.table({"none": found[1]})
    front = found[1].front("test")
    assert table.loc["none", "best age/accuracy"] == front.table["age/accuracy"].max()
    assert table.loc["none", "best income/loss"] == front.table["income/loss"].min()
    assert table.loc["none", "hypervolume"] == front.hypervolume([0, 0, 0])
