"""Batches to the columns of a whole trace: one clock, absurd values counted, vendor words told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tracelens.loading.batch import NO_TIME, OUT_OF_RANGE, Batch, empty_batch
from tracelens.loading.fields import SPARSE_KINDS, Kind
from tracelens.loading.framing import chars_in
from tracelens.loading.growing import GrowingArray
from tracelens.loading.numbers import LONGEST_DURATION, integer
from tracelens.loading.pairs import complete_pairs
from tracelens.loading.repairs import MOST_PLACES, RepairLog
from tracelens.loading.vocabulary import PHASES, role
from tracelens.model.distinct import distinct
from tracelens.model.events import (
    ABSENT,
    COMPLETE,
    DEVICE_WORK,
    NO_STREAM,
    Bools,
    Bytes,
    Category,
    Events,
    Int32s,
    Int64s,
    Lanes,
    SparseColumn,
    among,
)

UNKNOWN_PHASES: Final = "events of an unknown phase"
NEGATIVE: Final = "negative durations"
UNTIMED: Final = "events without a time"
TOO_EARLY: Final = "times before the trace begins"
_IS_PHASE: Final = chars_in(b"BEXiICMPVvRcabneSTpFstfNOD(),")
"""By byte, whether it is the `ph` of a kind of event that the format knows."""
_SECOND: Final = 1_000_000_000
"""ns."""
_MOST_DEVICES: Final = 1024
"""A device event's pid beyond this is a process, not a device."""


class Columns:
    """Takes batches in file order; each column becomes one array at the end."""

    def __init__(self) -> None:
        self.count = 0
        """Events so far."""
        nowhere = np.empty(0, dtype=np.int64)
        blank = empty_batch(nowhere, nowhere).columns()
        self._dense = {name: GrowingArray(column.dtype) for name, column in blank.items()}
        self._sparse: dict[str, tuple[GrowingArray, GrowingArray]] = {}

    def add(self, batch: Batch) -> None:
        """Append the events of a batch."""
        for name, column in batch.columns().items():
            self._dense[name].extend(column)
        for name, (rows, values) in batch.sparse.items():
            if name not in self._sparse:
                self._sparse[name] = GrowingArray(np.int32), GrowingArray(values.dtype)
            all_rows, all_values = self._sparse[name]
            all_rows.extend(rows + self.count)
            all_values.extend(values)
        self.count += len(batch)

    def take_dense(self) -> dict[str, npt.NDArray[Any]]:
        """All columns that every event fills, forgotten here."""
        return {name: self._dense.pop(name).take() for name in list(self._dense)}

    def take_sparse(self) -> dict[str, SparseColumn]:
        """All sparse columns that some event fills, forgotten here."""
        taken = {name: self._sparse.pop(name) for name in SPARSE_KINDS if name in self._sparse}
        return {
            name: SparseColumn(rows.take(), values.take(), SPARSE_KINDS[name] == Kind.TEXT)
            for name, (rows, values) in taken.items()
        }


def events_of(columns: Columns, names: Sequence[str], lanes: Lanes, repairs: RepairLog) -> tuple[Events, int]:
    """All events, and the start of the earliest work in ns on the file's own clock. Empties `columns`."""
    taken = columns.take_dense()
    phase, name, offset = taken["phase"], taken["name"], taken["offset"]
    _count(UNKNOWN_PHASES, np.flatnonzero(~_IS_PHASE[phase]), offset, repairs)
    _complete_pairs(taken, repairs)
    category = _categories(phase, taken["category"], name, names)
    base = base_of(taken["start"], phase == COMPLETE)
    # In place: of a large trace each further column is many MB, which the system hands out anew.
    _shift(taken["start"], base, phase == COMPLETE, offset, repairs)
    _bound(taken["duration"], offset, repairs)
    taken["correlation"] = _unsigned(taken["correlation"])
    _place(taken["device"], taken["stream"], np.flatnonzero(among(category, DEVICE_WORK)), taken["lane"], lanes)
    taken["category"] = category
    return Events(role=_roles(category, name, names), **taken), base


def _complete_pairs(taken: dict[str, npt.NDArray[Any]], repairs: RepairLog) -> None:
    """Make begin and end events complete ones; what is left over keeps its row and is counted."""
    columns = (taken[name] for name in ("phase", "category", "lane", "start", "duration"))
    begun, ended = complete_pairs(*columns)
    _count("events begun and not ended", begun, taken["offset"], repairs)
    _count("ends of events that did not begin", ended, taken["offset"], repairs)


def _categories(phase: Bytes, category: Bytes, name: Int32s, names: Sequence[str]) -> Bytes:
    """The category of the `cat`, unless the phase alone settles it."""
    by_phase = np.full(256, Category.OTHER, dtype=np.uint8)
    by_phase[list(PHASES)] = list(PHASES.values())
    settled = by_phase[phase]
    memory = names.index("[memory]") if "[memory]" in names else ABSENT
    settled[(phase == ord("i")) & (name == memory)] = Category.MEMORY
    return np.where(settled == Category.OTHER, category, settled)


def base_of(start: Int64s, complete: Bools) -> int:
    """Earliest start of a complete event in ns; of any event where there is none; 0 where nothing has a time.

    Profilers clamp a time before their own base to 0. Such a zero is not where the trace begins if everything
    else starts further away than it lasts, and at least a second.
    """
    given = start != NO_TIME
    times = start[given & complete] if (given & complete).any() else start[given]
    if len(times) and times.min() > 0:
        return int(times.min())
    later = times[times > 0]
    if not len(later):
        return int(times.min()) if len(times) else 0
    first, last = int(later.min()), int(later.max())
    clamped = first > max(_SECOND, last - first)
    return first if clamped else int(times.min())


def _shift(start: Int64s, base: int, complete: Bools, offset: Int64s, repairs: RepairLog) -> None:
    """Make starts count from the base, in place; what has no time or one before the base starts at it."""
    missing = start == NO_TIME
    _count(UNTIMED, np.flatnonzero(missing & complete), offset, repairs)
    _count(TOO_EARLY, np.flatnonzero(~missing & complete & (start < base)), offset, repairs)
    np.maximum(start, base, out=start)
    start -= base


def _bound(duration: Int64s, offset: Int64s, repairs: RepairLog) -> None:
    """Make durations that cannot be 0, in place."""
    endless = duration > LONGEST_DURATION
    _count(NEGATIVE, np.flatnonzero(duration < 0), offset, repairs)
    _count(OUT_OF_RANGE, np.flatnonzero(endless), offset, repairs)
    np.maximum(duration, 0, out=duration)
    duration[endless] = 0


def _unsigned(correlation: Int64s) -> Int64s:
    """Correlations, of which negative ones are such of 32 bits that were printed as signed."""
    if correlation.min(initial=ABSENT) >= ABSENT:
        return correlation
    return np.where((correlation < ABSENT) & (correlation >= -(2**31)), correlation + 2**32, correlation)


def _count(kind: str, rows: npt.NDArray[np.integer], offset: Int64s, repairs: RepairLog) -> None:
    if len(rows):
        places: list[int] = offset[rows[:MOST_PLACES]].tolist()
        repairs.add(kind, f"event at byte {places[0]}", places[0], len(rows), places)


def _place(device: Int32s, stream: Int32s, work: Int64s, lane: Int32s, lanes: Lanes) -> None:
    """Fill in device and stream of device work (rows) that gives none: Kineto also writes them as pid and tid."""
    pid = np.array([_small(pid) for pid in lanes.pid] or [ABSENT], dtype=np.int32)
    tid = np.array([_small(tid.removeprefix("stream ")) for tid in lanes.tid] or [ABSENT], dtype=np.int32)
    lacking, unplaced = work[device[work] == ABSENT], work[stream[work] == NO_STREAM]
    unplaced = unplaced[tid[lane[unplaced]] != ABSENT]
    device[lacking], stream[unplaced] = pid[lane[lacking]], tid[lane[unplaced]]


def _small(text: str) -> int:
    number = integer(text) if text.isdigit() else None
    return number if number is not None and number < _MOST_DEVICES else ABSENT


def _roles(category: Bytes, name: Int32s, names: Sequence[str]) -> Bytes:
    """Role of every runtime call, told once per distinct name."""
    calls = np.flatnonzero(category == Category.RUNTIME)
    by_name, roles = np.zeros(len(names), dtype=np.uint8), np.zeros(len(category), dtype=np.uint8)
    for id in map(int, distinct(name[calls], len(names))):
        by_name[id] = role(names[id])
    roles[calls] = by_name[name[calls]]
    return roles
