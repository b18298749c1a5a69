"""The tables of a session, each row with the event or gap that it leads to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tracelens.analysis.parts import Part
from tracelens.analysis.results import Analysis
from tracelens.analysis.table import Table as Rows
from tracelens.model import units
from tracelens.model.events import ABSENT, Category, Int64s
from tracelens.model.intervals import covered
from tracelens.model.names import names_of
from tracelens.reporting.kernel_titles import kernel_title
from tracelens.reporting.printable import cut, short_place
from tracelens.tui.atlas import Atlas
from tracelens.tui.findings import findings_table
from tracelens.tui.linked import Linked, duration, of_range
from tracelens.tui.rows import cut_left
from tracelens.tui.session import Session
from tracelens.tui.table import Column, Table

KERNEL: Final = 31
"""Cells in which names of kernels, whose beginnings and ends are shown, are told apart."""
AGGREGATES: Final = ("kernels", "operators")
"""Tables whose rows stand for many events each."""


def linked_table(session: Session, atlas: Atlas, name: str) -> Linked:
    """One of the tables, costliest rows first."""
    if name == "findings":
        return findings_table(session, atlas)
    rows = session.analysis.tables[name]
    if name == "syncs":
        # Those that save as much are told of by their length.
        rows = rows.largest("ns", len(rows))
    columns, gap = COLUMNS[name](rows), np.full(len(rows), ABSENT)
    if name == "gaps" and atlas.gaps is not None:
        gap = np.searchsorted(atlas.gaps.start, rows["start_ns"], side="right") - 1
        columns.append(Column("holds", _held(session.analysis, gap), gives_way=True, spare=True))
    table, title = Table(columns, sort=SORTED[name]), of_range(session)
    if name not in AGGREGATES:
        return Linked(table, rows["row"], gap, title)
    names = tuple(rows["name"].tolist())
    return Linked(table, rows["row"], gap, title, names, partial(_events_behind, session, name, names))


def _held(analysis: Analysis, gap: Int64s) -> npt.NDArray[np.object_]:
    """The parts that each gap has pieces of in the window: a number of the attribution is the sum of such pieces."""
    timeline = analysis.timeline
    idle = (timeline.gap != ABSENT) & (covered(analysis.window.tiles, timeline.start, timeline.end) > 0)
    bits = np.zeros(int(timeline.gap.max(initial=-1)) + 1, dtype=np.int64)
    np.bitwise_or.at(bits, timeline.gap[idle], np.int64(1) << timeline.part[idle].astype(np.int64))
    distinct, number = np.unique(bits[gap], return_inverse=True)
    parts = [[part for part in Part if held >> int(part) & 1] for held in distinct.tolist()]
    texts = [", ".join(f"{part.class_name}.{part.part_name}" for part in held) for held in parts]
    return np.array(texts, dtype=object)[number]


def _events_behind(session: Session, kind: str, names: tuple[str, ...], row: int) -> Linked:
    """The single events behind an aggregate row: those of one name that count for the window."""
    name = names[row]
    events, trace = session.trace.events, session.trace
    chosen = events.device_work() if kind == "kernels" else events.category == Category.OPERATOR
    named = np.isin(events.name, np.flatnonzero([one == name for one in trace.names]))
    rows = np.flatnonzero(chosen & named & _in_window(session, kind))
    above = trace.links.operator[rows] if kind == "kernels" else trace.links.parent[rows]
    issued = np.where(above == ABSENT, "", names_of(trace, np.maximum(above, 0))) if len(rows) else np.empty(0, object)
    columns = [
        Column("start", events.start[rows], duration, ">"),
        Column("length", events.duration[rows], duration, ">"),
        Column("stream" if kind == "kernels" else "lane", _where(session, kind, rows), _count, ">", spare=True),
        Column("operator" if kind == "kernels" else "inside", issued, gives_way=True),
    ]
    title = f"{units.counted(len(rows), 'event')} of {name}; x: back"
    return Linked(Table(columns, sort=1), rows, np.full(len(rows), ABSENT), title)


def _where(session: Session, kind: str, rows: Int64s) -> npt.NDArray[np.int32]:
    events = session.trace.events
    return events.stream[rows] if kind == "kernels" else events.lane[rows]


def _in_window(session: Session, kind: str) -> npt.NDArray[np.bool_]:
    """Device work by the step that launched it, operators of the steps' process by the time they start."""
    analysis, start = session.analysis, session.trace.events.start
    if kind == "kernels":
        return (analysis.steps.owner != ABSENT) & (session.trace.events.device == analysis.device)
    host = analysis.steps.host
    if not len(host):
        return np.ones(len(start), dtype=np.bool_)
    at = np.searchsorted(host[:, 0], start, side="right") - 1
    inside = (at >= 0) & (start < host[np.maximum(at, 0), 1])
    return inside & analysis.steps.threads.process[session.trace.events.lane]


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _numbers(rows: Rows, name: str) -> npt.NDArray[Any]:
    """A column of numbers, NaN where there is none."""
    values = rows[name]
    return np.where(values == ABSENT, np.nan, values) if name in rows.optional else values


def _kernels(rows: Rows) -> list[Column]:
    return [
        Column("share", rows["share"], units.share, ">"),
        Column("total", rows["total_ns"], duration, ">"),
        Column("count", rows["count"], _count, ">", spare=True),
        Column("kind", rows["kind"], spare=True),
        Column("median", rows["median_ns"], duration, ">", spare=True),
        Column("origin", rows["origin"], spare=True),
        Column("kernel", rows["name"], kernel_title, gives_way=True, least=KERNEL, shorten=cut),
        Column("example", rows["example"]),
    ]


def _operators(rows: Rows) -> list[Column]:
    return [
        Column("host", rows["host_ns"], duration, ">"),
        Column("device", rows["device_ns"], duration, ">"),
        Column("count", rows["count"], _count, ">", spare=True),
        Column("launches", rows["launches"], _count, ">", spare=True),
        Column("operator", rows["name"], gives_way=True),
        Column("where", rows["where"], short_place, spare=True, shorten=cut_left),
        Column("example", rows["example"], spare=True),
    ]


def _gaps(rows: Rows) -> list[Column]:
    return [
        Column("gap", rows["handle"]),
        Column("length", rows["ns"], duration, ">"),
        Column("at", rows["start_ns"], duration, ">", spare=True),
        Column("cause", rows["class"] + "." + rows["part"]),
        Column("operator", rows["operator"], gives_way=True),
        Column("where", rows["where"], short_place, spare=True, shorten=cut_left),
        Column("after", rows["after"], kernel_title, gives_way=True, spare=True, shorten=cut),
    ]


def _syncs(rows: Rows) -> list[Column]:
    return [
        Column("sync", rows["handle"]),
        Column("length", rows["ns"], duration, ">"),
        Column("saves least", rows["saving_low_ns"], duration, ">"),
        Column("most", rows["saving_high_ns"], duration, ">"),
        Column("while busy", rows["busy_overlap_ns"], duration, ">", spare=True),
        Column("call", rows["call"], gives_way=True),
        Column("operator", rows["operator"], gives_way=True, spare=True),
        Column("where", rows["where"], short_place, spare=True, shorten=cut_left),
    ]


def _launches(rows: Rows) -> list[Column]:
    return [
        Column("launch", rows["handle"]),
        Column("length", rows["ns"], duration, ">"),
        Column("latency", _numbers(rows, "latency_ns"), duration, ">"),
        Column("kernels", rows["kernels"], _count, ">"),
        Column("call", rows["call"], gives_way=True),
        Column("operator", rows["operator"], gives_way=True),
        Column("where", rows["where"], short_place, spare=True, shorten=cut_left),
    ]


COLUMNS: Final[dict[str, Callable[[Rows], list[Column]]]] = {
    "kernels": _kernels,
    "operators": _operators,
    "gaps": _gaps,
    "syncs": _syncs,
    "launches": _launches,
}
SORTED: Final = {"kernels": 1, "operators": 0, "gaps": 1, "syncs": 3, "launches": 1}
"""The column that each table is sorted by at first."""
