"""The lanes of a timeline on the screen, its ruler and its minimap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from tracelens.model.events import ABSENT
from tracelens.tui.coverage import Coverage
from tracelens.tui.inks import EIGHTHS, Ink
from tracelens.tui.lanes import LaneKind
from tracelens.tui.paint import Line, difference, paint
from tracelens.tui.rows import Look, cut_left
from tracelens.tui.ruler import ruler
from tracelens.tui.theme import run_style
from tracelens.tui.timeline import TimelineState
from tracelens.tui.viewport import Viewport
from tracelens.tui.widgets.palette import follow_theme, styles_of

GUTTERS: Final = ((120, 24), (80, 16), (0, 12))
"""Cells for the titles of lanes, by the least width of the widget."""


def gutter_width(width: int) -> int:
    """Cells for the titles of lanes in a widget of some width."""
    return next(gutter for least, gutter in GUTTERS if width >= least)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What one line of the screen shows."""

    title: str
    current: bool
    line: Line


class LaneView(ScrollView, can_focus=False):
    """Draws the lanes of a state; time lies outside the scroll bars, which move over lanes only."""

    DEFAULT_CSS = """
    LaneView { height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    """

    @dataclass
    class Clicked(Message):
        """A lane was clicked, or a stretch of time dragged over."""

        lane: int
        start: int
        end: int
        dragged: bool

    @dataclass
    class Dragging(Message):
        """A stretch of time is being dragged over."""

        start: int
        end: int

    @dataclass
    class Wheeled(Message):
        """The wheel was turned over a time: up is -1."""

        direction: int
        at: int
        shift: bool

    def __init__(self, state: TimelineState) -> None:
        super().__init__(id="lanes")
        self.state = state
        self._drawn: dict[int, _Drawn] = {}
        self._pressed: tuple[int, int] | None = None
        self._fits = Size(0, 0)

    def on_mount(self) -> None:
        """Follow the theme."""
        follow_theme(self, self.refresh)

    def on_resize(self, event: events.Resize) -> None:
        """Columns follow the width; being shown again changes nothing."""
        if event.size != self._fits:
            self._fits = event.size
            self.turn_to(self.state)

    def turn_to(self, state: TimelineState) -> None:
        """Show a state, all of it anew."""
        self.state = state
        state.resize(max(self.size.width - gutter_width(self.size.width), 1))
        self._drawn.clear()
        self.sync()
        self.refresh()

    def sync(self) -> None:
        """Draw what the state has changed."""
        size = Size(self.size.width, len(self.state.lanes))
        if size != self.virtual_size:
            self.virtual_size = size
        self._reveal_lane()
        old, self._drawn = self._drawn, {}
        top = self.scroll_offset.y
        for y in range(self.size.height):
            before, after = old.get(top + y), self._at(top + y)
            for first, last in _changes(before, after, gutter_width(self.size.width), self.size.width):
                self.refresh(Region(first, y, last - first, 1))

    def _reveal_lane(self) -> None:
        top, height = self.scroll_offset.y, self.size.height
        lane = self.state.lane
        if height and not top <= lane < top + height:
            self.scroll_to(y=lane if lane < top else lane - height + 1, animate=False, immediate=True)

    def _at(self, number: int) -> _Drawn | None:
        """What the line of a lane shows, painted once for each state."""
        state = self.state
        if number >= len(state.lanes):
            return None
        if number not in self._drawn:
            lane, current = state.lanes[number], number == state.lane
            above = state.lanes[number - 1].title if number else ""
            line = paint(lane, state.view, state.slice if current else ABSENT, state.found.get(number))
            self._drawn[number] = _Drawn(lane.title if lane.title != above else "", current, line)
        return self._drawn[number]

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width, ground = self.size.width, self.rich_style
        drawn = self._at(self.scroll_offset.y + y)
        if drawn is None:
            return Strip.blank(width, ground)
        inks = styles_of(self)
        gutter = gutter_width(width)
        title = f"{'▸' if drawn.current else ' '}{cut_left(drawn.title, gutter - 2)}".ljust(gutter)
        segments = [Segment(title, ground + Style(bold=drawn.current))]
        text = drawn.line.text
        segments += [Segment(text[a:b], ground + run_style(code, inks)) for a, b, code in drawn.line.runs]
        return Strip(segments).adjust_cell_length(width, ground)

    # -- mouse ----------------------------------------------------------------------------------------------

    def _time(self, x: int) -> int:
        return self.state.view.time(x - gutter_width(self.size.width))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin a click or a drag."""
        if event.x >= gutter_width(self.size.width):
            self._pressed = (event.x, event.y)
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Tell how far a drag has come."""
        if self._pressed is not None and abs(event.x - self._pressed[0]) > 1:
            first, last = sorted((self._pressed[0], event.x))
            self.post_message(self.Dragging(self._time(first), self._time(last + 1)))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """End a click or a drag."""
        if self._pressed is None:
            return
        (x, y), self._pressed = self._pressed, None
        self.release_mouse()
        first, last = sorted((x, event.x))
        lane = self.scroll_offset.y + y
        self.post_message(self.Clicked(lane, self._time(first), self._time(last + 1), dragged=last - first > 1))

    def _wheel(self, event: events.MouseEvent, direction: int) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.Wheeled(direction, self._time(event.x), event.shift))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Zoom in at the pointer."""
        self._wheel(event, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Zoom out at the pointer."""
        self._wheel(event, 1)


def _changes(before: _Drawn | None, after: _Drawn | None, gutter: int, width: int) -> list[tuple[int, int]]:
    """Stretches of cells in which a line of the screen has changed."""
    if before is None or after is None or len(before.line.text) != len(after.line.text):
        return [] if before is after else [(0, width)]
    same_title = (before.title, before.current) == (after.title, after.current)
    changed = difference(before.line, after.line)
    stretches = [] if same_title else [(0, gutter)]
    return stretches if changed is None else [*stretches, (gutter + changed[0], gutter + changed[1])]


class Ruler(Widget):
    """Times over the lanes, and the selected range."""

    DEFAULT_CSS = "Ruler { height: 1; }"

    def __init__(self, state: TimelineState) -> None:
        super().__init__(id="ruler")
        self.state = state
        self.range: tuple[int, int] | None = None
        self._text = ""

    def sync(self, range: tuple[int, int] | None) -> None:
        """Draw it anew if the time or the range has changed."""
        text = ruler(self.state.view)
        if (text, range) != (self._text, self.range):
            self._text, self.range = text, range
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The one line."""
        gutter = gutter_width(self.size.width)
        ground = self.rich_style
        quiet = ground + styles_of(self)[Look.QUIET]
        first, last = self._marked()
        text = ruler(self.state.view)
        segments = [
            Segment(" " * gutter, ground),
            Segment(text[:first], quiet),
            Segment(text[first:last], quiet + Style(reverse=True)),
            Segment(text[last:], quiet),
        ]
        return Strip(segments).adjust_cell_length(self.size.width, ground)

    def _marked(self) -> tuple[int, int]:
        """Columns of the selected range."""
        view = self.state.view
        if self.range is None or self.range[0] >= view.end or self.range[1] <= view.start:
            return 0, 0
        first, last = max(view.column(self.range[0]), 0), min(view.column(self.range[1] - 1) + 1, view.columns)
        return first, max(last, first + 1)


class Minimap(Widget):
    """How busy the device is over the whole trace, and which part of it the lanes show."""

    DEFAULT_CSS = "Minimap { height: 2; }"

    @dataclass
    class Pointed(Message):
        """A time was clicked."""

        at: int

    def __init__(self, state: TimelineState) -> None:
        super().__init__(id="minimap")
        self.state = state
        work = [lane for lane in state.all_lanes if lane.kind == LaneKind.STREAM]
        work = work or [lane for lane in state.all_lanes if lane.kind == LaneKind.OPERATORS]
        empty = np.empty(0, dtype=np.int64)
        self.busy = Coverage.of(
            np.concatenate([empty, *(lane.start for lane in work)]),
            np.concatenate([empty, *(lane.end for lane in work)]),
        )
        self._box = (0, 0)

    def _whole(self) -> Viewport:
        view = self.state.view
        return Viewport.whole(view.low, view.high, max(self.size.width - gutter_width(self.size.width), 1))

    def sync(self) -> None:
        """Draw the box anew if it has moved by a cell."""
        if self._box != (box := self._columns()):
            self._box = box
            self.refresh(Region(0, 1, self.size.width, 1))

    def _columns(self) -> tuple[int, int]:
        whole, view = self._whole(), self.state.view
        return whole.column(view.start), whole.column(view.end - 1)

    def render_line(self, y: int) -> Strip:
        """The busy share in eighths, and below it the box."""
        width, ground = self.size.width, self.rich_style
        gutter = gutter_width(width)
        style = styles_of(self)
        if y == 0:
            shares = self.busy.shares(self._whole().edges())
            text = "".join(EIGHTHS[level] for level in np.ceil(shares * (len(EIGHTHS) - 1)).astype(int).tolist())
            segments = [
                Segment(" busy".ljust(gutter), ground + style[Look.QUIET]),
                Segment(text, ground + style[Ink.KERNEL]),
            ]
        else:
            first, last = self._columns()
            box = f"└{'─' * (last - first - 1)}┘" if last > first else "╵"
            segments = [Segment(" " * (gutter + first), ground), Segment(box, ground + style[Look.QUIET])]
        return Strip(segments).adjust_cell_length(width, ground)

    def on_click(self, event: events.Click) -> None:
        """Go to the time clicked."""
        column = event.x - gutter_width(self.size.width)
        if column >= 0:
            self.post_message(self.Pointed(self._whole().time(column)))
