"""The launch table: the host calls that submit device work."""

from __future__ import annotations

import numpy as np

from tracelens.analysis.handles import LAUNCH
from tracelens.analysis.results import Steps
from tracelens.analysis.table import Table
from tracelens.analysis.tables.columns import handle_column, name_column, place_column
from tracelens.model.events import ABSENT, SUBMITS, Category, Int64s, Trace, among


def owned_launches(trace: Trace, steps: Steps, device: int) -> Int64s:
    """Rows of the calls made in the counted steps that submit work to a device, in start order.

    A call that no device work is linked to counts for every device."""
    events, launch = trace.events, trace.links.launch
    calls = (events.category == Category.RUNTIME) & among(events.role, SUBMITS) & events.complete()
    elsewhere = np.zeros(len(events), dtype=np.bool_)
    for here in (False, True):
        work = (launch != ABSENT) & ((events.device == device) == here)
        elsewhere[launch[work]] = not here
    rows = np.flatnonzero(calls & (steps.owner != ABSENT) & ~elsewhere)
    return rows[np.argsort(events.start[rows], kind="stable")]


def launched(trace: Trace) -> tuple[Int64s, Int64s]:
    """For each event: how many device events it launched, and the start of the first (ns, ABSENT without)."""
    work = np.flatnonzero(trace.links.launch != ABSENT)
    call = trace.links.launch[work]
    count = np.bincount(call, minlength=len(trace.events)).astype(np.int64)
    first = np.full(len(trace.events), np.iinfo(np.int64).max, dtype=np.int64)
    np.minimum.at(first, call, trace.events.start[work])
    return count, np.where(count > 0, first, ABSENT)


def launch_table(trace: Trace, steps: Steps, device: int) -> Table:
    """Launch calls of the counted steps to a device, in start order; one graph launch is one row.

    Columns: handle, call, ns (of the call), latency_ns (from the call's end to its first device event's start,
    0 when that started earlier; missing without a device event), kernels (device events it launched), operator,
    where, row."""
    events, rows = trace.events, owned_launches(trace, steps, device)
    count, first = launched(trace)
    latency = np.maximum(first[rows] - events.start[rows] - events.duration[rows], 0)
    return Table(
        {
            "handle": handle_column(trace, LAUNCH, rows),
            "call": name_column(trace, rows),
            "ns": events.duration[rows],
            "latency_ns": np.where(count[rows] > 0, latency, ABSENT),
            "kernels": count[rows],
            "operator": name_column(trace, trace.links.operator[rows]),
            "where": place_column(trace, rows),
            "row": rows,
        },
        optional=frozenset({"latency_ns"}),
    )
