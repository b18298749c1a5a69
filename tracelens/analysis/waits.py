"""Host calls that block until the device is done."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tracelens.analysis.clocks import clocks_agree
from tracelens.model.events import ABSENT, Bools, Category, Int64s, Role, Trace
from tracelens.model.names import named
from tracelens.model.once import once

WITHIN_DEVICE: Final = re.compile(r"DtoD|DeviceToDevice|Device -> Device", re.IGNORECASE)
"""Copies that stay on the device."""
PINNED: Final = re.compile(r"pinned", re.IGNORECASE)
ASYNC: Final = re.compile(r"async", re.IGNORECASE)
SYNCHRONISES: Final = re.compile(r"^hipMemcpyWithStream$")
"""The call that copies and synchronises the stream, by which PyTorch reads values on ROCm. [HIP documentation: akin to
hipMemcpyAsync + hipStreamSynchronize, not allowed during graph capture]"""


@once
def blocking_waits(trace: Trace) -> Bools:
    """Mask of rows (n): synchronisations, and copies that return only after they ended on the device; none of these
    where the clocks do not tell."""
    events = trace.events
    calls = (events.category == Category.RUNTIME) & events.complete()
    waits = calls & (events.role == Role.SYNC)
    copies = np.flatnonzero(calls & (events.role == Role.COPY))
    waits[copies] = _outlast_their_work(trace, copies)
    return waits


def _outlast_their_work(trace: Trace, calls: Int64s) -> Bools:
    """Whether the device has ended all that each call launched, and something at all, when it returns."""
    if not len(calls) or not clocks_agree(trace):
        return np.zeros(len(calls), dtype=np.bool_)
    events, launch = trace.events, trace.links.launch
    index = np.full(len(events) + 1, ABSENT, dtype=np.int64)
    index[calls] = np.arange(len(calls))
    work = np.flatnonzero(events.device_work() & (index[launch] != ABSENT))
    done = np.full(len(calls), -1)
    np.maximum.at(done, index[launch[work]], events.start[work] + events.duration[work])
    return (done >= 0) & (events.start[calls] + events.duration[calls] >= done)


@once
def necessary_waits(trace: Trace) -> Bools:
    """Mask of rows (n): the blocking waits but for copies that only returned late, as on an idle device under the
    profiler, and that no host has to wait for: within a device, and of pinned memory by an asynchronous call. [CUDA
    Runtime API, API synchronization behavior] ROCm's traces call copies to pinned memory such within a device."""
    waits, launch = blocking_waits(trace).copy(), trace.links.launch
    copies = np.flatnonzero((trace.events.category == Category.COPY) & (launch != ABSENT))
    copies = copies[waits[launch[copies]] & (trace.events.role[launch[copies]] == Role.COPY)]
    pinned = named(trace, copies, PINNED) & named(trace, launch[copies], ASYNC)
    within = named(trace, copies, WITHIN_DEVICE) & ~named(trace, launch[copies], SYNCHRONISES)
    waits[launch[copies[pinned | within]]] = False
    return waits


def repeated(trace: Trace, waits: Int64s) -> Bools:
    """Mask of the waits (rows in start order) that are one with the wait before: an operator copies, which blocks, and
    then synchronises for that copy."""
    role, operator = trace.events.role[waits], trace.links.operator[waits]
    again = (role[1:] == Role.SYNC) & (role[:-1] == Role.COPY)
    again &= (operator[1:] == operator[:-1]) & (operator[1:] != ABSENT)
    return np.append(False, again)[: len(waits)]
