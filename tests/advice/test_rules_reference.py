"""Findings of real traces are sane: parts of the step, with evidence, and in line with the verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.advice.sane import expect_sane_findings
from tests.reference import reference_traces
from tracelens.advice import advise
from tracelens.analysis import analyze
from tracelens.errors import UnreadableError
from tracelens.loading import load_trace

QUICK = 400_000
"""Bytes of a file; larger ones are read in other tests, and say the same."""
TRACES = [path for path in reference_traces("public", "h200") if path.stat().st_size < QUICK]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_findings_of_real_traces_are_sane(path: Path) -> None:
    try:
        analysis = analyze(load_trace(str(path)))
    except UnreadableError:
        pytest.skip("no trace of the profiler")
    expect_sane_findings(analysis, advise(analysis))
