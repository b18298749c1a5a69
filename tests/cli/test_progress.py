from __future__ import annotations

import io

import pytest

from tracelens.cli import progress
from tracelens.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_quick_read_shows_nothing(clock: list[float]) -> None:
    stream = Terminal()
    with Progress(stream) as shown:
        clock[0] = 0.9
        shown(50, 100, 10)
    assert stream.getvalue() == ""


def test_a_slow_read_shows_its_share_and_cleans_up(clock: list[float]) -> None:
    stream = Terminal()
    with Progress(stream) as shown:
        for clock[0] in (1.1, 1.2, 1.5):
            shown(50_000_000, 100_000_000, 1_204_000)
        shown(60_000_000, 0, 1_204_000)
    drawn = stream.getvalue().split("\r\x1b[K")
    assert drawn == ["", *["reading: 50 % of 100 MB, 1,204,000 events"] * 2, ""]


def test_a_read_of_unknown_length_shows_bytes(clock: list[float]) -> None:
    stream = Terminal()
    with Progress(stream) as shown:
        clock[0] = 2.0
        shown(60_000_000, 0, 5)
    assert "reading: 60.0 MB, 5 events" in stream.getvalue()


def test_a_pipe_gets_no_progress(clock: list[float]) -> None:
    stream = io.StringIO()
    with Progress(stream) as shown:
        clock[0] = 5.0
        shown(1, 2, 3)
    assert stream.getvalue() == ""
