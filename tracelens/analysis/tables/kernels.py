"""The kernel table: device work by name."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracelens.analysis.handles import DEVICE_EVENT, handles_of
from tracelens.analysis.kinds import kinds, origins
from tracelens.analysis.results import Steps
from tracelens.analysis.tables.columns import table
from tracelens.model.events import ABSENT, Int64s, Trace
from tracelens.model.names import names_of


def owned_work(trace: Trace, steps: Steps, device: int) -> Int64s:
    """Rows of the device work that the counted steps launched on a device."""
    owned = trace.events.device_work() & (trace.events.device == device)
    return np.flatnonzero(owned & (steps.owner != ABSENT))


def kernel_table(trace: Trace, steps: Steps, device: int) -> pd.DataFrame:
    """Kernels, copies and memsets launched by the counted steps, by name, kind and origin; largest total first.

    Columns: name, kind, origin, count, total_ns, median_ns, share (0..1 of the device time launched in the
    window, streams added up), example (handle of the longest), row (of the example)."""
    rows = owned_work(trace, steps, device)
    work = pd.DataFrame(
        {"name": trace.events.name[rows], "kind": kinds(trace, rows), "origin": origins(trace, rows)}
        | {"ns": trace.events.duration[rows], "row": rows}
    )
    groups = work.groupby(["name", "kind", "origin"], sort=False)
    found = groups["ns"].agg(["size", "sum", "median", "idxmax"]).reset_index()
    found = found.sort_values("sum", ascending=False, kind="stable")
    total = found["sum"].to_numpy(dtype=np.int64)
    example = rows[found["idxmax"].to_numpy(dtype=np.int64)]
    return table(
        {
            "name": names_of(trace, example),
            "kind": found["kind"].to_numpy(dtype=object),
            "origin": found["origin"].to_numpy(dtype=object),
            "count": found["size"].to_numpy(dtype=np.int64),
            "total_ns": total,
            "median_ns": np.rint(found["median"].to_numpy(dtype=np.float64)).astype(np.int64),
            "share": total / max(int(total.sum()), 1),
            "example": handles_of(trace, DEVICE_EVENT, example),
            "row": example,
        }
    )
