from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.build import TraceBuilder
from tracelens.analysis import analyze
from tracelens.analysis.results import Analysis

US = 1000


def three_steps() -> TraceBuilder:
    """Three like steps of 200 us: a small GEMM 50 us after the step's start, then a reduction and a copy back."""
    builder = TraceBuilder()
    for number in range(3):
        t = number * 200
        builder.step(number, t, 190).python("model.py(41): forward", t + 10, 150)
        builder.op("aten::linear", t + 20, 60).op("aten::mm", t + 30, 40)
        builder.launch("ampere_sgemm_128x64_tn", t + 40, 5, at=t + 50, runs=10)
        builder.op("aten::sum", t + 100, 20)
        builder.launch("void at::native::reduce_kernel<512>(int)", t + 105, 5, at=t + 120, runs=20 + 10 * number)
        builder.op("aten::item", t + 145, 30).copy(t + 150, 4, at=t + 156, runs=2, kind="DtoH (Device -> Pinned)")
        builder.sync(t + 155, 15, "stream")
    return builder


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    """Two counted steps: the last of the three is not comparable."""
    return analyze(three_steps().trace())


def row(table: pd.DataFrame, column: str, value: str) -> pd.Series:
    return table[table[column] == value].iloc[0]


def test_kernels_by_name_with_counts_and_times_of_the_counted_steps(analysis: Analysis) -> None:
    kernels = analysis.kernels
    assert list(kernels) == ["name", "kind", "origin", "count", "total_ns", "median_ns", "share", "example", "row"]
    assert kernels["kind"].tolist() == ["reduction", "gemm", "copy"]
    assert kernels["origin"].tolist() == ["eager", "library", "library"]
    assert kernels["count"].tolist() == [2, 2, 2]
    assert kernels["total_ns"].tolist() == [50 * US, 20 * US, 4 * US]
    assert kernels["median_ns"].tolist() == [25 * US, 10 * US, 2 * US]
    assert kernels["share"].tolist() == pytest.approx([50 / 74, 20 / 74, 4 / 74])
    assert kernels["example"].tolist() == ["k-5", "k-1", "k-3"]


def test_operators_have_the_time_they_spend_themselves(analysis: Analysis) -> None:
    operators = analysis.operators
    columns = ["name", "count", "host_ns", "device_ns", "launches", "where", "example", "row"]
    assert list(operators) == columns
    found = operators.set_index("name")
    assert found["host_ns"].to_dict() == {
        "aten::mm": 80 * US,
        "aten::item": 60 * US,
        "aten::linear": 40 * US,
        "aten::sum": 40 * US,
    }
    assert found["device_ns"].to_dict() == {
        "aten::mm": 20 * US,
        "aten::item": 4 * US,
        "aten::linear": 0,
        "aten::sum": 50 * US,
    }
    assert found["launches"].to_dict() == {"aten::mm": 2, "aten::item": 2, "aten::linear": 0, "aten::sum": 2}
    assert set(found["where"]) == {"model.py:41"}
    assert found["count"].tolist() == [2, 2, 2, 2]


def test_launches_with_their_latency(analysis: Analysis) -> None:
    launches = analysis.launches
    assert list(launches) == ["handle", "call", "ns", "latency_ns", "kernels", "operator", "where", "row"]
    assert launches["handle"].tolist() == [f"l-{number}" for number in range(1, 7)]
    assert launches["ns"].tolist() == [5 * US, 5 * US, 4 * US] * 2
    assert launches["latency_ns"].tolist() == [5 * US, 10 * US, 2 * US] * 2
    assert launches["operator"].tolist() == ["aten::mm", "aten::sum", "aten::item"] * 2


def test_a_launch_without_a_kernel_has_no_latency_and_one_that_starts_early_none_left() -> None:
    trace = TraceBuilder().call("cudaLaunchKernel", 0, 5).launch("early", 10, 10, at=15).trace()
    launches = analyze(trace).launches
    assert launches["latency_ns"].isna().tolist() == [True, False]
    assert launches["latency_ns"].iloc[1] == 0
    assert launches["kernels"].tolist() == [0, 1]


def test_a_graph_launch_is_one_launch_of_many_kernels() -> None:
    trace = TraceBuilder().launch_graph(0, 20, [("a", 25, 10), ("b", 36, 10), ("c", 47, 10)]).trace()
    launches = analyze(trace).launches
    assert launches["kernels"].tolist() == [3]
    assert launches["latency_ns"].tolist() == [5 * US]
    assert launches["operator"].tolist() == [None]


def test_gaps_with_their_cause_and_neighbours(analysis: Analysis) -> None:
    gaps = analysis.gaps
    columns = ["handle", "start_ns", "ns", "class", "part", "before", "after", "operator", "where", "row"]
    assert list(gaps) == columns
    assert gaps["start_ns"].tolist() == [
        (t * 200 + at) * US for t, at in [(0, 60), (0, 140), (0, 158), (1, 60), (1, 150), (1, 158)]
    ]
    first = gaps.iloc[0]
    assert (first["handle"], first["ns"], first["class"], first["part"]) == ("g-2", 60 * US, "dispatch", "framework")
    assert first["before"] == "ampere_sgemm_128x64_tn"
    assert first["after"].startswith("void at::native::reduce_kernel")
    assert analysis.trace.names[analysis.trace.events.name[first["row"]]] == first["after"]
    assert gaps["ns"].sum() == analysis.attribution.window_ns - sum(analysis.attribution.parts["kernel"].values())


@pytest.mark.parametrize("span", [(55, 130), (100, 145), (45, 230)])
def test_a_gap_at_the_edge_of_the_window_counts_as_far_as_it_lies_in_it(span: tuple[int, int]) -> None:
    found = analyze(three_steps().trace(), span=(span[0] * US, span[1] * US))
    gaps = found.gaps
    assert gaps["start_ns"].min() >= span[0] * US
    assert (gaps["start_ns"] + gaps["ns"]).max() <= span[1] * US
    assert gaps["ns"].sum() == found.attribution.window_ns - sum(found.attribution.parts["kernel"].values())


def test_a_gap_that_is_cut_goes_by_what_holds_most_of_the_rest() -> None:
    trace = three_steps().trace()
    whole, late = analyze(trace).gaps.iloc[0], analyze(trace, span=(110 * US, 120 * US)).gaps.iloc[0]
    assert (whole["handle"], whole["class"], whole["part"]) == ("g-2", "dispatch", "framework")
    assert (late["handle"], late["class"], late["part"]) == ("g-2", "launch", "latency")


def test_syncs_of_the_counted_steps(analysis: Analysis) -> None:
    syncs = analysis.syncs
    columns = ["handle", "call", "ns", "busy_overlap_ns", "saving_low_ns", "saving_high_ns", "operator", "where", "row"]
    assert list(syncs) == columns
    assert syncs["handle"].tolist() == ["s-1", "s-2"]
    assert syncs["call"].tolist() == ["cudaStreamSynchronize"] * 2
    assert syncs["busy_overlap_ns"].tolist() == [2 * US] * 2
    assert syncs["operator"].tolist() == ["aten::item"] * 2
    attributed = sum(analysis.attribution.parts["sync"].values())
    assert syncs["saving_low_ns"].sum() == attributed > 0
    assert (syncs["saving_high_ns"] >= syncs["saving_low_ns"]).all()


def test_a_wait_while_the_device_is_busy_costs_little() -> None:
    builder = TraceBuilder()
    for number in range(3):
        t = number * 1000
        builder.step(number, t, 995).launch("gemm", t + 10, 5, at=t + 20, runs=960).sync(t + 16, 965)
    syncs = analyze(builder.trace()).syncs
    assert (syncs["ns"] == 965 * US).all()
    assert (syncs["busy_overlap_ns"] == 960 * US).all()
    assert syncs["saving_high_ns"].sum() <= 2 * 40 * US


def test_a_wait_on_an_idle_device_costs_its_own_time_at_most() -> None:
    trace = TraceBuilder().launch("a", 0, 5, at=8, runs=2).sync(20, 50).launch("b", 80, 5, at=90, runs=5).trace()
    syncs = analyze(trace).syncs
    assert syncs["saving_low_ns"].tolist() == syncs["saving_high_ns"].tolist() == [50 * US]


def test_waits_that_overlap_share_their_time_once() -> None:
    trace = (
        TraceBuilder()
        .launch("a", 0, 5, at=8, runs=2)
        .sync(20, 50)
        .launch("x", 30, 1, at=200, runs=1, thread=9)
        .sync(40, 50, thread=9)
        .launch("b", 95, 5, at=105, runs=5)
        .trace()
    )
    analysis = analyze(trace)
    assert analysis.syncs["saving_low_ns"].sum() == sum(analysis.attribution.parts["sync"].values())


def test_a_blocking_copy_is_a_sync_point_and_one_that_returns_early_is_not() -> None:
    trace = (
        TraceBuilder()
        .copy(0, 30, at=5, runs=20, kind="HtoD (Pageable -> Device)")
        .copy(40, 5, at=50, runs=20)
        .launch("gemm", 80, 5)
        .trace()
    )
    syncs = analyze(trace).syncs
    assert syncs["call"].tolist() == ["cudaMemcpyAsync"]
    assert syncs["ns"].tolist() == [30 * US]


def test_the_wait_after_the_last_step_belongs_to_no_step() -> None:
    builder = TraceBuilder()
    for number in range(3):
        builder.step(number, number * 100, 90).launch("gemm", number * 100 + 10, 5, at=number * 1000 + 20, runs=990)
    analysis = analyze(builder.sync(300, 2710).trace())
    assert analysis.window.length == 2000 * US
    assert len(analysis.syncs) == 0


def test_device_work_counts_for_the_step_that_launched_it() -> None:
    """The host is two steps ahead, so that tiles of time hold other steps' work."""
    builder = TraceBuilder()
    for number in range(4):
        builder.step(number, number * 50, 45)
        for part in range(2):
            at = 40 + number * 400 + part * 200
            builder.launch(f"kernel_{number}", number * 50 + 5 + 10 * part, 5, at=at, runs=190, stream=7 + part)
    analysis = analyze(builder.trace())
    assert row(analysis.kernels, "name", "kernel_0")["count"] == 2
    assert "kernel_3" not in analysis.kernels["name"].tolist()
    assert analysis.kernels["count"].tolist() == [2, 2, 2]
    assert analysis.launches["kernels"].sum() == 6


def test_tables_of_one_device_leave_out_the_work_of_another() -> None:
    builder = TraceBuilder().op("aten::mm", 0, 90)
    builder.launch("mine", 0, 5, at=10, runs=10, device=0).launch("mine", 20, 5, at=30, runs=10, device=0)
    trace = builder.launch("other", 40, 5, at=50, runs=5, device=1).call("cudaLaunchKernel", 60, 5).trace()
    analysis = analyze(trace, device=0, span="all")
    assert analysis.kernels["name"].tolist() == ["mine"]
    assert analysis.launches["handle"].tolist() == ["l-1", "l-2", "l-4"]
    assert analysis.operators[["device_ns", "launches"]].iloc[0].tolist() == [20 * US, 3]


def test_steps_that_early_profilers_record_as_operators_are_no_operators() -> None:
    builder = TraceBuilder()
    for number in range(3):
        builder.op(f"ProfilerStep#{number}", number * 100, 90).op("aten::mm", number * 100 + 10, 20)
        builder.launch("gemm", number * 100 + 15, 5)
    assert analyze(builder.trace()).operators["name"].tolist() == ["aten::mm"]


def test_text_that_is_not_known_is_none() -> None:
    analysis = analyze(TraceBuilder().launch("gemm", 0).launch("gemm", 40).trace())
    assert analysis.launches["where"].tolist() == [None, None]
    assert analysis.gaps["before"].iloc[0] is not None
    assert analysis.gaps["operator"].tolist() == [None]


@pytest.mark.parametrize("name", ["kernels", "operators", "gaps", "syncs", "launches"])
def test_tables_of_an_empty_trace_have_their_columns_and_types(name: str, analysis: Analysis) -> None:
    empty = getattr(analyze(TraceBuilder().trace()), name)
    full = getattr(analysis, name)
    assert len(empty) == 0
    assert list(empty) == list(full)
    assert empty.dtypes.equals(full.dtypes)


def test_times_are_integers(analysis: Analysis) -> None:
    for table in (analysis.kernels, analysis.operators, analysis.gaps, analysis.syncs, analysis.launches):
        for column in table:
            if column == "ns" or column.endswith("_ns"):
                assert np.issubdtype(table[column].to_numpy(dtype=np.int64).dtype, np.int64)
                assert table[column].dtype.kind == "i"
