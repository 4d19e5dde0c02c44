"""The explorer in a page: its network is torch's, its numbers are those of the front."""

import base64
import copy
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from browser import overflow
from gestures import PHONE, drag, frame, middle, swipe
from labels import check_labels
from torch import nn
from torch.nn import functional as F

from pamal_companion.experiments.models import SharedBottom, lenet
from pamal_companion.runs.records import Record
from pamal_companion.widgets import explorer_data
from pamal_core import Front, InputError, WeightEnsemble
from pamal_core.objectives import Objective

ROOT = Path(__file__).parents[3]
NARROW = PHONE | {"viewport": {"width": 390, "height": 844}}
VALUES = json.loads((ROOT / "book/_assets/widgets/multimnist.json").read_text())


def published():
    """The ensemble of the page as torch has it, and the page's images [24, 1, 28, 28]."""
    stacked = np.frombuffer(base64.b64decode(VALUES["network"]["stacked"]), "<f4").reshape(2, -1)
    members = [lenet(), lenet()]
    for member, row in zip(members, torch.tensor(stacked), strict=True):
        torch.nn.utils.vector_to_parameters(row, member.parameters())
    pixels = np.frombuffer(base64.b64decode(VALUES["images"]["pixels"]), np.uint8)
    low, high = VALUES["images"]["range"]
    images = torch.from_numpy(low + pixels.reshape(-1, 1, 28, 28) / 255 * (high - low)).float()
    return WeightEnsemble(members, shared="encoder"), images


@torch.no_grad()
def shares(ensemble, alpha, images):
    """The shares of the classes [n, T, classes]."""
    outputs = ensemble(images, alpha)
    return torch.stack(outputs, 1).softmax(-1)


def front_of(points):
    chosen = tuple(Objective(**objective) for objective in points["objectives"])
    return Front(np.array(points["alphas"]), pd.DataFrame(points["columns"]), chosen)


def shown(page):
    """alpha, the metrics, and the answers with their shares, as the page shows them."""
    page.evaluate("new Promise(requestAnimationFrame)")
    alpha = json.loads(page.get_by_label("alpha in numbers").input_value())
    cells = [float(text) for text in page.locator(".pw-table td").all_text_contents()]
    answers = page.locator(".pw-cards .pw-line").evaluate_all(
        "lines => lines.map(l => [l.querySelector('b').textContent, l.lastChild.textContent])"
    )
    return alpha, cells, [(int(digit), float(share)) for digit, share in answers]


def check_page(page, ensemble, images):
    """Whatever alpha the page shows, its numbers are those of torch there; returns alpha."""
    alpha, cells, answers = shown(page)
    expected = shares(ensemble, alpha, images[:8]).flatten(0, 1).max(-1)
    assert [digit for digit, _ in answers] == expected.indices.tolist()
    assert [share for _, share in answers] == pytest.approx(expected.values.tolist(), abs=6e-4)
    (p,) = (np.abs(np.array(VALUES["points"]["alphas"]) - alpha).max(1) < 1e-9).nonzero()[0]
    columns = VALUES["points"]["columns"].values()
    assert cells == pytest.approx([column[p] for column in columns], abs=6e-5)
    return alpha


def test_the_network_in_the_page_is_torchs_at_twenty_alphas(functions):
    ensemble, images = published()
    js = functions("explorer")
    code = """([network, images, alphas]) => {
        const predict = call("inPage", [network]);
        const all = call("imagesOf", [images]);
        return alphas.map((alpha) => all.map((image) => predict(alpha, image)));
    }"""
    alphas = np.random.default_rng(0).dirichlet([1, 1], size=20)
    found = js.page.evaluate(code, [VALUES["network"], VALUES["images"], alphas.tolist()])
    for alpha, ours in zip(alphas, torch.tensor(found), strict=True):
        torch.testing.assert_close(ours, shares(ensemble, alpha, images), rtol=0, atol=1e-4)


def test_a_drawing_is_resized_as_torch_resizes_the_images_of_multimnist(functions):
    image = torch.rand(1, 1, 36, 36)
    expected = F.interpolate(image, size=28, mode="bicubic", antialias=True)
    js = functions("explorer")
    found = js.page.evaluate("x => Array.from(call('resized', [x, 28]))", image.flatten().tolist())
    torch.testing.assert_close(torch.tensor(found), expected.flatten(), rtol=0, atol=1e-5)


def test_the_values_of_the_page_are_those_of_its_network():
    ensemble, _ = published()
    assert explorer_data.network(ensemble) == VALUES["network"]
    assert np.array(VALUES["gram"]) == pytest.approx(np.array(explorer_data.gram(ensemble)))
    assert explorer_data.points(front_of(VALUES["points"])) == VALUES["points"]


def test_a_network_that_a_page_cannot_run_is_refused():
    member = SharedBottom(nn.Sequential(nn.Linear(4, 8), nn.Tanh()), [nn.Linear(8, 2)] * 2)
    with pytest.raises(InputError, match="Found Tanh"):
        explorer_data.network(WeightEnsemble([member, copy.deepcopy(member)]))


@pytest.mark.parametrize("directions", [(True, True), (True, False, False)])
def test_domination_and_choice_are_those_of_the_front(functions, directions):
    rng = np.random.default_rng(len(directions))
    table = pd.DataFrame({f"t{t}/m": rng.normal(size=30).round(1) for t in range(len(directions))})
    chosen = tuple(Objective(f"t{t}/m", up) for t, up in enumerate(directions))
    front = Front(rng.dirichlet(np.ones(len(directions)), size=30), table, chosen)
    js, points = functions("explorer"), explorer_data.points(front)
    goals = points["objectives"]
    signed = np.where(directions, 1, -1) * front.values
    better = (signed[None] >= signed[:, None]).all(2) & (signed[None] > signed[:, None]).any(2)
    for p, row in enumerate(table.to_dict("records")):
        assert js.call("dominators", points, goals, row) == np.flatnonzero(better[p]).tolist()
    assert js.call("keptOf", points, goals) == front.non_dominated().tolist()
    assert js.call("choose", points, goals) == front.choose().row
    for t, objective in enumerate(chosen):
        none = 99.0 if objective.maximise else -99.0
        side = "at_least" if objective.maximise else "at_most"
        for bound in (*table[objective.name].sample(6, random_state=t), none):
            p = js.call("choose", points, goals, {"name": objective.name, "value": bound})
            if p is None:
                with pytest.raises(InputError):
                    front.choose(**{side: {objective.name: bound}})
            else:
                assert p == front.choose(**{side: {objective.name: bound}}).row
        best = {objective.name: front.ideal_point()[objective.name]}
        assert js.call("bestFor", points, goals, t) == front.choose(**{side: best}).row


def test_points_and_columns_that_are_not_finite_do_not_reach_the_page():
    table = pd.DataFrame({"a/m": [1.0, np.nan, 0.5], "b/m": [0.1, 0.2, 0.3], "b/n": [np.inf, 0, 0]})
    front = Front(np.eye(3), table, (Objective("a/m", True), Objective("b/m", True)))
    with pytest.warns(UserWarning, match="1 of 3 points of the front are left out"):
        found = explorer_data.points(front)
    assert found["alphas"] == [[1, 0, 0], [0, 0, 1]]
    assert found["columns"] == {"a/m": [1.0, 0.5], "b/m": [0.1, 0.3]}


def test_distances_follow_from_inner_products(functions):
    members = torch.randn(3, 50, dtype=torch.float64)
    alpha = np.random.default_rng(0).dirichlet(np.ones(3))
    expected = (torch.tensor(alpha) @ members - members).norm(dim=1)
    found = functions("explorer").call("distances", (members @ members.T).tolist(), alpha.tolist())
    assert found == pytest.approx(expected.tolist())


def test_keys_drag_and_touch_lead_to_numbers_of_torch(open_widget):
    ensemble, images = published()
    page = open_widget("explorer", VALUES)
    page.get_by_role("slider", name="alpha", exact=True).focus()
    seen = [check_page(page, ensemble, images)]
    for key in ("Home", "ArrowRight", "Shift+ArrowRight", "ArrowRight", "End", "Shift+ArrowLeft"):
        page.keyboard.press(key)
        seen.append(check_page(page, ensemble, images))
    assert np.array(seen)[:, 1] == pytest.approx([VALUES["alpha"][1], 0, 0.01, 0.11, 0.12, 1, 0.9])

    x, y = middle(page.locator(".pw-dot").first)
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 14):
        page.mouse.move(x - 25 * step, y + 5)
        seen.append(check_page(page, ensemble, images))
    page.mouse.up()
    assert len({tuple(alpha) for alpha in seen[7:]}) == 13

    phone = open_widget("explorer", VALUES, **PHONE)
    swipe(phone, phone.locator(".pw-dot").first, 100, 0)
    phone.wait_for_function("JSON.parse(document.querySelector('.pw-alpha').value)[1] > 0.6")
    check_page(phone, ensemble, images)
    assert overflow(phone) <= 0


def places(page):
    """Where the ring and the points are on the screen: [2] and [P, 2]."""
    found = page.evaluate("""() => {
        const centre = (one) => { const b = one.getBoundingClientRect();
            return [b.x + b.width / 2, b.y + b.height / 2]; };
        const points = [...document.querySelectorAll(".pw-plot :is(.pw-kept, .pw-dominated)")];
        return [centre(document.querySelector(".pw-here .pw-ring")), points.map(centre)]; }""")
    return np.array(found[0]), np.array(found[1])


def check_ring(page):
    """The ring lies on one of the points; returns the alpha that is shown."""
    ring, points = places(page)
    assert np.linalg.norm(points - ring, axis=1).min() < 0.1
    return shown(page)[0]


def test_the_ring_is_dragged_along_the_front_and_a_click_brings_it_nearest(open_widget):
    ensemble, images = published()
    page = open_widget("explorer", VALUES)
    before = check_ring(page)
    drag(page, page.locator(".pw-here .pw-ring"), -90, -5)
    after = check_page(page, ensemble, images)
    assert after == check_ring(page) and after[1] > before[1] + 0.2
    _, points = places(page)
    for x, y in (
        (points.min(0) + points.max(0)) / 2,
        np.add(points.max(0), [20, -10]),
        points.min(0),
    ):
        page.mouse.click(x, y)
        frame(page)
        check_page(page, ensemble, images)
        (ring, points) = places(page)
        nearest = points[np.linalg.norm(points - [x, y], axis=1).argmin()]
        assert ring == pytest.approx(nearest, abs=0.1)


def test_a_finger_drags_the_ring_and_taps_a_point_and_scrolls_beside_them(open_widget):
    page = open_widget("explorer", VALUES, **PHONE)
    before = check_ring(page)
    swipe(page, page.locator(".pw-here .pw-ring"), -70, -5)
    after = check_ring(page)
    assert after[1] > before[1] + 0.2 and page.evaluate("scrollY") == 0
    x, y = middle(page.locator(".pw-dominated").first)
    page.touchscreen.tap(x, y)
    frame(page)
    ring, _ = places(page)
    assert ring == pytest.approx([x, y], abs=8) and check_ring(page) != after


def test_keys_move_the_ring_the_way_they_say_as_far_as_the_members(open_widget):
    ensemble, images = published()
    page = open_widget("explorer", VALUES)
    ring = page.get_by_role("slider", name="point of the front")
    ring.focus()
    first = check_ring(page)[0]
    page.keyboard.press("ArrowRight")  # right is better for top-left: member 1
    assert check_page(page, ensemble, images)[0] == pytest.approx(first + 0.01)
    page.keyboard.press("Shift+ArrowUp")
    assert check_page(page, ensemble, images)[0] == pytest.approx(first - 0.09)
    page.keyboard.press("Home")
    assert check_page(page, ensemble, images) == [1, 0]
    page.keyboard.press("ArrowRight")
    assert check_page(page, ensemble, images) == [1, 0]
    page.keyboard.press("End")
    assert check_page(page, ensemble, images) == [0, 1]
    assert ring.get_attribute("aria-valuenow") == "101"
    words = ring.get_attribute("aria-valuetext")
    assert words.startswith("top-left 0.00, bottom-right 1.00; accuracy on top-left 0.941")


def test_it_opens_at_what_choose_takes_and_names_a_better_point(open_widget):
    front = front_of(VALUES["points"])
    assert front.choose().alpha.tolist() == VALUES["alpha"]
    page = open_widget("explorer", VALUES)
    assert shown(page)[0] == VALUES["alpha"]
    assert "Not dominated in the quantities shown." in page.text_content(".pw-facts")
    page.get_by_role("slider", name="alpha", exact=True).focus()
    page.keyboard.press("Home")
    worse = front.values[(front.alphas[:, 0] == 1).argmax()]
    above = (front.values >= worse).all(1) & (front.values > worse).any(1)
    assert f"Dominated by {above.sum()} of 101" in page.text_content(".pw-facts")
    page.locator(".pw-facts button").click()
    alpha = shown(page)[0]
    assert above[np.abs(front.alphas - alpha).max(1) < 1e-9].all()
    assert "Not dominated" in page.text_content(".pw-facts")


def kept_marks(page):
    return page.locator(".pw-plot .pw-kept").count()


def test_what_is_dominated_follows_the_axes_and_no_quantity_is_on_both(open_widget):
    page, front = open_widget("explorer", VALUES), front_of(VALUES["points"])
    assert kept_marks(page) == front.non_dominated().sum()
    x, y = page.get_by_label("horizontal axis"), page.get_by_label("vertical axis")
    x.select_option("loss on top-left")
    y.select_option("loss on bottom-right")
    by_loss = front.on("loss", maximise=False)
    assert kept_marks(page) == by_loss.non_dominated().sum() != front.non_dominated().sum()
    page.get_by_role("button", name="Balanced").click()
    assert shown(page)[0] == by_loss.choose().alpha.tolist() != front.choose().alpha.tolist()
    assert "Not dominated" in page.text_content(".pw-facts")
    x.select_option("loss on bottom-right")
    assert x.input_value() == "bottom-right/loss" and y.input_value() == "top-left/loss"
    assert page.locator(".pw-plot").first.get_attribute("aria-label") == (
        "loss on top-left against loss on bottom-right"
    )


def test_the_buttons_lead_to_the_best_for_each_task_and_the_balanced_one(open_widget):
    page, front = open_widget("explorer", VALUES), front_of(VALUES["points"])
    for t, task in enumerate(VALUES["tasks"]):
        page.get_by_role("button", name=f"Best for {task}").click()
        name = front.objectives[t].name
        expected = front.choose(at_least={name: front.values[:, t].max()}).alpha
        assert shown(page)[0] == pytest.approx(expected.tolist())
        check_ring(page)
    page.get_by_role("button", name="Balanced").click()
    assert shown(page)[0] == VALUES["alpha"]


@pytest.mark.parametrize(("metric", "side"), [("accuracy", "at_least"), ("loss", "at_most")])
def test_a_bound_is_drawn_and_leads_to_the_best_alpha_that_meets_it(open_widget, metric, side):
    page, front = open_widget("explorer", VALUES), front_of(VALUES["points"])
    front = front.on(metric, maximise=metric == "accuracy")
    page.get_by_label("horizontal axis").select_option(f"{metric} on top-left")
    page.get_by_label("vertical axis").select_option(f"{metric} on bottom-right")
    bound = page.get_by_label("bound", exact=True)
    for t, task in enumerate(VALUES["tasks"]):
        page.get_by_label("quantity of the bound").select_option(f"{metric} on {task}")
        limit = {"at_least": 0.9, "at_most": 0.1}[side]
        limit = round(float(np.quantile(front.values[:, t], limit)) + 0.0005, 3)
        bound.fill(f"{limit}")
        ways = {"at_least": front.values[:, t] >= limit, "at_most": front.values[:, t] <= limit}
        assert page.locator(".pw-plot .pw-out").count() == (~ways[side]).sum()
        check_line(page, front.values[:, t], limit, t)
        page.get_by_role("button", name="Find the best").click()
        expected = front.choose(**{side: {f"{task}/{metric}": limit}}).alpha
        assert shown(page)[0] == pytest.approx(expected.tolist())
        said = page.text_content(".pw-said")
        assert f"{ways[side].sum()} of 101 points do" in said
    page.get_by_role("button", name="Remove the bound").click()
    assert page.locator(".pw-bound, .pw-out").count() == 0


def check_line(page, values, limit, t):
    """The line of the bound lies where the axis has its value, which two points give."""
    box = page.locator(".pw-bound").bounding_box()
    at = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)[t]
    _, points = places(page)
    low, high = points[:, t].min(), points[:, t].max()
    ends = (values.min(), values.max()) if t == 0 else (values.max(), values.min())
    expected = np.interp(limit, *(zip(*sorted(zip(ends, (low, high), strict=True)), strict=True)))
    assert at == pytest.approx(expected, abs=1)


def test_a_bound_that_none_meets_or_that_changes_nothing_is_said(open_widget):
    page = open_widget("explorer", VALUES)
    bound = page.get_by_label("bound", exact=True)
    bound.fill("0.9")
    assert "which is the best without the bound, too" in page.text_content(".pw-said")
    bound.fill("0.999")
    page.get_by_role("button", name="Find the best").click()
    best = max(VALUES["points"]["columns"]["top-left/accuracy"])
    assert f"No measured point does. The best is {best:.4f}." in page.text_content(".pw-said")
    assert shown(page)[0] == VALUES["alpha"]
    bound.fill("")
    assert page.locator(".pw-bound").count() == 0


def test_alpha_is_typed_and_what_is_no_alpha_is_refused(open_widget):
    page = open_widget("explorer", VALUES)
    box = page.get_by_label("alpha in numbers")
    for text, alpha in (("0.3, 0.7", [0.3, 0.7]), ("[1 0]", [1, 0]), ("0.25", [0.25, 0.75])):
        box.fill(text)
        box.press("Enter")
        assert check_ring(page) == alpha
    for text in ("0.5, 0.6", "a", "1, 2, 3", "-0.5, 1.5", ""):
        box.fill(text)
        box.press("Enter")
        assert "Expected 2 numbers, none below 0, that sum to 1" in page.inner_text("[role=alert]")
        assert box.get_attribute("aria-invalid") == "true"
    page.get_by_role("button", name="Balanced").click()
    assert shown(page)[0] == VALUES["alpha"] and page.inner_text("[role=alert]") == ""


NAMES = "multimnist/ls", "beyond/multimnist/ls-40-epochs", "multimnist/stl-0", "multimnist/stl-1"


def test_what_others_achieve_is_that_of_their_records_and_is_drawn(open_widget):
    for other, name in zip(VALUES["beside"], NAMES, strict=True):
        record = Record.read(ROOT / f"results/{name}_seed_0.json")
        table = record.front("validation").table
        assert other["values"] == pytest.approx(table.iloc[0].to_dict(), abs=1e-6)
    page = open_widget("explorer", VALUES)
    labels = page.locator(".pw-plot .pw-tip").all_text_contents()
    assert {"LS", "LS, equal compute", "top-left alone", "bottom-right alone"} < {*labels}
    assert page.locator(".pw-other").count() == 2 and page.locator("line.pw-alone").count() == 2
    page.get_by_label("horizontal axis").select_option("loss on bottom-right")
    assert page.locator(".pw-other").count() == 3  # of its own task a single network has both


@pytest.mark.parametrize("options", [NARROW, {}], ids=["phone", "desktop"])
def test_labels_keep_clear_of_each_other_at_each_alpha_and_bound(open_widget, options):
    page = open_widget("explorer", VALUES, **options)
    for tenth in range(11):
        page.get_by_label("alpha in numbers").fill(f"{tenth / 10}")
        page.get_by_label("alpha in numbers").press("Enter")
        assert check_labels(page) == 6
    for name in ("accuracy on top-left", "accuracy on bottom-right"):
        page.get_by_label("quantity of the bound").select_option(name)
        for bound in ("0.9", "0.9413", "0.9435", "0.9535", "0.9596", "0.9665", "0.9712", "0.98"):
            page.get_by_label("bound", exact=True).fill(bound)
            assert check_labels(page) == 7


@pytest.mark.parametrize("place", [(0.0, 0.0), (1.0, 0.5), (0.5, 1.0), (1.0, 1.0)])
def test_labels_of_marks_that_lie_together_at_an_edge_are_apart(open_widget, place):
    points = VALUES["points"]["columns"]
    names = "top-left/accuracy", "bottom-right/accuracy"
    low, high = (np.array([f(points[name]) for name in names]) for f in (min, max))
    at = dict(zip(names, (low + (high - low) * place).tolist(), strict=True))
    marks = [{"label": f"LS, {n} passes", "values": at} for n in (1, 2, 3)]
    values = VALUES | {"beside": [*marks, *VALUES["beside"][2:]]}
    page = open_widget("explorer", values, **NARROW)
    assert check_labels(page, is_crowded=True) == 7


def test_alpha_is_copied(open_widget):
    page = open_widget("explorer", VALUES, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy α").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == str(VALUES["alpha"])


def test_the_address_keeps_the_state_and_brings_it_back(open_widget):
    page = open_widget("explorer", VALUES)
    page.get_by_label("horizontal axis").select_option("loss on top-left")
    page.get_by_label("bound", exact=True).fill("0.123")
    page.get_by_label("alpha in numbers").fill("0.2")
    page.get_by_label("alpha in numbers").press("Enter")
    page.wait_for_function("location.hash.includes('widget.alpha=0.2,0.8')")
    state, seen = page.evaluate("location.hash"), shown(page)
    page.evaluate("location.hash = '#elsewhere'")
    page.get_by_role("button", name="Balanced").click()
    page.wait_for_function("location.hash.startsWith('#elsewhere&widget.axes')")
    page.evaluate("location.hash = '#&widget.alpha=0.333,0.667'")  # between measured points
    page.wait_for_function("document.querySelector('.pw-alpha').value == '[0.33, 0.67]'")
    page.evaluate("(hash) => { location.hash = hash; }", state)
    page.wait_for_function("document.querySelector('.pw-alpha').value == '[0.2, 0.8]'")
    page.reload()
    page.wait_for_selector(".pw-ready")
    assert shown(page) == seen
    assert page.get_by_label("horizontal axis").input_value() == "top-left/loss"
    assert page.get_by_label("bound", exact=True).input_value() == "0.123"
    assert page.locator(".pw-bound").count() == 1


@pytest.mark.parametrize(
    "state", ["alpha=2,3", "axes=a|b", "axes=top-left/loss|top-left/loss", "bound=x"]
)
def test_an_address_that_does_not_fit_is_passed_over(open_widget, state):
    page = open_widget("explorer", VALUES)
    page.evaluate("(state) => { location.hash = `#&widget.${state}`; }", state)
    page.reload()
    page.wait_for_selector(".pw-ready")
    assert shown(page)[0] == VALUES["alpha"] and page.locator(".pw-bound").count() == 0
    assert page.get_by_label("vertical axis").input_value() == "bottom-right/accuracy"


def test_a_hand_shows_once_what_to_do_unless_motion_is_unwelcome(open_widget):
    page = open_widget("explorer", VALUES)
    page.wait_for_selector(".pw-hand")
    page.wait_for_selector(".pw-hand", state="detached")
    still = open_widget("explorer", VALUES, reduced_motion="reduce")
    still.wait_for_timeout(500)
    assert still.locator(".pw-hand").count() == 0
    assert "Drag the ring" in still.inner_text(".pw-hint")


@pytest.mark.parametrize("options", [PHONE, {}], ids=["phone", "desktop"])
def test_no_part_floats_over_another_and_none_changes_its_height(open_widget, options):
    page = open_widget("explorer", VALUES, **options)
    positions = "all => [...new Set(all.map((one) => getComputedStyle(one).position))]"
    found = page.locator(".pw *").evaluate_all(positions)
    assert not {*found} & {"sticky", "fixed"}
    height = "document.querySelector('.pw').getBoundingClientRect().height"
    before = page.evaluate(height)
    for name in ("Best for top-left", "Find the best", "Best for bottom-right", "Remove the bound"):
        page.get_by_role("button", name=name).click()
        frame(page)
        assert page.evaluate(height) == pytest.approx(before, abs=1)
    page.get_by_role("slider", name="alpha", exact=True).focus()
    page.keyboard.press("Home")
    assert "Dominated" in page.text_content(".pw-facts")
    assert page.evaluate(height) == pytest.approx(before, abs=1)


def draw_a_seven_and_a_one(page):
    box = page.locator(".pw-field").bounding_box()
    scale = box["width"] / 36
    for stroke in (((7, 6), (18, 6), (11, 23)), ((21, 11), (19, 29))):
        for n, (x, y) in enumerate(stroke):
            page.mouse.move(box["x"] + x * scale, box["y"] + y * scale, steps=6)
            if n == 0:
                page.mouse.down()
        page.mouse.up()


def test_drawn_digits_are_read_as_torch_reads_what_was_drawn(open_widget):
    ensemble, _ = published()
    page = open_widget("explorer", VALUES)
    page.locator(".pw-field").scroll_into_view_if_needed()
    draw_a_seven_and_a_one(page)
    page.wait_for_selector(".pw-answer img")
    data = page.evaluate(
        "Array.from(document.querySelector('.pw-field').getContext('2d')"
        ".getImageData(0, 0, 36, 36).data)"
    )
    field = torch.tensor(data)[::4].reshape(1, 1, 36, 36) / 255
    image = F.interpolate(field, size=28, mode="bicubic", antialias=True)
    expected = shares(ensemble, VALUES["alpha"], image)[0].max(-1)
    assert expected.indices.tolist() == [7, 1]
    assert page.locator(".pw-frame").all_text_contents() == VALUES["tasks"]
    found = page.locator(".pw-answer .pw-line").all_text_contents()
    numbers = [re.search(r"(\d) ([\d.]+)$", text).groups() for text in found]
    assert [int(digit) for digit, _ in numbers] == [7, 1]
    assert [float(s) for _, s in numbers] == pytest.approx(expected.values.tolist(), abs=6e-4)
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function(
        "document.querySelector('.pw-answer').textContent == 'Nothing is drawn yet.'"
    )


def test_the_field_can_be_drawn_on_with_keys_alone(open_widget):
    page = open_widget("explorer", VALUES)
    page.locator(".pw-field").focus()
    for key in (" ", *["ArrowDown"] * 18, " ", *["ArrowRight"] * 8, " ", *["ArrowDown"] * 4):
        page.keyboard.press(key)
    page.wait_for_selector(".pw-answer img")
    page.keyboard.press("Delete")
    page.wait_for_function(
        "document.querySelector('.pw-answer').textContent == 'Nothing is drawn yet.'"
    )
