"""The examples for one's own model do what the README says, as they stand there."""

import re
from pathlib import Path
from textwrap import dedent

import forked

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "README.md").read_text("utf-8")
BLOCKS = [dedent(code) for code in re.findall(r" *```python\n(.*?)```", TEXT, re.DOTALL)]
RECIPE, BY_HAND, LOOP = BLOCKS


def lines(code):
    return [line for line in code.splitlines() if line.strip()]


def test_the_recipe_trains_prints_draws_and_exports_a_model_of_its_own(tmp_path):
    """In seconds here: fewer epochs and a bound that these reach."""
    code = RECIPE
    for ours, small in (("epochs=12", "epochs=4"), ('"left": 0.9', '"left": 0.3')):
        assert code.count(ours) == 1
        code = code.replace(ours, small)
    checks = """
from pathlib import Path
assert type(model) is TwoDigits and not model.training
text = repr(fitted)
assert "LS (rate 0.002, as many passes): left/accuracy" in text
assert "LS is better in every task than" in text
assert len(fitted.front) == 11 and len(fitted.baselines["LS"]) == 1
assert Path("front.png").stat().st_size > 5000
assert not any(type(m).__module__.startswith("pamal_core") for m in model.modules())
"""
    (exit_code,), (errors,) = forked.run(
        "import warnings; warnings.simplefilter('ignore')\n" + code + checks, tmp_path
    )
    assert exit_code == 0, errors


def test_what_is_printed_is_what_the_recipe_prints():
    """In its form: the digits depend on the machine."""
    (shown,) = re.findall(r"```\n(11 points .*?)```", TEXT, re.DOTALL)
    rows = [line.split() for line in shown.splitlines()[2:13]]
    assert [row[0] for row in rows] == [str(number) for number in range(11)]
    kept = [row for row in rows if row[-1] == "True"]
    assert f"{len(kept)} not dominated" in shown.splitlines()[0]
    assert "LS (rate 0.002, as many passes)" in shown and f"of the {len(kept)} not" in shown


def test_by_hand_it_is_five_lines_on_the_core_alone(tmp_path):
    assert "pamal_companion" not in BY_HAND
    (ours,) = re.findall(r"\n(network = .*)", BY_HAND, re.DOTALL)
    assert len(lines(ours)) == 5
    checks = """
assert type(model) is Houses
sold = front.table["sold/accuracy"]
assert sold.max() >= 0.9 and front.values[:, 0].min() < 0.5 * x[:, 0].var().item()
"""
    code = "import torch; torch.manual_seed(0)\n" + BY_HAND + checks
    (exit_code,), (errors,) = forked.run(code, tmp_path)
    assert exit_code == 0, errors
    after = BY_HAND + LOOP.replace("range(20)", "range(2)") + "\nassert losses.shape == (1, 2)"
    (exit_code,), (errors,) = forked.run(after.replace("epochs=20", "epochs=10"), tmp_path)
    assert exit_code == 0, errors


def test_the_examples_are_short():
    assert len(lines(RECIPE)) <= 25
    assert len(lines(LOOP)) == 6


def test_nothing_in_the_readme_is_left_to_fill_in():
    assert "@@" not in TEXT
