"""Reading a trace in a process of its own gives what reading it here gives, and ends as it does."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.runs import write_run
from tracelens.errors import UnreadableError
from tracelens.loading.runs import Run, read_run
from tracelens.model.events import Trace
from tracelens.tui import apart
from tracelens.tui.apart import begin_apart
from tracelens.tui.links import Portion
from tracelens.tui.opening import Opening, Progress, Report, Stopped, read_here

# The tests' runner may have threads; the app has none when it forks.
pytestmark = [
    pytest.mark.skipif(not apart.FORKS, reason="processes are not copied here"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


def read_apart(path: str, run: Run | None, report: Report) -> tuple[Trace, Run | None]:
    return begin_apart(path, run)(path, run, report)


def test_both_ways_read_alike(eager: Path) -> None:
    told: list[Progress] = []
    here, _ = read_here(str(eager), None, lambda progress: None)
    there, run = read_apart(str(eager), None, told.append)
    assert run is None
    assert there.names == here.names
    assert there.source == here.source
    for column in ("start", "duration", "name", "lane", "correlation", "offset"):
        assert np.array_equal(getattr(there.events, column), getattr(here.events, column))
    assert np.array_equal(there.links.launch, here.links.launch)
    assert 0 < told[-1].events <= len(here.events)


def test_a_trace_read_apart_is_judged_as_any_other(eager: Path) -> None:
    opening = Opening(str(eager), portion=Portion(range="all"), read=begin_apart(str(eager), None))
    opening.run()
    other = Opening(str(eager), portion=Portion(range="all"))
    other.run()
    assert opening.session is not None
    assert other.session is not None
    assert opening.session.document == other.session.document


@pytest.mark.parametrize("content", ["nothing", "[1]", ""])
def test_errors_are_those_of_reading_here(tmp_path: Path, content: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(content)
    with pytest.raises(UnreadableError) as here:
        read_here(str(path), None, lambda progress: None)
    with pytest.raises(UnreadableError) as there:
        read_apart(str(path), None, lambda progress: None)
    assert str(there.value) == str(here.value)


def test_what_was_read_before_it_is_stopped_is_kept(tmp_path: Path) -> None:
    event = '{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": %d, "dur": 1}'
    path = tmp_path / "large.json"
    path.write_text(f'{{"traceEvents": [{",".join(event % ts for ts in range(300_000))}]}}')

    def stop(progress: Progress) -> None:
        raise Stopped

    trace, _ = read_apart(str(path), None, stop)
    assert 0 < len(trace.events) < 300_000
    assert trace.repairs[0].kind == "file cut short"


def test_a_run_is_read_with_its_forms(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", traces=["eager", "compile"])
    run = read_run(folder)
    trace, left = read_apart(str(folder), run, lambda progress: None)
    assert left is not None
    assert set(left.traces) == {"eager", "compile"}
    assert trace.source.path == str(folder / "eager.pt.trace.json.gz")


def in_the_copy(act: Callable[[], object]) -> Callable[..., tuple[Trace, Run | None]]:
    """Reads here, and does something else in any other process."""
    here = os.getpid()

    def read(path: str, run: Run | None, report: Report) -> tuple[Trace, Run | None]:
        if os.getpid() != here:
            act()
        return read_here(path, run, report)

    return read


def test_a_process_that_is_ended_is_one_line(eager: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = in_the_copy(lambda: os.kill(os.getpid(), signal.SIGKILL))
    monkeypatch.setattr(apart, "read_here", killed)
    with pytest.raises(UnreadableError, match=r"eager.json: reading was ended from outside \(signal 9\)"):
        read_apart(str(eager), None, lambda progress: None)


def test_what_another_process_ends_without_is_read_here(eager: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "read_here", in_the_copy(lambda: os._exit(1)))
    trace, _ = read_apart(str(eager), None, lambda progress: None)
    assert trace.source.path == str(eager)


def test_without_another_process_it_is_read_here(eager: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refuse)
    trace, _ = read_apart(str(eager), None, lambda progress: None)
    assert trace.source.path == str(eager)


def test_what_goes_wrong_in_another_process_is_not_written_on_the_terminal(
    eager: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(apart, "read_here", in_the_copy(lambda: os.write(2, b"a warning")))
    read_apart(str(eager), None, lambda progress: None)
    assert capfd.readouterr().err == ""
