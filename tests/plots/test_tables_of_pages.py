"""A frame as a table of a page: the same HTML for equal frames, and what stands in it."""

import re

import numpy as np
import pandas as pd

from pamal_core.plots.table import MARKS, Html, drawn, intervals, table


def cells(html):
    """The texts of the rows of a table, its head first."""
    return [
        [re.sub("<[^>]*>", "", cell) for cell in re.findall("<t[hd].*?</t[hd]>", row)]
        for row in re.findall("<tr.*?</tr>", html, re.DOTALL)
    ]


FOUND = pd.DataFrame(
    {"loss ↓": ["0.20 ± 0.01", "0.15", ""], "verdict": ["agrees", "undecided", "not run"]},
    pd.Index(["a & b", "c", "d"], name="method"),
)


def test_a_table_has_its_index_its_numbers_and_a_mark_for_each_verdict():
    html = table(FOUND)
    assert cells(html) == [
        ["method", "loss ↓", "verdict"],
        ["a &amp; b", "0.20 ± 0.01", f"{MARKS['agrees']} agrees"],
        ["c", "0.15", f"{MARKS['undecided']} undecided"],
        ["d", "", f"{MARKS['not run']} not run"],
    ]
    assert html == table(FOUND.copy()) and isinstance(html, Html) and html._repr_html_() == html
    assert '<tr class="undecided">' in html and '<tr class="not-run">' in html


def test_the_best_is_bold_whichever_way_is_better_and_only_among_several():
    assert re.findall("<b>(.*?)</b>", table(FOUND, best={"loss ↓": False})) == ["0.15"]
    assert re.findall("<b>(.*?)</b>", table(FOUND, best={"loss ↓": True})) == ["0.20 ± 0.01"]
    assert "<b>" not in table(FOUND.iloc[:1], best={"loss ↓": True})


def test_numbers_stand_right_and_words_left_and_what_one_filters_by_is_marked():
    html = table(FOUND, filters=["verdict"], ids=["one", "two", "three"])
    assert '<th scope="col" class="number">loss ↓</th>' in html
    assert '<th scope="col" data-filter="">verdict</th>' in html
    assert re.findall('<tr id="(.*?)"', html) == ["one", "two", "three"]


def numbers(path):
    return [float(one) for one in re.findall(r"-?\d+\.\d+", path)]


def test_an_interval_is_drawn_where_its_numbers_are():
    svg = drawn(0.25, 0.0, 0.5, 0.1, reach=1.0)
    band, (zero, line, dot) = (
        re.search(r'<rect class="band" x="(.*?)"', svg)[1],
        re.findall(' d="(.*?)"', svg),
    )
    assert float(band) == -10 and numbers(line) == [0.0, 50.0]
    assert zero == "M0 -10V10" and numbers(dot)[0] == 25
    assert "<title>+0.2500, 95 % interval +0.0000 to +0.5000</title>" in svg
    outside = drawn(5.0, -7.0, 9.0, 0.1, reach=1.0)
    assert numbers(re.findall(' d="(.*?)"', outside)[1]) == [-100, 100]
    assert "interval" not in drawn(0.1, np.nan, np.nan, 0.1, 1.0) and drawn(*[np.nan] * 5) == ""


def test_all_rows_of_a_dot_plot_share_an_axis_of_a_few_margins():
    found = pd.DataFrame(
        {"paper": 0.9, "ours": [0.91, 0.95, np.nan], "difference": [0.01, 0.05, np.nan],
         "low": [0.0, 0.04, np.nan], "high": [0.02, 0.06, np.nan], "margin": 0.005,
         "verdict": ["undecided", "differs", "not run"]},
        pd.Index(["LS", "UW", "RLW"], name="method"),
    )  # fmt: skip
    head, *rows = cells(intervals(found))
    assert head[3] == "ours \N{MINUS SIGN} paper, \N{PLUS-MINUS SIGN}0.025"
    assert [row[0] for row in rows] == ["LS", "UW", "RLW"] and rows[2][3] == ""
    dots = [numbers(path)[0] for path in re.findall(r'width="9".*?d="(.*?)"', intervals(found))]
    assert dots == [40]
    arrow = "M97 -6L102 0L97 6"  # beyond the rim, to the right
    assert intervals(found).count(arrow) == 1 and arrow in intervals(found).split("UW")[1]
