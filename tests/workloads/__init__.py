"""Steps to calibrate the predictions on and, apart from those, to judge them by.

A workload belongs to one of sixteen sets. Constants and rules may be fitted on the measurements of "calibration";
those of "validation", "unseen" and "third" were put away for a first, a second and a third judgement and have been
seen since; those of "fourth" to "fifteenth" are taken once constants are frozen, and only compared with what was
predicted. The kinds of the sets differ.
"""

from __future__ import annotations

from tests.workloads import (
    agents,
    blocked,
    decoding,
    dense,
    everyday,
    finance,
    generation,
    graphs,
    language,
    learning,
    listening,
    medicine,
    models,
    modern,
    optimising,
    perception,
    pointwise,
    recommending,
    representation,
    robotics,
    science,
    searching,
    series,
    serving,
    signals,
    small,
    sound,
    streams,
    tabular,
    text,
    training,
    vision,
)
from tests.workloads.registry import WORKLOADS

__all__ = [
    "WORKLOADS",
    "agents",
    "blocked",
    "decoding",
    "dense",
    "everyday",
    "finance",
    "generation",
    "graphs",
    "language",
    "learning",
    "listening",
    "medicine",
    "models",
    "modern",
    "optimising",
    "perception",
    "pointwise",
    "recommending",
    "representation",
    "robotics",
    "science",
    "searching",
    "series",
    "serving",
    "signals",
    "small",
    "sound",
    "streams",
    "tabular",
    "text",
    "training",
    "vision",
]
