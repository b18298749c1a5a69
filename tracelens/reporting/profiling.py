"""What recording makes of a step: how long it takes without the profiler, and why that is less or more."""

from __future__ import annotations

from typing import Final

from tracelens.analysis.typical import PAUSED
from tracelens.model import units
from tracelens.reporting.forms import NO_GAIN, noun, own_form, unit
from tracelens.reporting.schema import Document

UNEVEN: Final = 1.5
"""Longest over shortest step from which the mean is no typical step. [as the check step_spread]"""
PROFILED: Final = 0.05
"""Least relative difference of the recorded step to the one without the profiler that is worth a line."""


def unprofiled(document: Document, waits: float, works: float) -> str:
    """What becomes of these shares of the traced time without the profiler, where that is known."""
    lengths = None if _is_uneven(document) else _lengths(document)
    if lengths is None or lengths[1] > lengths[0]:
        return ""
    share, waiting = works * lengths[0] / lengths[1], waits > works
    if not waiting and share > 1 / NO_GAIN:
        return ""
    does = "it idles for" if waiting and (share > 0.5 or 1 - works - waits > PROFILED) else "for"
    return f"; without the profiler {does} about {units.percent(max(1 - share, 0.0) if waiting else min(share, 1.0))}"


def profiled(document: Document) -> str:
    """Which steps the account's mean is no step for, and why it is longer than the headline's, or "": "8.96 ms recorded
    under the profiler; ..."."""
    return f"{_outliers(document)} {_recorded(document)}".strip()


def _outliers(document: Document) -> str:
    """That single steps make the mean longer than a typical one: "1 of 8 steps is an outlier of 126 ms, ..."; or ""."""
    window, median = document["window"], document["window"]["step_ms"]["median"]
    if not window["steps"] or not median:
        return ""
    lengths = [units.to_ms(end - start) for start, end in window["intervals_ns"]]
    long = [length for length in lengths if length > PAUSED * median]
    if not long or sum(lengths) <= (1 + PROFILED) * median * len(lengths):
        return ""
    most = units.milliseconds(max(long))
    are = f"are outliers of up to {most}" if len(long) > 1 else f"is an outlier of {most}"
    told = f"{len(long):,} of {units.counted(len(lengths), noun(document))} {are} ms, the median takes"
    what = "the account and the forms' times are" if _is_mean(document) else "the account is"
    return f"{told} {units.milliseconds(median)} ms; {what} the mean of all."


def _is_mean(document: Document) -> bool:
    """Whether the time of the form in use is predicted as long as the mean step was recorded."""
    form = document["forms"][own_form(document)]
    return form["source"] == "predicted" and form["step_ms"] is not None and _lengths(document) is None


def _recorded(document: Document) -> str:
    """How long the step takes without the profiler, where that is not as recorded; or ""."""
    lengths = _lengths(document)
    if lengths is None:
        return ""
    recorded_ms, bare_ms, how = lengths
    if how == "estimated" and _is_uneven(document):
        return f"Steps differ; a typical one takes {units.milliseconds(bare_ms)} ms without the profiler (estimated)."
    told, bare = f"{units.milliseconds(recorded_ms)} ms recorded", f"{units.milliseconds(bare_ms)} ms"
    works = document["attribution"]["classes"]["kernel"]["ns"] / document["attribution"]["window_ns"]
    if how == "estimated" and bare_ms < NO_GAIN * works * recorded_ms:
        busy = works * recorded_ms
        why = _why_less(document, busy, bare_ms)
        return f"{told}; {bare} estimated, less than the {units.milliseconds(busy)} ms that the device works: {why}."
    slower = _why_more(document, how) if bare_ms > recorded_ms else ""
    return f"{told} under the profiler; {bare} without it ({how}{slower})."


def _why_less(document: Document, busy_ms: float, bare_ms: float) -> str:
    """Why a step is predicted shorter than the device works: for something else as well, or on streams that overlap."""
    elsewhere = busy_ms - _launched_ms(document)
    if elsewhere < (busy_ms - bare_ms) / 2:
        return "a guess that more of its streams' work overlaps where the host is faster"
    return f"{units.milliseconds(elsewhere)} ms of that was launched outside {unit(document)}, or before the recording"


def _why_more(document: Document, how: str) -> str:
    """Why a step takes longer than it was recorded, as far as that is known."""
    terms = document["forms"][own_form(document)]["terms"]
    if how == "estimated":
        clocks = terms["values"].get("clocks", 1.0) if terms else 1.0
        return ", at the clocks of a long run, which the power limit lowers" if clocks > 1 else ""
    return ", slower for a reason other than recording"


def _launched_ms(document: Document) -> float:
    """Device work that a step launched, all streams added up."""
    terms = document["forms"][own_form(document)]["terms"]
    if terms and "launched_ns" in terms["values"]:
        return terms["values"]["launched_ns"] / units.NS_PER_MS
    launched = [row["total_ns"] / row["share"] for row in document["tables"]["kernels"] if row["share"]]
    return units.to_ms(round(next(iter(launched), 0))) / (document["window"]["steps"] or 1)


def _lengths(document: Document) -> tuple[float, float, str] | None:
    """The recorded step and the same without the profiler in ms, and how the latter is known; None where they are
    alike or one is not known."""
    forms, window_ns, name = document["forms"], document["attribution"]["window_ns"], document["trace"]["form"]
    form = forms.get(name if name in forms else own_form(document))
    if not window_ns or form is None or not form["step_ms"]:
        return None
    recorded_ms = units.to_ms(window_ns) / (document["window"]["steps"] or 1)
    how = "measured" if form["source"] == "measured" else "estimated"
    return (recorded_ms, form["step_ms"], how) if abs(recorded_ms / form["step_ms"] - 1) > PROFILED else None


def _is_uneven(document: Document) -> bool:
    """Whether the steps differ so much that their mean is no typical step, of which the forms' times are."""
    spread = document["window"]["step_ms"]
    return (spread["max"] or 0.0) > UNEVEN * (spread["min"] or 0.0)
