"""What is said of a step once it is repaired, read from the report document."""

from __future__ import annotations

from typing import Final

from tracelens.model import units
from tracelens.model.forms import COMPILED
from tracelens.reporting.forms import NO_GAIN, candidates, short, span
from tracelens.reporting.schema import AfterFixEntry, Document
from tracelens.reporting.undecided import device_ms

OVERLAPS: Final = 1.1
"""What is left of the device's work without what fusing saves, over the step: from here on that does not tell the step.
[judgement]"""


def after_fix(document: Document) -> str:
    """What the repairs would allow, or ""."""
    after = document["recommendation"]["after_fix"]
    if after is None:
        return ""
    told = f"After that: {after['verdict']}, {_repaired_time(after)}."
    return f"{told} {_beside_device(document, after)}".strip()


def _repaired_time(after: AfterFixEntry) -> str:
    return f"{units.milliseconds(after['step_ms'])} ms (predicted {span(after['low'], after['high'])})"


def _beside_device(document: Document, after: AfterFixEntry) -> str:
    """What a prediction counts on that is less than the device works now, and what its low end does; "" for others."""
    late = any(finding["rule"] == "late_rank" for finding in document["findings"])
    waits = "At the low end no rank is late for the others." if late else ""
    works = device_ms(document)
    if after["step_ms"] >= NO_GAIN * works:
        return waits
    counts = _counts_on(after, works)
    less = f"That is less than the {units.milliseconds(works)} ms that the device works now: it counts on {counts}."
    return f"{less} {waits}".strip()


def _counts_on(after: AfterFixEntry, works: float) -> str:
    """What makes the device work for less than its `works` ms now: fewer kernels as far as they save so much, and
    streams."""
    overlap = "streams that overlap as far as their events allow"
    if after["verdict"] not in COMPILED:
        return overlap
    values = after["terms"]["values"] if after["terms"] else {}
    fused = (values.get("replaced_ns", 0.0) - values.get("generated_ns", 0.0)) / units.NS_PER_MS
    told = "replaced_ns" in values and works - fused > OVERLAPS * after["step_ms"]
    return f"fused kernels, which save {units.milliseconds(fused)} ms, and on {overlap}" if told else "fused kernels"


def pays_surely(document: Document) -> bool:
    """Whether the repaired step at worst takes less than any form of the step as it is at best, as the ranges have
    it."""
    after, forms = document["recommendation"]["after_fix"], document["forms"]
    lows = [forms[name]["low"] or forms[name]["step_ms"] or 0.0 for name in candidates(document)]
    return after is not None and bool(lows) and after["high"] < min(lows)


def after_repair(document: Document, lead: str = "After repair") -> str:
    """What the repairs would allow, for the headline: "After repair (16 waits a step): both, 0.12 ms.", or ""."""
    advised = document["recommendation"]
    after, fixes = advised["after_fix"], advised["fix_first"]
    if after is None:
        return ""
    forms = reversed(document["forms"].values())
    told = {b["id"]: b["message"] for form in forms for b in reversed(form["blockers"])}
    names = [short(told.get(fix["blocker"], fix["blocker"].replace("_", " "))) for fix in fixes]
    others = len({fix["advice"] for fix in fixes}) - 1
    more = f" and {units.counted(others, 'other repair')}" if others > 0 else ""
    what = f" ({names[0]}{more})" if names else ""
    return f"{lead}{what}: {after['verdict']}, {_repaired_time(after)}."
