"""A host slower than those of the calibration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.advice.story import analysis, op
from tracelens.advice import constants as C
from tracelens.advice.compiler.fusion import compile_device
from tracelens.advice.device.facts import Facts, facts_of
from tracelens.advice.forms.compiled import predict_compile
from tracelens.advice.forms.host_time import call_gauge, launch_gauge, slowness


def facts(call: float, busy: float) -> Facts:
    """A step of small products whose launch calls take so many ns, and the device's share of it."""
    found = facts_of(analysis(*[op("aten::mm", 2, host=400)] * 20))
    assert found is not None
    return replace(found, region=replace(found.region, call=call, busy=busy * found.region.recorded))


@pytest.mark.parametrize("times", [1, 2, 10])
def test_compiled_code_is_as_much_slower_as_launch_calls_that_wait_for_nothing(times: float) -> None:
    usual, slow = facts(C.CALL_RANGE[1], 0.1), facts(times * C.CALL_RANGE[1], 0.1)
    assert slowness(slow.region) == pytest.approx(times)
    taken = [predict_compile(found, compile_device(found), 1).mid for found in (usual, slow)]
    assert taken[1] == pytest.approx(times * taken[0], rel=0.05)


def test_slow_launch_calls_tell_of_host_work_outside_the_trace_only_where_the_device_waits_for_them() -> None:
    waiting, kept = (facts(1.5 * C.REFERENCE_CALL, busy).region for busy in (0.1, 0.9))
    gauge = 1.5**-C.GAUGE_POWER
    assert (launch_gauge(waiting), launch_gauge(kept)) == pytest.approx((gauge, 1.0))
    assert [call_gauge(region) / region.speed for region in (waiting, kept)] == pytest.approx([gauge, gauge])


@pytest.mark.parametrize(("runs", "share"), [(400, C.LEAST_SHOWN), (10, 1.1)], ids=["slow", "fast"])
def test_generated_kernels_reach_most_of_the_usual_bandwidth_whatever_the_trace_shows(
    runs: float, share: float
) -> None:
    shape = [1 << 22]
    found = facts_of(analysis(*[op("aten::add", runs, shapes=[shape] * 2, dtypes=["float"] * 2)] * 20))
    assert found is not None
    usual = C.ACHIEVABLE * C.PEAK_BANDWIDTH["H200"]
    assert found.bandwidth.rate == pytest.approx(share * usual)


def test_long_calls_of_a_busy_device_and_short_ones_tell_nothing() -> None:
    assert slowness(facts(100 * C.CALL_RANGE[1], 0.9).region) == 1
    assert slowness(facts(C.CALL_RANGE[0] / 2, 0.1).region) == 1
