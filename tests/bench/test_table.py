"""The benchmark keeps what it measured, spends no time on what takes too long, and says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench import log, table
from tests.bench.__main__ import is_due
from tests.bench.log import LIMIT, Log, Run
from tests.bench.subjects import HTA, HTA_REPORT, JSON, LOAD, REPORT, Subject
from tests.bench.traces import SAMPLE, Case, repeat_trace

RUN = Run("small", "", 2.0, 1.5, 8_000_000)
MEGABYTE = 1_000_000


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Log:
    monkeypatch.setattr(log, "FOLDER", tmp_path)
    return Log()


@pytest.fixture
def all_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where every reader and tool is installed."""
    monkeypatch.setattr(Subject, "is_installed", property(lambda subject: True))


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    found = [Case(name, tmp_path / f"{name}.json", tmp_path / f"{name}.gz") for name in ("small", "large")]
    for case, size in zip(found, (1, 5), strict=True):
        case.plain.write_bytes(b"[" + b" " * (size * MEGABYTE - 2) + b"]")
        case.zipped.write_bytes(b"")
    return found


def took(subject: Subject, *seconds: float, case: str = "small") -> list[Run]:
    return [replace(RUN, case=case, subject=subject.name, seconds=one) for one in seconds]


def test_what_was_measured_is_not_measured_again(runs: Log, cases: list[Case]) -> None:
    run = runs.measure(cases[0], JSON)
    assert run.is_whole
    assert run.seconds > 0
    assert run.peak_bytes > MEGABYTE
    again = Log()
    assert again.runs == [run]
    assert not is_due(again, cases[0], cases, JSON, 1)
    assert is_due(again, cases[0], cases, JSON, 2)
    assert Log(fresh=True).runs == []


@pytest.mark.usefixtures("all_installed")
def test_others_run_once_where_they_are_slow_and_never_where_they_are_too_slow(runs: Log, cases: list[Case]) -> None:
    small, large = cases
    runs.runs += [*took(HTA, table.PATIENCE + 1), *took(JSON, LIMIT / 24), *took(HTA_REPORT, LIMIT / 4)]
    runs.runs += took(LOAD, table.PATIENCE + 1)
    assert [is_due(runs, small, cases, subject, 2) for subject in (LOAD, JSON, HTA)] == [True, True, False]
    assert [is_due(runs, large, cases, subject, 1) for subject in (LOAD, JSON, HTA_REPORT)] == [True, True, False]


@pytest.mark.usefixtures("all_installed")
def test_the_page_has_medians_ratios_and_what_is_left_out(runs: Log, cases: list[Case]) -> None:
    runs.runs += [*took(LOAD, 1.0, 5.0, 2.0), *took(REPORT, 3.0), *took(JSON, 6.0), *took(HTA_REPORT, LIMIT / 4)]
    runs.runs += took(LOAD, 11.0, case="large")
    page = table.text(runs, cases)
    assert "| tracelens, load | 3 | 2.00 | 1.50 | 0.5 | 8 | 8.00 |" in page
    assert "- json.loads takes 3.00 (1.00 by processor time) times as long as tracelens, load." in page
    assert "| HolisticTraceAnalysis, idle time | 0 | about 300 expected | | | | |" in page
    assert "| tracelens, load | 2000.0 | 2200.0 | 1.10 |" in page


def test_a_trace_is_repeated_to_its_size(tmp_path: Path) -> None:
    repeat_trace(SAMPLE, tmp_path / "trace.json", 3 * MEGABYTE)
    assert (tmp_path / "trace.json").stat().st_size == pytest.approx(3 * MEGABYTE, rel=0.3)
