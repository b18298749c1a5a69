"""Opening traces: which one, how far reading is, and why one cannot be read."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from textual.message import Message
from textual.widget import Widget

from tracelens.exitcodes import ExitCode
from tracelens.tui.opening import Opening
from tracelens.tui.session import Session
from tracelens.tui.shell import Shell
from tracelens.tui.views.opening import LoadingView, PickerView, RefusedView

TICK_S: Final = 0.25
"""How often the progress of a trace that is being opened is looked at."""


class Entrance(Shell):
    """Shows an opening until it has ended, and hands its session to `opened`."""

    @dataclass
    class Ended(Message):
        """Opening has ended, well or not."""

        opening: Opening

    def __init__(self, opening: Opening | None, *, files: Sequence[Path] = (), folder: str = "") -> None:
        super().__init__()
        self._opening = opening
        self._files, self._folder = files, folder
        self.code = ExitCode.OK

    @property
    def is_open(self) -> bool:
        """Whether there is a trace to go back to."""
        return False

    @property
    def picker(self) -> PickerView | None:
        """The traces of a directory, if they are what is shown."""
        found = self.switcher.query(PickerView)
        return found.first() if found and self.switcher.current == "picker" else None

    async def opened(self, session: Session) -> None:
        """Show what was read."""
        raise NotImplementedError

    async def on_mount(self) -> None:
        """Begin with what there is to open."""
        self._ticking = self.set_interval(TICK_S, self._tick, pause=True)
        if self._opening is not None:
            await self.begin(self._opening)
        else:
            await self.choose()

    async def choose(self) -> None:
        """Show the traces and runs of a directory instead of what is being opened."""
        self._give_up()
        self.code = ExitCode.OK
        await self.put(PickerView(self._folder, self._files, back=self.is_open))

    async def begin(self, opening: Opening) -> None:
        """Show an opening that runs, instead of one that still does."""
        if opening is not self._opening:
            self._give_up()
        self._opening = opening
        threading.Thread(target=self._await_end, args=(opening,), daemon=True).start()
        self._ticking.resume()

    def _await_end(self, opening: Opening) -> None:
        opening.ended.wait()
        self.post_message(self.Ended(opening))

    async def put(self, widget: Widget) -> None:
        """Show a widget of its own id."""
        assert widget.id is not None
        with self.batch_update():
            # What is shown may be another of its id, and one of an id that is current already would not be shown.
            self.switcher.current = None
            await self.switcher.query(f"#{widget.id}").remove()
            await self.switcher.add_content(widget, set_current=True)
        self.screen_stack[0].set_focus(widget)
        self.sync_lines()

    async def _tick(self) -> None:
        """Show how far the opening is, unless it ends soon."""
        opening = self._opening
        if opening is None or opening.ended.is_set() or opening.ends_soon:
            return
        if self.switcher.query(LoadingView):
            self.switcher.query_one(LoadingView).sync()
        else:
            await self.put(LoadingView(opening))

    async def on_entrance_ended(self, message: Ended) -> None:
        """Show what was read, or why nothing was."""
        opening = message.opening
        if opening is not self._opening:
            return
        self._give_up()
        if opening.session is not None:
            await self.opened(opening.session)
        else:
            self.code = ExitCode(opening.exit_code)
            await self.put(RefusedView(opening.error or "nothing was read", others=bool(self._files)))

    def stop_opening(self) -> None:
        """End what is being read, if anything is."""
        if self._opening is not None:
            self._opening.cancel()

    def _give_up(self) -> None:
        """Wait for no opening any more."""
        self.stop_opening()
        self._opening = None
        self._ticking.pause()
