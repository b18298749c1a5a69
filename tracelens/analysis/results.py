"""What an analysis finds: frozen results, in ns, over rows of the trace. No judgement on forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tracelens.analysis.parts import Part
from tracelens.analysis.table import Table
from tracelens.analysis.threads import Threads
from tracelens.model.events import Bytes, Int32s, Int64s, Trace, among
from tracelens.model.intervals import joined
from tracelens.model.units import NS_PER_MS
from tracelens.model.windows import Window

if TYPE_CHECKING:
    import pandas as pd

    from tracelens.analysis.handles import NumberedGaps


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The repeated work of one device and which device work each repetition launched."""

    window: Window
    """One tile per counted step, from its first device event to the next step's first; of the busiest stream where that
    falls behind another."""
    owner: Int32s
    """(n events) Index of the tile whose step launched this device work or host call; ABSENT otherwise.
    By launch time, on any of the steps' threads: work may run after its tile has ended."""
    host: Int64s
    """(steps, 2) ns: start of each counted step on the host and of the step after it."""
    notes: tuple[str, ...]
    """What was left out and why ("first step dropped: 1.4 x the median of the others")."""
    threads: Threads
    """Those that the steps run on."""


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """One device's time from the first to the last event of host or device, cut into pieces of one part each.

    Pieces are ascending, disjoint and without holes; a device that ran nothing has none."""

    device: int
    start: Int64s
    end: Int64s
    part: Bytes
    """tracelens.analysis.parts.Part."""
    gap: Int32s
    """Index into Gaps of the gap that the piece belongs to; ABSENT while the device is busy."""

    def within(self, *parts: Part) -> Int64s:
        """Interval set of the time in some parts, in ns."""
        rows = np.flatnonzero(among(self.part, parts))
        return joined(self.start[rows], self.end[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """Maximal intervals in which a device runs nothing, in start order."""

    start: Int64s
    end: Int64s
    part: Bytes
    """The part that holds most of the gap."""
    before: Int32s
    """Row of the device event that ended last before the gap; ABSENT at the head."""
    after: Int32s
    """Row of the device event that ends the gap; ABSENT at the tail."""
    operator: Int32s
    """Row of the operator that filled most of the gap on the launching thread; ABSENT where none did."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """Where a window's time went: ns by (class, part), summing to window_ns exactly."""

    window_ns: int
    parts: Mapping[str, Mapping[str, int]]
    """class -> part -> ns; every class and part is present, zero or not."""

    def share(self, class_name: str, part: str | None = None) -> float:
        """Share 0..1 of the window in a class or one part of it; 0 for an empty window."""
        parts = self.parts[class_name]
        ns = sum(parts.values()) if part is None else parts[part]
        return ns / self.window_ns if self.window_ns else 0.0


@dataclass(frozen=True, slots=True)
class Check:
    """One reason to trust or distrust the trace."""

    id: str
    passed: bool
    value: float | None
    threshold: float | None
    message: str
    """What it means, and for a failed check what to record instead."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Whether the trace can carry an answer."""

    level: str
    """"ok", "degraded" or "unusable"."""
    checks: tuple[Check, ...]


@dataclass(frozen=True, eq=False)
class Analysis:
    """All that is known of one device over one window.

    Its tables, DataFrames made on first use, have the columns of the report document (times in ns) and a column
    `row`, the trace row behind each (of the example, for aggregates)."""

    trace: Trace
    device: int
    form: str
    """How the step of this trace runs already: "eager", "compile", "replay", "both", "mixed" or "unknown"."""
    steps: Steps
    timeline: Timeline
    attribution: Attribution
    trust: Trust
    numbered: NumberedGaps
    """The gaps of all devices, by which their handles are numbered."""
    tables: Mapping[str, Table]
    """The same tables as numpy columns, by name."""

    def __repr__(self) -> str:
        counted = f"{self.window.length / NS_PER_MS:.3g} ms in {len(self.window.tiles)} x {self.window.kind}"
        return f"<Analysis of {self.trace.source.path}: {self.form}, device {self.device}, {counted}>"

    @property
    def window(self) -> Window:
        """The tiles that were counted."""
        return self.steps.window

    @cached_property
    def kernels(self) -> pd.DataFrame:
        """name, kind, origin, count, total_ns, median_ns, share, example, row: device work launched in the window."""
        return self.tables["kernels"].frame()

    @cached_property
    def operators(self) -> pd.DataFrame:
        """name, count, host_ns (self), device_ns, launches, where, example, row: operators begun in the counted
        steps."""
        return self.tables["operators"].frame()

    @cached_property
    def gaps(self) -> pd.DataFrame:
        """handle, start_ns, ns, class, part, before, after, operator, where, row (of the event that ends it): what the
        window has of each gap."""
        return self.tables["gaps"].frame()

    @cached_property
    def syncs(self) -> pd.DataFrame:
        """handle, call, ns, busy_overlap_ns, saving_low_ns, saving_high_ns, operator, where, row: waits made in the
        counted steps; the lower savings add up to the attribution's sync class."""
        return self.tables["syncs"].frame()

    @cached_property
    def launches(self) -> pd.DataFrame:
        """handle, call, ns, latency_ns, kernels, operator, where, row: calls made in the counted steps."""
        return self.tables["launches"].frame()
