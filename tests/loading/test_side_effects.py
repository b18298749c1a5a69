"""Reading a trace opens the trace: it runs nothing, writes nothing and follows no name to another file."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tracelens
from tests.build import TraceBuilder
from tracelens.loading.reread import event_args

NEVER = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect", "exec", "pickle")
_seen: list[tuple[str, str]] = []
_listening = False


def _listen(event: str, arguments: tuple[object, ...]) -> None:
    if _listening and (event == "open" or event.startswith(NEVER)):
        _seen.append((event, str(arguments[0])))


sys.addaudithook(_listen)


@contextmanager
def listening() -> Generator[list[tuple[str, str]]]:
    """What is opened and run meanwhile."""
    global _listening
    _seen.clear()
    _listening = True
    try:
        yield _seen
    finally:
        _listening = False


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_only_the_trace_is_opened(name: str, tmp_path: Path) -> None:
    other = tmp_path / "model.py"
    other.write_text("raise SystemExit")
    build = TraceBuilder(metadata={"traceName": str(other), "with_stack": 1}).step(0, 0, 90)
    build.python(f"{other}(1): forward", 0, 80).op("aten::mm", 5, 20, **{"Call stack": f"{other}(1): f"})
    build.launch("triton_poi", 10, at=30, kernel_file=str(other), kernel_hash="../../etc/passwd")
    path = build.write(tmp_path / name)
    first = tracelens.report(path)
    first.to_text(), first.to_markdown()  # whatever is imported late is imported now
    before = sorted(tmp_path.iterdir())
    with listening() as seen:
        report = tracelens.report(path)
        report.to_text()
        report.to_markdown()
        event_args(report.analysis.trace, 0)
    assert {opened for event, opened in seen if event == "open"} == {str(path)}
    assert [event for event, _ in seen if event != "open"] == []
    assert sorted(tmp_path.iterdir()) == before
