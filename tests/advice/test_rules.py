"""Rules have metadata, fire on what they are for, and stay silent elsewhere."""

from __future__ import annotations

import pytest

from tests.advice.story import Beat, Clock, analysis, call, gemm, item, pointwise, upload
from tests.build import TraceBuilder
from tracelens.advice import advise
from tracelens.advice.rules import RULES, check_all
from tracelens.analysis import analyze

BIG = 1 << 25


def loader(trace: TraceBuilder, clock: Clock, step: int) -> None:
    """The device waits for a batch."""
    del step
    trace.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", clock.host, 4000)
    clock.host += 4001


def fired(*beats: Beat) -> set[str]:
    found = analysis(*beats)
    return {finding.rule for finding in check_all(found, advise(found).forms)}


STORIES: dict[str, list[Beat]] = {
    "host_bound_dispatch": [pointwise(1, host=30)] * 40,
    "sync_points": [*[pointwise(20)] * 5, item()] * 8,
    "pageable_copies": [upload(), gemm(100)],
    "allocator_churn": [gemm(100), call("cudaMalloc", 500), gemm(100)],
    "data_loading": [loader, gemm(500)],
    "fusable_chains": [pointwise(100, BIG)] * 10,
    "device_limit": [gemm(900)] * 6,
}


@pytest.mark.parametrize("rule", STORIES)
def test_a_rule_fires_on_its_story(rule: str) -> None:
    assert rule in fired(*STORIES[rule])


@pytest.mark.parametrize("rule", sorted(set(STORIES) - {"device_limit"}))
def test_a_rule_is_silent_on_a_device_busy_with_library_kernels(rule: str) -> None:
    assert rule not in fired(*STORIES["device_limit"])


def test_a_wait_that_overlaps_a_busy_device_stays_silent() -> None:
    assert "sync_points" not in fired(*[gemm(20_000)] * 5, item())


def test_metadata_is_complete_and_ids_are_unique() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.title
        assert rule.why.endswith(".")
        assert rule.learn_more.startswith("https://")


def test_a_replayed_step_is_not_told_to_replay() -> None:
    trace = TraceBuilder()
    for step in range(4):
        trace.step(step, 400 * step, 399).launch_graph(400 * step + 5, 10, [("nvjet_gemm", 400 * step + 20, 50)])
    found = advise(analyze(trace.trace())).findings
    assert [finding.rule for finding in found] == ["host_bound_dispatch"]
    assert "CUDA Graph" not in found[0].advice


def test_findings_name_evidence_and_the_largest_saving_comes_first() -> None:
    found = advise(analysis(*STORIES["sync_points"])).findings
    assert all(finding.evidence for finding in found)
    savings = [finding.saving_ms or 0 for finding in found]
    assert savings == sorted(savings, reverse=True)
