from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.build import TraceBuilder
from tests.reference import reference_traces
from tracelens.analysis import analyze
from tracelens.analysis.handles import DEVICE_EVENT, LAUNCH, OPERATOR, SYNC, resolve
from tracelens.analysis.results import Analysis
from tracelens.errors import UnreadableError, UsageError
from tracelens.loading import load_trace
from tracelens.model.events import ABSENT

LAGGING = ("mlp_wide_gemm.eager.", "resnet50_b1.eager.", "train_resnet50_b64_amp.", "gpt_prefill_b8.eager.")
"""Workloads whose device lags the host by more than a step."""
SMALL = 1_000_000
"""Bytes of a trace that is swept; larger ones only where their trust is known."""
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


def two_devices() -> TraceBuilder:
    return (
        TraceBuilder()
        .device_name(0, "NVIDIA H200")
        .device_name(1, "NVIDIA H200")
        .device_name(2, "NVIDIA H200")
        .launch("a", 0, 5, at=10, runs=10, device=0)
        .launch("b", 20, 5, at=30, runs=50, device=1)
        .launch("c", 100, 5, at=110, runs=10, device=0)
    )


def test_the_busiest_device_is_analysed_by_default() -> None:
    trace = two_devices().trace()
    assert analyze(trace).device == 1
    assert analyze(trace, device=0).kernels["name"].tolist() == ["a", "c"]


def test_a_device_that_ran_nothing_is_analysed_and_one_that_is_not_there_refused() -> None:
    trace = two_devices().trace()
    idle = analyze(trace, device=2)
    assert (len(idle.kernels), idle.trust.level) == (0, "unusable")
    with pytest.raises(UsageError, match="no device 3; its devices are 0, 1, 2"):
        analyze(trace, device=3)


@pytest.mark.parametrize(
    "builder",
    [
        TraceBuilder(),
        TraceBuilder().op("aten::add", 0, 10),
        TraceBuilder().step(0, 0, 10).call("cudaLaunchKernel", 2, 3),
    ],
    ids=["empty", "operators", "launch"],
)
def test_a_trace_without_device_work_gives_an_empty_analysis(builder: TraceBuilder) -> None:
    analysis = analyze(builder.trace())
    assert (analysis.device, analysis.form, analysis.trust.level) == (ABSENT, "unknown", "unusable")
    assert analysis.attribution.window_ns == 0
    assert len(analysis.kernels) == len(analysis.gaps) == 0


def test_a_span_and_a_named_step_choose_the_window() -> None:
    builder = TraceBuilder()
    for number in range(4):
        builder.annotation("train", number * 100, 90).launch("gemm", number * 100 + 10, 5)
    trace = builder.trace()
    assert analyze(trace, step="train").window.kind == "annotation"
    assert analyze(trace, span=(0, 150_000)).window.tiles.tolist() == [[0, 150_000]]
    with pytest.raises(UsageError):
        analyze(trace, step="nothing of that name")


def check_tables(analysis: Analysis) -> None:
    """What holds for any trace."""
    trace, steps, events = analysis.trace, analysis.steps, analysis.trace.events
    owned = events.device_work() & (events.device == analysis.device) & (steps.owner != ABSENT)
    assert analysis.kernels["count"].sum() == owned.sum()
    assert analysis.kernels["total_ns"].sum() == events.duration[owned].sum()
    assert analysis.kernels["share"].sum() == pytest.approx(1 if analysis.kernels["total_ns"].sum() else 0)
    assert analysis.operators["device_ns"].sum() <= events.duration[owned].sum()
    assert (analysis.operators["host_ns"] >= 0).all()
    attributed = sum(analysis.attribution.parts["sync"].values())
    assert analysis.syncs["saving_low_ns"].sum() <= attributed
    assert (analysis.syncs["saving_low_ns"] <= analysis.syncs["saving_high_ns"]).all()
    gaps = analysis.gaps
    idle = analysis.attribution.window_ns - sum(analysis.attribution.parts["kernel"].values())
    assert gaps["ns"].sum() >= idle
    assert (gaps["start_ns"].diff().dropna() >= 0).all()
    check_handles(analysis)
    assert all(check.message for check in analysis.trust.checks)
    linked = trace.links.launch[np.flatnonzero(owned)]
    if (linked != ABSENT).all():
        assert set(np.unique(linked)) <= set(analysis.launches["row"])


def check_handles(analysis: Analysis) -> None:
    """Handles in tables resolve to the rows beside them."""
    tables = {
        LAUNCH: (analysis.launches, "handle"),
        SYNC: (analysis.syncs, "handle"),
        DEVICE_EVENT: (analysis.kernels, "example"),
        OPERATOR: (analysis.operators, "example"),
    }
    for prefix, (table, column) in tables.items():
        for row, handle in table[["row", column]].iloc[[0, -1] if len(table) else []].itertuples(index=False):
            target = resolve(analysis.trace, handle)
            assert (target.prefix, target.row) == (prefix, row)
    for _, gap in analysis.gaps.iloc[[0, -1] if len(analysis.gaps) else []].iterrows():
        target = resolve(analysis.trace, gap["handle"])
        assert (target.row, target.device) == (gap["row"], analysis.device)


SWEPT = [path for path in reference_traces("h200", "public") if path.stat().st_size < SMALL or path.name in TRUST]


@pytest.mark.parametrize("path", SWEPT, ids=lambda path: path.name)
def test_real_traces_keep_the_invariants(path: Path) -> None:
    try:
        trace = load_trace(path)
    except UnreadableError:
        pytest.skip("no torch.profiler trace")
    analysis = analyze(trace)
    check_tables(analysis)
    if "mtia" not in path.name:
        unnamed = analysis.kernels[analysis.kernels["kind"] == "other"]
        assert set(unnamed["name"]) <= {"Kernel"}
    if path.parent.name == "h200":
        assert analysis.form == path.name.split(".")[1].removesuffix("_stack")
        assert analysis.trust.level != "unusable"
    if path.name.startswith(LAGGING):
        check_equal_steps(analysis)
    if path.name in TRUST:
        level, failed = TRUST[path.name]
        assert analysis.trust.level == level
        assert failed <= {check.id for check in analysis.trust.checks if not check.passed}


def check_equal_steps(analysis: Analysis) -> None:
    """Every counted step launched the same device time within 3 %, though tiles of time hold others' work."""
    owner, events = analysis.steps.owner, analysis.trace.events
    work = events.device_work() & (owner != ABSENT)
    ns = np.bincount(owner[work], weights=events.duration[work])
    assert len(ns) == len(analysis.window.tiles) >= 2
    assert ns.max() <= 1.03 * ns.min()
