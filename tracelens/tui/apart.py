"""Opens a trace in a process of its own, beside the app.

One interpreter runs one thread at a time: reading would wait for the imports of the app, and its keys for reading."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import IO, TYPE_CHECKING, Final, NoReturn

from tracelens.errors import UnreadableError
from tracelens.tui.opening import Open, Progress, Report, Stopped, open_here

if TYPE_CHECKING:
    from tracelens.loading.runs import Run
    from tracelens.tui.links import Portion
    from tracelens.tui.session import Session

FORKS: Final = sys.platform == "linux"
"""Elsewhere processes are not copied, or their libraries may not be used in the copy."""
SHARED: Final = ("tracelens.loading", "tracelens.analysis", "tracelens.advice.results")
"""What both processes need: imported before, it is imported once."""
PIPE: Final = 1 << 20
"""Bytes that the session comes in at a time, where the system allows: each takes a turn of the interpreter."""


def begin_apart(path: str, run: Run | None, portion: Portion) -> Open:
    """Begin what `open_here` does, in a copy of this process, and return what waits for its answer.

    `open_here` itself where there are no copies. To be called before the first thread is started: a lock that one
    holds would stay locked in the copy."""
    for module in SHARED:
        import_module(module)
    if not FORKS:
        return open_here
    try:
        return _fork(path, run, portion).open
    except OSError:
        return open_here


@dataclass(frozen=True, slots=True)
class _Other:
    """The other process, which reads until its lifeline is closed."""

    pid: int
    lifeline: IO[bytes]
    answers: IO[bytes]

    def open(self, path: str, run: Run | None, portion: Portion, report: Report) -> Session:
        """What the other process has opened; opened here if it ended without an answer."""
        try:
            with self.lifeline, self.answers:
                return self._answer(report)
        except (EOFError, pickle.UnpicklingError):
            ended = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if ended < 0:
            raise UnreadableError(
                f"{path}: reading was ended from outside (signal {-ended}), perhaps for want of memory"
            )
        return open_here(path, run, portion, report)

    def _answer(self, report: Report) -> Session:
        """What it says: how far it is, at last a session or an error."""
        while isinstance(answer := pickle.load(self.answers), Progress):
            try:
                report(answer)
            except Stopped:
                self.lifeline.close()
        # To give back its memory takes a while, for which nobody need wait.
        threading.Thread(target=os.waitpid, args=(self.pid, 0), daemon=True).start()
        if isinstance(answer, Exception):
            raise answer
        return answer


def _fork(path: str, run: Run | None, portion: Portion) -> _Other:
    watched, lifeline = os.pipe()
    answers, said = os.pipe()
    _widen(said)
    pid = os.fork()
    if not pid:
        os.close(lifeline)
        os.close(answers)
        _serve(path, run, portion, watched, os.fdopen(said, "wb"))
    os.close(watched)
    os.close(said)
    return _Other(pid, os.fdopen(lifeline, "wb"), os.fdopen(answers, "rb"))


def _widen(pipe: int) -> None:
    from fcntl import F_SETPIPE_SZ, fcntl

    # Refused to users who have many wide pipes already.
    with suppress(OSError):
        fcntl(pipe, F_SETPIPE_SZ, PIPE)


def _serve(path: str, run: Run | None, portion: Portion, lifeline: int, said: IO[bytes]) -> NoReturn:
    """The other process: open, say what was opened, and end at once whatever happens."""
    try:
        _leave_terminal()
        _open(path, run, portion, lifeline, said)
    finally:
        os._exit(0)


def _leave_terminal() -> None:
    """It is the app's: nothing that goes wrong here may be written on it."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)


def _open(path: str, run: Run | None, portion: Portion, lifeline: int, said: IO[bytes]) -> None:
    stopped = threading.Event()
    threading.Thread(target=_await_end, args=(lifeline, stopped), daemon=True).start()

    def say(what: Progress | Session | Exception) -> None:
        pickle.dump(what, said, protocol=pickle.HIGHEST_PROTOCOL)
        said.flush()

    def report(progress: Progress) -> None:
        # That all is read is said in any case: an app that is gone cannot hear it, and nothing more is done for it.
        if stopped.is_set() and progress.reading:
            raise Stopped
        say(progress)

    try:
        say(open_here(path, run, portion, report))
    except Exception as error:
        say(error)


def _await_end(lifeline: int, stopped: threading.Event) -> None:
    """Set the event once the app wants no more, or is gone."""
    os.read(lifeline, 1)
    stopped.set()
