"""What views tell the app."""

from __future__ import annotations

from dataclasses import dataclass, field

from textual.message import Message

from tracelens.tui.links import Place
from tracelens.tui.selection import Selection


@dataclass
class Follow(Message):
    """Go where a link leads: a Selection, a Place or one of tracelens.tui.targets."""

    link: object


@dataclass
class Walk(Message):
    """Go to a gap in the timeline: "next_gap", "previous_gap" or "worst_gap"."""

    way: str


@dataclass
class Changed(Message):
    """The view shows something else now; the line at the bottom should follow."""


@dataclass
class Ranged(Message):
    """Tables of a range are asked for; None: of the whole window."""

    range: tuple[int, int] | None


@dataclass
class Said(Message):
    """A line for the user."""

    text: str


@dataclass
class OpenPath(Message):
    """Open another trace, at a place."""

    path: str
    place: Place = field(default_factory=Place)


@dataclass
class Back(Message):
    """Leave what was shown instead of a trace."""


@dataclass
class Copy(Message):
    """Copy a text to the clipboard; `what` it is, in a word."""

    text: str
    what: str


@dataclass
class Details(Message):
    """Show all that is known of what is selected."""

    selection: Selection


@dataclass
class Asked(Message):
    """A line is to be typed for a purpose."""

    purpose: str
