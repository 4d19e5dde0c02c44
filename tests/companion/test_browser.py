"""The tests of pages see what goes wrong in them, and each begins with a page as good as new."""

import pytest
from browser import WINDOW, watch

PAGE = """<!DOCTYPE html><title>Page</title><script src="https://example.org/a.js"></script>
<img src="none.png"><script>console.error("no"); throw new Error("bad");</script>"""


def test_what_goes_wrong_in_a_page_is_noticed_until_its_test_ends(chromium, tmp_path):
    path, problems = tmp_path / "page.html", []
    path.write_text(PAGE, "utf-8")
    context = chromium.new_context()
    page = context.new_page()
    end = watch(page, problems)
    page.goto(path.as_uri())
    said = "\n".join(problems)
    assert "asked the network for https://example.org/a.js" in said
    assert "console: no" in said and "thrown: bad" in said
    assert f"failed: {tmp_path.as_uri()}/none.png" in said
    end()
    before = [*problems]
    page.goto(path.as_uri())
    assert problems == before
    context.close()


@pytest.mark.parametrize("_time", ["first", "second"])
def test_a_page_that_is_used_again_is_as_good_as_new(open_page, tmp_path, _time):
    path = tmp_path / "page.html"
    path.write_text("<!DOCTYPE html><title>Page</title>", "utf-8")
    page = open_page(path)
    look = "matchMedia('(prefers-color-scheme: dark), (prefers-reduced-motion)').matches"
    found = page.evaluate(f"[localStorage.length, innerWidth, {look}]")
    assert found == [0, WINDOW["width"], False]
    # When it is left, as a theme that has not ended to load may.
    page.evaluate("onpagehide = () => localStorage.setItem('theme', 'dark')")
    page.set_viewport_size({"width": 380, "height": 800})
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
