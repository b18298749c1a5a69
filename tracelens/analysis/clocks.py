"""Whether the clocks of host and device agree, so that what one did before the other is known."""

from __future__ import annotations

from typing import Final

import numpy as np

from tracelens.analysis.extent import misplaced_work
from tracelens.model.events import ABSENT, Int64s, Trace
from tracelens.model.once import once

EARLY: Final = 0.001
"""Share of device events that may start before their launch. [0 on every trace seen]"""


@once
def clocks_agree(trace: Trace) -> bool:
    """Whether hardly any device event starts before its launch. Where they do, no order of host and device is known:
    not whether a copy held its call up, nor what the host did while the device was idle."""
    return (early_share(trace, np.flatnonzero(trace.events.device_work())) or 0.0) <= EARLY


def early_share(trace: Trace, work: Int64s) -> float | None:
    """Share of linked device events that start before their launch call does, those without a time apart."""
    linked = work[(trace.links.launch[work] != ABSENT) & ~misplaced_work(trace)[work]]
    if not len(linked):
        return None
    return float((trace.events.start[linked] < trace.events.start[trace.links.launch[linked]]).mean())
