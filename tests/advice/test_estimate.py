"""An estimate keeps its order, whatever is done to it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.advice.story import analysis, item
from tracelens.advice import advise
from tracelens.advice.estimate import Estimate, either

TIMES = st.floats(0, 1e12)
ESTIMATES = st.builds(Estimate, TIMES, TIMES, TIMES)


def expect_order(known: Estimate) -> None:
    assert known.low <= known.mid <= known.high
    form = known.form()
    assert form.low is not None
    assert form.step_ms is not None
    assert form.high is not None
    assert form.low <= form.step_ms <= form.high


@given(ESTIMATES, ESTIMATES, TIMES, st.floats(1, 100), st.floats(0, 1))
def test_a_range_holds_its_own_number(one: Estimate, other: Estimate, bound: float, slack: float, share: float) -> None:
    made = (one + other, one.at_least("floor", floor=bound), one.at_most(bound, slack), either(one, other, share))
    for known in (one, *made, one.widened(slack)):
        expect_order(known)


@given(TIMES, TIMES, TIMES)
def test_a_range_that_leaves_its_number_out_is_stretched_to_it(mid: float, low: float, high: float) -> None:
    known = Estimate(mid, low, high)
    assert (known.mid, known.low, known.high) == (mid, min(mid, low), max(mid, high))


def test_a_slower_host_that_waits_less_leaves_eager_in_its_range() -> None:
    eager = advise(analysis(item(), steps=11, pause=1_000)).forms["eager"]
    assert eager.low is not None
    assert eager.step_ms is not None
    assert eager.high is not None
    assert eager.low <= eager.step_ms <= eager.high
