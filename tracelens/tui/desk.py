"""The views of one trace, which share what is selected and the window that is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from textual import work
from textual.message import Message
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import Worker, WorkerState

from tracelens.errors import TraceLensError
from tracelens.exitcodes import ExitCode
from tracelens.loading.runs import Run
from tracelens.model import units
from tracelens.tui.actions import ADVICE, EVERYWHERE, FORMS, OVERVIEW, TABLE, TIMELINE, Situation, find, hints
from tracelens.tui.links import VIEWS, Place
from tracelens.tui.opening import Opening
from tracelens.tui.rows import Look, Piece, Row, cut_left, quiet, row
from tracelens.tui.session import Atlas, Session, judge
from tracelens.tui.shell import Shell
from tracelens.tui.tables import TABLES
from tracelens.tui.timeline import Selection
from tracelens.tui.views.advice import AdviceView
from tracelens.tui.views.forms import FormsView
from tracelens.tui.views.messages import Jump, JumpTo, OpenPath, Ranged, Said, Walk
from tracelens.tui.views.opening import LoadingView, PickerView, RefusedView
from tracelens.tui.views.overview import OverviewView
from tracelens.tui.views.table import TablesView
from tracelens.tui.views.timeline import TimelineView

TICK_S: Final = 0.05
"""How often a trace that is being opened is looked at."""
SCOPE_OF: Final = {"overview": OVERVIEW, "timeline": TIMELINE, "advice": ADVICE, "forms": FORMS}


class Desk(Shell):
    """Opens a trace, and shows one view of it at a time."""

    @dataclass
    class Ended(Message):
        """Opening has ended, well or not."""

        opening: Opening

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
        super().__init__()
        self._run_directory = run
        self._opening = opening
        self._files, self._folder = files, folder
        self._place: Place | None = place
        self._ticking: Timer | None = None
        self._ticks = 0
        self._whole: Session | None = None
        self._first: Session | None = None
        self.session: Session | None = None
        self.atlas: Atlas | None = None
        self._later: list[Message] = []
        self.view = ""
        self.code = ExitCode.OK

    # -- opening --------------------------------------------------------------------------------------------

    async def on_mount(self) -> None:
        """Begin with what there is to open."""
        if self._opening is not None:
            await self._begin(self._opening)
        else:
            await self._put(PickerView(self._folder, self._files))

    async def _begin(self, opening: Opening) -> None:
        self._opening = opening
        await self._put(LoadingView(opening))
        self._ticking = self.set_interval(TICK_S, self._tick)
        self._tick()

    async def _put(self, widget: Widget) -> None:
        """Show a widget of its own id."""
        assert widget.id is not None
        if self.switcher.query(f"#{widget.id}"):
            await self.switcher.query_one(f"#{widget.id}").remove()
        await self.switcher.add_content(widget, set_current=True)
        self.screen_stack[0].set_focus(widget)
        self.sync_lines()

    def _tick(self) -> None:
        """Look at how the opening is doing; draw its progress four times a second."""
        opening = self._opening
        if opening is None:
            return
        self._ticks += 1
        if opening.done:
            self._opening = None
            self.post_message(self.Ended(opening))
        elif self._ticks % 5 == 1:
            self.switcher.query_one(LoadingView).sync()

    async def on_desk_ended(self, message: Ended) -> None:
        """Show what was read, or why nothing was."""
        opening = message.opening
        if self._ticking is not None:
            self._ticking.stop()
        if isinstance(opening.session, Session):
            await self._opened(opening.session)
        else:
            self.code = ExitCode(opening.exit_code)
            await self._put(RefusedView(opening.error or "nothing was read"))

    async def _opened(self, session: Session) -> None:
        self.session, self.view = session, "overview"
        self._whole = session if session.range is None else None
        self._first = self._first or session
        await self._put(OverviewView(session))
        self._make_atlas(session)

    @work(thread=True, exclusive=True, group="atlas", exit_on_error=False)
    def _make_atlas(self, session: Session) -> None:
        self.post_message(self.AtlasMade(Atlas.of(session.analysis)))

    async def on_desk_atlas_made(self, message: AtlasMade) -> None:
        """Go where the command line asked to go."""
        self.atlas = message.atlas
        place, self._place = self._place or Place(), None
        if place.select is not None:
            await self._select(place.select)
        if place.view != self.view and (place.select is None or place.view != "overview"):
            await self.show(place.view)
        while self._later:
            self.post_message(self._later.pop(0))
        self.sync_lines()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A defect of ours in a thread ends that work, not the app."""
        if event.state == WorkerState.ERROR:
            error = cast("Worker[object]", event.worker).error  # pyright: ignore[reportUnknownMemberType]
            self.say(f"Internal error: {type(error).__name__}: {error}; please report it.")

    async def on_open_path(self, message: OpenPath) -> None:
        """Open the trace that was picked, instead of the one that is open."""
        await self.switcher.remove_children()
        self.session = self.atlas = self._whole = None
        opening = Opening(message.path)
        opening.start()
        await self._begin(opening)

    # -- views ----------------------------------------------------------------------------------------------

    async def show(self, view: str) -> None:
        """Turn to a view; views of events wait until lanes are made."""
        if self.session is None or (self.atlas is None and view not in ("overview", "advice", "forms")):
            self._place = Place(view)
            self.say("Preparing the timeline ...")
            return
        self.view, self._said = view, ""
        widget = await self._widget(view)
        self.switcher.current = widget.id
        if isinstance(widget, TablesView):
            widget.turn_to(view)
        # At once, so that the next key is the new view's.
        self.screen_stack[0].set_focus(widget.grid if isinstance(widget, TablesView) else widget)
        self.sync_lines()

    async def _widget(self, view: str) -> Widget:
        """The widget of a view, made when it is first shown."""
        name = "tables" if view in TABLES else view
        if not self.switcher.query(f"#{name}"):
            await self.switcher.add_content(self._make(name))
        return self.switcher.query_one(f"#{name}")

    def _make(self, name: str) -> Widget:
        if name == "advice" and self.session is not None:
            return AdviceView(self.session)
        if name == "forms" and self.session is not None and self._run_directory is not None:
            return FormsView(self._run_directory, self._first or self.session)
        session, atlas = self._must()
        return TablesView(session, atlas) if name == "tables" else TimelineView(session, atlas)

    def _must(self) -> tuple[Session, Atlas]:
        if self.session is None or self.atlas is None:
            raise RuntimeError("no trace is open yet")
        return self.session, self.atlas

    async def timeline(self) -> TimelineView:
        """The timeline, shown."""
        await self.show("timeline")
        return self.switcher.query_one(TimelineView)

    @property
    def tables(self) -> TablesView | None:
        """The tables, if they are what is shown."""
        return self.switcher.query_one(TablesView) if self.view in TABLES else None

    @property
    def selection(self) -> Selection:
        """What is selected in the view that is shown."""
        if self.view == "timeline" and self.switcher.query(TimelineView):
            return self.switcher.query_one(TimelineView).state.selection
        return self.tables.selection if self.tables is not None else Selection()

    def _waits(self, message: Message) -> bool:
        """Whether a message must wait until lanes are made; then it comes again."""
        if self.atlas is None:
            self._later.append(message)
            self.say("Preparing the timeline ...")
        return self.atlas is None

    async def on_walk(self, message: Walk) -> None:
        """Go to a gap in the timeline."""
        if not self._waits(message):
            (await self.timeline()).walk(message.way)

    async def on_jump(self, message: Jump) -> None:
        """Show an event or gap in the timeline."""
        if self._waits(message):
            return
        timeline = await self.timeline()
        if not timeline.select(message.selection):
            self.say("No lane shows this event; T shows all lanes, Esc clears the filter.")

    async def on_jump_to(self, message: JumpTo) -> None:
        """Show what a handle names in the timeline."""
        if not self._waits(message):
            await self._select(message.handle)

    async def _select(self, handle: str) -> None:
        _, atlas = self._must()
        try:
            selection = atlas.find(handle)
        except TraceLensError as error:
            self.say(str(error))
        else:
            await self.on_jump(Jump(selection))

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
        try:
            judged = judge(session.path, session.trace, device=session.analysis.device, span=span, run=session.run)
        except TraceLensError as error:
            self.post_message(Said(str(error)))
        else:
            self.post_message(self.Judged(judged))

    def on_desk_judged(self, message: Judged) -> None:
        """Every view shows the new window."""
        self.session = message.session
        if message.session.range is None:
            self._whole = message.session
        for view in self.switcher.query(".view, #overview, #advice, #timeline, #tables").results(Widget):
            if isinstance(view, OverviewView | AdviceView | TimelineView | TablesView):
                view.open(message.session)
        self.say(f"Judged {self._stretch(message.session)}.")
        self.sync_lines()

    def _stretch(self, session: Session) -> str:
        if session.range is None:
            return "the whole window"
        start, end = session.range
        return f"{units.duration(start)} to {units.duration(end)}"

    # -- lines ----------------------------------------------------------------------------------------------

    @property
    def situation(self) -> Situation:
        """What decides which actions are valid."""
        session, atlas, tables = self.session, self.atlas, self.tables
        timelines = self.switcher.query(TimelineView)
        state = timelines.first().state if timelines else None
        return Situation(
            loaded=session is not None,
            events=atlas is not None and bool(atlas.lanes),
            # Until lanes are made there may be some.
            gaps=session is not None and (atlas is None or (atlas.gaps is not None and len(atlas.gaps.start) > 0)),
            run=self.has_run,
            selected=bool(self.selection),
            searching=bool(state and state.query) or bool(tables and tables.grid.table.found),
            ranged=session is not None and session.range is not None,
            history=bool(state and state.history.past),
            snippet=session is not None and bool(session.document["recommendation"]["snippet"]),
            aggregate=tables is not None and tables.aggregate,
        )

    @property
    def has_run(self) -> bool:
        """Whether a run directory is open."""
        return self._run_directory is not None

    @property
    def scope(self) -> str:
        """The scope of actions of the view that is shown."""
        return TABLE if self.view in TABLES else SCOPE_OF.get(self.view, EVERYWHERE)

    def sync_lines(self) -> None:
        """Draw tabs and status."""
        self.lines("tabs").show([self._tabs()])
        self.sync_status()

    def _tabs(self) -> Row:
        views = [view for view in VIEWS if view != "forms" or self.has_run]
        width = sum(len(view) + 4 for view in views)
        pieces: list[Piece] = []
        for number, view in enumerate(views, 1):
            name = view.capitalize() if width <= self.size.width else view[:4].capitalize()
            pieces.append(Piece(f" {number} {name} ", Look.CURSOR if view == self.view else Look.PLAIN))
        return tuple(pieces) if self.session is not None else row(quiet(" tracelens"))

    def status(self) -> Row:
        """Where we are, and a few keys."""
        # One look for all keys: a change of colour for each would cost more bytes than the text.
        keys = "  ".join(f"{key} {word}" for key, word in hints(self.scope, self.situation))
        return row(Piece(f" {self._where()}  ".lstrip()), quiet(f" {keys}"))

    def _where(self) -> str:
        """The way here: trace, range, what the timeline shows."""
        session = self.session
        if session is None:
            return ""
        parts = [cut_left(Path(session.path).name, 28)]
        if session.range is not None:
            parts.append(self._stretch(session))
        if self.view == "timeline" and self.switcher.query(TimelineView):
            view = self.switcher.query_one(TimelineView).state.view
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
        return registered.scope != EVERYWHERE or registered.valid(self.situation)
