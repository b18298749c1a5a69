"""How well a trace recorded what ran: the measures behind the trust checks.

Each returns None when the trace has nothing to measure it on."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tracelens.analysis.extent import device_rows, misplaced, misplaced_work
from tracelens.analysis.marks import SAME_WORK, lanes_with_steps
from tracelens.analysis.results import Steps
from tracelens.analysis.strangers import processes
from tracelens.analysis.work import is_alike, launched_work, owned_work, stacked
from tracelens.loading.careful import NO_CORRELATION
from tracelens.loading.document import CUT, MISMATCH
from tracelens.loading.separators import EVENT_CUT, UNREADABLE
from tracelens.model import arguments
from tracelens.model.events import ABSENT, SUBMITS, Bools, Category, Int64s, Role, Trace, among
from tracelens.model.intervals import covered, length, lengths, union
from tracelens.model.masks import mask_of
from tracelens.model.names import bearing, named
from tracelens.model.once import once
from tracelens.model.units import counted

_BUILDING: Final = re.compile(
    r"\(dynamo_timed\)|CUDAGraphNode\.record|torch/_dynamo/convert_frame\.py\(\d+\): _?compile"
    r"|torch/_inductor/(compile_fx|graph|scheduler)\.py\(\d+\): (compile_fx|codegen)"
)
"""Compiling, or recording of a graph, as annotation, operator or Python frame."""
_DEVICE_WAIT: Final = re.compile(r"DeviceSynchronize|CtxSynchronize")
_RECORD_COUNT: Final = re.compile(
    r"(Invalid ext correlations|CPU GPU out-of-order|Unexpected CUDA events|CUPTI stopped early\?) = ([0-9]{1,18})"
)
"""Counts that are 0 in a sound trace; "Out-of-range" and "Blocklisted runtime" are not."""

ENOUGH_HOST_EVENTS: Final = 20
"""Operators and calls of which a tenth is short, whatever the others wait for."""

_LOSSES: Final = (CUT, EVENT_CUT, UNREADABLE, MISMATCH)
"""Repairs (Repair.kind) that leave events out, or tell that some may be others than were written."""


def duplicate_share(trace: Trace, work: Int64s) -> float | None:
    """Share of device events, in start order, that repeat another: same stream, start, duration and name."""
    if not len(work):
        return None
    events, again = trace.events, np.diff(trace.events.start[work]) == 0
    at = work[np.append(again, False) | np.append(False, again)]
    told = (events.start[at], events.stream[at], events.duration[at], events.name[at])
    return (len(at) - len(np.unique(np.column_stack(told), axis=0))) / len(work)


def merged_share(trace: Trace, steps: Steps, work: Int64s) -> float | None:
    """Share of device events that another process launched, or that may be another's: the file holds several, which
    number their devices or their calls alike."""
    if not len(work):
        return None
    events, launch = trace.events, trace.links.launch[work]
    elsewhere = (launch != ABSENT) & ~steps.threads.process[events.lane[launch]]
    unlinked = work[launch == ABSENT]
    calls = np.flatnonzero((events.category == Category.RUNTIME) & among(events.role, SUBMITS))
    calls = calls if processes(trace) > 1 else calls[:0]
    claimed = np.isin(events.correlation[unlinked], events.correlation[calls])
    return float(elsewhere.sum() + claimed.sum()) / len(work)


def elsewhere_share(trace: Trace, steps: Steps, device: int) -> float | None:
    """Share of the device work that the counted steps launch, by number or by time, whichever is more, that runs on
    other devices."""
    rows = _launched_anywhere(trace, steps, device)
    if not len(rows):
        return None
    time, other = trace.events.duration[rows], trace.events.device[rows] != device
    return max(float(other.mean()), float(time[other].sum() / max(time.sum(), 1)))


def busiest_device(trace: Trace, steps: Steps, device: int) -> int:
    """The device that runs most of the work which a device's counted steps launch: itself where they launch none."""
    devices, count = np.unique(trace.events.device[_launched_anywhere(trace, steps, device)], return_counts=True)
    return int(devices[count.argmax()]) if len(devices) else device


def _launched_anywhere(trace: Trace, steps: Steps, device: int) -> Int64s:
    """Rows of the work that a device's counted steps launch on any.

    Other threads of the process launch for a step where they launch as much in each, as those of a module that is
    spread over devices do, and bear no steps of the profiler of their own."""
    events = trace.events
    work = np.flatnonzero(events.device_work())
    work = work[trace.links.launch[work] != ABSENT]
    launch = trace.links.launch[work]
    own, begun, lane = steps.owner[launch] != ABSENT, events.start[launch], events.lane[launch]
    within = (begun >= steps.host[0, 0]) & (begun < steps.host[-1, 1]) if len(steps.host) else own
    beside = within & ~own & (events.device[work] != device)
    beside &= steps.threads.process[lane] & ~np.isin(lane, lanes_with_steps(trace))
    launched = _per_step(steps, begun[beside])
    if len(launched) > 1 and launched.min() and np.ptp(launched) <= SAME_WORK * launched.max():
        own |= beside
    return work[own]


def _per_step(steps: Steps, time: Int64s) -> Int64s:
    """(counted steps) How many of the times in ns lie in each on the host."""
    return np.diff(np.searchsorted(np.sort(time), steps.host), axis=1)[:, 0]


def typical_launch_us(trace: Trace) -> float | None:
    """Median time of a call that launches kernels or a graph, in us."""
    calls = _calls(trace, Role.LAUNCH, Role.GRAPH_LAUNCH)
    return float(np.median(trace.events.duration[calls])) / 1000 if len(calls) else None


def short_host_us(trace: Trace) -> float | None:
    """Time in us that a tenth of the operators and calls stays below, which hardly ever wait for the device; waits
    and launches of graphs, which take as long as these are, apart. None where there are too few to tell."""
    events = trace.events
    timed = among(events.category, (Category.OPERATOR, Category.RUNTIME)) & events.complete()
    rows = np.flatnonzero(timed & ~among(events.role, (Role.SYNC, Role.GRAPH_LAUNCH)))
    return float(np.percentile(events.duration[rows], 10)) / 1000 if len(rows) >= ENOUGH_HOST_EVENTS else None


def operator_count(trace: Trace, steps: Steps) -> float | None:
    """Operators that the steps' process recorded; None where the counted steps launch no kernel but in graphs."""
    if not len(_calls_in(trace, steps, Role.LAUNCH)):
        return None
    events = trace.events
    return float(((events.category == Category.OPERATOR) & steps.threads.process.take(events.lane)).sum())


def strange_operators(trace: Trace, steps: Steps, device: int) -> float | None:
    """Share of device work that not all counted steps launch from an operator of one name; None where they launch
    different kernels."""
    runs, names = list(launched_work(trace, steps, device).values()), trace.events.name
    if len(runs) < 2 or not is_alike(runs, names):
        return None
    by = trace.links.operator[stacked(runs)]
    name = np.where(by == ABSENT, ABSENT, names[by])
    return float((name != name[0]).any(axis=0).mean())


def misplaced_share(trace: Trace, device: int) -> float | None:
    """Share of all complete events whose time is not known; of the device's work, where that is more."""
    found = _misplaced(trace, device)
    return None if found is None else max(found)


def misplaced_kind(trace: Trace, device: int) -> str:
    """What that is a share of."""
    every, of_work = _misplaced(trace, device) or (0.0, 0.0)
    return "device events" if of_work > every else "events"


def _misplaced(trace: Trace, device: int) -> tuple[float, float] | None:
    """Shares of all complete events and of the device's work; None without any."""
    complete, work = int(trace.events.complete().sum()), device_rows(trace, device)
    of_work = float(misplaced_work(trace)[work].mean()) if len(work) else 0.0
    return (misplaced(trace) / complete, of_work) if complete else None


def why_unlinked(trace: Trace) -> str:
    """Why device work lacks launch records all over a file: correlations that cannot be read, or none at all; "" where
    its events have theirs."""
    events = trace.events
    wrong = next((repair for repair in trace.repairs if repair.kind == NO_CORRELATION), None)
    if wrong is not None:
        return f"as {counted(wrong.count, 'correlation')} cannot be read (the first is {wrong.example})"
    asked = events.device_work() | (events.category == Category.RUNTIME)
    given = (asked & (events.correlation > 0)).any() or not asked.any()
    return "" if given else "as no event gives a usable correlation"


def instant_share(trace: Trace, work: Int64s) -> float | None:
    """Share of device events that take no time."""
    return float((trace.events.duration[work] == 0).mean()) if len(work) else None


def linked_share(trace: Trace, work: Int64s) -> float | None:
    """Share of device events with a launch record, from the first that has one on; 0 when none has.

    Work launched before the recording began comes first and has none in sound traces."""
    linked = trace.links.launch[work] != ABSENT
    if not linked.any():
        return 0.0 if len(linked) else None
    return float(linked[linked.argmax() :].mean())


def lost_launches(trace: Trace, steps: Steps) -> float | None:
    """Share of the window's kernel launches without a kernel; memsets leave none and do not count. None where what
    links both cannot be read."""
    calls = _calls_in(trace, steps, Role.LAUNCH)
    return None if why_unlinked(trace) or not len(calls) else 1.0 - float(_has_work(trace)[calls].mean())


def lost_later(trace: Trace, steps: Steps) -> float | None:
    """Share of the kernel launches behind the counted steps that have no kernel; None where a range was asked for."""
    events = trace.events
    if steps.window.kind == "range" or not len(steps.host):
        return None
    calls = _calls(trace, Role.LAUNCH)
    calls = calls[(events.start[calls] >= steps.host[-1, 1]) & steps.threads.process[events.lane[calls]]]
    return 1.0 - float(_has_work(trace)[calls].mean()) if len(calls) else None


def graph_launches_with_work(trace: Trace, steps: Steps) -> float | None:
    """Share of the window's graph launches that have a kernel."""
    calls = _calls_in(trace, steps, Role.GRAPH_LAUNCH)
    return float(_has_work(trace)[calls].mean()) if len(calls) else None


def incomplete_steps(trace: Trace, steps: Steps, device: int) -> Bools:
    """(counted steps) Whether records of the step are missing: a launch without a kernel, or a kernel without a launch.

    Work without a launch belongs to the step of the linked work before it on the device, or to that of the work
    behind it; where these differ both lack it. Work launched before the recording comes first and is of no step."""
    count = len(steps.window.tiles)
    calls = _calls_in(trace, steps, Role.LAUNCH)
    lost = steps.owner[calls[~_has_work(trace)[calls]]]
    work = device_rows(trace, device)
    work = work[np.argsort(trace.events.start[work], kind="stable")]
    linked = np.flatnonzero(trace.links.launch[work] != ABSENT)
    owner = np.append(steps.owner[work[linked]], ABSENT)
    behind = np.searchsorted(linked, np.flatnonzero(trace.links.launch[work] == ABSENT))
    behind = behind[behind > 0]
    missing = np.concatenate((lost, owner[behind - 1], owner[behind]))
    return np.bincount(missing[missing != ABSENT], minlength=count) > 0


def complete_steps(trace: Trace, steps: Steps, device: int) -> float | None:
    """How many of several counted steps have all their records."""
    count = len(steps.window.tiles)
    return float(count - incomplete_steps(trace, steps, device).sum()) if count > 1 else None


def building_share(trace: Trace, steps: Steps) -> float | None:
    """Share of the steps' host time in which a graph is captured or instantiated, or code compiled."""
    events, spans = trace.events, steps.host
    total = length(spans)
    if not total:
        return None
    rows = np.flatnonzero(_building(trace) & steps.threads.process.take(events.lane))
    busy = union(events.start[rows], np.maximum(events.end[rows], events.start[rows] + 1))
    return int(covered(busy, spans[:, 0], spans[:, 1]).sum()) / total


def _building(trace: Trace) -> Bools:
    """(n) Whether each event captures or instantiates a graph, or compiles."""
    events = trace.events
    builds = bearing(trace, _BUILDING, Category.OPERATOR, Category.ANNOTATION, Category.PYTHON)
    return ((events.category == Category.RUNTIME) & (events.role == Role.CAPTURE) | builds) & events.complete()


def deferred_share(trace: Trace, steps: Steps, device: int) -> float | None:
    """Share of the counted steps' device time that starts later than the end of the step after its own."""
    tiles, events = steps.window.tiles, trace.events
    rows = owned_work(trace, steps, device)
    total = int(events.duration[rows].sum())
    if len(tiles) < 2 or not total:
        return None
    bound = np.append(tiles[1:, 1], tiles[-1, 1] + tiles[-1, 1] - tiles[-1, 0])
    return float(events.duration[rows][events.start[rows] > bound[steps.owner[rows]]].sum() / total)


def lane_overlap(trace: Trace, work: Int64s) -> tuple[float, int] | None:
    """Share of device time in which the next work on the same stream has begun, and the longest such overlap in ns."""
    events = trace.events
    total = float(events.duration[work].sum(dtype=np.float64))
    if not total:
        return None
    order = np.lexsort((events.start[work], events.stream[work]))
    start, end, stream = events.start[work][order], events.end[work][order], events.stream[work][order]
    overlap = np.where(stream[1:] == stream[:-1], np.clip(end[:-1] - start[1:], 0, None), 0)
    return float(overlap.sum(dtype=np.float64)) / total, int(overlap.max(initial=0))


def waits_as_work(trace: Trace, work: Int64s) -> float | None:
    """Share of the time of device events, one after the other, in those that wait on a stream."""
    column, duration = trace.args.get(arguments.WAIT_STREAM), trace.events.duration
    total = int(duration[work].sum())
    if not total:
        return None
    waits = work[np.isin(work, column.rows)] if column else work[:0]
    return int(duration[waits].sum()) / total


def longest_event(trace: Trace, device: int) -> float | None:
    """Length of the device's longest event over the time in which events began: what no broken duration makes
    longer."""
    events, work = trace.events, device_rows(trace, device)
    start = events.start[events.complete()]
    began = int(start.max() - start.min()) if len(start) else 0
    return float(events.duration[work].max()) / began if len(work) and began else None


def early_return(trace: Trace, work: Int64s) -> int | None:
    """The longest time in ns by which a device synchronisation returned before work launched ahead of it ended."""
    events = trace.events
    calls = np.flatnonzero((events.category == Category.RUNTIME) & (events.role == Role.SYNC))
    calls = calls[named(trace, calls, _DEVICE_WAIT)]
    linked = work[trace.links.launch[work] != ABSENT]
    if not len(calls) or not len(linked) or len(np.unique(events.device[events.device_work()])) > 1:
        return None
    launched = events.end[trace.links.launch[linked]]
    order = np.argsort(launched, kind="stable")
    reach = np.append(0, np.maximum.accumulate(events.end[linked][order]))
    before = np.searchsorted(launched[order], events.start[calls], side="right")
    return max(int((reach[before] - events.end[calls]).max()), 0)


def step_spread(steps: Steps) -> float | None:
    """Longest step over shortest."""
    took = lengths(steps.window.tiles)
    return float(took.max() / took.min()) if len(took) > 1 and took.min() > 0 else None


def losses(trace: Trace) -> int:
    """Places of the file where events were lost or may be wrong: cut off, too damaged to read, or changed unnoticed."""
    return sum(repair.count for repair in trace.repairs if repair.kind in _LOSSES)


def dropped_records(trace: Trace) -> float | None:
    """Records that the profiler says it lost or could not place; None when it says nothing."""
    counts = _RECORD_COUNT.findall(str(trace.metadata.get("INFO")))
    return float(sum(int(count) for _, count in counts)) if counts else None


def _calls_in(trace: Trace, steps: Steps, role: Role) -> Int64s:
    calls = _calls(trace, role)
    return calls[steps.owner[calls] != ABSENT]


def _calls(trace: Trace, *roles: Role) -> Int64s:
    """Rows of the runtime's calls of some roles."""
    return np.flatnonzero((trace.events.category == Category.RUNTIME) & among(trace.events.role, roles))


@once
def _has_work(trace: Trace) -> Bools:
    """(n) Whether each call launched device work that is recorded."""
    return mask_of(trace.links.launch[trace.links.launch != ABSENT], len(trace.events))
