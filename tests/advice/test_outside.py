"""What leaving compiled code for work outside costs."""

from __future__ import annotations

import pytest

from tests.advice.cases.beats import loader, pause
from tests.advice.story import Beat, analysis, gemm
from tracelens.advice import advise
from tracelens.advice import constants as C
from tracelens.advice.outside import LONG, find_outside

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
