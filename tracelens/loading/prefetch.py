"""Inflating in a thread of its own, a few blocks ahead: zlib lets the decoder run meanwhile."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Final

AHEAD: Final = 4
"""Blocks that may wait."""
_PATIENCE: Final = 0.1
"""Seconds after which a full queue is looked at again, in case nobody wants the rest."""
_FAREWELL: Final = 1.0
"""Seconds to wait for the thread to end: one that reads a silent pipe may never do."""


@dataclass(frozen=True, slots=True)
class _End:
    """The last thing in the queue: why there are no more blocks."""

    error: BaseException | None = None


def prefetched(blocks: Iterator[bytes]) -> Generator[bytes]:
    """The same blocks, fetched ahead in a thread; an error of theirs is raised where the blocks end.

    The thread ends when the blocks do, or soon after the returned iterator is closed.
    """
    waiting: queue.Queue[bytes | _End] = queue.Queue(maxsize=AHEAD)
    unwanted = threading.Event()
    thread = threading.Thread(target=_fetch, args=(blocks, waiting, unwanted), daemon=True)
    thread.start()
    try:
        while not isinstance(block := waiting.get(), _End):
            yield block
        if block.error:
            raise block.error
    finally:
        unwanted.set()
        thread.join(_FAREWELL)


def _fetch(blocks: Iterator[bytes], waiting: queue.Queue[bytes | _End], unwanted: threading.Event) -> None:
    end = _End()
    try:
        for block in blocks:
            if not _put(block, waiting, unwanted):
                return
    except BaseException as error:
        end = _End(error)
    _put(end, waiting, unwanted)


def _put(item: bytes | _End, waiting: queue.Queue[bytes | _End], unwanted: threading.Event) -> bool:
    """Queue an item; False if nobody wants it any more."""
    while not unwanted.is_set():
        try:
            waiting.put(item, timeout=_PATIENCE)
        except queue.Full:
            continue
        return True
    return False
