"""Tensors that a compiled step takes as inputs for the operators of its layers: weights, biases, running statistics."""

from __future__ import annotations

from typing import Final

import numpy as np

from tracelens.advice.step.region import Region
from tracelens.model.distinct import distinct
from tracelens.model.events import ABSENT
from tracelens.model.names import tell_names

TENSORS: Final = {
    "aten::linear": 2,
    "aten::conv1d": 2, "aten::conv2d": 2, "aten::conv3d": 2,
    "aten::conv_transpose1d": 2, "aten::conv_transpose2d": 2, "aten::conv_transpose3d": 2,
    "aten::layer_norm": 2, "aten::group_norm": 2, "aten::instance_norm": 4, "aten::batch_norm": 4, "aten::rms_norm": 1,
    "aten::embedding": 1, "aten::embedding_bag": 1,
}  # fmt: skip
"""How many a layer's operator takes, at most. [torch.nn]"""


def layer_tensors(region: Region) -> int:
    """Parameters and statistics that the step's layers take; one that is used again counts again."""
    events, links = region.trace.events, region.trace.links
    around = np.zeros(len(events), dtype=np.bool_)
    rows = links.operator[region.work]
    while len(rows := rows[rows != ABSENT]):
        new = distinct(rows[~around[rows]], len(events))
        around[new] = True
        rows = links.parent[new]
    return int(tell_names(region.trace, np.flatnonzero(around), lambda name: TENSORS.get(name, 0), np.int64).sum())
