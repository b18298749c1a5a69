"""One representative step: its device work in launch order, and the host that launched it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.advice import constants as C
from tracelens.advice.arguments import parsed, product
from tracelens.advice.step.changes import Changes, find_changes
from tracelens.advice.step.fed_back import first_fed
from tracelens.advice.step.late_launches import late_launches
from tracelens.advice.step.outside import Outside, find_outside, idle_outside
from tracelens.analysis.recording import incomplete_steps
from tracelens.analysis.results import Analysis, Steps
from tracelens.analysis.typical import halves, of_typical_steps, typical_steps
from tracelens.analysis.waits import necessary_waits, repeated
from tracelens.analysis.work import is_alike, launched_work, stacked
from tracelens.model.events import ABSENT, Bools, Category, Device, Floats, Int32s, Int64s, Role, Trace, among
from tracelens.model.intervals import covered, length, union
from tracelens.model.names import names_of, tell_alike

OPTIMIZER_STEP: Final = "Optimizer.step#"
"""What torch names the annotation around Optimizer.step; the class follows."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Region:
    """A step of n pieces of device work in launch order. Host times are ns after the step's start on the host,
    with the time that the host only waited taken out."""

    trace: Trace
    work: Int64s
    """(n) Rows of the device work."""
    duration: Floats
    """(n) ns, mean over the counted steps where they run the same kernels."""
    stream: Int32s
    memset: Bools
    issued: Floats
    """(n) End of the call that launched each."""
    fork: Bools
    """(n) Since the launch before, streams were told to wait for an event recorded just then: a fork or a join."""
    source: Int64s
    """(n) Position of the work whose recorded event this waits for, by the launch before the record; else ABSENT."""
    waits: Int64s
    """(w) Pieces of work launched before each blocking wait, ascending."""
    wait_at: Floats
    """(w) Host time of each wait."""
    wait_rows: Int64s
    """(w) Row of each."""
    fed: int
    """Position of the first work whose operator takes a fraction that changes from step to step; n where none does."""
    host: float
    """Host time of the whole step, median over the counted steps."""
    call: float
    """Median duration of a launch call in ns: how fast this host is."""
    operators: float
    """Operators that the host ran in the step."""
    recorded: float
    """Mean length of the counted steps as traced: what no untraced step of this form exceeds."""
    halves: tuple[float, float] | None
    """Mean length of the short and of the long steps, where half of them are longer than their work explains."""
    busy: float
    """Time in which the device is busy, other steps' work included: that of the mean counted step, for as much work
    as this one has."""
    late: float
    """Time that its streams idled for late launches: what a faster host could give back at most."""
    outside: Outside
    """Host time of work that is no part of any form."""
    outside_issued: Floats
    """(n) What of it comes before each launch, in ns."""
    outside_waited: Floats
    """(w) The same of each wait."""
    training: bool
    optimizer: str | None
    """Class of the optimizer that steps in it; None without one."""
    parameters: int
    """Parameter tensors that received a gradient."""
    steps: int
    """Counted steps."""
    changes: Changes
    speed: float = 1.0
    """Host time over what the model of the profiler's cost says, where a measurement tells; else 1."""

    def __len__(self) -> int:
        return len(self.work)

    def number(self, key: str) -> Int64s:
        """(n) An argument of the work by its name in tracelens.model.arguments; ABSENT where there is none."""
        column = self.trace.args.get(key)
        return np.full(len(self), ABSENT) if column is None else column.at(self.work).astype(np.int64)

    def product(self, key: str) -> Int64s:
        """(n) Product of the numbers in a text argument such as "[64, 1, 1]"; ABSENT where there is none."""
        distinct, inverse = np.unique(self.number(key), return_inverse=True)
        return np.array([product(parsed(self.trace, int(text))) for text in distinct], dtype=np.int64)[inverse]

    @property
    def device(self) -> Device:
        """The device that ran the work."""
        id = int(self.trace.events.device[self.work[0]])
        return next((device for device in self.trace.devices if device.id == id), Device(id, ""))


def find_region(analysis: Analysis) -> Region | None:
    """The representative step of an analysis; None without device work that a counted step launched."""
    trace, steps = analysis.trace, analysis.steps
    runs = launched_work(trace, steps, analysis.device)
    if not runs:
        return None
    typical, mean = typical_steps(analysis), of_typical_steps(analysis)
    chosen, alike = _comparable(trace, runs, incomplete_steps(trace, steps, analysis.device), typical)
    work, durations = runs[chosen], _durations(trace, _usual(runs, alike, typical), runs[chosen])
    host = _Host(trace, steps, chosen, typical, idle_outside(mean))
    call, waits = trace.links.launch[work].astype(np.int64), _last_of_each(trace, host.waits())
    fork, source = host.edges(call)
    return Region(
        trace=trace,
        work=work,
        duration=durations,
        stream=trace.events.stream[work],
        memset=trace.events.category[work] == Category.MEMSET,
        issued=host.clock(trace.events.end[call]),
        fork=fork,
        source=source,
        waits=np.searchsorted(trace.events.start[call], trace.events.start[waits]),
        wait_at=host.clock(trace.events.start[waits]),
        wait_rows=waits,
        fed=first_fed(trace, alike),
        host=host.length(),
        call=host.call,
        operators=float((trace.events.category[host.rows] == Category.OPERATOR).sum()),
        recorded=_per_step(mean, mean.attribution.window_ns),
        halves=halves(analysis),
        busy=_busy(mean, [run for step, run in runs.items() if typical[step]] or alike, durations),
        late=late_launches(mean),
        outside=find_outside(mean),
        outside_issued=host.outside(trace.events.end[call]),
        outside_waited=host.outside(trace.events.start[waits]),
        training=host.count(("autograd::engine::evaluate_function", OPTIMIZER_STEP)) > 0,
        optimizer=host.optimizer(),
        parameters=host.count(("torch::autograd::AccumulateGrad",)),
        steps=len(runs),
        changes=find_changes(trace, alike),
    )


def _last_of_each(trace: Trace, waits: Int64s) -> Int64s:
    """The waits without those that the next one repeats."""
    return waits[~np.append(repeated(trace, waits)[1:], False)[: len(waits)]]


def _comparable(trace: Trace, runs: dict[int, Int64s], lacking: Bools, typical: Bools) -> tuple[int, list[Int64s]]:
    """The step that stands for all, a typical one if it can be, and the work of those it is compared with: of whole
    steps where there are any."""
    whole = {step: run for step, run in runs.items() if not lacking[step]}
    usual = {step: run for step, run in whole.items() if typical[step]} or whole
    chosen = _typical(trace, usual) if usual else max(runs, key=lambda step: len(runs[step]))
    return chosen, list(whole.values()) if len(whole) > 1 else [runs[chosen]]


def _usual(runs: dict[int, Int64s], alike: list[Int64s], typical: Bools) -> list[Int64s]:
    """Those of the runs that are compared which are of typical steps; all where none is."""
    compared = {id(run) for run in alike}
    return [run for step, run in runs.items() if typical[step] and id(run) in compared] or alike


def _per_step(analysis: Analysis, ns: int) -> float:
    return ns / max(len(analysis.window.tiles), 1)


def _typical(trace: Trace, runs: dict[int, Int64s]) -> int:
    """The step of median device time (the lower of two)."""
    busy = {step: int(trace.events.duration[run].sum()) for step, run in runs.items()}
    return sorted(busy, key=lambda step: busy[step])[(len(busy) - 1) // 2]


def _durations(trace: Trace, runs: list[Int64s], work: Int64s) -> Floats:
    """Ns of each piece of work of one run, mean over all where they run the same kernels."""
    same = is_alike(runs, trace.events.name)
    return trace.events.duration[stacked(runs) if same else work[None]].mean(axis=0)


def _busy(analysis: Analysis, runs: list[Int64s], durations: Floats) -> float:
    mean = float(np.mean([analysis.trace.events.duration[run].sum() for run in runs]))
    busy = _per_step(analysis, sum(analysis.attribution.parts["kernel"].values()))
    return busy * float(durations.sum()) / mean if mean else busy


def _recorded_for(recorded: Int64s, told: Int64s) -> Int64s:
    """Position of the record that each wait is for, of records and waits at so many ns, ascending; -1 before any.

    That is the last one before it. Where as many waits follow as records came, none in between, they are for those in
    turn."""
    last = np.searchsorted(recorded, told) - 1
    bounds = np.flatnonzero(np.append(True, np.diff(last) != 0)[: len(last)])
    waits = np.diff(np.append(bounds, len(last)))
    records = np.diff(last[bounds], prepend=-1)
    behind = np.arange(len(last)) - np.repeat(bounds, waits)
    return np.where(np.repeat(records == waits, waits), last - np.repeat(waits, waits) + 1 + behind, last)


class _Host:
    """The host side of one counted step, and its clock without waits."""

    def __init__(self, trace: Trace, steps: Steps, step: int, typical: Bools, idle_outside: Int64s) -> None:
        self.trace, self.steps, self.typical, self.idle_outside = trace, steps, typical, idle_outside
        self.start, self.end = (int(bound) for bound in steps.host[step])
        events = trace.events
        inside = (events.start >= self.start) & (events.start < self.end) & (events.phase == ord("X"))
        inside &= steps.threads.own.take(events.lane)
        host = ~among(events.category, (Category.SPAN, Category.DEVICE_SYNC, Category.DEVICE_ANNOTATION))
        self.rows: Int64s = np.flatnonzero(inside & host & ~events.device_work())
        launches = (steps.owner != ABSENT) & (events.role == Role.LAUNCH)
        calls = events.duration[np.flatnonzero(launches & (events.category == Category.RUNTIME))]
        self.call = float(np.median(calls)) if len(calls) else C.REFERENCE_CALL
        own, each = (covered(idle_outside, *bounds) for bounds in (steps.host[[step]].T, steps.host[typical].T))
        self.usual = float(each.mean() / own[0]) if own[0] else 1.0
        """Time in work outside of the mean typical step over that of this one."""

    def count(self, prefixes: tuple[str, ...]) -> int:
        """Host events of the step whose name starts with one of `prefixes`."""
        return int(self._starting(prefixes).sum())

    def optimizer(self) -> str | None:
        """Class in the first "Optimizer.step#Class.step" of the step."""
        steps = names_of(self.trace, self.rows[self._starting((OPTIMIZER_STEP,))]).tolist()
        return min(steps).removeprefix(OPTIMIZER_STEP).partition(".")[0] if steps else None

    def _starting(self, prefixes: tuple[str, ...]) -> Bools:
        """Mask over `rows`: the name starts with one of `prefixes`, none of which ends in a number."""
        return tell_alike(self.trace, self.rows, lambda name: name.startswith(prefixes), np.bool_)

    def waits(self) -> Int64s:
        """Rows of the step's necessary waits in start order."""
        rows = self.rows[necessary_waits(self.trace)[self.rows]]
        return rows[np.argsort(self.trace.events.start[rows], kind="stable")]

    def clock(self, times: npt.NDArray[np.int64]) -> Floats:
        """Ns after the step's start at `times`, less the waiting before; work outside as long as in the mean step."""
        start, spent = self._idle()
        before = np.append(0.0, np.cumsum(spent))[np.searchsorted(start, times, side="left")]
        return np.maximum(times - self.start - before, 0.0) + (self.usual - 1) * self._spent_outside(times)

    def outside(self, times: Int64s) -> Floats:
        """Ns of work outside after the step's start at `times`."""
        return self.usual * self._spent_outside(times)

    def _spent_outside(self, times: Int64s) -> Floats:
        start = np.full(len(times), self.start)
        return covered(self.idle_outside, start, np.maximum(times, self.start)).astype(np.float64)

    def length(self) -> float:
        """Median host time of the typical steps, less the waiting of this one and the profiler's own step call."""
        whole = (self.steps.host[:, 1] - self.steps.host[:, 0])[self.typical]
        profiler = C.PROFILER_STEP * self.call / C.REFERENCE_CALL if self.steps.window.kind == "profiler_step" else 0.0
        return float(max(np.median(whole) - self._idle()[1].sum() - min(profiler, self._unseen()), 0.0))

    def _unseen(self) -> int:
        """Ns of the step in no operator and no runtime call: the profiler's step call is neither."""
        events = self.trace.events
        own = self.rows[among(events.category[self.rows], (Category.OPERATOR, Category.RUNTIME))]
        return self.end - self.start - length(union(events.start[own], np.minimum(events.end[own], self.end)))

    def edges(self, calls: Int64s) -> tuple[Bools, Int64s]:
        """(fork, source) of each launch, from the records and waits of events on the host.

        Record and wait at once, outside any operator, is Stream.wait_stream; libraries hand over from the work
        launched last before the record."""
        events = self.trace.events
        recorded = np.sort(events.start[self.rows[events.role[self.rows] == Role.EVENT_RECORD]])
        told = self.rows[events.role[self.rows] == Role.EVENT_WAIT]
        told = told[np.argsort(events.start[told], kind="stable")]
        launched = events.start[calls]
        heir = np.searchsorted(launched, events.start[told])
        record = _recorded_for(recorded, events.start[told])
        usable = (heir < len(calls)) & (record >= 0)
        told, heir, before = told[usable], heir[usable], np.searchsorted(launched, recorded[record[usable]])
        at_once = (before == heir) & (self.trace.links.operator[told] == ABSENT)
        fork, source = np.zeros(len(calls), dtype=np.bool_), np.full(len(calls), ABSENT, dtype=np.int64)
        fork[heir[at_once]] = True
        late = ~at_once & (before > 0)
        np.maximum.at(source, heir[late], before[late] - 1)
        return fork, source

    def _idle(self) -> tuple[Int64s, Floats]:
        """Start and length of the host's waiting: blocking waits, and what a full queue adds to launch calls."""
        events = self.trace.events
        waits = self.waits()
        launches = self.rows[events.role[self.rows] == Role.LAUNCH]
        slow = launches[events.duration[launches] > C.BACK_PRESSURE * self.call]
        rows = np.concatenate((waits, slow))
        spent = np.append(events.duration[waits].astype(float), events.duration[slow] - self.call)
        order = np.argsort(events.start[rows], kind="stable")
        return events.start[rows][order], spent[order]
