"""The threads that a device's steps run on: those that launch its kernels, all of one process.

Others of the process load data, watch or copy on streams of their own, and a file may hold other processes: what they
call, copy and wait for is no part of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tracelens.model.events import ABSENT, Bools, Category, Int64s, Trace, among
from tracelens.model.masks import run_starts

LED: Final = 0.5
"""Least share of a device's launches by the thread that launches most and those that share its streams; below, no
thread leads and all that launch belong, as where each stream has a thread. [judgement]"""
_WORKING: Final = (Category.OPERATOR, Category.ANNOTATION, Category.PYTHON)


@dataclass(frozen=True, slots=True, eq=False)
class Threads:
    """Masks over the lanes of a trace (one entry more, False, for ABSENT)."""

    own: Bools
    """Threads that launch the steps' kernels, and those whose operators do through them."""
    process: Bools
    """All of their process."""


def find_threads(trace: Trace, device: int) -> Threads:
    """The threads of a device's steps; all of the trace where no launch of its work is known.

    Of a process whose operators bear another process's number, as some tools write them, all threads of the trace
    count."""
    events, links = trace.events, trace.links
    every = np.flatnonzero(links.launch != ABSENT)
    work = _kernels(trace, every[events.device[every] == device])
    if not len(work):
        return Threads(_every(trace), _every(trace))
    process = _process(trace, int(_calling(trace, work).argmax()))
    every = _kernels(trace, every[process[events.lane[links.launch[every]]]])
    own = _leading(trace, work, every)
    operator = links.operator[work[own[events.lane[links.launch[work]]]]]
    own[events.lane[operator[operator != ABSENT]]] = True
    return Threads(own & process, process)


def _kernels(trace: Trace, work: Int64s) -> Int64s:
    """The kernels among device work, for a thread that only copies is no step's; all where there are none."""
    kernels = work[trace.events.category[work] == Category.KERNEL]
    return kernels if len(kernels) else work


def _every(trace: Trace) -> Bools:
    return np.append(np.ones(len(trace.lanes), dtype=np.bool_), False)


def _calling(trace: Trace, work: Int64s) -> Int64s:
    """How much of the work each lane launched."""
    return np.bincount(trace.events.lane[trace.links.launch[work]], minlength=len(trace.lanes) + 1)


def _process(trace: Trace, lane: int) -> Bools:
    """Lanes of the process of a lane; all of the trace where that process runs no operator but another does."""
    pid = trace.lanes.pid[lane]
    mask = np.array([*(other == pid for other in trace.lanes.pid), False])
    working = trace.events.lane[among(trace.events.category, _WORKING)]
    return mask if mask[working].any() or not len(working) else _every(trace)


def _leading(trace: Trace, work: Int64s, kernels: Int64s) -> Bools:
    """The lane that launches most of a device's work, and those that share a stream with it or with one that does."""
    calls, pairs = _calling(trace, work), _streams(trace, kernels)
    found = np.zeros(len(calls), dtype=np.bool_)
    found[calls.argmax()] = True
    for _ in range(len(trace.lanes)):
        sharing = pairs[np.isin(pairs[:, 1], pairs[found[pairs[:, 0]], 1]), 0]
        if found[sharing].all():
            break
        found[sharing] = True
    return found if calls[found].sum() >= LED * calls.sum() else calls > 0


def _streams(trace: Trace, work: Int64s) -> Int64s:
    """(m, 2) distinct pairs of a lane and a number for the stream, of any device, that it launches work on."""
    events = trace.events
    stream = (events.device[work].astype(np.int64) << 32) + events.stream[work]
    lane = events.lane.take(trace.links.launch[work]).astype(np.int64)
    # One piece of work mostly goes where the one before it went.
    changes = np.flatnonzero(run_starts(lane, stream))
    return np.unique(np.column_stack((lane[changes], stream[changes])), axis=0)
