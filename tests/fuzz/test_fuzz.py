"""A bounded run of each fuzzer; `python -m tests.fuzz --minutes 30` runs them for longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import damage, guided, structured

SEED = 20


def test_mutated_files_are_loaded_or_refused() -> None:
    pytest.importorskip("atheris", reason="the engine has no wheel for this platform")
    summary, sound = guided.fuzz(None, 0, 6, SEED)
    assert sound, summary


def test_any_trace_is_reported(tmp_path: Path) -> None:
    watch = structured.fuzz(None, 0, 6, SEED, tmp_path / "trace.json")
    assert watch.runs
    assert not watch.faults, watch.summary()


def test_cuts_and_flips_are_named_and_cost_nothing_before_them(tmp_path: Path) -> None:
    samples = sorted((damage.ROOT / "sample_traces").rglob("*.json.gz"))[:4]
    watch = damage.fuzz(None, 4, 0, SEED, tmp_path, samples)
    assert watch.runs == 8 * len(samples)
    assert not watch.faults, watch.summary()
