"""The operator table: host and device time by operator."""

from __future__ import annotations

import numpy as np

from tracelens.analysis.handles import OPERATOR
from tracelens.analysis.marks import STEP_NUMBER
from tracelens.analysis.results import Steps
from tracelens.analysis.table import Table
from tracelens.analysis.tables.columns import handle_column, name_column, place_column
from tracelens.analysis.tables.groups import Groups
from tracelens.analysis.tables.launches import owned_launches
from tracelens.analysis.work import owned_work
from tracelens.model.events import ABSENT, Bools, Category, Int64s, Trace
from tracelens.model.names import named
from tracelens.model.nesting import nearest


def operator_rows(trace: Trace) -> Bools:
    """Mask (n) of the complete operator events."""
    return (trace.events.category == Category.OPERATOR) & trace.events.complete()


def self_ns(trace: Trace) -> Int64s:
    """(n) Host time of each operator without the operators it calls, its runtime calls included; 0 for others."""
    events, mask = trace.events, operator_rows(trace)
    rows = np.flatnonzero(mask)
    outer = nearest(trace.links.parent, trace.links.parent[rows], mask)
    nested = outer != ABSENT
    own = np.where(mask, events.duration, 0)
    inside = np.minimum(events.end[rows[nested]], events.end[outer[nested]]) - events.start[rows[nested]]
    np.subtract.at(own, outer[nested], np.maximum(inside, 0))
    return np.maximum(own, 0)


def operator_table(trace: Trace, steps: Steps, device: int) -> Table:
    """Operators that the steps' process began in the counted steps, by name; largest host time first.

    Columns: name, count, host_ns (self time: child operators excluded, runtime calls included), device_ns (of the
    device work it launched itself), launches, where (of the example), example (handle of the one with most host
    time), row (of the example)."""
    events = trace.events
    rows = np.flatnonzero(operator_rows(trace) & steps.threads.process.take(events.lane))
    rows = _begun_in(steps.host, rows, events.start)
    rows = rows[~named(trace, rows, STEP_NUMBER)]
    work, calls = owned_work(trace, steps, device), owned_launches(trace, steps, device)
    groups, own_ns = Groups.by(events.name[rows]), self_ns(trace)[rows]
    host_ns = groups.sums(own_ns)
    device_ns = groups.sums(_by_operator(trace, work, events.duration[work])[rows])
    launches = groups.sums(_by_operator(trace, calls, np.ones(len(calls), dtype=np.int64))[rows])
    example = rows[groups.largest(own_ns)]
    found = Table(
        {
            "name": name_column(trace, example),
            "count": groups.count,
            "host_ns": host_ns,
            "device_ns": device_ns,
            "launches": launches,
            "where": place_column(trace, example),
            "example": handle_column(trace, OPERATOR, example),
            "row": example,
        }
    )
    return found.take(np.lexsort((-device_ns, -host_ns)))


def _begun_in(spans: Int64s, rows: Int64s, start: Int64s) -> Int64s:
    """The rows whose start lies in one of the spans, (n, 2) ns, disjoint and ascending."""
    if not len(spans):
        return rows[:0]
    begun = start[rows]
    span = np.searchsorted(spans[:, 0], begun, side="right") - 1
    return rows[np.flatnonzero((span >= 0) & (begun < spans[span, 1]))]


def _by_operator(trace: Trace, rows: Int64s, amount: Int64s) -> Int64s:
    """(n) Sum of the amounts of the rows that each operator issued itself."""
    operator = trace.links.operator[rows]
    total = np.zeros(len(trace.events), dtype=np.int64)
    np.add.at(total, operator[operator != ABSENT], amount[operator != ABSENT])
    return total
