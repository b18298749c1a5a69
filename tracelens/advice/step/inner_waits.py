"""Waits inside a step, told from those that end it: a script's or a profiler's own synchronisation."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tracelens.analysis.results import Analysis
from tracelens.analysis.waits import necessary_waits, repeated
from tracelens.model.events import ABSENT, Bools, Category, Int64s
from tracelens.model.names import named

OF_ONE_STREAM: Final = re.compile(r"(?:Stream|Event)Synchronize$")
"""Calls that wait for one stream or event, as those for the whole device do not."""
TO_HOST: Final = re.compile(r"DtoH|DeviceToHost", re.IGNORECASE)
"""Copies of results to the host."""


def inner_waits(analysis: Analysis) -> Bools:
    """Per row of the table of waits, whether a capture of its step would meet it, of two that are one the first.

    A bare wait before the first launch of its step or after the last lies outside what would be captured; a wait that
    an operator makes does not, for the operator is part of the step, and neither does one for the stream or the event
    of a copy to the host that the step has just launched."""
    events, owner, syncs = analysis.trace.events, analysis.steps.owner, analysis.tables["syncs"]
    work = np.flatnonzero((owner != ABSENT) & events.device_work() & (analysis.trace.links.launch != ABSENT))
    launched = events.start[analysis.trace.links.launch[work]]
    first = np.full(len(analysis.window.tiles), np.iinfo(np.int64).max)
    last = np.full(len(analysis.window.tiles), np.iinfo(np.int64).min)
    np.minimum.at(first, owner[work], launched)
    np.maximum.at(last, owner[work], launched)
    rows = syncs["row"]
    step, begun = owner[rows], events.start[rows]
    asked = syncs["operator"].astype(np.bool_)
    inside = (begun > first[step]) & (begun < last[step])
    anew = necessary_waits(analysis.trace)[rows]
    anew[anew] = ~repeated(analysis.trace, rows[anew])  # what waits for a copy that need not wait repeats nothing
    return anew & (step != ABSENT) & (asked | inside | _reads_results(analysis, rows, work[np.argsort(launched)]))


def _reads_results(analysis: Analysis, waits: Int64s, work: Int64s) -> Bools:
    """Whether what was launched last before each wait, of work in launch order, is a copy to the host of its step, and
    the wait is for that alone."""
    trace, owner = analysis.trace, analysis.steps.owner
    if not len(work) or not len(waits):
        return np.zeros(len(waits), dtype=np.bool_)
    launched = trace.events.start[trace.links.launch[work]]
    before = work[np.maximum(np.searchsorted(launched, trace.events.start[waits]) - 1, 0)]
    copies = (trace.events.category[before] == Category.COPY) & named(trace, before, TO_HOST)
    return copies & (owner[before] == owner[waits]) & named(trace, waits, OF_ONE_STREAM)
