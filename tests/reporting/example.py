"""One analysis and its advice with known content, written out by hand: what every rendering is tested on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tracelens.advice.results import Advice, AfterFix, Blocker, Finding, Form, Range, Recommendation
from tracelens.advice.terms import HOST, Terms
from tracelens.analysis.handles import NumberedGaps
from tracelens.analysis.parts import CLASSES, Part
from tracelens.analysis.results import Analysis, Attribution, Check, Steps, Timeline, Trust
from tracelens.analysis.table import Table
from tracelens.analysis.threads import find_threads
from tracelens.model.events import ABSENT, Category, Device, Events, Lanes, Links, Repair, Source, Trace
from tracelens.model.windows import Window
from tracelens.reporting.report import Report
from tracelens.reporting.schema import Document, FindingEntry

BASE_NS = 1_700_000_000_000_000_000
MS = 1_000_000
PARTS = {
    Part.KERNEL_COMPUTE: 1_560_000,
    Part.KERNEL_COPY: 60_000,
    Part.DISPATCH_FRAMEWORK: 5_400_000,
    Part.DISPATCH_PYTHON: 2_000_000,
    Part.LAUNCH_API: 2_100_000,
    Part.LAUNCH_LATENCY: 400_000,
    Part.SYNC_WAIT: 300_000,
    Part.DEVICE_SPACING: 80_000,
    Part.UNKNOWN_UNLINKED: 100_000,
}
SYNC = Blocker(
    id="sync",
    message="32 .item() a step",
    where="model.py:41",
    per_step=32.0,
    advice="Move the choice into torch.where.",
    evidence=("s-0",),
)

TERMS = Terms(
    "max(guards_ns + library_calls_ns, library_ns) + unsure_ns",
    HOST,
    {
        "guards_ns": 50_000.0,
        "library_calls_ns": 3_742_000.4,
        "library_ns": 1_560_000,
        "unsure_ns": 120_000,
        "pieces": 1,
    },
)


def trace() -> Trace:
    """Two kernels on device 0, one on device 1, and their launch calls left out."""
    n = 3
    ints = np.full(n, ABSENT, dtype=np.int64)
    events = Events(
        phase=np.full(n, ord("X"), dtype=np.uint8),
        category=np.full(n, Category.KERNEL, dtype=np.uint8),
        role=np.zeros(n, dtype=np.uint8),
        name=np.zeros(n, dtype=np.int32),
        lane=np.zeros(n, dtype=np.int32),
        start=np.array([0, 1, 2], dtype=np.int64) * MS,
        duration=np.array([1_500_000, 1_000_000, 250_000], dtype=np.int64),
        correlation=ints,
        external_id=ints,
        device=np.array([0, 0, 1], dtype=np.int32),
        stream=np.full(n, 7, dtype=np.int32),
        offset=ints,
        length=np.zeros(n, dtype=np.int32),
    )
    absent = np.full(n, ABSENT, dtype=np.int32)
    return Trace(
        source=Source("runs/eager.pt.trace.json.gz", 101_081, 1_204_000, "gzip"),
        base_ns=BASE_NS,
        names=("gemm",),
        lanes=Lanes(("0",), ("7",), ("",), ("stream 7",)),
        events=events,
        args={},
        links=Links(absent, absent, absent),
        metadata={"distributedInfo": {"rank": 1, "world_size": 2}},
        repairs=(Repair("truncated", 1, "", 1_203_987), Repair("nan", 12, '"est. occupancy": nan', 5_120)),
        vendor="cuda",
        devices=(Device(0, "NVIDIA H200"), Device(1, "NVIDIA H200")),
    )


def analysis() -> Analysis:
    """Three host-bound steps of 4 ms."""
    read = trace()
    tiles = np.array([[0, 3_900_000], [3_900_000, 7_900_000], [7_900_000, 12_000_000]], dtype=np.int64)
    steps = Steps(
        window=Window("profiler_step", "ProfilerStep", tiles),
        owner=np.array([0, 0, ABSENT], dtype=np.int32),
        host=tiles,
        notes=("first step dropped: 1.4 x the median of the others",),
        threads=find_threads(read, 0),
    )
    nothing = np.empty(0, dtype=np.int64)
    rows, codes = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8)
    return Analysis(
        trace=read,
        device=0,
        form="eager",
        steps=steps,
        timeline=Timeline(0, nothing, nothing, codes, rows),
        attribution=attribution(),
        trust=trust(),
        numbered=NumberedGaps({}, nothing, nothing),
        tables={
            "kernels": kernels(),
            "operators": operators(),
            "gaps": gaps(),
            "syncs": syncs(),
            "launches": launches(),
        },
    )


def with_column(analysis: Analysis, table_name: str, **values: list[Any]) -> Analysis:
    """The analysis with other values in columns of one table."""
    table = analysis.tables[table_name]
    columns = {**table.columns, **{column: _column(of) for column, of in values.items()}}
    return replace(analysis, tables={**analysis.tables, table_name: replace(table, columns=columns)})


def _table(columns: dict[str, list[Any]]) -> Table:
    optional = frozenset({"latency_ns"} & columns.keys())
    return Table({name: _column(values) for name, values in columns.items()}, optional)


def _column(values: list[Any]) -> npt.NDArray[Any]:
    is_text = any(value is None or isinstance(value, str) for value in values)
    return np.array(values, dtype=object if is_text else None)


def attribution() -> Attribution:
    """12 ms in 3 steps, 70 % of them host work."""
    parts = {name: {p.part_name: PARTS.get(p, 0) for p in Part if p.class_name == name} for name in CLASSES}
    return Attribution(sum(PARTS.values()), parts)


def trust() -> Trust:
    """One check failed."""
    spread = "Steps differ by 1.6 x; record more steps after a warm-up."
    return Trust(
        "degraded",
        (
            Check("device_events", True, 900.0, 10.0, "900 device events in the window"),
            Check("step_spread", False, 1.6, 1.5, spread),
            Check("linked", True, float("nan"), 0.9, "no launch to compare"),
        ),
    )


def kernels() -> Table:
    return _table(
        {
            "name": ["sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_kernel__5x"]
            + [f"void pointwise_{i}" for i in range(6)],
            "kind": ["gemm"] + ["pointwise"] * 6,
            "origin": ["library"] + ["eager"] * 6,
            "count": [144, 72, 72, 36, 36, 36, 3],
            "total_ns": [900_000, 300_000, 200_000, 100_000, 60_000, 40_000, 20_000],
            "median_ns": [6_250, 4_166, 2_777, 2_777, 1_666, 1_111, 6_666],
            "share": [0.5556, 0.1852, 0.1235, 0.0617, 0.037, 0.0247, 0.0123],
            "example": [f"k-{i}" for i in range(7)],
            "row": list(range(7)),
        }
    )


def operators() -> Table:
    return _table(
        {
            "name": ["aten::addmm", "aten::item"],
            "count": [144, 96],
            "host_ns": [3_000_000, 500_000],
            "device_ns": [900_000, 0],
            "launches": [144, 0],
            "where": ["/home/me/project/models/model.py:41", None],
            "example": ["o-1", "o-9"],
            "row": [1, 9],
        }
    )


def gaps() -> Table:
    return _table(
        {
            "handle": ["g-0", "g-1"],
            "start_ns": [1_500_000, 4_100_000],
            "ns": [120_000, 480_000],
            "class": ["launch", "dispatch"],
            "part": ["api", "framework"],
            "before": ["k-0", "k-1"],
            "after": ["k-1", None],
            "operator": ["aten::addmm", "aten::layer_norm"],
            "where": [None, "/home/me/project/models/model.py:52"],
            "row": [1, 2],
        }
    )


def syncs() -> Table:
    return _table(
        {
            "handle": ["s-0"],
            "call": ["cudaStreamSynchronize"],
            "ns": [310_000],
            "busy_overlap_ns": [10_000],
            "saving_low_ns": [300_000],
            "saving_high_ns": [420_000],
            "operator": ["aten::item"],
            "where": ["/home/me/project/models/model.py:41"],
            "row": [5],
        }
    )


def launches() -> Table:
    return _table(
        {
            "handle": ["l-0", "l-1"],
            "call": ["cudaLaunchKernel", "cudaLaunchKernel"],
            "ns": [5_000, 6_000],
            "latency_ns": [3_000, 2_000],
            "kernels": [1, 1],
            "operator": ["aten::addmm", "aten::addmm"],
            "where": [None, None],
            "row": [6, 7],
        }
    )


def advice() -> Advice:
    """Replay is advised once the sync is gone."""
    forms = {
        "eager": Form(3.968, 3.801, 4.103, "predicted", steps=3),
        "compile": Form(3.912, 2.5, 4.4, "predicted", terms=TERMS, break_even_steps=float("inf")),
        "replay": Form(0.553, 0.521, 0.602, "predicted", blockers=(SYNC,)),
        "both": Form(0.471, 0.402, 0.598, "predicted", variant="reduce-overhead"),
    }
    recommendation = Recommendation(
        verdict="replay",
        speedup=Range(7.2, 6.3, 7.9),
        confidence=0.85,
        summary="70 % of the step the GPU waits for the host.",
        snippet="graph = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(graph):\n    output = model(static_input)\n",
        fix_first=(SYNC,),
        after_fix=AfterFix("both", 0.471, 0.402, 0.598),
        evidence=("g-1", "s-0"),
    )
    findings = (
        Finding("sync_points", "warning", "A sync point drains the queue", 0.3, ("s-0",), "Remove .item()."),
        Finding("many_small_kernels", "info", "399 kernels of 4 us", None, (), "Replay launches them at once."),
    )
    return Advice(forms, recommendation, findings)


def abstaining() -> Advice:
    """No verdict, no time for any form."""
    none = Form(None, None, None, "predicted", error="the trace has no device work")
    recommendation = Recommendation("abstain", None, 0.0, "The trace holds no device work.", "", decided=False)
    return Advice(dict.fromkeys(("eager", "compile", "replay", "both"), none), recommendation)


def empty_analysis() -> Analysis:
    """A window of nothing."""
    full = analysis()
    steps = replace(full.steps, window=Window("whole", "", np.empty((0, 2), dtype=np.int64)), notes=())
    parts = {name: dict.fromkeys(entry, 0) for name, entry in full.attribution.parts.items()}
    tables = {name: table.take(np.arange(0)) for name, table in full.tables.items()}
    return replace(full, steps=steps, attribution=Attribution(0, parts), tables=tables)


def judged(verdict: str, own: str = "eager", **forms: Form) -> Document:
    """The document of a step that runs in its own form, with this verdict and some other forms than the advice's."""
    told = advice()
    recommendation = replace(told.recommendation, verdict=verdict)
    return Report(replace(analysis(), form=own), Advice({**told.forms, **forms}, recommendation, ())).document


def finding(rule: str, saving_ms: float | None) -> FindingEntry:
    """A finding of that rule."""
    told = {"rule": rule, "severity": "info", "title": "t", "saving_ms": saving_ms, "evidence": [], "advice": "Do."}
    return cast("FindingEntry", told)
