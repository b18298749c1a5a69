"""Vendors and eras of the profiler are read with the same meaning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.loading.traces import call, event, kernel, launches, load_bytes, load_events
from tracelens.model.events import ABSENT, NO_STREAM, Category, Role

pytestmark = pytest.mark.usefixtures("either_scan")


def test_triton_launches_through_the_driver(tmp_path: Path) -> None:
    trace = load_events([call("cuLaunchKernelEx", cat="cuda_driver"), kernel("triton_poi_fused_add_0")], tmp_path)
    assert launches(trace) == [0]
    assert trace.events.role[0] == Role.LAUNCH


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
