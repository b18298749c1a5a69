"""What generated code spends on functions of single elements."""

from __future__ import annotations

import pytest

from tests.advice.story import Beat, op
from tests.advice.test_fusion import BIG, compiled, pointwise


def of(name: str, *sizes: int) -> Beat:
    return op(name, 500, shapes=[*([size] for size in sizes), []], dtypes=["float"] * len(sizes) + ["Scalar"])


def generated(beat: Beat) -> float:
    return compiled(*[beat] * 12, pointwise(500, BIG)).generated


def test_a_division_by_a_number_is_a_product() -> None:
    assert generated(of("aten::div", BIG)) == generated(of("aten::mul", BIG))


@pytest.mark.parametrize("by", [BIG, 1 << 10])
def test_a_division_by_a_tensor_is_a_function(by: int) -> None:
    assert generated(of("aten::div", BIG, by)) > 1.2 * generated(of("aten::mul", BIG, by))


@pytest.mark.parametrize("name", ["sqrt", "rsqrt"])
def test_a_root_is_a_function(name: str) -> None:
    assert generated(of(f"aten::{name}", BIG)) == generated(of("aten::exp", BIG))
