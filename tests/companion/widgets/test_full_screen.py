"""A widget fills the screen and leaves it again, by mouse and by keys."""

import pytest
from browser import serious

NAME = "Full screen"
LEAVE = "Leave full screen (Esc)"


def is_full(page):
    return page.evaluate("document.fullscreenElement?.id ?? null")


@pytest.fixture
def shown(open_widget):
    """A page with the widget of Algorithm 1."""
    return open_widget("toy")


def test_keys_open_the_full_screen_and_the_button_leaves_it(shown):
    button = shown.get_by_role("button", name=NAME, exact=True)
    before = shown.locator(".pw-plot").first.bounding_box()["width"]
    button.focus()
    shown.keyboard.press("Enter")
    leave = shown.get_by_role("button", name=LEAVE, exact=True)
    leave.wait_for()
    assert is_full(shown) == "widget"
    assert shown.locator(".pw-plot").first.bounding_box()["width"] > 1.2 * before
    assert serious(shown) == []
    assert leave.evaluate("(one) => one === document.activeElement")
    shown.keyboard.press("Enter")
    button.wait_for()
    assert is_full(shown) is None


def test_leaving_as_escape_does_restores_the_button(shown):
    """A browser without a window has no Escape: this is what that key does in one."""
    shown.get_by_role("button", name=NAME, exact=True).click()
    shown.get_by_role("button", name=LEAVE, exact=True).wait_for()
    shown.evaluate("document.exitFullscreen()")
    shown.get_by_role("button", name=NAME, exact=True).wait_for()


def test_a_browser_that_has_no_full_screen_shows_no_button(open_widget):
    page = open_widget("toy")
    page.evaluate("""() => {
        Object.defineProperty(document, "fullscreenEnabled", { value: false });
        location.hash = "#&widget.lam=1";
    }""")
    page.wait_for_function("document.querySelector('.pw-full').hidden")
