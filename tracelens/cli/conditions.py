"""What `--fail-on` can ask for."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tracelens.cli import output
from tracelens.exitcodes import ExitCode

if TYPE_CHECKING:
    from tracelens.reporting.schema import Document

VERDICTS: Final = ("both", "compile", "replay")


@dataclass(frozen=True, slots=True)
class Condition:
    """A verdict, or a share of the window in which the device idles as recorded, the profiler's own part included."""

    verdict: str = ""
    idle_percent: float = 0.0

    def can_tell(self, document: Document) -> bool:
        """Whether the document says if the condition holds: it may have no verdict, and without a trace nothing tells
        how long a device idled."""
        if self.verdict:
            return document["recommendation"]["verdict"] != "abstain"
        return _idle_percent(document) is not None

    def reason(self, document: Document) -> str:
        """Why the condition holds by itself, or "" when it does not."""
        if self.verdict:
            advised = document["recommendation"]
            return f"the verdict is {self.verdict}" if self.verdict == advised["verdict"] and advised["decided"] else ""
        idle = _idle_percent(document)
        holds = idle is not None and idle >= self.idle_percent
        return f"the device idles {idle:.1f} % of the window as recorded" if holds else ""


def reasons(conditions: list[Condition], document: Document) -> list[str]:
    """Why conditions hold, each in a few words: by themselves, or several verdicts as one of them has to be right."""
    found = [reason for condition in conditions if (reason := condition.reason(document))]
    possible = document["recommendation"]["among"]
    if possible and set(possible) <= _verdicts(conditions):
        found.append(f"which form is best is open, but surely {_either(possible)} beats the form in use")
    return found


def undecided(conditions: list[Condition], document: Document) -> str:
    """Why no condition on the verdict can hold: there is none, or it is but a guess, with its confidence and what would
    make it hold; "" where it is decided, no condition asks for it, or one holds."""
    from tracelens.reporting.forms import advised_form  # the command's help needs none of it

    advised, asked = document["recommendation"], _verdicts(conditions)
    possible = advised["among"]
    if advised["decided"] or not asked or (possible and set(possible) <= asked):
        return ""
    guessed = advised_form(document)
    if guessed is None:
        return "there is no verdict"
    sure = f", but surely {_either(possible)} pays: --fail-on {','.join(possible)} fails on it" if possible else ""
    guess = f"{guessed} is a guess of {100 * advised['confidence']:.0f} %"
    return f"cannot tell which form is fastest; {guess}{sure}"


def exit_code(document: Document, conditions: list[Condition]) -> ExitCode:
    """CONDITION where one holds, NOTHING_TO_JUDGE where none does but one cannot be told; the reason as a note."""
    holds = reasons(conditions, document)
    for said in filter(None, (*holds, undecided(conditions, document))):
        output.note(f"--fail-on: {said}")
    untold = [] if holds else [condition for condition in conditions if not condition.can_tell(document)]
    if not all(condition.verdict for condition in untold):
        output.note("--fail-on idle: without a trace nothing tells how long the device idled")
    return ExitCode.NOTHING_TO_JUDGE if untold else ExitCode.CONDITION if holds else ExitCode.OK


def _verdicts(conditions: list[Condition]) -> set[str]:
    return {condition.verdict for condition in conditions if condition.verdict}


def _either(forms: list[str]) -> str:
    return " or ".join(forms)


def parse_conditions(text: str, *, more: str = " or idle=PERCENT") -> list[Condition]:
    """Conditions of one `--fail-on`, separated by commas; ArgumentTypeError for an unknown one.

    more: what it takes beside the verdicts, as the error says it."""
    return [_parse(word.strip(), more) for word in text.split(",")]


def _parse(word: str, more: str) -> Condition:
    name, _, number = word.partition("=")
    if word in VERDICTS:
        return Condition(verdict=word)
    try:
        percent = float(number) if name == "idle" else -1.0
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise argparse.ArgumentTypeError(f"{word!r} is no condition; it takes {', '.join(VERDICTS)}{more}")
    return Condition(idle_percent=percent)


def _idle_percent(document: Document) -> float | None:
    attribution = document["attribution"]
    window_ns = attribution["window_ns"]
    return 100 * (1 - attribution["classes"]["kernel"]["ns"] / window_ns) if window_ns else None
