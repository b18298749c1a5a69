"""The views of one trace, which share what is selected and the window that is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast, runtime_checkable

from textual import work
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.worker import Worker, WorkerState

from tracelens.errors import TraceLensError
from tracelens.model import units
from tracelens.tui.actions import EVERYWHERE, Situation, find, reminders
from tracelens.tui.entrance import Entrance
from tracelens.tui.links import TABLES, VIEWS, Place, Portion
from tracelens.tui.opening import Opening
from tracelens.tui.pages.tabs import tabs
from tracelens.tui.rows import Piece, Row, cut_left, quiet, row
from tracelens.tui.selection import Selection
from tracelens.tui.session import Session
from tracelens.tui.views.messages import Follow, OpenPath, Ranged, Said
from tracelens.tui.views.overview import OverviewView

if TYPE_CHECKING:
    from tracelens.loading.runs import Run
    from tracelens.model.events import Trace
    from tracelens.tui.atlas import Atlas
    from tracelens.tui.timeline import TimelineState
    from tracelens.tui.views.forms import FormsView
    from tracelens.tui.views.table import TablesView
    from tracelens.tui.views.timeline import TimelineView


SAYS_WHY_NOT: Final = ("view_forms", "choose_trace", "next_gap", "previous_gap", "worst_gap")
"""Actions that tell, where there is nothing for them, what they would need."""


@runtime_checkable
class Judging(Protocol):
    """A view of one window."""

    def open(self, session: Session) -> None:
        """Show another window's session."""
        ...


class Desk(Entrance):
    """Shows one view of a trace at a time."""

    @dataclass
    class AtlasMade(Message):
        """Lanes and gaps are ready."""

        atlas: Atlas

    @dataclass
    class Judged(Message):
        """The window has changed."""

        session: Session

    def __init__(
        self,
        opening: Opening | None,
        *,
        place: Place,
        files: Sequence[Path] = (),
        folder: str = "",
        run: Run | None = None,
    ) -> None:
        super().__init__(opening, files=files, folder=folder)
        self._run_directory = run
        self._place: Place | None = place
        self._whole: Session | None = None
        self._first: Session | None = None
        self.session: Session | None = None
        self.atlas: Atlas | None = None
        self._later: list[Message] = []
        """What comes again when lanes are made."""
        self.view = ""

    async def opened(self, session: Session) -> None:
        """Begin with the overview, and prepare the timeline meanwhile."""
        self.session, self.view = session, "overview"
        self._whole = session if session.portion.stretch is None else None
        self._first = self._first or session
        await self.put(OverviewView(session))
        self.call_after_refresh(self._make_atlas, session)

    @work(thread=True, exclusive=True, group="atlas", exit_on_error=False)
    def _make_atlas(self, session: Session) -> None:
        # Deferred, as are the views themselves: the first screen needs none of them.
        from tracelens.tui.atlas import Atlas

        self.post_message(self.AtlasMade(Atlas.of(session.analysis)))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A defect of ours in a thread ends that work, not the app."""
        if event.state == WorkerState.ERROR:
            error = cast("Worker[object]", event.worker).error  # pyright: ignore[reportUnknownMemberType]
            self.say(f"Internal error: {type(error).__name__}: {error}; please report it.")

    async def on_open_path(self, message: OpenPath) -> None:
        """Open another trace instead of the one that is open; the forms of the run stay."""
        if self.session is not None and self.session.path == message.path and message.place.select is not None:
            self.post_message(Follow(message.place))
            return
        if self.picker is not None:
            self._run_directory = self._first = None
        for view in [view for view in self.switcher.children if view.id != "forms" or self._first is None]:
            await view.remove()
        if self._first is not None:
            self._place = message.place
        self.session = self.atlas = self._whole = None
        # What waits for lanes meant those of the trace that was open.
        self._later.clear()
        opening = self._opening_of(message.path)
        opening.start()
        await self.begin(opening)

    def _opening_of(self, path: str) -> Opening:
        """Of a trace, or of a run and the trace it begins with."""
        portion = self._place.portion if self._place is not None else Portion()
        if Path(path).is_dir():
            from tracelens.loading.runs import read_run

            try:
                self._run_directory = read_run(Path(path))
            except TraceLensError as error:
                self.say(str(error))
        run = self._run_directory
        first = run.first_trace() if run is not None else None
        begins = Path(path).is_dir() or Path(path) == first
        return Opening(str(first or path) if begins else path, portion=portion, run=run if begins else None)

    # -- views ----------------------------------------------------------------------------------------------

    async def choose(self) -> None:
        """What is open stays so, out of sight."""
        self.view = "picker"
        await super().choose()

    async def show(self, view: str) -> None:
        """Turn to a view; views of events wait until lanes are made. Forms are there in a run only."""
        if view == "forms" and not self.has_run:
            self.say("One trace only, so no forms to compare; open a run directory to see them.")
            return
        if self.session is None or (self.atlas is None and view not in ("overview", "advice", "forms")):
            self._place = Place(view)
            self.say("Preparing the timeline ...")
            return
        widget = await self._widget(view)
        # Only now: while it was made, others may have asked what is shown.
        selection, self.view, self._said = self.selection, view, ""
        with self.batch_update():
            self.switcher.current = widget.id
            if (tables := self.tables) is not None:
                tables.turn_to(view, selection)
            # At once, so that the next key is the new view's.
            self.screen_stack[0].set_focus(self._keyed(widget))
            self.sync_lines()

    def _keyed(self, widget: Widget) -> Widget:
        """What of a view takes the keys."""
        if (tables := self.tables) is not None:
            return tables.grid
        return self._forms.page if self.view == "forms" else widget

    async def _widget(self, view: str) -> Widget:
        """The widget of a view, made when it is first shown."""
        name = "tables" if view in TABLES else view
        if not self.switcher.query(f"#{name}"):
            await self.switcher.add_content(self._make(name))
        return self.switcher.query_one(f"#{name}")

    def _make(self, name: str) -> Widget:
        if name == "advice" and self.session is not None:
            from tracelens.tui.views.advice import AdviceView

            return AdviceView(self.session)
        if name == "forms" and self._first is not None and self._run_directory is not None:
            from tracelens.tui.views.forms import FormsView

            return FormsView(self._run_directory, self._first)
        return self._make_of_events(name)

    def _make_of_events(self, name: str) -> Widget:
        from tracelens.tui.views.table import TablesView
        from tracelens.tui.views.timeline import TimelineView

        session, atlas = self._must()
        return TablesView(session, atlas) if name == "tables" else TimelineView(session, atlas)

    def _must(self) -> tuple[Session, Atlas]:
        if self.session is None or self.atlas is None:
            raise RuntimeError("no trace is open yet")
        return self.session, self.atlas

    async def timeline(self) -> TimelineView:
        """The timeline, shown."""
        await self.show("timeline")
        return cast("TimelineView", self.switcher.query_one("#timeline"))

    @property
    def tables(self) -> TablesView | None:
        """The tables, if they are what is shown."""
        found = self.switcher.query("#tables")
        return cast("TablesView", found.first()) if found and self.view in TABLES else None

    @property
    def lanes(self) -> TimelineState | None:
        """What the timeline shows, once there is one."""
        found = self.switcher.query("#timeline")
        return cast("TimelineView", found.first()).state if found else None

    @property
    def selection(self) -> Selection:
        """What is selected in the view that is shown."""
        if self.view == "timeline" and self.lanes is not None:
            return self.lanes.selection
        return self.tables.selection if self.tables is not None else Selection()

    # -- the window -----------------------------------------------------------------------------------------

    def on_ranged(self, message: Ranged) -> None:
        """Judge a range, or the whole window again."""
        if message.range is None and self._whole is not None:
            self.post_message(self.Judged(self._whole))
        elif self.session is not None:
            self.say("Recomputing the tables ...")
            self._judge(self.session, message.range)

    @work(thread=True, exclusive=True, group="judge", exit_on_error=False)
    def _judge(self, session: Session, span: tuple[int, int] | None) -> None:
        from tracelens.tui.judging import judge

        portion = Portion(session.analysis.device, range=span)
        try:
            judged = judge(session.path, session.trace, portion, session.run)
        except TraceLensError as error:
            self.post_message(Said(str(error)))
        else:
            self.post_message(self.Judged(judged))

    def on_desk_judged(self, message: Judged) -> None:
        """Every view shows the new window, unless its trace was left meanwhile."""
        if not self.is_of(message.session.trace):
            return
        self.session = message.session
        if message.session.portion.stretch is None:
            self._whole = message.session
        if self._first is not None and self._first.path == message.session.path:
            self._first = message.session
        for view in self.switcher.children:
            if isinstance(view, Judging):
                view.open(message.session)
        self.say(f"Judged {self._stretch(message.session)}.")
        self.sync_lines()

    def _stretch(self, session: Session) -> str:
        if session.portion.stretch is None:
            return "the whole window"
        start, end = session.portion.stretch
        return f"{units.duration(start)} to {units.duration(end)}"

    # -- lines ----------------------------------------------------------------------------------------------

    @property
    def situation(self) -> Situation:
        """What decides which actions are valid."""
        if self.picker is not None:
            return Situation(choosing=True)
        session, atlas, tables = self.session, self.atlas, self.tables
        state = self.lanes
        return Situation(
            loaded=session is not None,
            events=atlas is not None and bool(atlas.lanes),
            # Until lanes are made there may be some.
            gaps=session is not None and (atlas is None or (atlas.gaps is not None and len(atlas.gaps.start) > 0)),
            run=self.has_run,
            directory=bool(self._files),
            selected=bool(self.selection),
            searching=bool(state and state.query) or bool(tables and tables.grid.table.found),
            ranged=session is not None and session.portion.stretch is not None,
            history=bool(state and state.history.past),
            snippet=session is not None and bool(session.document["recommendation"]["snippet"]),
            aggregate=tables is not None and tables.expands,
            changed=self.view == "forms" and self._forms.changed is not None,
        )

    @property
    def _forms(self) -> FormsView:
        return cast("FormsView", self.switcher.query_one("#forms"))

    @property
    def is_open(self) -> bool:
        """Whether a trace is open."""
        return self.session is not None

    def is_of(self, trace: Trace) -> bool:
        """Whether a trace is the one that is open."""
        return self.session is not None and self.session.trace is trace

    @property
    def has_run(self) -> bool:
        """Whether a run directory is open."""
        return self._run_directory is not None

    def tabs(self) -> Row:
        """The views, and which of them is shown."""
        if self.session is None or self.picker is not None:
            return row(quiet(" tracelens"))
        views = [view for view in VIEWS if view != "forms" or self.has_run]
        return tabs(views, self.view, self.size.width)

    def status(self) -> Row:
        """Where we are, and a few keys."""
        where, width = self._where(), self.size.width - len(" " * 3)
        # One look for all keys: a change of colour for each would cost more bytes than the text.
        keys = reminders(self.view, self.situation, width - len(where))
        return row(Piece(f" {cut_left(where, width - len(keys))}  ".lstrip()), quiet(f" {keys}"))

    def _where(self) -> str:
        """The way here: trace, range, what the timeline shows."""
        session = self.session
        if session is None or self.picker is not None:
            return ""
        parts = [cut_left(Path(session.path).name, 28)]
        if session.portion.stretch is not None:
            parts.append(self._stretch(session))
        if self.view == "timeline" and self.lanes is not None:
            view = self.lanes.view
            parts.append(f"{units.duration(view.start)}..{units.duration(view.end)}")
        return " > ".join(parts)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Registered actions are off while they make no sense, or a dialog lies over the view."""
        try:
            registered = find(action)
        except KeyError:
            return True
        if isinstance(self.screen, ModalScreen):
            return action == "quit"
        says_why_not = action in SAYS_WHY_NOT and self.session is not None
        return registered.scope != EVERYWHERE or says_why_not or registered.valid(self.situation)
