"""What a timeline shows and what is selected in it: lanes, viewport, cursor, search. No terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tracelens.model.events import ABSENT, Bools, Int64s
from tracelens.tui.coverage import Coverage
from tracelens.tui.follow import GapWalk
from tracelens.tui.lanes import Lane, LaneKind
from tracelens.tui.search import Query
from tracelens.tui.selection import Selection
from tracelens.tui.viewport import History, Viewport

ZOOM_IN = (1, 2)
ZOOM_OUT = (2, 1)
PAN_SHARE = 4
"""A pan moves by one part of this many of the screen."""


class TimelineState:
    """Lanes in the order they are shown, the stretch of time, and the cursor on a slice of a lane."""

    def __init__(self, lanes: Sequence[Lane], *, low: int = 0, high: int | None = None) -> None:
        end = max((int(lane.reach[-1]) for lane in lanes if len(lane)), default=low)
        self.all_lanes = tuple(lanes)
        self.view = Viewport.whole(low, end if high is None else max(high, low), 1)
        self.history = History()
        self.lane = 0
        self.slice = ABSENT
        self.pinned: tuple[Lane, ...] = ()
        self.show_python = False
        self.lane_query: Query | None = None
        self.name_filter: Query | None = None
        self.query: Query | None = None
        self.found: dict[int, Coverage] = {}
        self.matches = Matches.of([], [])
        gaps = [lane for lane in lanes if lane.kind == LaneKind.GAPS]
        self.gaps = GapWalk(gaps[0]) if gaps else None
        self.lanes: list[Lane] = []
        self.arrange()

    @property
    def current(self) -> Lane | None:
        """The lane of the cursor."""
        return self.lanes[self.lane] if self.lane < len(self.lanes) else None

    @property
    def selection(self) -> Selection:
        """What the cursor is on."""
        lane = self.current
        if lane is None or self.slice == ABSENT:
            return Selection()
        row = int(lane.row[self.slice])
        return Selection(gap=row) if lane.kind == LaneKind.GAPS else Selection(row=row)

    @property
    def span(self) -> tuple[int, int] | None:
        """Start and end in ns of what the cursor is on."""
        lane = self.current
        if lane is None or self.slice == ABSENT:
            return None
        return int(lane.start[self.slice]), int(lane.end[self.slice])

    @property
    def cursor_time(self) -> int:
        """ns of the cursor: the middle of what is seen of its slice, else of the screen."""
        start, end = self.span or (self.view.start, self.view.end)
        start, end = max(start, self.view.start), min(end, self.view.end)
        return (start + end) // 2 if start <= end else (self.view.start + self.view.end) // 2

    # -- what is shown --------------------------------------------------------------------------------------

    def arrange(self) -> None:
        """Choose and order the lanes anew, keeping the cursor on its slice when it is still shown."""
        selection, lane = self.selection, self.current
        shown = [one for one in (*self.pinned, *self.all_lanes) if self._wanted(one)]
        distinct = list(dict.fromkeys(shown))
        filtered = [_filtered(one, self.name_filter) for one in distinct] if self.name_filter else distinct
        self.lanes = [one for one in filtered if len(one)]
        self.lane, self.slice = 0, ABSENT
        self._find_all()
        if selection and lane is not None:
            self.select(selection)

    def _wanted(self, lane: Lane) -> bool:
        if self.lane_query is not None:
            return self.lane_query.accepts(lane.title)
        return self.show_python or lane.kind != LaneKind.PYTHON

    def pin(self) -> None:
        """Put the cursor's lane at the top, or back where it was."""
        lane = self.current
        if lane is not None:
            own = next(one for one in self.all_lanes if one.title == lane.title and one.kind == lane.kind)
            kept = tuple(one for one in self.pinned if one is not own)
            self.pinned = kept if own in self.pinned else (own, *kept)
            self.arrange()

    # -- moving in time -------------------------------------------------------------------------------------

    def look(self, view: Viewport, *, jump: bool = False) -> None:
        """Change the viewport and remember the one that is left."""
        if view != self.view:
            self.history = self.history.visit(self.view, jump=jump)
            self.view = view

    def resize(self, columns: int) -> None:
        """Show the same time in another number of columns."""
        self.view = self.view.resized(columns)

    def zoom(self, ratio: tuple[int, int], at: int | None = None) -> None:
        """Zoom around a time, by default the cursor's."""
        self.look(self.view.zoom(*ratio, self.cursor_time if at is None else at))

    def pan(self, direction: int, share: int = PAN_SHARE) -> None:
        """Move by a part of the screen: -1 to earlier, 1 to later."""
        self.look(self.view.pan(direction * max(self.view.span // share, 1)))

    def fit(self) -> None:
        """Show all."""
        self.look(self.view.show(self.view.low, self.view.high), jump=True)

    def focus(self) -> None:
        """Centre the cursor's slice, or fit it when it is in the centre already."""
        if self.span is None:
            return
        start, end = self.span
        centred = self.view.centre((start + end) // 2)
        self.look(centred if centred != self.view else self.view.focus(start, end), jump=True)

    def back(self) -> None:
        """Return to the last remembered viewport."""
        view, self.history = self.history.back()
        if view is not None:
            self.view = view.resized(self.view.columns)

    # -- moving the cursor ----------------------------------------------------------------------------------

    def put(self, lane: int, index: int) -> None:
        """Move the cursor to a slice and bring it into view."""
        self.lane, self.slice = lane, index
        if self.span is not None:
            self.look(self.view.reveal(*self.span))

    def step(self, by: int) -> None:
        """Move along the lane by slices; onto the nearest to the cursor when on none."""
        lane = self.current
        if lane is None:
            return
        if self.slice == ABSENT:
            self.put(self.lane, lane.at(self.cursor_time))
        else:
            self.put(self.lane, min(max(self.slice + by, 0), len(lane) - 1))

    def change_lane(self, by: int) -> None:
        """Move to a neighbouring lane, onto its slice nearest in time."""
        target = min(max(self.lane + by, 0), len(self.lanes) - 1)
        if self.lanes:
            self.point(target, self.cursor_time)

    def point(self, lane: int, ns: int) -> None:
        """Move the cursor to a lane's slice nearest to a time, without moving the viewport."""
        self.lane = lane
        index = self.lanes[lane].at(ns)
        near = index != ABSENT and self.lanes[lane].start[index] < self.view.end
        self.slice = index if near and self.lanes[lane].end[index] >= self.view.start else ABSENT

    def go_to(self, ns: int) -> None:
        """Centre a time, with the cursor on the slice nearest to it: of its lane, else of the first that shows any."""
        self.look(self.view.centre(ns), jump=True)
        own = self.lane
        for lane in sorted(range(len(self.lanes)), key=lambda lane: lane != own):
            self.point(lane, ns)
            if self.slice != ABSENT:
                return
        self.lane = own

    def select(self, selection: Selection) -> bool:
        """Move the cursor to an event or gap; False when no shown lane holds it."""
        for number, lane in enumerate(self.lanes):
            is_gap = lane.kind == LaneKind.GAPS
            wanted = selection.gap if is_gap else selection.row
            index = lane.index(wanted) if wanted != ABSENT else ABSENT
            if index != ABSENT:
                self.put(number, index)
                return True
        return False

    def walk_gaps(self, choose: Callable[[GapWalk, int], int]) -> bool:
        """Go to the gap that `choose` names, given the walk and the cursor's gap or time; False without gaps."""
        if self.gaps is None or (index := choose(self.gaps, self._gap_or_time())) == ABSENT:
            return False
        start, end = int(self.gaps.lane.start[index]), int(self.gaps.lane.end[index])
        if not self.select(Selection(gap=int(self.gaps.lane.row[index]))):
            return False
        if end - start < self.view.span // 50 or end - start > self.view.span:
            self.look(self.view.focus(start, end, margin=2), jump=True)
        return True

    def _gap_or_time(self) -> int:
        return self.span[0] if self.span is not None else self.view.start

    # -- search ---------------------------------------------------------------------------------------------

    def filter(self, query: Query | None) -> int:
        """Show only slices whose name is asked for, and all gaps; returns how many are asked for."""
        self.name_filter = query
        self.arrange()
        return sum(int(np.count_nonzero(_named(lane, query))) for lane in self.lanes) if query else 0

    def search(self, query: Query | None) -> int:
        """Mark all slices whose name is asked for; returns how many."""
        self.query = query
        self._find_all()
        return len(self.matches)

    def _find_all(self) -> None:
        masks = [_named(lane, self.query) if self.query else np.zeros(len(lane), np.bool_) for lane in self.lanes]
        self.found = {
            number: lane.spans(mask)
            for number, (lane, mask) in enumerate(zip(self.lanes, masks, strict=True))
            if mask.any()
        }
        self.matches = Matches.of(self.lanes, masks)

    def next_match(self, direction: int) -> bool:
        """Go to the next slice found, in time, on any lane; False when there is none."""
        at = self.matches.neighbour(self.lane, self.slice, self._gap_or_time(), direction)
        if at is None:
            return False
        self.put(*at)
        return True


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Slices that a search found, by start and lane."""

    start: Int64s
    lane: Int64s
    index: Int64s

    @classmethod
    def of(cls, lanes: Sequence[Lane], masks: Sequence[Bools]) -> Matches:
        """Those of each lane that its mask holds."""
        chosen = [np.flatnonzero(mask) for mask in masks]
        index = np.concatenate([*chosen, np.empty(0, np.int64)])
        number = np.repeat(np.arange(len(lanes)), [len(indices) for indices in chosen])
        starts = [lane.start[indices] for lane, indices in zip(lanes, chosen, strict=True)]
        start = np.concatenate([*starts, np.empty(0, np.int64)])
        order = np.argsort(start, kind="stable")
        return cls(start[order], number[order], index[order])

    def __len__(self) -> int:
        return len(self.start)

    def neighbour(self, lane: int, index: int, ns: int, direction: int) -> tuple[int, int] | None:
        """Lane and index of the next one after (or before) a slice, or a time; around the end to the first."""
        if not len(self):
            return None
        first, last = (int(np.searchsorted(self.start, ns, side=side)) for side in ("left", "right"))
        own = np.flatnonzero((self.lane[first:last] == lane) & (self.index[first:last] == index))
        beside = first if direction > 0 else first - 1
        at = (first + int(own[0]) + direction if len(own) else beside) % len(self)
        return int(self.lane[at]), int(self.index[at])


def _named(lane: Lane, query: Query) -> Bools:
    """Which slices' names are asked for; each distinct name is asked once."""
    names = np.unique(lane.name)
    accepted = query.mask(lane.words[int(name)] for name in names)
    return accepted[np.searchsorted(names, lane.name)]


def _filtered(lane: Lane, query: Query) -> Lane:
    return lane if lane.kind == LaneKind.GAPS else lane.only(_named(lane, query))
