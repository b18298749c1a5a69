"""What the fusion model makes of work on the parts of a concatenation."""

from __future__ import annotations

import pytest

from tests.advice.compiling import BIG, compiled, reduction
from tests.advice.story import Beat, op, pointwise


def stacked(parts: int) -> Beat:
    shapes = {"shapes": [[[BIG]] * parts, []], "dtypes": ["TensorList", "Scalar"]}
    return op("aten::cat", 500, concrete=["", "0"], **shapes)


def sine() -> Beat:
    return op("aten::sin", 120, shapes=[[BIG]], dtypes=["float"])


def test_every_part_is_computed_at_each_element() -> None:
    few, more = (compiled(*[sine()] * 4, stacked(parts)) for parts in (2, 4))
    assert (few.generated_kernels, more.generated_kernels) == (1, 1)
    assert more.generated == pytest.approx(2 * few.generated, rel=0.01)


def test_parts_read_what_they_share_once_each() -> None:
    chain = [pointwise(500, BIG)] * 8
    few, more = (compiled(*chain, stacked(parts)).generated for parts in (2, 4))
    assert more > 1.9 * few


def test_nothing_is_computed_twice_before_a_reduction_or_for_many_parts() -> None:
    def kernel(beat: Beat, *after: Beat) -> float:
        return compiled(*[beat] * 8, *after).generated

    assert kernel(sine(), reduction(BIG, "[-1]"), stacked(4)) < 2 * kernel(sine(), reduction(BIG, "[-1]"))
    assert compiled(*[sine()] * 4, stacked(9)).generated < compiled(*[sine()] * 4, stacked(8)).generated


def test_the_copies_of_many_parts_move_as_much_as_the_concatenation_did() -> None:
    """What reads it afterwards, such as a sum over the parts, reads it again."""
    total = reduction(9 * BIG, "[0]", 500)
    few, many = compiled(sine(), stacked(8), total), compiled(sine(), stacked(9), total)
    assert many.generated_kernels >= few.generated_kernels + 8
    assert many.generated - few.generated == pytest.approx(500_000, rel=0.2)
