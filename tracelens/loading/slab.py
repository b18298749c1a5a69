"""One slab under the vectorised decoder: its text, its members and the events set aside as odd."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import orjson

from tracelens.loading.framing import QUOTE, Frame
from tracelens.loading.jsontext import json_text
from tracelens.loading.keys import LAST_CODE
from tracelens.loading.members import Members, members_of
from tracelens.loading.words import Text
from tracelens.model.events import Bools, Int64s

_NUMBER: Final = re.compile(rb"-?\d+")


@dataclass(eq=False, slots=True)
class Slab:
    """Framed events and their wanted members."""

    data: bytes
    frame: Frame
    text: Text
    members: Members
    odd: Bools
    """Per event: to be decoded alone. Steps add to it."""
    _grouped: Int64s
    _bounds: Int64s

    @classmethod
    def of(cls, data: bytes, frame: Frame) -> Slab:
        """Find the members of a frame's events."""
        whole = data[: frame.stop]
        text = Text.of(whole)
        members = members_of(text, frame)
        odd = np.zeros(len(frame), dtype=np.bool_)
        odd[members.odd] = True
        odd[_not_utf8(whole, frame)] = True
        grouped = np.argsort(members.code, kind="stable")
        bounds = np.concatenate(([0], np.cumsum(np.bincount(members.code, minlength=LAST_CODE + 1))))
        return cls(whole, frame, text, members, odd, grouped, bounds)

    def having(self, code: int) -> Int64s:
        """Indices of the members with this key, in file order."""
        return self._grouped[self._bounds[code] : self._bounds[code + 1]]

    def json_text(self, member: int) -> str:
        """Text of a member's value: a string as it is, anything else as compact JSON."""
        begin, end = int(self.members.value[member]), int(self.members.end[member])
        if self.members.first[member] == QUOTE:
            return json_text(orjson.loads(self.data[begin : end + 1]))
        number = _NUMBER.match(self.data, begin)
        value = number[0] if number else self.data[begin:end].rstrip(b", \t\r\n")
        return json_text(orjson.loads(value))

    def set_aside(self, members: npt.NDArray[np.integer] | Bools) -> None:
        """Mark the events of these members as odd."""
        self.odd[self.members.row[members]] = True


def _not_utf8(data: bytes, frame: Frame) -> Int64s:
    """Events that hold bytes which are not UTF-8."""
    at = 0
    found: list[int] = []
    while not data.isascii() and at < len(data):
        try:
            str(memoryview(data)[at:], "utf-8")
            break
        except UnicodeDecodeError as error:
            event = int(np.searchsorted(frame.ends, at + error.start))
            found.append(event)
            at = int(frame.ends[event]) + 1 if event < len(frame) else len(data)
    return np.array([event for event in found if event < len(frame)], dtype=np.int64)
