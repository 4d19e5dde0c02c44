"""The page of the method: its Algorithm 1 is that of the package, weight by weight."""

import math
import re
from pathlib import Path

import pytest
import torch

import pamal_core as pamal
from pamal_companion.experiments.models import lenet
from pamal_core import MultiForward

PAGE = (Path(__file__).parents[3] / "book" / "method.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def after():
    """The names after both blocks, on few images, with what each step saw."""
    code = BLOCKS[0]
    for ours, instrumented in (
        ('load("sample")', 'load("sample", sizes=(320, 64, 64))'),
        ("uniform.sample()", "uniform.sample(); seen.append((image, *labels, alpha))"),
        ("lr=2e-3)", "lr=2e-3); first = {n: w.detach().clone() for n, w in stacked.items()}"),
    ):
        assert code.count(ours) == 1
        code = code.replace(ours, instrumented)
    torch.manual_seed(0)
    names = {"seen": []}
    exec(code, names)
    exec(BLOCKS[1].replace("epochs=1,", "epochs=1, progress=False,"), names)
    return names


def test_the_twenty_lines_are_twenty_and_need_the_package_for_data_alone():
    lines = [line for line in BLOCKS[0].splitlines() if line]
    assert len(lines) <= 25 and "pamal_core" not in BLOCKS[0]
    assert len([line for line in lines if "import" not in line]) <= 20


def test_they_end_with_the_weights_of_the_package(after):
    network = pamal.WeightEnsemble([lenet(), lenet()])
    state = dict(network.named_parameters())
    for name, rows in after["first"].items():
        (ours,) = (value for key, value in state.items() if key.endswith(name))
        ours.data.copy_(rows)
    method = pamal.Method(network, after["tasks"])
    adam = torch.optim.Adam(method.parameters(), lr=2e-3)
    assert len(after["seen"]) == 5
    for *batch, alpha in after["seen"]:
        adam.zero_grad()
        method.step(batch, alpha)
        adam.step()
    for name, rows in after["stacked"].items():
        (ours,) = (value for key, value in state.items() if key.endswith(name))
        torch.testing.assert_close(ours, rows.detach(), rtol=1e-3, atol=2e-5)
        assert (rows.detach() - after["first"][name]).abs().max() > 1e-3  # it has moved


def test_the_numbers_of_the_step_and_of_the_penalty_are_right():
    assert "0.7 \\cdot 0.8 + 0.3 \\cdot 1.1 = 0.89" in PAGE
    assert "= 0.16$" in PAGE and math.log((2 + math.exp(0.42)) / 3) == pytest.approx(0.16, abs=5e-3)
    losses = torch.tensor([[0.62, 0.1], [0.3, 0.2], [0.72, 0.3], [0.25, 0.4]])
    alphas = torch.tensor([[0.15, 0.85], [0.4, 0.6], [0.65, 0.35], [0.9, 0.1]])
    assert MultiForward(1.0)(losses, alphas).item() == pytest.approx(0.16, abs=5e-3)
