"""What tests ask of an attribution: its parts in microseconds, as one flat mapping."""

from __future__ import annotations

import numpy as np

from tests.build import TraceBuilder
from tracelens.analysis.attribution import attribute
from tracelens.analysis.results import Attribution
from tracelens.analysis.steps import find_steps
from tracelens.analysis.timeline import build_timeline
from tracelens.model.events import Trace


def flat(attribution: Attribution) -> dict[str, int]:
    """Parts that hold any time: "class.part" -> ns."""
    return {f"{name}.{part}": ns for name, parts in attribution.parts.items() for part, ns in parts.items() if ns}


def account(trace: Trace, device: int = 0, span: tuple[int, int] | None = None) -> Attribution:
    """Attribution of the device's first to last event, or of a span in ns."""
    timeline, _ = build_timeline(trace, device)
    tiles = np.array([span]) if span else find_steps(trace, device, span="all").window.tiles
    return attribute(timeline, tiles)


def parts_us(builder: TraceBuilder, span_us: tuple[float, float] | None = None, device: int = 0) -> dict[str, float]:
    """Parts in microseconds of the device's first to last event, or of a span."""
    span = (round(span_us[0] * 1000), round(span_us[1] * 1000)) if span_us else None
    return {part: ns / 1000 for part, ns in flat(account(builder.trace(), device, span)).items()}


def union_ns(start: np.ndarray, end: np.ndarray, low: int, high: int) -> int:
    """ns of [low, high) that any interval covers, the slow and obvious way."""
    total, reach, inside = 0, low, (start < high) & (end > low)
    for begin, finish in sorted(zip(start[inside].tolist(), end[inside].tolist(), strict=True)):
        begin, finish = max(begin, reach), min(finish, high)
        if finish > begin:
            total, reach = total + finish - begin, finish
    return total
