"""Sentences and rows that text and Markdown share, read from the report document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracelens.advice.choice.first import TELLS
from tracelens.advice.results import NO_GRAPH
from tracelens.advice.rules import RULES
from tracelens.model import units
from tracelens.model.forms import REPLAYED
from tracelens.reporting.certainty import confidence as confidence
from tracelens.reporting.certainty import is_doubtful
from tracelens.reporting.forms import (
    FORMS,
    NO_GAIN,
    advised_form,
    blocked_by,
    candidates,
    failure,
    is_measured,
    is_unknown,
    own_form,
    short,
    source,
    span,
)
from tracelens.reporting.forms import blocked_forms as blocked_forms
from tracelens.reporting.forms import form_rows as form_rows
from tracelens.reporting.forms import is_step as is_step
from tracelens.reporting.forms import noun as noun
from tracelens.reporting.forms import unit as unit
from tracelens.reporting.printable import head, short_place
from tracelens.reporting.profiling import profiled as profiled
from tracelens.reporting.profiling import unprofiled
from tracelens.reporting.repaired import after_fix as after_fix
from tracelens.reporting.repaired import after_repair, pays_surely
from tracelens.reporting.schema import ClassEntry, Document, FindingEntry, FormEntry, RepairEntry
from tracelens.reporting.undecided import cannot_tell, is_guess

SHORT_CELLS: Final = 60
"""Of what made a form fail, in the headline's company."""
TALKS: Final = 0.2
"""Share of the traced time in exposed communication or copies from which it is named at once. [judgement]"""
LARGE: Final = 0.1
"""Share of the step that a finding's repair saves from which it is the answer where no form is. [judgement]"""
UNTRIED: Final = "hip_graphs"
"""The rule that says that replay may gain nothing on the device."""
MORE: Final = "More to gain: {}, {} ms."
PLACES: Final = 4
"""Places of one repair that a line names."""
FIRST: Final = "First {}, which saves {} ms."
"""What a repair is in a headline, and how much it saves."""
MEASURE: Final = "Measure the forms before you change code: tracelens capture SCRIPT."


def headline(document: Document) -> str:
    """The verdict in one line, with what a repair allows: "Replay: 3.97 -> 0.55 ms (predicted 0.52-0.60).", and of what
    it is where that may be no step."""
    return f"{_verdict(document)} {_of_unit(document)}".strip()


def _of_unit(document: Document) -> str:
    """That the forms are of a unit that repeats, whatever part of a step that is; "" where steps are marked."""
    if document["window"]["kind"] != "period" or advised_form(document) is None or is_measured(document):
        return ""
    return f"That is of a {document['window']['name']}, which may be but a layer of the step: no steps are annotated."


def _verdict(document: Document) -> str:
    verdict, own, advised = document["recommendation"]["verdict"], own_form(document), advised_form(document)
    if advised is None:
        reason = document["recommendation"]["summary"].removeprefix("No verdict.").strip()
        return "No verdict." if reason in failed_checks(document) else f"No verdict. {reason}"
    form, now = document["forms"][advised], document["forms"][own]
    if form["step_ms"] is None:
        return f"{verdict.capitalize()}."
    after = f"{units.milliseconds(form['step_ms'])} ms ({source(form)})"
    more = f"{after_repair(document)} {_more(document)}".strip()
    if is_guess(document):
        return _open(document)
    if verdict == "neither":
        return _stays(document, own, after)
    if verdict == own or now["step_ms"] is None:
        return f"{verdict.capitalize()}, as it runs now: {after}. {more}".strip()
    what = f"Perhaps {verdict}" if is_doubtful(document) else verdict.capitalize()
    return f"{what}{_made(form)}: {units.milliseconds(now['step_ms'])} -> {after}. {more}".strip()


def _made(form: FormEntry) -> str:
    """How a form is made, where the compiler has to: its own graphs take another time than a capture of the step."""
    compilers = form["variant"] == "reduce-overhead" and form["source"] == "predicted"
    return ", as mode='reduce-overhead'" if compilers else ""


def _open(document: Document) -> str:
    """The headline where the verdict is a guess: what pays whichever form is the best comes first."""
    guess, more = cannot_tell(document), _more(document, FIRST)
    if pays_surely(document):
        now = f"As it is, {guess[0].lower()}{guess[1:]}"
        return f"{after_repair(document, 'Repair first')} {now} {_more(document)}".strip()
    return f"{more} {guess} {after_repair(document)}".strip()


def _more(document: Document, said: str = MORE) -> str:
    """The repair that no form stands for, where it saves more than form and repairs that are advised, these as far as
    they surely pay where the form is a guess: "More to gain: pin the copies, up to 3.88 ms.", or ""."""
    own, advised, fixes = own_form(document), advised_form(document), helps(document)
    if advised is None or not fixes:
        return ""
    after, forms, ms = document["recommendation"]["after_fix"], document["forms"], fixes[0]["saving_ms"] or 0.0
    now, then = (forms[name]["step_ms"] or 0.0 for name in (own, advised))
    if after and (pays_surely(document) or not is_guess(document)):
        then = min(then, after["step_ms"])
    if ms <= now - then:
        return ""
    return said.format(_FIX[fixes[0]["rule"]], f"{_about(fixes[0])}{units.milliseconds(ms)}")


def _stays(document: Document, own: str, after: str) -> str:
    """The headline where no other form pays: what does instead."""
    keep, fixes, repaired = f"Keep {own}" if own != "eager" else "Neither", helps(document), after_repair(document)
    if repaired:
        return f"{keep} as it is: {after}. {repaired} {_more(document)}".strip()
    stays = f"{unit(document)} stays at {after}."
    if not fixes:
        return f"{keep}: {stays}"
    ms = fixes[0]["saving_ms"]
    gain = f", which saves {_about(fixes[0])}{units.milliseconds(ms)} ms" if ms else ""
    begin = keep if own != "eager" else "Neither form"
    return f"{begin}; {_FIX[fixes[0]['rule']]}{gain}. Else {stays}"


def helps(document: Document) -> list[FindingEntry]:
    """Findings whose repair is a next step, the largest saving first: those that save much, of which the form that is
    advised or what is to be repaired first takes nothing away. Where neither is, also what bounds the step."""
    advised, now = document["recommendation"], document["forms"].get(own_form(document))
    if advised["verdict"] == "abstain" or now is None or not now["step_ms"]:
        return []
    alone = advised["verdict"] == "neither" and not advised["fix_first"]
    told = {TELLS.get(fix["blocker"]) for fix in advised["fix_first"]}
    known = [f for f in document["findings"] if f["rule"] in (_FIX if alone else _REMAINS) and f["rule"] not in told]
    large = [finding for finding in known if (finding["saving_ms"] or 0.0) >= LARGE * now["step_ms"]]
    return large or [finding for finding in known if finding["rule"] == _BOUND]


def next_steps(document: Document) -> list[str]:
    """What to do first, a numbered line each: the repairs, then what helps beside another form or instead of one. To
    measure comes before, but behind what pays whatever that would show."""
    return with_places(placed_steps(document))


def with_places(steps: Sequence[tuple[str, str]]) -> list[str]:
    """Each step with its place in brackets, where it has one."""
    return [f"{advice} ({place})" if place else advice for advice, place in steps]


def placed_steps(document: Document) -> list[tuple[str, str]]:
    """The same, each with its place in the code apart; "" where there is none. One repair of several blockers is told
    once."""
    measure = [(MEASURE, "")] if _is_to_measure(document) else []
    repairs = [(fix["advice"], short_place(fix["where"])) for fix in document["recommendation"]["fix_first"]]
    others = [(f"{finding['advice']} {saving(finding)}".strip(), "") for finding in helps(document)]
    first = repairs if pays_surely(document) else others if is_guess(document) and _more(document) else measure
    steps = [*first, *(step for block in (measure, repairs, others) if block is not first for step in block)]
    places = {advice: dict.fromkeys(at for told, at in steps if told == advice and at) for advice, _ in steps}
    return [(advice, _few(list(at))) for advice, at in places.items()]


def _few(places: list[str]) -> str:
    """The places, all of them if they are few: "train.py:6, train.py:9 and 2 more"."""
    more = f" and {len(places) - PLACES} more" if len(places) > PLACES else ""
    return f"{', '.join(places[:PLACES])}{more}"


def _is_to_measure(document: Document) -> bool:
    """Whether code is to be changed only once its gain is measured: nothing is decided, the gain may be none, or a
    finding says so."""
    doubted = any(finding["rule"] == UNTRIED for finding in document["findings"])
    return is_guess(document) or is_doubtful(document) or (doubted and advised_form(document) in REPLAYED)


def explanation(document: Document) -> str:
    """The advice's own words, unless the headline has them."""
    advised = document["recommendation"]
    return "" if advised["verdict"] == "abstain" else advised["summary"]


def boundness(document: Document) -> str:
    """Whether the GPU waits or works in the trace, with its share; "" without a window, or outside the recording.

    Where it waits only because the profiler slows the host down, that too."""
    window_ns, classes = document["attribution"]["window_ns"], document["attribution"]["classes"]
    if not window_ns:
        return ""
    waits = sum(classes[name]["ns"] for name in ("dispatch", "launch", "sync")) / window_ns
    works, unknown = (classes[name]["ns"] / window_ns for name in ("kernel", "unknown"))
    if classes["unknown"]["parts"].get("outside") == window_ns:
        return ""
    what, device = noun(document) if document["window"]["steps"] else "time", _judged(document)
    if unknown > max(waits, works):
        return f"For {units.percent(unknown)} of the traced {what} the trace does not say what {device} waits for."
    does, part = ("waits for the host", waits) if waits > works else ("works", works)
    more = "" if waits > works else _exposed(classes["kernel"], window_ns)
    return f"{units.percent(part)} of the traced {what} {device} {does}{more}{unprofiled(document, waits, works)}."


def _exposed(works: ClassEntry, window_ns: int) -> str:
    """What a busy device does for long instead of computing, as a share of its work: ", 88 % of it in copies that
    nothing hides", or ""."""
    part = max(("communication", "copy"), key=lambda part: works["parts"].get(part, 0))
    ns, does = works["parts"].get(part, 0), "copies" if part == "copy" else part
    return f", {units.percent(ns / works['ns'])} of it in {does} that nothing hides" if ns >= TALKS * window_ns else ""


def _judged(document: Document) -> str:
    """The device that is judged, by its number where others worked too."""
    number, busy = document["window"]["device"], [d["id"] for d in document["trace"]["devices"] if d["busy_ns"]]
    return f"device {number}" if any(device != number for device in busy) else "the GPU"


def alternatives(document: Document) -> str:
    """The other forms and the blockers in a few words: "Not compile alone: 3.10 ms. Nothing blocks replay."."""
    own, advised = own_form(document), advised_form(document)
    if advised is None:
        return ""
    told_already = candidates(document) if is_guess(document) else (own, advised)
    others = [name for name in FORMS if name not in told_already and name in document["forms"]]
    form = document["forms"][advised]
    unknown = [name for name in others if is_unknown(document["forms"][name])]
    told = [_alternative(document, name) for name in others if name not in unknown]
    told += [f"Unknown: {', '.join(unknown)}."] if unknown else []
    if advised == own or form["source"] != "predicted":
        return " ".join(told)
    reasons = blocked_by(form)
    return " ".join([*told, f"{advised.capitalize()} runs despite {reasons}." if reasons else _free(document, advised)])


def _free(document: Document, name: str) -> str:
    """That nothing blocks a form, as far as the trace can tell: blockers are read from operators."""
    if all(check["passed"] for check in document["trust"]["checks"] if check["id"] == "no_operators"):
        return f"Nothing in the trace blocks {name}."
    return f"What blocks {name} may go unseen: the trace has no operators."


def stretch(document: Document) -> str:
    """Title of the attribution."""
    return "Where the step goes" if document["window"]["steps"] else "Where the time goes"


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
    mean, what = units.milliseconds(length / steps / units.NS_PER_MS), noun(document)
    if steps == 1:
        return f"{mean} ms, 1 {what}"
    if spread["min"] == spread["max"]:
        return f"{mean} ms a {what}, each of {steps:,}"
    ends = f"median {units.milliseconds(spread['median'])}, {span(spread['min'], spread['max'])}"
    return f"{mean} ms a {what}, the mean of {steps:,} ({ends})"


def over(document: Document) -> str:
    """What the tables' counts and times are over: "over 3 traced steps"."""
    steps = document["window"]["steps"]
    return f"over {units.counted(steps, f'traced {noun(document)}')}" if steps else ""


def savings(document: Document) -> str:
    """What the findings' savings and counts are of; "" without findings."""
    if not document["findings"]:
        return ""
    counts = over(document)
    if not counts:
        return "savings without the profiler"
    return f"savings of a {noun(document)} without the profiler; counts {counts}"


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
    """What was mended: "negative durations: 3 times, 1 in the counted steps, first at byte 1,204 (...)"."""
    inside = entry["in_steps"]
    where = "" if inside is None else f", {f'{inside:,}' if inside else 'none'} in the counted steps"
    example = f" ({entry['example']})" if entry["example"] else ""
    return (
        f"{entry['kind']}: {units.counted(entry['count'], 'time')}{where}, first at byte {entry['offset']:,}{example}"
    )


def evidence(finding: FindingEntry) -> str:
    """The rule, for tracelens explain, and the handles that show it: "[sync_points: s-1, s-2]"."""
    handles = ", ".join(finding["evidence"])
    return f"[{finding['rule']}: {handles}]" if handles else f"[{finding['rule']}]"


def saving(finding: FindingEntry) -> str:
    """What a finding may save: "Saves up to 2.98 ms." or "Saves about 2.98 ms.", or ""."""
    ms = finding["saving_ms"]
    return f"Saves {_about(finding)}{units.duration(max(1, round(ms * units.NS_PER_MS)))}." if ms else ""


def _about(finding: FindingEntry) -> str:
    """What a saving is: the most that there is to save, or the difference of two forms."""
    return "about " if finding["rule"] in _EXPECTED else "up to "


def sentence(text: str) -> str:
    """The text with its full stop."""
    return text if text.endswith((".", "!", "?")) else text + "."


def left_out(document: Document, table: str) -> str:
    """How many rows of a table are not shown, and how to see them; "" when all are."""
    missing = document["table_rows"][table] - len(document["tables"][table])
    return f"{missing:,} more; --limit 0 shows all" if missing else ""


_FIX: Final = {rule.id: rule.fix for rule in RULES if rule.fix}
_REMAINS: Final = frozenset(rule.id for rule in RULES if rule.remains)
_EXPECTED: Final = frozenset(rule.id for rule in RULES if rule.expects)
_BOUND: Final = "device_limit"
"""The rule that tells a step at its device's limit."""
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
    if form["step_ms"] is None and not form["blockers"]:
        return f"{name.capitalize()} failed: {sentence(head(failure(form), SHORT_CELLS))}"
    if form["step_ms"] is None:
        return f"{label.capitalize()} blocked: {short(form['blockers'][0]['message'])}."
    if idle := [blocker["message"] for blocker in form["blockers"] if blocker["id"] == NO_GRAPH]:
        return f"Not {label}: {short(idle[0])}."
    differs = form["outputs"] == "differ"
    gains = now is None or (form["step_ms"] < NO_GAIN * now and not differs)
    why = ", its outputs differ" if differs else ""
    return f"{label.capitalize() if gains else 'Not ' + label}: {units.milliseconds(form['step_ms'])} ms{why}."
