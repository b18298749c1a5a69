"""Opening a trace in a process of its own gives what opening it here gives, and ends as it does."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.runs import write_run
from tracelens.errors import TraceLensError, UnreadableError, UsageError
from tracelens.loading import choose
from tracelens.loading.load import empty_trace
from tracelens.loading.runs import Run, read_run
from tracelens.model.events import Trace
from tracelens.tui import apart, judging
from tracelens.tui.apart import begin_apart
from tracelens.tui.links import Portion
from tracelens.tui.opening import WHOLE, Open, Opening, Progress, Report, Stopped, open_here
from tracelens.tui.session import Session

# The tests' runner may have threads; the app has none when it forks.
pytestmark = [
    pytest.mark.skipif(not apart.FORKS, reason="processes are not copied here"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


def open_apart(path: str, run: Run | None = None, portion: Portion = WHOLE, report: Report = lambda _: None) -> Session:
    return begin_apart(path, run, portion)(path, run, portion, report)


def test_both_ways_open_alike(eager: Path) -> None:
    told: list[Progress] = []
    here = open_here(str(eager), None, WHOLE, lambda progress: None)
    there = open_apart(str(eager), report=told.append)
    assert there.trace.names == here.trace.names
    assert there.trace.source == here.trace.source
    for column in ("start", "duration", "name", "lane", "correlation", "offset"):
        assert np.array_equal(getattr(there.trace.events, column), getattr(here.trace.events, column))
    assert np.array_equal(there.trace.links.launch, here.trace.links.launch)
    assert there.document == here.document
    assert there.report.to_json() == here.report.to_json()
    assert there.costs == here.costs
    assert told[-1] == Progress(here.trace.source.size, here.trace.source.size, len(here.trace.events), reading=False)


def test_a_portion_is_judged_apart_as_here(eager: Path) -> None:
    portion = Portion(range="all")
    opening = Opening(str(eager), portion=portion, open=begin_apart(str(eager), None, portion))
    opening.run()
    other = Opening(str(eager), portion=portion)
    other.run()
    assert opening.session is not None
    assert other.session is not None
    assert opening.session.document == other.session.document
    assert opening.session.portion == portion


@pytest.mark.parametrize(
    ("content", "portion", "kind"),
    [
        ("nothing", WHOLE, UnreadableError),
        ("[1]", WHOLE, UnreadableError),
        ("", WHOLE, UnreadableError),
        ('[{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 2}]', Portion(device=7), UsageError),
    ],
)
def test_errors_are_those_of_opening_here(
    tmp_path: Path, content: str, portion: Portion, kind: type[TraceLensError]
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(content)
    with pytest.raises(kind) as here:
        open_here(str(path), None, portion, lambda progress: None)
    with pytest.raises(kind) as there:
        open_apart(str(path), portion=portion)
    assert str(there.value) == str(here.value)


def test_what_was_read_before_it_is_stopped_is_kept(tmp_path: Path) -> None:
    event = '{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": %d, "dur": 1}'
    path = tmp_path / "large.json"
    path.write_text(f'{{"traceEvents": [{",".join(event % ts for ts in range(300_000))}]}}')

    told: list[Progress] = []

    def stop(progress: Progress) -> None:
        told.append(progress)
        raise Stopped

    trace = open_apart(str(path), report=stop).trace
    assert 0 < len(trace.events) < 300_000
    assert trace.repairs[0].kind == "file cut short"
    assert not told[-1].reading


def test_nothing_is_judged_for_an_app_that_is_gone(
    eager: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, judged = tmp_path / "gone", tmp_path / "judged"

    def load(*ignored: object, **options: object) -> tuple[Trace, None]:
        while not gone.exists():
            time.sleep(0.01)
        return empty_trace(str(eager)), None

    monkeypatch.setattr(choose, "load_found", load)
    monkeypatch.setattr(judging, "judge", lambda *_: judged.touch())
    other = apart._fork(str(eager), None, WHOLE)
    other.answers.close()
    other.lifeline.close()
    gone.touch()
    os.waitpid(other.pid, 0)
    assert not judged.exists()


def test_a_run_is_opened_with_its_forms(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", traces=["eager", "compile"])
    session = open_apart(str(folder), read_run(folder))
    assert session.run is not None
    assert set(session.run.traces) == {"eager", "compile"}
    assert session.path == session.trace.source.path == str(folder / "eager.pt.trace.json.gz")


def in_the_copy(act: Callable[[], object]) -> Open:
    """Opens here, and does something else in any other process."""
    here = os.getpid()

    def opened(path: str, run: Run | None, portion: Portion, report: Report) -> Session:
        if os.getpid() != here:
            act()
        return open_here(path, run, portion, report)

    return opened


def test_a_process_that_is_ended_is_one_line(eager: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = in_the_copy(lambda: os.kill(os.getpid(), signal.SIGKILL))
    monkeypatch.setattr(apart, "open_here", killed)
    with pytest.raises(UnreadableError, match=r"eager.json: reading was ended from outside \(signal 9\)"):
        open_apart(str(eager))


def test_what_another_process_ends_without_is_opened_here(eager: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "open_here", in_the_copy(lambda: os._exit(1)))
    session = open_apart(str(eager))
    assert session.trace.source.path == str(eager)


def test_without_another_process_it_is_opened_here(eager: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refuse)
    session = open_apart(str(eager))
    assert session.trace.source.path == str(eager)


def test_what_goes_wrong_in_another_process_is_not_written_on_the_terminal(
    eager: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(apart, "open_here", in_the_copy(lambda: os.write(2, b"a warning")))
    open_apart(str(eager))
    assert capfd.readouterr().err == ""
