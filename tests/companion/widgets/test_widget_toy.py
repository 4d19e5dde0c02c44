"""The toy widget: the formulas and the run against torch and the package, and the page itself."""

import re

import numpy as np
import pytest
import torch
from gestures import PHONE, drag, swipe
from scipy.stats import beta, kstest
from torch import nn
from toy_oracle import plain_losses

from pamal_companion.toy.outcomes import distances
from pamal_companion.toy.problem import INITIAL_POINTS, ToyProblem, pareto_set
from pamal_core.balancing import Linear, MovingAverage, UnitNorm
from pamal_core.ensemble import WeightEnsemble
from pamal_core.method import Method
from pamal_core.penalties import MultiForward
from pamal_core.simplex import Dirichlet
from pamal_core.tasks import Task

TRAJECTORY = """((start, draws, settings) => {
  const state = toyStart(start);
  return draws.map((alphas) => {
    toyStep(state, alphas, settings);
    return state.stacked.map((row) => [...row]);
  });
})"""
BALANCERS = {"none": Linear, "gradient": UnitNorm, "loss": MovingAverage}


@pytest.fixture
def js(functions):
    return functions("toy")


class Toy(nn.Module):
    """The toy problem as a network: its outputs are the losses at its two weights."""

    def __init__(self, start, scale):
        super().__init__()
        self.theta = nn.Parameter(torch.tensor(start, dtype=torch.float64))
        self.scale = scale

    def forward(self, x):
        return [loss.expand(len(x)) for loss in plain_losses(self.theta, self.scale)]


def trained(start, scale, lam, sign, window, balancing, steps):
    """The members after each of so many steps of `Method.step`, and the alphas it drew."""
    network = WeightEnsemble([Toy(point, scale) for point in start])
    tasks = [Task(name, lambda output, _: output.mean(), ()) for name in ("1", "2")]
    penalty = MultiForward(lam, sign)
    method = Method(network, tasks, balancer=BALANCERS[balancing](), penalty=penalty, window=window)
    optimizer = torch.optim.Adam(method.parameters(), lr=2e-3)
    batch = [torch.zeros(1, dtype=torch.float64)] * 3
    rng, same = np.random.default_rng(0), np.random.default_rng(0)
    path, draws = [], []
    for _ in range(steps):
        optimizer.zero_grad()
        method.step(batch, method.draw(rng))
        optimizer.step()
        path.append(network.members().numpy())
        draws.append(Dirichlet().sample(window, 2, same))
    return np.stack(path), np.stack(draws)


@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_losses_and_gradients_are_those_of_torch_on_a_grid(js, scale):
    x, y = np.meshgrid(np.linspace(-11, 11, 23), np.linspace(-15, 11, 27))
    theta = torch.tensor(np.stack((x, y), -1).reshape(-1, 2), requires_grad=True)
    losses = plain_losses(theta, scale)
    slopes = [torch.autograd.grad(losses[:, t].sum(), theta, retain_graph=True)[0] for t in (0, 1)]
    found = js.call(
        "((grid, scale) => grid.map((theta) => toyLosses(theta, scale)))", theta.tolist(), scale
    )
    jacobian = torch.stack(slopes, 1).numpy()
    np.testing.assert_allclose([f["losses"] for f in found], losses.detach(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose([f["jacobian"] for f in found], jacobian, rtol=1e-9, atol=1e-9)


def test_the_front_and_the_distance_to_it_are_those_of_the_package(js):
    np.testing.assert_allclose(js.call("toyParetoSet", 101), pareto_set(101), atol=1e-12)
    problem, members = ToyProblem(0.1), np.array([[6.0, -9.0], [-2.0, 1.0]])
    shares = np.linspace(1, 0, 201)[:, None]
    image = problem.losses(shares * members[0] + (1 - shares) * members[1])
    np.testing.assert_allclose(js.call("toyImage", members.tolist(), 0.1, 201), image, rtol=1e-9)
    gap = js.call("toyGap", problem.front(101).tolist(), image.tolist())
    assert gap == pytest.approx(distances(problem.front(101), image).gap)


@pytest.mark.parametrize(
    ("scale", "lam", "sign", "window", "balancing"),
    [
        (1.0, 0.0, "ordered", 1, "none"),
        (1.0, 0.0, "ordered", 4, "none"),
        (1.0, 2.0, "ordered", 4, "none"),
        (1.0, 2.0, "printed", 3, "none"),
        (0.1, 0.0, "ordered", 2, "gradient"),
        (0.1, 0.0, "ordered", 2, "loss"),
        (0.1, 1.0, "ordered", 2, "gradient"),
    ],
)
def test_a_run_goes_where_method_step_goes_with_the_same_alphas(
    js, scale, lam, sign, window, balancing
):
    start = [INITIAL_POINTS[0], INITIAL_POINTS[3]]
    path, draws = trained(start, scale, lam, sign, window, balancing, 100)
    settings = {"scale": scale, "lam": lam, "sign": sign, "balancing": balancing}
    found = js.call(TRAJECTORY, [list(point) for point in start], draws.tolist(), settings)
    assert np.abs(path[-1] - start).min() > 0.05
    np.testing.assert_allclose(found, path, rtol=1e-6)


@pytest.mark.parametrize("p", [0.2, 1.0, 5.0])
def test_the_draws_follow_the_dirichlet_distribution(js, p):
    draws = js.call("((p) => drawAlphas(4000, p, seededRandom(1)))", p)
    assert np.sum(draws, 1) == pytest.approx(np.ones(4000))
    distance = kstest(np.array(draws)[:, 0], beta(p, p).cdf).statistic
    assert distance < 1.95 / np.sqrt(4000)  # 1 of 1,000 is above


def test_what_the_page_says_to_try_happens(js):
    def end(**settings):
        return js.call(
            "((settings) => { const run = toyRun(0);"
            " for (const [name, value] of Object.entries(settings)) toySet(run, name, value);"
            " run.advance(TOY_STEPS); return [run.state.stacked, toyGap(toyParetoSet(101).map("
            "(theta) => toyLosses(theta, run.settings.scale).losses),"
            " toyImage(run.state.stacked, run.settings.scale, 401))]; })",
            settings,
        )

    assert end()[1] < 0.1
    part, gap = end(scale="0.1")
    assert gap > 10 and max(theta for theta, _ in part) < 0  # task 2 is best at -7
    wide, gap = end(scale="0.1", balancing="gradient")
    assert gap < 0.5 and wide[0][0] > 8 and wide[1][0] < -8
    assert end(pair="42")[1] > 1  # points 5 and 3
    assert end(W="4", lam="1")[1] < 0.1
    short, gap = end(W="4", lam="1", sign="printed")
    assert gap > 5 and 0 < short[0][0] < 3 and -3 < short[1][0] < 0


def select(page, name):
    """The select of a setting by the beginning of its label, in view."""
    page.locator("details.pw-more").evaluate("(node) => { node.open = true; }")
    return page.get_by_role("combobox", name=re.compile(rf"^{name}(,|$)"))


def shown(page):
    """The numbers of the widget's line: step, members, losses at alpha, distance to the front."""
    text = page.locator("p.pw-numbers").inner_text().replace("\u2212", "-").replace(",", "")
    values = [float(v) for v in re.findall(r"-?\d+\.?\d*", text.replace("α₁ = ", "α₁ "))]
    step, _, *rest = values
    share, losses, gap = rest[4], rest[5:7], rest[7]
    return {"step": step, "members": np.reshape(rest[:4], (2, 2)), "share": share} | {
        "losses": losses,
        "gap": gap,
    }


def check(page):
    """The losses the page shows at its alpha are those of the package."""
    values = shown(page)
    theta = np.array([values["share"], 1 - values["share"]]) @ values["members"]
    losses, jacobian = ToyProblem().losses_and_jacobian(theta)
    within = 0.006 + 0.01 * np.abs(jacobian).sum(1)  # members are shown to 2 digits
    assert (np.abs(values["losses"] - losses) <= within).all()
    return values


def test_keys_move_a_member_and_the_numbers_are_those_of_the_package(open_widget):
    page = open_widget("toy")
    assert check(page)["members"].tolist() == [[-8.5, 7.5], [-7.5, -0.5]]
    page.get_by_role("slider", name="member 2").focus()
    for key in ("ArrowRight", "Shift+ArrowDown", "Shift+ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    assert check(page)["members"][1].tolist() == [-7.4, -2.4]
    assert select(page, "Start").input_value() == "own"
    label = page.get_by_role("slider", name="member 2").get_attribute("aria-valuetext")
    assert label == "θ₁ = -7.40, θ₂ = -2.40"
    page.get_by_role("slider", name="α₁").focus()
    page.keyboard.press("Home")
    values = check(page)
    assert values["share"] == 0
    assert values["losses"] == pytest.approx(ToyProblem().losses(np.array([-7.4, -2.4])), abs=0.006)


@pytest.mark.parametrize(("gesture", "options"), [(drag, {}), (swipe, PHONE)])
def test_a_member_is_dragged_by_mouse_and_by_finger(open_widget, gesture, options):
    page = open_widget("toy", **options)
    gesture(page, page.get_by_role("slider", name="member 1").locator(".pw-dot"), 60, 80)
    member = check(page)["members"][0]
    assert member[0] > -6 and member[1] < 4
    assert shown(page)["step"] == 0
    gesture(page, page.get_by_role("slider", name="member 1").locator(".pw-dot"), -600, 0)
    assert check(page)["members"][0][0] == -11


def test_a_run_steps_plays_pauses_ends_and_starts_again(open_widget):
    page = open_widget("toy")
    page.get_by_role("button", name="Step").click()
    assert shown(page)["step"] == 1
    assert page.locator(".pw-draws").first.locator("circle").count() == 1
    select(page, "W").select_option("4")
    page.get_by_role("button", name="Step").click()
    assert page.locator(".pw-draws").first.locator("circle").count() == 4
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("/Step [1-9],/.test(document.querySelector('p.pw-numbers').textContent)")
    page.get_by_role("button", name="Pause").click()
    paused = shown(page)["step"]
    assert paused > 1000
    page.wait_for_timeout(100)
    assert check(page)["step"] == paused
    select(page, "Steps a frame").select_option("400")
    page.get_by_role("button", name="Play").click()
    page.wait_for_selector("p:has-text('Step 50,000 of')")
    ends = pareto_set(2)[::-1]
    # The Pareto set is a little bent; a straight segment lies between its middle and its ends.
    assert (np.abs(check(page)["members"] - ends) < [0.02, 0.08]).all()
    assert "and covers it" in page.inner_text("p.pw-numbers")
    assert page.get_by_role("button", name="Play").is_visible()
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(
        "/Step [1-9]\\d?,/.test(document.querySelector('p.pw-numbers').textContent)"
    )
    page.get_by_role("button", name="Pause").click()
    assert 0 < shown(page)["step"] < 50_000
    page.get_by_role("button", name="Reset").click()
    assert shown(page)["step"] == 0


def test_settings_that_a_beginner_needs_not_are_folded(open_widget):
    page = open_widget("toy")
    names = page.get_by_role("combobox").evaluate_all(
        "(all) => all.map((s) => s.parentNode.innerText)"
    )
    assert [name.split("\n")[0] for name in names] == ["Start", "Steps a frame"]
    page.get_by_text("More settings").click()
    assert page.get_by_role("combobox").count() == 8


@pytest.mark.parametrize("motion", [None, "reduce"])
def test_nothing_moves_before_play_is_pressed(open_widget, motion):
    page = open_widget("toy", reduced_motion=motion)
    page.wait_for_timeout(200)
    assert shown(page)["step"] == 0


def test_a_penalty_brings_two_draws_and_one_draw_ends_it(open_widget):
    page = open_widget("toy")
    select(page, "λ").select_option("1")
    assert select(page, "W").input_value() == "2"
    assert page.inner_text(".pw-said").endswith("W is 2 now.")
    select(page, "W").select_option("1")
    assert select(page, "λ").input_value() == "0"
    assert page.inner_text(".pw-said").endswith("λ is 0 now.")
    select(page, "W").select_option("4")
    assert page.inner_text(".pw-said") == ""


def test_the_address_keeps_the_settings_and_brings_them_back(open_widget):
    page = open_widget("toy")
    select(page, "Start").select_option("points 5 and 3")
    select(page, "c").select_option("0.1")
    page.wait_for_function("location.hash == '#&widget.pair=42&widget.scale=0.1'")
    page.reload()
    page.wait_for_selector(".pw-ready")
    assert page.locator("details.pw-more").get_attribute("open") is not None
    assert shown(page)["members"].tolist() == [list(INITIAL_POINTS[4]), list(INITIAL_POINTS[2])]
    assert select(page, "c").input_value() == "0.1"
    assert "loss 1 × 0.1" in page.inner_text(".pw-stack + div")
    select(page, "Start").select_option("points 1 and 4")
    select(page, "c").select_option("1")
    page.wait_for_function("location.hash == ''")
