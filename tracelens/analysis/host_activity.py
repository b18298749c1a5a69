"""What the threads that launch work were doing at an instant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.analysis.parts import Part
from tracelens.analysis.waits import blocking_waits
from tracelens.model.events import ABSENT, SUBMITS, Bools, Bytes, Category, Int32s, Int64s, Role, Trace
from tracelens.model.segments import Segments, by_rank, innermost

ACTIVITIES: Final = (
    Part.SYNC_WAIT,
    Part.DISPATCH_ALLOCATOR,
    Part.LAUNCH_LOADING,
    Part.LAUNCH_API,
    Part.DISPATCH_INPUT,
    Part.DISPATCH_COMPILER,
    Part.DISPATCH_FRAMEWORK,
)
"""What a host event says about the time it fills, by precedence; an index into this is an activity."""
NOTHING: Final = 255
LONG_LAUNCH_NS: Final = 1_000_000
"""A kernel launch call as long as this loads a module or waits for something else than its kernel."""

_INPUT: Final = re.compile(r"data_?load|load_?(batch|data)|(get|next|fetch)_?batch", re.IGNORECASE)
_COMPILER: Final = re.compile(
    r"TorchDynamo Cache Lookup|Torch-Compiled Region|## Call CompiledFxGraph|Pregraph bytecode|AOTDispatcher"
    r"|^CompiledFunction|\(dynamo_timed\)|CUDAGraphNode\.record|^triton_"
)
_STEP: Final = re.compile(r"^ProfilerStep#")
_FRAMEWORK_ANNOTATION: Final = re.compile(r"^Optimizer\.|^autograd::")


@dataclass(frozen=True, slots=True, eq=False)
class HostActivity:
    """Activities of launching threads, alone and together, as lookups by time."""

    rows: Bytes
    """(n events) Activity of each event; NOTHING for what does not explain a gap."""
    threads: Segments
    """By lane: activity of the innermost event."""
    processes: Segments
    """By process: the activity that comes first of all its launching threads."""
    operators: Segments
    """By lane: row of the innermost operator."""
    holdups: Segments
    """By process: allocator calls and long launch calls of any thread."""
    process: Int32s
    """(lanes) Process of each lane."""

    def at(self, lane: npt.NDArray[np.integer], time: Int64s) -> Bytes:
        """Activity on the lane at each time (ns); where it shows nothing, on the other launching threads."""
        own = self.threads.at(lane, time, NOTHING)
        return np.where(own == NOTHING, self.processes.at(self.process[lane], time, NOTHING), own)


def parts_of(activity: Bytes, otherwise: Part) -> Bytes:
    """Parts of activities, `otherwise` where there is none."""
    table = np.full(256, otherwise, dtype=np.uint8)
    table[: len(ACTIVITIES)] = ACTIVITIES
    return table[activity]


def host_activity(trace: Trace) -> HostActivity:
    """Activities of all threads that launched device work."""
    activity = _activities(trace)
    events, process = trace.events, _processes(trace)
    launching = np.zeros(len(trace.lanes), dtype=np.bool_)
    launching[events.lane[trace.links.launch[trace.links.launch != ABSENT]]] = True
    on_launching = launching[events.lane] if len(events) else np.zeros(0, dtype=np.bool_)
    told = np.flatnonzero(on_launching & (activity != NOTHING))
    inner = innermost(events.lane[told], events.start[told], events.end[told])
    threads = _with(inner, activity[told])
    operators = np.flatnonzero(on_launching & _operators(trace))
    inner = innermost(events.lane[operators], events.start[operators], events.end[operators])
    return HostActivity(
        activity,
        threads,
        _together(threads, process),
        _with(inner, operators),
        _holdups(trace, activity, process),
        process,
    )


def loading_launches(trace: Trace) -> Bools:
    """Mask of rows (n): kernel launch calls that load a module.

    These take at least LONG_LAUNCH_NS, and one of their kernels has a name not launched before."""
    events, launch = trace.events, trace.links.launch
    kernels = np.flatnonzero((launch != ABSENT) & (events.category == Category.KERNEL))
    kernels = kernels[np.lexsort((launch[kernels], events.start[launch[kernels]]))]
    _, first = np.unique(events.name[kernels], return_index=True)
    loads = np.zeros(len(events), dtype=np.bool_)
    loads[launch[kernels[first]]] = True
    return loads & (events.role == Role.LAUNCH) & (events.duration >= LONG_LAUNCH_NS)


def _activities(trace: Trace) -> Bytes:
    events = trace.events
    activity = np.full(len(events), NOTHING, dtype=np.uint8)
    named = np.isin(events.category, (Category.OPERATOR, Category.ANNOTATION))
    activity[named] = _by_name(trace, np.flatnonzero(named))
    calls = events.category == Category.RUNTIME
    activity[calls & np.isin(events.role, SUBMITS)] = ACTIVITIES.index(Part.LAUNCH_API)
    activity[calls & (events.role == Role.LOAD)] = ACTIVITIES.index(Part.LAUNCH_LOADING)
    activity[loading_launches(trace)] = ACTIVITIES.index(Part.LAUNCH_LOADING)
    activity[calls & (events.role == Role.ALLOC)] = ACTIVITIES.index(Part.DISPATCH_ALLOCATOR)
    activity[blocking_waits(trace)] = ACTIVITIES.index(Part.SYNC_WAIT)
    activity[events.phase != ord("X")] = NOTHING
    return activity


def _by_name(trace: Trace, rows: Int64s) -> Bytes:
    events = trace.events
    is_operator = events.category[rows] == Category.OPERATOR
    pairs, inverse = np.unique(events.name[rows].astype(np.int64) * 2 + is_operator, return_inverse=True)
    kinds = [_activity_of(trace.names[int(pair) // 2], operator=bool(pair % 2)) for pair in pairs]
    return np.array(kinds, dtype=np.uint8)[inverse]


def _activity_of(name: str, *, operator: bool) -> int:
    if _STEP.search(name):
        return NOTHING
    if _INPUT.search(name):
        return ACTIVITIES.index(Part.DISPATCH_INPUT)
    if _COMPILER.search(name):
        return ACTIVITIES.index(Part.DISPATCH_COMPILER)
    known = operator or _FRAMEWORK_ANNOTATION.search(name)
    return ACTIVITIES.index(Part.DISPATCH_FRAMEWORK) if known else NOTHING


def _operators(trace: Trace) -> Bools:
    events = trace.events
    steps = np.array([bool(_STEP.search(name)) for name in trace.names], dtype=np.bool_)
    operator = (events.category == Category.OPERATOR) & (events.phase == ord("X"))
    return operator & ~steps[events.name] if len(events) else operator


def _holdups(trace: Trace, activity: Bytes, process: Int32s) -> Segments:
    events = trace.events
    long = (events.role == Role.LAUNCH) & (events.duration >= LONG_LAUNCH_NS)
    rows = np.flatnonzero((activity == ACTIVITIES.index(Part.DISPATCH_ALLOCATOR)) | (long & (activity != NOTHING)))
    return by_rank(process[events.lane[rows]], events.start[rows], events.end[rows], activity[rows])


def _together(threads: Segments, process: Int32s) -> Segments:
    lane, start = np.divmod(threads.start, threads.stride)
    return by_rank(process[lane], start, threads.end % threads.stride, threads.value)


def _processes(trace: Trace) -> Int32s:
    numbers = {pid: number for number, pid in enumerate(dict.fromkeys(trace.lanes.pid))}
    return np.array([numbers[pid] for pid in trace.lanes.pid], dtype=np.int32)


def _with(segments: Segments, values: npt.NDArray[np.integer]) -> Segments:
    return Segments(segments.stride, segments.start, segments.end, values[segments.value])
