"""Builds the report document from an analysis and its advice."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from tracelens.advice.forms.measured import measured_forms, unusable
from tracelens.advice.results import Advice, AfterFix, Blocker, Form, Recommendation
from tracelens.advice.terms import Terms
from tracelens.analysis.damage import in_steps
from tracelens.analysis.extent import busy_ns
from tracelens.analysis.results import Analysis, Attribution, Trust
from tracelens.analysis.table import Table
from tracelens.model.events import Repair, Trace
from tracelens.model.forms import FORMS
from tracelens.model.units import NS_PER_MS
from tracelens.reporting import schema
from tracelens.version import __version__

if TYPE_CHECKING:
    from tracelens.loading.runs import Run

_WITH_STEPS: Final = frozenset({"profiler_step", "annotation", "period", "single_step"})
LONGEST_NS: Final = 2.0**62
"""No time in the document is longer."""
_SOME: Final = 1000
"""Rows that are made into values at once."""
_COST: Final[Mapping[str, tuple[str, ...]]] = {
    "kernels": ("total_ns",),
    "operators": ("host_ns", "device_ns"),
    "gaps": ("ns",),
    "syncs": ("saving_high_ns", "ns"),
    "launches": ("ns",),
}
"""By which columns the rows of a table are ranked; a later one decides between equals."""


def build(analysis: Analysis, advice: Advice, run: Run | None = None, *, limit: int | None = None) -> schema.Document:
    """The document of one device over one window.

    Each table holds its costliest rows first, at most `limit` of them (None: all); `table_rows` has the full counts.
    """
    return {
        "schema_version": schema.SCHEMA_VERSION,
        "tool": {"name": "tracelens", "version": __version__},
        "run": _run(run) if run else None,
        "trace": _trace(analysis, _recorded_form(analysis)),
        "trust": _trust(analysis.trust),
        "window": _window(analysis, run),
        "attribution": _attribution(analysis.attribution),
        "forms": {name: _form(form) for name, form in advice.forms.items()},
        "recommendation": _recommendation(advice.recommendation),
        "findings": [
            {
                "rule": finding.rule,
                "severity": finding.severity,
                "title": finding.title,
                "saving_ms": _finite(finding.saving_ms),
                "evidence": list(finding.evidence),
                "advice": finding.advice,
            }
            for finding in advice.findings
        ],
        "tables": {name: _rows(_costliest(analysis, name, limit), name) for name in schema.COLUMNS},
        "table_rows": {name: len(analysis.tables[name]) for name in schema.COLUMNS},
    }


def rows_of(analysis: Analysis, name: str, limit: int | None) -> Iterator[list[schema.Row]]:
    """The rows that `build` gives a table, some at a time."""
    table = _costliest(analysis, name, limit)
    for begin in range(0, len(table), _SOME):
        yield _rows(table.take(slice(begin, begin + _SOME)), name)


def _run(run: Run) -> schema.RunEntry:
    command, environment = (run.manifest.get(key) for key in ("command", "environment"))
    return {
        "path": _path(str(run.folder)),
        "id": _text(run.manifest.get("run")),
        "command": [str(word) for word in cast("list[object]", command)] if isinstance(command, list) else [],
        "complete": run.complete,
        "target": {key: _text(run.target.get(key)) for key in ("kind", "name", "where")},
        "environment": cast("dict[str, Any]", environment) if isinstance(environment, dict) else {},
        "measured": list(run.forms),
        "traces": {form: path.name for form, path in run.traces.items()},
        "notes": [
            *run.notes,
            *unusable(run.forms),
            *(note for form in run.forms.values() for note in _texts(form.get("notes"))),
        ],
    }


def _path(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")


def _trace(analysis: Analysis, form: str) -> schema.TraceEntry:
    trace = analysis.trace
    busy, (rank, world) = busy_ns(trace), rank_of(trace)
    return {
        "path": _path(trace.source.path),
        "bytes": trace.source.size,
        "events": len(trace.events),
        "base_ns": trace.base_ns,
        "form": form,
        "vendor": trace.vendor,
        "devices": [{"id": d.id, "name": d.name, "busy_ns": busy.get(d.id, 0)} for d in trace.devices],
        "rank": rank,
        "world_size": world,
        "repairs": [_repair(analysis, repair) for repair in trace.repairs],
    }


def _repair(analysis: Analysis, repair: Repair) -> schema.RepairEntry:
    return {
        "kind": repair.kind,
        "count": repair.count,
        "example": repair.example,
        "offset": repair.offset,
        "in_steps": in_steps(analysis.trace, analysis.steps, repair),
    }


def _recorded_form(analysis: Analysis) -> str:
    """The form that device work shows; where there is none, that which the stamp names."""
    stamped = None if busy_ns(analysis.trace) else (analysis.trace.stamp or {}).get("form")
    return stamped if stamped in FORMS else analysis.form


def rank_of(trace: Trace, run: Run | None = None) -> tuple[int | None, int | None]:
    """The trace's rank and the number of ranks of its job, as far as it gives them, else as the run does that it is
    of."""
    named = [trace.metadata.get("distributedInfo"), run.manifest.get("environment") if run else None]
    known = (
        cast("Mapping[str, Any]", info)
        for info in named
        if isinstance(info, dict) and {"rank", "world_size"} & info.keys()
    )
    given = next(known, cast("Mapping[str, Any]", {}))
    return _integer(given.get("rank")), _integer(given.get("world_size"))


def _trust(trust: Trust) -> schema.TrustEntry:
    return {
        "level": trust.level,
        "checks": [
            {
                "id": check.id,
                "passed": check.passed,
                "value": _finite(check.value),
                "threshold": _finite(check.threshold),
                "message": check.message,
            }
            for check in trust.checks
        ],
    }


def _window(analysis: Analysis, run: Run | None) -> schema.WindowEntry:
    window, base = analysis.window, analysis.trace.base_ns
    lengths = (window.tiles[:, 1] - window.tiles[:, 0]) / NS_PER_MS if len(window.tiles) else np.empty(0)
    has_steps = window.kind in _WITH_STEPS and len(lengths) > 0
    return {
        "kind": window.kind,
        "name": window.name,
        "steps": len(lengths) if has_steps else None,
        "step_ms": {
            "median": float(np.median(lengths)) if has_steps else None,
            "min": float(lengths.min()) if has_steps else None,
            "max": float(lengths.max()) if has_steps else None,
        },
        "device": analysis.device,
        "intervals_ns": (window.tiles + base).tolist(),
        "notes": [*analysis.steps.notes, *_left_out(analysis, run)],
    }


def _left_out(analysis: Analysis, run: Run | None) -> tuple[str, ...]:
    """That measured times are of the whole step, where the window is a range."""
    is_measured = bool(measured_forms(analysis.trace.stamp, run.forms if run else {}))
    told = ("measured step times are of the whole step, not of this range: they are left out",)
    return told if is_measured and analysis.window.kind == "range" else ()


def _attribution(attribution: Attribution) -> schema.AttributionEntry:
    classes: dict[str, schema.ClassEntry] = {
        name: {"ns": sum(parts.values()), "parts": dict(parts)} for name, parts in attribution.parts.items()
    }
    return {"window_ns": attribution.window_ns, "classes": classes}


def _form(form: Form) -> schema.FormEntry:
    predicted = form.predicted
    return {
        "step_ms": _finite(form.step_ms),
        "low": _finite(form.low),
        "high": _finite(form.high),
        "source": form.source,
        "variant": form.variant,
        "region_ms": _finite(form.region_ms),
        "steps": form.steps,
        "blockers": [_blocker(blocker) for blocker in form.blockers],
        "predicted": {"step_ms": predicted[0], "low": predicted[1], "high": predicted[2]} if predicted else None,
        "terms": None if form.terms is None else _terms(form.terms),
        "setup_s": _finite(form.setup_s),
        "break_even_steps": _finite(form.break_even_steps),
        "peak_mib": _finite(form.peak_mib),
        "reserved_mib": _finite(form.reserved_mib),
        "traced_over_untraced": _finite(form.traced_over_untraced),
        "outputs": form.outputs,
        "largest_error": _finite(form.largest_error),
        "error": form.error,
    }


def _terms(terms: Terms) -> schema.TermsEntry:
    """The terms with whole ns of at most 64 bits, as anywhere in the document."""
    values = {name: _whole(value) if name.endswith("_ns") else value for name, value in terms.values.items()}
    return {"formula": terms.formula, "decided_by": terms.decided_by, "values": values}


def _whole(ns: float) -> int:
    """Absurd sizes of tensors give times that no JSON reader takes for a number."""
    return round(max(min(ns, LONGEST_NS), -LONGEST_NS))


def _blocker(blocker: Blocker) -> schema.BlockerEntry:
    per_step = _finite(blocker.per_step)
    return {"id": blocker.id, "message": blocker.message, "where": blocker.where, "per_step": per_step}


def _recommendation(advised: Recommendation) -> schema.RecommendationEntry:
    speedup, after = advised.speedup, advised.after_fix
    return {
        "verdict": advised.verdict,
        "decided": advised.decided,
        "among": list(advised.among),
        "speedup": {"mid": speedup.mid, "low": speedup.low, "high": speedup.high} if speedup else None,
        "confidence": advised.confidence,
        "factors": {name: round(factor, 3) for name, factor in advised.factors.items()},
        "summary": advised.summary,
        "snippet": advised.snippet,
        "fix_first": [{"blocker": b.id, "where": b.where, "advice": b.advice} for b in advised.fix_first],
        "after_fix": _after_fix(after) if after else None,
        "evidence": list(advised.evidence),
    }


def _after_fix(after: AfterFix) -> schema.AfterFixEntry:
    terms = _terms(after.terms) if after.terms else None
    return {"verdict": after.verdict, "step_ms": after.step_ms, "low": after.low, "high": after.high, "terms": terms}


def _costliest(analysis: Analysis, name: str, limit: int | None) -> Table:
    """The rows of a table with the document's columns, costliest first, at most `limit` of them."""
    table = analysis.tables[name]
    costs = [-table[column] for column in _COST[name]]
    found = table.take(np.lexsort(costs[::-1])[:limit])
    columns = dict(found.columns)
    if name == "gaps":
        columns["start_ns"] = found["start_ns"] + analysis.trace.base_ns
    if name == "syncs":
        columns["saving_ns"] = np.column_stack((found["saving_low_ns"], found["saving_high_ns"]))
    return replace(found, columns=columns)


def _rows(table: Table, name: str) -> list[schema.Row]:
    """Rows as plain values with the document's columns."""
    names = schema.COLUMNS[name]
    values = zip(*(table.plain(column) for column in names), strict=True)
    return [dict(zip(names, row, strict=True)) for row in values]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts(values: object) -> list[str]:
    """The texts of a list of a manifest, which may hold anything."""
    return (
        [text for value in cast("list[object]", values) if (text := _text(value))] if isinstance(values, list) else []
    )


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
