"""What profilers, eras, vendors and other tools write differently is read with the right value."""

from __future__ import annotations

import importlib.util
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracelens
from tests.build import TraceBuilder
from tests.loading.traces import HEADER, columns_of, event, kinds, kineto, load_bytes, load_events
from tracelens.loading import load_trace, sources
from tracelens.loading.inflate import unzstd
from tracelens.loading.reread import event_args
from tracelens.model.events import ABSENT, NO_STREAM, Category, Role, Trace

pytestmark = pytest.mark.usefixtures("either_scan")


def call(name: str = "cudaLaunchKernel", correlation: int = 5, **changes: object) -> dict[str, Any]:
    args = {"correlation": correlation, "cbid": 211}
    return event(name, 10, 5, cat="cuda_runtime", args=args) | changes


def kernel(name: str = "gemm", correlation: int = 5, **args: object) -> dict[str, Any]:
    place = {"device": 0, "stream": 7, "correlation": correlation, **args}
    return event(name, 20, 9, cat="kernel", pid=0, tid=place["stream"], args=place)


def launches(trace: Trace) -> list[int]:
    """Row of the launch of each device event."""
    return trace.links.launch[trace.events.device_work()].tolist()


# -- what cannot be read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "kind", "example"),
    [
        ({"dur": None}, "events without a duration", "null"),
        ({"dur": "3.4 us"}, "events without a duration", "3.4 us"),
        ({"name": None}, "names that are no text", "null"),
        ({"name": 123}, "names that are no text", "123"),
        ({"name": {"a": 1}}, "names that are no text", '{"a":1}'),
        ({"cat": None}, "categories that are no text", "null"),
        ({"args": [1, 2]}, "arguments that are no object", "[1,2]"),
        ({"args": 3}, "arguments that are no object", "3"),
        ({"args": {"correlation": "c-123"}}, "correlations that are no number", "c-123"),
        ({"args": {"correlation": 7.5}}, "correlations that are no number", "7.5"),
        ({"ph": "x"}, "events of an unknown phase", "event at byte "),
        ({"ph": "XX"}, "events of an unknown phase", "event at byte "),
        ({"ph": 3}, "events of an unknown phase", "event at byte "),
    ],
)
def test_what_an_event_gives_but_nobody_can_read_is_counted(
    changes: dict[str, Any], kind: str, example: str, tmp_path: Path
) -> None:
    trace = load_events([event(), event() | changes, event(), event() | changes], tmp_path)
    (found,) = trace.repairs
    assert (found.kind, found.count, found.example[: len(example)]) == (kind, 2, example)
    assert len(trace.events) == 4


@pytest.mark.parametrize(
    "changes", [{"args": None}, {"args": {"correlation": None}}, {"ph": "M", "name": 3}, {"ph": "E", "name": None}]
)
def test_what_an_event_need_not_give_is_not_counted(changes: dict[str, Any], tmp_path: Path) -> None:
    trace = load_events([event(ph="B"), event(ts=120) | {"ph": "E"} | changes], tmp_path)
    assert not kinds(trace).keys() & {"names that are no text", "arguments that are no object"}
    assert "correlations that are no number" not in kinds(trace)


@pytest.mark.parametrize("written", ["0x1f", "0X1F", "31", 31.0, -2147483617])
def test_calls_and_work_are_linked_by_correlations_however_they_are_written(written: object, tmp_path: Path) -> None:
    """Of 32 bits printed as signed, -2147483617 is 2147483679."""
    given = {"correlation": written}
    trace = load_events([call(args=given), kernel() | {"args": {"device": 0, "stream": 7, **given}}], tmp_path)
    assert launches(trace) == [0]
    assert trace.repairs == ()
    assert trace.events.correlation.tolist()[0] == (31 if not str(written).startswith("-") else 2147483679)


# -- clocks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["ms", "ns", None, "fortnight"])
def test_the_unit_shown_never_changes_the_unit_of_times(unit: str | None, tmp_path: Path) -> None:
    document = {"displayTimeUnit": unit, "traceEvents": [event(ts=5.125, dur=2.001)]}
    events = load_bytes(json.dumps(document).encode(), tmp_path)
    assert (events.base_ns, events.events.duration.tolist()) == (5125, [2001])


@pytest.mark.parametrize("first", ["baseTimeNanoseconds", "traceEvents"])
def test_a_base_before_or_after_the_events_changes_no_time(first: str, tmp_path: Path) -> None:
    members = {"traceEvents": [event(ts=7764763351053.764)], "baseTimeNanoseconds": 1744300000000000000}
    ordered = {first: members[first], **members}
    trace = load_bytes(json.dumps(ordered).encode(), tmp_path)
    assert trace.base_ns == 7764763351053764
    assert trace.metadata["baseTimeNanoseconds"] == 1744300000000000000


def test_thousands_of_events_without_a_length_stay_in_order(tmp_path: Path) -> None:
    pairs = [pair for n in range(3000) for pair in (call(correlation=n + 1, ts=n, dur=0), kernel(correlation=n + 1))]
    for n, device_event in enumerate(pairs[1::2]):
        device_event.update(ts=n + 1, dur=0)
    trace = load_events(pairs, tmp_path)
    assert launches(trace) == list(range(0, 6000, 2))
    assert not trace.events.duration.any()
    assert trace.repairs == ()


def test_events_that_overlap_on_their_lane_keep_their_times(tmp_path: Path) -> None:
    kernels = [kernel(f"k{n}", n + 1) | {"ts": 20 + 3 * n, "dur": 5} for n in range(4)]
    trace = load_events([call(correlation=1), *kernels], tmp_path)
    work = trace.events.device_work()
    assert trace.events.start[work].tolist() == [10_000, 13_000, 16_000, 19_000]
    assert trace.events.duration[work].tolist() == [5000] * 4
    assert trace.repairs == ()


def test_overlap_counts_once_in_the_account() -> None:
    trace = TraceBuilder().op("aten::mm", 0, 10)
    for n in range(4):
        trace.launch(f"k{n}", start=1 + n, dur=1, at=20 + 8 * n, runs=10)
    document = tracelens.report(trace.trace(), span="all").document
    assert document["attribution"]["classes"]["kernel"]["ns"] == 34_000


# -- lanes ------------------------------------------------------------------------------------------------


def test_host_events_on_lane_zero_are_not_of_device_zero(tmp_path: Path) -> None:
    trace = load_events([event("aten::mm", pid=0, tid=0), call(pid=0, tid=0), kernel()], tmp_path)
    assert trace.events.device.tolist() == [ABSENT, ABSENT, 0]
    assert trace.events.stream.tolist() == [NO_STREAM, NO_STREAM, 7]
    assert trace.events.device_work().tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("changes", "category"),
    [
        ({"cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler"}, Category.SPAN),
        ({"cat": "overhead", "name": "Buffer Flush", "pid": -1, "tid": 0}, Category.OVERHEAD),
        ({"cat": "gpu_user_annotation", "name": "ProfilerStep#3", "pid": 0, "tid": 7}, Category.DEVICE_ANNOTATION),
        ({"cat": "cuda_profiler_range", "name": "range", "pid": 0, "tid": 7}, Category.DEVICE_ANNOTATION),
        ({"cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 1_000_007}, Category.DEVICE_SYNC),
    ],
)
def test_what_is_no_work_never_counts_as_work(changes: dict[str, Any], category: Category, tmp_path: Path) -> None:
    trace = load_events([event(**{"ts": 1, **changes})], tmp_path)
    assert trace.events.category.tolist() == [category]
    assert not trace.events.device_work().any()


@pytest.mark.parametrize(("tid", "stream"), [(1_000_007, 7), (7, 7), (-1, -1)])
def test_syncs_of_the_device_name_their_stream(tid: int, stream: int, tmp_path: Path) -> None:
    args = {"device": 0, "stream": stream, "correlation": 4, "wait_on_cuda_event_record_corr_id": -1}
    sync = event("Stream Wait Event", cat="cuda_sync", pid=0, tid=tid, args=args)
    columns = columns_of(load_events([kernel(), sync], tmp_path))
    assert columns["stream"] == [7, stream]
    assert columns["wait_record"] == [(1, -1)]


@pytest.mark.parametrize("place", ["9" * 5_000, "\u00b2", "\u0663", "-" * 9])
def test_a_place_that_is_no_number_names_no_device(place: str, tmp_path: Path) -> None:
    named = {"pid": place, "tid": f"stream {place}"}
    trace = load_events([event("k", cat="kernel", args={}, **named), event(**named)], tmp_path)
    assert trace.events.device.tolist() == [-1, -1]


def test_annotations_repeated_on_streams_add_no_device_time() -> None:
    build = TraceBuilder().op("aten::mm", 0, 10).launch("a", 1, 1, at=20, runs=5)
    plain = tracelens.report(build.trace(), span="all").document["attribution"]
    for stream, shift in ((7, -0.001), (20, 0.002)):
        build.device_annotation("ProfilerStep#0", 20 + shift, 5, stream=stream)
    assert (
        tracelens.report(build.trace(), span="all").document["attribution"]["classes"]["kernel"]
        == (plain["classes"]["kernel"])
    )


# -- links ------------------------------------------------------------------------------------------------


def test_arrows_without_an_end_or_a_beginning_change_nothing(tmp_path: Path) -> None:
    flow = {"cat": "ac2g", "name": "ac2g", "pid": 7, "tid": 8, "ts": 10}
    arrows = [
        *({**flow, "ph": "f", "bp": "e", "id": n} for n in (5, 90, 91)),
        {**flow, "ph": "s", "id": 92},
        {**flow, "ph": "f", "cat": "fwdbwd", "id": 2**40 + 3},
    ]
    trace = load_events([call(), kernel(), *arrows], tmp_path)
    assert launches(trace) == [0]
    assert columns_of(trace)["flow_id"] == [(2, 5), (3, 90), (4, 91), (5, 92), (6, 2**40 + 3)]
    assert trace.events.category[2:].tolist() == [Category.FLOW] * 5
    assert trace.repairs == ()


@pytest.mark.parametrize("cat", ["async", "async_cpu_to_gpu", "async_gpu", "ac2g", "fwdbwd", "forward_backward"])
def test_arrows_have_had_many_names(cat: str, tmp_path: Path) -> None:
    trace = load_events([event(ph=phase, cat=cat, id=3) for phase in "sf"], tmp_path)
    assert trace.events.category.tolist() == [Category.FLOW] * 2


def test_an_external_id_given_twice_means_the_operator_around_the_call(tmp_path: Path) -> None:
    operators = [event(name, ts, 8, args={"External id": 4}) for name, ts in (("first", 0), ("second", 10))]
    submits = call(ts=12, dur=2, args={"correlation": 5, "External id": 4})
    trace = load_events([*operators, submits, kernel(**{"External id": 4})], tmp_path)
    assert trace.links.operator.tolist()[2:] == [1, 1]


def test_external_id_and_correlation_are_two_numbers(tmp_path: Path) -> None:
    operators = [event("wrong", 0, 3, args={"External id": 5}), event("right", 9, 8, args={"External id": 6})]
    trace = load_events([*operators, call(args={"correlation": 5, "External id": 6}), kernel()], tmp_path)
    assert trace.links.operator.tolist()[2:] == [1, 1]


def test_nodes_of_a_replayed_graph(tmp_path: Path) -> None:
    nodes = [kernel(f"n{n}", 5, **{"graph id": 2, "graph node id": 2**40 + n, "priority": 0}) for n in range(3)]
    trace = load_events([call("cudaGraphLaunch"), *nodes], tmp_path)
    columns = columns_of(trace)
    assert launches(trace) == [0, 0, 0]
    assert columns["graph_node_id"] == [(1, 2**40), (2, 2**40 + 1), (3, 2**40 + 2)]
    assert trace.links.operator.tolist() == [ABSENT] * 4
    assert event_args(trace, 1)["priority"] == 0


def test_a_correlation_of_zero_or_none_links_nothing(tmp_path: Path) -> None:
    bare = event("bare", 30, 5, cat="kernel", pid=0, tid=7, args={"device": 0, "stream": 7})
    trace = load_events([call(correlation=0), kernel(correlation=0), bare], tmp_path)
    assert launches(trace) == [ABSENT, ABSENT]


def test_triton_launches_through_the_driver(tmp_path: Path) -> None:
    trace = load_events([call("cuLaunchKernelEx", cat="cuda_driver"), kernel("triton_poi_fused_add_0")], tmp_path)
    assert launches(trace) == [0]
    assert trace.events.role[0] == Role.LAUNCH


def test_ranks_merged_into_one_file_keep_their_launches(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    for rank in (0, 1):
        host = {"pid": 100 + rank, "tid": 100 + rank}
        for number in (1, 2, 3):
            at = 100 * number + rank
            events.append(call(correlation=number, ts=at, dur=2) | host)
            events.append(kernel(correlation=number, device=rank) | {"ts": at + 20 + 3 * rank, "pid": rank})
        own = call(correlation=50 + rank, ts=900, dur=2) | host
        events += [own, kernel(correlation=50 + rank, device=rank) | {"ts": 920, "pid": rank}]
    trace = load_events(events, tmp_path)
    rows = np.flatnonzero(trace.events.device_work())
    assert trace.links.launch[rows].tolist() == (rows - 1).tolist()


def alike_ranks(skew: int) -> list[dict[str, Any]]:
    """Two ranks with the same correlations, one behind the other."""
    events: list[dict[str, Any]] = []
    for rank in (0, 1):
        for number in range(1, 6):
            at = 100 * number + skew * rank
            events.append(call(correlation=number, ts=at, dur=2) | {"pid": 100 + rank, "tid": 100 + rank})
            events.append(kernel(correlation=number, device=rank) | {"ts": at + 20, "pid": rank})
    return events


@pytest.mark.parametrize("skew", [0, 1, 15, 60, 1000])
def test_ranks_one_behind_the_other_are_told_apart_by_their_place(skew: int, tmp_path: Path) -> None:
    trace = load_events(alike_ranks(skew), tmp_path)
    rows = np.flatnonzero(trace.events.device_work())
    assert trace.links.launch[rows].tolist() == (rows - 1).tolist()


@pytest.mark.parametrize("skew", [0, 1, 15, 60])
@pytest.mark.parametrize("order", ["ts", "pid"])
def test_ranks_with_all_correlations_alike_are_not_mixed_up(order: str, skew: int, tmp_path: Path) -> None:
    events = sorted(alike_ranks(skew), key=lambda event: (event[order], event["ts"]))
    assert launches(load_events(events, tmp_path)) == [ABSENT] * 10


# -- vendors ----------------------------------------------------------------------------------------------


def test_stream_zero_of_amd_is_a_stream(tmp_path: Path) -> None:
    noise = call("hipGetDevicePropertiesR0600", correlation=4)
    trace = load_events([noise, call("hipLaunchKernel"), kernel(stream=0, device=2)], tmp_path)
    assert trace.events.stream.tolist() == [NO_STREAM, NO_STREAM, 0]
    assert launches(trace) == [1]
    assert trace.events.role[0] == Role.OTHER
    assert trace.vendor == "hip"
    assert [device.id for device in trace.devices] == [0, 2]


@pytest.mark.parametrize(
    ("runtime", "launch", "device", "vendor"),
    [
        ("xpu_runtime", "urEnqueueKernelLaunch", "kernel", "xpu"),
        ("xpu_driver", "zeCommandListAppendLaunchKernel", "kernel", "xpu"),
        ("mtia_runtime", "runFunction - job_prep_and_submit_for_execution", "mtia_ccp_events", "mtia"),
        ("hip_runtime", "hipExtModuleLaunchKernel", "concurrent_kernel", "hip"),
        ("privateuse1_runtime", "cudaLaunchKernel", "kernel", "privateuse1"),
        ("hpu_runtime", "cudaLaunchKernel", "hpu_op", "hpu"),
        ("Runtime", "cudaLaunchKernel", "Kernel", "cuda"),
    ],
)
def test_vendors_link_alike(runtime: str, launch: str, device: str, vendor: str, tmp_path: Path) -> None:
    trace = load_events([call(launch, cat=runtime), kernel() | {"cat": device}], tmp_path)
    assert trace.events.category.tolist() == [Category.RUNTIME, Category.KERNEL]
    assert launches(trace) == [0]
    assert trace.vendor == vendor


def test_the_first_kineto_traces(tmp_path: Path) -> None:
    host = {"pid": "25738", "tid": "25738"}
    events = [
        event("aten::mm", 0, 30, cat="Operator", args={"external id": 3}) | host,
        event("cudaLaunchKernel", 5, 3, cat="Runtime", args={"external id": 3, "correlation": 9}) | host,
        event("sgemm", 12, 4, cat="Kernel", pid=0, tid="stream 7", args={"external id": 3, "correlation": 9}),
        event("Memcpy HtoD", 20, 4, cat="Memcpy", pid=0, tid="stream 7", args={"correlation": 10}),
        {"ph": "i", "name": "[memory]", "s": "t", "ts": 3, **host, "args": {"Bytes": 512, "Device Type": 1}},
    ]
    trace = load_events(events, tmp_path)
    work = trace.events.device_work()
    assert work.tolist() == [False, False, True, True, False]
    assert trace.events.stream[work].tolist() == [7, 7]
    assert trace.events.device[work].tolist() == [0, 0]
    assert launches(trace) == [1, ABSENT]
    assert trace.links.operator.tolist() == [ABSENT, 0, 0, ABSENT, ABSENT]
    assert trace.events.category[4] == Category.MEMORY


def test_the_first_export_of_all(tmp_path: Path) -> None:
    data = json.dumps([event("aten::mm", 1.5, 2, pid="CPU functions", tid=0)]).encode()
    trace = load_bytes(data, tmp_path)
    assert (trace.lanes.pid, trace.lanes.tid, trace.base_ns) == (("CPU functions",), ("0",), 1500)


# -- values -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bytes", [-2147483648, 2**31, 2**40 + 1, 0])
def test_counts_of_bytes_are_as_written(bytes: int, tmp_path: Path) -> None:
    copy = event("Memcpy", cat="gpu_memcpy", pid=0, tid=7, args={"device": 0, "stream": 7, "bytes": bytes})
    assert columns_of(load_events([copy], tmp_path))["bytes"] == [(0, bytes)]


def test_a_device_without_a_name(tmp_path: Path) -> None:
    data = kineto([kernel()]).replace(b'"NVIDIA A100"', b'""')
    assert [(device.id, device.name) for device in load_bytes(data, tmp_path).devices] == [(0, "")]


@pytest.mark.parametrize(
    ("distributed", "expected"),
    [({"rank": 3}, (3, None)), ({"rank": 1, "world_size": 8, "backend": "nccl"}, (1, 8)), (None, (None, None))],
)
def test_what_is_told_of_the_ranks(
    distributed: dict[str, Any] | None, expected: tuple[int | None, int | None], tmp_path: Path
) -> None:
    members = {**HEADER, "distributedInfo": distributed, "traceEvents": [call(), kernel()]}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(members))
    document = tracelens.report(path).document["trace"]
    assert (document["rank"], document["world_size"]) == expected


def test_brackets_and_quotes_in_the_trace_name(tmp_path: Path) -> None:
    data = kineto([event()]).replace(b'"t.json"', rb'"run [3] {a} \"b\".json", "z": 1')
    trace = load_bytes(data, tmp_path)
    assert trace.metadata["traceName"] == 'run [3] {a} "b".json'
    assert trace.metadata["z"] == 1
    assert len(trace.events) == 1


def test_unescaped_log_lines_behind_the_events(tmp_path: Path) -> None:
    log = b'"INFO": ["Dropped 12 records", "file "C:\\x" not found", ]'
    data = kineto([event()]).replace(b'"traceName"', log + b',\n  "traceName"')
    trace = load_bytes(data, tmp_path)
    assert len(trace.events) == 1
    assert trace.metadata["INFO"][0] == "Dropped 12 records"
    assert trace.metadata["traceName"] == "t.json"
    assert kinds(trace)["unescaped quotes"] == 1


def test_a_trace_of_the_host_alone_has_nothing_to_judge() -> None:
    report = tracelens.report(TraceBuilder().op("aten::mm", 0, 10).step(0, 0, 12).trace())
    assert report.exit_code == 4
    assert report.document["trust"]["level"] == "unusable"


needs_zstd = pytest.mark.skipif(not importlib.util.find_spec("zstandard"), reason="zstandard is not installed")


@needs_zstd
@pytest.mark.parametrize("frames", [1, 3])
def test_zstd_is_read_as_gzip_is(frames: int, tmp_path: Path) -> None:
    zstandard = importlib.import_module("zstandard")
    events = [event(f"op {n}", ts=n, args={"number": n, "text": "x" * (n % 300)}) for n in range(20_000)]
    data = kineto(events)
    cuts = [len(data) * part // frames for part in range(frames + 1)]
    packed = b"".join(zstandard.ZstdCompressor().compress(data[a:b]) for a, b in pairwise(cuts))
    trace = load_bytes(packed, tmp_path, "trace.json.zst")
    assert trace.source.compression == "zstd"
    assert trace.source.decoded_size == len(data)
    assert len(trace.events) == 20_000
    assert trace.repairs == ()
    assert event_args(trace, 19_999) == events[-1]["args"]


@needs_zstd
def test_a_zstd_bomb_is_stopped_and_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LARGEST_SURELY", 1 << 22)
    zstandard = importlib.import_module("zstandard")
    blocks = unzstd([zstandard.ZstdCompressor().compress(bytes(1 << 27))])
    assert max(map(len, blocks)) < 1 << 24
    bomb = zstandard.ZstdCompressor().compress(b"[" + b'{"ph":"X","ts":1},' * 240_000)
    assert "300-fold" in load_bytes(bomb, tmp_path, "bomb.json.zst").repairs[-1].example


@needs_zstd
def test_damaged_zstd_keeps_what_comes_before(tmp_path: Path) -> None:
    zstandard = importlib.import_module("zstandard")
    data = kineto([event(f"op {n * 7919}", ts=n) for n in range(60_000)])
    packed = zstandard.ZstdCompressor(write_checksum=True).compress(data)
    cut = load_bytes(packed[: len(packed) // 2], tmp_path, "cut.json.zst")
    assert 0 < len(cut.events) < 60_000
    assert "zstd data cut short" in cut.repairs[-1].example
    flipped = bytearray(packed)
    flipped[-2] ^= 255
    (tmp_path / "flipped.json.zst").write_bytes(flipped)
    assert "zstd data damaged" in load_trace(tmp_path / "flipped.json.zst").repairs[-1].example
