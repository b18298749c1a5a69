"""Every output of one known report, byte for byte. TRACELENS_GOLDEN=write renews the files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reporting import example
from tracelens.reporting.report import Report

GOLDEN = Path(__file__).parent / "golden"
OUTPUTS: dict[str, Callable[[Report], str]] = {
    "report.txt": Report.to_text,
    "narrow.txt": lambda report: report.to_text(width=48),
    "wide.txt": lambda report: report.to_text(width=140, limit=None),
    "ascii.txt": lambda report: report.to_text(unicode=False),
    "color.txt": lambda report: report.to_text(color=True),
    "report.md": Report.to_markdown,
    "report.json": Report.to_json,
    "kernels.csv": Report.to_csv,
    "syncs.csv": lambda report: report.to_csv("syncs"),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_output_is_as_recorded(name: str) -> None:
    written = OUTPUTS[name](Report(example.analysis(), example.advice())).encode()
    if os.environ.get("TRACELENS_GOLDEN") == "write":
        (GOLDEN / name).write_bytes(written)
    assert written == (GOLDEN / name).read_bytes()


@pytest.mark.parametrize("name", ["report.txt", "report.md", "report.json"])
def test_output_without_an_answer_is_as_recorded(name: str) -> None:
    path = GOLDEN / f"abstain.{name.partition('.')[2]}"
    written = OUTPUTS[name](Report(example.empty_analysis(), example.abstaining())).encode()
    if os.environ.get("TRACELENS_GOLDEN") == "write":
        path.write_bytes(written)
    assert written == path.read_bytes()
