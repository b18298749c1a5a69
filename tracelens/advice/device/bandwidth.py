"""The memory bandwidth that generated kernels can count on, in bytes per ns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.operators.operators import Operators
from tracelens.advice.operators.roles import Role
from tracelens.advice.step.region import Region
from tracelens.model.events import Device, Floats

FLOAT32: Final = 4
"""Bytes of an element where the trace gives no type."""
REACHED: Final = 90
"""Percentile of the rates of the trace's pointwise kernels that its device is taken to reach. [judgement]"""
MOST_SHOWN: Final = 1.1
"""Most that they may show, over what is usual of a listed device: tensors in the cache show more. [judgement]"""
_SLICES: Final = re.compile(r"\bMIG (\d)g\.")
"""In the name of a slice, how many of the device it has."""


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """A rate and whether it is more than a guess."""

    rate: float
    """Bytes per ns."""
    known: bool
    """The trace shows it or the device is listed."""


def streaming_bandwidth(region: Region, operators: Operators) -> Bandwidth:
    """What the trace's own pointwise kernels reach, within the device's peak; else the listed peak's usual share."""
    peak = _peak(region.device)
    usual = C.ACHIEVABLE * (peak or C.UNKNOWN_BANDWIDTH)
    shown = _shown(region, operators)
    if not len(shown):
        return Bandwidth(usual, peak > 0)
    reached = float(np.percentile(shown, REACHED))
    return Bandwidth(min(max(reached, C.LEAST_SHOWN * usual), MOST_SHOWN * usual) if peak else reached, True)


def traffic(operators: Operators) -> Floats:
    """Bytes that each operator reads and writes at least: its full-size inputs and one output of that size."""
    return operators.bytes * (np.maximum(operators.inputs, 1.0) + 1.0)


def infer_sizes(region: Region, operators: Operators, bandwidth: Bandwidth) -> Operators:
    """The operators with sizes where none are recorded: tensors that take as long to stream as the kernel ran.

    One tensor of float32 is read and one written; a reduction only reads. Work of libraries keeps no size."""
    unsized = ~operators.sized & ~np.isin(operators.role, (Role.LIBRARY, Role.VANISHES, Role.FOREACH))
    streamed = np.maximum(region.duration - C.RAMP, 0.0) * bandwidth.rate
    reduces = np.isin(operators.role, (Role.ROW, Role.FULL, Role.COLUMN))
    size = np.where(unsized, streamed / np.where(reduces, 1.0, 2.0), operators.bytes)
    elements = np.where(unsized, np.maximum(size / FLOAT32, 1.0), operators.elements)
    read, written = (np.where(unsized, size, given) for given in (operators.read, operators.written))
    inputs = np.where(unsized, 1.0, operators.inputs)
    return replace(operators, bytes=size, read=read, written=written, elements=elements, inputs=inputs)


def _shown(region: Region, operators: Operators) -> Floats:
    """Rates in bytes per ns of the pointwise kernels that run for long enough to show one."""
    streams = (operators.role == Role.POINTWISE) & (region.duration > C.STREAMING_KERNEL) & (operators.bytes > 0)
    return (traffic(operators) / operators.portions)[streams] / region.duration[streams]


def part_of(device: Device) -> float:
    """Share 0..1 of the device that its name tells: a slice has fewer multiprocessors, and as much less bandwidth."""
    whole, given = C.MULTIPROCESSORS.get(_listed(device, C.MULTIPROCESSORS), 0), device.properties.get("numSms")
    if whole and isinstance(given, int) and given > 0:
        return min(given / whole, 1.0)
    slices = _SLICES.search(device.name)
    return min(int(slices[1]) / C.SLICES, 1.0) if slices else 1.0


def _peak(device: Device) -> float:
    """Listed bandwidth in bytes per ns of the device, or of the slice that it is; 0 where it is not listed."""
    return part_of(device) * C.PEAK_BANDWIDTH.get(_listed(device, C.PEAK_BANDWIDTH), 0.0)


def _listed(device: Device, known: Mapping[str, float]) -> str:
    """The longest of the words in the device's name, "" where it has none."""
    return max((word for word in known if word in device.name), key=len, default="")
