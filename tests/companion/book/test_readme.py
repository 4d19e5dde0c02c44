"""The examples for one's own model do what the README says, as they stand there."""

import re
from pathlib import Path
from textwrap import dedent

import forked

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "README.md").read_text("utf-8")
BLOCKS = [dedent(code) for code in re.findall(r" *```python\n(.*?)```", TEXT, re.DOTALL)]
RECIPE, BY_HAND = BLOCKS
(DIFF,) = re.findall(r"```diff\n(.*?)```", TEXT, re.DOTALL)


def lines(code):
    return [line for line in code.splitlines() if line.strip()]


def test_the_recipe_trains_prints_draws_and_exports_a_model_of_its_own(tmp_path):
    """As it stands, without a warning, and without a point that is the constant answer."""
    checks = """
from pathlib import Path
from pamal_core import evaluate
assert type(model) is nn.Sequential and not model.training
text = repr(fitted)
assert "LS (rate 0.002, as many passes): income/average precision" in text
assert "Of the 11 non-dominated points LS dominates" in text and not fitted.notes
assert len(fitted.front) == 11 and {*fitted.baselines} == {"LS", "soup"}
assert Path("front.png").stat().st_size > 5000
assert not any(type(m).__module__.startswith("pamal_core") for m in model.modules())
point = fitted.front.choose(best="income", at_most={"parity": 0.02})
rate = people.validation.tensors[1].double().mean()  # the precision of a constant answer
assert fitted.front.values[:, 0].min() > 2 * rate and point.metrics["parity/gap"] <= 0.02
"""
    (exit_code,), (errors,) = forked.run(
        "import warnings; warnings.simplefilter('error')\n" + RECIPE + checks, tmp_path
    )
    assert exit_code == 0, errors


def test_what_is_printed_is_what_the_recipe_prints():
    """In its form: the digits depend on the machine."""
    (shown,) = re.findall(r"```\n(11 points .*?)```", TEXT, re.DOTALL)
    rows = [line.split() for line in shown.splitlines()[2:13]]
    assert [row[0] for row in rows] == [str(number) for number in range(11)]
    kept = [row for row in rows if row[-1] == "True"]
    assert f"{len(kept)} not dominated" in shown.splitlines()[0]
    assert (
        "LS (rate 0.002, as many passes)" in shown and f"Of the {len(kept)} non-dominated" in shown
    )


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


def test_the_loop_that_is_changed_trains(tmp_path):
    """The diff takes away what computes one loss, and nothing else."""
    (setting,) = re.findall(r"(.*)network = WeightEnsemble", BY_HAND, re.DOTALL)
    setting += 'Net, tasks = Houses, [regression("price"), classification("sold")]\n'
    after = "\n".join(line[1:] for line in DIFF.splitlines() if line[0] != "-")
    before = "\n".join(line[1:] for line in DIFF.splitlines() if line[0] != "+")
    checks = "\nassert len(evaluate(method.network, tasks, validation)) == 11"
    (exit_code,), (errors,) = forked.run(setting + after + checks, tmp_path)
    assert exit_code == 0, errors
    assert len([line for line in DIFF.splitlines() if line[0] == "+"]) == 4
    compile(before.replace("for ...", "for output, target in []"), "README", "exec")


def test_the_examples_are_short():
    assert len(lines(RECIPE)) <= 15


def test_nothing_in_the_readme_is_left_to_fill_in():
    assert "@@" not in TEXT
