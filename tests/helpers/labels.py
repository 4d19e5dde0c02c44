"""Labels in a plot of a widget, as a browser draws them."""

from itertools import combinations

from gestures import frame

BOXES = """(all, margin) => all.map((one) => { const b = one.getBoundingClientRect();
    return [b.left + margin, b.right - margin, b.top + margin, b.bottom - margin]; })"""


def check_labels(page, is_crowded=False):
    """Check that no label of the first plot leaves it, and none lies on another or, but where marks
    lie on each other, on a mark of its own; return how many there are."""
    frame(page)
    ((left, right, top, bottom),) = page.locator("svg.pw-plot").evaluate_all(BOXES, 0)
    labels = page.locator(".pw-plot .pw-tip").evaluate_all(BOXES, 0)
    marks = page.locator(".pw-plot .pw-other").evaluate_all(BOXES, 1)
    for box in labels:
        assert left <= box[0] and box[1] <= right and top <= box[2] and box[3] <= bottom
    pairs = [*combinations(labels, 2)]
    if not is_crowded:
        pairs += [(label, mark) for label in labels for mark in marks]
    for one, other in pairs:
        is_beside = one[1] <= other[0] or other[1] <= one[0]
        assert is_beside or one[3] <= other[2] or other[3] <= one[2]
    return len(labels)
