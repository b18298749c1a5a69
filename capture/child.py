"""One form's process: runs the script, and joins in as soon as the script has imported torch."""

from __future__ import annotations

import importlib
import random
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capture.imports import AfterImport
from capture.job import Job
from capture.progress import Board, say
from capture.region import StopScript
from capture.result import Result
from capture.script import Script, ScriptError, own_traceback

if TYPE_CHECKING:
    from capture.session import Session


class Child:
    """The script's process. Torch is imported by the script itself, so that its settings before that have their say."""

    def __init__(self, job: Job, package_present: Callable[[], AbstractContextManager[None]]) -> None:
        self.result = Result(job)
        self._package_present = package_present
        self._session: Session | None = None
        Board(job.board).show("searching")
        random.seed(job.seed)
        AfterImport("numpy", self._seed_numpy)
        AfterImport("torch", self._begin)

    def decorate(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the named function of the script as the region."""
        importlib.import_module("torch")
        assert self._session is not None
        return self._session.decorate(function)

    def close(self, ended: str, exit_code: int) -> None:
        """Take every watch off and write the last result."""
        if self._session is not None:
            self._session.stop()
        self.result.save(ended, exit_code)

    def _begin(self) -> None:
        with self._package_present():
            from capture.session import Session
        self._session = Session(self.result)

    def _seed_numpy(self) -> None:
        sys.modules["numpy"].random.seed(self.result.job.seed % 2**32)


def run_job(path: str, package_present: Callable[[], AbstractContextManager[None]]) -> int:
    """Run one form; returns the script's exit code."""
    job = Job.load(Path(path))
    child = Child(job, package_present)
    end_threads_quietly()
    ended, code = "finished", 0
    try:
        Script.find(job.script, job.is_module).run(job.arguments, job.target, child.decorate)
    except StopScript:
        ended = "stopped"
    except ScriptError as error:
        say(f"tracelens capture: {error}")
        ended, code = "usage", 2
    except SystemExit as error:
        ended, code = "exit", _exit_code(error)
    except BaseException as error:
        ended, code = "raised", _show(error)
        child.result.fail(error)
    child.close(ended, code)
    return code


def end_threads_quietly() -> None:
    """Show nothing of a thread of the script's that was stopped after the last needed step."""
    show = threading.excepthook
    threading.excepthook = lambda args: None if args.exc_type is StopScript else show(args)


def _exit_code(error: SystemExit) -> int:
    """Return the code that Python would exit with, having printed what it would print."""
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    print(error.code, file=sys.stderr)
    return 1


def _show(error: BaseException) -> int:
    """Print the traceback as the plain script would; returns its exit code."""
    sys.stdout.flush()
    shown = error.with_traceback(own_traceback(error.__traceback__))
    sys.excepthook(type(shown), shown, shown.__traceback__)
    return 130 if isinstance(error, KeyboardInterrupt) else 1
