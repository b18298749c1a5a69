"""What a recording measured of its forms: the form objects of a run's manifest and of a trace's stamp."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from tracelens.advice.forms.pays import with_break_even
from tracelens.advice.results import NO_GRAPH, Blocker, Form
from tracelens.loading.manifest import LARGEST, MATCHES, Record
from tracelens.model.forms import COMPILED, FORMS

NUMBERS: Final = (
    "region_ms", "setup_s", "peak_mib", "reserved_mib", "traced_over_untraced", "largest_error",
)  # fmt: skip
SHORTEST: Final = 1e-6
"""ms: no step takes less than a ns."""
SHOWN: Final = 40
"""Characters of a value that is no time..."""
TOLD: Final = 300
"""...and of what a form's recording tells of it, as the compiler's reasons, which may be code."""
DID_NOTHING: Final = "compile did nothing (0 graphs), which leaves the processes to differ by chance"
REASONS: Final = (
    ("graph_breaks", "graph_break", "reason", "graph break"),
    ("recompiles", "recompile", "guard", "recompiled"),
    ("cudagraph_skips", "cudagraph_skip", "reason", "CUDA Graph skipped"),
    ("syncs", "sync", "", "waits for the device"),
)
"""Lists of a form object: key, id as a blocker, key of the reason, and what happened."""


def measured_forms(stamp: Record | None, recorded: Mapping[str, Record]) -> dict[str, Form]:
    """The measured form by name: those of a run, else the one that the trace carries in its stamp.

    A form object that holds neither a time nor an error is left out."""
    stamped = stamp.get("form") if stamp else None
    records = {**({stamped: stamp} if stamp and stamped in FORMS else {}), **recorded}
    read = {name: _form(records[name]) for name in FORMS if name in records}
    known = {name: form for name, form in read.items() if form is not None}
    return _paid({name: _without_graph(name, form, records[name]) for name, form in known.items()})


def unusable(recorded: Mapping[str, Record]) -> tuple[str, ...]:
    """A sentence for each form object that is left out, or whose time is, because it holds no usable time."""
    told: list[str] = []
    for name in (name for name in FORMS if name in recorded):
        given, form = recorded[name].get("step_ms"), _form(recorded[name])
        if given is not None and (form is None or form.step_ms is None):
            told.append(f"{name} was measured, but its step_ms {_short(given)} is no time: it is left out")
        elif form is None:
            told.append(f"{name} has neither a time nor an error: what was measured of it is left out")
    return tuple(told)


def beside(predicted: Form, measured: Form) -> Form:
    """A measurement with the prediction beside it; one that could not run keeps what the prediction says of it."""
    known = measured.blockers or (predicted.blockers if measured.step_ms is None else ())
    return replace(measured, predicted=_triple(predicted), terms=predicted.terms, blockers=known)


def _form(record: Record) -> Form | None:
    """The form that a form object tells of; None where that holds neither a time nor an error."""
    step, error = _number(record.get("step_ms")), _text(record.get("error"))
    step = step if step and step >= SHORTEST else None
    if step is None and not error:
        return None
    low, high, steps = (_number(record.get(key)) for key in ("low", "high", "steps"))
    outputs = record.get("outputs")
    return Form(
        step,
        step if step is None or low is None else min(low, step),
        step if step is None or high is None else max(high, step),
        "measured",
        variant=_text(record.get("variant")),
        steps=None if steps is None else int(steps),
        blockers=(*_blockers(record.get("blockers")), *_reasons(record)),
        predicted=None,
        terms=None,
        outputs=outputs if outputs in MATCHES else "unchecked",
        error=None if error is None else _cut(error),
        **{key: _number(record.get(key)) for key in NUMBERS},
    )


def _without_graph(name: str, form: Form, record: Record) -> Form:
    """The form, told where the compiler made no graph of the step: eager's code was timed in another process."""
    if name not in COMPILED or form.step_ms is None or _number(record.get("compiler_graphs")) != 0:
        return form
    return replace(form, blockers=(Blocker(NO_GRAPH, DID_NOTHING, None, None, ""), *form.blockers))


def _paid(forms: dict[str, Form]) -> dict[str, Form]:
    """The forms with the steps after which what they take longer than eager to set up has paid."""
    eager = forms.get("eager")
    return forms if eager is None else {name: with_break_even(form, eager) for name, form in forms.items()}


def _triple(form: Form) -> tuple[float, float, float] | None:
    if form.step_ms is None or form.low is None or form.high is None:
        return None
    return form.step_ms, form.low, form.high


def _blockers(rows: object) -> tuple[Blocker, ...]:
    """Blockers of a form object; what is not one is left out."""
    return tuple(
        Blocker(id, _cut(str(row.get("message", ""))), _text(row.get("where")), _number(row.get("per_step")), "")
        for row in _rows(rows)
        if (id := str(row.get("id") or ""))
    )


def _reasons(record: Record) -> tuple[Blocker, ...]:
    """What the compiler, the graph and the sync debug mode told of a form."""
    return tuple(
        Blocker(id, _told(what, _number(row.get("count")), row.get(reason)), _text(row.get("where")), None, "")
        for key, id, reason, what in REASONS
        for row in _rows(record.get(key))
    )


def _told(what: str, count: float | None, reason: object) -> str:
    """ "graph break (2 times): the first line of the reason"."""
    often = f" ({count:.0f} times)" if count and count > 1 else ""
    lines = reason.strip().splitlines() if isinstance(reason, str) else []
    return f"{what}{often}: {_cut(lines[0].strip().rstrip(':.'))}" if lines else f"{what}{often}"


def _short(value: object) -> str:
    return _cut(repr(value), SHOWN)


def _cut(text: str, most: int = TOLD) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def _rows(value: object) -> list[dict[str, Any]]:
    """The objects of a list; anything else is none."""
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Any]", row) for row in cast("list[object]", value) if isinstance(row, dict)]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> float | None:
    """A number from 0 to LARGEST, else None."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value <= LARGEST else None
