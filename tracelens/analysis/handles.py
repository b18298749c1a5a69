"""Handles: short names of gaps, sync points, launches, device events and operators ("g-12").

They are numbered from 1 over the whole trace in start order, whatever step, device or range is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.analysis.gaps import idle
from tracelens.analysis.results import Gaps, Timeline
from tracelens.analysis.timeline import build_timeline
from tracelens.analysis.waits import blocking_waits
from tracelens.errors import UsageError
from tracelens.model.events import ABSENT, SUBMITS, Bools, Category, Int64s, Trace, among

GAP: Final = "g"
SYNC: Final = "s"
LAUNCH: Final = "l"
DEVICE_EVENT: Final = "k"
OPERATOR: Final = "o"
NOUNS: Final = {
    GAP: "gap",
    SYNC: "sync point",
    LAUNCH: "launch",
    DEVICE_EVENT: "device event",
    OPERATOR: "operator event",
}
_HANDLE: Final = re.compile(r"\s*(?P<prefix>[a-z])-(?P<number>[0-9]{1,18})\s*")


class Accounts(Mapping[int, tuple[Timeline, Gaps]]):
    """Timeline and gaps of each device of a trace, made when first asked for."""

    def __init__(self, trace: Trace, known: Mapping[int, tuple[Timeline, Gaps]]) -> None:
        self._trace = trace
        self._devices = np.unique(trace.events.device[trace.events.device_work()]).tolist()
        self._known = dict(known)

    def __getitem__(self, device: int) -> tuple[Timeline, Gaps]:
        if device not in self._devices:
            raise KeyError(device)
        if device not in self._known:
            self._known[device] = build_timeline(self._trace, device)
        return self._known[device]

    def __iter__(self) -> Iterator[int]:
        return iter(self._devices)

    def __len__(self) -> int:
        return len(self._devices)


@dataclass(frozen=True, slots=True, eq=False)
class NumberedGaps:
    """The gaps of all devices, in start order."""

    by_device: Mapping[int, tuple[Timeline, Gaps]]
    """Timeline and gaps of each device."""
    device: Int64s
    """Of each gap."""
    index: Int64s
    """Of each gap among those of its device."""

    def numbers(self, device: int) -> Int64s:
        """Number of the handle of each gap of one device."""
        own = np.flatnonzero(self.device == device)
        return own[np.argsort(self.index[own], kind="stable")] + 1

    def handles(self, device: int) -> npt.NDArray[np.object_]:
        """Handle of each gap of one device."""
        return written(GAP, self.numbers(device))


@dataclass(frozen=True, slots=True)
class Target:
    """What a handle names."""

    prefix: str
    number: int
    row: int
    """Row of the event; of a gap the device event that ends it, ABSENT at the tail."""
    device: int = ABSENT
    """Of a gap."""
    gap: int = ABSENT
    """Of a gap: its index among those of its device."""

    @property
    def handle(self) -> str:
        """As it is written."""
        return f"{self.prefix}-{self.number}"


def all_gaps(trace: Trace, known: Mapping[int, tuple[Timeline, Gaps]] | None = None) -> NumberedGaps:
    """Number the gaps of all devices in start order; of two that start at once, the lower device's first.

    known: timeline and gaps of devices that have been looked at already."""
    device, start, _ = idle(trace, np.flatnonzero(trace.events.device_work()))
    index = np.arange(len(device)) - np.searchsorted(device, device)
    order = np.argsort(start, kind="stable")
    return NumberedGaps(Accounts(trace, known or {}), device[order], index[order])


def rows_behind(trace: Trace, prefix: str) -> Int64s:
    """Rows of the events that a prefix (not GAP) numbers, in the order of their numbers."""
    rows = np.flatnonzero(_bearers(trace, prefix))
    return rows[np.argsort(trace.events.start[rows], kind="stable")]


def handles_of(trace: Trace, prefix: str, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
    """Handle of each row under a prefix (not GAP); None where the event bears none."""
    number = np.zeros(len(trace.events) + 1, dtype=np.int64)
    bearers = rows_behind(trace, prefix)
    number[bearers] = np.arange(1, len(bearers) + 1)
    own = number[rows]
    found = written(prefix, own)
    found[own == 0] = None
    return found


def resolve(trace: Trace, handle: str, gaps: NumberedGaps | None = None) -> Target:
    """What a handle names; UsageError with the valid range when it names nothing.

    gaps: of all devices, if they are at hand; else they are looked for when the handle is a gap's."""
    match = _HANDLE.fullmatch(handle)
    if match is None or match["prefix"] not in NOUNS:
        known = ", ".join(f"{prefix}- {noun}" for prefix, noun in NOUNS.items())
        raise UsageError(f"{handle!r} is no handle; handles are {known}, each with a number (g-12)")
    prefix, number = match["prefix"], int(match["number"])
    if prefix == GAP:
        return _resolve_gap(gaps or all_gaps(trace), number)
    rows = rows_behind(trace, prefix)
    _expect(prefix, number, len(rows))
    return Target(prefix, number, int(rows[number - 1]))


def _resolve_gap(gaps: NumberedGaps, number: int) -> Target:
    _expect(GAP, number, len(gaps.index))
    device, index = int(gaps.device[number - 1]), int(gaps.index[number - 1])
    return Target(GAP, number, int(gaps.by_device[device][1].after[index]), device, index)


def _expect(prefix: str, number: int, count: int) -> None:
    """UsageError where a handle's number is none of those that the trace has."""
    if 1 <= number <= count:
        return
    nouns = NOUNS[prefix] + ("es" if prefix == LAUNCH else "s")
    there = f"its {nouns} are {prefix}-1 to {prefix}-{count}" if count else f"it has no {nouns}"
    raise UsageError(f"the trace has no {prefix}-{number}; {there}")


def _bearers(trace: Trace, prefix: str) -> Bools:
    """(n) Whether each event bears a handle with this prefix (not GAP)."""
    events = trace.events
    complete = events.complete()
    if prefix == SYNC:
        return blocking_waits(trace)
    if prefix == DEVICE_EVENT:
        return events.device_work()
    if prefix == LAUNCH:
        return complete & (events.category == Category.RUNTIME) & among(events.role, SUBMITS)
    return complete & (events.category == Category.OPERATOR)


def written(prefix: str, numbers: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
    """Handles of these numbers."""
    return np.char.add(f"{prefix}-", numbers.astype(np.str_)).astype(object)
