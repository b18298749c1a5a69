"""Predictions against step times that were measured without a profiler, on small reference traces."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from tests.reference import reference_traces
from tracelens.advice import advise
from tracelens.advice.forms.verdict import COMPLEXITY
from tracelens.advice.results import Advice
from tracelens.analysis import analyze
from tracelens.loading import load_trace

LARGEST = 120_000
SMALL = [path for path in reference_traces("h200") if path.stat().st_size < LARGEST]
TRACES = [path for path in SMALL if ".eager.json" in path.name]


@pytest.fixture(scope="module")
def found() -> dict[Path, Advice]:
    if not TRACES:
        pytest.skip("no reference traces")
    return {path: advise(analyze(load_trace(path))) for path in TRACES}


def measured(path: Path, form: str) -> float | None:
    truth = json.loads((path.parent / "truth.json").read_text())["workloads"][path.name.partition(".")[0]]
    times = [statistics.median(truth[name]["step_ms"]) for name in truth if name == form and truth[name].get("step_ms")]
    return times[0] if times else None


def errors(found: dict[Path, Advice], form: str) -> list[float]:
    pairs = [(advice.forms[form].step_ms, measured(path, form)) for path, advice in found.items()]
    return [abs(step - true) / true for step, true in pairs if step is not None and true is not None]


@pytest.mark.parametrize(("form", "bound"), [("replay", 0.03), ("eager", 0.15), ("compile", 0.2)])
def test_the_usual_error_of_a_form(found: dict[Path, Advice], form: str, bound: float) -> None:
    all_errors = errors(found, form)
    assert len(all_errors) >= 5
    assert statistics.median(all_errors) <= bound


def test_verdicts_follow_from_the_documents_own_forms(found: dict[Path, Advice]) -> None:
    for path, advice in found.items():
        verdict = advice.recommendation.verdict
        chosen = advice.forms["eager" if verdict == "neither" else verdict].step_ms
        times = {name: form.step_ms for name, form in advice.forms.items() if form.step_ms is not None}
        assert chosen is not None, path.name
        assert chosen <= 1.1 * min(times.values()), path.name
        simpler = [time for name, time in times.items() if COMPLEXITY[name] < COMPLEXITY.get(verdict, 0)]
        assert all(time > 1.03 * min(times.values()) for time in simpler), path.name


def test_replay_is_never_offered_where_the_measurement_could_not_capture(found: dict[Path, Advice]) -> None:
    for path, advice in found.items():
        truth = json.loads((path.parent / "truth.json").read_text())["workloads"][path.name.partition(".")[0]]
        if "error" in truth.get("replay", {}):
            assert advice.forms["replay"].step_ms is None, path.name
            assert advice.forms["replay"].blockers, path.name


@pytest.mark.parametrize(("traced", "form", "bound"), [("replay", "replay", 0.05), ("compile", "both", 0.05)])
def test_what_a_trace_of_another_form_shows(traced: str, form: str, bound: float) -> None:
    paths = [path for path in SMALL if f".{traced}.json" in path.name]
    if not paths:
        pytest.skip("no reference traces")
    found = {path: advise(analyze(load_trace(path))) for path in paths}
    assert all(advice.recommendation.verdict != traced for advice in found.values())
    measured_form = "both_manual" if form == "both" else form
    pairs = [(advice.forms[form].step_ms, measured(path, measured_form)) for path, advice in found.items()]
    off = [abs(step - true) / true for step, true in pairs if step is not None and true is not None]
    assert len(off) >= 3
    assert statistics.median(off) <= bound


def test_a_trace_that_shows_one_form_decides_nothing() -> None:
    paths = [path for path in SMALL if ".both.json" in path.name]
    if not paths:
        pytest.skip("no reference traces")
    found = [advise(analyze(load_trace(path))) for path in paths]
    assert {(advice.recommendation.verdict, advice.recommendation.decided) for advice in found} == {("neither", False)}
    assert {advice.forms["both"].variant for advice in found} == {"reduce-overhead"}
