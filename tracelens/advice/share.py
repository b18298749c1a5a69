"""How much of a device a kernel takes while it runs."""

from __future__ import annotations

import numpy as np

from tracelens.advice.bandwidth import traffic
from tracelens.advice.operators import Operators
from tracelens.advice.region import Region
from tracelens.advice.roles import Role
from tracelens.model import arguments as A
from tracelens.model.events import Category, Floats, Int64s

BLOCKS_PER_MULTIPROCESSOR = 32
"""At most so many thread blocks run on one multiprocessor at a time, whatever their size. [CUDA guide, since 5.0]"""


def share_of_device(region: Region, operators: Operators, bandwidth: float) -> Floats:
    """Share 0..1 per piece of work: of the device's multiprocessors or of its memory bandwidth, whichever is more.

    What blocks fit on a multiprocessor follows from their threads, registers and shared memory. One block alone there
    takes more of it than its place, for its arithmetic, and less than all: the share is the geometric mean of the
    places and of the multiprocessors with a block. Copies and memsets take nothing; a kernel whose grid the trace does
    not give takes all. Two kernels that each fill the device gain nothing side by side."""
    asked = traffic(operators) / bandwidth / np.maximum(region.duration, 1)
    streams = np.where(operators.role == Role.POINTWISE, asked, 0)
    blocks = region.product(A.GRID)
    multiprocessors, resident = _device(region, "numSms"), _resident(region)
    held = np.minimum(blocks / max(multiprocessors, 1), 1.0)
    places = np.minimum(blocks / np.maximum(resident * multiprocessors, 1), 1.0)
    known = (blocks > 0) & (resident > 0) & (multiprocessors > 0)
    share = np.where(known, np.sqrt(np.maximum(held * places, 0.0)), 1.0)
    share = np.maximum(share, np.minimum(streams, 1.0))
    return np.where(region.trace.events.category[region.work] == Category.KERNEL, share, 0.0)


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
