"""Screens lay out what the terminal's size is, not what it was."""

from __future__ import annotations

from textual import events
from textual.message_pump import MessagePump


class SizedOnce(MessagePump):
    """A screen that leaves aside sizes the terminal no longer has.

    textual's screen tells itself each size that it lays out. While the app draws nothing, as it does when it mounts,
    two sizes that wait would follow each other for ever, and no key would be read."""

    async def on_event(self, event: events.Event) -> None:
        """The last size comes as well: the app tells it after it has taken it for its own."""
        now = self.app.size  # pyright: ignore[reportUnknownMemberType]
        if isinstance(event, events.Resize) and event.size != now:
            return
        await super().on_event(event)
