"""What hands do to a widget, with a mouse or on a phone."""

PHONE = {"has_touch": True, "is_mobile": True, "viewport": {"width": 380, "height": 800}}


def middle(locator):
    locator.scroll_into_view_if_needed()
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def frame(page):
    """Wait until what was done has been drawn: a drag is, once a frame."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def drag(page, locator, dx, dy):
    """Drag the middle of `locator` by so many pixels, with the mouse."""
    x, y = middle(locator)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()
    frame(page)


def swipe(page, locator, dx, dy):
    """The same with a finger."""
    x, y = middle(locator)
    session = page.context.new_cdp_session(page)
    for kind, share in (
        ("touchStart", 0),
        ("touchMove", 0.4),
        ("touchMove", 1),
        ("touchEnd", None),
    ):
        points = [] if share is None else [{"x": x + share * dx, "y": y + share * dy}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        frame(page)
