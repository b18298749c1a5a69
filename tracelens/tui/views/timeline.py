"""The timeline: minimap, ruler, lanes and the details of what is selected."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.widget import Widget

from tracelens.model.events import ABSENT
from tracelens.reporting.printable import printable
from tracelens.tui.actions import TIMELINE, bindings
from tracelens.tui.atlas import Atlas
from tracelens.tui.follow import GapWalk, follow, follow_back
from tracelens.tui.pages.details import brief
from tracelens.tui.search import Query
from tracelens.tui.selection import Selection
from tracelens.tui.session import Session
from tracelens.tui.timeline import ZOOM_IN, ZOOM_OUT, TimelineState
from tracelens.tui.views.messages import Asked, Changed, Details, Ranged, Said
from tracelens.tui.widgets.lines import Lines
from tracelens.tui.widgets.timeline import LaneView, Minimap, Ruler

LINES_ABOVE: Final = 3
"""The minimap and the ruler."""
LEAST_DETAILS: Final = 6
"""Lines for the details, with the one between them and the lanes, however many lanes there are."""


class TimelineView(Vertical, can_focus=True):
    """Owns the state of the timeline and draws it after each action."""

    DEFAULT_CSS = "TimelineView > #event { height: 6; border-top: solid $quiet; }"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(TIMELINE)]

    def __init__(self, session: Session, atlas: Atlas) -> None:
        super().__init__(id="timeline")
        self._session, self._atlas = session, atlas
        self.state = TimelineState(atlas.lanes)
        self._rank_gaps()
        self._mark: int | None = None
        self._walked_to = ABSENT
        """The gap that the way by length has led to."""
        self._described: tuple[Selection, int, int] | None = None
        self._minimap, self._ruler, self._lanes = Minimap(self.state), Ruler(self.state), LaneView(self.state)
        self._details = Lines(id="event")

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield self._minimap
        yield self._ruler
        yield self._lanes
        # At once, so that all is laid out and drawn but once.
        self._details.styles.height = self._details_height
        yield self._details

    def open(self, session: Session) -> None:
        """Show another window of the same trace."""
        self._session = session
        self._rank_gaps()
        self._mark = None
        self.sync()

    def _rank_gaps(self) -> None:
        """The worst gap is one that counts for the window that is judged."""
        if (walk := self.state.gaps) is not None:
            walk.prefer(self._session.analysis.window.tiles)

    def on_resize(self) -> None:
        """Details follow the width."""
        self._described = None
        self.call_after_refresh(self.sync)

    @property
    def selected_name(self) -> str:
        """The name of the slice under the cursor."""
        lane = self.state.current
        return printable(lane.label(self.state.slice)) if lane is not None and self.state.slice != ABSENT else ""

    def sync(self) -> None:
        """Draw what has changed."""
        self._lanes.sync()
        self._ruler.sync(self._range())
        self._minimap.sync()
        self._describe()
        self.post_message(Changed())

    def _describe(self) -> None:
        """Tell of the selection, in all lines that the lanes leave free."""
        height = self._details_height or LEAST_DETAILS
        key = (self.state.selection, self.size.width, height)
        if self._described == key or not self.size:
            return
        self._described = key
        self._details.styles.height = self._details_height
        self._details.show(brief(self._session, self._atlas, self.state.selection, self.size.width, height - 1))

    @property
    def _details_height(self) -> int | None:
        """Lines that the lanes leave free; None where they leave but the least."""
        size = self.size or (self.parent.size if isinstance(self.parent, Widget) else Size())
        spare = size.height - LINES_ABOVE - len(self.state.lanes)
        return spare if spare > LEAST_DETAILS else None

    def _range(self) -> tuple[int, int] | None:
        """The range being made, else the one that the tables show."""
        if self._mark is None:
            return self._session.portion.stretch
        first, last = sorted((self._mark, self.state.cursor_time))
        return first, last + 1

    def select(self, selection: Selection) -> bool:
        """Put the cursor on an event or gap and zoom to where it can be seen; False when no lane shows it."""
        found = self.state.select(selection)
        if found:
            self._come_near()
        self.sync()
        return found

    def look(self, start: int, end: int) -> None:
        """Show a stretch of time."""
        self.state.look(self.state.view.focus(start, end), jump=True)
        self.sync()

    def _come_near(self) -> None:
        """Zoom in when the selection is less than a cell wide, out when it is wider than the screen."""
        if self.state.span is None:
            return
        (start, end), view = self.state.span, self.state.view
        if (end - start) * view.columns < 2 * view.span:
            self.state.look(view.focus(start, end, margin=10), jump=True)
        elif end - start > view.span:
            self.state.look(view.focus(start, end), jump=True)

    # -- actions --------------------------------------------------------------------------------------------

    def action_zoom_in(self) -> None:
        """Half the time, around the cursor."""
        self.state.zoom(ZOOM_IN)
        self.sync()

    def action_zoom_out(self) -> None:
        """Twice the time."""
        self.state.zoom(ZOOM_OUT)
        self.sync()

    def action_pan_left(self) -> None:
        """To earlier."""
        self.state.pan(-1)
        self.sync()

    def action_pan_right(self) -> None:
        """To later."""
        self.state.pan(1)
        self.sync()

    def action_fit(self) -> None:
        """All of the trace."""
        self.state.fit()
        self.sync()

    def action_focus(self) -> None:
        """Centre the selection, then fit it."""
        self.state.focus()
        self.sync()

    def action_back(self) -> None:
        """To the last zoom."""
        self.state.back()
        self.sync()

    def action_previous_event(self) -> None:
        """One slice back."""
        self.state.step(-1)
        self.sync()

    def action_next_event(self) -> None:
        """One slice on."""
        self.state.step(1)
        self.sync()

    def action_lane_up(self) -> None:
        """One lane up."""
        self.state.change_lane(-1)
        self.sync()

    def action_lane_down(self) -> None:
        """One lane down."""
        self.state.change_lane(1)
        self.sync()

    def action_follow(self) -> None:
        """Towards the device; from a gap, to what ends it."""
        self._go(self._ending() if self._on_gap else follow(self._session.trace, self.state.selection.row))

    def action_follow_back(self) -> None:
        """Towards the operator that issued it; from a gap, to the launch that ended it."""
        row = self._ending() if self._on_gap else self.state.selection.row
        self._go(follow_back(self._session.trace, row) if row != ABSENT else ABSENT)

    @property
    def _on_gap(self) -> bool:
        return self.state.selection.gap != ABSENT

    def _ending(self) -> int:
        """Row of the device event that ends the selected gap."""
        gaps = self._atlas.gaps
        return int(gaps.after[self.state.selection.gap]) if gaps is not None else ABSENT

    def _go(self, row: int) -> None:
        if row == ABSENT or not self.select(Selection(row=row)):
            self.post_message(Said("The way ends here."))

    def action_range(self) -> None:
        """Start a range at the cursor, or end it and recompute the tables."""
        if self._mark is None:
            self._mark = self.state.span[0] if self.state.span else self.state.cursor_time
            self.post_message(Said("Range started: move, then v ends it."))
        else:
            end = self.state.span[1] if self.state.span else self.state.cursor_time
            first, last = sorted((self._mark, end))
            self._mark = None
            self.post_message(Ranged((first, max(last, first + 1))))
        self.sync()

    def action_details(self) -> None:
        """All that is known of the selection."""
        self.post_message(Details(self.state.selection))

    def action_lanes(self) -> None:
        """Ask which lanes to show."""
        self.post_message(Asked("lanes"))

    def action_pin(self) -> None:
        """The lane to the top, or back."""
        self.state.pin()
        self.sync()

    def action_python(self) -> None:
        """Python frames or not."""
        self.state.show_python = not self.state.show_python
        self.state.arrange()
        self.sync()

    def action_all_lanes(self) -> None:
        """No lane is hidden."""
        self.state.lane_query = None
        self.state.arrange()
        self.sync()

    def only_lanes(self, query: Query | None) -> int:
        """Show lanes whose title is asked for; returns how many."""
        self.state.lane_query = query
        self.state.arrange()
        self.sync()
        return len(self.state.lanes)

    def filter(self, query: Query | None) -> int:
        """Show slices whose name is asked for; returns how many."""
        found = self.state.filter(query)
        self.sync()
        return found

    def clear(self) -> None:
        """Filter and search for nothing, and forget the range that was begun."""
        self._mark = None
        self.state.search(None)
        self.filter(None)

    def search(self, query: Query | None) -> int:
        """Mark slices whose name is asked for, and go to the first; returns how many."""
        found = self.state.search(query)
        if found:
            self.next_match(1)
        self.sync()
        return found

    def next_match(self, direction: int) -> bool:
        """Go to the next slice found; False without one."""
        found = self.state.next_match(direction)
        if found:
            self._come_near()
        self.sync()
        return found

    # -- gaps -----------------------------------------------------------------------------------------------

    def walk(self, way: str) -> None:
        """Go to the "next_gap", the "previous_gap" or the "worst_gap": the longest of the window that is judged, from
        one that this way led to the next longest."""
        at = self.state.slice if self._on_gap else ABSENT
        current = at if at == self._walked_to else ABSENT
        ways: dict[str, Callable[[GapWalk, int], int]] = {
            "next_gap": GapWalk.after,
            "previous_gap": GapWalk.before,
            "worst_gap": lambda walk, ns: walk.worst(current),
        }
        if self.state.walk_gaps(ways[way]) and way == "worst_gap":
            self._walked_to = self.state.slice
        self.sync()

    # -- mouse ----------------------------------------------------------------------------------------------

    def on_lane_view_clicked(self, message: LaneView.Clicked) -> None:
        """Select what was clicked, or the range that was dragged over."""
        self._mark = None
        if message.dragged:
            self.post_message(Ranged((message.start, message.end)))
        elif message.lane < len(self.state.lanes):
            self.state.point(message.lane, (message.start + message.end) // 2)
        self.sync()

    def on_lane_view_dragging(self, message: LaneView.Dragging) -> None:
        """Show the range while it is dragged."""
        self._ruler.sync((message.start, message.end))

    def on_lane_view_wheeled(self, message: LaneView.Wheeled) -> None:
        """Zoom at the pointer, or pan with shift."""
        if message.shift:
            self.state.pan(message.direction)
        else:
            self.state.zoom(ZOOM_IN if message.direction < 0 else ZOOM_OUT, message.at)
        self.sync()

    def on_minimap_pointed(self, message: Minimap.Pointed) -> None:
        """Centre the time clicked."""
        self.state.look(self.state.view.centre(message.at), jump=True)
        self.sync()
