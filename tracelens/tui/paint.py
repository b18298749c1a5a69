"""A lane at a zoom as one line of text and few runs of ink: no terminal, no colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.model.events import ABSENT, Bools, Bytes, Int64s
from tracelens.tui.coverage import Coverage
from tracelens.tui.inks import EIGHTHS, GLYPHS, LABEL, MATCH, SELECTED
from tracelens.tui.lanes import Lane, LaneKind
from tracelens.tui.names import short_name
from tracelens.tui.rows import cut
from tracelens.tui.viewport import Viewport

NARROWEST_LABEL: Final = 4
MOST_RUNS: Final = 8
"""More changes of ink than this in one line cost more bytes over a slow line than they tell."""

Cells = npt.NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class Line:
    """Text of one cell per column and the runs (first, behind last, ink with marks) that it is drawn in."""

    text: str
    runs: tuple[tuple[int, int, int], ...]


def difference(old: Line, new: Line) -> tuple[int, int] | None:
    """First and behind-last column in which two lines of one width differ; None when they do not."""
    changed = _letters(old) != _letters(new)
    changed |= _codes(old) != _codes(new)
    at = np.flatnonzero(changed)
    return (int(at[0]), int(at[-1]) + 1) if len(at) else None


def _letters(line: Line) -> npt.NDArray[np.uint32]:
    return np.frombuffer(line.text.encode("utf-32-le"), dtype=np.uint32)


def _codes(line: Line) -> npt.NDArray[np.int64]:
    return np.repeat([code for *_, code in line.runs], [last - first for first, last, _ in line.runs])


def paint(lane: Lane, view: Viewport, selected: int = ABSENT, found: Coverage | None = None) -> Line:
    """Draw a lane: how busy each column is and with what, names where slices are wide, and marks.

    `selected` is the index of a slice, `found` what Lane.spans gives for the slices that a search found."""
    edges = view.edges()
    cells, ink = _density(lane, edges)
    _write_labels(lane, view, cells, ink)
    marks = np.zeros(view.columns, dtype=np.uint8)
    if found is not None:
        marks[_few_blocks(found.within(edges) > 0)] += MATCH
    if selected != ABSENT and lane.start[selected] < view.end and lane.end[selected] >= view.start:
        left, right = _columns(lane, view, selected)
        marks[left:right] += SELECTED
    cells[(marks >= SELECTED) & (cells == " ")] = "▁"
    return Line("".join(cells.tolist()), _runs(_few_runs(ink), marks))


def _density(lane: Lane, edges: Int64s) -> tuple[Cells, Bytes]:
    """Glyph and ink of each column."""
    columns = len(edges) - 1
    if not lane.covers:
        return np.full(columns, " "), np.zeros(columns, dtype=np.uint8)
    busy = np.stack([cover.within(edges) for _, cover in lane.covers])
    most = busy.argmax(axis=0)
    share = np.minimum(busy.sum(axis=0) / np.diff(edges), 1.0)
    level = np.ceil(share * (len(EIGHTHS) - 1)).astype(np.int64)
    glyphs = np.array([[" ", *GLYPHS.get(ink, "\0") * (len(EIGHTHS) - 1)] for ink, _ in lane.covers])
    cells = glyphs[most, level]
    cells = np.where(cells == "\0", np.array(list(EIGHTHS))[level], cells)
    inks = np.array([ink for ink, _ in lane.covers], dtype=np.uint8)
    return cells, _carried(inks[most], level > 0)


def _carried(ink: Bytes, drawn: Bools) -> Bytes:
    """Empty cells take the ink before them, so that they do not break a run."""
    last = np.maximum.accumulate(np.where(drawn, np.arange(len(ink)), -1))
    first = int(drawn.argmax()) if drawn.any() else 0
    return ink[np.where(last < 0, first, last)]


def _write_labels(lane: Lane, view: Viewport, cells: Cells, ink: Bytes) -> None:
    """Put the names of wide slices over their cells, each behind a bar that tells it from its neighbour."""
    first, last = lane.visible(view.start, view.end)
    wide = view.span * NARROWEST_LABEL // view.columns
    for index in (first + np.flatnonzero(lane.end[first:last] - lane.start[first:last] >= wide)).tolist():
        left, right = _columns(lane, view, index)
        if right - left >= NARROWEST_LABEL:
            cells[left:right] = list(cut(f"▏{_title(lane, index)}", right - left).ljust(right - left))
            ink[left:right] = lane.ink[index] + LABEL


def _title(lane: Lane, index: int) -> str:
    name = lane.label(index)
    return short_name(name) if lane.kind == LaneKind.STREAM else name


def _columns(lane: Lane, view: Viewport, index: int) -> tuple[int, int]:
    """First and behind-last column that a slice fills, of those shown; at least one."""
    left = max(view.column(int(lane.start[index])), 0)
    right = min(view.column(max(int(lane.end[index]) - 1, int(lane.start[index]))) + 1, view.columns)
    return left, max(right, left + 1)


def _few_blocks(marked: Bools) -> Bools:
    """The same marks if there are few stretches of them, else whole blocks that hold one."""
    if np.count_nonzero(np.diff(marked)) <= MOST_RUNS:
        return marked
    blocks = np.arange(len(marked)) * MOST_RUNS // len(marked)
    return np.bincount(blocks, weights=marked)[blocks] > 0


def _few_runs(ink: Bytes) -> Bytes:
    """The same ink if it changes seldom; else without labels' own look; else the commonest alone.

    Glyphs tell classes apart where their colours are given up."""
    plain = (ink & (LABEL - 1)).astype(np.uint8)
    for simpler in (ink, plain):
        if np.count_nonzero(np.diff(simpler)) < MOST_RUNS:
            return simpler
    return np.full(len(ink), np.bincount(plain).argmax(), dtype=np.uint8)


def _runs(ink: Bytes, marks: Bytes) -> tuple[tuple[int, int, int], ...]:
    codes = ink + marks
    cuts = np.flatnonzero(np.diff(codes)) + 1
    firsts = [0, *cuts.tolist()]
    return tuple(zip(firsts, [*cuts.tolist(), len(codes)], codes[firsts].tolist(), strict=True))
