"""Work outside PyTorch: told from dispatch by its length, with what leaving compiled code for it costs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest

from tests.advice.cases.beats import loader, pause
from tests.advice.story import Beat, Clock, analysis, gemm, pointwise
from tests.build import TraceBuilder
from tracelens.advice import advise
from tracelens.advice import constants as C
from tracelens.advice.outside import LONG, UNCLEAR, find_outside
from tracelens.advice.results import Form

BODY = [gemm(10)] * 4


def left(*beats: Beat) -> float:
    terms = advise(analysis(*beats)).forms["compile"].terms
    assert terms is not None
    return terms.values.get("left_ns", 0.0)


def test_work_within_a_step_leaves_compiled_code_once() -> None:
    assert left(*BODY, pause(3_000), *BODY) == pytest.approx(C.GUARDS + C.REGION_OVERHEAD)
    assert find_outside(analysis(*BODY, pause(3_000), *BODY, pause(3_000), *BODY)).left == 2


@pytest.mark.parametrize(
    "beats", [(loader(3_000), *BODY), (*BODY, loader(3_000), *BODY), (pause(3_000), *BODY), (*BODY, pause(3_000))]
)
def test_input_and_work_before_or_behind_a_step_do_not(beats: tuple[Beat, ...]) -> None:
    assert left(*beats) == 0


def test_leaving_takes_no_more_than_what_dispatch_does_not_explain() -> None:
    short = find_outside(analysis(*BODY, pause(LONG / 1e3 + 50), *BODY))
    assert 0 < short.beyond < C.GUARDS + C.REGION_OVERHEAD
    assert left(*BODY, pause(LONG / 1e3 + 50), *BODY) == pytest.approx(short.beyond)


def pausing(us: float) -> Mapping[str, Form]:
    return advise(analysis(*[pointwise(3, 1 << 16, host=30)] * 10, pause(us))).forms


def test_a_longer_pause_leaves_the_ranges_in_touch() -> None:
    steps = [pausing(us) for us in (200, 280, 320, 400, 480, 499, 501, 550, 700)]
    for shorter, longer in pairwise(steps):
        for form in ("eager", "compile", "replay", "both"):
            assert (longer[form].low or 0) <= (shorter[form].high or 0), form


def test_a_pause_that_may_be_work_keeps_its_time_at_the_high_end_alone() -> None:
    short, unclear = pausing(UNCLEAR / 1e3 - 100), pausing(UNCLEAR / 1e3 + 100)
    assert unclear["replay"].step_ms == pytest.approx(short["replay"].step_ms)
    assert (unclear["replay"].high or 0) > (short["replay"].high or 0) + 0.8 * UNCLEAR / 1e6


def test_a_pause_of_one_step_is_no_work_of_the_step() -> None:
    def once(trace: TraceBuilder, clock: Clock, step: int) -> None:
        if step == 2:
            pause(400)(trace, clock, step)

    assert find_outside(analysis(*BODY, once, *BODY)).unclear == 0


@pytest.mark.parametrize("us", [2_000, 100_000])
def test_what_a_loader_takes_it_takes_at_the_low_end_too(us: float) -> None:
    forms = advise(analysis(loader(us), *BODY)).forms
    for name, form in forms.items():
        assert (form.low or 0) > 0.6 * us / 1e3, name
