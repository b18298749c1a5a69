"""Sentences and rows that text and Markdown share, read from the report document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tracelens.advice.results import NO_GRAPH
from tracelens.advice.rules import RULES
from tracelens.model import units
from tracelens.reporting import runs
from tracelens.reporting.printable import short_place
from tracelens.reporting.schema import Document, FindingEntry, FormEntry, RepairEntry

FORMS: Final = ("eager", "compile", "replay", "both")
NO_GAIN: Final = 0.97
"""A form that takes at least this share of the trace's own form is not worth its trouble."""
LARGE: Final = 0.1
"""Share of the step that a finding's repair saves from which it is the answer where no form is. [judgement]"""
SHOWN_REASONS: Final = 4
"""Blockers told of one form; --json has them all."""
PROFILED: Final = 0.05
"""Least relative difference of the recorded step to the one without the profiler that is worth a line."""


class FormRow(NamedTuple):
    """One form as cells of a table; "" where there is nothing to say."""

    name: str
    step: str
    range: str
    speedup: str
    source: str
    predicted: str
    """What the trace alone predicts of a measured form, with the error."""
    pays_after: str
    held_up: str
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


def headline(document: Document) -> str:
    """The verdict in one line: "Replay: 3.97 -> 0.55 ms (predicted 0.52-0.60)."."""
    verdict, own, advised = document["recommendation"]["verdict"], own_form(document), advised_form(document)
    if advised is None:
        reason = document["recommendation"]["summary"].removeprefix("No verdict.").strip()
        return "No verdict." if reason in failed_checks(document) else f"No verdict. {reason}"
    form, now = document["forms"][advised], document["forms"][own]
    if form["step_ms"] is None:
        return f"{verdict.capitalize()}."
    after = f"{units.milliseconds(form['step_ms'])} ms ({source(form)})"
    if verdict == "neither":
        return _stays(document, own, after)
    if verdict == own or now["step_ms"] is None:
        return f"{verdict.capitalize()}, as it runs now: {after}."
    return f"{verdict.capitalize()}: {units.milliseconds(now['step_ms'])} -> {after}."


def _stays(document: Document, own: str, after: str) -> str:
    """The headline where no other form pays: what does instead."""
    keep, fixes, repaired = f"Keep {own}" if own != "eager" else "Neither", instead(document), _repaired(document)
    if repaired:
        return f"{keep} as it is: {after}. {repaired}"
    stays = f"{unit(document)} stays at {after}."
    if not fixes:
        return f"{keep}: {stays}"
    ms = fixes[0]["saving_ms"]
    gain = f": up to -{units.milliseconds(ms)} ms" if ms else ""
    head = keep if own != "eager" else "Neither form"
    return f"{head}; {_FIX[fixes[0]['rule']]}{gain}. Else {stays}"


def instead(document: Document) -> list[FindingEntry]:
    """Findings whose repair is the next step where the verdict is neither and nothing is to be repaired first: those
    that save much, else what bounds the step."""
    advised, now = document["recommendation"], document["forms"].get(own_form(document))
    if advised["verdict"] != "neither" or advised["fix_first"] or now is None or not now["step_ms"]:
        return []
    known = [finding for finding in document["findings"] if finding["rule"] in _FIX]
    large = [finding for finding in known if (finding["saving_ms"] or 0.0) >= LARGE * now["step_ms"]]
    return large or [finding for finding in known if finding["rule"] == _BOUND]


def next_steps(document: Document) -> list[str]:
    """What to do first, a numbered line each: the repairs, or what helps instead of another form."""
    repairs = [(fix["advice"], short_place(fix["where"])) for fix in document["recommendation"]["fix_first"]]
    helps = [(f"{finding['advice']} {saving(finding)}".strip(), "") for finding in instead(document)]
    return [f"{advice} ({place})" if place else advice for advice, place in repairs or helps]


def explanation(document: Document) -> str:
    """The advice's own words, unless the headline has them."""
    advised = document["recommendation"]
    return "" if advised["verdict"] == "abstain" else advised["summary"]


def boundness(document: Document) -> str:
    """Whether the GPU waits or works in the trace, with its share; "" without a window.

    Where it waits only because the profiler slows the host down, that too."""
    window_ns, classes = document["attribution"]["window_ns"], document["attribution"]["classes"]
    if not window_ns:
        return ""
    waits = sum(classes[name]["ns"] for name in ("dispatch", "launch", "sync")) / window_ns
    works, unknown = (classes[name]["ns"] / window_ns for name in ("kernel", "unknown"))
    what = "step" if document["window"]["steps"] else "time"
    if unknown > max(waits, works):
        return f"For {units.percent(unknown)} of the traced {what} the trace does not say what the GPU waits for."
    does, part = ("waits for the host", waits) if waits > works else ("works", works)
    lengths = _lengths(document)
    unprofiled = min(works * lengths[0] / lengths[1], 1.0) if lengths else works
    turns = f"; without the profiler it works for about {units.percent(unprofiled)}" if works < 0.5 < unprofiled else ""
    return f"{units.percent(part)} of the traced {what} the GPU {does}{turns if waits > works else ''}."


def profiled(document: Document) -> str:
    """Why the account's step is longer than the headline's, or "": "8.96 ms recorded under the profiler; ..."."""
    lengths = _lengths(document)
    if lengths is None:
        return ""
    recorded_ms, bare_ms, how = lengths
    told, bare = f"{units.milliseconds(recorded_ms)} ms recorded", f"{units.milliseconds(bare_ms)} ms"
    works = document["attribution"]["classes"]["kernel"]["ns"] / document["attribution"]["window_ns"]
    if how == "estimated" and bare_ms < NO_GAIN * works * recorded_ms:
        return f"{told}; {bare} estimated, less than the device works: of a typical step, streams overlapped."
    slower = ", slower for a reason other than recording" if how == "measured" and bare_ms > recorded_ms else ""
    return f"{told} under the profiler; {bare} without it ({how}{slower})."


def alternatives(document: Document) -> str:
    """The other forms and the blockers in a few words: "Not compile alone: 3.10 ms. Nothing blocks replay."."""
    own, advised = own_form(document), advised_form(document)
    if advised is None:
        return ""
    others = [name for name in FORMS if name not in (own, advised) and name in document["forms"]]
    form = document["forms"][advised]
    unknown = [name for name in others if _is_unknown(document["forms"][name])]
    told = [_alternative(document, name) for name in others if name not in unknown]
    told += [f"Unknown: {', '.join(unknown)}."] if unknown else []
    if advised == own or form["source"] != "predicted":
        return " ".join(told)
    reasons, label = held_up(form), advised.capitalize()
    return " ".join([*told, f"{label} is held up by: {reasons}." if reasons else f"Nothing blocks {advised}."])


def confidence(document: Document) -> str:
    """How sure the verdict is and what to look at; "" when there is none."""
    advised = document["recommendation"]
    if advised["verdict"] == "abstain":
        return ""
    evidence = f"; evidence: {', '.join(advised['evidence'])}" if advised["evidence"] else ""
    alone = "; the measured times stand alone: no usable trace backs them"
    unbacked = alone if document["trust"]["level"] == "unusable" else ""
    return f"Confidence {units.percent(advised['confidence'])}{evidence}{unbacked}."


def stretch(document: Document) -> str:
    """Title of the attribution."""
    return "Where the step goes" if document["window"]["steps"] else "Where the time goes"


def unit(document: Document) -> str:
    """What the forms' times are of."""
    return "the step" if document["window"]["steps"] else "this stretch"


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
                range=_range(form["low"], form["high"]),
                speedup="" if now is None or not form["step_ms"] else _times(now / form["step_ms"]),
                source=form["source"] + (f", {form['variant']}" if form["variant"] else ""),
                predicted=runs.beside(form),
                pays_after=runs.pays_after(form),
                held_up=held_up(form) or form["error"] or "",
                advised=name == advised_form(document),
            )


def held_up(form: FormEntry) -> str:
    """What blocks a form, costs it time or forbids it, with the places; "" when nothing does."""
    told = [_at(blocker["message"], blocker["where"]) for blocker in form["blockers"]]
    more = [f"{len(told) - SHOWN_REASONS} more"] if len(told) > SHOWN_REASONS else []
    return "; ".join([*_differs(form), *told[:SHOWN_REASONS], *more])


def hold_ups(document: Document) -> dict[str, list[str]]:
    """Forms by what holds them up: what several have in common is said once."""
    found: dict[str, list[str]] = {}
    for row in form_rows(document):
        if row.held_up:
            found.setdefault(row.held_up, []).append(row.name)
    return found


def source(form: FormEntry) -> str:
    """Where a form's time comes from, with its range and the prediction beside a measurement."""
    span = f"{form['source']} {_range(form['low'], form['high'])}".strip()
    if form["predicted"] is None:
        return span
    predicted = form["predicted"]
    return f"{span}; predicted {_range(predicted['low'], predicted['high'])}"


def failed_checks(document: Document) -> list[str]:
    """Messages of the trust checks that failed; none where there is no trace to check."""
    failed = [check["message"] for check in document["trust"]["checks"] if not check["passed"]]
    return failed if has_trace(document) else []


def has_trace(document: Document) -> bool:
    """Whether there is a trace: a run may have left none."""
    return document["run"] is None or bool(document["run"]["traces"])


def step(document: Document) -> str:
    """What was judged: "4.23 ms a step, the mean of 3 (median 4.21, 4.18-4.30)". The classes add up to the mean."""
    window, length = document["window"], document["attribution"]["window_ns"]
    spread, steps = window["step_ms"], window["steps"]
    if not steps or spread["median"] is None:
        return f"{units.duration(length)}, {_STRETCH.get(window['kind'], window['kind'])}"
    mean = units.milliseconds(units.to_ms(length) / steps)
    if steps == 1:
        return f"{mean} ms, 1 step"
    span = f"median {units.milliseconds(spread['median'])}, {_range(spread['min'], spread['max'])}"
    return f"{mean} ms a step, the mean of {steps:,} ({span})"


def over(document: Document) -> str:
    """What the tables' counts and totals are over: "over 3 steps"."""
    steps = document["window"]["steps"]
    return f"over {units.counted(steps, 'step')}" if steps else ""


def recorded(document: Document) -> str:
    """What the trace is: "eager on NVIDIA H200, 31,204 events"."""
    trace = document["trace"]
    names = {device["id"]: device["name"] for device in trace["devices"]}
    number = document["window"]["device"]
    device = names.get(number) or (f"device {number}" if number >= 0 else "no device")
    form = _RECORDED.get(trace["form"], trace["form"])
    ranks = f" of {trace['world_size']}" if trace["world_size"] else ""
    rank = "" if trace["rank"] is None else f", rank {trace['rank']}{ranks}"
    return f"{form} on {device}{rank}, {units.counted(trace['events'], 'event')}"


def repair(entry: RepairEntry) -> str:
    """What was mended: "truncated: 1 time, first at byte 1,204 (...)"."""
    example = f" ({entry['example']})" if entry["example"] else ""
    return f"{entry['kind']}: {units.counted(entry['count'], 'time')}, first at byte {entry['offset']:,}{example}"


def after_fix(document: Document) -> str:
    """What the repairs would allow, or ""."""
    after = document["recommendation"]["after_fix"]
    if after is None:
        return ""
    span = _range(after["low"], after["high"])
    told = f"After that: {after['verdict']}, {units.milliseconds(after['step_ms'])} ms (predicted {span})."
    return f"{told} {_below_device(document, after['verdict'], after['step_ms'])}".strip()


def _below_device(document: Document, form: str, ms: float) -> str:
    """What a prediction counts on that is less than the device works now; "" for others."""
    works = units.to_ms(document["attribution"]["classes"]["kernel"]["ns"]) / (document["window"]["steps"] or 1)
    if ms >= NO_GAIN * works:
        return ""
    counts = "fused kernels" if form in ("compile", "both") else "streams that overlap as far as their events allow"
    return f"That is less than the {units.milliseconds(works)} ms that the device works now: it counts on {counts}."


def evidence(finding: FindingEntry) -> str:
    """The rule, for tracelens explain, and the handles that show it: "[sync_points: s-1, s-2]"."""
    handles = ", ".join(finding["evidence"])
    return f"[{finding['rule']}: {handles}]" if handles else f"[{finding['rule']}]"


def saving(finding: FindingEntry) -> str:
    """What a finding may save: "Saves up to 2.98 ms.", or ""."""
    ms = finding["saving_ms"]
    return f"Saves up to {units.duration(max(1, round(ms * units.NS_PER_MS)))}." if ms else ""


def sentence(text: str) -> str:
    """The text with its full stop."""
    return text if text.endswith((".", "!", "?")) else text + "."


def left_out(document: Document, table: str) -> str:
    """How many rows of a table are not shown, and how to see them; "" when all are."""
    missing = document["table_rows"][table] - len(document["tables"][table])
    return f"{missing:,} more; --limit 0 shows all" if missing else ""


_FIX: Final = {rule.id: rule.fix for rule in RULES if rule.fix}
_BOUND: Final = "device_limit"
"""The rule that tells a step at its device's limit."""
_DETAILS: Final = re.compile(r", (?:mostly|by|which) | \(\d[\d,]* times\)")
_STRETCH: Final = {"whole": "the whole trace as one step", "range": "the range as one step"}
_RECORDED: Final = {
    "compile": "a compiled step",
    "replay": "a replayed step",
    "both": "a compiled and replayed step",
    "mixed": "a step of several forms",
    "unknown": "form unknown,",
}


def _alternative(document: Document, name: str) -> str:
    form, now = document["forms"][name], document["forms"][own_form(document)]["step_ms"]
    label = "compile alone" if name == "compile" else name
    if form["step_ms"] is None:
        return f"{label.capitalize()} blocked: {_short(form['blockers'][0]['message'])}."
    if idle := [blocker["message"] for blocker in form["blockers"] if blocker["id"] == NO_GRAPH]:
        return f"Not {label}: {_short(idle[0])}."
    gains = now is None or (form["step_ms"] < NO_GAIN * now and form["outputs"] != "differ")
    return f"{label.capitalize() if gains else 'Not ' + label}: {units.milliseconds(form['step_ms'])} ms."


def _is_unknown(form: FormEntry) -> bool:
    return form["step_ms"] is None and not form["blockers"]


def _lengths(document: Document) -> tuple[float, float, str] | None:
    """The recorded step and the same without the profiler in ms, and how the latter is known; None where they are
    alike or one is not known."""
    forms, steps, name = document["forms"], document["window"]["steps"], document["trace"]["form"]
    form = forms.get(name if name in forms else own_form(document))
    if not steps or form is None or not form["step_ms"]:
        return None
    recorded_ms = units.to_ms(document["attribution"]["window_ns"]) / steps
    how = "measured" if form["source"] == "measured" else "estimated"
    return (recorded_ms, form["step_ms"], how) if abs(recorded_ms / form["step_ms"] - 1) > PROFILED else None


def _repaired(document: Document) -> str:
    """What the repairs would allow, for the headline: "After repair (16 waits a step): both, 0.12 ms.", or ""."""
    advised = document["recommendation"]
    after, fixes = advised["after_fix"], advised["fix_first"]
    if after is None:
        return ""
    forms = reversed(document["forms"].values())
    told = {b["id"]: b["message"] for form in forms for b in reversed(form["blockers"])}
    names = [_short(told.get(fix["blocker"], fix["blocker"].replace("_", " "))) for fix in fixes]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    what = f" ({names[0]}{more})" if names else ""
    return f"After repair{what}: {after['verdict']}, {units.milliseconds(after['step_ms'])} ms."


def _short(message: str) -> str:
    """A blocker's message without its details."""
    return _DETAILS.split(message, maxsplit=1)[0]


def _differs(form: FormEntry) -> list[str]:
    if form["outputs"] != "differ":
        return []
    error = "" if form["largest_error"] is None else f" by up to {form['largest_error']:.3g}"
    return [f"not advised, its outputs differ from eager's{error}"]


def _at(message: str, where: str | None) -> str:
    """A message with its place."""
    place = short_place(where)
    return f"{message} at {place}" if place and place not in message else message


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else units.millisecond_range(low, high)


def _times(factor: float) -> str:
    return f"{factor:.2f}x" if factor < 9.995 else f"{units.significant(factor)}x"
