"""The verdict in one or two plain sentences."""

from __future__ import annotations

from typing import Final

from tracelens.advice.blockers.blockers import VETOES
from tracelens.advice.choice.case import Case
from tracelens.advice.choice.communication import comes_first, exposed
from tracelens.advice.forms.verdict import EVEN, candidates, choose, gains_nothing, is_decided, speedup
from tracelens.advice.results import AfterFix, Blocker, Form, Range
from tracelens.model.units import milliseconds, share

SURE: Final = 0.7
"""Confidence below which a gain is only perhaps one, where the times before and after may be the same. [judgement]"""
ACTIONS: Final = {
    "eager": {
        "compile": "Use torch.compile",
        "replay": "Replay the step as a CUDA Graph",
        "both": "Use torch.compile and replay the result as a CUDA Graph",
    },
    "compile": {
        "replay": "Replay the step as a CUDA Graph instead of compiling it",
        "both": "Keep torch.compile and also replay the result as a CUDA Graph",
    },
    "replay": {
        "compile": "Use torch.compile instead of the CUDA Graph",
        "both": "Keep the CUDA Graph and also compile the step before it is captured",
    },
    "both": {
        "compile": "Keep torch.compile and leave out the CUDA Graph",
        "replay": "Keep the CUDA Graph and leave out torch.compile",
    },
}
"""By the form in use and the form to use."""
COMPILERS_GRAPHS: Final = "Use torch.compile with mode='reduce-overhead'"
LEAVE: Final = "Leave the step in eager mode"
DONE: Final = {"compile": "compiled", "replay": "replayed", "both": "compiled and replayed"}
ALSO: Final = {("compile", "both"): "replaying it too", ("replay", "both"): "compiling it too"}
"""By the form in use and the other one."""
ALONE: Final = {"eager": "eager mode", "compile": "torch.compile alone", "replay": "replay alone"}


def summary(case: Case, chosen: str, after: AfterFix | None, first: tuple[Blocker, ...], sure: float) -> str:
    """What to do, what it gains, what it runs despite, and what to repair first or what bounds the step."""
    why = _repair(case, after, first) if first else case.reason
    if chosen == case.now:
        return f"{_stay(case, sure)} {_communication(case)}{why}".strip()
    return f"{_use(case, chosen, sure)} {_despite(case.forms[chosen], chosen, first)}{why}".strip()


def _use(case: Case, chosen: str, sure: float) -> str:
    """That another form is to be used, and the times before and after."""
    now, then = case.forms[case.now], case.forms[chosen]
    action = _action(case, chosen, then.variant)
    doubt = "" if sure >= SURE or not _may_be_none(case, chosen) else "Perhaps"
    doubt = doubt if is_decided(case.forms, case.now, sure) else "At a guess,"
    said = f"{doubt} {_lower(action)}" if doubt else action
    return f"{said}: {_time(now)} becomes {_time(then)}."


def _action(case: Case, chosen: str, variant: str | None) -> str:
    if chosen == "both" and variant == "reduce-overhead":
        return COMPILERS_GRAPHS
    return ACTIONS[case.now].get(chosen, LEAVE)


def _may_be_none(case: Case, chosen: str) -> bool:
    """Whether the times before and after may be the same."""
    gain = speedup(case.forms, chosen, case.now)
    return gain is not None and gain.low < 1


def _despite(form: Form, chosen: str, first: tuple[Blocker, ...]) -> str:
    """How the chosen form runs although something blocks a capture of the whole step."""
    held = [blocker for blocker in form.blockers if blocker.id in VETOES]
    if len(held) == 0 or form.source == "measured":
        return ""
    how = _around(chosen, {blocker.id for blocker in held})
    if held[0] in first:
        return f"As the step is, {how}. "
    more = f" (and {len(held) - 1} more)" if len(held) > 1 else ""
    return f"It runs despite {held[0].message}{more}: {how}. "


def _around(chosen: str, ids: set[str]) -> str:
    """What a form does with the blockers of a whole step, told by their ids."""
    if chosen == "compile":
        return "compiled code runs between the waits" if "sync" in ids else "the compiler makes code for each shape"
    if ids == {"changing_shapes"}:
        return "the compiler keeps a graph for each shape"
    return "the compiler replays only the parts between"


def _repair(case: Case, after: AfterFix | None, first: tuple[Blocker, ...]) -> str:
    """What to repair first, and what that allows."""
    if after is None:
        return f"Repair first: {first[0].message}."
    step = milliseconds(after.step_ms)
    if after.verdict == "neither":
        return f"Repair first: {first[0].message}; the step then takes about {step} ms."
    action = _action(case, after.verdict, case.fixed[after.verdict].variant)
    return f"Repair first: {first[0].message}; then {_lower(action)}, about {step} ms."


def _communication(case: Case) -> str:
    """That communication comes first, where the fastest form would gain something if its prediction held."""
    if not comes_first(case, choose(case.forms, case.now)):
        return ""
    return (
        f"First hide communication, or find the rank that it waits for: it takes {share(exposed(case))} of the step "
        "without the profiler. "
    )


def _stay(case: Case, sure: float) -> str:
    """That the form in use is kept, as far as the trace shows the others."""
    known = [name for name in candidates(case.forms, case.now) if name != case.now]
    if sure < EVEN and known:
        already = "" if case.now == "eager" else f"The step is already {DONE[case.now]}; "
        if _gains_nothing(case, known):
            return f"{already}{'a' if already else 'A'}t a guess, no other form would pay."
        return f"{already}{'w' if already else 'W'}hether another form would pay, the trace does not tell."
    if case.now == "eager" and not known:
        return "No other form is of use as the step is."
    if case.now == "eager" and any(form.is_unknown for form in case.forms.values()):
        return f"Of what was tried, {' and '.join(ALONE.get(name, 'both') for name in known)} would not pay."
    if case.now == "eager":
        return "Neither torch.compile nor CUDA Graph replay would pay as the step is."
    begin = f"The step is already {DONE[case.now]};"
    if not known:
        return f"{begin} what the other forms would take this trace does not show."
    others = [ALSO.get((case.now, name)) or ALONE.get(name, "both") for name in known]
    return f"{begin} {' and '.join(others)} would gain little or nothing."


def _gains_nothing(case: Case, others: list[str]) -> bool:
    """Whether none of the others may be shorter, as the ranges have it, for all that the trace leaves in doubt; not
    where it leaves one of them unknown."""
    if any(form.is_unknown for form in case.forms.values()):
        return False
    own, *rest = (
        Range(form.step_ms or 0.0, form.low or form.step_ms or 0.0, form.high or form.step_ms or 0.0)
        for form in (case.forms[name] for name in (case.now, *others))
    )
    return gains_nothing(own, rest, case.device_ms)


def _lower(action: str) -> str:
    return f"{action[0].lower()}{action[1:]}"


def _time(form: Form) -> str:
    return "unknown" if form.step_ms is None else f"{milliseconds(form.step_ms)} ms"
