"""Traces of many threads, frames, streams and devices, written fast."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

STREAMS: Final = 24
PID: Final = 4000
FRAMES_PER_LAUNCH: Final = 20
THREADS: Final = {PID: "python3", 5001: "pt_autograd_0", 5002: "pt_autograd_1", 6001: "pt_data_worker", 6002: "pin"}
STEP_US: Final = 10_000
LAUNCHES_PER_STEP: Final = 96


def write(path: Path, steps: int, devices: int = 4) -> int:
    """Write a trace of so many steps; the number of its events.

    Each launch lies under a stack of Python frames on one of the host threads; kernels take turns on the streams of all
    devices, 20 us each, none at the same time as another of its device."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [')
        for event in chain(_metadata(), *(_step(step, devices) for step in range(steps))):
            file.write((",\n" if count else "\n") + json.dumps(event))
            count += 1
        file.write("\n]}")
    return count


def _metadata() -> Iterator[dict[str, Any]]:
    for thread, name in THREADS.items():
        yield {"ph": "M", "name": "thread_name", "pid": PID, "tid": thread, "args": {"name": name}}


def _step(step: int, devices: int) -> Iterator[dict[str, Any]]:
    begin = step * STEP_US
    yield _host("user_annotation", f"ProfilerStep#{step}", PID, begin, STEP_US - 10, {})
    threads = list(THREADS)
    for number in range(LAUNCHES_PER_STEP):
        at, thread = begin + 20 + 100 * number, threads[number % len(threads)]
        correlation = 1 + step * LAUNCHES_PER_STEP + number
        for depth in range(FRAMES_PER_LAUNCH):
            name = f"model.py({depth}): layer_{number % 7}"
            yield _host("python_function", name, thread, at + depth, 90 - 2 * depth, {"Python id": correlation})
        yield _host("cpu_op", "aten::mm", thread, at + 21, 30, {"External id": correlation})
        args = {"correlation": correlation, "External id": correlation}
        yield _host("cuda_runtime", "cudaLaunchKernel", thread, at + 25, 5, args)
        device, stream = number % devices, 7 + (number // devices) % STREAMS
        place = {"device": device, "stream": stream, **args}
        kernel = {"ph": "X", "cat": "kernel", "name": f"gemm_{number % 5}", "pid": device, "tid": stream}
        yield {**kernel, "ts": at + 40, "dur": 20, "args": place}


def _host(cat: str, name: str, thread: int, start: int, dur: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": PID, "tid": thread, "ts": start, "dur": dur, "args": args}
