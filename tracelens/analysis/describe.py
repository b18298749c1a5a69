"""All that is known of one gap or event, by its handle."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tracelens.analysis import handles
from tracelens.analysis.extent import device_ids
from tracelens.analysis.handles import NumberedGaps, Target, handles_of
from tracelens.analysis.kinds import kinds, origins
from tracelens.analysis.parts import Part
from tracelens.analysis.results import Analysis, Steps, Timeline
from tracelens.analysis.steps import find_steps
from tracelens.analysis.tables.launches import launched
from tracelens.analysis.tables.operators import self_ns
from tracelens.analysis.tables.syncs import own_waits, sync_costs
from tracelens.analysis.timeline import build_timeline
from tracelens.analysis.where import places
from tracelens.errors import UnreadableError
from tracelens.loading.reread import event_args
from tracelens.model.events import ABSENT, NO_STREAM, Category, Int64s, Trace
from tracelens.model.names import names_of

SHOWN: Final = 20
"""Device events or calls that are listed by name; more are only counted."""


def describe(trace: Trace, handle: str, analysis: Analysis | None = None) -> dict[str, Any]:
    """Everything known of what a handle names, as plain values that JSON can hold.

    Keys that end in _ns hold int ns, starts after Trace.base_ns; the rest are words, counts, lists or mappings of
    such. What the trace does not say is None or left out. Raises UsageError for an unknown handle.

    analysis: of the trace, whose device and window are those that savings are told for; by default the busiest device
    and its steps."""
    if handle.strip().startswith(f"{handles.GAP}-"):
        return _gap(trace, handle, analysis.numbered if analysis else handles.all_gaps(trace))
    target = handles.resolve(trace, handle)
    if target.prefix == handles.SYNC:
        more = _sync(trace, target.row, analysis)
    else:
        tell = {handles.DEVICE_EVENT: _device_event, handles.LAUNCH: _launch, handles.OPERATOR: _operator}
        more = tell[target.prefix](trace, target.row)
    return _event(trace, target) | more | {"arguments": _arguments(trace, target.row)}


def _event(trace: Trace, target: Target) -> dict[str, Any]:
    row, events, lanes = target.row, trace.events, trace.lanes
    lane = int(events.lane[row])
    thread = f"{lanes.tid[lane]} {lanes.thread[lane]}".strip()
    on_device = bool(events.device_work()[row])
    place = {"device": int(events.device[row]), "stream": _stream(trace, row)} if on_device else {"thread": thread}
    return {
        "handle": target.handle,
        "kind": handles.NOUNS[target.prefix],
        "name": trace.names[int(events.name[row])],
        **_times(trace, row),
        **place,
        "where": _where(trace, row),
        "called_by": _mentions(trace, callers(trace, row)),
    }


def _times(trace: Trace, row: int) -> dict[str, int]:
    return {"start_ns": int(trace.events.start[row]), "ns": int(trace.events.duration[row])}


def _stream(trace: Trace, row: int) -> int | None:
    stream = int(trace.events.stream[row])
    return None if stream == NO_STREAM else stream


def _where(trace: Trace, row: int) -> str | None:
    return places(trace, np.array([row]))[0]


def callers(trace: Trace, row: int) -> Int64s:
    """Rows of what encloses the event on the host, innermost first, Python frames included.

    What had ended before the event began encloses it no more, even if it holds the beginning of one that does."""
    events, launch = trace.events, int(trace.links.launch[row])
    host = launch if launch != ABSENT else row
    chain = [int(trace.links.parent[host])]
    while chain[-1] != ABSENT:
        chain.append(int(trace.links.parent[chain[-1]]))
    above = np.array(chain[:-1], dtype=np.int64)
    return above[events.end[above] > events.start[host]]


def _mention(trace: Trace, row: int) -> str | None:
    return _mentions(trace, np.array([row]))[0] if row != ABSENT else None


def _mentions(trace: Trace, rows: Int64s) -> list[str]:
    """Handle, where there is one, and name of each event."""
    known = np.full(len(rows), None, dtype=object)
    for prefix in (handles.DEVICE_EVENT, handles.OPERATOR, handles.LAUNCH, handles.SYNC):
        bare = np.array([at for at, handle in enumerate(known) if handle is None], dtype=np.int64)
        known[bare] = handles_of(trace, prefix, rows[bare])
    return [" ".join(filter(None, pair)) for pair in zip(known, names_of(trace, rows), strict=True)]


def _listed(trace: Trace, rows: Int64s) -> list[str]:
    """The first events; a last entry counts those left out."""
    left_out = len(rows) - SHOWN
    return _mentions(trace, rows[:SHOWN]) + ([f"and {left_out:,} more"] if left_out > 0 else [])


def _device_event(trace: Trace, row: int) -> dict[str, Any]:
    rows = np.array([row])
    launch = int(trace.links.launch[row])
    found: dict[str, Any] = {"kernel_kind": kinds(trace, rows)[0], "origin": origins(trace, rows)[0]}
    if launch == ABSENT:
        return found | {"launch": "no launch record"}
    waited = int(trace.events.start[row] - trace.events.end[launch])
    called = {"call": _mention(trace, launch), **_times(trace, launch)}
    shared = int((trace.links.launch == launch).sum())
    return found | {"launch": called | {"queued_ns": max(waited, 0), "device_events": shared}}


def _launch(trace: Trace, row: int) -> dict[str, Any]:
    work = np.flatnonzero(trace.links.launch == row)
    work = work[np.argsort(trace.events.start[work], kind="stable")]
    _, first = launched(trace)
    latency = max(int(first[row] - trace.events.end[row]), 0) if len(work) else None
    return {"latency_ns": latency, "device_events": len(work), "launched": _listed(trace, work)}


def _sync(trace: Trace, row: int, analysis: Analysis | None) -> dict[str, Any]:
    """Overlap and cost on one device as the sync table has them; over the whole trace outside its steps. What another
    thread than theirs waits for costs nothing."""
    timeline, steps = (analysis.timeline, analysis.steps) if analysis else _busiest(trace)
    rows = own_waits(trace, steps)
    counted, tiles = steps.owner[rows] != ABSENT, steps.window.tiles
    if not counted[rows == row].any():
        rows = handles.rows_behind(trace, handles.SYNC)
        counted, tiles = np.ones(len(rows), bool), np.array([[0, timeline.end.max(initial=0)]], dtype=np.int64)
    costs = sync_costs(timeline, tiles, trace.events.start[rows], trace.events.end[rows], counted)
    at = int(np.flatnonzero(rows[counted] == row)[0])
    own = bool(steps.threads.own[trace.events.lane[row]])
    saving = {"low_ns": own * int(costs.low[at]), "high_ns": own * int(costs.high[at])}
    return {"busy_overlap_ns": int(costs.busy[at]), "saving_if_removed": saving}


def _busiest(trace: Trace) -> tuple[Timeline, Steps]:
    device = next(iter(device_ids(trace)), ABSENT)
    return build_timeline(trace, device)[0], find_steps(trace, device)


def _operator(trace: Trace, row: int) -> dict[str, Any]:
    events, own = trace.events, trace.links.operator == row
    work = np.flatnonzero(own & events.device_work())
    calls = np.flatnonzero(own & (events.category == Category.RUNTIME))
    return {
        "self_ns": int(self_ns(trace)[row]),
        "device_ns": int(events.duration[work].sum()),
        "calls": _listed(trace, calls),
        "launched": _listed(trace, work[np.argsort(events.start[work], kind="stable")]),
    }


def _gap(trace: Trace, handle: str, numbered: NumberedGaps) -> dict[str, Any]:
    target = handles.resolve(trace, handle, numbered)
    timeline, gaps = numbered.by_device[target.device]
    gap, after = target.gap, target.row
    operator, before = int(gaps.operator[gap]), int(gaps.before[gap])
    launch = int(trace.links.launch[after]) if after != ABSENT else ABSENT
    return {
        "handle": target.handle,
        "kind": handles.NOUNS[handles.GAP],
        "device": target.device,
        "start_ns": int(gaps.start[gap]),
        "ns": int(gaps.end[gap] - gaps.start[gap]),
        "cause": Part(gaps.part[gap]).full_name,
        "pieces": _pieces(timeline, gap),
        "before": _mention(trace, before),
        "after": _mention(trace, after),
        "launch": _mention(trace, launch),
        "operator": _mention(trace, operator),
        "where": _where(trace, operator if operator != ABSENT else after),
    }


def _pieces(timeline: Timeline, gap: int) -> dict[str, int]:
    """ns of the gap in each part that has any, largest first."""
    at = np.flatnonzero(timeline.gap == gap)
    ns = np.bincount(timeline.part[at], weights=timeline.end[at] - timeline.start[at], minlength=len(Part))
    return {f"{Part(part).full_name}_ns": int(ns[part]) for part in np.argsort(-ns, kind="stable") if ns[part]}


def _arguments(trace: Trace, row: int) -> dict[str, Any] | str:
    """The event's arguments as the file has them, or why they cannot be read again."""
    try:
        return event_args(trace, row)
    except UnreadableError as error:
        return str(error)
