"""Runs one form in a child process of its own, so that its crash, hang or lack of memory costs nobody else."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capture.job import Job, Plan, Target
from capture.progress import Board, Line
from capture.ranks import rendezvous
from capture.tape import Tape

POLL_S = 0.1
GRACE_S = 15.0
"""Seconds that a script has to end by itself once it has been told to stop."""


@dataclass(frozen=True)
class Outcome:
    """How a child process ended: its result, and what cut it short."""

    result: dict[str, Any] | None
    exit_code: int
    cut: str | None = None

    @property
    def finished(self) -> bool:
        """Whether the form recorded all it should, or that it cannot run."""
        return self.result is not None and bool(self.result["finished"])

    @property
    def ended_early(self) -> bool:
        """Whether the script ended by itself before all was recorded."""
        return self.result is not None and not self.finished and self.cut is None

    @property
    def steps(self) -> int:
        """Whole steps that were seen."""
        return self.result["steps_seen"] if self.result else 0

    def refitted(self, job: Job, steps: int) -> Job:
        """Return the job with phases for so many steps, and with the target that was found."""
        assert self.result is not None
        plan = Plan(**self.result["plan"]).fitted(steps)
        return job.with_(plan=plan, target=Target(**self.result["target"]))


def interrupt_at_every_end() -> None:
    """Take a request to end, or the loss of the terminal, as Ctrl-C, so that no child is left; what nohup and its
    like ignore stays ignored."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def run_form(job: Job, tape: Tape, log: Path | None, timeout: float, line: Line) -> Outcome:
    """Run one form to its end, its time limit or Ctrl-C; a log takes its output, else it passes through."""
    job.work.mkdir(parents=True, exist_ok=True)
    job.result.unlink(missing_ok=True)
    board = Board(job.board)
    board.show("starting")
    process, sink = _start(job, log)
    playback = tape.play(sink)
    try:
        cut = _wait(process, board, line, timeout, math.inf if job.to_end else GRACE_S)
    except KeyboardInterrupt:
        cut = "interrupted"
    finally:
        _end(process)
        playback.stop()
    return Outcome(_read(job.result), process.returncode, cut)


def _start(job: Job, log: Path | None) -> tuple[subprocess.Popen[bytes], int]:
    """Start the child in a process group of its own; returns it and the writing end of its standard input."""
    orders = job.work / "job.json"
    job.save(orders)
    source, sink = os.pipe()
    output = log.open("ab") if log else None
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("boot.py")), str(orders)],
        stdin=source,
        stdout=output,
        stderr=subprocess.STDOUT if output else None,
        env={"PYTHONHASHSEED": str(job.seed % 2**32), **os.environ, **rendezvous(job.turn)},
        start_new_session=True,
    )
    os.close(source)
    if output:
        output.close()
    return process, sink


def _wait(process: subprocess.Popen[bytes], board: Board, line: Line, timeout: float, grace: float) -> str | None:
    """Wait for the child, once it is done only for the grace; returns what cuts it short, if anything.

    Once it is done nothing does: it has told all, however long its end takes."""
    started, done_at = time.monotonic(), None
    while process.poll() is None:
        line.update(board)
        now = time.monotonic()
        if done_at is None and board.done:
            done_at = now
        if done_at is not None and now - done_at > grace:
            return None
        if now - started > timeout:
            return None if board.done else f"did not end within {timeout:.0f} s (while {board.read()[0]})"
        time.sleep(POLL_S)
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the child's whole process group, data-loader workers included."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(5)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None
