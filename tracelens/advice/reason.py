"""What bounds the step, in one sentence."""

from __future__ import annotations

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.facts import Facts
from tracelens.advice.host_time import host_scale
from tracelens.advice.operators import Role
from tracelens.model.units import counted, milliseconds, share


def reason(facts: Facts) -> str:
    """Host-bound or device-bound, and by what kind of work. Device time is that of the account of the step."""
    region = facts.region
    device = facts.span(C.STREAM_SPACING, C.STREAM_SPACING).expected
    host = region.host * host_scale(region).mid
    if host > device:
        work = f"{counted(len(region), 'kernel')} that {'runs' if len(region) == 1 else 'run'}"
        return f"The host needs about {_ms(host)} ms to launch {work} for {_ms(region.busy)} ms."
    fusable = np.isin(facts.operators.role, (Role.LIBRARY, Role.VANISHES), invert=True)
    part = float(region.duration[fusable].sum()) / max(float(region.duration.sum()), 1.0)
    kernels = "its kernel runs" if len(region) == 1 else "its kernels run"
    return (
        f"The device is the limit: {kernels} for {_ms(region.busy)} ms, {share(part)} of it in kernels that can fuse."
    )


def _ms(ns: float) -> str:
    return milliseconds(ns / 1e6)
