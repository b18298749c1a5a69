"""How long streams idled for work that the host launched too late: what a faster host could give back at most."""

from __future__ import annotations

from math import inf

import numpy as np

from tracelens.advice import constants as C
from tracelens.analysis.clocks import clocks_agree
from tracelens.analysis.results import Analysis
from tracelens.model.events import ABSENT, Floats, Int64s


def late_launches(analysis: Analysis) -> float:
    """Ns per counted step, all streams added up; infinite where the clocks of host and device do not tell.

    A gap of a stream counts up to when its next work could begin: a latency after its launch, all of it where the
    trace does not show that. What is left of the gap, the work waited for other streams or devices."""
    trace, events = analysis.trace, analysis.trace.events
    if not clocks_agree(trace):
        return inf
    work = np.flatnonzero(events.device_work() & (events.device == analysis.device))
    work = work[np.lexsort((events.start[work], events.stream[work]))]
    launch = trace.links.launch[work]
    ready = np.where(launch == ABSENT, inf, events.end[launch] + C.LAUNCH_LATENCY)
    begun, until = _gaps(events.stream[work].astype(np.int64), events.start[work], events.end[work])
    late = np.clip(np.minimum(until, ready) - begun, 0, None)
    tiles = analysis.window.tiles
    tile = np.searchsorted(tiles[:, 0], until, side="right") - 1
    counted = (tile >= 0) & (until < np.append(tiles[:, 1], 0)[tile])
    return float(late[counted].sum()) / max(len(tiles), 1)


def _gaps(stream: Int64s, start: Int64s, end: Int64s) -> tuple[Int64s, Floats]:
    """(begin, end) of the idle time of a stream before each piece of its work, by stream and start; the time before the
    first of a stream is none."""
    first = np.append(True, np.diff(stream) != 0)[: len(stream)]
    return np.where(first, start, np.roll(end, 1)), start.astype(np.float64)
