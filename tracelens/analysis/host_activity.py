"""What the threads that launch work were doing at an instant."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.analysis.marks import STEP_NUMBER
from tracelens.analysis.parts import Part
from tracelens.analysis.threads import Threads
from tracelens.analysis.waits import blocking_waits
from tracelens.model.codes import Code
from tracelens.model.events import ABSENT, SUBMITS, Bools, Bytes, Category, Int32s, Int64s, Role, Trace, among
from tracelens.model.masks import mask_of
from tracelens.model.names import tell_alike
from tracelens.model.nesting import enclosing_among, nearest
from tracelens.model.once import once
from tracelens.model.segments import Edges, Segments, by_rank


class Activity(Code):
    """What a host event says about the time it fills, by precedence."""

    WAIT = 0
    ALLOCATION = 1
    LOADING = 2
    LAUNCH = 3
    INPUT = 4
    COMPILER = 5
    FRAMEWORK = 6
    NOTHING = 7


PARTS: Final = {
    Activity.WAIT: Part.SYNC_WAIT,
    Activity.ALLOCATION: Part.DISPATCH_ALLOCATOR,
    Activity.LOADING: Part.LAUNCH_LOADING,
    Activity.LAUNCH: Part.LAUNCH_API,
    Activity.INPUT: Part.DISPATCH_INPUT,
    Activity.COMPILER: Part.DISPATCH_COMPILER,
    Activity.FRAMEWORK: Part.DISPATCH_FRAMEWORK,
}
LONG_LAUNCH_NS: Final = 1_000_000
"""A kernel launch call as long as this loads a module or waits for something else than its kernel."""

INPUT: Final = re.compile(r"data_?load|load_?(batch|data)|(get|next|fetch)_?batch", re.IGNORECASE)
_COMPILER: Final = re.compile(
    r"TorchDynamo Cache Lookup|Torch-Compiled Region|## Call CompiledFxGraph|Pregraph bytecode|AOTDispatcher"
    r"|^CompiledFunction|\(dynamo_timed\)|CUDAGraphNode\.record|^triton_"
)
_FRAMEWORK_ANNOTATION: Final = re.compile(r"^Optimizer\.|^autograd::")


@dataclass(frozen=True, slots=True, eq=False)
class HostActivity:
    """Activities of launching threads, alone and together, as lookups by time."""

    rows: Bytes
    """(n events) Activity of each event."""
    threads: Segments
    """By lane: activity of the innermost event; neighbours differ."""
    processes: Segments
    """By process: the activity that comes first of all the device's launching threads."""
    operators: Segments
    """By lane: row of the innermost operator."""
    waits: Int64s
    """Rows of the launching threads' blocking waits, by their end."""
    holdups: Segments
    """By process: allocator calls and long launch calls of any thread."""
    process: Int32s
    """(lanes) Process of each lane."""

    def at(self, lane: npt.NDArray[np.integer], time: Int64s) -> Bytes:
        """Activity on the lane at each time (ns); where it shows nothing, on the other launching threads."""
        found = self.threads.at(lane, time, Activity.NOTHING)
        idle = np.flatnonzero(found == Activity.NOTHING)
        found[idle] = self.processes.at(self.process[lane[idle]], time[idle], Activity.NOTHING)
        return found


def parts_of(activity: Bytes, otherwise: Part) -> Bytes:
    """Parts of activities, `otherwise` where there is none."""
    return np.array([PARTS.get(kind, otherwise) for kind in Activity], dtype=np.uint8)[activity]


def host_activity(trace: Trace, threads: Threads) -> HostActivity:
    """Activities of those of the steps' threads that launched work."""
    events, activity, process = trace.events, _activities(trace), trace.lanes.process_numbers()
    on_launching = launching_threads(trace, threads).take(events.lane)
    waits = np.flatnonzero(on_launching & (activity == Activity.WAIT))
    doing, operators = _innermost(trace, np.flatnonzero(on_launching & (activity != Activity.NOTHING)), activity)
    return HostActivity(
        activity,
        doing,
        _together(doing, process),
        operators,
        waits[np.argsort(events.end[waits], kind="stable")],
        _holdups(trace, activity, process),
        process,
    )


def launching_threads(trace: Trace, threads: Threads) -> Bools:
    """Mask over the lanes (one entry more): the steps' threads that launched work on any device."""
    return _launching(trace) & threads.own


@once
def _launching(trace: Trace) -> Bools:
    launch = trace.links.launch
    return mask_of(trace.events.lane.take(launch[np.flatnonzero(launch != ABSENT)]), len(trace.lanes) + 1)


def loading_launches(trace: Trace) -> Bools:
    """Mask of rows (n): kernel launch calls that load a module.

    These take at least LONG_LAUNCH_NS, and one of their kernels has a name not launched before."""
    events, launch = trace.events, trace.links.launch
    kernels = np.flatnonzero((launch != ABSENT) & (events.category == Category.KERNEL))
    kernels = kernels[np.lexsort((launch[kernels], events.start[launch[kernels]]))]
    _, first = np.unique(events.name[kernels], return_index=True)
    loads = mask_of(launch[kernels[first]], len(events))
    return loads & (events.role == Role.LAUNCH) & (events.duration >= LONG_LAUNCH_NS)


def _activities(trace: Trace) -> Bytes:
    """(n) Activity of each event: by its call, by what it lies in, by its name."""
    events = trace.events
    calls = events.category == Category.RUNTIME
    activity = np.full(len(events), Activity.NOTHING, dtype=np.uint8)
    for category in (Category.OPERATOR, Category.ANNOTATION):
        rows = np.flatnonzero(events.category == category)
        activity[rows] = tell_alike(trace, rows, partial(_by_name, operator=category == Category.OPERATOR), np.uint8)
    activity[_loading_batches(trace, activity)] = Activity.INPUT
    activity[calls & among(events.role, SUBMITS)] = Activity.LAUNCH
    activity[calls & (events.role == Role.LOAD) | loading_launches(trace)] = Activity.LOADING
    activity[calls & (events.role == Role.ALLOC)] = Activity.ALLOCATION
    activity[blocking_waits(trace)] = Activity.WAIT
    activity[~events.complete()] = Activity.NOTHING
    return activity


def _loading_batches(trace: Trace, activity: Bytes) -> Int64s:
    """Rows of the framework's operators inside what loads a batch, such as those that collate it."""
    events, loads = trace.events, activity == Activity.INPUT
    rows = np.flatnonzero((events.category == Category.OPERATOR) & (activity == Activity.FRAMEWORK))
    rows = rows if loads.any() else rows[:0]
    loader = nearest(trace.links.parent, rows, loads)
    return rows[(loader != ABSENT) & (events.end[loader] > events.start[rows])]


def _by_name(name: str, *, operator: bool) -> Activity:
    """What an operator or annotation of this name does; an annotation of no known name does nothing."""
    if STEP_NUMBER.search(name):
        return Activity.NOTHING
    if INPUT.search(name):
        return Activity.INPUT
    if _COMPILER.search(name):
        return Activity.COMPILER
    return Activity.FRAMEWORK if operator or _FRAMEWORK_ANNOTATION.search(name) else Activity.NOTHING


def _innermost(trace: Trace, rows: Int64s, activity: Bytes) -> tuple[Segments, Segments]:
    """By lane: the activity of the innermost of some rows, and the row of the innermost operator among them."""
    events = trace.events
    lane, start, end = events.lane[rows], events.start[rows], events.end[rows]
    edges = Edges.of(lane, start, end)
    parent = enclosing_among(rows, trace.links.parent, events.lane, events.start, events.end)
    threads = edges.innermost(parent)
    operators = np.flatnonzero(events.category[rows] == Category.OPERATOR)
    own = edges.among(operators).innermost(enclosing_among(operators, parent, lane, start, end))
    return (
        dataclasses.replace(threads, value=activity[rows.take(threads.value)]).joined(),
        dataclasses.replace(own, value=rows[operators[own.value]].astype(np.int32)),
    )


def _together(threads: Segments, process: Int32s) -> Segments:
    """By process: the first activity of all its threads."""
    lane, start = np.divmod(threads.start, threads.stride)
    return by_rank(process[lane], start, threads.end % threads.stride, threads.value)


def _holdups(trace: Trace, activity: Bytes, process: Int32s) -> Segments:
    events = trace.events
    long = (events.role == Role.LAUNCH) & (events.duration >= LONG_LAUNCH_NS) & (activity != Activity.NOTHING)
    rows = np.flatnonzero(long | (activity == Activity.ALLOCATION))
    return by_rank(process[events.lane[rows]], events.start[rows], events.end[rows], activity[rows])
