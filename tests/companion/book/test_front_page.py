"""The first page answers: what holds, as a picture, and where it leads."""

import html
import json
import re
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
import yaml

from pamal_companion.study import claims, equal_compute, frame, registered
from pamal_companion.study.claim import judge
from pamal_companion.study.constant import CENSUS

ROOT = Path(__file__).parents[3]
SOURCE = (ROOT / "book" / "index.md").read_text("utf-8")
TEXT = " ".join(SOURCE.split())
LINES = re.findall(
    r"^- (.+?): (.+)$", re.search("(?s)```{verdicts}(.*?)```", SOURCE)[1], re.MULTILINE
)
EXPLORER = json.loads((ROOT / "book/_assets/widgets/fairness.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def first(built_book):
    return (built_book / "index.html").read_text("utf-8")


def rows(first):
    """The lines of the picture: the cells of each without markup, and the links in its head."""
    picture = re.search(r'<table class="verdicts">.*?</table>', first, re.DOTALL)[0]
    for row in re.findall(r"<tr>(.*?)</tr>", picture, re.DOTALL):
        if 'scope="row"' in row:
            cells = re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
            text = [html.unescape(re.sub("<[^>]*>", "", cell)).strip() for cell in cells]
            yield text, re.findall(r'href="([^"]*)"', row)


@pytest.fixture(scope="module")
def judged(runs):
    """The word and the estimate of a line: of a registered hypothesis, or of a claim."""
    known = claims.CLAIMS | claims.FINDINGS

    def of(name):
        if name in known:
            found = judge(known[name], runs)
            word, value = found.word, found.parts[0].estimate.value
            if known[name].ours[0].method == "pamal":
                return word, value
            return {"ahead": "behind", "behind": "ahead"}.get(word, word), -value
        question, _, text = name.partition(": ")
        row = registered.verdicts(registered.known(question)).loc[text]
        return row["verdict"], float(row["estimate"].split()[0].replace("\N{MINUS SIGN}", "-"))

    return {name: of(name) for _, name in LINES}


def test_what_holds_has_the_words_of_the_study(first, judged):
    found = [*rows(first)]
    assert "nan" not in re.search(r'<table class="verdicts">.*?</details>', first, re.DOTALL)[0]
    assert 0 < len(found) == len(LINES) <= 15
    for (cells, _), (_, name) in zip(found, LINES, strict=True):
        word, value = judged[name]
        assert cells[1].startswith(word)
        (points,) = re.findall(r" ([+\N{MINUS SIGN}][\d.]+) points", cells[1])
        points = float(points.replace("\N{MINUS SIGN}", "-"))
        # A hypervolume is a product of two accuracies between one half and 1, so that a point is
        # between .01 and .02 of it; an average precision is one as it is.
        least, most = sorted((100 * value, 50 * value))
        assert least - 0.051 <= points <= most * 1.3 + 0.051
        assert ("registered" in cells[1]) == (name.partition(": ")[0] in REGISTERED)


REGISTERED = {path.stem for path in (ROOT / "results/registered").glob("*.toml")}


def test_a_point_is_the_slope_of_an_accuracy_on_each_task(monkeypatch, runs):
    """By two accuracies: a hypervolume v is that of one network with the root of v on each task."""
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    import verdicts

    volume = frame.measured(
        runs, frame.Setting("multimnist", "ls"), "hypervolume", "validation"
    ).mean()
    step = 1e-6
    expected = 100 * ((volume + step) ** 0.5 - volume**0.5) / step
    assert verdicts.points_of("multimnist") == pytest.approx(expected, rel=1e-4)


def test_a_mark_is_on_the_right_where_pamal_is_better(first, judged):
    for row, (_, name) in zip(first.split('<td class="v-plot">')[1:], LINES, strict=True):
        drawn = re.search(r'<circle r="4.5" cx="([\d.]+)"', row)
        assert (float(drawn[1]) > 100) == (judged[name][1] > 0), name


def test_each_line_opens_its_evidence(first, built_book):
    for _, links in rows(first):
        (link,) = links
        page, _, section = link.partition("#")
        text = (built_book / page).read_text("utf-8")
        assert section and f'id="{unquote(section)}"' in text


def test_the_four_words_of_forty_passes_are_lines_of_the_chart():
    """What its registration promises of the first page."""
    asked = registered.verdicts(registered.read("forty-passes")).index
    assert {f"forty-passes: {text}" for text in asked} <= {name for _, name in LINES}


def test_how_recipes_were_tuned_is_what_their_settings_say():
    """The rate is Adam's: PaMaL's option times the number of members."""
    told = re.search("(?s):::{dropdown}(.*?):::", SOURCE)[1].split("\n\n")

    def rates(question, *names):
        rows = registered.read(question).rows
        seed = min(registered.read(question).asked.seeds)
        found = {name: rows[name].at(seed) for name in rows if name.startswith(names)}
        assert found
        members = {name: 2 if "pamal" in name else 1 for name in found}
        return {members[name] * one["lr"] for name, one in found.items()}

    def said(start):
        (one,) = (part for part in told if start in part)
        return one

    averaged = said("*With averaged weights on MultiMNIST*")
    for theirs in ("ls", "soup"):
        assert rates("forty-passes", theirs) == {0.001, 0.002}
    assert "have the better of 0.001 and 0.002" in averaged
    assert rates("forty-passes", "pamal-one") == {0.002}
    assert rates("forty-passes", "pamal-four") == {0.004}
    assert "has 0.002 with one draw and 0.004 with four" in averaged
    tried = {one.rate.split()[-1] for one in equal_compute.on_digits()}
    assert tried == {"3", "4", "6"} and "each has the best of three to six rates" in averaged
    census = said("*On Census*")
    for name in ("grid-census", "grid-fairness"):
        judging = {"grid-census": "census-at-equal-cost", "grid-fairness": "fairness-front"}[name]
        seeds = [{*registered.read(one).asked.seeds} for one in (name, judging)]
        assert not seeds[0] & seeds[1]
    assert all("on seeds that judge nothing" in one for one in (census, said("*On fairness*")))
    untuned = registered.verdicts(registered.read("one-run-against-a-sweep"))["verdict"]
    assert untuned["Census: four points of PaMaL - four LS"] == "behind"
    assert "four short LS are [**ahead**]" in census
    tuned = {one.rate.split()[-1] for one in equal_compute.on_census()}
    assert tuned == {"4", "5"} and "each has the best of four or five rates" in census
    grid = registered.read("grid-fairness").rows
    ours = {name.partition("@")[0] for name in grid if name.startswith("pamal")}
    assert len(ours) == 5 and "The best of five variants of PaMaL" in said("*On fairness*")


def test_no_registered_row_rests_on_networks_that_never_trained():
    fairness = registered.read("fairness-front")
    count = sum(len(run.front("test")) for one in fairness.records.values() for run in one.values())
    every = re.search(r"in each of the (\d+) runs", equal_compute.no_run_is_stuck())[1]
    assert f"none in the {every} runs on MultiMNIST" in TEXT
    assert f"none among the {count:,} networks on fairness" in TEXT
    for by_seed in fairness.records.values():  # a constant answer has the base rate, 0.062
        for run in by_seed.values():
            assert (run.front("test").table["income/average precision"] > 0.062 + 0.002).all()


def test_no_network_of_the_other_rows_is_at_a_constant_answer(runs):
    """Look at every network on test of the rows on Census and on MultiMNIST3."""
    tuned = registered.read("census-at-equal-cost").records
    alike = equal_compute.census().records
    people = [runs[frame.Setting("census", method)] for method in ("pamal", "ls")]
    people += [*alike.values(), *tuned.values()]
    digits = [runs[frame.Setting("multimnist3", method)] for method in ("pamal", "ls")]
    tables = [
        pd.concat(
            [
                run.front("test").table.filter(like="/accuracy")
                for by in every
                for run in by.values()
            ]
        )
        for every in (people, digits)
    ]
    age, education = (100 * tables[0][f"{name}/accuracy"].min() for name in ("age", "education"))
    assert f"in {age:.1f} % on age and {education:.1f} % on education" in TEXT
    worst = 100 * tables[1].min().min()
    assert f"In the row on MultiMNIST3 none is below {worst:.1f} % on test." in TEXT
    shares = (100 * CENSUS[name] for name in ("age", "education"))
    assert "a constant answer is right in {:.1f} % and {:.1f} %".format(*shares) in TEXT


def test_the_sums_are_those_of_the_study(runs):
    words = claims.table(runs)["verdict"].value_counts()
    said = (
        f"Of {words.sum()} of its [claims](results/claims) {words['holds']} hold, {words['fails']} "
        f"fail, {words['open']} are open and {words['not run']} are not run"
    )
    assert said in TEXT


def test_the_code_is_that_of_the_readme_with_what_it_prints():
    readme = (ROOT / "README.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", SOURCE, re.DOTALL)
    (shown,) = re.findall(r"```text\n(11 points .*?)```", SOURCE, re.DOTALL)
    lines = shown.splitlines()
    assert code in readme and "..." in lines
    lines.remove("...")
    assert all(f"{line}\n" in readme for line in lines)


def test_the_explorer_shows_the_registered_runs():
    """Its numbers are those of the records, though its networks were trained again."""
    columns, alphas = EXPLORER["points"]["columns"], np.array(EXPLORER["points"]["alphas"])
    names = [one["name"] for one in EXPLORER["points"]["objectives"]]

    def recorded(setting):
        path = ROOT / f"results/registered/fairness-front/{setting}_seed_40.json"
        points = json.loads(path.read_text())["points"]
        return {
            tuple(point["alpha"]): [point["metrics"][name] for name in names]
            for point in points
            if point["split"] == "validation"
        }

    for alpha, expected in recorded("pamal").items():
        (p,) = np.flatnonzero(np.abs(alphas - alpha).max(1) < 1e-9)
        assert [columns[name][p] for name in names] == pytest.approx(expected, abs=1e-6)
    shown = [[one["values"][name] for name in names] for one in EXPLORER["beside"]]
    expected = [*recorded("ls").values(), *recorded("soup").values()]
    assert np.array(shown) == pytest.approx(np.array(expected), abs=1e-6)
    assert [one["label"] for one in EXPLORER["beside"] if one["label"]] == ["LS", "soup"]


def test_the_sentences_of_the_explorer_say_its_picks():
    """The gap is that of both shares, and a pick of a card is right where the person earns more."""
    columns = EXPLORER["points"]["columns"]
    said = r"picks ([\d.]+) of 100 women and ([\d.]+) of 100 men\. Of 100 .* picks, (\d+) earn"
    for p, told in enumerate(EXPLORER["told"]):
        women, men, right = map(float, re.search(said, told).groups())
        assert men - women == pytest.approx(100 * columns["parity/gap in picks"][p], abs=0.11)
        assert right == pytest.approx(100 * columns["income/right picks"][p], abs=0.51)
    answers = [[one["text"] for (one,) in point] for point in EXPLORER["answers"]]
    for i, name in enumerate(EXPLORER["names"]):
        texts = {point[i] for point in answers}
        assert len(texts) == (2 if i < 4 else 1)  # as the note below the cards says
        for point in EXPLORER["answers"]:
            is_right = (point[i][0]["text"] == "picked") == ("above" in name)
            assert point[i][0]["right"] == is_right


@pytest.mark.parametrize("width", [380, 1400])
def test_the_picture_fits_and_no_cell_is_longer_than_three_lines(built_book, open_page, width):
    page = open_page(built_book / "index.html", viewport={"width": width, "height": 900})
    boxes = page.locator(".verdicts :is(td, th[scope=row])").evaluate_all(
        "(all) => all.filter((cell) => cell.offsetParent).map((cell) => cell.scrollHeight)"
    )
    assert len(boxes) > 20 and max(boxes) < (45 if width == 1400 else 75)
    right = page.locator(".verdicts").evaluate("(table) => table.getBoundingClientRect().right")
    assert right <= width


def test_a_phone_shows_plot_slider_and_answers_at_once(built_book, open_page):
    phone = {"has_touch": True, "is_mobile": True, "viewport": {"width": 390, "height": 844}}
    page = open_page(built_book / "index.html", **phone)
    page.locator(".pw-explorer").evaluate(
        "widget => widget.scrollIntoView({ behavior: 'instant' })"
    )
    top = page.locator(".bd-header-article").bounding_box()
    cards = page.locator(".pw-card")
    parts = [page.locator(part).first for part in (".pw-plot", ".pw-control", ".pw-told")]
    for part in [*parts, *(cards.nth(k) for k in range(4))]:  # the four whose answers change
        box = part.bounding_box()
        assert box["y"] >= top["y"] + top["height"] and box["y"] + box["height"] <= 844


def test_how_to_cite_is_what_the_citation_file_says(built_book):
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    page = (built_book / "bibliography.html").read_text("utf-8")
    text = html.unescape(re.sub("<[^>]*>", "", page))
    for work in (cited, cited["preferred-citation"]):
        assert f"title = {{{{{work['title']}}}}}" in text
    assert "Dimitriadis, Nikolaos and Frossard, Pascal and Fleuret, François" in text


def test_there_are_ways_out_to_the_paper_its_code_and_every_data_set():
    for address in (
        "proceedings.mlr.press/v202/dimitriadis23a.html",
        "arxiv.org/abs/2210.09759",
        "github.com/nik-dim/pamal",
        "arxiv.org/abs/2407.08056",
        "yann.lecun.com/exdb/mnist",
        "archive.ics.uci.edu/dataset/117",
        "susanqq.github.io/UTKFace",
        "cityscapes-dataset.com",
    ):
        assert address in (ROOT / "book" / "bibliography.md").read_text("utf-8")
