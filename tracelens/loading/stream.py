"""The decompressed text of a trace as a window that moves over it."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.loading.inflate import DamagedStreamError


class TextWindow:
    """The text from `offset` on, as much as has been asked for."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.data = b""
        self.offset = 0
        """Byte offset of data[0] in the decompressed file."""
        self.ended = False
        """Whether data reaches the end of what can be read."""
        self.damage = ""
        """What broke the text off, or ""."""
        self._blocks = blocks

    def more(self) -> bool:
        """Lengthen the window by one block, or by its own length if that is more; False at the end."""
        parts, added = [self.data], 0
        while not self.ended and added < max(len(self.data), 1):
            block = self._next()
            parts.append(block)
            added += len(block)
        self.data = b"".join(parts)
        return added > 0

    def drop(self, count: int) -> None:
        """Move the start of the window past `count` bytes."""
        self.data = self.data[count:]
        self.offset += count

    def _next(self) -> bytes:
        try:
            return next(self._blocks)
        except StopIteration:
            self.ended = True
        except DamagedStreamError as error:
            self.ended, self.damage = True, str(error)
        return b""
