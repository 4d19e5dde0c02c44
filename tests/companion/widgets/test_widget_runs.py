"""The widget over all records, on a page: by pointer, touch and keyboard, and by its address."""

import json
import re
import shlex
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from browser import overflow, serious, widget_page
from gestures import frame as drawn

from pamal_companion.study import frame
from pamal_companion.widgets import runs_data

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results"
FILES = [path.relative_to(RESULTS).as_posix() for path in frame.files(RESULTS)]
FILES = [path for path in FILES if "toy/" not in path]  # which trains no networks
PHONE = {"has_touch": True, "is_mobile": True, "viewport": {"width": 380, "height": 800}}
LINKS = re.findall(r'href="\?([^"]+)"', (ROOT / "book" / "runs.md").read_text("utf-8"))


@pytest.fixture(scope="module")
def packed():
    return json.loads(json.dumps(runs_data.pack(RESULTS)))


@pytest.fixture(scope="module")
def path(packed, tmp_path_factory):
    """A page with the widget over `results/`."""
    path = tmp_path_factory.mktemp("runs") / "runs.html"
    path.write_text(widget_page("runs", {"records": packed}), "utf-8")
    return path


@pytest.fixture
def open_runs(open_page, path):
    """Opens that page, at an address: `open_runs("data=census", has_touch=True, ...)`."""

    def open_it(address="", **options):
        page = open_page(path, **options)
        if address:
            page.goto(f"{path.as_uri()}?#{address}")  # another document, so that it is loaded anew
        page.wait_for_selector(".pw-ready")
        return page

    return open_it


def shown(page):
    return page.locator(".pw-shown tbody th").all_text_contents()


def head(page):
    return page.inner_text(".pw-readout .pw-head")


def numbers(page):
    """The rows of the table of what is looked at, by name."""
    rows = page.locator(".pw-readout tbody tr")
    cells = [rows.nth(n).locator("th, td").all_text_contents() for n in range(rows.count())]
    return {name: values for name, *values in cells}


def tick(page, label):
    page.get_by_role("checkbox", name=label, exact=True).click()


def marks(page):
    """Where the marks of the picture are: a list of [x, y] in pixels of the window."""
    return page.evaluate("""() => {
        const svg = document.querySelector(".pw-runs-plot svg");
        const { a, d, e, f } = svg.getScreenCTM();
        const kinds = "g:not(.pw-at) > .pw-run :is(.pw-better, .pw-worse)";
        return [...svg.querySelectorAll(kinds)]
            .flatMap((path) => path.getAttribute("d").split("M").filter(Boolean)).map((part) => {
                const box = document.createElementNS("http://www.w3.org/2000/svg", "path");
                box.setAttribute("d", "M" + part);
                svg.append(box);
                const { x, y, width, height } = box.getBBox();
                box.remove();
                return [a * (x + width / 2) + e, d * (y + height / 2) + f];
            });
    }""")


def test_three_curves_and_the_single_networks_come_first(open_runs):
    page = open_runs()
    assert shown(page) == ["PaMaL, W = 4, λ = 0", "LS", "STL, top-left", "STL, bottom-right"]
    line = page.locator("g:not(.pw-at) > .pw-run .pw-trace:not(.pw-across)").get_attribute("d")
    assert line.count("M") == 3  # a front for each of three seeds
    labels = page.locator(".pw-run-label").all_text_contents()
    assert sorted(labels) == sorted(shown(page))
    runs = {json.loads((RESULTS / path).read_text())["key"] for path in FILES}
    assert f"{len(runs)} runs, in {len(FILES)} records: " in page.inner_text(".pw-runs")
    assert "#" not in page.url


def address_of(path):
    """The address that selects a run by its record, and the record, read as JSON alone."""
    record = json.loads((RESULTS / path).read_text())
    setting = frame.of(frame.Record.read(RESULTS / path))
    entry = runs_data._setting(setting, [setting.experiment], [setting.method], {})
    parts = {"data": record["experiment"], "split": "test", "show": entry["key"], "seeds": "all"}
    parts |= {"run": entry["key"], "seed": record["seed"]}
    return "&".join(f"{name}={value}" for name, value in parts.items()), record


TEN = FILES[5 :: len(FILES) // 10][:10]


def test_ten_points_show_what_their_records_say(open_runs):
    page = open_runs()
    assert len(TEN) == 10
    for number, path in enumerate(TEN):
        address, record = address_of(path)
        points = [point for point in record["points"] if point["split"] == "test"]
        place = (7 * number) % len(points)
        page.evaluate("text => { location.hash = text; }", f"{address}&point={place}")
        seen = f".pw-readout .pw-head:has-text('seed {record['seed']}')"
        page.wait_for_selector(seen)
        page.wait_for_selector(f".pw-readout:has-text('{path}')")
        rows = numbers(page)
        for name, value in points[place]["metrics"].items():
            task, _, metric = name.rpartition("/")
            (row,) = (r for n, r in rows.items() if n.startswith(f"{metric} on {task} "))
            assert float(row[0]) == pytest.approx(value, abs=5.1e-5)
        if record["summary"]["test"]["hypervolume"] is not None:
            volume = record["summary"]["test"]["hypervolume"]
            assert float(rows["hypervolume ↑"][1]) == pytest.approx(volume, abs=5.5e-5)
        alpha = points[place]["alpha"]
        if len(alpha) > 1:
            assert f"α = ({', '.join(f'{share:.2f}' for share in alpha)})" in head(page)
        assert page.locator(".pw-ignored").count() == 0


def test_every_front_of_a_data_set_is_drawn_when_all_is_shown(open_runs, packed):
    page = open_runs()
    of_setting = packed["settings"]["experiment"]
    for number, experiment in enumerate(packed["experiments"]):
        page.get_by_role("combobox", name="Data").select_option(label=experiment["title"])
        every = page.locator(".pw-chip", has_text="all")
        if every.get_attribute("aria-pressed") == "false":
            every.click()
        page.get_by_role("button", name="Show all listed").click()
        runs = zip(packed["runs"]["setting"], packed["runs"]["points"], strict=True)
        fronts = [points[0] for setting, points in runs if of_setting[setting] == number]
        x, y = experiment["objectives"][:2]
        points = [len(front[x]) for front in fronts if front[x] and front[y]]
        across = [front for front in fronts if bool(front[x]) != bool(front[y])]
        drawn_marks, lines = (
            page.evaluate("""() => [".pw-better, .pw-worse", ".pw-across"].map((kind) =>
            [...document.querySelectorAll(`.pw-runs-plot g:not(.pw-at) > .pw-run :is(${kind})`)]
            .reduce((sum, path) => sum + path.getAttribute("d").split("M").length - 1, 0))""")
        )
        assert (drawn_marks, lines) == (sum(points), len(across)), experiment["name"]


def test_a_mouse_names_what_is_near_it_and_a_click_holds_it(open_runs):
    page = open_runs("data=multimnist&show=ls&seeds=0,1,2", viewport={"width": 1000, "height": 900})
    (x, y), (other_x, other_y), *_ = marks(page)
    page.mouse.move(x + 3, y + 2)
    drawn(page)
    first = head(page)
    assert re.fullmatch(r"LS, seed \d", first)
    page.mouse.move(other_x, other_y)
    drawn(page)
    second = head(page)
    assert second != first
    page.mouse.down()
    page.mouse.up()
    assert head(page) == f"{second} (held)"
    page.mouse.move(x, y)
    drawn(page)
    assert head(page) == f"{second} (held)"
    page.wait_for_url(f"**run=ls&seed={second[-1]}*")


def test_a_drag_takes_the_marks_that_it_comes_near(open_runs):
    page = open_runs("data=multimnist&show=ls&seeds=0,1,2", viewport={"width": 1000, "height": 900})
    places = marks(page)
    page.mouse.move(*places[0])
    page.mouse.down()
    names = []
    for place in places:
        page.mouse.move(*place, steps=3)
        drawn(page)
        names.append(head(page))
    page.mouse.up()
    assert sorted(names) == [f"LS, seed {seed} (held)" for seed in (0, 1, 2)]


def test_a_finger_takes_the_mark_that_is_nearest(open_runs):
    page = open_runs("data=multimnist&show=ls&seeds=0,1,2", **PHONE)
    page.locator(".pw-runs-plot").scroll_into_view_if_needed()
    names = set()
    for x, y in marks(page):
        page.touchscreen.tap(x + 5, y - 5)
        drawn(page)
        names.add(head(page))
    assert names == {f"LS, seed {seed} (held)" for seed in (0, 1, 2)}


def test_arrow_keys_go_along_a_front_and_to_the_next(open_runs):
    page = open_runs("data=multimnist&show=pamal:W=4:lam=0,ls&seeds=0,1")
    plot = page.get_by_role("slider", name="network in view")
    plot.focus()
    page.keyboard.press("ArrowRight")
    assert head(page) == "PaMaL, W = 4, λ = 0, seed 0, α = (1.00, 0.00) (held)"
    page.keyboard.press("ArrowRight")
    assert "α = (0.90, 0.10)" in head(page)
    page.keyboard.press("End")
    assert "α = (0.00, 1.00)" in head(page)
    assert plot.get_attribute("aria-valuenow") == plot.get_attribute("aria-valuemax") == "10"
    assert plot.get_attribute("aria-valuetext") == head(page).removesuffix(" (held)")
    page.keyboard.press("ArrowDown")
    assert head(page) == "PaMaL, W = 4, λ = 0, seed 1, α = (0.00, 1.00) (held)"
    page.keyboard.press("Shift+ArrowDown")
    assert head(page) == "LS, seed 1 (held)"
    page.keyboard.press("Escape")
    assert head(page) == "LS, seed 1"


def test_settings_are_searched_by_their_options_as_one_writes_them(open_runs):
    page = open_runs()
    search = page.get_by_label("search settings")
    rows = page.locator(".pw-list tbody th")
    for text in ("W = 4 λ = 5", "w=4, lambda=5.0", "pamal W=4 lam = 5"):
        search.fill(text)
        found = rows.all_text_contents()
        assert found and all("W = 4, λ = 5" in label for label in found), text
        assert not any("λ = 50" in label for label in found)
    search.fill("rate 0.002 LS")
    assert rows.all_text_contents()[0] == " LS, rate 0.002"
    search.fill("")
    page.get_by_role("combobox", name="Order").select_option("best")
    volumes = page.locator(".pw-list tbody tr td:nth-child(3)").all_text_contents()
    known = [float(text) for text in volumes if text != "–"]
    assert known == sorted(known, reverse=True) and len(known) > 100


def test_an_address_brings_back_what_was_chosen(open_runs):
    page = open_runs()
    page.get_by_role("combobox", name="Split").select_option(label="test")
    page.get_by_role("combobox", name="Horizontal").select_option(label="loss on top-left ↓")
    tick(page, "PaMaL, W = 4, λ = 5, ordered sign")
    page.get_by_role("button", name="Hide LS", exact=True).click()
    page.get_by_role("button", name="3", exact=True).click()
    page.get_by_role("slider", name="network in view").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**point=1")
    again = open_runs(urlsplit(page.url).fragment)
    for of in (shown, head, numbers):
        assert of(again) == of(page)
    assert again.locator(".pw-runs-plot svg").inner_html().replace(
        re.search(r"pw-clip-\w+", again.content())[0], ""
    ) == page.locator(".pw-runs-plot svg").inner_html().replace(
        re.search(r"pw-clip-\w+", page.content())[0], ""
    )


def test_what_an_address_names_in_vain_is_ignored_and_said(open_runs):
    page = open_runs(
        "data=multimnist&show=ls,pamal:W=99&seeds=0,77&x=height&split=%E0&run=uw&colour=red"
    )
    assert shown(page) == ["LS"]
    said = page.inner_text(".pw-ignored")
    for part in ("show=pamal:W=99", "seeds=77", "x=height", "split=%E0", "run=uw", "colour=red"):
        assert part in said
    tick(page, "UW")
    assert page.locator(".pw-ignored").count() == 0
    other = open_runs("a-heading-of-the-page")
    assert other.locator(".pw-ignored").count() == 0 and len(shown(other)) == 4


def test_the_command_is_copied(open_runs):
    address = "data=census&show=ls&run=ls&seed=2"
    page = open_runs(address, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy command").click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.get_by_label("command that makes this run").input_value()
    assert shlex.split(copied)[:2] == ["papermill", "notebooks/census.ipynb"]
    assert "-p method ls" in copied and "-p seed 2" in copied


def test_zoom_keeps_what_is_looked_at_in_the_picture(open_runs):
    page = open_runs("data=multimnist&show=pamal:W=4:lam=0,ls&run=ls&seed=1&seeds=0,1,2")
    ticks = page.locator(".pw-axes text").all_text_contents()
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_role("slider", name="network in view").focus()
    page.keyboard.press("+")
    assert page.locator(".pw-axes text").all_text_contents() != ticks
    assert page.locator(".pw-at circle").count() == 1 and "LS, seed 1" in head(page)
    page.get_by_role("button", name="Reset zoom").click()
    assert page.locator(".pw-axes text").all_text_contents() == ticks


def test_what_the_page_answers_is_what_the_records_say():
    found = frame.read(RESULTS)

    def volumes(setting, split):
        return frame.measured(found, frame.select(setting), "hypervolume", split).head(3)

    text = (ROOT / "book/runs.md").read_text("utf-8")
    for sign in ("; penalty=printed; skip=as_released", ""):
        ours = volumes(f"multimnist/pamal lam=5.0{sign}", "validation").mean()
        assert abs(ours - 0.9143) < 0.005 and f"ours is {ours:.4f}" in text
    ls = volumes("multimnist/ls epochs=40", "test")
    pamal = volumes("multimnist/pamal", "test")
    assert ls.min() > pamal.max() and pamal.min() > volumes("multimnist/ls", "test").max()
    printed = "multimnist/pamal lam=10.0; penalty=printed; skip=as_released"
    spans = [
        [np.ptp(record.front().on("loss").values, axis=0).sum() for record in by_seed.values()]
        for by_seed in (found[frame.select(s)] for s in (printed, "multimnist/pamal lam=10.0"))
    ]
    assert max(spans[0]) < min(spans[1])


@pytest.mark.parametrize("link", [*map(unescape, LINKS)])
def test_the_questions_of_the_page_select_what_is_there(open_runs, link):
    page = open_runs(link)
    assert page.locator(".pw-ignored").count() == 0
    assert len(shown(page)) == link.split("show=")[1].split("&")[0].count(",") + 1


def test_in_jupyterlab_the_address_is_the_models_and_not_the_pages(open_page, packed, tmp_path):
    path = tmp_path / "lab.html"
    values = {"records": packed, "selection": "data=census&show=ls"}
    path.write_text(widget_page("runs", values), "utf-8")
    page = open_page(path)
    page.wait_for_selector(".pw-ready")
    assert shown(page) == ["LS"]
    tick(page, "UW")
    model = "document.getElementById('widget').widgetModel"
    assert "show=ls,uw" in page.evaluate(f"{model}.get('selection')") and "#" not in page.url
    page.evaluate(f"{model}.set('selection', 'data=census&show=uw&seeds=1')")
    assert shown(page) == ["UW"]


def test_damaged_records_are_counted_and_named(open_page, packed, tmp_path):
    path = tmp_path / "damaged.html"
    values = {"records": {**packed, "damaged": ["a.json is not whole.", "b.json has changed."]}}
    path.write_text(widget_page("runs", values), "utf-8")
    page = open_page(path)
    page.get_by_text("2 damaged records are left out.").click()
    assert page.get_by_text("b.json has changed.").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1400])
def test_the_runs_have_no_serious_issue_and_fit(open_runs, scheme, width):
    key = "pamal:W=4:lam=5:penalty=ordered"
    address = f"data=multimnist&show={key},ls&seeds=0,1&run={key}&seed=1"
    page = open_runs(address, color_scheme=scheme, viewport={"width": width, "height": 800})
    page.evaluate(
        "document.querySelectorAll('.pw-list tr:nth-child(n+5)').forEach((r) => r.remove())"
    )
    assert serious(page) == []
    assert overflow(page) <= 0
