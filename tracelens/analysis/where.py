"""The user's file and line behind an event."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.model import arguments
from tracelens.model.events import ABSENT, Bools, Category, Int64s, Trace
from tracelens.model.masks import mask_of
from tracelens.model.names import tell_names
from tracelens.model.nesting import nearest

_FRAME: Final = re.compile(r"(?P<file>[^<(][^(]*)\((?P<line>\d+)\)")
_INSTALLED: Final = re.compile(r"(^|/)(site|dist)-packages/|(^|/)lib/python\d|torchinductor")
_LIBRARIES: Final = frozenset({"torch", "triton", "numpy", "functorch", "torchgen"})
_STANDARD_LIBRARY: Final = sys.stdlib_module_names - {"code", "profile", "trace"}
"""Without modules whose names people give to their own scripts."""


def places(trace: Trace, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
    """The user's "file:line" behind each event in `rows`, None where the trace does not say.

    The innermost Python frame around the event (for device work: around its launch call; for backward
    operators: around their forward) that lies in no library; in traces of early profilers the first such
    entry of the operator's "Call stack". The line is the one that the profiler gives: a function's first."""
    host, users = host_rows(trace, rows), _user_frames(trace)
    own = _around(trace, host, users)
    forward = _around(trace, _forward(trace, np.where(own == ABSENT, host, ABSENT)), users)
    frame = np.where(own == ABSENT, forward, own)
    found = _of_call_stacks(trace, np.where(frame == ABSENT, host, ABSENT))
    known = np.flatnonzero(frame != ABSENT)
    found[known] = tell_names(trace, frame[known], place)
    return found


def host_rows(trace: Trace, rows: npt.NDArray[np.integer]) -> Int64s:
    """The host event behind each row: for device work its launch call or ABSENT, else the row itself."""
    given = rows != ABSENT
    on_device = given & trace.events.device_work()[rows] if len(trace.events) else given
    return np.where(on_device, trace.links.launch[rows], rows).astype(np.int64) if len(rows) else rows.astype(np.int64)


@lru_cache(maxsize=100_000)
def place(frame: str) -> str | None:
    """ "file:line" of a frame such as "model.py(41): forward"; None when it lies in a library."""
    match = _FRAME.match(frame)
    if match is None:
        return None
    file = match["file"].replace("\\", "/")
    return None if _in_library(file) else f"{file}:{match['line']}"


def _in_library(file: str) -> bool:
    if file.startswith("/") or ":" in file:
        return _INSTALLED.search(file) is not None
    top = file.partition("/")[0].removesuffix(".py")
    return top in _LIBRARIES or top in _STANDARD_LIBRARY or _INSTALLED.search(file) is not None


def _around(trace: Trace, host: Int64s, frames: Bools) -> Int64s:
    """Row of the innermost of the frames that is open when each host event starts, else ABSENT.

    An annotation begun in a frame may outlive it, so that not all ancestors are open."""
    events, parent = trace.events, trace.links.parent
    found = nearest(parent, host, frames)
    while len(closed := np.flatnonzero((found != ABSENT) & (events.end[found] <= events.start[host]))):
        found[closed] = nearest(parent, parent[found[closed]], frames)
    return found


def _user_frames(trace: Trace) -> Bools:
    """Mask (n) of the Python frames of the user's own code."""
    frames = np.flatnonzero(trace.events.category == Category.PYTHON)
    mask = np.zeros(len(trace.events), dtype=np.bool_)
    mask[frames] = tell_names(trace, frames, lambda name: place(name) is not None, np.bool_)
    return mask


def _forward(trace: Trace, host: Int64s) -> Int64s:
    """The forward operator of backward work: the first one with the same autograd sequence number."""
    sequence = trace.args.get(arguments.SEQUENCE)
    if sequence is None or not len(sequence.rows):
        return np.full(len(host), ABSENT, dtype=np.int64)
    operator = nearest(trace.links.parent, host, mask_of(sequence.rows, len(trace.events)))
    forward = sequence.rows[np.lexsort((trace.events.start[sequence.rows], sequence.values))]
    numbers = sequence.at(forward)
    wanted = sequence.at(operator)
    at = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
    same = (operator != ABSENT) & (wanted >= 0) & (numbers[at] == wanted) & (forward[at] != operator)
    return np.where(same, forward[at], ABSENT).astype(np.int64)


def _of_call_stacks(trace: Trace, host: Int64s) -> npt.NDArray[np.object_]:
    """(n) "file:line" of each host event by the "Call stack" of the operator around it, None without one."""
    found = np.full(len(host), None, dtype=object)
    stacks = trace.args.get(arguments.CALL_STACK)
    if stacks is None or not len(stacks.rows):
        return found
    operator = nearest(trace.links.parent, host, mask_of(stacks.rows, len(trace.events)))
    known = np.flatnonzero(operator != ABSENT)
    texts, inverse = np.unique(stacks.at(operator[known]), return_inverse=True)
    told = np.empty(len(texts), dtype=object)
    told[:] = [_first_place(trace.names[text]) for text in map(int, texts)]
    found[known] = told[inverse]
    return found


def _first_place(stack: str) -> str | None:
    """The innermost of the user's frames in a "Call stack", which is written innermost first."""
    return next((found for found in map(place, re.split(r";|\n", stack)) if found is not None), None)
