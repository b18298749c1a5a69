"""Links op -> launch -> device work by correlation, External id and nesting; nothing is guessed."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tracelens.model.events import ABSENT, HOST, SUBMITS, Bools, Category, Events, Int32s, Int64s, Lanes, Links, among
from tracelens.model.masks import run_starts
from tracelens.model.nesting import enclosing, nearest

Rows: TypeAlias = npt.NDArray[np.integer]
Processes: TypeAlias = npt.NDArray[np.integer]


def link(events: Events, lanes: Lanes) -> Links:
    """Links of all events; every array has one entry per event."""
    process = lanes.process_numbers().take(events.lane)
    parent = _parents(events)
    launch = _launches(events, process)
    return Links(launch, _operators(events, process, parent, launch), parent)


def _parents(events: Events) -> Int32s:
    """The innermost host event that encloses each one on its lane."""
    rows = np.flatnonzero(among(events.category, HOST) & events.complete())
    start, end = events.start[rows], events.duration[rows]
    end += start
    inner = enclosing(events.lane[rows], start, end)
    parent = np.full(len(events), ABSENT, dtype=np.int32)
    parent[rows] = np.append(rows, ABSENT).astype(np.int32)[inner]
    return parent


def _launches(events: Events, process: Processes) -> Int32s:
    """The call with the same correlation; of several the last begun before the device event.

    Where processes use the same correlation, those that they do not share tell whose a device is, else its place in
    the file; where neither does, the work stays unlinked: of ranks merged into one file, the call begun last may be
    another rank's.
    """
    calls = _submitting(events)
    work = np.flatnonzero(events.device_work() & (events.correlation > 0))
    key = events.correlation
    found = _latest(events, calls, work, key)
    several = _of_several(key[calls], process[calls])
    shared = np.isin(key[work], several)
    if shared.any():
        owner = _owners(events.device[work], process[found], (found != ABSENT) & ~shared)
        owner = np.where(owner == ABSENT, _by_place(work, process, calls), owner)
        found[shared] = ABSENT
        known = np.flatnonzero(shared & (owner != ABSENT))
        found[known] = _latest(events, calls, work[known], key, process, owner[known])
    launch = np.full(len(events), ABSENT, dtype=np.int32)
    launch[work] = found
    return launch


def _submitting(events: Events) -> Rows:
    """Calls with a correlation; where one of a correlation submits work, only those that do."""
    calls = np.flatnonzero((events.category == Category.RUNTIME) & (events.correlation > 0))
    submits, ids = among(events.role[calls], SUBMITS), events.correlation[calls]
    others = np.flatnonzero(~submits)
    doubled = _contains(np.sort(ids[submits], kind="stable"), ids[others])
    return np.delete(calls, others[doubled])


def _contains(ordered: Int64s, keys: Int64s) -> Bools:
    """Which of the keys are among those that are in order."""
    place = np.searchsorted(ordered, keys)
    return (place < len(ordered)) & (np.append(ordered, ABSENT)[place] == keys)


def _of_several(keys: Int64s, process: Processes) -> Int64s:
    """Keys that more than one process uses."""
    if not len(process) or np.all(process == process[0]):
        return keys[:0]
    pairs = np.unique(np.column_stack((keys, process)), axis=0)
    distinct, count = np.unique(pairs[:, 0], return_counts=True)
    return distinct[count > 1].astype(np.int64)


def _owners(device: Int32s, process: Processes, sure: npt.NDArray[np.bool_]) -> Int64s:
    """Process that most of the surely linked work of each event's device comes from, ABSENT where there is none."""
    pairs, votes = np.unique(np.column_stack((device[sure], process[sure])), axis=0, return_counts=True)
    most = pairs[np.lexsort((pairs[:, 1], -votes, pairs[:, 0]))]
    devices, first = np.unique(most[:, 0], return_index=True)
    if not len(devices):
        return np.full(len(device), ABSENT, dtype=np.int64)
    place = np.minimum(np.searchsorted(devices, device), len(devices) - 1)
    return np.where(devices[place] == device, most[first[place], 1], ABSENT).astype(np.int64)


def _by_place(work: Rows, process: Processes, calls: Rows) -> Int64s:
    """Process in whose part of the file each piece of work lies, where one process's events and work follow after the
    other's, as in files written one behind the other; else ABSENT."""
    calling = np.unique(process[calls])
    rows = np.flatnonzero(np.isin(process, calling))
    first = rows[run_starts(process[rows])]
    part = np.searchsorted(first, work, side="right") - 1
    if len(first) > len(calling) or not np.isin(np.arange(len(first)), part).all():
        return np.full(len(work), ABSENT, dtype=np.int64)
    return np.where(part >= 0, process[first[part]], ABSENT).astype(np.int64)


def _latest(
    events: Events,
    candidates: Rows,
    rows: Rows,
    key: Int64s,
    process: Processes | None = None,
    of_process: Processes | None = None,
) -> Int64s:
    """For each row the candidate of its key that began last before it, the first one if none did, else ABSENT.

    With a process per event, only candidates of the process `of_process` of each row."""
    found = np.full(len(rows), ABSENT, dtype=np.int64)
    ordered = candidates[np.argsort(key[candidates], kind="stable")]
    keys, asked = key[ordered], key[rows]
    first, beyond = np.searchsorted(keys, asked), np.append(keys, (ABSENT, ABSENT))
    known, again = beyond[first] == asked, beyond[first + 1] == asked
    alone, several = np.flatnonzero(known & ~again), np.flatnonzero(known & again)
    only = ordered[first[alone]]
    if process is None or of_process is None:
        found[alone] = only
    else:
        found[alone] = np.where(process[only] == of_process[alone], only, ABSENT)
        of_process = of_process[several]
    if len(several):
        rivals = candidates[np.isin(key[candidates], asked[several])]
        found[several] = _latest_of_several(events, rivals, rows[several], key, process, of_process)
    return found


def _latest_of_several(
    events: Events, candidates: Rows, rows: Rows, key: Int64s, process: Processes | None, of_process: Processes | None
) -> Int64s:
    """The same where keys have several candidates: sorted with the rows that ask, each looks at those before it."""
    keys = [np.concatenate((key[candidates], key[rows]))]
    if process is not None and of_process is not None:
        keys.append(np.concatenate((process[candidates], of_process)).astype(np.int64))
    count = len(candidates)
    start = np.concatenate((events.start[candidates], events.start[rows]))
    asks = np.arange(len(start)) >= count
    order = np.lexsort((asks, start, *keys))
    same = np.ones(len(order), dtype=np.bool_)
    for one in keys:
        same[1:] &= one[order[1:]] == one[order[:-1]]
    place = np.arange(len(order))
    first = np.maximum.accumulate(np.where(same & (place > 0), 0, place))
    before = np.maximum.accumulate(np.where(asks[order], -1, place))
    after = np.minimum.accumulate(np.where(asks[order], len(order), place)[::-1])[::-1]
    chosen = np.where(before >= first, before, after)
    group = np.cumsum(~same)
    valid = (chosen < len(order)) & (group[np.minimum(chosen, len(order) - 1)] == group) if len(order) else same
    result = np.full(len(rows), ABSENT, dtype=np.int64)
    wanted = np.flatnonzero(asks[order] & valid)
    result[order[wanted] - count] = candidates[order[chosen[wanted]]]
    return result


def _operators(events: Events, process: Processes, parent: Int32s, launch: Int32s) -> Int32s:
    """The operator of the External id, else the nearest above the call; device work has that of its launch."""
    calls = np.flatnonzero(events.category == Category.RUNTIME)
    operator = np.full(len(events), ABSENT, dtype=np.int32)
    operator[calls] = nearest(parent, parent[calls], events.category == Category.OPERATOR)
    rows, named = _by_external_id(events, process)
    operator[rows[named != ABSENT]] = named[named != ABSENT]
    linked = np.flatnonzero(launch != ABSENT)
    of_launch = operator[launch[linked]]
    operator[linked] = np.where(of_launch != ABSENT, of_launch, operator[linked])
    return operator


def _by_external_id(events: Events, process: Processes) -> tuple[Rows, Int64s]:
    """Calls and device work with an External id, and the operator with that id, of the same process where known."""
    ids = events.external_id
    operators = np.flatnonzero((events.category == Category.OPERATOR) & (ids > 0))
    calls = np.flatnonzero((events.category == Category.RUNTIME) & (ids > 0))
    work = np.flatnonzero(events.device_work() & (ids > 0))
    work = work[~np.isin(ids[work], _of_several(ids[operators], process[operators]))]
    of_calls = _latest(events, operators, calls, ids, process, process[calls])
    return np.concatenate((calls, work)), np.concatenate((of_calls, _latest(events, operators, work, ids)))
