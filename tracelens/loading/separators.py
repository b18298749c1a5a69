"""What lies between two values of JSON: white space and one comma. Anything else there is counted."""

from __future__ import annotations

import re
from typing import Final

from tracelens.loading.repairs import RepairLog
from tracelens.loading.stream import TextWindow

SPARE_COMMAS: Final = "spare commas"
MISSING_COMMAS: Final = "missing commas"
STRAY_CONTROLS: Final = "control characters between values"
STRAY: Final = re.compile(rb'[^\s,:"\[\]{}]++|"(?:[^"\\]|\\.)*+"|\[[^"\[\]{}]*+\]', re.DOTALL)
"""An element of the array of events that is no event: a word, a text, or an array of words."""
UNREADABLE: Final = "unreadable event skipped"
_GAP: Final = re.compile(rb"[\s,]*+")
_CONTROLS: Final = re.compile(rb"[\f\v]")
_VALUES: Final = (b"{", b"[", b'"')
SHOWN: Final = 80
"""Bytes of an example."""


def leading_gap(window: TextWindow) -> bytes:
    """White space and commas at the head of the window, to their end."""
    while True:
        end = _GAP.match(window.data).end()  # pyright: ignore[reportOptionalMemberAccess] - it matches nothing as well
        if end < len(window.data) or not window.more():
            return window.data[:end]


def note_gap(gap: bytes, commas: int | None, follows: bytes, offset: int, repairs: RepairLog) -> bool:
    """Count what is wrong with white space and commas, and say whether anything is.

    `commas` should be there, None for any number; they lack only before what may be a value."""
    note_controls(gap, offset, repairs)
    found = gap.count(b",")
    wrong = {
        MISSING_COMMAS: commas is not None and found < commas and follows[:1] in _VALUES,
        SPARE_COMMAS: commas is not None and found > commas,
    }
    for kind in filter(wrong.get, wrong):
        repairs.add(kind, gap[:SHOWN] + follows[:SHOWN], offset)
    return any(wrong.values()) or bool(_CONTROLS.search(gap))


def note_between(text: bytes, commas: int | None, follows: bytes, offset: int, repairs: RepairLog) -> None:
    """Count what is wrong between two events: elements that are no events, or else the gap."""
    if not text and commas:
        repairs.add(MISSING_COMMAS, follows[:SHOWN], offset)
    elif strays := STRAY.findall(text):
        repairs.add(UNREADABLE, text[:SHOWN], offset, len(strays))
    else:
        note_gap(text, commas, follows, offset, repairs)


def note_controls(gap: bytes, offset: int, repairs: RepairLog) -> None:
    """Count a character that Python takes for white space and JSON does not."""
    found = _CONTROLS.search(gap)
    if found:
        repairs.add(STRAY_CONTROLS, f"byte 0x{found[0].hex()}", offset + found.start())
