"""The tables of a session, each row with the event or gap that it leads to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import numpy.typing as npt

from tracelens.model import units
from tracelens.model.events import ABSENT, Category, Int64s
from tracelens.model.names import names_of
from tracelens.tui.session import Session
from tracelens.tui.table import Column, Table
from tracelens.tui.timeline import Selection

if TYPE_CHECKING:
    import pandas as pd

TABLES: Final = ("kernels", "operators", "gaps", "syncs", "launches")
AGGREGATES: Final = ("kernels", "operators")
"""Tables whose rows stand for many events each."""


@dataclass(frozen=True, eq=False)
class Linked:
    """A table and, for each of its rows, the row of the trace and the gap of the device that it leads to."""

    table: Table
    row: npt.NDArray[np.integer]
    gap: npt.NDArray[np.integer]
    title: str
    names: tuple[str, ...] = ()
    """Of aggregates: the whole name that each row stands for."""

    def selection(self, row: int) -> Selection:
        """Where a row of the table leads."""
        gap = int(self.gap[row])
        return Selection(gap=gap) if gap != ABSENT else Selection(row=int(self.row[row]))


def _count(value: int) -> str:
    return f"{value:,}"


def _file(where: str) -> str:
    """The last two parts of a path with its line."""
    return "/".join(where.split("/")[-2:])


def _duration(value: float) -> str:
    return units.duration(int(value))


def linked_table(session: Session, name: str, gap_handles: list[str]) -> Linked:
    """One of TABLES, costliest rows first; `gap_handles` are those of the device's gaps, in order."""
    frame = cast("pd.DataFrame", getattr(session.analysis, name))
    columns = COLUMNS[name](frame)
    table = Table(columns, sort=SORTED[name])
    nothing = np.full(len(frame), ABSENT)
    gap = _gap_numbers(frame, gap_handles) if name == "gaps" else nothing
    row = frame["row"].to_numpy()
    names = tuple(frame["name"].tolist()) if name in AGGREGATES else ()
    return Linked(table, row, gap, f"{units.counted(len(frame), 'row')}{_of_range(session)}", names)


def _of_range(session: Session) -> str:
    if session.range is None:
        return ""
    start, end = session.range
    return f" of the range {units.duration(start)} to {units.duration(end)}; V: the whole window"


def _gap_numbers(frame: pd.DataFrame, gap_handles: list[str]) -> Int64s:
    number = {handle: index for index, handle in enumerate(gap_handles)}
    return np.array([number.get(handle, ABSENT) for handle in frame["handle"]], dtype=np.int64)


def events_table(session: Session, kind: str, name: str) -> Linked:
    """The single events behind an aggregate row: those of one name that count for the window."""
    events, trace = session.trace.events, session.trace
    chosen = events.device_work() if kind == "kernels" else events.category == Category.OPERATOR
    named = np.isin(events.name, np.flatnonzero([one == name for one in trace.names]))
    rows = np.flatnonzero(chosen & named & _in_window(session, kind))
    above = trace.links.operator[rows] if kind == "kernels" else trace.links.parent[rows]
    issued = np.where(above == ABSENT, "", names_of(trace, np.maximum(above, 0))) if len(rows) else np.empty(0, object)
    columns = [
        Column("start", events.start[rows], _duration, ">"),
        Column("length", events.duration[rows], _duration, ">"),
        Column("stream" if kind == "kernels" else "lane", _where(session, kind, rows), _count, ">", spare=True),
        Column("operator" if kind == "kernels" else "inside", issued, gives_way=True),
    ]
    title = f"{units.counted(len(rows), 'event')} of {name}; x: back"
    return Linked(Table(columns, sort=1), rows, np.full(len(rows), ABSENT), title)


def _where(session: Session, kind: str, rows: Int64s) -> npt.NDArray[np.int32]:
    events = session.trace.events
    return events.stream[rows] if kind == "kernels" else events.lane[rows]


def _in_window(session: Session, kind: str) -> npt.NDArray[np.bool_]:
    """Device work by the step that launched it, operators by the time they start."""
    analysis, start = session.analysis, session.trace.events.start
    if kind == "kernels":
        return (analysis.steps.owner != ABSENT) & (session.trace.events.device == analysis.device)
    host = analysis.steps.host
    if not len(host):
        return np.ones(len(start), dtype=np.bool_)
    at = np.searchsorted(host[:, 0], start, side="right") - 1
    return (at >= 0) & (start < host[np.maximum(at, 0), 1])


def _array(frame: pd.DataFrame, name: str) -> npt.NDArray[Any]:
    """A column's values; missing texts are None, missing numbers NaN."""
    column = frame[name]
    if column.dtype.kind in "iufb":
        return column.to_numpy(dtype=np.float64, na_value=np.nan) if column.hasnans else column.to_numpy()
    values = column.to_numpy(dtype=object).copy()
    values[column.isna().to_numpy()] = None
    return values


def _kernels(frame: pd.DataFrame) -> list[Column]:
    return [
        Column("share", _array(frame, "share"), units.share, ">"),
        Column("total", _array(frame, "total_ns"), _duration, ">"),
        Column("count", _array(frame, "count"), _count, ">", spare=True),
        Column("median", _array(frame, "median_ns"), _duration, ">", spare=True),
        Column("kind", _array(frame, "kind"), spare=True),
        Column("origin", _array(frame, "origin"), spare=True),
        Column("kernel", _array(frame, "name"), gives_way=True),
        Column("example", _array(frame, "example"), spare=True),
    ]


def _operators(frame: pd.DataFrame) -> list[Column]:
    return [
        Column("host", _array(frame, "host_ns"), _duration, ">"),
        Column("device", _array(frame, "device_ns"), _duration, ">"),
        Column("count", _array(frame, "count"), _count, ">", spare=True),
        Column("launches", _array(frame, "launches"), _count, ">", spare=True),
        Column("operator", _array(frame, "name"), gives_way=True),
        Column("where", _array(frame, "where"), _file, spare=True, is_path=True),
        Column("example", _array(frame, "example"), spare=True),
    ]


def _gaps(frame: pd.DataFrame) -> list[Column]:
    parts = [f"{a}.{b}" for a, b in zip(frame["class"], frame["part"], strict=True)]
    return [
        Column("gap", _array(frame, "handle")),
        Column("length", _array(frame, "ns"), _duration, ">"),
        Column("at", _array(frame, "start_ns"), _duration, ">", spare=True),
        Column("cause", np.array(parts, dtype=object)),
        Column("operator", _array(frame, "operator"), gives_way=True),
        Column("where", _array(frame, "where"), _file, spare=True, is_path=True),
        Column("after", _array(frame, "after"), gives_way=True, spare=True),
    ]


def _syncs(frame: pd.DataFrame) -> list[Column]:
    return [
        Column("sync", _array(frame, "handle")),
        Column("length", _array(frame, "ns"), _duration, ">"),
        Column("saves least", _array(frame, "saving_low_ns"), _duration, ">"),
        Column("most", _array(frame, "saving_high_ns"), _duration, ">"),
        Column("while busy", _array(frame, "busy_overlap_ns"), _duration, ">", spare=True),
        Column("call", _array(frame, "call"), gives_way=True),
        Column("operator", _array(frame, "operator"), gives_way=True, spare=True),
        Column("where", _array(frame, "where"), _file, spare=True, is_path=True),
    ]


def _launches(frame: pd.DataFrame) -> list[Column]:
    return [
        Column("launch", _array(frame, "handle")),
        Column("length", _array(frame, "ns"), _duration, ">"),
        Column("latency", _array(frame, "latency_ns"), _duration, ">"),
        Column("kernels", _array(frame, "kernels"), _count, ">"),
        Column("call", _array(frame, "call"), gives_way=True),
        Column("operator", _array(frame, "operator"), gives_way=True),
        Column("where", _array(frame, "where"), _file, spare=True, is_path=True),
    ]


COLUMNS: Final[dict[str, Callable[[pd.DataFrame], list[Column]]]] = {
    "kernels": _kernels,
    "operators": _operators,
    "gaps": _gaps,
    "syncs": _syncs,
    "launches": _launches,
}
SORTED: Final = {"kernels": 1, "operators": 0, "gaps": 1, "syncs": 1, "launches": 1}
"""The column that each table is sorted by at first."""
