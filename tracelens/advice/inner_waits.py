"""Waits inside a step, told from those that end it: a script's or a profiler's own synchronisation."""

from __future__ import annotations

import numpy as np

from tracelens.analysis.results import Analysis
from tracelens.model.events import ABSENT, Bools


def inner_waits(analysis: Analysis) -> Bools:
    """Per row of the table of waits, whether a capture of its step would meet it.

    A bare wait before the first launch of its step or after the last lies outside what would be captured; a wait that
    an operator makes does not, for the operator is part of the step."""
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
    return (step != ABSENT) & (asked | ((begun > first[step]) & (begun < last[step])))
