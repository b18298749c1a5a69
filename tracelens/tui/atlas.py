"""What is looked at beside the judgement: the lanes of a trace and its numbered gaps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from tracelens.analysis import handles
from tracelens.analysis.handles import NumberedGaps, handles_of, resolve
from tracelens.analysis.results import Analysis, Gaps
from tracelens.model.events import ABSENT, Category, Role, Trace
from tracelens.tui.lanes import Lane, trace_lanes
from tracelens.tui.selection import Selection

PREFIXES: Final = {
    Category.KERNEL: handles.DEVICE_EVENT,
    Category.COPY: handles.DEVICE_EVENT,
    Category.MEMSET: handles.DEVICE_EVENT,
    Category.OPERATOR: handles.OPERATOR,
}


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
        known = self.numbered.by_device.get(self.device)
        return known[1] if known else None

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
