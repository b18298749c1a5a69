"""Reads a trace in a process of its own, beside the app.

One interpreter runs one thread at a time: reading would wait for the imports of the app, and its keys for reading."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from tracelens.errors import UnreadableError
from tracelens.tui.opening import Progress, Report, Stopped, read_here

if TYPE_CHECKING:
    from tracelens.loading.runs import Run
    from tracelens.model.events import Trace

READER: Final = "import gc; gc.disable(); from tracelens.tui.apart import serve; serve()"
"""What the other process runs; no collection looks at what it imports and reads."""

PIPE: Final = 1 << 20
"""Bytes that the trace comes in at a time, where the system lets one choose: each takes a turn of the interpreter."""


def read_apart(path: str, run: Run | None, report: Report) -> tuple[Trace, Run | None]:
    """What `read_here` does, by another process; by this one where none can be started."""
    try:
        reader = _start(path if run is None else str(run.folder))
    except OSError:
        return read_here(path, run, report)
    with reader:
        try:
            return _received(reader, report)
        except (EOFError, pickle.UnpicklingError):
            ended = reader.wait()
        finally:
            reader.kill()
    if ended < 0:
        raise UnreadableError(f"{path}: reading was ended from outside (signal {-ended}), perhaps for want of memory")
    return read_here(path, run, report)


def _start(path: str) -> subprocess.Popen[bytes]:
    """The other process, with the modules that this one has and none from the current directory."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", READER, path],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pipesize=PIPE,
    )


def _received(reader: subprocess.Popen[bytes], report: Report) -> tuple[Trace, Run | None]:
    """What the other process says: how far it is, at last a trace or an error. It reads until its input ends."""
    lifeline, answers = _pipes(reader)
    while isinstance(answer := pickle.load(answers), Progress):
        try:
            report(answer)
        except Stopped:
            lifeline.close()
    if isinstance(answer, Exception):
        raise answer
    return answer


def _pipes(reader: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert reader.stdin is not None
    assert reader.stdout is not None
    return reader.stdin, reader.stdout


def serve() -> None:
    """The other process: reads the trace or the run that it is given the path of, and answers on standard output."""
    stopped = threading.Event()
    threading.Thread(target=_await_end, args=(stopped,), daemon=True).start()

    def report(progress: Progress) -> None:
        if stopped.is_set():
            raise Stopped
        _answer(progress)

    try:
        _answer(_read(sys.argv[1], report))
    except Exception as error:
        _answer(error)
    # To give the memory back piece by piece would keep the app waiting.
    os._exit(0)


def _await_end(stopped: threading.Event) -> None:
    """Set the event once standard input has ended: the app wants no more, or is gone."""
    os.read(sys.stdin.fileno(), 1)
    stopped.set()


def _read(path: str, report: Report) -> tuple[Trace, Run | None]:
    from tracelens.loading.runs import read_run

    return read_here(path, read_run(Path(path)) if Path(path).is_dir() else None, report)


def _answer(found: Progress | tuple[Trace, Run | None] | Exception) -> None:
    pickle.dump(found, sys.stdout.buffer, protocol=pickle.HIGHEST_PROTOCOL)
    sys.stdout.buffer.flush()
