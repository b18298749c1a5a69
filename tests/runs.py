"""Builds run directories as a recording leaves them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

from tests.build import TraceBuilder

Given: TypeAlias = Any
"""Whatever a manifest holds."""
ID = "e0538255d549"
STEPS = 4
KERNELS = 20


def host_bound() -> TraceBuilder:
    """Steps of 1 ms with 20 kernels of 5 us, each launched long after the one before has ended."""
    built = TraceBuilder()
    for step in range(STEPS):
        at = 1_000 * step
        built.step(step, start=at, dur=1_000)
        for kernel in range(KERNELS):
            start = at + 50 * kernel
            built.op("aten::add", start=start, dur=40, shapes=[[512, 512], [512, 512]], dtypes=["float", "float"])
            built.launch("void at::native::vectorized_elementwise_kernel<4, add>", start + 20, 6, at=start + 30, runs=5)
    return built


def host_only() -> TraceBuilder:
    """Steps of operators that launch nothing."""
    built = TraceBuilder()
    for step in range(STEPS):
        built.step(step, start=1_000 * step, dur=1_000).op("aten::add", start=1_000 * step + 20, dur=900)
    return built


def measured(step_ms: float, **more: Given) -> dict[str, Any]:
    """A form object of a form that ran."""
    ran = {"step_ms": step_ms, "low": 0.98 * step_ms, "high": 1.03 * step_ms, "source": "measured", "steps": 60}
    return {**ran, "blockers": [], "setup_s": 0.1, "outputs": "match", "error": None, **more}


def failed(blocker: str, message: str, where: str | None = None) -> dict[str, Any]:
    """A form object of a form that could not run."""
    row = {"id": blocker, "message": message, "where": where, "per_step": None}
    return {"step_ms": None, "source": "measured", "blockers": [row], "outputs": "unchecked", "error": message}


ALL = {
    "eager": measured(0.7, syncs=[{"where": "/home/me/train.py:31", "count": 1}]),
    "compile": measured(
        0.5,
        setup_s=8.1,
        graph_breaks=[{"reason": "Tensor.item() call\nmore", "where": "/home/me/model.py:41", "count": 2}],
    ),
    "replay": measured(0.14, setup_s=1.5),
    "both": measured(0.06, setup_s=2.4, variant="manual"),
}


def write_run(folder: Path, forms: dict[str, Any] = ALL, *, traces: Iterable[str] = ("eager",), **head: Given) -> Path:
    """A run directory with the traces of some of its forms, all of them the same host-bound steps."""
    folder.mkdir(parents=True, exist_ok=True)
    named = {name: {**form, "trace": f"{name}.pt.trace.json.gz"} for name, form in forms.items()}
    for name in traces:
        host_bound().stamp(form=name, run=ID, **forms.get(name, {})).write(folder / f"{name}.pt.trace.json.gz")
    manifest = {
        "schema_version": 1,
        "run": ID,
        "command": ["tracelens", "capture", "--function", "step", "train.py"],
        "environment": {"torch": "2.11.0", "gpu": "NVIDIA H200"},
        "target": {"kind": "function", "name": "step", "where": "/home/me/train.py:4"},
        "complete": True,
        "forms": named,
        **head,
    }
    (folder / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder
