"""The multi-forward widget: its penalty against the package's, and the page itself."""

import re

import numpy as np
import pytest
import torch
from gestures import drag

from pamal_companion.demos.schematics import four_situations
from pamal_core.penalties import MultiForward

SIGNS = ("ordered", "printed")


def select(page, name):
    return page.get_by_role("combobox", name=name, exact=True)


def penalty(losses, weights, sign, edges="lex"):
    """R and its slopes by torch."""
    leaf, weights = torch.tensor(losses, dtype=torch.float64), torch.tensor(weights)
    rule = MultiForward(1.0, sign, edges)
    return rule(leaf, weights).item(), rule.slopes(leaf, weights).tolist()


@pytest.mark.parametrize("edges", ["lex", "full"])
@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("num_tasks", [2, 3])
def test_the_penalty_and_its_slopes_are_those_of_torch(functions, num_tasks, sign, edges):
    js, rng = functions("multiforward"), np.random.default_rng(0)
    for window in range(2, 7):
        for ties in (False, True):
            weights = rng.dirichlet(np.ones(num_tasks), window)
            weights = weights.round(1) if ties else weights
            losses = rng.normal(size=(window, num_tasks)).round(1 if ties else 9)
            options = {"sign": sign, "edges": edges}
            found = js.call("multiForward", losses.tolist(), weights.tolist(), options)
            value, slopes = penalty(losses, weights, sign, edges)
            assert found["value"] == pytest.approx(value, abs=1e-12)
            assert sum(found["terms"]) == pytest.approx(value, abs=1e-12)
            np.testing.assert_allclose(found["slopes"], slopes, atol=1e-12)


@pytest.mark.parametrize("window", [4, 5, 6])
def test_the_situations_are_those_of_the_figure(functions, window):
    js = functions("multiforward")
    alphas, situations = four_situations(window)
    np.testing.assert_allclose(js.call("evenAlphas", 2, window), alphas)
    for name, losses in zip(
        ("ordered", "one", "reversed", "off"), situations.values(), strict=True
    ):
        np.testing.assert_allclose(
            js.call("situationLosses", name, alphas.tolist()), losses, atol=1e-12
        )


def test_draws_in_the_triangle_are_on_the_simplex_and_differ(functions):
    alphas = np.array(functions("multiforward").call("evenAlphas", 3, 6))
    assert alphas.sum(1) == pytest.approx(np.ones(6))
    assert [len(set(column)) for column in alphas.T] == [6, 6, 6]


def shown(page):
    """R by both signs, as the table has it."""
    cells = page.locator("tbody tr").last.locator("td").all_inner_texts()
    return [float(cell) for cell in cells]


def state(page, num_tasks, window):
    """The alphas and the losses, as screen readers are told of them."""

    def value(name):
        return page.get_by_role("slider", name=name).get_attribute("aria-valuetext")

    draws = range(1, window + 1)
    alphas = [[float(v) for v in value(f"alpha of draw {w}").split(",")] for w in draws]
    losses = [
        [float(value(f"loss {t + 1} of draw {w}").split()[0]) for t in range(num_tasks)]
        for w in draws
    ]
    return np.array(alphas), np.array(losses)


def check(page, num_tasks=2, window=5):
    """The table agrees with torch, up to the two digits that alphas and losses are shown with."""
    alphas, losses = state(page, num_tasks, window)
    expected = [penalty(losses, alphas, sign)[0] for sign in SIGNS]
    assert shown(page) == pytest.approx(expected, abs=0.01 * num_tasks)
    return alphas, losses


def test_each_sign_rewards_the_order_that_the_other_penalises(open_widget):
    page = open_widget("multiforward")
    select(page, "Losses").select_option("ordered")
    ordered, printed = shown(page)
    assert ordered == 0 and printed > 0.5
    select(page, "Losses").select_option("reversed")
    assert shown(page) == [printed, 0]
    select(page, "Losses").select_option("off")
    assert shown(page) == [0, printed]


def test_keys_move_losses_and_alphas_and_the_table_follows(open_widget):
    page = open_widget("multiforward")
    select(page, "Losses").select_option("ordered")
    page.get_by_role("slider", name="loss 1 of draw 2").focus()
    for _ in range(3):
        page.keyboard.press("Shift+ArrowUp")
    alphas, losses = check(page)
    assert losses[1, 0] == pytest.approx(0.66) and shown(page)[0] > 0.1
    assert select(page, "Losses").input_value() == "own"
    broken = page.locator(".pw-edge-broken.pw-one")
    assert broken.count() == 2  # once among the alphas, once in the plot of task 1
    page.get_by_role("slider", name="alpha of draw 2").focus()
    page.keyboard.press("Home")
    alphas, moved = check(page)
    assert alphas[1].tolist() == [1, 0]
    np.testing.assert_array_equal(moved, losses)


def test_three_tasks_have_a_triangle_and_a_plot_each(open_widget):
    page = open_widget("multiforward", viewport={"width": 1200, "height": 1600})
    select(page, "Tasks").select_option("3")
    select(page, "Draws W").select_option("6")
    check(page, 3, 6)
    drag(page, page.get_by_role("slider", name="alpha of draw 3").locator(".pw-dot"), 20, -60)
    alphas, _ = check(page, 3, 6)
    assert alphas.sum(1) == pytest.approx(np.ones(6), abs=0.011)
    assert alphas[2, 0] > 0.2
    select(page, "Edges").select_option("full")
    assert re.search(r"of 15 edges", page.inner_text("tbody"))
