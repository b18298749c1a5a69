"""Bytes to a whole Trace."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from typing import Any, Final, TypeAlias

import numpy as np

from tracelens.errors import UnreadableError
from tracelens.loading import sources
from tracelens.loading.assemble import Columns, events_of
from tracelens.loading.batch import Batch
from tracelens.loading.careful import UNKNOWN_PHASE
from tracelens.loading.document import CUT, Document
from tracelens.loading.hardware import devices_of, vendor_of
from tracelens.loading.links import link
from tracelens.loading.reader import SKIPPED, EventReader
from tracelens.loading.scan import Scanner
from tracelens.loading.stream import TextWindow
from tracelens.loading.tables import Tables
from tracelens.model.events import Source, Trace

Progress: TypeAlias = Callable[[int, int, int], None]
"""Called with bytes done, bytes in all (0 if unknown) and events so far; an exception it raises ends loading,
and StopReading keeps what has been read."""
PROGRESS_INTERVAL: Final = 0.1
"""Seconds between two calls at least."""


_LARGE_PIECE: Final = 1 << 22
"""Bytes: more than any array of a slab, less than the columns, which grow better as pieces of their own."""
_LARGEST_PIECE: Final = (1 << 25) - (1 << 16)
"""Bytes: the most that glibc gives back as a matter of course; a column of four million events."""


class StopReading(Exception):
    """Raised by a progress callback: the events read so far are the trace, which says that it is cut short."""


def load_file(path: str, *, progress: Progress | None = None) -> Trace:
    """Read a trace from a file, or from standard input for "-"; UnreadableError if this is no Chrome trace."""
    _keep_freed_memory(_LARGE_PIECE)
    with _no_garbage_collection(), closing(sources.Input(path)) as source, closing(source.blocks()) as blocks:
        return _read(source, TextWindow(blocks), _Beat(progress, source))


def empty_trace(path: str) -> Trace:
    """A trace without events, for a run that left none."""
    return _trace(Source(path, 0, 0, ""), Columns(), Tables(), {})


def _read(source: sources.Input, window: TextWindow, beat: _Beat) -> Trace:
    tables, columns = Tables(), Columns()

    def emit(batch: Batch) -> None:
        columns.add(batch)
        beat(columns.count)

    if source.misnamed:
        tables.repairs.add("name does not match the content", source.compression or "not compressed", 0)
    reader = EventReader(window, tables, Scanner(tables), emit)
    document = Document(source.path, window, tables.repairs, reader.read)
    try:
        document.read()
    except StopReading:
        tables.repairs.add(CUT, "reading was stopped", window.offset)
    with suppress(StopReading):
        reader.hand_on()
    size = Source(source.path, source.done, window.offset + len(window.data), source.compression, source.version)
    return _trace(size, columns, tables, document.metadata)


def _trace(source: Source, columns: Columns, tables: Tables, metadata: dict[str, Any]) -> Trace:
    _keep_freed_memory(_LARGEST_PIECE)
    names, lanes = tables.names.all(), tables.lanes.lanes()
    args = columns.take_sparse()
    events, base = events_of(columns, names, lanes, tables.repairs)
    if np.all(events.phase == UNKNOWN_PHASE) and (len(events) or any(map(tables.repairs.made, SKIPPED))):
        raise UnreadableError(f"{source.path}: JSON, but no trace events: none has a ph; give a torch.profiler trace")
    vendor = vendor_of(events, names, tables.category_words, metadata, args)
    devices = devices_of(events, metadata)
    repairs = tables.repairs.entries()
    return Trace(source, base, names, lanes, events, args, link(events, lanes), metadata, repairs, vendor, devices)


class _Beat:
    """Tells the caller how far loading is, at most ten times a second."""

    def __init__(self, progress: Progress | None, source: sources.Input) -> None:
        self._progress = progress
        self._source = source
        self._due = 0.0

    def __call__(self, events: int) -> None:
        if self._progress and time.monotonic() >= self._due:
            self._due = time.monotonic() + PROGRESS_INTERVAL
            self._progress(self._source.done, self._source.total, events)


def _keep_freed_memory(piece: int) -> None:
    """Have the C library keep what one pass frees for those that follow, in pieces of up to so many bytes.

    It gives memory back, to be had again page by page, unless it has once seen a large piece freed (glibc's dynamic
    thresholds; elsewhere this does nothing). The piece is not touched, so it costs no memory.
    """
    np.empty(piece, dtype=np.uint8)


@contextmanager
def _no_garbage_collection() -> Generator[None]:
    """Collections while millions of short-lived objects come and go cost two thirds of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
