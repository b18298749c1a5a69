"""Opening a trace in a thread."""

from __future__ import annotations

from pathlib import Path

from tests.build import TraceBuilder
from tracelens.tui.opening import Opening, Progress
from tracelens.tui.pages.opening import loading
from tracelens.tui.rows import text
from tracelens.tui.session import Session


def large(path: Path) -> Path:
    """More than one slab of events."""
    builder = TraceBuilder()
    for number in range(12_000):
        builder.kernel("gemm", start=10.0 * number, dur=5)
    return builder.write(path)


def test_what_was_read_before_esc_is_kept(tmp_path: Path) -> None:
    path = large(tmp_path / "large.json")
    opening = Opening(str(path))
    opening.cancel()
    opening.run()
    assert isinstance(opening.session, Session)
    assert 0 < len(opening.session.trace.events) < 12_000
    assert not opening.progress.reading
    failed = [check["id"] for check in opening.session.document["trust"]["checks"] if not check["passed"]]
    assert "whole" in failed


def test_progress_is_a_determinate_bar() -> None:
    rows = [text(line) for line in loading("trace.json", Progress(5_000_000, 10_000_000, 1234), 80)]
    assert rows[1] == "Reading trace.json"
    assert rows[2] == f"{'█' * 28}{'░' * 28}  50% 5.00 MB, 1,234 events"


def test_a_defect_of_ours_is_one_line(tmp_path: Path) -> None:
    opening = Opening(str(tmp_path / "missing.json"))
    opening.run()
    assert opening.error is not None
    assert "\n" not in opening.error
    assert opening.exit_code == 3
