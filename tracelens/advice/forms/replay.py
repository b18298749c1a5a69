"""The step replayed from a CUDA Graph of its unchanged kernels."""

from __future__ import annotations

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.device.facts import Facts
from tracelens.advice.device.schedule import graph_spacing
from tracelens.advice.estimate import Estimate
from tracelens.advice.forms.host_time import at_floor, with_outside
from tracelens.advice.forms.inputs import input_copies
from tracelens.advice.terms import DEVICE


def predict_replay(facts: Facts) -> Estimate:
    """Device schedule of the traced kernels with graph spacing, one launch, and the copies into static inputs.

    A trace does not show all that passes through the cache: the range reaches half way to a graph that stays in it and
    to one that does not, and part of the way to streams that overlap freely and to streams that do not."""
    spacings = (graph_spacing(facts.region, facts.operators, cold) for cold in (False, None, True))
    cached, span, cold = (facts.span(spacing).within(C.OVERLAP_REACH) for spacing in spacings)
    device = Estimate(
        facts.sustained.mid * span.expected + C.GRAPH_LAUNCH,
        facts.sustained.low * (cached.least + span.least) / 2,
        facts.sustained.high * (cold.most + span.most) / 2 + C.GRAPH_LAUNCH,
    )
    device = device.told(
        "device_ns + graph_launch_ns",
        DEVICE,
        device_ns=facts.sustained.mid * span.expected,
        graph_launch_ns=C.GRAPH_LAUNCH,
    )
    replayed = device + input_copies(facts.region, facts.bandwidth.rate)
    branched = len(facts.region) if len(np.unique(facts.region.stream)) > 1 else 0
    return with_outside(at_floor(replayed, facts.region, branched), facts.region)
