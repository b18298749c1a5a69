"""What is open: a trace with its analysis and document, and what is derived from it for looking at events."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np

from tracelens.advice.results import Advice
from tracelens.analysis import handles
from tracelens.analysis.handles import NumberedGaps, handles_of, resolve
from tracelens.analysis.results import Analysis, Gaps
from tracelens.loading.runs import Run
from tracelens.model.events import ABSENT, Category, Role, Trace
from tracelens.reporting.report import Report
from tracelens.reporting.schema import Document
from tracelens.tui.costs import Cost, largest_costs
from tracelens.tui.lanes import Lane, trace_lanes
from tracelens.tui.timeline import Selection

PREFIXES: Final = {
    Category.KERNEL: handles.DEVICE_EVENT,
    Category.COPY: handles.DEVICE_EVENT,
    Category.MEMSET: handles.DEVICE_EVENT,
    Category.OPERATOR: handles.OPERATOR,
}


@dataclass(frozen=True, eq=False)
class Session:
    """One trace, judged over one window. Everything that is slow to make is made when it is first asked for."""

    path: str
    analysis: Analysis
    advice: Advice
    document: Document
    """Without the rows of its tables."""
    costs: tuple[Cost, ...]
    """The largest ones, largest first."""
    range: tuple[int, int] | None = None
    """The window in ns after the trace's base, when it was chosen by hand."""
    run: Run | None = None
    """The run that the trace was opened for: its measured forms are the document's."""

    @property
    def trace(self) -> Trace:
        """The trace."""
        return self.analysis.trace

    @property
    def report(self) -> Report:
        """The whole report, for export."""
        return Report(self.analysis, self.advice, self.run)


@dataclass(frozen=True, eq=False)
class Atlas:
    """Lanes and numbered gaps of a trace, made once for all windows."""

    trace: Trace
    device: int
    lanes: tuple[Lane, ...]
    numbered: NumberedGaps

    @classmethod
    def of(cls, analysis: Analysis) -> Atlas:
        """Of the analysed device and its trace; takes a while for a million events."""
        lanes = trace_lanes(analysis.trace, analysis.timeline)
        return cls(analysis.trace, analysis.device, tuple(lanes), analysis.numbered)

    @property
    def gaps(self) -> Gaps | None:
        """The gaps of the device; None for a trace without device work."""
        return self.numbered.by_device.get(self.device)

    @cached_property
    def gap_handles(self) -> list[str]:
        """Handle of each gap of the device."""
        return self.numbered.handles(self.device).tolist() if self.gaps is not None else []

    def handle(self, selection: Selection) -> str | None:
        """The handle of what is selected, if it bears one."""
        if selection.gap != ABSENT:
            return self.gap_handles[selection.gap]
        prefix = self._prefix(selection.row) if selection.row != ABSENT else None
        return handles_of(self.trace, prefix, np.array([selection.row]))[0] if prefix else None

    def _prefix(self, row: int) -> str | None:
        category = Category(self.trace.events.category[row])
        if category != Category.RUNTIME:
            return PREFIXES.get(category)
        return handles.SYNC if self.trace.events.role[row] == Role.SYNC else handles.LAUNCH

    def find(self, handle: str) -> Selection:
        """What a handle names; UsageError when it names nothing."""
        target = resolve(self.trace, handle, self.numbered)
        if target.prefix == handles.GAP and target.device == self.device:
            return Selection(gap=target.gap)
        return Selection(row=target.row)


def judge(
    path: str,
    trace: Trace,
    *,
    device: int | None = None,
    step: str | None = None,
    span: tuple[int, int] | Literal["all"] | None = None,
    run: Run | None = None,
) -> Session:
    """Analyze a trace over one window and advise on it as `tracelens report` does; errors are those of `analyze`."""
    # Deferred, so that what only looks at a session need not load the analysis.
    from tracelens.advice import advise
    from tracelens.analysis import analyze
    from tracelens.reporting.document import build

    analysis = analyze(trace, device=device, step=step, span=span)
    advice = advise(analysis, run.forms if run else None)
    document = build(analysis, advice, run, limit=0)
    costs = tuple(largest_costs(analysis))
    return Session(path, analysis, advice, document, costs, None if span == "all" else span, run)
