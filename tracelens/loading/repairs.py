"""What was mended while reading: one entry per kind of damage, with a count and the first place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tracelens.model.events import Repair

EXAMPLE_LENGTH: Final = 80
"""Characters of an example."""
_BLANK: Final = "(white space)"
MOST_IN_VAIN: Final = 500
"""Times that mending could not help after which it is tried no more..."""
MOST_PLACES: Final = 100_000
"""Events of a kind from which no more are remembered."""
HELP: Final = 4
"""...unless it could: each time makes up for so many."""


@dataclass
class Patience:
    """Whether mending may still help: the text behind a broken bit of compressed data is noise to its end."""

    _in_vain: int = 0

    def tried(self, helped: bool) -> None:
        """Count one event that was mended, or that mending could not help."""
        self._in_vain += -HELP if helped else 1

    @property
    def left(self) -> bool:
        """Whether to try the next."""
        return self._in_vain < MOST_IN_VAIN


@dataclass
class RepairLog:
    """Counts kinds of damage in the order in which they were met."""

    _entries: dict[str, Repair] = field(default_factory=dict[str, Repair])

    mending: Patience = field(default_factory=Patience)
    """With events that are lost unless they are mended."""
    hopeless: bytes = b""
    """The text that was last mended in vain: whoever meets it once more need not try."""

    _events: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """Where the events of a kind are, as far as they are known."""

    def add(
        self, kind: str, example: bytes | str, offset: int, count: int = 1, events: Sequence[int] | None = None
    ) -> None:
        """Count `count` more of a kind; example and byte offset stay those of the first.

        events: byte offsets of the events that have it; that of one is the offset."""
        known = self._entries.get(kind)
        if known:
            self._entries[kind] = Repair(kind, known.count + count, known.example, known.offset)
        else:
            self._entries[kind] = Repair(kind, count, one_line(example) or _BLANK, offset)
        places, one = self._events.setdefault(kind, []), (offset,) if count == 1 else ()
        if len(places) < MOST_PLACES:
            places.extend(one if events is None else events)

    def made(self, kind: str) -> bool:
        """Whether this kind has been met."""
        return kind in self._entries

    def entries(self) -> tuple[Repair, ...]:
        """All repairs so far."""
        return tuple(replace(repair, events=self._places(repair)) for repair in self._entries.values())

    def _places(self, repair: Repair) -> tuple[int, ...] | None:
        places = self._events[repair.kind]
        return tuple(places) if len(places) == repair.count else None


def one_line(example: bytes | str) -> str:
    """Text of the file as one short line without control characters."""
    text = example.decode("utf-8", "backslashreplace") if isinstance(example, bytes) else example
    line = " ".join(text[: 4 * EXAMPLE_LENGTH].split())
    shown = "".join(char if char.isprintable() else "?" for char in line)
    return shown if len(shown) <= EXAMPLE_LENGTH else shown[: EXAMPLE_LENGTH - 3] + "..."
