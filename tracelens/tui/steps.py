"""One step of a trace as lanes that begin at its first device event, so that steps of several traces can be aligned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tracelens.analysis.results import Analysis, Timeline
from tracelens.model.events import ABSENT
from tracelens.tui.lanes import Lane, LaneKind, gap_lane, make_lane, trace_lanes

HOST: Final = (LaneKind.OPERATORS, LaneKind.CALLS)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """The device's idle time, its streams, and the launching thread, in ns after the step's first device event."""

    number: int
    """Which of the counted steps it is, from 0: the one of median length."""
    begin: int
    """Where its host work begins, at most 0."""
    end: int
    lanes: tuple[Lane, ...]


def typical_step(analysis: Analysis, form: str) -> Step:
    """The step of median length; lanes are named after the form. Without steps there are no lanes."""
    tiles, host = analysis.window.tiles, analysis.steps.host
    if not len(tiles):
        return Step(0, 0, 1, ())
    number = int(np.argsort(tiles[:, 1] - tiles[:, 0], kind="stable")[(len(tiles) - 1) // 2])
    zero, end = int(tiles[number, 0]), int(tiles[number, 1])
    begin = min(int(host[number, 0]), zero) if number < len(host) else zero
    first = {kind: begin if kind in HOST else zero for kind in LaneKind}
    lanes = [_cut(lane, first[lane.kind], end, zero, title) for lane, title in _chosen(analysis, form)]
    gaps = replace(gap_lane(_pieces(analysis.timeline, zero, end)), title=f"{form} idle")
    return Step(number, begin - zero, end - zero, (gaps, *(lane for lane in lanes if len(lane))))


def _chosen(analysis: Analysis, form: str) -> Iterator[tuple[Lane, str]]:
    """The device's streams, then outermost operators and calls of the thread that launches most."""
    device, thread = f"GPU {analysis.device} ", ""
    kinds: set[LaneKind] = set()
    for lane in trace_lanes(analysis.trace):
        if lane.kind == LaneKind.STREAM and lane.title.startswith(device):
            yield lane, f"{form} {lane.title.removeprefix(device)}"
        elif lane.kind in HOST and lane.kind not in kinds:
            thread = thread or lane.title
            if lane.title.startswith(thread):
                kinds.add(lane.kind)
                yield lane, f"{form} {lane.kind.name.lower()}"


def _cut(lane: Lane, begin: int, end: int, zero: int, title: str) -> Lane:
    """The slices that begin within a stretch, moved so that `zero` is 0."""
    inside = np.flatnonzero((lane.start >= begin) & (lane.start < end))
    start, stop = lane.start[inside] - zero, np.minimum(lane.end[inside], end) - zero
    own = (lane.row[inside], start, stop, lane.ink[inside], lane.name[inside])
    return make_lane(title, lane.kind, *own, words=lane.words)


def _pieces(timeline: Timeline, zero: int, end: int) -> Timeline:
    """The pieces of a stretch that lie in gaps, clipped and moved."""
    inside = (timeline.end > zero) & (timeline.start < end) & (timeline.gap != ABSENT)
    start = np.maximum(timeline.start[inside], zero) - zero
    stop = np.minimum(timeline.end[inside], end) - zero
    return Timeline(timeline.device, start, stop, timeline.part[inside], timeline.gap[inside])
