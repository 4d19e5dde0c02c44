"""The pages that document the package, which are read from the source without importing it."""

import importlib
import inspect
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import pamal_core
from pamal_companion.experiments.models import SharedBottom

ROOT = Path(__file__).parents[3]
PAGES = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / "book").glob("api*.md"))}
NAMES = [name for page in PAGES.values() for name in re.findall(r"\{api\} (\S+)", page)]


@pytest.fixture
def api(monkeypatch):
    pytest.importorskip("sphinx", reason="needs the `book` extra")
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    yield importlib.import_module("api")
    del sys.modules["api"]


def imported(name):
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def plain(text):
    """`text` in one line, without the marks of code and with the quotes of a keyboard."""
    text = " ".join(text.replace("`", "").split()).replace(r"\[ ", r"\[").replace(r" \]", r"\]")
    typeset = {"“": '"', "”": '"', "\u2018": "'", "\u2019": "'", "…": "...", "–": "--"}
    return text.translate(str.maketrans(typeset))


def test_every_public_name_is_on_one_page_once():
    public = {f"pamal_core.{name}" for name in pamal_core.__all__}
    assert public <= set(NAMES)
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_from_the_source_is_what_python_says_of_the_object(api, name):
    module, found = api.find(*name.rsplit(".", 1))
    theirs = imported(name)
    assert theirs.__module__ == module
    text = "\n".join(api.entry(name, module, found))
    assert plain(inspect.getdoc(theirs)) in plain(text)
    if not name.endswith("Error"):
        head = next(line for line in text.splitlines() if name in line)
        ours = re.findall(r"[(,] \*{0,2}(\w+): ", head.replace("(", "( "))
        expected = [one for one in inspect.signature(theirs).parameters if one != "self"]
        assert ours == expected, head


def meant(docstring):
    """The paragraphs of a docstring as a page shows them, mathematics in MathJax's brackets."""
    for paragraph in docstring.split("\n\n"):
        if paragraph.startswith("$$"):
            yield plain(rf"\[{paragraph.strip('$').strip()}\]")
        else:
            paragraph = re.sub(r"^- ", "", paragraph, flags=re.MULTILINE)  # the entries of a list
            yield plain(re.sub(r"\$(.+?)\$", r"\\(\1\\)", paragraph, flags=re.DOTALL))


@pytest.fixture(scope="module")
def rendered(built_book):
    """What stands under each name, on any page: its blocks but for entries of methods."""
    bs4 = pytest.importorskip("bs4", reason="needs the `book` extra")
    found = {}
    for page in PAGES:
        soup = bs4.BeautifulSoup((built_book / f"{page}.html").read_text("utf-8"), "html.parser")
        for head in soup.select("dt.sig[id]"):
            blocks = head.find_next_sibling("dd").find_all(True, recursive=False)
            found[head["id"]] = [block for block in blocks if block.name != "dl"]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_docstring_is_rendered_as_it_was_meant(rendered, name):
    """Paragraph by paragraph: none became a list, a heading or a tag, or lost a character."""
    theirs = imported(name)
    documented = {name: theirs}
    if inspect.isclass(theirs):
        for method, value in vars(theirs).items():
            function = getattr(value, "fget", None) or getattr(value, "__func__", value)
            is_own = getattr(function, "__qualname__", "").startswith(theirs.__name__)  # no default
            if not method.startswith("_") and is_own and function.__doc__:
                documented[f"{name}.{method}"] = function
    for full_name, value in documented.items():
        blocks = [plain(block.get_text()) for block in rendered[full_name]]
        expected = [*meant(inspect.getdoc(value))]
        assert [b for b in blocks if not b.startswith("Bases: ")] == expected


def test_a_name_that_is_not_there_is_refused(api):
    with pytest.raises(LookupError):
        api.find("pamal_core", "Nothing")
    with pytest.raises(LookupError):
        api.find("pamal_core.nowhere", "Front")


class People(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU())
        self.group, self.age = nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, x):
        features = self.backbone(x)
        return self.group(features), self.age(features)


@pytest.fixture
def after(tmp_path, monkeypatch):
    """The names after the code of each section of the pages, which run one after the other."""
    pytest.importorskip("torchjd", reason="needs the `test` extra")
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    x = torch.randn(640, 4)
    data = TensorDataset(x, (x[:, 0] > 0).long(), x[:, 1] / 2)
    loader = DataLoader(data, batch_size=32)
    written = []
    norm = nn.BatchNorm1d(8)
    names = {
        "torch": torch,
        "make_model": People,
        "make_backbone": lambda: nn.Sequential(nn.Linear(4, 8), norm),
        "make_heads": lambda: SharedBottom(nn.BatchNorm1d(8), [nn.Linear(8, 2), nn.Linear(8, 1)]),
        "loader": loader,
        "validation": loader,
        "batch": next(iter(loader)),
        "writer": SimpleNamespace(add_scalar=lambda *args: written.append(args)),
    }
    found = {"norm": norm, "written": written}
    for section in "\n".join(PAGES.values()).split("\n## "):
        heading, _, text = section.partition("\n")
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(block, names)
        found[heading] = dict(names)
    return found


@pytest.mark.filterwarnings("ignore:All alphas share")
def test_the_code_of_the_pages_runs_as_it_stands(after):
    end, written = [*after.values()][-1], after["written"]
    assert len(end["both"]) == 12 and end["mean"].table.equals(end["front"].table)
    assert len(pandas.read_csv("front.csv")) == 11
    # A frozen backbone is kept once and exported as it was.
    frozen = after["The ensemble"]
    norm, (plain, *_) = after["norm"], frozen["batch"]
    inside = frozen["frozen"].skeleton.model
    assert frozen["frozen"].num_members == 2 and not inside[0].train(False).training
    assert torch.equal(norm.running_mean, torch.zeros(8))
    assert torch.equal(frozen["model"][0][1].running_mean, norm.running_mean)
    features = frozen["backbone"](plain)
    torch.testing.assert_close(frozen["model"][1].encoder.running_mean, features.mean(0))
    # A balancer of TorchJD's, groups of weights, an early stop, and what is logged.
    assert type(after["A balancer of your own"]["method"].balancer).__name__ == "Aggregated"
    matrices, others = (group["params"] for group in after["Training"]["groups"])
    assert len(matrices) == 3 and len(others) == 5  # biases, and the two weights of the norm
    named = dict(after["Training"]["named"])
    assert named["1.backbone.0.weight"].shape == (16, 4) and len(named) == 16
    history = after["Training"]["history"]
    assert 5 <= len(history) <= 100
    steps = [*range(50, 20 * len(history) + 1, 50)]
    assert [step for _, _, step in written] == [step for step in steps for _ in "ab"]
    assert {name for name, *_ in written} == {"group/loss", "age/loss"}
    assert all(isinstance(value, float) for _, value, _ in written)
