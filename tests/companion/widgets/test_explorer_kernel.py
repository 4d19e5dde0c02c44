"""The explorer on a trained ensemble: what Python tells the page, and what it answers."""

import copy
import json
import re

import numpy as np
import pytest
import torch
from browser import serious
from labels import check_labels
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import pamal_core as pamal

pytest.importorskip("anywidget", reason="needs the `book` extra")

from pamal_companion.baselines.low_rank import LowRankEnsemble
from pamal_companion.widgets import Explorer, explorer_data
from pamal_core.errors import InputError

LISTEN = """() => {
    globalThis.asked = [];
    widgetModel.on("change:alpha", () => asked.push(widgetModel.get("alpha")));
}"""


class Heads(nn.Module):
    """One head with three classes for each task, and BatchNorm before them."""

    def __init__(self, num_tasks):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(8, 3) for _ in range(num_tasks))

    def forward(self, x):
        features = self.encoder(x)
        return [head(features) for head in self.heads]


@pytest.fixture(params=[2, 3, 4])
def parts(request):
    """An ensemble, its tasks, data and front, for 2, 3 and 4 members."""
    num = request.param
    network = pamal.WeightEnsemble([Heads(num) for _ in range(num)], shared="encoder")
    tasks = [pamal.classification(f"task {t}") for t in range(num)]
    data = TensorDataset(torch.randn(60, 3, 2, 2), *torch.randint(3, (num, 60)))
    loader, calibration = DataLoader(data, batch_size=20), [data[:30]]
    alphas = pamal.lattice(num, 4)
    front = pamal.evaluate(network, tasks, loader, alphas, calibration=calibration)
    return network, tasks, data, loader, calibration, front


def explored(parts, **more):
    network, tasks, data, loader, calibration, front = parts
    return Explorer(
        network, tasks, front, *data[:4], loader=loader, calibration=calibration, **more
    )


@pytest.fixture
def explorer(parts):
    return explored(parts, about="Noise.")


def some_alphas(num, count=3):
    return np.random.default_rng(0).dirichlet(np.ones(num), size=count)


def test_where_the_network_has_no_numbers_the_explorer_says_so_and_goes_on(explorer, parts):
    (network, *_, front), corner = parts, np.eye(parts[0].num_members)[0]
    whole = copy.deepcopy(network.state_dict())
    for weight in network.stacked.parameters():
        weight.data[1] = torch.nan
    explorer.alpha = some_alphas(network.num_members)[0].tolist()
    assert explorer.measured["metrics"] == {}
    assert {seen["text"] for row in explorer.predictions for seen in row} == {"nan"}
    json.dumps([explorer.measured, explorer.predictions, explorer.points], allow_nan=False)
    network.load_state_dict(whole)
    explorer.alpha = corner.tolist()
    expected = front.table[(front.alphas == corner).all(1)].iloc[0].to_dict()
    assert explorer.measured["metrics"] == pytest.approx(expected)


def test_what_is_shown_is_what_evaluate_and_predict_say_at_alpha(parts, explorer):
    network, tasks, data, loader, calibration, _ = parts
    for alpha in some_alphas(len(tasks)):
        explorer.alpha = alpha.tolist()
        front = pamal.evaluate(network, tasks, loader, [alpha], calibration=calibration)
        assert explorer.measured == {
            "alpha": alpha.tolist(),
            "metrics": front.table.iloc[0].to_dict(),
        }
        outputs = network.predict(data[:4][0], alpha, calibration=calibration)
        for i, of_input in enumerate(explorer.predictions):
            for t, shown in enumerate(of_input):
                best = int(outputs[t][i].argmax())
                assert shown["text"] == str(best)
                assert shown["share"] == pytest.approx(float(outputs[t][i].softmax(0)[best]))
                assert shown["right"] == (best == int(data[i][1 + t]))


def test_the_exported_model_answers_as_the_explorer_does(parts, explorer):
    data = parts[2]
    explorer.alpha = some_alphas(parts[0].num_members)[0].tolist()
    with torch.no_grad():
        outputs = explorer.model()(data[:4][0])
    answers = [[str(int(k)) for k in row] for row in torch.stack(outputs, 1).argmax(-1)]
    assert answers == [[shown["text"] for shown in row] for row in explorer.predictions]


def test_a_low_rank_ensemble_is_explored_as_any_other(parts):
    _, tasks, data, loader, _, measured = parts
    network = LowRankEnsemble(Heads(len(tasks)), len(tasks), rank=2)
    with torch.no_grad():
        for adapter in network.adapters.parameters():
            adapter.normal_(0, 0.2)
    front = pamal.evaluate(network, tasks, loader, measured.alphas, calibration="shared")
    given = {"loader": loader, "calibration": "shared"}
    explorer = Explorer(network, tasks, front, *data[:4], **given)
    one, two = network.members()[:2].double()
    assert explorer.gram[0][1] == pytest.approx((one @ two).item())
    assert explorer.measured["metrics"] == pytest.approx(front.choose().metrics)


def test_pictures_are_made_of_images_and_names_of_targets(parts, explorer):
    data = parts[2]
    assert all(picture.startswith("data:image/png;base64,") for picture in explorer.pictures)
    first = [int(target) for target in data[0][1:]]
    assert explorer.names[0] == " and ".join(map(str, first))


def test_numbers_and_maps_are_shown_by_value_and_mean():
    outputs = [torch.tensor([[2.5], [-1.0]]), torch.stack([torch.full((3, 4), 7.0)] * 2)]
    tasks = [pamal.regression("size"), pamal.depth("far")]
    found = explorer_data.predictions(tasks, outputs, [])
    assert found == [[{"text": "2.5"}, {"text": "7"}], [{"text": "-1"}, {"text": "7"}]]


NAN = float("nan")
CLASSES = pamal.classification("c")


@pytest.mark.parametrize(
    ("task", "output", "target", "expected"),
    [
        (pamal.binary("b"), [[2.0], [-1.0]], [1, 1], [("1", 0.881, True), ("0", 0.731, False)]),
        (pamal.binary("b"), [2.0, -1.0], [True, False], [("1", 0.881, True), ("0", 0.731, True)]),
        (pamal.binary("b"), [[2.0], [NAN]], [NAN, 1.0], [("1", 0.881, None), ("nan", None, None)]),
        (pamal.binary("b"), [[2.0], [-1.0]], None, [("1", 0.881, None), ("0", 0.731, None)]),
        (
            pamal.binary("m"),
            [[2.0, -1.0, 3.0], [-2.0, -1.0, -3.0]],
            [[1, -100, 1], [0, 1, 0]],
            [("0, 2", None, True), ("none", None, False)],
        ),
        (
            pamal.binary("m"),
            [[2.0, -1.0], [-2.0, NAN]],
            [[-100, -100], [0, 1]],
            [("0", None, None), ("nan", None, None)],
        ),
        (CLASSES, [[2.0, 0.0], [0.0, 2.0]], [0, -100], [("0", 0.881, True), ("1", 0.881, None)]),
        (CLASSES, [[2.0, 0.0], [0.0, 2.0]], [1.0, NAN], [("0", 0.881, False), ("1", 0.881, None)]),
        (CLASSES, [[2.0, 0.0]], [[0.9, 0.1]], [("0", 0.881, None)]),  # probabilities
    ],
)
def test_an_answer_is_right_or_wrong_or_neither_without_a_label(task, output, target, expected):
    targets = [] if target is None else [torch.tensor(target)]
    found = explorer_data.predictions([task], [torch.tensor(output)], targets)
    shown = [
        (row["text"], row.get("share") and round(row["share"], 3), row.get("right"))
        for (row,) in found
    ]
    assert shown == expected


def test_tasks_of_one_label_and_of_several_are_explored_as_any_other():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.sold, self.tags = nn.Linear(4, 1), nn.Linear(4, 3)

        def forward(self, x):
            return {"tags": self.tags(x), "sold": self.sold(x)}

    x = torch.randn(20, 4)
    batch = {"x": x, "sold": (x[:, 0] > 0).double(), "tags": x[:, 1:] > 0}
    tasks = [pamal.binary("sold"), pamal.binary("tags")]
    network = pamal.WeightEnsemble([Net(), Net()])
    front = pamal.evaluate(network, tasks, [batch])
    explorer = Explorer(network, tasks, front, {"x": x[:3]}, batch["sold"][:3], batch["tags"][:3],
                        loader=[batch])  # fmt: skip
    assert explorer.measured["metrics"] == pytest.approx(front.choose().metrics)
    answers = {name: out > 0 for name, out in explorer.model()(x[:3]).items()}
    for i, (sold, tags) in enumerate(explorer.predictions):
        assert sold["text"] == str(int(answers["sold"][i]))
        assert sold["right"] == (answers["sold"][i].item() == batch["sold"][i].item())
        assert tags["right"] == torch.equal(answers["tags"][i], batch["tags"][i])
    json.dumps(explorer.predictions, allow_nan=False)


def state(explorer):
    names = ("tasks", "alpha", "points", "beside", "gram", "about", "pictures", "names")
    return {name: getattr(explorer, name) for name in (*names, "predictions", "measured")}


def in_the_middle(explorer):
    """Its state with alpha in the middle, where every key leads somewhere."""
    explorer.alpha = [1 / len(explorer.alpha)] * len(explorer.alpha)
    return state(explorer)


def test_the_page_asks_for_its_alpha_and_shows_what_it_is_told(parts, explorer, open_widget):
    page = open_widget("explorer", in_the_middle(explorer))
    controls = page.get_by_role("slider", name="alpha")
    assert controls.count() == (1 if len(parts[1]) < 4 else 4)
    controls.first.focus()
    page.evaluate(LISTEN)
    page.keyboard.press("ArrowRight")
    (asked,) = page.evaluate("asked")
    assert sum(asked) == pytest.approx(1, abs=1e-9)
    assert asked != explorer.alpha
    assert "Measured at the nearest point" in page.text_content(".pw-facts")
    explorer.alpha = asked
    page.evaluate(
        "told => ['predictions', 'measured'].forEach(name => widgetModel.set(name, told[name]))",
        state(explorer),
    )
    cells = [float(text) for text in page.locator(".pw-table td").all_text_contents()]
    assert cells == pytest.approx(list(explorer.measured["metrics"].values()), abs=6e-5)
    assert "Measured at the nearest" not in page.text_content(".pw-facts")
    shown = page.locator(".pw-card b").all_text_contents()
    assert shown == [one["text"] for row in explorer.predictions for one in row]
    assert serious(page) == []


def test_a_second_alpha_waits_for_the_answer_to_the_first(explorer, open_widget):
    page = open_widget("explorer", in_the_middle(explorer))
    page.get_by_role("slider", name="alpha").first.focus()
    page.evaluate(LISTEN)
    answer = "n => widgetModel.set('measured', { ...widgetModel.get('measured'), alpha: asked[n] })"
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("asked.length") == 1
    page.evaluate(answer, 0)
    assert page.evaluate("asked.length") == 2
    page.evaluate(answer, 1)
    assert page.evaluate("asked.length") == 2


def test_what_is_typed_stays_while_an_answer_comes(parts, explorer, open_widget):
    page = open_widget("explorer", in_the_middle(explorer))
    page.evaluate(LISTEN)
    text = json.dumps([1.0] + [0.0] * (len(explorer.alpha) - 1))
    box = page.get_by_label("alpha in numbers")
    box.fill(text)
    page.evaluate("told => widgetModel.set('measured', told)", explorer.measured)
    assert box.input_value() == text
    box.press("Enter")
    assert page.evaluate("asked") == [json.loads(text)]


def test_an_alpha_of_python_moves_the_handle_and_the_marker_to_its_point(
    parts, explorer, open_widget
):
    page = open_widget("explorer", state(explorer))
    corner = [1.0] + [0.0] * (len(parts[1]) - 1)
    page.evaluate("alpha => widgetModel.set('alpha', alpha)", corner)
    assert page.get_by_label("alpha in numbers").input_value().startswith("[1, 0")

    def check():
        ring = page.locator(".pw-here").get_attribute("transform")
        x, y = map(float, re.findall(r"[-\d.]+", ring))
        dots = page.locator(".pw-plot :is(.pw-kept, .pw-dominated)").evaluate_all(
            "dots => dots.map(dot => [dot.cx.baseVal.value, dot.cy.baseVal.value])"
        )
        assert min(np.hypot(*(np.array(dots) - [x, y]).T)) < 1e-3
        return dots

    seen = check()
    turn = page.get_by_label("turn")
    assert turn.is_visible() == (len(parts[1]) > 2)
    if turn.is_visible():
        turn.fill("1.2")
        assert check() != seen
        page.get_by_label("axis z").select_option("no third axis")
        check()
        assert not turn.is_visible()


def test_labels_keep_clear_of_each_other_from_every_side(parts, explorer, open_widget):
    columns = explorer.points["columns"]
    best = {name: max(column) for name, column in columns.items() if name.endswith("accuracy")}
    beside = [{"label": f"LS, {n} passes", "values": best} for n in (1, 2)]
    page = open_widget("explorer", state(explorer) | {"beside": beside})
    members = explorer.points["alphas"]
    assert check_labels(page, is_crowded=True) == sum(1.0 in alpha for alpha in members) + 2
    for angle in ("0.1", "0.8", "1.2", "1.47") if len(parts[1]) > 2 else ():
        page.get_by_label("turn").fill(angle)
        check_labels(page, is_crowded=True)


def test_an_alpha_off_the_simplex_is_refused(explorer):
    with pytest.raises(pamal.InputError, match="that sum to 1"):
        explorer.alpha = [0.4] * len(explorer.alpha)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, None, "0.4", True, torch.tensor(0.4)])
def test_what_is_beside_the_front_must_be_finite_numbers(parts, value):
    beside = {"LS": {"task 0/loss": 0.5, "task 1/loss": value}}
    with pytest.raises(InputError, match=r"finite numbers.* Found task 1/loss=[^\n]+ of LS\.$"):
        explored(parts, beside=beside)


def test_tasks_fronts_and_targets_that_do_not_fit_are_refused(parts):
    network, tasks, data, loader, calibration, front = parts
    others = [pamal.classification(f"other {t}") for t in range(len(tasks))]
    also = pamal.evaluate(network, others, loader, front.alphas, calibration=calibration)
    pamal.Method(network, tasks)
    images, *targets = data[:4]
    for given, message in (
        ((tasks[::-1], front, images, *targets), "in the order of the training"),
        ((tasks, also, images, *targets), "`front` must have the tasks"),
        ((tasks[:-1], front, images), "one task per column"),
        ((tasks, front, images, *targets[1:]), f"for each of {len(tasks)} tasks, or none"),
    ):
        with pytest.raises(InputError, match=message):
            Explorer(network, *given, loader=loader, calibration=calibration)


def test_it_opens_with_one_evaluation(parts):
    network, tasks, data, loader, calibration, front = parts
    asked = []

    class Counted:
        def __iter__(self):
            asked.append(1)
            return iter(loader)

    opened = Explorer(network, tasks, front, *data[:4], loader=Counted(), calibration=calibration)
    assert len(asked) == 1 and opened.measured["alpha"] == opened.alpha


@pytest.mark.parametrize(
    ("task", "target"),
    [(pamal.regression("place"), None), (pamal.regression("place"), torch.tensor([0.2, 0.5])),
     (pamal.regression("place", metrics=["loss"]), torch.tensor([0.2, -0.5]))],
)  # fmt: skip
def test_several_numbers_are_no_classes(task, target):
    targets = [] if target is None else [target[None]]
    (((shown,),),) = [explorer_data.predictions([task], [torch.tensor([[-0.25, 0.75]])], targets)]
    assert shown == {"text": "0.25"}


def test_numbers_of_numpy_beside_the_front_reach_the_page(parts):
    row = {"task 0/loss": np.float32(0.5), "task 1/loss": np.float64(2), "task 0/accuracy": 1}
    shown = explored(parts, beside={"LS": row})
    values = {"task 0/loss": 0.5, "task 1/loss": 2.0, "task 0/accuracy": 1.0}
    assert json.loads(json.dumps(shown.beside)) == [{"label": "LS", "values": values}]
