"""Links op -> launch -> device work by correlation, External id and nesting."""

from __future__ import annotations

import numpy as np

from tracelens.model.events import ABSENT, SUBMITS, Category, Events, Int32s, Int64s, Links
from tracelens.model.nesting import enclosing

HOST = (Category.OPERATOR, Category.ANNOTATION, Category.RUNTIME, Category.PYTHON)


def link(events: Events) -> Links:
    """Links of all events; every array has one entry per event."""
    parent = _parents(events)
    launch = _launches(events)
    operator = _operators(events, parent, launch)
    return Links(launch, operator, parent)


def _parents(events: Events) -> Int32s:
    rows = np.flatnonzero(np.isin(events.category, HOST) & (events.phase == ord("X")))
    inner = enclosing(events.lane[rows], events.start[rows], events.end[rows])
    parent = np.full(len(events), ABSENT, dtype=np.int32)
    parent[rows] = np.where(inner == ABSENT, ABSENT, rows[inner])
    return parent


def _launches(events: Events) -> Int32s:
    """The call with the same correlation id; where ids repeat, the last one begun before the device event."""
    calls = np.flatnonzero((events.category == Category.RUNTIME) & (events.correlation > 0))
    submits = np.isin(events.role[calls], SUBMITS)
    calls = calls[np.lexsort((events.start[calls], submits, events.correlation[calls]))]
    result = np.full(len(events), ABSENT, dtype=np.int32)
    rows = np.flatnonzero(events.device_work() & (events.correlation > 0))
    if not len(calls) or not len(rows):
        return result
    last = np.searchsorted(events.correlation[calls], events.correlation[rows], side="right") - 1
    found = (last >= 0) & (events.correlation[calls[last]] == events.correlation[rows])
    result[rows[found]] = calls[last[found]]
    return result


def _operators(events: Events, parent: Int32s, launch: Int32s) -> Int32s:
    by_id = _by_external_id(events)
    ancestor = _operator_above(events, parent)
    operator = np.where(by_id != ABSENT, by_id, ancestor)
    linked = np.flatnonzero(launch != ABSENT)
    of_launch = operator[launch[linked]]
    operator[linked] = np.where(of_launch != ABSENT, of_launch, operator[linked])
    return operator.astype(np.int32)


def _by_external_id(events: Events) -> Int64s:
    operators = np.flatnonzero((events.category == Category.OPERATOR) & (events.external_id > 0))
    operators = operators[np.argsort(events.external_id[operators], kind="stable")]
    result = np.full(len(events), ABSENT, dtype=np.int64)
    wanted = (events.category == Category.RUNTIME) | events.device_work()
    rows = np.flatnonzero(wanted & (events.external_id > 0))
    if not len(operators) or not len(rows):
        return result
    at = np.searchsorted(events.external_id[operators], events.external_id[rows], side="right") - 1
    found = (at >= 0) & (events.external_id[operators[at]] == events.external_id[rows])
    result[rows[found]] = operators[at[found]]
    return result


def _operator_above(events: Events, parent: Int32s) -> Int64s:
    """Nearest enclosing operator of host calls."""
    result = np.where(events.category == Category.RUNTIME, parent, ABSENT).astype(np.int64)
    while True:
        other = np.flatnonzero(result != ABSENT)
        other = other[events.category[result[other]] != Category.OPERATOR]
        if not len(other):
            return result
        result[other] = parent[result[other]]
