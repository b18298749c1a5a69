"""The kernel table: device work by name."""

from __future__ import annotations

import numpy as np

from tracelens.analysis.handles import DEVICE_EVENT
from tracelens.analysis.kinds import KIND_NAMES, ORIGIN_NAMES, kind_numbers, origin_numbers
from tracelens.analysis.results import Steps
from tracelens.analysis.table import Table
from tracelens.analysis.tables.columns import handle_column, name_column
from tracelens.analysis.tables.groups import Groups
from tracelens.analysis.work import owned_work
from tracelens.model.events import Trace


def kernel_table(trace: Trace, steps: Steps, device: int) -> Table:
    """Kernels, copies and memsets launched by the counted steps, by name, kind and origin; largest total first.

    Columns: name, kind, origin, count, total_ns, median_ns, share (0..1 of the device time launched in the
    window, streams added up), example (handle of the longest), row (of the example)."""
    rows = owned_work(trace, steps, device)
    ns, kind, origin = trace.events.duration[rows], kind_numbers(trace, rows), origin_numbers(trace, rows)
    groups = Groups.by(trace.events.name[rows], kind, origin)
    total, longest = groups.sums(ns), groups.largest(ns)
    example = rows[longest]
    found = Table(
        {
            "name": name_column(trace, example),
            "kind": KIND_NAMES[kind[longest]],
            "origin": ORIGIN_NAMES[origin[longest]],
            "count": groups.count,
            "total_ns": total,
            "median_ns": np.rint(groups.medians(ns)).astype(np.int64),
            "share": total / max(int(total.sum()), 1),
            "example": handle_column(trace, DEVICE_EVENT, example),
            "row": example,
        }
    )
    return found.largest("total_ns", len(found))
