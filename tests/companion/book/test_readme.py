"""The practitioner's example does what the README says, as it stands there."""

import re
from pathlib import Path

import forked
import torch

ROOT = Path(__file__).parents[3]


def example() -> str:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return code


def test_the_example_trains_chooses_and_exports_a_model_of_its_own(tmp_path):
    checks = """
assert type(model) is Houses
chosen = front.to_frame()[(front.alphas == alpha).all(1)]
assert chosen["sold/accuracy"].item() >= 0.9
assert front.values[:, 0].min() < 0.5 * (data.tensors[1].var().item() / 2)
model.eval()
torch.testing.assert_close(model(x)[0], ensemble.export(alpha)(x)[0])
"""
    code = "import torch; torch.manual_seed(0)\n" + example() + checks
    (exit_code,), (errors,) = forked.run(code, tmp_path)
    assert exit_code == 0, errors
    weights = torch.load(tmp_path / "houses.pt", weights_only=True)
    assert set(weights) >= {"backbone.0.weight", "price.bias", "sold.bias"}


def test_what_the_practitioner_writes_is_about_twenty_lines():
    """From the imports of the package on, without the model and the data, which are theirs."""
    code = example()
    ours = code[code.index("ensemble = ") :].strip().splitlines()
    assert len([line for line in ours if line]) <= 20


def test_nothing_in_the_readme_is_left_to_fill_in():
    assert "@@" not in (ROOT / "README.md").read_text()
