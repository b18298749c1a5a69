"""The terminal app: what keys do everywhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.command import Provider
from textual.widget import Widget

from tracelens.errors import TraceLensError
from tracelens.reporting import phrases
from tracelens.tui import export
from tracelens.tui.actions import EVERYWHERE, Action
from tracelens.tui.export import FORMATS, PICTURE, default_name
from tracelens.tui.guide import Guide
from tracelens.tui.links import VIEWS, Place, Portion
from tracelens.tui.rows import folded
from tracelens.tui.search import Query
from tracelens.tui.views.messages import Asked, Back, Changed, Copy, Details, Ranged, Said, Walk
from tracelens.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from tracelens.tui.atlas import Atlas
    from tracelens.tui.selection import Selection
    from tracelens.tui.session import Session

QUESTIONS = {
    "search": "a regular expression; ! finds all others",
    "filter": "a regular expression; ! keeps all others; empty shows all",
    "lanes": "a regular expression for their titles; empty shows all",
    "traces": "a regular expression; ! shows all others; empty shows all",
}
"""What is typed for each purpose."""


def _commands() -> type[Provider]:
    from tracelens.tui.palette import Commands

    return Commands


class TraceLens(Guide):
    """Everything that a key does in any view."""

    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_commands}

    # -- views ----------------------------------------------------------------------------------------------

    async def action_view_overview(self) -> None:
        """To the overview."""
        await self.show("overview")

    async def action_view_timeline(self) -> None:
        """To the timeline."""
        await self.show("timeline")

    async def action_view_kernels(self) -> None:
        """To the kernels."""
        await self.show("kernels")

    async def action_view_operators(self) -> None:
        """To the operators."""
        await self.show("operators")

    async def action_view_gaps(self) -> None:
        """To the gaps."""
        await self.show("gaps")

    async def action_view_syncs(self) -> None:
        """To the sync points."""
        await self.show("syncs")

    async def action_view_launches(self) -> None:
        """To the launches."""
        await self.show("launches")

    async def action_view_advice(self) -> None:
        """To the advice."""
        await self.show("advice")

    async def action_view_findings(self) -> None:
        """To the findings."""
        await self.show("findings")

    async def action_view_forms(self) -> None:
        """To the forms."""
        await self.show("forms")

    async def action_choose_trace(self) -> None:
        """To the traces and runs of the directory that was opened."""
        if not self._files:
            self.say("No directory of traces was opened; give one to choose from what it holds.")
            return
        await self.choose()

    async def on_back(self, message: Back) -> None:
        """From a trace that cannot be opened to the others, from them to the one that is open."""
        if self.is_open:
            await self.show("overview")
        elif self._files and self.switcher.current == "refused":
            await self.choose()

    async def action_next_view(self) -> None:
        """To the view on the right."""
        await self._turn(1)

    async def action_previous_view(self) -> None:
        """To the view on the left."""
        await self._turn(-1)

    async def _turn(self, by: int) -> None:
        views = [view for view in VIEWS if view != "forms" or self.has_run]
        await self.show(views[(views.index(self.view) + by) % len(views)])

    async def run_registered(self, action: Action) -> None:
        """Do what an action of the registry says, in its view."""
        if action.scope == EVERYWHERE:
            await self.run_action(action.id)
            return
        widget = self.screen_stack[0].focused
        while widget is not None and not hasattr(widget, f"action_{action.id}"):
            widget = widget.parent
        if isinstance(widget, Widget):
            await self.run_action(action.id, default_namespace=widget)

    # -- gaps -----------------------------------------------------------------------------------------------

    def action_next_gap(self) -> None:
        """To the next gap."""
        self.post_message(Walk("next_gap"))

    def action_previous_gap(self) -> None:
        """To the gap before."""
        self.post_message(Walk("previous_gap"))

    def action_worst_gap(self) -> None:
        """To the worst gap, then to the next worst."""
        self.post_message(Walk("worst_gap"))

    # -- search, filter, range ------------------------------------------------------------------------------

    def on_asked(self, message: Asked) -> None:
        """Ask for a line."""
        self.prompt.ask(message.purpose, message.purpose, QUESTIONS[message.purpose])

    def action_search(self) -> None:
        """Ask what to search for."""
        self.on_asked(Asked("search" if self.picker is None else "traces"))

    def action_filter(self) -> None:
        """Ask what to show only."""
        self.on_asked(Asked("filter"))

    async def go_to(self, ns: int) -> None:
        """Centre a time in the timeline, with the cursor on what lies there."""
        if self.atlas is None:
            return
        timeline = await self.timeline()
        timeline.state.go_to(ns)
        timeline.sync()

    async def on_prompt_answered(self, message: Prompt.Answered) -> None:
        """Do what the line was typed for."""
        await self._return()
        purpose, _, key = message.purpose.partition(" ")
        if message.text is None:
            return
        if purpose == "export":
            self._export(key, Path(message.text))
            return
        try:
            query = Query.parse(message.text)
        except TraceLensError as error:
            self.say(str(error))
            return
        await self._apply(purpose, query)

    async def _return(self) -> None:
        """To what was shown when the line was asked for."""
        if self.view in VIEWS:
            await self.show(self.view)
            return
        for shown in self.switcher.children:
            if shown.id == self.switcher.current:
                self.screen_stack[0].set_focus(shown)

    async def _apply(self, purpose: str, query: Query | None) -> None:
        """Search or filter in the traces or the tables when they are shown, else in the timeline."""
        if self.picker is not None:
            self.picker.only(query)
            return
        tables = self.tables
        if self.atlas is None:
            self.say("The timeline is being prepared; search again in a moment.")
            return
        if tables is not None and purpose != "lanes":
            found = tables.filter(query) if purpose == "filter" else int(tables.search(query))
        else:
            timeline = await self.timeline()
            does = {"search": timeline.search, "filter": timeline.filter, "lanes": timeline.only_lanes}
            found = does[purpose](query)
        if query is not None and (not found or tables is None):
            self.say(f"{found:,} for {query.text!r}" if found else f"Nothing for {query.text!r}.")

    async def _next_match(self, direction: int) -> None:
        tables = self.tables
        found = tables.next_match(direction) if tables else (await self.timeline()).next_match(direction)
        if not found:
            self.say("Nothing found.")

    async def action_next_match(self) -> None:
        """To the next match."""
        await self._next_match(1)

    async def action_previous_match(self) -> None:
        """To the match before."""
        await self._next_match(-1)

    async def action_cancel(self) -> None:
        """Nothing is searched for or filtered any more; where nothing can be, the window is whole again."""
        if self.picker is not None:
            self.picker.leave()
        elif self.tables is not None:
            self.tables.filter(None)
            self.tables.search(None)
        elif self.view == "timeline":
            (await self.timeline()).clear()
        elif self.situation.ranged:
            self.post_message(Ranged(None))
            return
        self.say("")

    def action_whole_window(self) -> None:
        """Tables of the whole window."""
        self.post_message(Ranged(None))

    def on_changed(self, message: Changed) -> None:
        """The status follows the view."""
        self.sync_status()

    def on_said(self, message: Said) -> None:
        """A line for the user."""
        self.say(message.text)

    # -- copy -----------------------------------------------------------------------------------------------

    def on_copy(self, message: Copy) -> None:
        """To the clipboard."""
        self.copy(message.text, message.what)

    async def action_copy(self) -> None:
        """The row, the name, or the verdict."""
        session = self.session
        if session is None:
            return
        if self.tables is not None:
            self.copy(self.tables.row_text, "the row")
        elif self.view == "timeline" and self.selection:
            self.copy((await self.timeline()).selected_name, "the name")
        else:
            self.copy(phrases.headline(session.document), "the verdict")

    def action_copy_link(self) -> None:
        """The command that opens this view: of the run, where the trace was opened for it."""
        session, run = self.session, self._run_directory
        if session is not None:
            begins = session.run is not None and session.path == str(session.run.first_trace())
            of_run = run if begins or self.view == "forms" else None
            self.copy(self.here().command(str(of_run.folder) if of_run is not None else session.path), "the command")

    def here(self) -> Place:
        """Where the app is now."""
        handle = self.atlas.handle(self.selection) if self.atlas is not None and self.selection else None
        return Place(self.view, handle, self.session.portion if self.session is not None else Portion())

    # -- dialogs --------------------------------------------------------------------------------------------

    def action_help(self) -> None:
        """The keys."""
        from tracelens.tui.pages.help import help_rows

        self.tell("Keys", lambda width: help_rows(self.view, self.situation))

    def on_details(self, message: Details) -> None:
        """All that is known of an event, read in a thread."""
        if self.session is not None and self.atlas is not None and message.selection:
            self._describe(self.session, self.atlas, message.selection)

    @work(thread=True, exclusive=True, group="details", exit_on_error=False)
    def _describe(self, session: Session, atlas: Atlas, selection: Selection) -> None:
        from tracelens.tui.pages.details import full

        self.call_from_thread(self.tell, "Details", partial(folded, full(session, atlas, selection)))

    def action_export(self) -> None:
        """Ask for a format, then for a name."""
        from tracelens.tui.views.dialog import ChoiceDialog

        choices = [*((key, one.name) for key, one in FORMATS.items()), (PICTURE, "SVG picture of this screen")]
        self.push_screen(ChoiceDialog("Export as", choices), self._name_export)

    def _name_export(self, key: str | None) -> None:
        if key is not None and self.session is not None:
            suffix = FORMATS[key].suffix if key in FORMATS else f".{self.view}.svg"
            run = self._run_directory.folder if self._run_directory is not None else None
            name = default_name(self.session.path, suffix, run)
            self.prompt.ask(f"export {key}", "write to the file", "its name", name)

    def _export(self, key: str, path: Path) -> None:
        if key == PICTURE:
            self.call_after_refresh(lambda: self.say(export.write(path, self.export_screenshot())))
        elif self.session is not None:
            self.say("Writing ...")
            self._write(key, path)

    @work(thread=True, exclusive=True, group="export", exit_on_error=False)
    def _write(self, key: str, path: Path) -> None:
        if self.session is not None:
            self.post_message(Said(export.write(path, FORMATS[key].render(self.session.report))))

    async def action_quit(self) -> None:
        """Leave."""
        self.stop_opening()
        self.exit(int(self.code), return_code=int(self.code))
