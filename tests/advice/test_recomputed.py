"""What gradients make anew of the forward pass rather than read."""

from __future__ import annotations

import pytest

from tests.advice.cases.beats import inside
from tests.advice.compiling import BIG, compiled, elementwise
from tests.advice.story import Beat, gemm, op
from tracelens.advice import constants as C

LOSS = op("aten::mean", 60, kernel="at::native::reduce_kernel", shapes=[[BIG], []], dtypes=["float", ""])
NODE = "autograd::engine::evaluate_function: MulBackward0"
GRADIENT = inside(NODE, *[elementwise("aten::mul", BIG, ["float"] * 2)] * 24)
EXPONENTIAL = 0.38e-3
"""ns per element. [measured: H200]"""


def model(functions: int) -> list[Beat]:
    """A formula of a parameter, and the loss of what it gives."""
    return [*[elementwise("aten::exp", BIG, ["float"])] * functions, elementwise("aten::sub", BIG, ["float"]), LOSS]


def test_a_gradient_reads_no_more_than_the_formula_that_it_makes_anew() -> None:
    alone, stored = (compiled(*before, *model(1), GRADIENT) for before in ([], [gemm(5)]))
    assert alone.generated < 0.6 * stored.generated


def test_a_gradient_computes_the_functions_of_the_formula_again() -> None:
    few, more = (compiled(*model(functions), GRADIENT).generated for functions in (12, 16))
    assert more - few == pytest.approx((1 + C.AMONG_OTHERS) * 4 * EXPONENTIAL * BIG, rel=0.01)


def test_a_gradient_that_reads_less_than_the_formula_makes_nothing_anew() -> None:
    gradient = inside(NODE, elementwise("aten::mul", BIG >> 4, ["float"] * 2))
    alone, stored = (compiled(*before, *model(8), gradient) for before in ([], [gemm(5)]))
    assert alone.generated == stored.generated


def test_a_gradient_without_a_forward_kernel_before_it_reads_what_it_did() -> None:
    alone, stored = (compiled(*before, GRADIENT) for before in ([], [gemm(5)]))
    assert alone.generated == stored.generated


def test_a_forward_pass_of_smaller_tensors_makes_no_gradient_anew() -> None:
    small = elementwise("aten::exp", 4, ["float"])
    alone, stored = (compiled(*before, small, gemm(5), GRADIENT) for before in ([], [gemm(5)]))
    assert alone.generated == stored.generated


def test_reductions_are_not_made_anew() -> None:
    rows = op("aten::sum", 5, kernel="at::native::reduce_kernel", concrete=["", "[1]", "False", ""],
              shapes=[[256, 256], [], [], []], dtypes=["float", "ScalarList", "Scalar", ""])  # fmt: skip
    anew, stored = (compiled(*before, *model(8), GRADIENT).generated for before in ([], [rows]))
    assert stored > 1.1 * anew
