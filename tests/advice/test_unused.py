"""Forward work of which the backward pass has no use."""

from __future__ import annotations

import pytest

from tests.advice.compiling import compiled
from tests.advice.story import Beat, gemm, op

NODE = "autograd::engine::evaluate_function: AddBackward0"
GRAPHS = 100
"""Sequence numbers of a step."""


def graded(number: int, name: str = "aten::mm") -> Beat:
    """An operator with a sequence number, which rises from step to step."""
    kernel = "nvjet_sm90_gemm_256x128" if name == "aten::mm" else "elementwise_kernel"
    return lambda trace, clock, step: op(name, 5, kernel=kernel, sequence=step * GRAPHS + number)(trace, clock, step)


@pytest.mark.parametrize(
    ("between", "products"),
    [
        pytest.param((), 2, id="unread"),
        pytest.param((graded(2, "aten::detach"),), 3, id="detached"),
        pytest.param((gemm(5),), 4, id="read without gradients"),
    ],
)
def test_a_product_whose_node_never_runs_is_left_out_unless_it_may_be_read_without_gradients(
    between: tuple[Beat, ...], products: int
) -> None:
    forward = (graded(0), graded(1), *between, graded(2), graded(3, "aten::sum"))
    backward = [graded(number, NODE) for number in (3, 2, 0)]
    assert compiled(*forward, *backward).library_kernels == products + len(backward)


def test_without_a_backward_pass_every_product_stays() -> None:
    assert compiled(*(graded(number) for number in range(3))).library_kernels == 3
