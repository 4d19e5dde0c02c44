"""The path from a notebook to a page of the book."""

import pickle
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser import serious
from built_book import pages
from gestures import drag, swipe

nbformat = pytest.importorskip("nbformat", reason="needs the `book` extra")
pytest.importorskip("papermill", reason="needs the `book` extra")

from pamal_companion.__main__ import main  # noqa: E402
from pamal_companion.runs import notebooks as book  # noqa: E402
from pamal_companion.runs.options import parse_value  # noqa: E402
from pamal_companion.study import frame  # noqa: E402

ROOT = Path(__file__).parents[3]
SOURCES = sorted((ROOT / "notebooks").glob("*.ipynb"))
RESULTS = sorted((ROOT / "book" / "results").glob("*.ipynb"))
# The attributes by which a page loads something; the href of an <a> is only a link.
LOADING = {"src", "srcset", "data", "poster"}


def read(path):
    return nbformat.read(path, as_version=4)


def code(notebook):
    """The source of each code cell but for the one in which papermill gives its parameters."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [c.source for c in cells if "injected-parameters" not in c.metadata.get("tags", [])]


@pytest.fixture
def notebook(tmp_path):
    """Writes a notebook with one parameter, `n`, and the given code after it."""

    def write(code):
        parameters = nbformat.v4.new_code_cell("n = 1", metadata={"tags": ["parameters"]})
        cells = [
            nbformat.v4.new_markdown_cell("# Title"),
            parameters,
            nbformat.v4.new_code_cell(code),
        ]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        path = tmp_path / "source.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
        return path

    return write


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_source_holds_no_outputs(path):
    code = [cell for cell in read(path).cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_result_was_made_by_its_source_as_it_is_now(path):
    result = read(path)
    source = ROOT / "notebooks" / result.metadata.pamal.source
    assert code(result) == code(read(source)), f"run {source.name} again: make notebooks"
    assert book.normalise(result) == result


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_every_figure_has_the_description_of_its_source(path):
    result = read(path)
    source = read(ROOT / "notebooks" / result.metadata.pamal.source)
    described = {cell.source: description(cell) for cell in source.cells}
    figures = [
        cell
        for cell in result.cells
        if any("image/svg+xml" in output.get("data", {}) for output in cell.get("outputs", []))
    ]
    for cell in figures:
        assert description(cell), cell.source
        assert description(cell) == described[cell.source]


def description(cell):
    return cell.metadata.get("mystnb", {}).get("image", {}).get("alt")


def test_two_runs_give_identical_files(notebook, tmp_path):
    source = notebook(
        "import sys, time\n"
        "for i in range(n):\n    print(i, object(), flush=True)\n    time.sleep(0.05)\n"
        "print('50%|#####     |', file=sys.stderr)\n"
        "from matplotlib import pyplot as plt\n"
        "from pamal_companion.plots import style\n"
        "style.use()\n"
        "plt.plot([0, 1], [0, n], label='$\\alpha_1$')\n"
        "plt.show()\n"
        "object()"
    )
    targets = [tmp_path / "new" / "one.ipynb", tmp_path / "two.ipynb"]
    for target in targets:
        assert main(["run", str(source), str(target), "-p", "n", "3"]) == 0
    first, second = (target.read_bytes() for target in targets)
    assert first == second

    executed = read(targets[0])
    assert code(executed) == code(read(source)) != []
    assert book.normalise(executed) == executed
    assert executed.metadata.pamal == {"source": "source.ipynb", "parameters": {"n": 3}}
    stdout, figure, result = executed.cells[-1].outputs
    assert figure.data.keys() == {"image/svg+xml", "text/plain"}
    assert stdout.text == "".join(f"{i} <object object at 0x0>\n" for i in range(3))
    assert result.data["text/plain"] == "<object at 0x0>"


def test_a_page_has_words_for_a_widget_and_no_progress_bars():
    data = {"text/plain": "Explorer()", book.WIDGET: {"model_id": "1"}}
    widget = nbformat.v4.new_output("execute_result", data)
    bar = nbformat.v4.new_output("display_data", {**data, "text/plain": "HBox()"})
    cell = nbformat.v4.new_code_cell("explore()", outputs=[bar, widget])
    found = book.normalise(nbformat.v4.new_notebook(cells=[cell]))
    (output,) = found.cells[0].outputs
    assert output.data == {"text/markdown": book.INSTEAD}
    assert book.normalise(found) == found


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        ("raise ValueError('first line\\nno good')", [], "stopped with ValueError: no good"),
        ("n", ["-p", "m", "1"], "has no parameter m."),
    ],
)
def test_a_run_that_fails_says_why_in_one_line_and_leaves_nothing_behind(
    notebook, tmp_path, capsys, code, arguments, message
):
    source = notebook(code)
    target = tmp_path / "target.ipynb"
    target.write_text("as it was")
    assert main(["run", str(source), str(target), *arguments]) == 2
    assert capsys.readouterr().err == f"error: {source} {message}\n"
    assert target.read_text() == "as it was"
    assert sorted(tmp_path.iterdir()) == [source, target]


@pytest.mark.parametrize(
    "text", ["True", "False", "None", "3", "-2", "1e-3", "inf", "true", "full"]
)
def test_parameters_are_read_as_papermill_reads_them(text):
    from papermill.cli import _resolve_type

    assert parse_value(text) == _resolve_type(text)
    assert type(parse_value(text)) is type(_resolve_type(text))


class Loads(HTMLParser):
    """Collects every address from which a page loads something over the network."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            loads = name in LOADING or (tag == "link" and name == "href")
            if loads and re.match(r"(https?:)?//", value or ""):
                self.found.append(value)


def test_the_book_builds_without_a_warning_and_loads_no_network(built_book):
    every = list(built_book.rglob("*.html"))
    assert built_book / "index.html" in every
    for page in every:
        loads = Loads()
        loads.feed(page.read_text())
        assert loads.found == [], page.name
    for sheet in built_book.rglob("*.css"):
        assert not re.search(r"(url\(|@import\s*)[\"']?(https?:)?//", sheet.read_text()), sheet.name


def test_pages_of_the_measured_table_are_read_again_when_it_changes(built_book):
    environment = pickle.loads((built_book.parent / ".doctrees/environment.pickle").read_bytes())
    for name in ("index", "runs"):
        assert str(frame.FILE) in environment.dependencies[name]


def test_no_two_pages_have_one_title(built_book):
    found = pages(built_book)
    titles = [re.search("<title>(.*?)</title>", page.read_text("utf-8"))[1] for page in found]
    assert len(found) > 20 and len({*titles}) == len(titles)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1200])
def test_the_first_page_has_no_serious_issue(built_book, open_page, scheme, width):
    viewport = {"width": width, "height": 800}
    page = open_page(built_book / "index.html", color_scheme=scheme, viewport=viewport)
    page.wait_for_selector(".pw-ready")
    assert page.locator("html").get_attribute("data-theme") == scheme
    assert serious(page) == []


def test_the_explorer_of_the_first_page_is_moved_by_keys_mouse_and_touch(built_book, open_page):
    page = open_page(
        built_book / "index.html", has_touch=True, viewport={"width": 1200, "height": 800}
    )
    grip = page.get_by_role("slider", name="alpha", exact=True)
    alpha = page.get_by_label("alpha in numbers")
    alpha.fill("0.5, 0.5")
    grip.focus()
    page.keyboard.press("ArrowRight")
    assert alpha.input_value() == "[0.49, 0.51]"

    dot = page.locator(".pw-dot").first
    drag(page, dot, -900, 0)
    page.wait_for_function("document.querySelector('.pw-alpha').value == '[1, 0]'")
    swipe(page, dot, 900, 0)
    page.wait_for_function("document.querySelector('.pw-alpha').value == '[0, 1]'")


def test_no_symlink_is_tracked(tracked):
    assert [path for path in tracked if path.is_symlink()] == []


def test_no_tracked_file_names_a_path_of_the_machine_it_was_made_on(tracked):
    pattern = re.compile(rb"(?<![\w.])/(?:work|root|home)/")
    assert [path.name for path in tracked if pattern.search(path.read_bytes())] == []
