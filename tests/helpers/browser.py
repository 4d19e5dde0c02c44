"""A browser without a network, for tests of pages and of widgets."""

import json
import shutil
from collections import defaultdict
from itertools import chain
from pathlib import Path

import pytest

from pamal_companion.widgets import html

ALLOWED = ("file:", "data:", "blob:")
ARGUMENTS = [
    "--no-sandbox",  # it may run as root, in a container
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # there is no network
]
WINDOW = {"width": 1400, "height": 900}
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def chromium():
    """Debian's chromium, for the whole session."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the `test` extra")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs chromium (apt-get install chromium)")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def spare(chromium):
    """Pages that no test uses now, by the options of their contexts: a new one costs a process."""
    pages = defaultdict(list)
    yield pages
    for page in chain(*pages.values()):
        page.context.close()


@pytest.fixture(scope="session")
def blank(tmp_path_factory):
    """The address of a page that does nothing, and that shares its storage with all files."""
    path = tmp_path_factory.mktemp("blank") / "blank.html"
    path.write_text("<!DOCTYPE html><title>Blank</title>", "utf-8")
    return path.as_uri()


@pytest.fixture
def open_page(chromium, spare, blank):
    """Opens a file in a page of its own: `open_page(path, has_touch=True, ...)`, with the options
    of playwright's contexts.

    When the test ends, none of its pages may have asked for a thing that was not there, asked the
    network for anything, thrown, or written an error to the console.
    """
    opened, problems = [], []

    def open_it(path, viewport=WINDOW, color_scheme="light", reduced_motion=None, **context):
        key = repr(sorted(context.items()))
        page = spare[key].pop() if spare[key] else chromium.new_context(**context).new_page()
        page.set_viewport_size(viewport)
        page.emulate_media(
            color_scheme=color_scheme, reduced_motion=reduced_motion or "no-preference"
        )
        opened.append((key, page, watch(page, problems)))
        page.goto(Path(path).resolve().as_uri())
        return page

    yield open_it
    for key, page, end in opened:
        end()
        # Not in the page that is left: it may write once more while it is.
        page.goto(blank)
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.goto("about:blank")
        page.mouse.move(0, 0)
        spare[key].append(page)
    assert problems == []


def watch(page, problems):
    """Write into `problems` what goes wrong in `page`, until the function is called that this
    returns."""

    def ask(request):
        if not request.url.startswith(ALLOWED):
            problems.append(f"asked the network for {request.url}")

    def failed(request):
        if request.failure != "net::ERR_ABORTED":  # the icon of a page that was left at once
            problems.append(f"failed: {request.url}: {request.failure}")

    handlers = {
        "request": ask,
        "console": lambda m: m.type == "error" and problems.append(f"console: {m.text}"),
        "pageerror": lambda error: problems.append(f"thrown: {error}"),
        "requestfailed": failed,
    }
    for event, handler in handlers.items():
        page.on(event, handler)
    return lambda: [page.remove_listener(event, h) for event, h in handlers.items()]


DARK = "@media (prefers-color-scheme: dark) { body { background: #14181e; color: #e6edf3; } }"


def widget_page(name, values):
    """The widget `name` as a whole page of its own."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Widget</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{html.style()}\n{DARK}</style></head>\n"
        f"<body><main><h1>Widget</h1>{html.fragment(name, values, 'widget')}</main></body></html>\n"
    )


@pytest.fixture
def open_widget(open_page, tmp_path):
    """Opens a widget alone on a page: `open_widget("explorer", values, has_touch=True, ...)`. Its
    model is `widgetModel` there."""

    def open_it(name, values=None, **options):
        path = tmp_path / f"{name}.html"
        path.write_text(widget_page(name, values or {}), "utf-8")
        page = open_page(path, **options)
        page.wait_for_selector(".pw-ready")
        page.evaluate("globalThis.widgetModel = document.getElementById('widget').widgetModel")
        return page

    return open_it


@pytest.fixture
def functions(open_page, tmp_path):
    """The functions of a widget's source: `functions("explorer").call("tickTexts", 0, 1)`."""

    class Functions:
        def __init__(self, name):
            path = tmp_path / f"{name}-functions.html"
            module = html.source(name).replace("export default ", "const widget = ")
            # A function of the module is reached by its name, which only code inside it can do.
            reach = "globalThis.call = (name, values) => eval(name)(...values);"
            path.write_text(
                f'<!DOCTYPE html><title>Functions</title><script type="module">{module}\n{reach}'
                "</script>",
                "utf-8",
            )
            self.page = open_page(path)

        def call(self, name, *values):
            return self.page.evaluate("([name, values]) => call(name, values)", [name, [*values]])

    return Functions


def serious(page, context=None, **options):
    """What axe finds serious or critical in `page`, or in the part that `context` selects, one
    line each."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs `test`")
    # Without `preload` axe reads style sheets once more, which pages over file:// may not do.
    options = {"preload": False, "resultTypes": ["violations"], **options}
    # A colour that still changes, because the theme has just become known, is neither of its two.
    page.wait_for_function("!document.getAnimations().some((a) => a instanceof CSSTransition)")
    found = axe.Axe().run(page, context, options).response["violations"]
    return [
        f"{v['id']}: {v['help']} ({json.dumps([n['target'] for n in v['nodes']])})"
        for v in found
        if v["impact"] in ("serious", "critical")
    ]


def overflow(page):
    """By how many pixels `page` is wider than its window."""
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
