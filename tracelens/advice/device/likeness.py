"""How much the trace's device and software are like those that the constants were measured on."""

from __future__ import annotations

import re
from typing import Final

from tracelens.advice import constants as C
from tracelens.advice.device.bandwidth import part_of
from tracelens.model.events import Device, Trace
from tracelens.model.units import percent

CUDA_RUNTIME: Final = "cuda_runtime_version"
"""Key of a trace's metadata: 1000 x major + 10 x minor. torch binds one CUDA release to each of its own."""
WHOLE: Final = 0.95
"""Share of a device's multiprocessors from which it is no part. [judgement]"""


def unlikeness(trace: Trace, device: Device) -> float:
    """By how much ranges widen on a device, a vendor or a CUDA release that the constants were not measured on."""
    if trace.vendor != "cuda":
        return C.OTHER_VENDOR
    return (1.0 if is_calibrated(device) else C.OTHER_DEVICE) * (C.OTHER_RELEASE if _other_release(trace) else 1.0)


def differences(trace: Trace, device: Device) -> tuple[str, ...]:
    """What differs from the calibration, in words; () where nothing does."""
    if trace.vendor != "cuda":
        return (f"{device.name or f'an unnamed {trace.vendor} device'} instead of an NVIDIA {C.CALIBRATED}",)
    release, part = _release(trace), part_of(device)
    named = device.name or "an unnamed device"
    told = f"{named} ({percent(part)} of a whole one)" if part < WHOLE else named
    kind = () if is_calibrated(device) else (f"{told} instead of an NVIDIA {C.CALIBRATED}",)
    return (*kind, *((f"CUDA {release} instead of {C.CALIBRATED_CUDA}",) if _other_release(trace) else ()))


def is_calibrated(device: Device) -> bool:
    """Whether the constants were measured on such a device, and this is all of one."""
    return C.CALIBRATED in device.name and part_of(device) >= WHOLE


def _other_release(trace: Trace) -> bool:
    return _release(trace) not in (None, C.CALIBRATED_CUDA)


def _release(trace: Trace) -> int | None:
    """Major version of the CUDA runtime; None where the trace does not say."""
    given = str(trace.metadata.get(CUDA_RUNTIME, ""))
    return int(given) // 1000 if re.fullmatch(r"[1-9]\d{3,5}", given) else None
