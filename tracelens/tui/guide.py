"""Ways to events: where links, gaps and handles lead, in any view."""

from __future__ import annotations

from functools import partial

from textual.message import Message

from tracelens.errors import TraceLensError
from tracelens.tui.desk import Desk
from tracelens.tui.links import Place
from tracelens.tui.search import Query
from tracelens.tui.selection import Selection
from tracelens.tui.session import Session
from tracelens.tui.targets import Checks, Filtered, FormOf, Stretch
from tracelens.tui.views.messages import Follow, Walk


class Guide(Desk):
    """Goes where a link leads; what needs lanes waits until they are made."""

    async def on_desk_atlas_made(self, message: Desk.AtlasMade) -> None:
        """Go where the command line asked to go; lanes of a trace that was left meanwhile are nobody's."""
        if not self.is_of(message.atlas.trace):
            return
        self.atlas = message.atlas
        place, self._place = self._place or Place(), None
        if place.select is not None:
            await self._select(place.select)
        if place.view != self.view and (place.select is None or place.view != "overview"):
            await self.show(place.view)
        while self._later:
            self.post_message(self._later.pop(0))
        self.sync_lines()

    def _waits(self, message: Message) -> bool:
        """Whether a message must wait until lanes are made; then it comes again."""
        if self.atlas is None:
            self._later.append(message)
            self.say("Preparing the timeline ...")
        return self.atlas is None

    async def on_walk(self, message: Walk) -> None:
        """Go to a gap in the timeline."""
        if not self.situation.gaps:
            self.say("There is no gap to go to: no device is seen idle between two pieces of its work.")
        elif not self._waits(message):
            (await self.timeline()).walk(message.way)

    async def on_follow(self, message: Follow) -> None:
        """Go where a link leads; views that need no lanes at once."""
        match message.link:
            case Checks() if self.session is not None:
                self._tell_trust(self.session)
            case FormOf():
                await self.show("forms")
            case Place(view=view, select=None):
                await self.show(view)
            case link if not self._waits(message):
                await self._follow_to_event(link)
            case _:
                pass

    def _tell_trust(self, session: Session) -> None:
        from tracelens.tui.pages.checks import checks

        self.tell("Trust", partial(checks, session.document))

    async def _follow_to_event(self, link: object) -> None:
        match link:
            case Selection():
                await self._jump(link)
            case Place(select=str(handle)):
                await self._select(handle)
            case Stretch(start=start, end=end):
                (await self.timeline()).look(start, end)
            case Filtered(view=view, filter=wanted):
                await self.show(view)
                if self.tables is not None:
                    self.tables.filter(Query.parse(wanted))
            case _:
                pass

    async def _jump(self, selection: Selection) -> None:
        timeline = await self.timeline()
        if not timeline.select(selection):
            self.say("No lane shows this event; T shows all lanes, Esc clears the filter.")

    async def _select(self, handle: str) -> None:
        _, atlas = self._must()
        try:
            selection = atlas.find(handle)
        except TraceLensError as error:
            self.say(str(error))
        else:
            await self._jump(selection)
