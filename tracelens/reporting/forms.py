"""The four forms as rows, read from the report document: their times, and what blocks them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tracelens.advice.choice.snippet import target_of
from tracelens.advice.results import NO_GRAPH
from tracelens.advice.terms import DEVICE, RULES
from tracelens.model import units
from tracelens.model.forms import FORMS
from tracelens.reporting import runs
from tracelens.reporting.printable import head, short_place
from tracelens.reporting.schema import Document, FormEntry

NO_GAIN: Final = 0.97
"""A form that takes at least this share of the trace's own form is not worth its trouble."""
SLOWER: Final = 0.005
"""Share by which a form takes longer than the one in use from which its speed-up is not shown as 1.00x."""
MOSTLY: Final = 0.5
"""Part of what a form takes longer from which its copies are why."""
UNFUSED: Final = 1.2
"""Device time of compiled library calls over that of the whole step from which that is told. [judgement; the power
limit alone makes it up to 1.17]"""
SHOWN_REASONS: Final = 4
"""Blockers told of one form; --json has them all."""
ERROR_CELLS: Final = 200
"""Of an error's first line; --json has all of it."""
_DETAILS: Final = re.compile(r", (?:mostly|by|which) | \(\d[\d,]* times\)| for \d+ % of (?:the|a typical) traced ")


class FormRow(NamedTuple):
    """One form as cells of a table; "" where there is nothing to say."""

    name: str
    step: str
    range: str
    speedup: str
    source: str
    predicted: str
    """What the trace alone predicts of a measured form, with the error, or that it predicted that it cannot run."""
    pays_after: str
    blocked_by: str
    """What blocks the form or costs it time, or why its time is not known."""
    advised: bool


def own_form(document: Document) -> str:
    """The form that the trace's step runs in, as far as the document has a time for it; eager where that was
    measured, and else."""
    form = document["trace"]["form"]
    known = form in document["forms"] and document["forms"][form]["step_ms"] is not None
    eager = document["forms"].get("eager")
    is_measured = eager is not None and eager["source"] == "measured" and eager["step_ms"] is not None
    return form if known and not is_measured else "eager"


def advised_form(document: Document) -> str | None:
    """The form that the verdict says to run; None when it abstains."""
    verdict = document["recommendation"]["verdict"]
    return None if verdict == "abstain" else own_form(document) if verdict == "neither" else verdict


def candidates(document: Document) -> list[str]:
    """The forms that can run and, that in use aside, are not known to give other outputs or to do nothing."""
    own, forms = own_form(document), document["forms"]
    return [
        name for name in FORMS if name in forms and forms[name]["step_ms"] and (name == own or _usable(forms[name]))
    ]


def _usable(form: FormEntry) -> bool:
    return form["outputs"] != "differ" and not _did_nothing(form)


def _did_nothing(form: FormEntry) -> bool:
    """Whether it was compiled to nothing: that it took another time than eager is chance."""
    return any(blocker["id"] == NO_GRAPH for blocker in form["blockers"])


def unit(document: Document) -> str:
    """What the forms' times are of: what was measured is of a step, whatever the trace shows."""
    return f"the {noun(document)}" if is_step(document) else "this stretch"


def is_step(document: Document) -> bool:
    """Whether the forms' times are of a step, or of a unit that may be a layer of one."""
    return bool(document["window"]["steps"]) or is_measured(document)


def noun(document: Document) -> str:
    """What is counted: steps, or units that repeat and may be no steps."""
    return "unit" if document["window"]["kind"] == "period" and not is_measured(document) else "step"


def is_measured(document: Document) -> bool:
    """Whether all known times were measured, so that they are of the step."""
    known = [form for form in document["forms"].values() if form["step_ms"] is not None]
    return bool(known) and all(form["source"] == "measured" for form in known)


def form_rows(document: Document) -> Iterator[FormRow]:
    """The four forms, simplest first."""
    own = document["forms"].get(own_form(document))
    now = own["step_ms"] if own else None
    for name in FORMS:
        form = document["forms"].get(name)
        if form is not None:
            yield FormRow(
                name=name,
                step="-" if form["step_ms"] is None else units.milliseconds(form["step_ms"]),
                range=span(form["low"], form["high"]),
                speedup=_speedup(form, now),
                source=_cell(document, name),
                predicted=runs.beside(form) or _refuted(document, form),
                pays_after=runs.pays_after(form),
                blocked_by=blocked_by(form) or failure(form),
                advised=document["recommendation"]["decided"] and name == advised_form(document),
            )


def _speedup(form: FormEntry, now: float | None) -> str:
    """Over the form in use; "" where one has no time, and of a form that is eager under a new name."""
    return "" if now is None or not form["step_ms"] or _did_nothing(form) else _times(now / form["step_ms"])


def _cell(document: Document, name: str) -> str:
    """Where a form's time comes from and how it is made; of one without a time, why it has none in a word."""
    form = document["forms"][name]
    if form["step_ms"] is None:
        tried = form["source"] == "measured"
        return "failed" if tried else "blocked" if form["blockers"] else "unknown"
    return ", ".join(filter(None, (form["source"], form["variant"], _mixed(document, name))))


def _mixed(document: Document, name: str) -> str:
    """That the time of the form in use is of a step which is partly in others; "" where it is not."""
    return "mixed as recorded" if document["trace"]["form"] == "mixed" and name == own_form(document) else ""


def _refuted(document: Document, form: FormEntry) -> str:
    """That the trace alone predicts no run of a form that ran; "" where it predicts nothing of any."""
    ran = form["source"] == "measured" and form["step_ms"] is not None and form["predicted"] is None
    eager = document["forms"].get("eager")
    told = document["trace"]["form"] == "eager" and eager is not None and eager["predicted"] is not None
    return "cannot run" if ran and told else ""


def of_module(document: Document) -> str:
    """Why forms ran of which the trace alone predicts that they cannot, in a sentence; or ""."""
    ran = [name for name in FORMS if name in document["forms"] and _refuted(document, document["forms"][name])]
    module = target_of(document["run"]["target"]).module if document["run"] else ""
    if not ran or not module:
        return ""
    return f"Of {' and '.join(ran)}, {module} alone was measured; predicted is the whole step, which cannot run so."


def blocked_by(form: FormEntry) -> str:
    """What blocks a form, costs it time or forbids it, with the places; "" when nothing does."""
    told = [_at(blocker["message"], blocker["where"]) for blocker in form["blockers"]]
    more = [f"{len(told) - SHOWN_REASONS} more"] if len(told) > SHOWN_REASONS else []
    return "; ".join([*_differs(form), *told[:SHOWN_REASONS], *more])


def blocked_forms(document: Document) -> dict[str, list[str]]:
    """Forms by what blocks them and what decides or adds to their time: what several have in common is said once."""
    found: dict[str, list[str]] = {}
    for row in form_rows(document):
        for reason in reasons(document, row):
            found.setdefault(reason, []).append(row.name)
    return found


def reasons(document: Document, row: FormRow) -> list[str]:
    """What blocks a form, the rule that decides its time, and the copies or library calls that make it slower."""
    form, own = document["forms"][row.name], document["forms"].get(own_form(document))
    return list(filter(None, (row.blocked_by, ruled(form), _copied(form, own), _unfused(document, form))))


def ruled(form: FormEntry) -> str:
    """The rule that decides a predicted time in place of host and device; "" where none does."""
    predicted = form["source"] == "predicted" and form["step_ms"] is not None
    return RULES.get(form["terms"]["decided_by"], "") if predicted and form["terms"] else ""


def _copied(form: FormEntry, own: FormEntry | None) -> str:
    """That copies of its inputs make a replayed form slower than the form in use; "" where they do not."""
    terms, now = form["terms"], own["step_ms"] if own else None
    if form["source"] != "predicted" or not terms or not form["step_ms"] or not now:
        return ""
    longer, copies = form["step_ms"] - now, terms["values"].get("input_copies_ns", 0.0)
    mostly = terms["decided_by"] == DEVICE and copies / units.NS_PER_MS >= MOSTLY * longer
    if not mostly or longer < SLOWER * now:
        return ""
    return f"each replay first copies its inputs into the graph's buffers, {units.duration(round(copies))}"


def _unfused(document: Document, form: FormEntry) -> str:
    """That compiling makes the library calls longer than all device work of the step is now; "" where it does not."""
    eager, terms = document["forms"].get("eager"), form["terms"]
    if form["source"] != "predicted" or not terms or not eager or not eager["terms"]:
        return ""
    library, launched = terms["values"].get("library_ns", 0.0), eager["terms"]["values"].get("launched_ns", 0.0)
    if not launched or library < UNFUSED * launched:
        return ""
    took, take = (units.duration(round(ns)) for ns in (launched, library))
    return (
        f"single-precision matrix products lose their bias to kernels of its own and run longer: library calls take "
        f"{take}, where all device work takes {took} now"
    )


def is_unknown(form: FormEntry) -> bool:
    """Whether neither the trace nor an attempt tells of the form."""
    return form["step_ms"] is None and not form["blockers"] and form["source"] == "predicted"


def short(message: str) -> str:
    """A blocker's message without its details."""
    return _DETAILS.split(message, maxsplit=1)[0]


def source(form: FormEntry) -> str:
    """Where a form's time comes from, with its range and the prediction beside a measurement."""
    told = f"{form['source']} {span(form['low'], form['high'])}".strip()
    if form["predicted"] is None:
        return told
    predicted = form["predicted"]
    return f"{told}; predicted {span(predicted['low'], predicted['high'])}"


def failure(form: FormEntry) -> str:
    """Why a form has no time, in one line; "" where nothing was said."""
    lines = (form["error"] or "").splitlines()
    return head(lines[0], ERROR_CELLS) if lines else ""


def _differs(form: FormEntry) -> list[str]:
    if form["outputs"] != "differ":
        return []
    error = f" by up to {form['largest_error']:.3g}" if form["largest_error"] else ""
    return [f"not advised, its outputs differ from eager's{error}"]


def _at(message: str, where: str | None) -> str:
    """A message with its place."""
    place = short_place(where)
    return f"{message} at {place}" if place and place not in message else message


def span(low: float | None, high: float | None) -> str:
    """Both ends of a range in ms; "" where one is not known."""
    return "" if low is None or high is None else units.millisecond_range(low, high)


def _times(factor: float) -> str:
    return f"{factor:.2f}x" if factor < 9.995 else f"{units.significant(factor)}x"
