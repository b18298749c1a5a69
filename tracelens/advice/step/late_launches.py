"""How long streams idled for work that the host launched too late: what a faster host could give back at most."""

from __future__ import annotations

from math import inf

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.patterns import FROM_HOST
from tracelens.advice.step.inner_waits import TO_HOST
from tracelens.analysis.clocks import clocks_agree
from tracelens.analysis.extent import device_rows
from tracelens.analysis.results import Analysis
from tracelens.model.events import ABSENT, Category, Floats, Int64s, Trace
from tracelens.model.intervals import length, union
from tracelens.model.masks import run_starts
from tracelens.model.names import named


def late_launches(analysis: Analysis) -> float:
    """Ns per counted step in which any stream did, as a chain of work is on one of them at a time; infinite where the
    clocks of host and device do not tell.

    A gap of a stream counts up to when its next work could begin: a latency after its launch, all of it where the
    trace does not show that. What is left of the gap, the work waited for other streams or devices; and a copy for
    those of all streams that went its way, from or to the host, before it."""
    trace, events = analysis.trace, analysis.trace.events
    if not clocks_agree(trace):
        return inf
    work = device_rows(trace, analysis.device)
    work = work[np.lexsort((events.start[work], events.stream[work]))]
    launch = trace.links.launch[work]
    ready = np.where(launch == ABSENT, inf, events.end[launch] + C.LAUNCH_LATENCY)
    begun, until = _gaps(events.stream[work].astype(np.int64), events.start[work], events.end[work])
    begun = np.maximum(begun, _turns(trace, work))
    late = np.maximum(np.minimum(until, ready), begun)
    tiles = analysis.window.tiles
    tile = np.searchsorted(tiles[:, 0], until, side="right") - 1
    counted = (tile >= 0) & (until < np.append(tiles[:, 1], 0)[tile])
    found = union(begun[counted], late[counted].astype(np.int64))
    return length(found) / max(len(tiles), 1)


def _turns(trace: Trace, work: Int64s) -> Int64s:
    """When the copy before each one, in its direction from or to the host, ended; 0 of all other work."""
    events, ended = trace.events, np.zeros(len(work), dtype=np.int64)
    for way in (FROM_HOST, TO_HOST):
        copies = np.flatnonzero((events.category[work] == Category.COPY) & named(trace, work, way))
        copies = copies[np.argsort(events.start[work[copies]], kind="stable")]
        ended[copies[1:]] = events.end[work[copies[:-1]]]
    return ended


def _gaps(stream: Int64s, start: Int64s, end: Int64s) -> tuple[Int64s, Floats]:
    """(begin, end) of the idle time of a stream before each piece of its work, by stream and start; the time before the
    first of a stream is none."""
    return np.where(run_starts(stream), start, np.roll(end, 1)), start.astype(np.float64)
