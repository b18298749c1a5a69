"""What a recording measured of itself: the stamp that `tracelens capture` leaves in a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from tracelens.advice.results import FORMS, Blocker, Form

NUMBERS: Final = (
    "region_ms", "setup_s", "peak_mib", "reserved_mib", "traced_over_untraced", "largest_error",
)  # fmt: skip
OUTPUTS: Final = ("match", "differ", "unchecked")


def stamped_form(stamp: Mapping[str, Any] | None) -> str | None:
    """Which form the stamp measured; None without a usable stamp."""
    form = stamp.get("form") if stamp else None
    return form if form in FORMS else None


def with_stamp(forms: Mapping[str, Form], stamp: Mapping[str, Any] | None) -> dict[str, Form]:
    """The forms with the stamp's measurement in place, the prediction beside it."""
    name = stamped_form(stamp)
    if stamp is None or name is None:
        return dict(forms)
    return {**forms, name: _measured(stamp, forms[name])}


def _measured(stamp: Mapping[str, Any], predicted: Form) -> Form:
    step = _number(stamp.get("step_ms"))
    if step is None and not stamp.get("error"):
        return predicted
    low, high = _number(stamp.get("low")), _number(stamp.get("high"))
    steps = _number(stamp.get("steps"))
    outputs, variant, error = stamp.get("outputs"), stamp.get("variant"), stamp.get("error")
    return Form(
        step,
        step if low is None else low,
        step if high is None else high,
        "measured",
        variant=variant if isinstance(variant, str) else None,
        steps=None if steps is None else int(steps),
        blockers=_blockers(stamp.get("blockers")) or predicted.blockers,
        predicted=_triple(predicted),
        outputs=outputs if outputs in OUTPUTS else "unchecked",
        error=error if isinstance(error, str) else None,
        **{key: _number(stamp.get(key)) for key in NUMBERS},
    )


def _triple(form: Form) -> tuple[float, float, float] | None:
    if form.step_ms is None or form.low is None or form.high is None:
        return None
    return form.step_ms, form.low, form.high


def _blockers(rows: object) -> tuple[Blocker, ...]:
    """Blockers of a stamp; what is not one is left out."""
    if not isinstance(rows, list):
        return ()
    given = [cast("dict[str, Any]", row) for row in cast("list[object]", rows) if isinstance(row, dict)]
    return tuple(
        Blocker(str(row["id"]), str(row.get("message", "")), row.get("where"), _number(row.get("per_step")) or 1.0, "")
        for row in given
        if row.get("id")
    )


def _number(value: object) -> float | None:
    """A finite number of the stamp, else None."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if abs(value) < float("inf") else None
