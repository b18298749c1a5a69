"""The decompressed text of a trace as a window that moves over it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracelens.loading.inflate import DamagedStreamError

_SHARE: Final = 16
"""Where less than this part of the window is dropped, its far end is handed back: else what is left of a long window
would be copied at each of many small steps."""
_KEPT: Final = 1 << 16
"""Bytes that stay in the window then."""


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
        self._blocks = [blocks]
        """What comes next, the nearest last."""

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
        left = len(self.data) - count
        if left > _KEPT and left > _SHARE * count:
            self._blocks.append(_pieces(self.data, count + _KEPT))
            self.ended = False
            left = _KEPT
        self.data = self.data[count : count + left]
        self.offset += count

    def _next(self) -> bytes:
        try:
            return next(self._blocks[-1])
        except StopIteration:
            self._blocks.pop()
            self.ended = not self._blocks
        except DamagedStreamError as error:
            self._blocks.pop()
            self.ended, self.damage = True, str(error)
        return b""


def _pieces(data: bytes, begin: int) -> Iterator[bytes]:
    """The data from a place on, in pieces."""
    for at in range(begin, len(data), _KEPT):
        yield data[at : at + _KEPT]
