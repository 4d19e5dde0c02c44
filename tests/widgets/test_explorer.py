"""The explorer in a page: its network is torch's, its numbers are those of the front."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from browser import overflow, serious
from gestures import swipe
from torch.nn import functional as F

from pamal_core import Front, InputError, WeightEnsemble
from pamal_core.front import Objective
from pamal_core.networks.models import lenet
from pamal_core.widgets import explorer_data

ROOT = Path(__file__).parents[2]
VALUES = json.loads((ROOT / "book/_assets/widgets/multimnist.json").read_text())
PHONE = {"has_touch": True, "is_mobile": True, "viewport": {"width": 380, "height": 700}}


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
    outputs = ensemble(ensemble.weights(ensemble.alpha_tensor(alpha)), images)
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


def test_a_network_that_a_page_cannot_run_is_refused(make_mlp):
    with pytest.raises(InputError, match="Found Tanh"):
        explorer_data.network(WeightEnsemble([make_mlp(), make_mlp()]))


@pytest.mark.parametrize("directions", [(True, True), (True, False, False)])
def test_domination_and_choice_are_those_of_the_front(functions, directions):
    rng = np.random.default_rng(len(directions))
    table = pd.DataFrame({f"t{t}/m": rng.normal(size=30).round(1) for t in range(len(directions))})
    chosen = tuple(Objective(f"t{t}/m", up) for t, up in enumerate(directions))
    front = Front(rng.dirichlet(np.ones(len(directions)), size=30), table, chosen)
    js, points = functions("explorer"), explorer_data.points(front)
    signed = np.where(directions, 1, -1) * front.values
    counts = [js.call("dominators", points, row.tolist()) for row in signed]
    better = (signed[None] >= signed[:, None]).all(2) & (signed[None] > signed[:, None]).any(2)
    assert counts == better.sum(1).tolist()
    assert [count == 0 for count in counts] == front.non_dominated().tolist()
    for t, objective in enumerate(chosen):
        none = 99.0 if objective.maximise else -99.0
        for bound in (*table[objective.name].sample(6, random_state=t), none):
            p = js.call("choose", points, t, bound)
            side = "at_least" if objective.maximise else "at_most"
            if p is None:
                with pytest.raises(InputError):
                    front.choose(**{side: {objective.name: bound}})
            else:
                assert p == front.choose(**{side: {objective.name: bound}}).row


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
    grip = page.get_by_role("slider", name="alpha")
    grip.focus()
    seen = [check_page(page, ensemble, images)]
    for key in ("Home", "ArrowRight", "Shift+ArrowRight", "ArrowRight", "End", "Shift+ArrowLeft"):
        page.keyboard.press(key)
        seen.append(check_page(page, ensemble, images))
    assert np.array(seen)[:, 1] == pytest.approx([0.5, 0, 0.01, 0.11, 0.12, 1, 0.9])

    box = page.locator(".pw-dot").first.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    for step in range(1, 14):
        page.mouse.move(box["x"] - 25 * step, y + 5)
        seen.append(check_page(page, ensemble, images))
    page.mouse.up()
    assert len({tuple(alpha) for alpha in seen[7:]}) == 13

    phone = open_widget("explorer", VALUES, **PHONE)
    swipe(phone, phone.locator(".pw-dot").first, 80, 0)
    phone.wait_for_function("JSON.parse(document.querySelector('.pw-alpha').value)[1] > 0.7")
    check_page(phone, ensemble, images)
    assert overflow(phone) <= 0


def test_a_condition_moves_to_the_best_alpha_that_meets_it_or_says_that_none_does(open_widget):
    page = open_widget("explorer", VALUES)
    front = front_of(VALUES["points"])
    page.get_by_label("objective of the condition").select_option("accuracy on top-left")
    bound = page.get_by_label("bound of the condition")
    bound.fill("0.964")
    page.get_by_role("button", name="Find the best").click()
    expected = front.choose(at_least={"top-left/accuracy": 0.964}).alpha
    assert shown(page)[0] == pytest.approx(expected.tolist())
    bound.fill("0.999")
    page.get_by_role("button", name="Find the best").click()
    best = max(VALUES["points"]["columns"]["top-left/accuracy"])
    assert f"No measured point does. The best is {best:.4f}." in page.text_content(".pw")
    assert shown(page)[0] == pytest.approx(expected.tolist())


def test_alpha_is_copied(open_widget):
    page = open_widget("explorer", VALUES, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "[0.5, 0.5]"


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
    expected = shares(ensemble, [0.5, 0.5], image)[0].max(-1)
    assert expected.indices.tolist() == [7, 1]
    found = page.locator(".pw-answer .pw-line").all_text_contents()
    numbers = [re.search(r"(\d) ([\d.]+)$", text).groups() for text in found]
    assert [int(digit) for digit, _ in numbers] == [7, 1]
    assert [float(s) for _, s in numbers] == pytest.approx(expected.values.tolist(), abs=6e-4)
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function("document.querySelector('.pw-answer').textContent == 'Draw two digits.'")


def test_the_field_can_be_drawn_on_with_keys_alone(open_widget):
    page = open_widget("explorer", VALUES)
    page.locator(".pw-field").focus()
    for key in (" ", *["ArrowDown"] * 18, " ", *["ArrowRight"] * 8, " ", *["ArrowDown"] * 4):
        page.keyboard.press(key)
    page.wait_for_selector(".pw-answer img")
    page.keyboard.press("Delete")
    page.wait_for_function("document.querySelector('.pw-answer').textContent == 'Draw two digits.'")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_explorer_has_no_serious_issue_and_fits_a_phone(open_widget, scheme):
    page = open_widget("explorer", VALUES, color_scheme=scheme, **PHONE)
    assert serious(page) == []
    assert overflow(page) <= 0
