"""Where steps begin on the host: annotations that mark them, or the period of the launches."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from tracelens.analysis.extent import believable, recorded_end
from tracelens.analysis.periods import find_period
from tracelens.errors import UsageError
from tracelens.model.events import ABSENT, Bools, Category, Int32s, Int64s, Trace, among
from tracelens.model.intervals import union
from tracelens.model.names import named, names_of, tell_names
from tracelens.model.once import once

REPEATS: Final = 3
"""An annotation that occurs so often may mark steps."""
SAME_WORK: Final = 0.02
"""Relative spread of launches between marks up to which they mark the same work."""
COVERAGE: Final = 0.8
"""Least share of all launches that a user's annotation must lead."""
MOST_NAMED: Final = 8
"""Annotations that an error names."""
PROFILER_STEP: Final = "ProfilerStep"
STEP_NUMBER: Final = re.compile(r"^ProfilerStep#")
"""How the profiler names its steps, which early ones record as operators."""
_STEP: Final = re.compile(r"^ProfilerStep#\d+$")
_ORDERED: Final = tuple(map(re.compile, (r"^Optimizer\.zero_grad#", r"^Optimizer\.step#", r"DataLoader\S*__next__")))
_NOT_A_STEP: Final = re.compile(
    r"^(ProfilerStep|Optimizer\.|nccl:|c10d::|aten::|autograd::|## Call|Torch|Compiled|AOT|Pregraph|Distributed|FSDP)"
    r"|DataLoader|dynamo_timed"
)


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Starts of m repetitions on the host, in ns, ascending."""

    kind: str
    """As Window.kind."""
    name: str
    start: Int64s
    end: int
    """End of the last repetition on the host."""
    notes: tuple[str, ...] = ()

    def bounds(self) -> Int64s:
        """(m + 1) starts and the last end."""
        return np.append(self.start, self.end)


def step_key(name: str) -> str:
    """The name without the number of the repetition ("ProfilerStep#3" -> "ProfilerStep#")."""
    return re.sub(r"[\s_]*\d+$", "", name)


def is_one_step(name: str) -> bool:
    """Whether the name is that of a single step of the profiler ("ProfilerStep#3")."""
    return _STEP.match(name) is not None


def profiler_steps(trace: Trace, lanes: Bools, calls: Int64s) -> Marks | None:
    """ProfilerStep#N annotations on some lanes (mask); those with a broken duration are left out.

    calls: (k) rows of the calls that launched the device's work, by start, here and below."""
    rows = _annotations(trace, lanes)
    return _marks(trace, "profiler_step", PROFILER_STEP, rows[named(trace, rows, _STEP)], calls)


@once
def lanes_with_steps(trace: Trace) -> Int32s:
    """Lanes that bear ProfilerStep#N annotations."""
    rows = np.flatnonzero(among(trace.events.category, (Category.ANNOTATION, Category.OPERATOR)))
    return np.unique(trace.events.lane[rows[named(trace, rows, _STEP)]])


def device_steps(trace: Trace, device: int, linked: Int64s) -> Marks | None:
    """ProfilerStep#N as a device's streams repeat them, for recordings that lack the host's own: each begins with the
    first launch of the work that runs from its start on. linked: rows of the device's work that have a launch."""
    events, place = trace.events, np.array([pid == str(device) for pid in trace.lanes.pid], dtype=np.bool_)
    rows = np.flatnonzero(events.category == Category.DEVICE_ANNOTATION)
    rows = rows[place[events.lane[rows]]]
    rows = rows[named(trace, rows, _STEP)]
    rows = rows[np.argsort(events.start[rows], kind="stable")]
    starts = np.sort(events.start[rows[np.unique(events.name[rows], return_index=True)[1]]])
    step = np.searchsorted(starts, events.start[linked], side="right") - 1
    launched = events.start[trace.links.launch[linked]]
    order = np.lexsort((launched, step))[np.count_nonzero(step < 0) :]
    first = np.unique(step[order], return_index=True)[1]
    if not len(first):
        return None
    note = "steps are those that the device's streams repeat: the host's annotations are missing"
    return Marks("profiler_step", PROFILER_STEP, np.unique(launched[order[first]]), recorded_end(trace) + 1, (note,))


def repeating_annotation(trace: Trace, lanes: Bools, calls: Int64s) -> Marks | None:
    """Optimizer or data loader annotation that repeats, else a user's that leads the same work each time.

    lanes: mask of those to look at."""
    rows, launched = _annotations(trace, lanes), trace.events.start[calls]
    for pattern in _ORDERED:
        for name, group in _grouped(trace, rows[named(trace, rows, pattern)], str).items():
            if len(group) >= REPEATS:
                return _marks(trace, "annotation", name, group, calls)
    users = rows[(trace.events.category[rows] == Category.ANNOTATION) & ~named(trace, rows, _NOT_A_STEP)]
    groups = {key: group for key, group in _grouped(trace, users, step_key).items() if len(group) >= REPEATS}
    candidates = [_marks(trace, "annotation", key, group, calls) for key, group in groups.items()]
    steps = [marks for marks in candidates if marks and _leads_the_work(marks, launched)]
    return min(steps, key=lambda marks: len(marks.start), default=None)


def named_annotation(trace: Trace, lanes: Bools, name: str, calls: Int64s) -> Marks | None:
    """The annotation of this name on some lanes (mask), or all that differ only in their number.

    Steps of the profiler are marked as they are when nobody names them, whichever way they are named: one
    ("ProfilerStep#3") comes with the mark of the next, at which it ends. Raises UsageError where the trace has no
    such annotation, naming those it has."""
    rows = _annotations(trace, lanes)
    found = rows[names_of(trace, rows) == name]
    if not len(found):
        found = rows[tell_names(trace, rows, _family) == name.rstrip("#")]
    if not len(found):
        users = (trace.events.category[rows] == Category.ANNOTATION) | named(trace, rows, _STEP)
        raise UsageError(_unknown(trace, rows[users], name))
    steps = profiler_steps(trace, lanes, calls) if name.rstrip("#") == PROFILER_STEP or is_one_step(name) else None
    if steps is not None and is_one_step(name):
        steps = _one_of(steps, name, trace.events.start[found])
    return steps or _marks(trace, "annotation", name, found, calls)


def _one_of(marks: Marks, name: str, start: Int64s) -> Marks | None:
    """The first mark at one of these starts and the mark after it; None where no mark is there."""
    at = np.flatnonzero(np.isin(marks.start, start))[:1]
    if not len(at):
        return None
    first, bounds = int(at[0]), marks.bounds()
    end = int(bounds[min(first + 2, len(bounds) - 1)])
    return dataclasses.replace(marks, name=name, start=marks.start[first : first + 2], end=end)


def launch_period(trace: Trace, rows: Int64s) -> Marks | None:
    """Repetitions of the launch sequence of a device's work."""
    period = find_period(trace, rows)
    if period is None:
        return None
    unit = f"{period.launches} launch{'es' if period.launches > 1 else ''}"
    note = f"no annotated steps: a unit of {unit} that repeats {round(period.repeats, 1):g} times; it may be a layer"
    return Marks("period", f"repeated unit of {unit}", period.start, recorded_end(trace) + 1, (note,))


def _annotations(trace: Trace, lanes: Bools) -> Int64s:
    """Rows of the lanes' annotations by start; early profilers recorded them as operators."""
    events = trace.events
    marking = among(events.category, (Category.ANNOTATION, Category.OPERATOR)) & events.complete()
    rows = np.flatnonzero(marking)
    rows = rows[lanes[events.lane[rows]]]
    return rows[np.argsort(events.start[rows], kind="stable")]


def _grouped(trace: Trace, rows: Int64s, key: Callable[[str], str]) -> dict[str, Int64s]:
    """Rows by a key of their name, the first seen first."""
    keys = tell_names(trace, rows, key)
    return {name: rows[keys == name] for name in dict.fromkeys(keys.tolist())}


def _marks(trace: Trace, kind: str, name: str, rows: Int64s, calls: Int64s) -> Marks | None:
    """Marks at the starts of rows, on the thread that they lead, on the level of steps; None without rows.

    The last of an annotation's repetitions goes on to the end of the recording: the annotation may mark no more
    than the step's beginning.
    """
    if not len(rows):
        return None
    sound = rows[believable(trace)[rows]]
    mine = sound[trace.events.lane[sound] == _leading_lane(trace, sound, calls)]
    notes = ()
    if len(sound) < len(rows):
        notes += (f"{len(rows) - len(sound)} x {name} left out: its duration is broken",)
    if len(mine) < len(sound):
        notes += (f"{len(sound) - len(mine)} x {name} left out: on other threads",)
    mine = mine[np.lexsort((-trace.events.end[mine], trace.events.start[mine]))]
    level = _step_level(trace, mine)
    if len(level) and level[0] != mine[0]:
        notes += (f"1 x {name} left out: the others lie in it",)
    start, end = trace.events.start[level], int(trace.events.end[level].max(initial=0))
    repeats = kind == "annotation" and len(level) > 1
    return Marks(kind, name, start, recorded_end(trace) + 1 if repeats else end, notes)


def _step_level(trace: Trace, rows: Int64s) -> Int64s:
    """Of rows, by start and the longest first, those that lie in no other; where that is one alone, those right within
    it if there are several."""
    outer = _outermost(trace, rows)
    inner = rows[~outer]
    inner = inner[_outermost(trace, inner)] if outer.sum() == 1 else inner[:0]
    return inner if len(inner) > 1 else rows[outer]


def _outermost(trace: Trace, rows: Int64s) -> Bools:
    """Mask of the rows, in that order, that lie in no other."""
    end = trace.events.end[rows]
    return np.append(True, end[1:] > np.maximum.accumulate(end)[:-1])[: len(rows)]


def _leading_lane(trace: Trace, rows: Int64s, calls: Int64s) -> int:
    """Of the lanes of some annotations the one where they hold most of its calls; of equals the one that makes most,
    then the one with most annotations: other threads may bear the same name and launch nothing."""
    lane, of_call = trace.events.lane[rows], trace.events.lane[calls]
    count = np.bincount(lane, minlength=1)
    lanes = np.flatnonzero(count).tolist()
    if len(lanes) < 2:
        return lanes[0] if lanes else ABSENT
    held = {at: _held(trace, rows[lane == at], calls[of_call == at]) for at in lanes}
    return max(lanes, key=lambda at: (held[at], int((of_call == at).sum()), int(count[at])))


def _held(trace: Trace, rows: Int64s, calls: Int64s) -> int:
    """How many calls begin within any of the rows."""
    begun = np.sort(trace.events.start[calls])
    spans = union(trace.events.start[rows], trace.events.end[rows])
    return int(np.diff(np.searchsorted(begun, spans)).sum())


def _leads_the_work(marks: Marks, launched: Int64s) -> bool:
    """Whether each repetition but the last launches the same number of times, and all of them most work."""
    if len(marks.start) < REPEATS or not len(launched):
        return False
    between = np.diff(np.searchsorted(launched, marks.bounds()))
    if between.sum() < COVERAGE * len(launched) or not between[:-1].min():
        return False
    return bool(np.ptp(between[:-1]) <= SAME_WORK * between[:-1].max())


def _family(name: str) -> str:
    """What the repetitions of an annotation are called together ("ProfilerStep#3" -> "ProfilerStep")."""
    return step_key(name).rstrip("#")


def _unknown(trace: Trace, rows: Int64s, name: str) -> str:
    """That no annotation bears this name, with those that come close or that there are."""
    if is_one_step(name) and (steps := names_of(trace, rows[named(trace, rows, _STEP)]).tolist()):
        return f"no annotation named {name!r}: the trace has {steps[0]} to {steps[-1]}"
    keys = list(dict.fromkeys(tell_names(trace, rows, _family).tolist()))
    if not keys:
        return f"no annotation named {name!r}: the trace has none; leave --step out"
    import difflib  # most names are known

    close = difflib.get_close_matches(name, keys, n=1, cutoff=0.5)
    hint = f", did you mean {close[0]!r}" if close else ""
    more = f" and {len(keys) - MOST_NAMED} more" if len(keys) > MOST_NAMED else ""
    return f"no annotation named {name!r}{hint}: the trace has {', '.join(keys[:MOST_NAMED])}{more}"
