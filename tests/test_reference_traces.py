"""Every reference trace is accounted for to the ns, or refused in one line.

One reading of a trace serves all that must hold of it: reading is most of the time that these tests take."""

from __future__ import annotations

import bisect
import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.advice.sane import expect_sane_findings
from tests.analysis.accounts import flat, union_ns
from tests.analysis.invariants import check_equal_steps, check_tables
from tests.reference import reference_traces
from tracelens.advice import advise
from tracelens.analysis import analyze
from tracelens.analysis.attribution import attribute
from tracelens.analysis.extent import device_ids, device_rows
from tracelens.analysis.results import Analysis
from tracelens.analysis.steps import find_steps
from tracelens.analysis.timeline import build_timeline
from tracelens.errors import UnreadableError
from tracelens.loading import load_trace
from tracelens.model.events import Int64s, Trace
from tracelens.reporting.printable import cells
from tracelens.reporting.report import Report

WORK = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "concurrent_kernel", "mtia_ccp_events"}
LAGGING = ("mlp_wide_gemm.", "resnet50_b1.", "train_resnet50_b64_amp.", "gpt_prefill_b8.")
"""Workloads whose device lags the host by more than a step."""
TRUST = {
    "rmsnorm_item_branch.eager.json.gz": ("ok", set[str]()),
    "tl_b300_sglang_dsr1_decode.json.gz": ("ok", set[str]()),
    "tl_mi300_resnet_act_ckpt.json.gz": ("ok", set[str]()),
    "tl_mi300_qwen15.json.gz": ("degraded", {"sync_order"}),
    "hta_tracediff_test_v100.json.gz": ("degraded", {"step_spread"}),
    "tl_mi300_sglang_prefilldecode.json.gz": ("unusable", {"stalled"}),
    "hta_timeline_sampled_r0.json.gz": ("unusable", {"stalled"}),
    "hta_trace_compare_base.json.gz": ("unusable", {"linked"}),
    "tl_mi300_gemm_few_tiles.json": ("unusable", {"linked"}),
    "tl_vllm_capture_full.json.gz": ("unusable", {"lost_launches", "building"}),
    "tl_mi300_flux_capture.json.gz": ("unusable", {"lost_launches", "building"}),
    "pt_a100_working.json": ("unusable", {"loading"}),
    "hta_cpu_only_r34.json.gz": ("unusable", {"device_events"}),
    "hta_cupti_profiler.json.gz": ("unusable", {"device_events"}),
}
"""Level and failed checks of sound and damaged traces."""


@pytest.mark.parametrize("path", reference_traces("public", "broken", "h200"), ids=lambda path: path.name)
def test_a_reference_trace_is_accounted_for_or_refused(path: Path) -> None:
    trace = opened(path)
    if trace is None:
        return
    analysis, whole = analyze(trace), analyze(trace, span="all")
    advice = advise(analysis)
    check_report(Report(analysis, advice))
    check_accounts(trace)
    if path.parent.name != "broken":
        check_busy(path, analysis, whole)
    check_tables(analysis)
    expect_sane_findings(analysis, advice)
    check_what_is_known(path, analysis, whole)


def opened(path: Path) -> Trace | None:
    """The trace; None where it is refused in one line."""
    try:
        return load_trace(path)
    except UnreadableError as refusal:
        if len(str(refusal).splitlines()) == 1:
            return None
        raise


def check_report(report: Report) -> None:
    """The document adds up, and the page fits a terminal."""
    document: dict[str, Any] = json.loads(report.to_json())
    attribution = document["attribution"]
    classes = attribution["classes"].values()
    assert all(group["ns"] == sum(group["parts"].values()) for group in classes)
    tiles = document["window"]["intervals_ns"]
    assert sum(group["ns"] for group in classes) == attribution["window_ns"] == sum(end - start for start, end in tiles)
    code = document["recommendation"]["snippet"].splitlines()
    assert [line for line in report.to_text().splitlines() if cells(line) > 80 and line.strip() not in code] == []


def check_accounts(trace: Trace) -> None:
    """On every device each ns of a window is in one part, and the kernel class is the union of device work."""
    for device in device_ids(trace):
        timeline, _ = build_timeline(trace, device)
        assert (timeline.start[1:] == timeline.end[:-1]).all()
        for tiles in (find_steps(trace, device).window.tiles, find_steps(trace, device, span="all").window.tiles):
            attribution = attribute(timeline, tiles)
            assert sum(flat(attribution).values()) == attribution.window_ns == int((tiles[:, 1] - tiles[:, 0]).sum())
            assert min(flat(attribution).values(), default=0) >= 0
            assert sum(attribution.parts["kernel"].values()) == busy_rows(trace, device, tiles)


def busy_rows(trace: Trace, device: int, tiles: Int64s) -> int:
    rows = device_rows(trace, device)
    start, end = trace.events.start[rows], trace.events.end[rows]
    return sum(union_ns(start, end, low, high) for low, high in tiles.tolist())


def check_busy(path: Path, *analyses: Analysis) -> None:
    """The kernel class is the union of device work also where that is read without the product's loader."""
    spans = device_spans(path, analyses[0].device)
    for analysis in analyses:
        tiles = (analysis.window.tiles + analysis.trace.base_ns).tolist()
        assert sum(analysis.attribution.parts["kernel"].values()) == busy_within(spans, tiles)


def device_spans(path: Path, device: int) -> list[tuple[int, int]]:
    """Disjoint ascending stretches in ns in which the file has device events."""
    data = path.read_bytes()
    content = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data, parse_float=str)
    events = content if isinstance(content, list) else content["traceEvents"]
    work = [event for event in events if event.get("ph") == "X" and str(event.get("cat")).lower() in WORK]
    here = [event for event in work if int((event.get("args") or {}).get("device", event["pid"])) == device]
    times = [(Decimal(event["ts"]) * 1000, Decimal(event["dur"]) * 1000) for event in here]
    joined: list[tuple[int, int]] = []
    for start, end in sorted((int(start), int(start + duration)) for start, duration in times):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def busy_within(spans: list[tuple[int, int]], tiles: list[list[int]]) -> int:
    """Length of disjoint ascending spans inside disjoint tiles."""
    total = 0
    for begin, finish in tiles:
        first = max(bisect.bisect(spans, (begin, begin)) - 1, 0)
        last = bisect.bisect(spans, (finish, finish))
        total += sum(max(min(end, finish) - max(start, begin), 0) for start, end in spans[first:last])
    return total


def check_what_is_known(path: Path, analysis: Analysis, whole: Analysis) -> None:
    """What the file's own workload, or a look at it, says."""
    if path.parent.name != "broken" and "mtia" not in path.name:
        unnamed = analysis.kernels[analysis.kernels["kind"] == "other"]
        assert set(unnamed["name"]) <= {"Kernel"}
    if path.parent.name == "h200":
        assert analysis.form == path.name.split(".")[1].removesuffix("_stack")
        assert analysis.trust.level != "unusable"
        account = whole.attribution
        assert account.share("unknown") - account.share("unknown", "profiler") <= 0.01
        assert account.share("device", "dependency") < 0.01
    if path.name.startswith(LAGGING):
        check_equal_steps(analysis)
    if path.name in TRUST:
        level, failed = TRUST[path.name]
        assert analysis.trust.level == level
        assert failed <= {check.id for check in analysis.trust.checks if not check.passed}


def test_the_slow_union_counts_what_overlaps_once() -> None:
    start, end = np.array([0, 5, 30]), np.array([10, 20, 40])
    assert union_ns(start, end, 2, 35) == 18 + 5
    assert busy_within([(0, 20), (30, 40)], [[2, 10], [15, 35]]) == 8 + 5 + 5
