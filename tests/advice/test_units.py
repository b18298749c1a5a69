"""What is said of a unit of launches that repeats where no steps are annotated."""

from __future__ import annotations

import pytest

from tests.advice.story import Beat, gemm, pointwise, told
from tracelens.advice import advise
from tracelens.advice.results import Recommendation
from tracelens.analysis import analyze


def advised(layer: list[Beat], layers: int, *, annotated: bool) -> Recommendation:
    """The advice on steps of so many layers alike."""
    builder = told(*layer * layers, pause=1)
    if not annotated:
        builder.events = [event for event in builder.events if event["cat"] != "user_annotation"]
    analysis = analyze(builder.trace())
    assert analysis.window.kind == ("profiler_step" if annotated else "period")
    return advise(analysis).recommendation


@pytest.mark.parametrize("layer", [[gemm(200), pointwise(100, 1 << 24)], [gemm(900)]])
def test_a_layer_makes_no_verdict_surer_than_its_step(layer: list[Beat]) -> None:
    step, part = (advised(layer, 6, annotated=annotated) for annotated in (True, False))
    assert 0 < part.confidence < step.confidence
