"""What is said of steps that the mean is no step for."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.reporting import example
from tracelens.model.units import NS_PER_MS
from tracelens.reporting import phrases
from tracelens.reporting.report import Report
from tracelens.reporting.schema import Document


def of_steps(*lengths: float, eager: float | None = None, kind: str = "profiler_step") -> Document:
    """A document of steps of these lengths in ms, eager predicted as their mean or as given."""
    document = Report(example.analysis(), example.advice()).document
    mean = sum(lengths) / len(lengths)
    median = sorted(lengths)[len(lengths) // 2]
    spread = {"median": median, "min": min(lengths), "max": max(lengths)}
    ends = [round(sum(lengths[:at]) * NS_PER_MS) for at in range(len(lengths) + 1)]
    tiles = [list(pair) for pair in pairwise(ends)]
    document["window"] |= {"kind": kind, "steps": len(lengths), "step_ms": spread, "intervals_ns": tiles}  # type: ignore[typeddict-item]
    document["attribution"]["window_ns"] = ends[-1]
    document["forms"]["eager"] |= {"step_ms": eager or mean, "source": "predicted"}  # type: ignore[typeddict-item]
    return document


def test_an_outlier_is_told_with_the_median_where_a_typical_step_is_meant() -> None:
    assert phrases.profiled(of_steps(50, 50, 50, 50, 130)) == (
        "1 of 5 steps is an outlier of 130 ms, the median takes 50.0 ms; the account and the forms' times are the mean "
        "of all."
    )
    assert phrases.profiled(of_steps(50, 50, 50, 50, 130, kind="period")).startswith("1 of 5 units is")
    two = phrases.profiled(of_steps(50, 50, 50, 90, 130, eager=50.0))
    assert two.startswith("2 of 5 steps are outliers of up to 130 ms, the median takes 50.0 ms; the account is")
    assert "a typical one takes 50.0 ms" in two


@pytest.mark.parametrize("lengths", [(50, 50, 50), (50, 52, 55), (40, 50, 60), (50,)])
def test_steps_that_are_much_alike_have_no_outlier(lengths: tuple[float, ...]) -> None:
    assert "outlier" not in phrases.profiled(of_steps(*lengths))
