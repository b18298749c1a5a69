"""What is said where the verdict is but a guess, read from the report document."""

from __future__ import annotations

from math import inf

from tracelens.model import units
from tracelens.reporting.forms import candidates, own_form, span
from tracelens.reporting.schema import Document


def is_guess(document: Document) -> bool:
    """Whether there is a verdict that is more likely wrong than right."""
    advised = document["recommendation"]
    return advised["verdict"] != "abstain" and not advised["decided"]


def cannot_tell(document: Document) -> str:
    """What is not known instead of the verdict, with the forms that may be meant: "Cannot tell which form is fastest:
    both 1.82 ms (0.49-7.10) or replay 3.15 ms (3.11-3.18)."."""
    own, forms = own_form(document), document["forms"]
    ranked = sorted(candidates(document), key=lambda name: forms[name]["step_ms"] or 0.0)
    if document["recommendation"]["verdict"] != "neither":
        told = f"Cannot tell which form is fastest: {_either(document, _in_question(document, ranked))}."
        return f"{told} {_sure_gain(document)}".strip()
    others = [name for name in ranked if name != own]
    if not others:
        return f"Cannot tell whether another form would pay: the trace shows no other than {_timed(document, own)}."
    return f"Cannot tell whether a form beats {_timed(document, own)}: {_either(document, others)}."


def _sure_gain(document: Document) -> str:
    """That one of the forms surely pays, if so: "Whichever it is beats eager 4.70 ms (4.10-5.20)."; or ""."""
    is_sure = document["recommendation"]["among"]
    return f"Whichever it is beats {_timed(document, own_form(document))}." if is_sure else ""


def _in_question(document: Document, ranked: list[str]) -> list[str]:
    """The forms, fastest first, without those that at best take longer than another at worst; two at least."""
    forms = document["forms"]
    worst = min(forms[name]["high"] or inf for name in ranked)
    return [name for at, name in enumerate(ranked) if at < 2 or (forms[name]["low"] or 0.0) <= worst]


def _either(document: Document, names: list[str]) -> str:
    *told, last = [_timed(document, name) for name in names]
    return f"{', '.join(told)} or {last}" if told else last


def _timed(document: Document, name: str) -> str:
    """A form's time with its range."""
    form = document["forms"][name]
    return f"{name} {units.milliseconds(form['step_ms'] or 0.0)} ms ({span(form['low'], form['high']) or 'no range'})"
