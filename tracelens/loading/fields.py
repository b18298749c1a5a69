"""Which arguments of an event become columns, under all names that profilers have given them."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from tracelens.model import arguments


class Kind(IntEnum):
    """How the value of an argument is kept."""

    INTEGER = 0
    FLOAT = 1
    TEXT = 2
    """A string as it is; anything else as its compact JSON."""


CORRELATION: Final = "correlation"
EXTERNAL_ID: Final = "external_id"
DEVICE: Final = "device"
STREAM: Final = "stream"
DENSE: Final = (CORRELATION, EXTERNAL_ID, DEVICE, STREAM)
"""Arguments that fill a column of Events rather than a sparse one."""

ARGUMENTS: Final[dict[str, tuple[str, Kind]]] = {
    "correlation": (CORRELATION, Kind.INTEGER),
    "External id": (EXTERNAL_ID, Kind.INTEGER),
    "external id": (EXTERNAL_ID, Kind.INTEGER),
    "device": (DEVICE, Kind.INTEGER),
    "stream": (STREAM, Kind.INTEGER),
    "Input Dims": (arguments.SHAPES, Kind.TEXT),
    "Input dims": (arguments.SHAPES, Kind.TEXT),
    "Input type": (arguments.DTYPES, Kind.TEXT),
    "Concrete Inputs": (arguments.CONCRETE, Kind.TEXT),
    "bytes": (arguments.BYTES, Kind.INTEGER),
    "Bytes": (arguments.BYTES, Kind.INTEGER),
    "grid": (arguments.GRID, Kind.TEXT),
    "grid dim": (arguments.GRID, Kind.TEXT),
    "block": (arguments.BLOCK, Kind.TEXT),
    "block dim": (arguments.BLOCK, Kind.TEXT),
    "registers per thread": (arguments.REGISTERS, Kind.INTEGER),
    "shared memory": (arguments.SHARED_MEMORY, Kind.INTEGER),
    "shared size": (arguments.SHARED_MEMORY, Kind.INTEGER),
    "est. achieved occupancy %": (arguments.OCCUPANCY, Kind.FLOAT),
    "graph id": (arguments.GRAPH_ID, Kind.INTEGER),
    "graph node id": (arguments.GRAPH_NODE_ID, Kind.INTEGER),
    "Sequence number": (arguments.SEQUENCE, Kind.INTEGER),
    "Call stack": (arguments.CALL_STACK, Kind.TEXT),
    "Collective name": (arguments.COLLECTIVE, Kind.TEXT),
    "wait_on_stream": (arguments.WAIT_STREAM, Kind.INTEGER),
    "wait_on_cuda_event_record_corr_id": (arguments.WAIT_RECORD, Kind.INTEGER),
    "kernel_file": (arguments.KERNEL_FILE, Kind.TEXT),
}
"""Key of an event's `args` -> column and kind."""

SPARSE_KINDS: Final = {column: kind for column, kind in ARGUMENTS.values() if column not in DENSE} | {
    arguments.FLOW_ID: Kind.INTEGER
}
"""Sparse columns and their kinds; the flow id is the event's own `id`."""
