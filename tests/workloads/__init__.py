"""Steps to calibrate the predictions on and, apart from those, to judge them by.

A workload belongs to one of four sets. Constants and rules may be fitted on the measurements of "calibration"; those
of "validation" and of "unseen" were put away for a first and a second judgement and have been seen since; those of
"third" are taken once constants are frozen, and only compared with what was predicted. The kinds of the sets differ.
"""

from __future__ import annotations

from tests.workloads import blocked, dense, models, pointwise, small, streams, training
from tests.workloads.registry import WORKLOADS

__all__ = ["WORKLOADS", "blocked", "dense", "models", "pointwise", "small", "streams", "training"]
