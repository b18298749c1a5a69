"""The trace as columns: one numpy row per event, interned names, no I/O and no judgement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from tracelens.model.codes import Code
from tracelens.model.once import once

Int64s: TypeAlias = npt.NDArray[np.int64]
Int32s: TypeAlias = npt.NDArray[np.int32]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]

ABSENT = -1
"""An id, device, stream or row that the trace does not give."""
NO_STREAM = -(2**31)
"""A stream the trace does not give (streams themselves may be negative)."""


class Category(Code):
    """What an event is, in one vocabulary for every profiler era and vendor."""

    OTHER = 0
    OPERATOR = 1
    ANNOTATION = 2
    RUNTIME = 3
    """A CUDA, HIP or XPU call on the host, of the runtime or of the driver."""
    PYTHON = 4
    OVERHEAD = 5
    """The profiler's own work (buffer flushes and the like)."""
    KERNEL = 6
    COPY = 7
    MEMSET = 8
    DEVICE_SYNC = 9
    """A synchronisation as the device records it; no work."""
    DEVICE_ANNOTATION = 10
    """An annotation repeated on a stream; no work."""
    FLOW = 11
    MEMORY = 12
    """An allocator record ("[memory]")."""
    SPAN = 13
    """The profiler's own span over the recording; no work."""
    METADATA = 14
    COUNTER = 15


class Role(Code):
    """What a RUNTIME call does."""

    NONE = 0
    OTHER = 1
    LAUNCH = 2
    GRAPH_LAUNCH = 3
    COPY = 4
    MEMSET = 5
    SYNC = 6
    """A call that waits for the device: stream, device or event synchronize."""
    ALLOC = 7
    """malloc and free of device or pinned memory."""
    LOAD = 8
    """Loading a module or library."""
    CAPTURE = 9
    """Begin or end of a stream capture, or instantiation of a graph."""
    EVENT_RECORD = 10
    EVENT_WAIT = 11
    """A stream is told to wait for an event; the host does not wait."""


HOST = (Category.OPERATOR, Category.ANNOTATION, Category.RUNTIME, Category.PYTHON)
"""Categories of what the program does on the host."""
DEVICE_WORK = (Category.KERNEL, Category.COPY, Category.MEMSET)
"""Categories of what occupies a device."""
SUBMITS = (Role.LAUNCH, Role.GRAPH_LAUNCH, Role.COPY, Role.MEMSET)
"""Roles of calls that submit device work."""
COMPLETE = ord("X")
"""The phase of an event with its own duration."""


def among(codes: Bytes, wanted: Iterable[Code]) -> Bools:
    """Mask of the codes (categories, roles, parts) that are wanted: np.isin for few codes of a byte each."""
    found = np.zeros(codes.shape, dtype=np.bool_)
    for code in wanted:
        found |= codes == code
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """Columns of n events in file order, as the file gives them. Absent integers are ABSENT (streams: NO_STREAM)."""

    phase: Bytes
    """ASCII code of `ph` ("X" complete, "i" instant, "s"/"f" flow, "M" metadata, "C" counter)."""
    category: Bytes
    name: Int32s
    """Index into Trace.names."""
    lane: Int32s
    """Index into Trace.lanes."""
    start: Int64s
    """ns, in a Trace after its base_ns."""
    duration: Int64s
    """ns, in a Trace never negative."""
    correlation: Int64s
    external_id: Int64s
    device: Int32s
    stream: Int32s
    offset: Int64s
    """Byte offset of the event's opening brace in the decompressed file."""
    length: Int32s
    """Bytes from that brace to the closing one, both included."""

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, eq=False)
class Events(Written):
    """Columns of the n events of a Trace; what every pass asks of them is worked out once.

    Numpy takes several times as long to index by a column of 32 bits in brackets as by `take`, and by an irregular mask
    as by its `flatnonzero`: where all events are looked up, passes do the latter."""

    role: Bytes
    """What a RUNTIME call does (Role)."""

    def complete(self) -> Bools:
        """Mask of the events with a duration of their own."""
        return self.phase == COMPLETE

    @cached_property
    def end(self) -> Int64s:
        """ns after Trace.base_ns."""
        return self.start + self.duration

    @once
    def device_work(self) -> Bools:
        """Mask of complete events that occupy a device: kernels, copies, memsets."""
        return among(self.category, DEVICE_WORK) & self.complete() & (self.device != ABSENT)


@dataclass(frozen=True, slots=True, eq=False)
class SparseColumn:
    """Values of some rows: rows ascending; text values are indices into Trace.names."""

    rows: Int32s
    values: npt.NDArray[Any]
    is_text: bool = False

    def at(self, rows: npt.NDArray[np.integer], missing: int = ABSENT) -> npt.NDArray[Any]:
        """Values of the given rows, `missing` where the trace has none."""
        if not len(self.rows):
            return np.full(len(rows), missing, dtype=self.values.dtype)
        # In the column's own type: numpy would else convert the whole column for each search.
        at = np.minimum(np.searchsorted(self.rows, rows.astype(self.rows.dtype)), len(self.rows) - 1)
        return np.where(self.rows[at] == rows, self.values[at], missing)


@dataclass(frozen=True, slots=True, eq=False)
class Lanes:
    """Where events lie: one entry per (pid, tid) pair, as text since both may be words."""

    pid: tuple[str, ...]
    tid: tuple[str, ...]
    process: tuple[str, ...]
    """Name given by process_name metadata, or ""."""
    thread: tuple[str, ...]
    """Name given by thread_name metadata, or ""."""

    def __len__(self) -> int:
        return len(self.pid)

    def process_numbers(self) -> Int32s:
        """(lanes) Number of the process of each, from 0 in the order in which they are met."""
        numbers = {pid: number for number, pid in enumerate(dict.fromkeys(self.pid))}
        return np.array([numbers[pid] for pid in self.pid], dtype=np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """op -> launch -> device work, as row numbers; ABSENT where there is none. All of length n."""

    launch: Int32s
    """Of device work: the host call that submitted it. Many kernels may share one graph launch."""
    operator: Int32s
    """Of device work and host calls: the innermost operator that issued it."""
    parent: Int32s
    """Of complete host events: the innermost event that encloses it on its lane."""


@dataclass(frozen=True, slots=True)
class Repair:
    """One kind of damage that was mended while reading, with a count and the first place."""

    kind: str
    count: int
    example: str
    offset: int
    events: tuple[int, ...] | None = None
    """Byte offsets of the events that have it, each as often as it was counted; None where not all are known."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the bytes came from."""

    path: str
    size: int
    """Bytes on disk (of the stream for standard input)."""
    decoded_size: int
    """Bytes of JSON."""
    compression: str
    """"", "gzip" or "zstd"."""
    version: tuple[int, ...] = ()
    """What tells the file as it was read from every other, and from itself once it has changed; () of a stream."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device that ran work, or that the trace's metadata lists."""

    id: int
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Trace:
    """A whole trace, read-only."""

    source: Source
    base_ns: int
    """Start of the earliest event on the file's own clock (ts in microseconds x 1000)."""
    names: Sequence[str]
    lanes: Lanes
    events: Events
    args: Mapping[str, SparseColumn]
    """Columns that few events have, by the keys of tracelens.model.arguments."""
    links: Links
    metadata: Mapping[str, Any]
    """Top-level keys of the file other than traceEvents."""
    repairs: tuple[Repair, ...]
    vendor: str
    """"cuda", "hip", "xpu", another accelerator's name or "none"."""
    devices: tuple[Device, ...]

    def __repr__(self) -> str:
        return f"<Trace {self.source.path}: {len(self.events):,} events, {len(self.devices)} x {self.vendor}>"

    @property
    def stamp(self) -> Mapping[str, Any] | None:
        """What `tracelens capture` wrote into the trace, if it did: the form object and its run."""
        stamp = self.metadata.get("tracelens")
        return cast("Mapping[str, Any]", stamp) if isinstance(stamp, dict) else None
