"""Momentum that a compiled optimizer makes in memory of the compiler's graphs."""

from __future__ import annotations

import pytest

from tests.advice.cases.beats import inside
from tests.advice.story import Beat, analysis, item, op, pointwise
from tracelens.advice import advise
from tracelens.advice.results import Advice

WORK = [*[pointwise(20, 1 << 20)] * 30, op("autograd::engine::evaluate_function: AddBackward0", 2, host=20)]


def updated(optimizer: str, *operators: str) -> Beat:
    """A step of an optimizer, of operators on lists of tensors."""
    return inside(f"Optimizer.step#{optimizer}.step", *(op(name, 2) for name in operators), kind="annotation")


MOMENTUM = ("aten::_foreach_mul_", "aten::_foreach_add_", "aten::_foreach_add_")


def advised(beat: Beat, *more: Beat) -> Advice:
    return advise(analysis(*WORK, *more, beat))


def test_momentum_that_a_compiled_step_makes_is_overwritten_under_reduce_overhead() -> None:
    forms = advised(updated("SGD", *MOMENTUM), item()).forms
    assert forms["both"].step_ms is None
    assert [blocker.id for blocker in forms["both"].blockers] == ["sync", "momentum"]
    assert "eager" in forms["both"].blockers[-1].advice
    assert forms["compile"].step_ms is not None


@pytest.mark.parametrize(
    "beat",
    [
        updated("SGD", "aten::_foreach_add_"),
        updated("SGD", "aten::_fused_sgd_"),
        updated("AdamW", *MOMENTUM),
    ],
)
def test_what_makes_no_state_in_its_step_is_replayed(beat: Beat) -> None:
    assert advised(beat, item()).forms["both"].step_ms is not None


def test_a_step_that_can_be_captured_is_so_once_it_has_its_momentum() -> None:
    both = advised(updated("SGD", *MOMENTUM)).forms["both"]
    assert both.variant == "manual"
    assert both.step_ms is not None
    assert both.blockers == ()
