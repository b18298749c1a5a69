"""import tracelens: load, analyze, report, and DataFrames of a trace."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import tracelens
from tests.build import TraceBuilder
from tracelens.errors import TraceLensError, UnreadableError, UsageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    built = TraceBuilder().step(0, start=0, dur=100).op("aten::mm", start=10, dur=30)
    built.launch("gemm", start=20, dur=5, at=40, runs=50)
    built.step(1, start=100, dur=100).op("aten::mm", start=110, dur=30)
    built.launch("gemm", start=120, dur=5, at=140, runs=50)
    built.launch_graph(150, 10, [("node_a", 195, 5), ("node_b", 200, 5)])
    return built.write(tmp_path / "trace.json")


def test_a_trace_has_dataframes(path: Path) -> None:
    trace = tracelens.load(path)
    kernels = trace.kernels
    assert isinstance(kernels, pd.DataFrame)
    assert kernels["name"].tolist() == ["gemm", "gemm", "node_a", "node_b"]
    assert kernels["handle"].tolist() == ["k-1", "k-2", "k-3", "k-4"]
    assert kernels["start_ns"].tolist() == [40_000, 140_000, 195_000, 200_000]
    assert kernels["ns"].tolist() == [50_000, 50_000, 5_000, 5_000]
    assert kernels["operator"].tolist() == ["aten::mm", "aten::mm", None, None]
    assert kernels["launch"].tolist() == ["l-1", "l-2", "l-3", "l-3"]
    assert set(kernels["kind"][:2]) == {"gemm"}
    assert trace.kernels is kernels


def test_operators_and_launches_are_dataframes_too(path: Path) -> None:
    trace = tracelens.load(path)
    assert trace.operators["name"].tolist() == ["aten::mm", "aten::mm"]
    assert trace.launches["kernels"].tolist() == [1, 1, 2]
    assert trace.events.start[trace.launches["row"]].tolist() == trace.launches["start_ns"].tolist()


def test_an_empty_trace_has_empty_dataframes(tmp_path: Path) -> None:
    trace = tracelens.load(TraceBuilder().write(tmp_path / "empty.json"))
    assert [len(trace.kernels), len(trace.operators), len(trace.launches)] == [0, 0, 0]
    assert list(trace.kernels) == list(tracelens.load(tmp_path).kernels)


def test_a_trace_is_analyzed_and_reported(path: Path) -> None:
    trace = tracelens.load(path)
    analysis = tracelens.analyze(trace, span="all")
    assert analysis.attribution.window_ns == 165_000
    report = tracelens.report(trace, span=(0, 100_000))
    assert report.document["window"]["kind"] == "range"
    assert json.loads(report.to_json()) == json.loads(tracelens.report(path, span=(0, 100_000)).to_json())
    assert report.to_text().endswith("\n")
    assert "\n### " in report.to_markdown()


def test_errors_are_one_line(path: Path, tmp_path: Path) -> None:
    with pytest.raises(UnreadableError) as missing:
        tracelens.load(tmp_path / "missing.json")
    with pytest.raises(UsageError) as device:
        tracelens.analyze(tracelens.load(path), device=9)
    for raised in (missing, device):
        assert isinstance(raised.value, TraceLensError)
        assert len(str(raised.value).splitlines()) == 1


def test_progress_is_told(path: Path) -> None:
    calls: list[tuple[int, int, int]] = []
    trace = tracelens.load(path, progress=lambda *call: calls.append(call))
    assert calls
    assert all(0 <= done <= total for done, total, _ in calls)
    assert calls[-1][2] <= len(trace.events)


def test_the_package_offers_what_it_documents() -> None:
    assert set(dir(tracelens)) == {"Trace", "__version__", "analyze", "load", "report"}
    for name in ("load", "analyze", "report"):
        function = getattr(tracelens, name)
        assert callable(function)
        assert "Raises" in function.__doc__ or "errors" in function.__doc__
    with pytest.raises(AttributeError, match="no attribute 'analyse'"):
        tracelens.analyse  # type: ignore[attr-defined]  # noqa: B018


def test_a_file_is_analyzed_by_its_path(path: Path) -> None:
    assert tracelens.analyze(path).attribution == tracelens.analyze(tracelens.load(str(path))).attribution


def test_what_a_shell_shows_is_one_line(path: Path) -> None:
    shown = (tracelens.load(path), tracelens.analyze(path), tracelens.report(path))
    assert all("trace.json" in repr(value) and len(repr(value)) < 200 + len(str(path)) for value in shown)
    assert not any("\n" in repr(value) for value in shown)
