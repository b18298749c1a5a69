"""How the step of a trace runs already: eager, compiled, replayed or both."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tracelens.analysis.kinds import Kind, Origin, kinds, origins
from tracelens.analysis.results import Steps
from tracelens.analysis.work import owned_work
from tracelens.model.events import ABSENT, Bools, Category, Int64s, Role, Trace
from tracelens.model.forms import FORMS, NOT_EAGER
from tracelens.model.names import bearing
from tracelens.model.nesting import nearest

DOMINANT: Final = 0.7
"""Share of the kernel time that must run in one form for the step to be called by it; below, it is mixed.

Low enough for a compiled model with an eager optimizer."""

_COMPILED_REGION: Final = re.compile(r"Torch-Compiled Region|Call CompiledFxGraph|^CompiledFunction|^triton_")


def find_form(trace: Trace, steps: Steps, device: int) -> str:
    """One of FORMS, "mixed", or "unknown" when no kernel of the window has a launch; by kernel time.

    A recording that compiled or replayed the step says so in its stamp, whatever of it the compiler gave up. What was
    recorded as eager may be compiled by its own script.

    A kernel is replayed when a graph launch started it; it is compiled when Triton code from torch.compile, when
    launched inside a compiled region, or when it shares its graph launch with such a kernel. Copies count only
    where nothing else runs, since a replayed step copies its inputs eagerly."""
    work = owned_work(trace, steps, device)
    work = work[(trace.events.category[work] == Category.KERNEL) & (trace.links.launch[work] != ABSENT)]
    moves = kinds(trace, work) == Kind.COPY
    work = work if moves.all() else work[~moves]
    if not len(work):
        return "unknown"
    stamped = trace.stamp.get("form") if trace.stamp else None
    if stamped in NOT_EAGER:
        return str(stamped)
    replayed = trace.events.role[trace.links.launch[work]] == Role.GRAPH_LAUNCH
    compiled = _compiled(trace, work, replayed)
    ns = np.maximum(trace.events.duration[work], 1)
    share = np.bincount(compiled + 2 * replayed, weights=ns, minlength=len(FORMS)) / ns.sum()
    return FORMS[int(share.argmax())] if share.max() >= DOMINANT else "mixed"


def _compiled(trace: Trace, work: Int64s, replayed: Bools) -> Bools:
    launch = trace.links.launch[work]
    compiled = (origins(trace, work) == Origin.TRITON) | in_compiled_region(trace, launch.astype(np.int64))
    graphs = np.unique(launch[compiled & replayed])
    return compiled | (replayed & np.isin(launch, graphs))


def in_compiled_region(trace: Trace, launch: Int64s) -> Bools:
    """Whether compiled code made each of the launches in these rows."""
    region = bearing(trace, _COMPILED_REGION, Category.OPERATOR, Category.ANNOTATION)
    return nearest(trace.links.parent, launch, region) != ABSENT
