"""From an analysis, and what was measured of its forms, to forms, verdict and findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from tracelens.advice import constants as C
from tracelens.advice.blockers.blockers import COSTLY, Observation, find_blockers
from tracelens.advice.blockers.confirmed import confirmed
from tracelens.advice.blockers.scaler import is_scaled
from tracelens.advice.blockers.unproven import unproven
from tracelens.advice.choice.case import Case
from tracelens.advice.choice.first import raised
from tracelens.advice.choice.missed import missed, scaled
from tracelens.advice.choice.reason import reason
from tracelens.advice.choice.recommend import abstain, recommend
from tracelens.advice.choice.snippet import Target, target_of
from tracelens.advice.device.facts import Facts, facts_of
from tracelens.advice.forms.eager import predict_eager
from tracelens.advice.forms.forms import cannot, predict_forms, repaired
from tracelens.advice.forms.host_time import as_compiled, replay_floor
from tracelens.advice.forms.measured import beside, measured_forms
from tracelens.advice.forms.traced import traced_forms
from tracelens.advice.forms.verdict import HOST_BOUND, candidates
from tracelens.advice.operators.autocast import is_autocast
from tracelens.advice.results import Advice, Blocker, Form, Recommendation
from tracelens.advice.rules import check_all
from tracelens.advice.step.region import Region
from tracelens.analysis.results import Analysis
from tracelens.model.forms import FORMS, NOT_EAGER, REPLAYED

BEGUN: Final = "What runs in the range was launched before it: begin it earlier, with the launches."
TOO_FEW: Final = "The run measured fewer than two usable forms."
NO_DEVICE: Final = "No measured form used a GPU."


def advise(
    analysis: Analysis,
    recorded: Mapping[str, Mapping[str, Any]] | None = None,
    repeated: Mapping[str, Any] | None = None,
) -> Advice:
    """Forms of the step, the verdict that follows from them, and findings.

    recorded: form objects of the run that the trace belongs to (Run.forms), and what was repeated there (Run.target):
    a module alone is what its measured forms compiled and captured. Forms that it or the trace's own stamp
    measured carry that time, and beside it what the trace alone predicts; the others are predicted. What was measured
    is of the whole step: of a range that the user names all forms are predicted. A trace without launched device
    work, or one that its checks call unusable, gets a verdict only from measurements."""
    is_range = analysis.window.kind == "range"
    measured = {} if is_range else measured_forms(analysis.trace.stamp, recorded or {})
    own = measured.get(analysis.form)
    if own is not None and own.did_nothing:
        # What it recorded is eager's code.
        analysis = replace(analysis, form="eager")
    facts = None if analysis.trust.level == "unusable" else facts_of(analysis)
    if facts is None or _too_little(analysis, facts.region):
        forms = {name: cannot((), "the trace cannot be judged") for name in FORMS} | measured
        findings = check_all(analysis, forms, judged=False)
        of_run = recorded is not None and not is_range
        return Advice(forms, _from_measurements(analysis, forms, target_of(repeated), of_run), findings)
    region = facts.region
    seen = _idling(facts, find_blockers(analysis, region))
    observed = confirmed(seen, measured.get("replay"))
    known = _calibrated(facts, None if analysis.form in NOT_EAGER else measured.get("eager"))
    forms = _listed(_forms(analysis, facts, known, seen, measured), analysis, observed)
    case = Case(
        analysis,
        forms,
        observed,
        _fixed(analysis, known, observed, forms),
        _reason(analysis, known, forms),
        _target(target_of(repeated), facts),
        _now(analysis, forms),
    )
    advised = recommend(case)
    findings = raised(check_all(analysis, forms), advised, forms[case.now].step_ms)
    return Advice(forms, advised, findings + unproven(observed, findings))


def _target(known: Target, facts: Facts) -> Target:
    """The step for the code, as the trace shows it."""
    region = facts.region
    return replace(
        known,
        training=region.training,
        optimizer=region.optimizer,
        changing_shapes=region.changes.shapes,
        scaled=is_scaled(region.trace),
        autocast=is_autocast(region.trace),
    )


def _idling(facts: Facts, seen: tuple[Observation, ...]) -> tuple[Observation, ...]:
    """The blockers, none of which costs more than the device idles without the profiler: that alone makes a loader
    slow enough to hold up a busy device."""
    eager = predict_eager(facts).mid
    idle = max(1 - facts.span(C.STREAM_SPACING).expected / eager, 0.0) if eager else 0.0
    return tuple(replace(found, share=min(found.share, idle)) for found in seen)


def _too_little(analysis: Analysis, region: Region) -> bool:
    """Whether a doubtful trace holds so little device work, and that once, that its times mean nothing."""
    return analysis.trust.level != "ok" and region.steps == 1 and len(region) < C.FEWEST_EVENTS


def _from_measurements(analysis: Analysis, forms: Mapping[str, Form], target: Target, of_run: bool) -> Recommendation:
    """The verdict where the trace says nothing of the step; two measured forms are needed, and a device they ran on."""
    if len(candidates(forms)) < 2:
        return abstain(analysis.trust, TOO_FEW if of_run else _why_no_step(analysis))
    if not any(_used_device(name, form) for name, form in forms.items()):
        return abstain(analysis.trust, NO_DEVICE)
    return recommend(Case(analysis, forms, (), forms, "", target, _now(analysis, forms)))


def _why_no_step(analysis: Analysis) -> str | None:
    """Why a range shows no step although the device works in it; None of other windows."""
    worked = analysis.window.kind == "range" and analysis.attribution.share("kernel") > 0
    usable = analysis.trust.level != "unusable"
    return BEGUN if worked and usable else None


def _used_device(name: str, form: Form) -> bool:
    """Whether a form that was measured held memory on a device, or could not have run without one."""
    return form.step_ms is not None and (bool(form.peak_mib) or name in REPLAYED)


def _now(analysis: Analysis, forms: Mapping[str, Form]) -> str:
    """The form in use: a measured eager step, else the trace's own form."""
    eager = forms["eager"]
    is_measured = eager.source == "measured" and eager.step_ms is not None
    return analysis.form if analysis.form in NOT_EAGER and not is_measured else "eager"


def _reason(analysis: Analysis, facts: Facts, forms: Mapping[str, Form]) -> str:
    """What bounds the step as it runs; "" where the trace shows it in another form than that in use."""
    if analysis.form in NOT_EAGER and _now(analysis, forms) != analysis.form:
        return ""
    step_ms = forms[_now(analysis, forms)].step_ms
    if analysis.form == "compile":
        return reason(replace(facts, region=as_compiled(facts.region)), step_ms)
    return reason(facts, step_ms, replay_floor(facts.region) if analysis.form == "both" else 0.0)


def _listed(forms: dict[str, Form], analysis: Analysis, observed: tuple[Observation, ...]) -> dict[str, Form]:
    """The forms, of which that in use and those predicted name what costs time in each and is to be repaired first;
    that in use also what else comes first and no form names."""
    told, now = {blocker.id for form in forms.values() for blocker in form.blockers}, _now(analysis, forms)
    costs = tuple(seen.blocker for seen in observed if seen.share >= COSTLY)
    first = tuple(seen.blocker for seen in observed if seen.first and seen.blocker.id not in told)
    timed = {name: form for name, form in forms.items() if form.step_ms is not None and form.source == "predicted"}
    listed = {name: _naming(form, costs) for name, form in ({now: forms[now]} | timed).items()}
    return forms | listed | {now: _naming(listed[now], first)}


def _naming(form: Form, blockers: tuple[Blocker, ...]) -> Form:
    """The form with those of the blockers that it does not name yet."""
    told = {blocker.id for blocker in form.blockers}
    return replace(form, blockers=(*form.blockers, *(blocker for blocker in blockers if blocker.id not in told)))


def _forms(
    analysis: Analysis,
    facts: Facts,
    known: Facts,
    seen: tuple[Observation, ...],
    measured: Mapping[str, Form],
) -> dict[str, Form]:
    """Measured forms with what the trace alone predicts beside them; the others as all that is known predicts."""
    alone = _predicted(analysis, facts, seen)
    others = alone if known is facts else _predicted(analysis, known, seen)
    shown = {name: beside(alone[name], form) for name, form in measured.items()}
    miss = missed(analysis.form, shown.get(analysis.form), known.device_ms)
    return {name: shown.get(name) or scaled(others[name], miss) for name in FORMS}


def _predicted(analysis: Analysis, facts: Facts, seen: tuple[Observation, ...]) -> dict[str, Form]:
    stops = tuple(found.blocker for found in seen if found.vetoes)
    return traced_forms(facts, analysis.form, stops) if analysis.form in NOT_EAGER else predict_forms(facts, seen)


def _fixed(
    analysis: Analysis, facts: Facts, observed: tuple[Observation, ...], forms: dict[str, Form]
) -> dict[str, Form]:
    """The forms once the blockers are repaired that come first; what makes compiling raise stays."""
    first = [seen for seen in observed if seen.first]
    if not first:
        return forms
    saved, left = min(sum(seen.share for seen in first), 1.0), tuple(seen for seen in observed if seen.raises)
    fixed = _predicted(analysis, replace(facts, region=repaired(facts.region, saved)), left)
    miss = missed(analysis.form, forms.get(analysis.form), facts.device_ms)
    return {name: scaled(form, miss) for name, form in fixed.items()}


def _calibrated(facts: Facts, measured: Form | None) -> Facts:
    """The facts with the host's speed as a measured eager step shows it, when the host is what it measured."""
    predicted = None if measured is None else predict_eager(facts).form().step_ms
    if measured is None or measured.step_ms is None or predicted is None:
        return facts
    if min(measured.step_ms, predicted) < HOST_BOUND * facts.device_ms:
        return facts
    return replace(facts, region=replace(facts.region, speed=measured.step_ms / predicted))
