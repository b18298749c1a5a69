"""The traced steps: torch.profiler over a few steps, exported with the form's own measurements in it."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import torch.profiler
from torch.profiler import ProfilerActivity, profile

from capture.job import Job
from capture.stamping import STAMP


def profiler(job: Job, cuda: bool) -> profile:
    """Return a profiler that warms up, records the active steps and exports them when they are over."""
    _import_compiler(job.work)
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]

    schedule: Any = torch.profiler.schedule  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    def export(ready: profile) -> None:
        ready.export_chrome_trace(str(job.raw_trace))

    return profile(
        activities=activities,
        schedule=schedule(wait=0, warmup=job.plan.profiler_warmup, active=job.plan.active, repeat=1),
        on_trace_ready=export,
        record_shapes=True,
        with_stack=job.stack,
        acc_events=True,  # keeps PyTorch from warning that a second cycle would replace the first
        profile_memory=job.memory,
    )


def _import_compiler(folder: Path) -> None:
    """Import what the profiler imports when it starts, where that needs help: it asks for the working directory, which
    the script may have removed."""
    try:
        Path.cwd()
    except FileNotFoundError:
        removed = os.open(".", os.O_RDONLY)
        os.chdir(folder)
        importlib.import_module("torch._inductor")
        os.fchdir(removed)
        os.close(removed)


def add_stamp(running: profile, value: dict[str, Any]) -> None:
    """Write the stamp into the metadata of the trace being recorded."""
    running.add_metadata_json(STAMP, json.dumps(value))
