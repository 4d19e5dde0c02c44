"""A frame as a table of a page: the same HTML for equal frames, and what stands in it."""

import re

import numpy as np
import pandas as pd
import pytest

from pamal_companion.plots.table import MARKS, Html, drawn, intervals, table


def cells(html):
    """The texts of the rows of a table, its head first."""
    return [
        [re.sub("<[^>]*>", "", cell) for cell in re.findall("<t[hd].*?</t[hd]>", row)]
        for row in re.findall("<tr.*?</tr>", html, re.DOTALL)
    ]


FOUND = pd.DataFrame(
    {"loss ↓": ["0.20 ± 0.01", "0.15", ""], "verdict": ["holds", "open", "not run"]},
    pd.Index(["a & b", "c", "d"], name="method"),
)


def test_a_table_has_its_index_its_numbers_and_a_mark_for_each_verdict():
    html = table(FOUND)
    assert cells(html) == [
        ["method", "loss ↓", "verdict"],
        ["a &amp; b", "0.20 ± 0.01", f"{MARKS['holds']} holds"],
        ["c", "0.15", f"{MARKS['open']} open"],
        ["d", "", f"{MARKS['not run']} not run"],
    ]
    assert html == table(FOUND.copy()) and isinstance(html, Html) and html._repr_html_() == html
    assert '<tr class="open">' in html and '<tr class="not-run">' in html


def test_the_best_is_bold_whichever_way_is_better_and_only_among_several():
    assert re.findall("<b>(.*?)</b>", table(FOUND, best={"loss ↓": False})) == ["0.15"]
    assert re.findall("<b>(.*?)</b>", table(FOUND, best={"loss ↓": True})) == ["0.20 ± 0.01"]
    assert "<b>" not in table(FOUND.iloc[:1], best={"loss ↓": True})


def test_a_search_that_takes_the_markup_away_finds_each_cell_apart():
    text = re.sub("<[^>]*>", "", table(FOUND, caption="losses, p &lt; 0.05"))
    assert {"losses,", "method", "verdict", "0.20", "0.01", "0.15", "open"} < {*text.split()}
    assert "a &amp; b 0.20 ± 0.01" in text and "c 0.15" in text


def test_a_frame_without_rows_is_a_table_without_rows():
    for columns in ([], ["loss ↓"]):
        found = pd.DataFrame(columns=columns, index=pd.Index([], name="method"))
        assert cells(table(found)) == [["method", *columns]]


def test_numbers_stand_right_words_left_and_filters_are_marked():
    html = table(FOUND, filters=["verdict"], ids=["one", "two", "three"])
    assert '<th scope="col" class="number">loss ↓</th>' in html
    assert '<th scope="col" data-filter="">verdict</th>' in html
    assert re.findall('<tr id="(.*?)"', html) == ["one", "two", "three"]


def test_an_interval_is_drawn_where_its_numbers_are():
    svg = drawn(0.25, 0.0, 0.5, 0.1, reach=1.0)  # 1 is 45 % to the right of the middle
    assert '<rect class="band" x="45.50%" width="9.00%"' in svg
    assert '<line x1="50.00%" x2="72.50%"' in svg and '<circle cx="61.25%"' in svg
    assert "<title>+0.2500, 95 % interval +0.0000 to +0.5000</title>" in svg
    assert "interval" not in drawn(0.1, np.nan, np.nan, 0.1, 1.0) and drawn(*[np.nan] * 5) == ""


@pytest.mark.parametrize(
    "numbers, dots, full, opened",
    [
        ((0.2, 0.1, 0.3), 1, [], []),
        ((0.2, -1.0, 1.0), 1, [], []),  # it just fits
        ((0.2, -0.5, 1.5), 1, [], ["95.00%"]),
        ((0.2, -1.5, 1.5), 1, [], ["5.00%", "95.00%"]),
        ((2.0, 0.5, 3.5), 0, ["95.00%"], ["95.00%"]),
        ((-2.0, -2.5, -1.5), 0, ["5.00%"], ["5.00%"]),
    ],
)
def test_what_lies_outside_ends_in_an_arrow(numbers, dots, full, opened):
    svg = drawn(*numbers, 0.1, reach=1.0)
    arrows = re.findall(r'<svg x="(.*?)".*?fill="(.*?)"', svg)
    assert svg.count("<circle") == dots
    assert [x for x, fill in arrows if fill == "currentColor"] == full
    assert [x for x, fill in arrows if fill == "none"] == opened


def test_all_rows_of_a_dot_plot_share_an_axis_of_a_few_tolerances():
    found = pd.DataFrame(
        {"difference": [0.01, 0.05, np.nan],
         "low": [0.0, 0.04, np.nan], "high": [0.02, 0.06, np.nan], "tolerance": 0.005,
         "verdict": ["", "differs", "not run"]},
        pd.Index(["LS", "UW", "RLW"], name="method"),
    )  # fmt: skip
    texts = pd.DataFrame({"paper": "0.9", "ours": ["0.91", "0.95", ""]}, found.index)
    head, *rows = cells(intervals(found, texts))
    assert head[3] == "ours \N{MINUS SIGN} paper, axis \N{PLUS-MINUS SIGN}0.025"
    assert [row[0] for row in rows] == ["LS", "UW", "RLW"] and rows[2][3] == ""
    html = intervals(found, texts)
    assert re.findall(r'<circle cx="(.*?)"', html) == ["68.00%"]  # 0.4 of the reach
    assert html.count('path fill="currentColor"') == 1
    assert 'x="95.00%" y="50%" overflow="visible"><path fill="currentColor"' in html.split("UW")[1]
