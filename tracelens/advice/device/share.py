"""How much of a device a kernel takes while it runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.device.bandwidth import traffic
from tracelens.advice.operators.operators import Operators
from tracelens.advice.operators.roles import Role
from tracelens.advice.step.region import Region
from tracelens.analysis.waits import WITHIN_DEVICE
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Category, Floats, Int64s
from tracelens.model.names import named

BLOCKS_PER_MULTIPROCESSOR = 32
"""At most so many thread blocks run on one multiprocessor at a time, whatever their size. [CUDA guide, since 5.0]"""
LEAST_WORKING = 0.1
"""Share of a computing kernel's time in which it does, however short it is. [judgement]"""


@dataclass(frozen=True, slots=True)
class Held:
    """What n pieces of work take of the device while they run."""

    device: Floats
    """(n) Share 0..1 of the multiprocessors that run a block. Memsets and copies to and from the host hold none."""
    multiprocessor: Floats
    """(n) Share 0..1 of what such a multiprocessor can do."""


def share_of_device(region: Region, operators: Operators, bandwidth: float) -> Floats:
    """Share 0..1 per piece of work: of the device's multiprocessors or of its memory bandwidth, whichever is more.

    One block alone on a multiprocessor takes more of it than its place, for its arithmetic, and less than all: the
    square root of its places. Two kernels that each fill the device gain nothing side by side."""
    device, waves = _blocks(region)
    share = device * np.sqrt(np.minimum(waves, 1.0))
    return np.where(device > 0, np.maximum(share, _streams(region, operators, bandwidth)), 0.0)


def held(region: Region, operators: Operators, bandwidth: float) -> Held:
    """What each piece of work takes of the device.

    Kernels whose threads keep many values in registers compute, but for their start. Others wait for memory: they take
    half as much as they have waves of blocks, or their share of the memory's bandwidth. Kernels make the copies within
    the device. [measured: chains of kernels side by side in graphs, H200]"""
    device, waves = _blocks(region)
    registers = region.number(A.REGISTERS)
    computes = (registers == ABSENT) | (registers >= C.REGISTERS_TO_COMPUTE)
    waits = np.maximum(np.minimum(waves / 2, 1.0), _streams(region, operators, bandwidth))
    kernels = np.where(computes, _computes(region), waits)
    copied = _copied(region)
    spread = np.minimum(copied / C.COPIED_BY_BLOCK / max(_device(region, "numSms"), 1), 1.0)
    moves = np.minimum(2 * copied / bandwidth / np.maximum(region.duration, 1), 1.0)
    return Held(np.where(copied > 0, spread, device), np.where(copied > 0, moves, kernels))


def _computes(region: Region) -> Floats:
    """Share of a multiprocessor that a computing kernel takes: all where one block fills it."""
    working = np.maximum(1 - C.COMPUTE_START / np.maximum(region.duration, 1), LEAST_WORKING)
    return np.where(_resident(region) > 1, C.COMPUTES * working, 1.0)


def _copied(region: Region) -> Floats:
    """Bytes of each copy within the device; 0 of other work."""
    copies = region.trace.events.category[region.work] == Category.COPY
    within = copies & named(region.trace, region.work, WITHIN_DEVICE)
    return np.where(within, np.maximum(region.number(A.BYTES), 0), 0).astype(np.float64)


def _streams(region: Region, operators: Operators, bandwidth: float) -> Floats:
    """Share of the memory's bandwidth that pointwise work asks for."""
    asked = traffic(operators) / bandwidth / np.maximum(region.duration, 1)
    return np.minimum(np.where(operators.role == Role.POINTWISE, asked, 0.0), 1.0)


def _blocks(region: Region) -> tuple[Floats, Floats]:
    """Share of the multiprocessors that each kernel's blocks are on, and how many times they fill the places there.

    What blocks fit on a multiprocessor follows from their threads, registers and shared memory. A kernel whose grid the
    trace does not give takes all; copies and memsets take nothing."""
    blocks, multiprocessors, resident = region.product(A.GRID), _device(region, "numSms"), _resident(region)
    kernel = region.trace.events.category[region.work] == Category.KERNEL
    known = (blocks > 0) & (resident > 0) & (multiprocessors > 0)
    per_one = blocks / max(multiprocessors, 1)
    device = np.where(known, np.minimum(per_one, 1.0), 1.0)
    waves = np.where(known, np.maximum(per_one, 1.0) / np.maximum(resident, 1), 2.0)
    return np.where(kernel, device, 0.0), waves


def _resident(region: Region) -> Int64s:
    """Blocks of each kernel that fit on one multiprocessor; 0 where unknown."""
    threads = np.maximum(region.product(A.BLOCK), 0)
    registers = np.maximum(region.number(A.REGISTERS), 1) * threads
    shared = np.maximum(region.number(A.SHARED_MEMORY), 0)
    limits = (
        (threads, _device(region, "maxThreadsPerMultiprocessor")),
        (registers, _device(region, "regsPerMultiprocessor")),
        (shared, _device(region, "sharedMemPerMultiprocessor")),
    )
    fits = np.full(len(region), BLOCKS_PER_MULTIPROCESSOR)
    for used, available in limits:
        fits = np.where(used > 0, np.minimum(fits, available // np.maximum(used, 1)), fits)
    return np.where(threads > 0, np.maximum(fits, 1), 0)


def _device(region: Region, name: str) -> int:
    """A property of the device; 0 when the trace does not say, or gives no number that can be one."""
    given = region.device.properties.get(name)
    return given if isinstance(given, int) and 0 <= given < 2**31 else 0
