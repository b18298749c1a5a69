"""Builds small Kineto traces with known answers, and reads them back through the real loader.

Times are microseconds. A loaded trace counts ns from its earliest event: begin at 0, and both agree. Every method
that adds events returns the builder, so that a trace reads as a story:

    trace = (
        TraceBuilder()
        .step(0, start=0, dur=100)
        .op("aten::mm", start=10, dur=30, shapes=[[64, 64], [64, 64]])
        .launch("gemm", start=20, dur=5, at=40, runs=50)
        .trace()
    )
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tracelens.loading import load_trace
from tracelens.model.events import Trace

HOST_PID = 4000
MAIN_THREAD = 4000
FIRST_CORRELATION = 100


@dataclass(frozen=True)
class Vendor:
    """How one vendor's runtime names its calls."""

    category: str
    launch: str
    graph_launch: str
    copy: str
    memset: str
    sync: Mapping[str, str]
    alloc: str
    free: str
    load: str


VENDORS = {
    "cuda": Vendor(
        "cuda_runtime",
        "cudaLaunchKernel",
        "cudaGraphLaunch",
        "cudaMemcpyAsync",
        "cudaMemsetAsync",
        {"device": "cudaDeviceSynchronize", "stream": "cudaStreamSynchronize", "event": "cudaEventSynchronize"},
        "cudaMalloc",
        "cudaFree",
        "cuModuleLoadData",
    ),
    "hip": Vendor(
        "cuda_runtime",
        "hipLaunchKernel",
        "hipGraphLaunch",
        "hipMemcpyWithStream",
        "hipMemsetAsync",
        {"device": "hipDeviceSynchronize", "stream": "hipStreamSynchronize", "event": "hipEventSynchronize"},
        "hipMalloc",
        "hipFree",
        "hipModuleLoadData",
    ),
    "xpu": Vendor(
        "xpu_runtime",
        "urEnqueueKernelLaunch",
        "urEnqueueGraphLaunch",
        "urEnqueueUSMMemcpy",
        "urEnqueueUSMFill",
        {"device": "urQueueFinish", "stream": "urQueueFinish", "event": "urEventWait"},
        "urUSMDeviceAlloc",
        "urUSMFree",
        "urProgramCreateWithBinary",
    ),
}


class TraceBuilder:
    """A trace document that grows event by event."""

    def __init__(self, vendor: str = "cuda", *, metadata: Mapping[str, Any] | None = None) -> None:
        self.vendor = VENDORS[vendor]
        self.events: list[dict[str, Any]] = []
        self.metadata = dict(metadata or {})
        self.threads: dict[int, str] = {MAIN_THREAD: "python3"}
        self.device_names: dict[int, str] = {}
        self._recorded_until: float | None = None
        self._correlation = FIRST_CORRELATION
        self._external_id = 0

    # -- host ---------------------------------------------------------------------------------------------

    def op(
        self,
        name: str,
        start: float,
        dur: float,
        *,
        thread: int = MAIN_THREAD,
        shapes: list[Any] | None = None,
        dtypes: list[str] | None = None,
        concrete: list[str] | None = None,
        sequence: int | None = None,
        **args: object,
    ) -> Self:
        """An operator (cpu_op) with its own External id."""
        self._external_id += 1
        given = {"Input Dims": shapes, "Input type": dtypes, "Concrete Inputs": concrete, "Sequence number": sequence}
        known = {key: value for key, value in given.items() if value is not None}
        return self._host("cpu_op", name, start, dur, thread, {"External id": self._external_id, **known, **args})

    def annotation(self, name: str, start: float, dur: float, *, thread: int = MAIN_THREAD) -> Self:
        """A user_annotation (record_function, Optimizer.step#..., DataLoader ...)."""
        return self._host("user_annotation", name, start, dur, thread, {})

    def step(self, number: int, start: float, dur: float, *, thread: int = MAIN_THREAD) -> Self:
        """ProfilerStep#number."""
        return self.annotation(f"ProfilerStep#{number}", start, dur, thread=thread)

    def python(
        self,
        name: str,
        start: float,
        dur: float,
        *,
        thread: int = MAIN_THREAD,
        id: int | None = None,
        parent: int | None = None,
    ) -> Self:
        """A Python frame, named as the profiler does: "model.py(41): forward"."""
        args = {"Python id": id, "Python parent id": parent}
        return self._host("python_function", name, start, dur, thread, args)

    def call(
        self,
        name: str,
        start: float,
        dur: float,
        *,
        thread: int = MAIN_THREAD,
        correlation: int | None = None,
        category: str | None = None,
        **args: object,
    ) -> Self:
        """A runtime call that submits nothing unless `correlation` says so."""
        number = self._next_correlation() if correlation is None else correlation
        cat = category or self.vendor.category
        return self._host(cat, name, start, dur, thread, {"cbid": 0, "correlation": number, **args})

    def sync(self, start: float, dur: float, kind: str = "device", *, thread: int = MAIN_THREAD) -> Self:
        """A blocking wait; kind is "device", "stream" or "event"."""
        return self.call(self.vendor.sync[kind], start, dur, thread=thread)

    def malloc(self, start: float, dur: float, *, thread: int = MAIN_THREAD) -> Self:
        """An allocation on the device."""
        return self.call(self.vendor.alloc, start, dur, thread=thread)

    def free(self, start: float, dur: float, *, thread: int = MAIN_THREAD) -> Self:
        """A release of device memory."""
        return self.call(self.vendor.free, start, dur, thread=thread)

    def load_module(self, start: float, dur: float, *, thread: int = MAIN_THREAD) -> Self:
        """Loading a module of kernels."""
        return self.call(self.vendor.load, start, dur, thread=thread)

    def overhead(self, start: float, dur: float, name: str = "Buffer Flush") -> Self:
        """The profiler's own work; it carries no thread."""
        return self._add("overhead", name, start, dur, -1, 0, {})

    # -- work on a device ---------------------------------------------------------------------------------

    def launch(
        self,
        kernel: str,
        start: float,
        dur: float = 5,
        *,
        at: float | None = None,
        runs: float = 10,
        thread: int = MAIN_THREAD,
        stream: int = 7,
        device: int = 0,
        call: str | None = None,
        **args: object,
    ) -> Self:
        """A launch call and its kernel, which starts `at` (by default 3 us after the call) and `runs` so long."""
        number = self._next_correlation()
        self.call(call or self.vendor.launch, start, dur, thread=thread, correlation=number)
        begins = start + dur + 3 if at is None else at
        return self.kernel(kernel, begins, runs, correlation=number, stream=stream, device=device, **args)

    def launch_graph(
        self,
        start: float,
        dur: float,
        kernels: Iterable[tuple[str, float, float]],
        *,
        thread: int = MAIN_THREAD,
        stream: int = 7,
        device: int = 0,
        graph_id: int = 1,
    ) -> Self:
        """One graph launch and its kernels, each (name, start, dur)."""
        number = self._next_correlation()
        self.call(self.vendor.graph_launch, start, dur, thread=thread, correlation=number)
        for node, (name, begins, runs) in enumerate(kernels):
            given = {"graph id": graph_id, "graph node id": node}
            self.kernel(name, begins, runs, correlation=number, stream=stream, device=device, **given)
        return self

    def copy(
        self,
        start: float,
        dur: float,
        *,
        at: float,
        runs: float,
        kind: str = "HtoD (Pinned -> Device)",
        bytes: int = 4096,
        thread: int = MAIN_THREAD,
        stream: int = 7,
        device: int = 0,
        call: str | None = None,
    ) -> Self:
        """A copy call and the copy on the device."""
        number = self._next_correlation()
        self.call(call or self.vendor.copy, start, dur, thread=thread, correlation=number)
        place = {"device": device, "stream": stream, "correlation": number, "bytes": bytes}
        return self._add("gpu_memcpy", f"Memcpy {kind}", at, runs, device, stream, place)

    def memset(
        self,
        start: float,
        dur: float,
        *,
        at: float,
        runs: float,
        bytes: int = 4096,
        thread: int = MAIN_THREAD,
        stream: int = 7,
        device: int = 0,
    ) -> Self:
        """A memset call and the memset on the device."""
        number = self._next_correlation()
        self.call(self.vendor.memset, start, dur, thread=thread, correlation=number)
        place = {"device": device, "stream": stream, "correlation": number, "bytes": bytes}
        return self._add("gpu_memset", "Memset (Device)", at, runs, device, stream, place)

    def kernel(
        self,
        name: str,
        start: float,
        dur: float,
        *,
        correlation: int | None = None,
        stream: int = 7,
        device: int = 0,
        **args: object,
    ) -> Self:
        """A kernel; without the correlation of a call it is unlinked."""
        number = self._next_correlation() if correlation is None else correlation
        place = {"device": device, "context": 1, "stream": stream, "correlation": number, **args}
        return self._add("kernel", name, start, dur, device, stream, place)

    def device_sync(
        self, start: float, dur: float, name: str = "Stream Sync", *, stream: int = 7, device: int = 0
    ) -> Self:
        """A synchronisation as the device records it."""
        place = {"device": device, "stream": stream, "correlation": self._correlation}
        return self._add("cuda_sync", name, start, dur, device, stream, place)

    def device_annotation(self, name: str, start: float, dur: float, *, stream: int = 7, device: int = 0) -> Self:
        """An annotation repeated on a stream."""
        return self._add("gpu_user_annotation", name, start, dur, device, stream, {})

    # -- the rest -----------------------------------------------------------------------------------------

    def memory(self, at: float, bytes: int, *, total: int = 0, thread: int = MAIN_THREAD) -> Self:
        """A record of the allocator."""
        args = {"Bytes": bytes, "Total Allocated": total, "Device Type": 1, "Device Id": 0}
        event = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "s": "t", "ts": _us(at)}
        return self.raw({**event, "pid": HOST_PID, "tid": thread, "args": args})

    def device_name(self, device: int, name: str) -> Self:
        """Name a device in deviceProperties."""
        self.device_names[device] = name
        return self

    def thread_name(self, thread: int, name: str) -> Self:
        """Name a thread by metadata."""
        self.threads[thread] = name
        return self

    def recorded(self, until: float) -> Self:
        """When the recording stopped, if not at the end of the last event."""
        self._recorded_until = until
        return self

    def stamp(self, **content: object) -> Self:
        """What `tracelens capture` writes into a trace."""
        self.metadata["tracelens"] = {"schema_version": 1, **content}
        return self

    def raw(self, event: Mapping[str, Any]) -> Self:
        """Any event, as it is."""
        self.events.append(dict(event))
        return self

    # -- output -------------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """The trace as the profiler would write it."""
        names = self.device_names or dict.fromkeys(self._devices(), "NVIDIA H200")
        head = {"schemaVersion": 1, "deviceProperties": [{"id": i, "name": name} for i, name in names.items()]}
        tail = {"displayTimeUnit": "ms", "baseTimeNanoseconds": 0, "traceName": "trace.json"}
        return {**head, **self.metadata, **tail, "traceEvents": self._linked() + self._closing()}

    def bytes(self) -> bytes:
        """The document as JSON."""
        return json.dumps(self.document(), indent=1).encode()

    def write(self, path: Path) -> Path:
        """The document as a file, compressed when the name ends in .gz."""
        data = self.bytes()
        path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
        return path

    def trace(self) -> Trace:
        """The document as the loader reads it."""
        with tempfile.TemporaryDirectory() as folder:
            return load_trace(self.write(Path(folder) / "trace.json"))

    def _next_correlation(self) -> int:
        self._correlation += 1
        return self._correlation

    def _host(self, cat: str, name: str, start: float, dur: float, thread: int, args: dict[str, Any]) -> Self:
        self.threads.setdefault(thread, f"thread {thread}")
        return self._add(cat, name, start, dur, HOST_PID, thread, args)

    def _add(self, cat: str, name: str, start: float, dur: float, pid: int, tid: int, args: dict[str, Any]) -> Self:
        event = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": _us(start), "dur": _us(dur)}
        return self.raw({**event, "args": args})

    def _devices(self) -> list[int]:
        found = {event["args"]["device"] for event in self.events if "device" in event.get("args", {})}
        return sorted(found)

    def _linked(self) -> list[dict[str, Any]]:
        """The events, with the External id of the innermost operator on calls and on their device work."""
        external = self._operator_of_correlation()
        linked: list[dict[str, Any]] = []
        for event in self.events:
            number = event.get("args", {}).get("correlation")
            found = {"External id": external[number]} if number in external else {}
            linked.append({**event, "args": {**found, **event["args"]}} if found else event)
        return linked

    def _operator_of_correlation(self) -> dict[int, int]:
        """External id of the innermost operator around the call of each correlation."""
        host = [event for event in self.events if event.get("pid") == HOST_PID and event["ph"] == "X"]
        found: dict[int, int] = {}
        around: list[dict[str, Any]] = []
        for event in sorted(host, key=lambda event: (event["tid"], event["ts"], -event["dur"])):
            around = [op for op in around if op["tid"] == event["tid"] and event["ts"] < op["ts"] + op["dur"]]
            if event["cat"] == "cpu_op":
                around.append(event)
            elif around and "correlation" in event["args"]:
                found[event["args"]["correlation"]] = around[-1]["args"]["External id"]
        return found

    def _closing(self) -> list[dict[str, Any]]:
        """Names of processes and threads, and the profiler's own span over the recording."""
        end = max((event["ts"] + event.get("dur", 0) for event in self.events if "ts" in event), default=0)
        end = end if self._recorded_until is None else self._recorded_until
        where = {"pid": "Spans", "tid": "PyTorch Profiler"}
        span = {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", **where, "ts": 0, "dur": _us(end)}
        names = [_metadata("process_name", HOST_PID, 0, "python3")]
        names += [_metadata("thread_name", HOST_PID, thread, name) for thread, name in self.threads.items()]
        return [*names, span] if self.events else names


def _metadata(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": 0, "args": {"name": name}}


def _us(time: float) -> float:
    """The profiler writes at most three decimals."""
    return round(time, 3)
