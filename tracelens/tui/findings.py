"""The findings as a table, and the evidence behind each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tracelens.analysis.parts import Part
from tracelens.model import units
from tracelens.model.events import ABSENT
from tracelens.tui.atlas import Atlas
from tracelens.tui.linked import Linked, duration, of_range
from tracelens.tui.selection import Selection
from tracelens.tui.session import Session
from tracelens.tui.table import Column, Table


def findings_table(session: Session, atlas: Atlas) -> Linked:
    """A row for each finding, by saving; it leads to the first piece of its evidence."""
    findings = session.document["findings"]
    saving = [np.nan if one["saving_ms"] is None else one["saving_ms"] * units.NS_PER_MS for one in findings]
    columns = [
        Column("saves", np.array(saving, dtype=np.float64), duration, ">"),
        Column("severity", [one["severity"] for one in findings]),
        Column("finding", [one["title"] for one in findings], gives_way=True),
        Column("advice", [one["advice"] for one in findings], gives_way=True, spare=True),
        Column("rule", [one["rule"] for one in findings], spare=True),
        Column("evidence", [", ".join(one["evidence"][:1]) for one in findings]),
    ]
    places = [atlas.find(one["evidence"][0]) if one["evidence"] else Selection() for one in findings]
    return _linked(Table(columns, sort=0), places, of_range(session), partial(_evidence, session, atlas))


def _evidence(session: Session, atlas: Atlas, number: int) -> Linked:
    """The gaps or events that a finding names."""
    finding = session.document["findings"][number]
    places = [atlas.find(handle) for handle in finding["evidence"]]
    told = [_told(atlas, place) for place in places]
    columns = [
        Column("evidence", list(finding["evidence"])),
        Column("length", np.array([length for _, length, _ in told], dtype=np.int64), duration, ">"),
        Column("at", np.array([start for start, _, _ in told], dtype=np.int64), duration, ">"),
        Column("what", [name for _, _, name in told], gives_way=True),
    ]
    return _linked(Table(columns, sort=1), places, f"evidence of: {finding['title']}; x: back")


def _told(atlas: Atlas, place: Selection) -> tuple[int, int, str]:
    """Start and length in ns, and name."""
    gaps, events = atlas.gaps, atlas.trace.events
    if place.gap != ABSENT and gaps is not None:
        start, part = int(gaps.start[place.gap]), Part(gaps.part[place.gap])
        return start, int(gaps.end[place.gap]) - start, f"{part.class_name}.{part.part_name}"
    name = atlas.trace.names[int(events.name[place.row])]
    return int(events.start[place.row]), int(events.duration[place.row]), name


def _linked(
    table: Table, places: Sequence[Selection], title: str, expand: Callable[[int], Linked] | None = None
) -> Linked:
    rows, gaps = (np.array(numbers, dtype=np.int64) for numbers in ([p.row for p in places], [p.gap for p in places]))
    return Linked(table, rows, gaps, title, expand=expand)
