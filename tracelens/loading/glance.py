"""What can be told of a trace or run without reading it: form and step time, where a capture has stamped them, and the
device."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tracelens.errors import UnreadableError
from tracelens.loading.inflate import DamagedStreamError, compression_of, gunzip
from tracelens.loading.runs import read_run
from tracelens.model import units

BEGINNING: Final = 1 << 14
"""Bytes of a file that are looked at: what is told stands before the events."""
DEVICE: Final = re.compile(rb'"deviceProperties":\s*\[\s*\{[^{}]*?"name":\s*"([^"]+)"')
STAMP: Final = re.compile(rb'"tracelens":\s*\{[^{}]*?"form":\s*"(\w+)"[^{}]*?"step_ms":\s*([\d.e+-]+|null)')


def told(path: Path) -> str:
    """A few words on a trace ("2.51 ms a step, eager"), or on the run in a directory ("eager 2.51, both - ms a step");
    "" where nothing is told."""
    try:
        return _of_run(path) if path.is_dir() else ", ".join(_of_trace(path))
    except (OSError, DamagedStreamError, UnreadableError):
        return ""


def _of_run(folder: Path) -> str:
    run = read_run(folder)
    times = {form: record.get("step_ms") for form, record in run.forms.items()} if run is not None else {}
    told = (f"{form} {units.milliseconds(ms) if isinstance(ms, int | float) else '-'}" for form, ms in times.items())
    return f"{', '.join(told)} ms a step" if times else ""


def _of_trace(file: Path) -> Iterator[str]:
    with file.open("rb") as opened:
        head = opened.read(BEGINNING)
    text = next(gunzip([head]), b"") if compression_of(head) == "gzip" else head
    stamp, device = STAMP.search(text), DEVICE.search(text)
    if stamp is not None and stamp[2] != b"null":
        yield f"{units.milliseconds(float(stamp[2]))} ms a step"
    if stamp is not None:
        yield stamp[1].decode()
    if device is not None:
        yield device[1].decode(errors="replace")
