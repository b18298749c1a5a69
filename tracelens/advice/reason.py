"""What bounds the step, in one sentence."""

from __future__ import annotations

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.facts import Facts
from tracelens.advice.host_time import host_scale
from tracelens.advice.operators import Role
from tracelens.model.units import counted, milliseconds, share


def reason(facts: Facts) -> str:
    """Host-bound or device-bound, and by what kind of work."""
    region = facts.region
    device = facts.span(C.STREAM_SPACING, C.STREAM_SPACING).expected
    host = region.host * host_scale(region).mid
    work = counted(len(region), "kernel")
    if host > device:
        return f"The host needs about {_ms(host)} ms to launch {work} that run for {_ms(device)} ms."
    fusable = np.isin(facts.operators.role, (Role.LIBRARY, Role.VANISHES), invert=True)
    part = float(region.duration[fusable].sum()) / max(float(region.duration.sum()), 1.0)
    return f"The device is the limit ({_ms(device)} ms), {share(part)} of it in kernels that can fuse."


def _ms(ns: float) -> str:
    return milliseconds(ns / 1e6)
