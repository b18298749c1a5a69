"""What is said where the verdict is but a guess, read from the report document."""

from __future__ import annotations

from math import inf

from tracelens.advice.forms.verdict import gains_nothing
from tracelens.advice.results import Range
from tracelens.model import units
from tracelens.reporting.forms import candidates, is_unknown, own_form, span
from tracelens.reporting.schema import Document, FormEntry


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
    begin = "At a guess, no form beats" if _gains_nothing(document, own, others) else "Cannot tell whether a form beats"
    return f"{begin} {_timed(document, own)}: {_either(document, others)}."


def _gains_nothing(document: Document, own: str, others: list[str]) -> bool:
    """Whether none of the others may be shorter, as the ranges have it, for all that the trace leaves in doubt; not
    where it leaves one of them unknown."""
    if any(is_unknown(form) for form in document["forms"].values()):
        return False
    first, *rest = (_range(document["forms"][name]) for name in (own, *others))
    return gains_nothing(first, rest, device_ms(document))


def _range(form: FormEntry) -> Range:
    mid = form["step_ms"] or 0.0
    return Range(mid, form["low"] or mid, form["high"] or mid)


def device_ms(document: Document) -> float:
    """Ms of a counted step in which the device works, as traced."""
    return units.to_ms(document["attribution"]["classes"]["kernel"]["ns"]) / (document["window"]["steps"] or 1)


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
