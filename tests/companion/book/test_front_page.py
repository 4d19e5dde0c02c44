"""The first page answers: what holds, as a picture, and where it leads."""

import html
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

from pamal_companion.study import claims, frame
from pamal_companion.study.claim import judge

ROOT = Path(__file__).parents[3]
SOURCE = (ROOT / "book" / "index.md").read_text("utf-8")
LINES = re.findall(
    r"^- (.+?): (.+)$", re.search("(?s)```{verdicts}(.*?)```", SOURCE)[1], re.MULTILINE
)


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
def known():
    return claims.CLAIMS | claims.FINDINGS


def test_what_holds_has_eight_lines_at_most_with_the_words_of_the_study(first, known):
    runs, found = frame.read(), [*rows(first)]
    assert "nan" not in re.search(r'<table class="verdicts">.*?</details>', first, re.DOTALL)[0]
    assert 0 < len(found) == len(LINES) <= 8
    for (cells, _), (_, name) in zip(found, LINES, strict=True):
        epochs = judge(known[name], runs)
        assert cells[1].startswith(epochs.word)
        value = epochs.parts[0].estimate.value
        if known[name].is_compared and not known[name].of_ratio:
            assert f" {value:+.4f} ".replace("-", "\N{MINUS SIGN}") in cells[1]


def test_a_mark_is_on_the_right_where_its_number_is_on_the_claims_side(first, known):
    runs = frame.read()
    for row, (_, name) in zip(first.split('<td class="v-plot">')[1:], LINES, strict=True):
        drawn = re.search(r'<circle r="4.5" cx="([\d.]+)"', row)
        value = judge(known[name], runs).parts[0].estimate.value
        if known[name].of_ratio:
            value = 2.718281828**value
        is_right = known[name].low < value < known[name].high
        assert (float(drawn[1]) > 100) == is_right, name


def test_each_line_opens_its_evidence(first, built_book):
    for _, links in rows(first):
        (link,) = links
        page, _, section = link.partition("#")
        text = (built_book / page).read_text("utf-8")
        assert section and f'id="{unquote(section)}"' in text


def test_no_claims_are_counted_and_a_share_has_its_span_beside_it(first, known):
    text = re.sub("<[^>]*>", "", first)
    assert not re.search(r"\d+ (hold|fail|open|undecided|ahead|behind)\b", text)
    ((cells, _),) = [
        row for row, (_, name) in zip(rows(first), LINES, strict=True) if "non-dominated" in name
    ]
    (name,) = [name for _, name in LINES if "non-dominated" in name]
    span = judge(known[name], frame.read()).parts[0].span
    assert f"span {span:.3f}" in cells[1]


@pytest.mark.parametrize("width", [380, 1400])
def test_the_picture_fits_and_no_cell_is_longer_than_a_line(built_book, open_page, width):
    page = open_page(built_book / "index.html", viewport={"width": width, "height": 900})
    boxes = page.locator(".verdicts :is(td, th[scope=row])").evaluate_all(
        "(all) => all.filter((cell) => cell.offsetParent).map((cell) => cell.scrollHeight)"
    )
    assert len(boxes) > 20 and max(boxes) < (45 if width == 1400 else 60)
    right = page.locator(".verdicts").evaluate("(table) => table.getBoundingClientRect().right")
    assert right <= width


def test_a_phone_shows_plot_slider_and_answers_at_once(built_book, open_page):
    phone = {"has_touch": True, "is_mobile": True, "viewport": {"width": 390, "height": 844}}
    page = open_page(built_book / "index.html", **phone)
    page.locator(".pw-explorer").evaluate(
        "widget => widget.scrollIntoView({ behavior: 'instant' })"
    )
    top = page.locator(".bd-header-article").bounding_box()
    for part in (".pw-plot", ".pw-control", ".pw-cards"):
        box = page.locator(part).first.bounding_box()
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
