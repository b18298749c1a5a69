"""Gives a function one input after another and keeps what goes wrong: a crash, a hang, too much memory."""

from __future__ import annotations

import resource
import signal
import time
import traceback
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from tracelens.errors import TraceLensError

LONGEST: Final = 5.0
"""Seconds of processor time that an input may take."""
PATIENCE: Final = 60
"""Seconds after which an input that only waits is ended."""
MEMORY_BASE: Final = 64 << 20
MEMORY_PER_BYTE: Final = 10
"""Bytes of memory that an input may take: the base, and so many times its own size."""
_PAGE: Final = resource.getpagesize()
_STATM: Final = Path("/proc/self/statm")
_STATUS: Final = Path("/proc/self/status")
_CLEAR: Final = Path("/proc/self/clear_refs")
_RESET_PEAK: Final = "5"


class HangError(Exception):
    """An input took too long."""


@dataclass
class Watch:
    """Counts of a run, and the first input of each kind of fault."""

    keep: Path | None = None
    """Folder that gets the first input of each fault."""
    runs: int = 0
    refusals: int = 0
    """Inputs that ended in a one-line error."""
    slowest: float = 0.0
    most_memory: int = 0
    faults: dict[str, int] = field(default_factory=dict[str, int])
    """What went wrong and where -> how often."""
    _began: float = field(default_factory=time.monotonic)

    def run(self, data: bytes, act: Callable[[], object]) -> None:
        """Run one input; whatever it raises is noted, and an error of the tool's own must be one line."""
        self.runs += 1
        begin, held = time.process_time(), _resident()
        _reset_peak()
        try:
            with _time_limit():
                act()
        except TraceLensError as error:
            self.refusals += 1
            if "\n" in str(error):
                self.note("refusal of several lines", data)
        except Exception as error:
            self.note(_place(error), data)
        self._weigh(data, time.process_time() - begin, _peak() - held)

    def note(self, fault: str, data: bytes) -> None:
        """Count a fault, and keep the first input that shows it."""
        self.faults[fault] = self.faults.get(fault, 0) + 1
        if self.keep and self.faults[fault] == 1:
            self.keep.mkdir(parents=True, exist_ok=True)
            name = f"{zlib.crc32(fault.encode()):08x}"
            (self.keep / name).write_bytes(data)
            (self.keep / f"{name}.txt").write_text(fault)

    def summary(self) -> str:
        """One line of counts, then a line per fault."""
        seconds = time.monotonic() - self._began
        counts = (
            f"{self.runs} runs in {seconds:.0f} s ({self.runs / max(seconds, 1e-9):.0f}/s), {self.refusals} refused, "
            f"slowest {self.slowest:.2f} s, most memory {self.most_memory / 1e6:.0f} MB, {len(self.faults)} faults"
        )
        return "\n".join([counts, *(f"  {count} x {fault}" for fault, count in self.faults.items())])

    def _weigh(self, data: bytes, seconds: float, memory: int) -> None:
        self.slowest = max(self.slowest, seconds)
        self.most_memory = max(self.most_memory, memory)
        if seconds > LONGEST:
            self.note("hang", data)
        if memory > MEMORY_BASE + MEMORY_PER_BYTE * len(data):
            self.note("memory", data)


@contextmanager
def _time_limit() -> Generator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise HangError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _place(error: Exception) -> str:
    """The error and the innermost lines of the project that it went through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "tracelens" in frame.filename]
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-3:]))
    return f"{type(error).__name__} at {places or 'the check'}: {str(error)[:120]!r}"


def _resident() -> int:
    return int(_STATM.read_text().split()[1]) * _PAGE


def _peak() -> int:
    """Most resident bytes since the reset; getrusage keeps those of the process that started this one."""
    lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) * 1024


def _reset_peak() -> None:
    _CLEAR.write_text(_RESET_PEAK)
