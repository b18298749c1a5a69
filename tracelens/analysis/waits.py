"""Host calls that block until the device is done."""

from __future__ import annotations

import numpy as np

from tracelens.model.events import ABSENT, Bools, Category, Role, Trace


def blocking_waits(trace: Trace) -> Bools:
    """Mask of rows (n): synchronisations, and copies that return only after they ended on the device."""
    events = trace.events
    calls = (events.category == Category.RUNTIME) & (events.phase == ord("X"))
    return calls & ((events.role == Role.SYNC) | _blocking_copies(trace))


def _blocking_copies(trace: Trace) -> Bools:
    events = trace.events
    work = np.flatnonzero(events.device_work() & (trace.links.launch != ABSENT))
    done = np.full(len(events), np.iinfo(np.int64).max)
    call = trace.links.launch[work]
    done[call] = -1
    np.maximum.at(done, call, events.end[work])
    return (events.role == Role.COPY) & (events.end >= done)
