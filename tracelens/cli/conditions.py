"""What `--fail-on` can ask for."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tracelens.reporting.schema import Document

VERDICTS: Final = ("both", "compile", "replay")


@dataclass(frozen=True, slots=True)
class Condition:
    """A verdict, or a share of the window in which the device idles."""

    verdict: str = ""
    idle_percent: float = 0.0

    def can_tell(self, document: Document) -> bool:
        """Whether the document says if the condition holds: it may have no verdict, and without a trace nothing tells
        how long a device idled."""
        if self.verdict:
            return document["recommendation"]["verdict"] != "abstain"
        return _idle_percent(document) is not None

    def reason(self, document: Document) -> str:
        """Why the condition holds, or "" when it does not."""
        if self.verdict:
            advised = document["recommendation"]
            return f"the verdict is {self.verdict}" if self.verdict == advised["verdict"] and advised["decided"] else ""
        idle = _idle_percent(document)
        holds = idle is not None and idle >= self.idle_percent
        return f"the device idles {idle:.1f} % of the window" if holds else ""


def undecided(conditions: list[Condition], document: Document) -> str:
    """Why no condition on the verdict can hold: there is none, or it is but a guess, with its confidence; "" where it
    is decided or no condition asks for it."""
    advised = document["recommendation"]
    if advised["decided"] or not any(condition.verdict for condition in conditions):
        return ""
    if advised["verdict"] == "abstain":
        return "there is no verdict"
    return f"cannot tell which form is fastest; {advised['verdict']} is a guess of {100 * advised['confidence']:.0f} %"


def parse_conditions(text: str) -> list[Condition]:
    """Conditions of one `--fail-on`, separated by commas; ArgumentTypeError for an unknown one."""
    return [_parse(word.strip()) for word in text.split(",")]


def _parse(word: str) -> Condition:
    name, _, number = word.partition("=")
    if word in VERDICTS:
        return Condition(verdict=word)
    try:
        percent = float(number) if name == "idle" else -1.0
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise argparse.ArgumentTypeError(f"{word!r} is no condition; it takes {', '.join(VERDICTS)} or idle=PERCENT")
    return Condition(idle_percent=percent)


def _idle_percent(document: Document) -> float | None:
    attribution = document["attribution"]
    window_ns = attribution["window_ns"]
    return 100 * (1 - attribution["classes"]["kernel"]["ns"] / window_ns) if window_ns else None
