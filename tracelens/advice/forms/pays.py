"""After how many steps the set-up of a form has paid."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tracelens.advice.results import Form

LEAST_GAIN: Final = 0.01
"""Share of eager's step below which a gain is noise, and no number of steps pays for it. [judgement]"""


def with_break_even(form: Form, eager: Form) -> Form:
    """The form with break_even_steps = 1e3 * (setup_s - eager's setup_s) / (eager's step_ms - step_ms).

    A set-up of eager that is not known counts as none. None where the compiler did nothing or the gain
    is noise: under LEAST_GAIN, or with ranges that overlap."""
    if form.step_ms is None or eager.step_ms is None or form.setup_s is None or form.did_nothing:
        return form
    gain, longer = eager.step_ms - form.step_ms, form.setup_s - (eager.setup_s or 0.0)
    apart = (form.high or form.step_ms) < (eager.low or eager.step_ms)
    pays = gain >= LEAST_GAIN * eager.step_ms and gain > 0 and apart
    return replace(form, break_even_steps=1e3 * max(longer, 0.0) / gain if pays else None)
