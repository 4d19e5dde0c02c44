"""What the gradient rules make of one task, equal gradients, gradients of 0 and NaN."""

import pytest
import torch
from jacobians import combine, well_conditioned

from pamal_core.balancing import IMTL, MGDA, CAGrad, GradDrop, NashMTL, PCGrad

RULES = [MGDA(), PCGrad(), IMTL(), GradDrop(), CAGrad(), NashMTL()]

G, U = torch.tensor([3.0, 4.0]), torch.tensor([0.6, 0.8])
DEGENERATE = {  # one task; the second gradient 0; two equal ones; -2 g as the second
    "MGDA": (G, 0 * G, G, 0 * G),
    "PCGrad": (G, G / 2, G, 0 * G),
    "IMTL": (G, G, G, 0 * G),
    "GradDrop": (G, G / 2, G, None),
    "CAGrad": (1.4 * G, G / 2, 1.4 * G, -0.3 * G),
    "NashMTL": (U, U, 2**0.5 * U, 0 * G),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_a_degenerate_jacobian_has_the_documented_result(rule, dtype):
    cases = [[1.0]], [[1.0], [0.0]], [[1.0], [1.0]], [[1.0], [-2.0]]
    for case, expected in zip(cases, DEGENERATE[type(rule).__name__], strict=True):
        if expected is not None:
            got = combine(rule, torch.tensor(case, dtype=dtype) * G)
            torch.testing.assert_close(got, expected.to(dtype), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: type(r).__name__)
def test_no_gradient_gives_no_direction_and_nan_gives_nan(rule):
    assert not combine(rule, torch.zeros(3, 4)).any()
    broken = torch.randn(3, 4)
    broken[1, 2] = torch.nan
    assert combine(rule, broken).isnan().any()


@pytest.mark.parametrize("rule", RULES, ids=lambda r: type(r).__name__)
def test_single_precision_gives_the_same_direction(rule):
    for jacobian in well_conditioned(3):
        torch.manual_seed(0)
        expected = combine(rule, jacobian)
        torch.manual_seed(0)
        got = combine(rule, jacobian.float())
        assert got.dtype == torch.float
        if not isinstance(rule, GradDrop):  # whose draws differ between precisions
            torch.testing.assert_close(got.double(), expected, rtol=1e-3, atol=1e-4)
