"""Communication that nothing hides comes before a gain that may be none."""

from __future__ import annotations

from tests.advice.cases.beats import NCCL, collective
from tests.advice.story import H200, Beat, analysis, gemm, item, op, pointwise
from tracelens.advice import advise
from tracelens.advice.blockers.blockers import COSTLY
from tracelens.advice.results import Advice
from tracelens.model.forms import COMPILED

CHAIN = [pointwise(100, 1 << 25) for _ in range(8)]
WORK = [gemm(300)] * 8
COLLECTIVES = [collective(1000)] * 3


def told(*beats: Beat) -> Advice:
    """The advice on a device that the constants were not measured on."""
    return advise(analysis(*beats, deviceProperties=[{"id": 0, **H200, "name": "NVIDIA A100"}]))


def test_a_gain_inside_the_range_is_not_advised_beside_much_exposed_communication() -> None:
    alone, beside = told(*WORK, *CHAIN), told(*WORK, *CHAIN, *COLLECTIVES)
    assert alone.recommendation.verdict == "compile"
    assert beside.recommendation.verdict == "neither"
    assert (beside.forms["compile"].step_ms or 0) < 0.95 * (beside.forms["eager"].step_ms or 0)
    assert "First hide communication" in beside.recommendation.summary
    assert [any(finding.rule == "fusable_chains" for finding in found.findings) for found in (alone, beside)] == [
        True,
        False,
    ]


def test_compiling_is_no_finding_beside_communication_that_comes_first_whatever_a_repair_allows() -> None:
    waits = [item(), *[pointwise(2, host=30)] * 20] * 2
    found = told(*WORK, *CHAIN * 2, *waits, *COLLECTIVES * 2)
    assert found.recommendation.verdict == "neither"
    assert found.recommendation.after_fix is not None
    assert found.recommendation.after_fix.verdict in COMPILED
    assert "First hide communication" in found.recommendation.summary
    assert all(finding.rule != "fusable_chains" for finding in found.findings)


def test_communication_counts_by_its_share_of_the_step_without_the_profiler() -> None:
    beats = [*WORK, *CHAIN, *[collective(510)] * 2, item(), *[pointwise(2, host=30)] * 34]
    assert analysis(*beats).attribution.share("kernel", "communication") < COSTLY
    found = told(*beats).recommendation
    assert found.verdict == "neither"
    assert "it takes 20.5 % of the step" in found.summary


def test_a_gain_beyond_the_range_is_advised_beside_exposed_communication() -> None:
    found = told(*WORK[:2], *CHAIN * 4, *COLLECTIVES)
    assert found.recommendation.verdict == "compile"
    assert "communication" not in found.recommendation.summary


def test_what_the_host_takes_is_gained_beside_communication_too() -> None:
    small = [gemm(3, 256), pointwise(2), pointwise(2)] * 40
    found = told(*small, *[collective(100)] * 10)
    assert found.recommendation.verdict == "both"
    assert any(finding.rule == "captured_collectives" for finding in found.findings)


def test_no_finding_is_of_a_graph_that_is_not_advised() -> None:
    found = told(*[gemm(20, 1024), *[pointwise(10, 1 << 21)] * 2] * 12, *[collective(600)] * 2)
    assert found.recommendation.verdict == "neither"
    assert min(found.forms, key=lambda name: found.forms[name].step_ms or 0) == "both"
    assert all(finding.rule != "captured_collectives" for finding in found.findings)


def test_compiled_work_runs_beside_collectives_as_it_did_in_the_trace() -> None:
    reduced = op("c10d::allreduce_", 900, kernel=NCCL, stream=20)
    found = told(*[reduced, *[op("aten::sort", 150, kernel="sortKernel")] * 4, *[pointwise(100, 1 << 26)] * 2] * 4)
    eager, compile = found.forms["eager"].step_ms or 0, found.forms["compile"].step_ms or 0
    assert compile <= 1.02 * eager


def test_a_device_that_nobody_measured_does_its_recorded_work_at_least() -> None:
    eager = told(*WORK).forms["eager"]
    assert (eager.low or 0) > 0.95 * 8 * 0.3


def test_a_faster_host_overlaps_collectives_with_no_more_than_the_trace_does() -> None:
    """Products on one stream and collectives on another, so late launched that none runs beside the one before."""
    product, other = (gemm(30, 1024, grid=[4, 1, 1], host=35, stream=stream) for stream in (7, 20))
    reduced = op("c10d::allreduce_", 30, kernel=NCCL, stream=20, host=35, grid=[4, 1, 1])
    beside, alike = (told(*[product, last] * 20).forms["eager"] for last in (reduced, other))
    assert (alike.step_ms or 0) < 1.2 <= (beside.step_ms or 0)
    assert "busy_ns" in beside.terms.formula
