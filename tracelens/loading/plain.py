"""Plain text of events, read in one compiled pass where a C compiler was at hand when this was installed.

Plain is sound JSON in the shapes that profilers write, as nearly all of a trace is. Whatever else a text is, the numpy
scan judges it, which says the same of plain text, more slowly. TRACELENS_SCAN=numpy in the environment has it read all.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from tracelens.loading.digits import Numbers
from tracelens.loading.framing import Frame, MarkedFrame, frame_events
from tracelens.loading.keys import LAST_CODE, compiled_table
from tracelens.loading.members import Members

try:
    from tracelens.loading import _plain
except ImportError:  # installed without a compiler, or for a platform that it is not written for
    _plain = None

CONTRACT: Final = 2
"""Of this code with the compiled part, as in _plain.c: what was compiled before it last changed is as if it were not
there, until it is compiled again."""
is_stale = _plain is not None and getattr(_plain, "contract", None) != CONTRACT
_is_usable = _plain is not None and not is_stale and os.environ.get("TRACELENS_SCAN") != "numpy"
compiled = _plain.read_events if _plain is not None and _is_usable else None
"""The pass itself; None where there is none, or the numpy scan is wanted."""

_MOST_EVENTS: Final = 1 << 14
_MOST_MEMBERS: Final = 1 << 15
"""Of one frame, the rest waits for the next: so few need pieces of memory that the C library keeps for it."""
_KEYS, _MULTIPLIER = compiled_table()
_BOUNDS: Final = 257
"""One for each code of a key, and the end."""
_MEMBER: Final = np.dtype(
    [
        *(("raw", "<i8"), ("row", "<i4"), ("value", "<i4"), ("text_end", "<i4")),
        *(("first", "u1"), ("code", "u1"), ("sound", "?")),
    ],
    align=True,
)
"""A member as the compiled pass writes it: columns of Members and of their raw values, and its key's code."""


@dataclass(frozen=True, eq=False, slots=True)
class PlainFrame(Frame):
    """Events that are known to be sound JSON, none of them odd, and what they say."""

    members: Members
    raw: Numbers
    may_repeat: bool
    """Whether an event may have two members of one key."""


AnyFrame: TypeAlias = MarkedFrame | PlainFrame


def frame_of(data: bytes) -> AnyFrame:
    """The whole events at the head of `data`, which begins between two events of an array."""
    return plain_events(data) or frame_events(data)


def plain_events(data: bytes) -> PlainFrame | None:
    """The same, as many as fit into a frame, if all of `data` is plain up to the end of the array."""
    if compiled is None:
        return None
    spans, bounds = np.empty((_MOST_EVENTS, 2), dtype=np.int64), np.empty(_BOUNDS, dtype=np.int64)
    members, scratch = (np.empty(_MOST_MEMBERS, dtype=_MEMBER) for _ in range(2))
    found = compiled(data, _KEYS, _MULTIPLIER, spans, scratch, members, bounds)
    if found is None:
        return None
    events, count, clean, may_repeat = found
    starts, ends = np.ascontiguousarray(spans[:events].T)
    if not events or not _is_utf8(data, int(ends[-1]) + 1):
        return None
    row, value, text_end = (members[name][:count].astype(np.int64) for name in ("row", "value", "text_end"))
    first, sound, raw = members["first"][:count].copy(), members["sound"][:count].copy(), members["raw"][:count]
    none_odd = np.empty(0, dtype=np.int64)
    said = Members(row, value, first, text_end, none_odd, bounds[: LAST_CODE + 2].tolist())
    return PlainFrame(starts, ends, (), clean, said, Numbers(raw, sound), may_repeat)


def _is_utf8(data: bytes, stop: int) -> bool:
    """Whether the text up to a place is."""
    try:
        return data.isascii() or bool(str(memoryview(data)[:stop], "utf-8"))
    except UnicodeDecodeError:
        return False
