"""What lies between two values of JSON: white space and one comma. Anything else there is counted."""

from __future__ import annotations

import re
from typing import Final

from tracelens.loading.repairs import RepairLog
from tracelens.loading.stream import TextWindow

SPARE_COMMAS: Final = "spare commas"
MISSING_COMMAS: Final = "missing commas"
STRAY_CONTROLS: Final = "control characters between values"
STRAY: Final = re.compile(
    rb'/\*.*?\*/|//[^\n]*+|[^\s,:"\[\]{}][^,:"\[\]{}]*+|"(?:[^"\\]|\\.)*+"|\[[^"\[\]{}]*+\]', re.DOTALL
)
"""An element of the array of events that is no event: words up to a comma, a text, or an array of words; a comment."""
UNREADABLE: Final = "unreadable event skipped"
EVENT_CUT: Final = "event cut short"
_GAP: Final = re.compile(rb"[\s,]*+")
_PHASE: Final = re.compile(rb'"ph"\s*+:')
_UNFINISHED_PHASE: Final = re.compile(rb'"(?:p(?:h(?:"\s*+)?)?)?\Z')
_LONGEST_PHASE: Final = 64
"""Bytes in which a `ph` that is cut begins."""
_CONTROLS: Final = re.compile(rb"[\f\v]")
_VALUES: Final = (b"{", b"[", b'"')
SHOWN: Final = 80
"""Bytes of an example."""


def gap_end(data: bytes) -> int:
    """Where white space and commas at the head of the data end."""
    return _GAP.match(data).end()  # pyright: ignore[reportOptionalMemberAccess] - it matches nothing as well


def leading_gap(window: TextWindow) -> bytes:
    """White space and commas at the head of the window, to their end."""
    while True:
        end = gap_end(window.data)
        if end < len(window.data) or not window.more():
            return window.data[:end]


def note_gap(gap: bytes, commas: int | None, follows: bytes, offset: int, repairs: RepairLog, times: int = 1) -> bool:
    """Count what is wrong with white space and commas that are met so many times, and say whether anything is.

    `commas` should be there, None for any number; they lack only before what may be a value."""
    if commas in (len(gap), None) and gap in (b"", b","):
        return False
    note_controls(gap, offset, repairs, times)
    found = gap.count(b",")
    wrong = {
        MISSING_COMMAS: 0 if commas is None or follows[:1] not in _VALUES else max(commas - found, 0),
        SPARE_COMMAS: 0 if commas is None else max(found - commas, 0),
    }
    for kind in filter(wrong.get, wrong):
        repairs.add(kind, gap[:SHOWN] + follows[:SHOWN], offset, wrong[kind] * times)
    return any(wrong.values()) or bool(_CONTROLS.search(gap))


def note_between(
    text: bytes, commas: int | None, follows: bytes, offset: int, repairs: RepairLog, times: int = 1
) -> None:
    """Count what is wrong between two events, so many times: elements that are no events, or else the gap."""
    if strays := STRAY.findall(text):
        repairs.add(UNREADABLE, text[:SHOWN], offset, len(strays) * times)
    else:
        note_gap(text, commas, follows, offset, repairs, times)


def note_controls(gap: bytes, offset: int, repairs: RepairLog, times: int = 1) -> None:
    """Count characters that Python takes for white space and JSON does not."""
    found = _CONTROLS.search(gap)
    if found:
        count = len(_CONTROLS.findall(gap)) * times
        repairs.add(STRAY_CONTROLS, f"byte 0x{found[0].hex()}", offset + found.start(), count)


def events_in(text: bytes, least: int = 1) -> int:
    """How many events a text that is skipped held: each has a `ph`."""
    return max(least, len(_PHASE.findall(text)))


def unfinished(text: bytes) -> int:
    """Bytes at the end of a text that may begin the `ph` of an event."""
    found = _UNFINISHED_PHASE.search(text, max(len(text) - _LONGEST_PHASE, 0))
    return len(found[0]) if found else 0
