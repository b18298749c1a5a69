"""A pause of the host in one step is told, and none of the forms' times are of it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.advice.cases.beats import pause
from tests.advice.story import Beat, analysis, at_step, gemm, item, pointwise
from tracelens.advice import advise
from tracelens.advice.results import Advice
from tracelens.analysis.typical import halves, of_typical_steps, typical_steps
from tracelens.model.forms import FORMS

HALF = [pointwise(2, host=30)] * 40


def advised(*beats: Beat, steps: int = 4) -> Advice:
    return advise(analysis(*HALF, *beats, *HALF, steps=steps))


@pytest.mark.parametrize(("us", "paused", "steps"), [(1_500, 1, 4), (20_000, 2, 4), (500_000, 3, 7)])
def test_a_pause_changes_no_time_and_no_verdict(us: int, paused: int, steps: int) -> None:
    smooth, held_up = advised(steps=steps), advised(at_step(paused, pause(us)), steps=steps)
    assert held_up.recommendation.verdict == smooth.recommendation.verdict == "both"
    for name in FORMS:
        assert held_up.forms[name].step_ms == pytest.approx(smooth.forms[name].step_ms, rel=0.05)


def test_a_long_pause_lowers_the_confidence_and_is_a_finding_that_saves_nothing_of_the_typical_step() -> None:
    smooth, held_up = advised(), advised(at_step(1, pause(500_000)))
    assert held_up.recommendation.confidence < smooth.recommendation.confidence
    told = [finding for finding in held_up.findings if finding.rule == "host_pause"]
    assert [finding.saving_ms for finding in told] == [None]
    assert "1 of 3 steps" in told[0].title


def test_what_every_step_does_is_no_pause() -> None:
    assert advised(pause(20_000)).forms["replay"].step_ms == pytest.approx(20, rel=0.02), "not profiled, as long"


def test_a_step_that_is_longer_by_its_work_is_as_typical_as_the_others() -> None:
    more = [pointwise(2, host=30)] * 120
    found = analysis(*HALF, *(at_step(1, beat) for beat in more), steps=4)
    assert typical_steps(found).all()
    assert of_typical_steps(found) is found


def test_the_same_kernels_that_took_longer_once_are_no_more_work() -> None:
    """Of as many steps as have it, one runs the kernels at less than half of their speed."""

    def slowly(runs: float) -> list[Beat]:
        return [at_step(step, gemm(runs if step == 2 else 300.0)) for step in range(6)] * 4

    steady, slowed = advise(analysis(*slowly(300.0), steps=6)), advise(analysis(*slowly(900.0), steps=6))
    for name in FORMS:
        assert slowed.forms[name].step_ms == pytest.approx(steady.forms[name].step_ms, rel=0.02)
    larger = [
        at_step(step, gemm(900.0 if step == 2 else 300.0, grid=[2 if step == 2 else 1, 1, 1])) for step in range(6)
    ]
    assert typical_steps(analysis(*larger * 4, steps=6)).all(), "larger ones are"


def test_a_pause_hides_no_steps_that_change() -> None:
    found = advised(
        at_step(1, gemm(5.0)), at_step(2, pause(50_000)), at_step(3, item()), at_step(3, gemm(5.0)), steps=5
    )
    assert "changing_kernels" in {blocker.id for blocker in found.forms["replay"].blockers}


def test_typical_steps_keep_their_time_and_their_work() -> None:
    found = analysis(*HALF, at_step(2, pause(50_000)), *HALF, steps=5)
    usual = of_typical_steps(found)
    kept = typical_steps(found)
    assert 0 < kept.sum() < len(kept)
    assert usual.attribution.window_ns == usual.window.length == int(np.diff(found.window.tiles[kept]).sum())
    assert set(np.unique(usual.steps.owner)) == {-1, *range(int(kept.sum()))}


def test_a_single_counted_step_is_less_sure_than_several() -> None:
    several, one = advised(steps=4), advised(steps=2)
    assert one.recommendation.verdict == several.recommendation.verdict
    assert one.recommendation.confidence == pytest.approx(0.7 * several.recommendation.confidence, abs=0.05)


@pytest.mark.parametrize(("paused", "typical"), [((2,), 3), ((2, 3), 4), ((1, 2, 3), 4)])
def test_half_of_the_steps_are_not_held_up(paused: tuple[int, ...], typical: int) -> None:
    found = analysis(*HALF, *(at_step(step, pause(50_000)) for step in paused), steps=5)
    kept = typical_steps(found)
    assert len(kept) == 4
    assert kept.sum() == typical


def test_the_range_holds_both_halves_of_the_steps() -> None:
    found = analysis(*HALF, *(at_step(step, pause(50_000)) for step in (2, 3)), *HALF, steps=5)
    tiles = found.window.tiles
    length = np.sort(tiles[:, 1] - tiles[:, 0]) / 1e6
    short, long = length[:2].mean(), length[2:].mean()
    assert long > short + 49
    assert halves(found) == (pytest.approx(short * 1e6), pytest.approx(long * 1e6))
    eager = advise(found).forms["eager"]
    assert eager.low is not None
    assert eager.high is not None
    assert eager.low <= short < long <= eager.high


def test_steps_alike_and_a_single_pause_have_no_halves() -> None:
    assert halves(analysis(*HALF, steps=5)) is None
    assert halves(analysis(*HALF, at_step(2, pause(50_000)), *HALF, steps=5)) is None
