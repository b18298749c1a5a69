"""What the host of a compiled step takes for the library calls that are left."""

from __future__ import annotations

import pytest

from tests.advice.story import analysis, op
from tracelens.advice import advise, constants


def library_us(dtype: str) -> float:
    """Predicted host time of ten products of two matrices of a type, in us."""
    product = op("aten::mm", 3, shapes=[[64, 64]] * 2, dtypes=[dtype] * 2)
    terms = advise(analysis(*[product] * 10)).forms["compile"].terms
    assert terms is not None
    return terms.values["library_calls_ns"] / 1e3


def test_a_call_on_complex_numbers_goes_through_the_dispatcher() -> None:
    more = library_us("c10::complex<float>") - library_us("float")
    assert more == pytest.approx(10 * constants.COMPLEX_CALL / 1e3)


def test_a_call_that_profiling_slowed_takes_no_more_than_others() -> None:
    slow = op("aten::mm", 3, shapes=[[64, 64]] * 2, dtypes=["float"] * 2, host=400.0)
    terms = advise(analysis(*[slow] * 10)).forms["compile"].terms
    assert terms is not None
    assert terms.values["library_calls_ns"] == pytest.approx(10 * constants.LIBRARY_MOST)
