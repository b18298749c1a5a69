"""The advice on steps whose every form was measured without a profiler."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from tracelens.advice import advise
from tracelens.advice.results import Advice
from tracelens.advice.verdict import COMPLEXITY
from tracelens.analysis import analyze
from tracelens.loading import load_trace

FOLDER = Path(__file__).parent.parent / "data" / "measured"
MEASURED: dict[str, dict[str, float]] = json.loads((FOLDER / "step_ms.json").read_text())
RIGHT, NEEDLESS = 0.05, 0.03


@pytest.fixture(scope="module")
def advised() -> dict[str, Advice]:
    return {name: advise(analyze(load_trace(FOLDER / f"{name}.eager.json.gz"))) for name in MEASURED}


def best_variants(times: dict[str, float]) -> dict[str, float]:
    """Times by form, with the better of the two ways to compile and replay."""
    both = min(time for form, time in times.items() if form.startswith("both"))
    return {form: time for form, time in times.items() if not form.startswith("both")} | {"both": both}


def is_right(verdict: str, measured: dict[str, float]) -> bool:
    """Within 5 % of the fastest form, with no simpler one within 3 % of it."""
    times = best_variants(measured)
    chosen, fastest = "eager" if verdict == "neither" else verdict, min(times.values())
    simpler = [time for form, time in times.items() if COMPLEXITY[form] < COMPLEXITY[chosen]]
    return (
        times.get(chosen, float("inf")) <= (1 + RIGHT) * fastest
        and min(simpler, default=float("inf")) > (1 + NEEDLESS) * fastest
    )


def errors(advised: dict[str, Advice], form: str) -> list[float]:
    pairs = [(advised[name].forms[form].step_ms, best_variants(times).get(form)) for name, times in MEASURED.items()]
    return [abs(step - true) / true for step, true in pairs if step is not None and true is not None]


def test_nearly_every_verdict_is_right(advised: dict[str, Advice]) -> None:
    wrong = [name for name, found in advised.items() if not is_right(found.recommendation.verdict, MEASURED[name])]
    assert len(wrong) <= 2, wrong


@pytest.mark.parametrize(("form", "bound"), [("eager", 0.15), ("compile", 0.15), ("replay", 0.05), ("both", 0.1)])
def test_the_median_error_of_a_form(advised: dict[str, Advice], form: str, bound: float) -> None:
    assert statistics.median(errors(advised, form)) <= bound


def test_ranges_hold_most_measured_times(advised: dict[str, Advice]) -> None:
    held = [
        found.low <= time <= found.high
        for name, times in MEASURED.items()
        for form, time in best_variants(times).items()
        for found in [advised[name].forms[form]]
        if found.low is not None and found.high is not None
    ]
    assert sum(held) >= 0.88 * len(held)


def test_replay_is_offered_just_where_the_step_could_be_captured(advised: dict[str, Advice]) -> None:
    offered = {name for name, found in advised.items() if found.forms["replay"].step_ms is not None}
    assert offered == {name for name, times in MEASURED.items() if "replay" in times}
