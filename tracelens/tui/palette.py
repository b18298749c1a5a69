"""The command palette: actions that make sense now, kernels by name, and times."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

import numpy as np
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from tracelens.errors import TraceLensError
from tracelens.model import units
from tracelens.tui.actions import Action, key_names, offered
from tracelens.tui.selection import Selection
from tracelens.tui.views.messages import Follow
from tracelens.tui.visible import visible

if TYPE_CHECKING:
    from tracelens.tui.app import TraceLens

MOST_KERNELS: Final = 20


class Commands(Provider):
    """Offers what is valid in the view that is shown."""

    @property
    def _desk(self) -> TraceLens:
        return cast("TraceLens", self.app)

    def _valid(self) -> Iterator[Action]:
        for action in offered(self._desk.view, self._desk.situation):
            if action.id != "command_palette":
                yield action

    async def discover(self) -> Hits:
        """All valid actions with their keys."""
        for action in self._valid():
            yield DiscoveryHit(f"{action.title}  ({key_names(action)})", partial(self._desk.run_registered, action))

    async def search(self, query: str) -> Hits:
        """Actions by title, a handle or a time to go to, and kernels by name."""
        matcher = self.matcher(query)
        for action in self._valid():
            title = f"{action.title}  ({key_names(action)})"
            if (score := matcher.match(title)) > 0:
                yield Hit(score, matcher.highlight(title), partial(self._desk.run_registered, action))
        for hit in (*self._handles(query), *self._times(query), *self._kernels(query)):
            yield hit

    def _handles(self, query: str) -> Iterator[Hit]:
        atlas, handle = self._desk.atlas, query.removeprefix("go to").strip()
        if atlas is None:
            return
        try:
            selection = atlas.find(handle)
        except TraceLensError:
            return
        yield Hit(1.0, Content(f"Go to {handle}"), partial(self._desk.post_message, Follow(selection)), text=handle)

    def _times(self, query: str) -> Iterator[Hit]:
        try:
            ns = units.parse_duration(query.removeprefix("go to").strip())
        except ValueError:
            return
        yield Hit(1.0, f"Go to {units.duration(ns)}", partial(self._desk.go_to, ns))

    def _kernels(self, query: str) -> Iterator[Hit]:
        atlas, wanted = self._desk.atlas, query.removeprefix("kernel ").lower()
        if atlas is None or len(wanted) < 3:
            return
        events = atlas.trace.events
        rows = np.flatnonzero(events.device_work())
        names, first = np.unique(events.name[rows], return_index=True)
        named = ((atlas.trace.names[int(name)], int(rows[at])) for name, at in zip(names, first, strict=True))
        for name, at in islice((one for one in named if wanted in one[0].lower()), MOST_KERNELS):
            jump = partial(self._desk.post_message, Follow(Selection(row=at)))
            yield Hit(0.5, Content(visible(f"Kernel {name}")), jump, text=visible(name))
