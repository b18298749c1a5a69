"""What of the events could not be read in full, and whether the counted steps hold it."""

from __future__ import annotations

from typing import Final

import numpy as np

from tracelens.analysis.extent import MISPLACED
from tracelens.analysis.results import Steps
from tracelens.loading.assemble import NEGATIVE, UNKNOWN_PHASES
from tracelens.loading.batch import OUT_OF_RANGE
from tracelens.loading.careful import NO_ARGUMENTS, NO_CATEGORY, NO_CORRELATION, NO_DURATION, NO_NAME
from tracelens.loading.soundness import DAMAGED
from tracelens.model.events import Bools, Int64s, Repair, Trace

UNREPEATED: Final = frozenset({"whole", "range"})
"""Windows of which all that was recorded counts, as nobody marked a step."""
_UNTIMED: Final = (NO_DURATION, NEGATIVE, OUT_OF_RANGE)
"""Repairs that may leave an event without a duration."""
_UNREAD: Final = (NO_ARGUMENTS, NO_CATEGORY, NO_CORRELATION, NO_NAME, UNKNOWN_PHASES, *_UNTIMED)
"""Repairs that count events of which something is not known."""


def mended_share(trace: Trace, steps: Steps) -> float | None:
    """Share of the complete events of the counted steps that are damaged, so that a time or an argument may be cut."""
    complete = _complete(trace, steps)
    return min(_count(trace, steps, (DAMAGED,)) / complete, 1.0) if complete else None


def unread_share(trace: Trace, steps: Steps, work: Int64s) -> float | None:
    """Share of the complete events of the counted steps that give a name, a category, a duration, a number or arguments
    that cannot be read, or whose kind cannot; of the device's work (rows) that of events without a duration, where that
    is more."""
    complete = _complete(trace, steps)
    endless = min(_count(trace, steps, _UNTIMED), int((trace.events.duration[work] == 0).sum()))
    every = _count(trace, steps, _UNREAD)
    return min(max(every / complete, endless / max(len(work), 1)), 1.0) if complete else None


def unread(trace: Trace, steps: Steps) -> str:
    """What of them cannot be read, with how often and the first of the file."""
    told = ((repair, _count(trace, steps, (repair.kind,))) for repair in trace.repairs if repair.kind in _UNREAD)
    return ", ".join(f"{count:,} {repair.kind}, the first {repair.example}" for repair, count in told if count)


def in_steps(trace: Trace, steps: Steps, repair: Repair) -> int | None:
    """How often a kind of damage is in the counted steps, from the first event of theirs to the last; None where nobody
    knows: the events are lost or have no time, or no step is marked."""
    untimed = _without_time(trace) & set(repair.events or ())
    return None if untimed else _inside(trace, steps, repair.events)


def _without_time(trace: Trace) -> set[int]:
    """Places in the file of the events whose time is not known."""
    return {place for repair in trace.repairs if repair.kind in MISPLACED for place in repair.events or ()}


def _inside(trace: Trace, steps: Steps, events: tuple[int, ...] | None) -> int | None:
    """How many of the events at these places in the file are in the counted steps; one without a time begins with the
    trace."""
    if events is None or _is_all(steps) or not len(trace.events):
        return None
    # Rows are in file order.
    offsets, places = trace.events.offset, np.array(events, dtype=np.int64)
    row = np.minimum(np.searchsorted(offsets, places), len(offsets) - 1)
    return int(_of_steps(trace, steps)[row].sum()) if np.all(offsets[row] == places) else None


def _count(trace: Trace, steps: Steps, kinds: tuple[str, ...]) -> int:
    """How often the kinds of damage are in the counted steps, or in the file where that is not known."""
    found = [repair for repair in trace.repairs if repair.kind in kinds]
    counts = [(_inside(trace, steps, repair.events), repair.count) for repair in found]
    return sum(every if inside is None else inside for inside, every in counts)


def _complete(trace: Trace, steps: Steps) -> int:
    """How many complete events the counted steps have."""
    complete = trace.events.complete()
    return int((complete if _is_all(steps) else complete & _of_steps(trace, steps)).sum())


def _is_all(steps: Steps) -> bool:
    return steps.window.kind in UNREPEATED or not len(steps.window.tiles) or not len(steps.host)


def _of_steps(trace: Trace, steps: Steps) -> Bools:
    """(n) Whether an event lies between the first moment of the counted steps, on the host or the device, and the
    last."""
    tiles, host, events = steps.window.tiles, steps.host, trace.events
    begin, end = min(tiles[0, 0], host[0, 0]), max(tiles[-1, 1], host[-1, 1])
    return (events.end >= begin) & (events.start < end)
