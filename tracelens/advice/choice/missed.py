"""By how much the predictions beside a measured form are off as well, so that no gain is a prediction's miss."""

from __future__ import annotations

from dataclasses import replace

from tracelens.advice.forms.verdict import HOST_BOUND
from tracelens.advice.results import Form


def missed(own: str, form: Form | None, device_ms: float) -> float:
    """Measured over predicted time of the form that the trace runs in, where the same sets the other forms' times:
    the device, or what the host does beside a replay. 1.0 where that is not known or not so.

    form: the measurement with the prediction beside it; device_ms: device work of the step, in ms."""
    if form is None or not form.step_ms or form.predicted is None or not form.predicted[0]:
        return 1.0
    told = form.predicted[0]
    of_device = max(form.step_ms, told) < HOST_BOUND * device_ms
    return form.step_ms / told if own == "replay" or of_device else 1.0


def scaled(form: Form, factor: float) -> Form:
    """The form with its time and range times a factor."""
    step, low, high = (None if ms is None else factor * ms for ms in (form.step_ms, form.low, form.high))
    terms = form.terms if form.terms is None or factor == 1 else form.terms.told("({}) * missed", missed=factor)
    return replace(form, step_ms=step, low=low, high=high, terms=terms)
