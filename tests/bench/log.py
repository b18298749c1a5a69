"""What was measured, kept run by run: a stopped benchmark loses nothing and goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.bench.bench_report import environment
from tests.bench.subjects import Subject
from tests.bench.traces import FOLDER, ROOT, Case

LIMIT: Final = 240.0
"""Seconds after which a run is ended."""


@dataclass(frozen=True)
class Run:
    """One run of one subject on one trace."""

    case: str
    subject: str
    seconds: float
    """LIMIT where it was ended."""
    cpu_seconds: float = 0.0
    """Of all threads: what is left to compare by where other work shares the machine."""
    peak_bytes: int = 0
    again_ms: tuple[float, ...] = ()
    """Median and worst time to read one event's arguments again, of loads."""
    waiting: float = 0.0
    """The load average when it began."""

    @property
    def is_whole(self) -> bool:
        """Whether it came to its end."""
        return self.peak_bytes > 0


class Log:
    """All runs of this code so far, in a file beside the traces."""

    def __init__(self, *, fresh: bool = False) -> None:
        self._path = FOLDER / f"runs-{_version()}.jsonl"
        if fresh:
            self._path.unlink(missing_ok=True)
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        self.runs = [Run(**json.loads(line)) for line in lines]

    def of(self, case: str, subject: str) -> list[Run]:
        """The runs of a subject on a trace."""
        return [run for run in self.runs if (run.case, run.subject) == (case, subject)]

    def measure(self, case: Case, subject: Subject) -> Run:
        """Run a subject on a trace and keep what it took."""
        path = case.zipped if subject.zipped else case.plain
        waiting = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
        figures = _figures(subject, path)
        run = Run(case.name, subject.name, **figures, waiting=waiting)
        self.runs.append(run)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(run)) + "\n")
        return run


def _figures(subject: Subject, path: Path) -> dict[str, object]:
    command = [sys.executable, "-m", "tests.bench.subjects", subject.name, str(path), str(time.time())]
    try:
        ran = subprocess.run(
            command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return {"seconds": LIMIT}
    if ran.returncode:
        raise SystemExit(f"{subject.name} on {path}: exit {ran.returncode}\n{ran.stderr[-2000:]}")
    return json.loads(ran.stdout.splitlines()[-1])


def _version() -> str:
    """Tells one state of the measured code from another, what is compiled of it included."""
    files = sorted(path for path in (ROOT / "tracelens").rglob("*") if path.is_file() and path.suffix != ".pyc")
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:12]
