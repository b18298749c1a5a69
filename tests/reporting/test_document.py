from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import orjson
import pytest

from tests.advice.story import op, told
from tests.build import TraceBuilder
from tests.reporting import example
from tracelens import report
from tracelens.exitcodes import ExitCode
from tracelens.model.events import ABSENT
from tracelens.reporting import document as document_module
from tracelens.reporting import phrases, schema
from tracelens.reporting.report import Report


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return json.loads(Report(example.analysis(), example.advice()).to_json())


def test_the_document_has_the_keys_of_its_schema(document: dict[str, Any]) -> None:
    parts = {
        "tool": schema.Tool,
        "trace": schema.TraceEntry,
        "trust": schema.TrustEntry,
        "window": schema.WindowEntry,
        "attribution": schema.AttributionEntry,
        "recommendation": schema.RecommendationEntry,
    }
    assert list(document) == list(get_type_hints(schema.Document))
    for name, part in parts.items():
        assert list(document[name]) == list(get_type_hints(part))
    for form in document["forms"].values():
        assert list(form) == list(get_type_hints(schema.FormEntry))
    for name, columns in schema.COLUMNS.items():
        assert all(tuple(row) == columns for row in document["tables"][name])


def test_windows_are_on_the_files_own_clock(document: dict[str, Any]) -> None:
    base = example.BASE_NS
    assert document["window"]["intervals_ns"][0] == [base, base + 3_900_000]
    assert document["tables"]["gaps"][0]["start_ns"] == base + 4_100_000
    assert document["trace"]["base_ns"] == base
    total = sum(end - start for start, end in document["window"]["intervals_ns"])
    assert document["attribution"]["window_ns"] == total


@pytest.mark.parametrize(("stamped", "form"), [("compile", "compile"), ("other", "unknown"), ([], "unknown")])
def test_the_form_of_a_trace_without_device_work_is_its_stamps(stamped: object, form: str, tmp_path: Path) -> None:
    path = TraceBuilder().op("aten::mm", start=0, dur=10).stamp(form=stamped).write(tmp_path / "cpu.json")
    assert report(path).document["trace"]["form"] == form


def test_the_attribution_is_whole(document: dict[str, Any]) -> None:
    classes = document["attribution"]["classes"]
    assert all(entry["ns"] == sum(entry["parts"].values()) for entry in classes.values())
    assert sum(entry["ns"] for entry in classes.values()) == document["attribution"]["window_ns"]
    assert classes["kernel"]["parts"]["communication"] == 0


def test_steps_have_a_median_and_a_spread(document: dict[str, Any]) -> None:
    assert document["window"]["steps"] == 3
    assert document["window"]["step_ms"] == {"median": 4.0, "min": 3.9, "max": 4.1}


def test_a_range_has_no_steps() -> None:
    analysis = example.analysis()
    window = replace(analysis.window, kind="range")
    found = Report(replace(analysis, steps=replace(analysis.steps, window=window)), example.advice()).document["window"]
    assert found["steps"] is None
    assert found["step_ms"] == {"median": None, "min": None, "max": None}


def test_what_is_not_a_number_is_null(document: dict[str, Any]) -> None:
    assert document["forms"]["compile"]["break_even_steps"] is None
    assert document["trust"]["checks"][2]["value"] is None


def test_missing_cells_are_null() -> None:
    columns = {"latency_ns": [3_000, ABSENT], "where": [None, "a.py:1"]}
    analysis = example.with_column(example.analysis(), "launches", **columns)
    rows = Report(analysis, example.advice()).document["tables"]["launches"]
    assert sorted(row["handle"] for row in rows if row["latency_ns"] is None) == ["l-1"]
    assert {row["where"] for row in rows} == {None, "a.py:1"}
    assert {type(row["latency_ns"]) for row in rows} == {int, type(None)}


def test_devices_are_busy_for_the_union_of_their_work(document: dict[str, Any]) -> None:
    assert [device["busy_ns"] for device in document["trace"]["devices"]] == [2_000_000, 250_000]


def test_the_costliest_rows_come_first_and_a_limit_keeps_them() -> None:
    report = Report(example.analysis(), example.advice())
    limited = json.loads(report.to_json(limit=1))
    assert [row["handle"] for row in report.document["tables"]["gaps"]] == ["g-1", "g-0"]
    assert [row["handle"] for row in limited["tables"]["gaps"]] == ["g-1"]
    assert limited["table_rows"] == report.document["table_rows"]
    assert limited["table_rows"]["gaps"] == 2


def test_each_table_is_ranked_by_one_column_that_is_shown() -> None:
    analysis = example.analysis()
    operators = analysis.tables["operators"]
    host, device = np.array([5, 900, 5]), np.array([1_000, 0, 2_000])
    alike = operators.take(np.zeros(3, dtype=np.int64))
    found = replace(alike, columns={**alike.columns, "host_ns": host, "device_ns": device})
    ranked = Report(replace(analysis, tables={**analysis.tables, "operators": found}), example.advice())
    rows = ranked.document["tables"]["operators"]
    assert [(row["host_ns"], row["device_ns"]) for row in rows] == [(900, 0), (5, 2_000), (5, 1_000)]
    assert "Operators by host time over 3 traced steps" in ranked.to_text()


@pytest.mark.parametrize("at_once", [1, 2, 1000])
@pytest.mark.parametrize("limit", [None, 0, 1])
def test_json_in_pieces_is_the_document(at_once: int, limit: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_module, "_SOME", at_once)
    for analysis in (example.analysis(), example.empty_analysis()):
        whole = document_module.build(analysis, example.advice(), limit=limit)
        text = orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
        assert Report(analysis, example.advice()).to_json(limit=limit) == text


def test_a_path_that_is_not_utf8_can_be_written() -> None:
    analysis = example.analysis()
    source = replace(analysis.trace.source, path="caf\udce9.json")
    report = Report(replace(analysis, trace=replace(analysis.trace, source=source)), example.advice())
    assert json.loads(report.to_json())["trace"]["path"] == "caf\ufffd.json"


def test_a_window_without_device_work_has_nothing_to_judge() -> None:
    assert Report(example.analysis(), example.advice()).exit_code is ExitCode.OK
    assert Report(example.empty_analysis(), example.abstaining()).exit_code is ExitCode.NOTHING_TO_JUDGE


def test_the_document_obeys_no_terminal_and_hides_nothing() -> None:
    name = "a\x9b\x7f\u202e\u2028\ufeffé"
    text = Report(example.with_column(example.analysis(), "kernels", name=[name] * 7), example.advice()).to_json()
    assert all(line.isprintable() for line in text.split("\n"))
    assert {row["name"] for row in json.loads(text)["tables"]["kernels"]} == {name}


@pytest.mark.parametrize(("inside", "told"), [(None, "12 times, first"), (0, "12 times, none in the counted steps, ")])
def test_a_repair_says_whether_the_counted_steps_have_it(inside: int | None, told: str) -> None:
    entry: schema.RepairEntry = {"kind": "nan", "count": 12, "example": "", "offset": 5, "in_steps": inside}
    assert phrases.repair(entry).startswith(f"nan: {told}")
    entry["in_steps"] = 3
    assert phrases.repair(entry).startswith("nan: 12 times, 3 in the counted steps, first at byte 5")


def test_absurd_sizes_of_tensors_leave_the_document_readable(tmp_path: Path) -> None:
    beats = [op("aten::exp", 5.0, shapes=[[2**62, 2**40]], dtypes=["float"])] * 20
    path = told(*beats).write(tmp_path / "absurd.json")
    found = orjson.loads(report(path).to_json())
    assert found["forms"]["replay"]["terms"]["values"]["input_copies_ns"] <= document_module.LONGEST_NS
