"""Gradients of single values, and matrices whose diagonal alone is of another value."""

from __future__ import annotations

import pytest

from tests.advice.compiling import BIG, compiled, elementwise
from tests.advice.story import Beat, Clock, Given, op
from tests.build import TraceBuilder

SIDE = 1 << 12


def inside(caller: str, *beats: Beat) -> Beat:
    """Beats that an operator of that name calls."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        trace.op(caller, clock.host, 21 * len(beats) + 1.5)
        clock.host += 1
        for beat in beats:
            beat(trace, clock, step)
        clock.host += 1

    return tell


def fill(*shape: int) -> Beat:
    return op("aten::fill_", 50, shapes=[list(shape), []], dtypes=["float", "Scalar"])


def test_an_identity_is_computed_where_it_is_read() -> None:
    scaled = op("aten::mul", 50, shapes=[[SIDE, SIDE], []], dtypes=["float", "Scalar"])
    identity = inside("aten::eye", fill(SIDE, SIDE), fill(SIDE))
    assert compiled(scaled, identity, scaled).generated_kernels == 1
    assert compiled(scaled, fill(SIDE, SIDE), fill(SIDE), scaled).generated_kernels > 1


@pytest.mark.parametrize(("around", "kernels"), [("autograd::engine::evaluate_function: MulBackward0", 2), ("sum", 4)])
def test_gradients_of_single_values_are_summed_in_one_kernel_and_its_second_stage(around: str, kernels: int) -> None:
    given: dict[str, Given] = {"shapes": [[BIG], [], [], []], "dtypes": ["float", "ScalarList", "Scalar", ""]}
    whole = op("aten::sum", 50, kernel="at::native::reduce_kernel", concrete=["", "[]", "False", ""], **given)
    weighed = elementwise("aten::mul", BIG, ["float", "float"])
    assert compiled(weighed, inside(around, whole), weighed, inside(around, whole)).generated_kernels == kernels
