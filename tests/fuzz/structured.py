"""Structured fuzzing: traces of plausible and of impossible events, from loading to every rendering of the report."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import tracelens
from tests.fuzz.watch import Watch
from tests.loading.traces import assert_nothing_lost
from tracelens.reporting.schema import Document

_BATCH: Final = 50
TABLES: Final = ("kernels", "operators", "gaps", "syncs", "launches")

NAMES: Final = st.sampled_from(
    [
        "aten::mm",
        "aten::add_",
        "autograd::engine::evaluate_function: MmBackward0",
        "Optimizer.step#SGD.step",
        "",
        "é\x1b[",
    ]
) | st.text(max_size=12)
TIMES: Final = st.integers(0, 3000).map(lambda tick: tick / 2)
LENGTHS: Final = st.integers(0, 60).map(lambda tick: tick / 2)
WILD: Final = (
    st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=6)
    | st.none()
    | st.booleans()
    | st.lists(st.integers(-9, 9), max_size=3)
)
IDS: Final = st.integers(1, 12)
THREADS: Final = st.sampled_from([1, 2, "3", -7])
DEVICES: Final = st.integers(0, 2)
STREAMS: Final = st.sampled_from([0, 7, 20, -1])
CALLS: Final = st.sampled_from(
    [
        "cudaLaunchKernel",
        "cudaGraphLaunch",
        "cudaMemcpyAsync",
        "cudaMemsetAsync",
        "cudaStreamSynchronize",
        "cudaDeviceSynchronize",
        "cudaMalloc",
        "cudaFree",
        "cuModuleLoadData",
        "cudaEventRecord",
        "cudaStreamWaitEvent",
        "cudaStreamBeginCapture",
        "hipLaunchKernel",
        "hipGraphLaunch",
        "urEnqueueKernelLaunch",
        "INVALID",
    ]
)
SHAPES: Final = st.lists(st.lists(st.integers(0, 4096), max_size=4) | st.just([]), max_size=3)


def _host(cat: str, name: st.SearchStrategy[str], args: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    fields = {"ph": st.just("X"), "cat": st.just(cat), "name": name, "pid": st.just(1), "tid": THREADS}
    return st.fixed_dictionaries({**fields, "ts": TIMES, "dur": LENGTHS, "args": args})


def _args(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={key.replace("_", " "): value for key, value in optional.items()})


def _device(cat: str) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(
        ["gemm", "elementwise_kernel", "ncclDevKernel_AllReduce", "Memcpy HtoD (Pageable -> Device)"]
    )
    place = {"device": DEVICES, "stream": STREAMS, "correlation": IDS}
    extra = {"bytes": st.integers(-1, 2**31), "grid": st.just([1, 1, 1]), "graph id": IDS, "graph node id": IDS}
    args = st.fixed_dictionaries(place, optional=extra)
    fields = {"ph": st.just("X"), "cat": st.just(cat), "name": names, "pid": DEVICES, "tid": STREAMS}
    return st.fixed_dictionaries({**fields, "ts": TIMES, "dur": LENGTHS, "args": args})


STEPS: Final = st.builds("ProfilerStep#{}".format, st.integers(0, 4))
PLAUSIBLE: Final = (
    _host(
        "cpu_op", NAMES, _args(External_id=IDS, Input_Dims=SHAPES, Sequence_number=IDS, Input_type=st.just(["float"]))
    )
    | _host("cuda_runtime", CALLS, _args(correlation=IDS, External_id=IDS))
    | _host("user_annotation", STEPS | NAMES, st.just({}))
    | _host("python_function", st.just("model.py(41): forward"), _args(Python_id=IDS, Python_parent_id=IDS))
    | _host("overhead", st.just("Buffer Flush"), st.just({}))
    | st.sampled_from(["kernel", "kernel", "kernel", "gpu_memcpy", "gpu_memset", "cuda_sync"]).flatmap(_device)
    | st.fixed_dictionaries({"ph": st.sampled_from("BE"), "name": NAMES, "pid": THREADS, "tid": THREADS, "ts": TIMES})
)
ANY_EVENT: Final = st.fixed_dictionaries(
    {"ph": st.sampled_from(["X", "i", "M", "s", "f", "C", "B", "E", ""])},
    optional={
        **dict.fromkeys(("name", "cat", "pid", "tid", "ts", "dur", "id"), WILD),
        "args": st.dictionaries(st.sampled_from(["correlation", "device", "stream", "name", "bytes", "grid"]), WILD)
        | WILD,
    },
)
DOCUMENTS: Final = st.fixed_dictionaries(
    {"traceEvents": st.lists(PLAUSIBLE, max_size=60).flatmap(lambda some: st.just(some) | _with_wild(some))},
    optional={
        "deviceProperties": st.lists(st.fixed_dictionaries({"id": st.integers(0, 2), "name": st.just("NVIDIA H200")}))
        | WILD,
        "baseTimeNanoseconds": st.integers(0, 2**62) | WILD,
        "distributedInfo": st.just({"rank": 1, "world_size": 2}) | WILD,
        "tracelens": st.dictionaries(st.sampled_from(["schema_version", "form", "step_ms", "run"]), WILD) | WILD,
    },
)


def _with_wild(events: list[dict[str, Any]]) -> st.SearchStrategy[list[Any]]:
    return st.lists(ANY_EVENT | WILD, max_size=4).map(lambda wild: [*wild, *events])


def fuzz(keep: Path | None, runs: int, seconds: float, first_seed: int, path: Path) -> Watch:
    """Fuzz until `runs` traces or the seconds are over, writing each to `path`."""
    watch = Watch(keep)
    end = time.monotonic() + (seconds or float("inf"))
    number = first_seed
    while (not runs or watch.runs < runs) and time.monotonic() < end:
        _batch(watch, min(_BATCH, runs - watch.runs) if runs else _BATCH, number, path)
        number += 1
    return watch


def _batch(watch: Watch, count: int, number: int, path: Path) -> None:
    quiet = settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )

    @seed(number)
    @quiet
    @given(DOCUMENTS)
    def one(document: dict[str, Any]) -> None:
        data = json.dumps(document).encode("utf-8", "surrogatepass")
        watch.run(data, lambda: check(data, path))

    one()


def check(data: bytes, path: Path) -> None:
    """Load, analyze, advise and render; what is given is all there, and the account adds up."""
    path.write_bytes(data)
    trace = tracelens.load(path)
    assert_nothing_lost(trace, data)
    report = tracelens.report(trace)
    _assert_adds_up(report.document)
    json.loads(report.to_json())
    report.to_text(color=True)
    report.to_markdown()
    for table in TABLES:
        report.to_csv(table)


def _assert_adds_up(document: Document) -> None:
    attribution = document["attribution"]
    spans = document["window"]["intervals_ns"]
    total = sum(end - start for start, end in spans)
    parts = sum(sum(one["parts"].values()) for one in attribution["classes"].values())
    assert attribution["window_ns"] == total == parts
