"""Forms of a trace whose step is compiled or replayed already: how it runs, and what is left to gain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.compiler.fusion import compile_device
from tracelens.advice.device.facts import Facts
from tracelens.advice.estimate import Estimate
from tracelens.advice.forms.compiled import predict_both
from tracelens.advice.forms.eager import as_recorded, predict_eager
from tracelens.advice.forms.forms import cannot
from tracelens.advice.forms.host_time import as_compiled, host_scale, replay_floor
from tracelens.advice.forms.replay import predict_replay
from tracelens.advice.patterns import LIBRARY_KINDS
from tracelens.advice.results import Blocker, Form
from tracelens.advice.step.outside import Outside
from tracelens.advice.step.region import Region
from tracelens.advice.terms import HOST
from tracelens.analysis.form import in_compiled_region
from tracelens.analysis.kinds import Origin, kinds, origins
from tracelens.model.events import ABSENT, Role

UNSEEN = "not visible in a trace of another form: record an eager step"


def traced_forms(facts: Facts, form: str, blockers: tuple[Blocker, ...] = ()) -> dict[str, Form]:
    """Forms as far as a trace of `form` ("compile", "replay" or "both") shows them.

    A compiled step runs at the host's own speed; the same kernels replayed are "both". A replayed step shows its
    kernels but no operators, so fusing them is a guess by kind. What its host does beside the replay, no graph takes
    away.

    blockers: what prevents the capture of a whole compiled step."""
    unseen, alone = cannot((), UNSEEN), facts
    if form != "compile":
        facts = replace(facts, region=_with_host(facts.region, replay_floor(facts.region) if form == "replay" else 0.0))
    replayed = predict_replay(facts)
    if form == "compile":
        compiled = predict_eager(replace(facts, region=as_compiled(facts.region)))
        between = C.BETWEEN_PROCESSES if compiled.terms.decided_by == HOST else C.BETWEEN_RUNS
        own = as_recorded(facts, compiled, between).form()
        both = cannot(blockers) if blockers else replayed.form("manual")
        return {"eager": unseen, "compile": own, "replay": unseen, "both": both}
    if form == "both":
        both = as_recorded(facts, replayed).form(_variant(facts))
        return {"eager": unseen, "compile": unseen, "replay": unseen, "both": both}
    own = as_recorded(facts, replayed)
    return {"eager": unseen, "compile": unseen, "replay": own.form("manual"), "both": _guess(facts, own, alone)}


def _variant(facts: Facts) -> str:
    """How a step was replayed that is compiled: by compiled code or by hand."""
    events, launch = facts.region.trace.events, facts.region.trace.links.launch[facts.region.work]
    graphs = launch[launch != ABSENT]
    graphs = graphs[events.role[graphs] == Role.GRAPH_LAUNCH].astype(np.int64)
    return "reduce-overhead" if in_compiled_region(facts.region.trace, graphs).any() else "manual"


def _guess(facts: Facts, own: Estimate, alone: Facts) -> Form:
    """The replayed step compiled as well, its kernels told by their names alone: from the time of those that certainly
    stay, as if all others and most of the host's work vanished, to what it takes now. [H200: 3 of 6 such times were 2.4
    to 9.5 times off]

    alone: the facts with no more of the host's work outside than any trace shows."""
    compiled, region = compile_device(facts), facts.region
    others = origins(region.trace, region.work) != Origin.EAGER
    kept = others | np.isin(kinds(region.trace, region.work), LIBRARY_KINDS)
    fewest = replace(compiled, library=float(region.duration[kept].sum()), generated=0.0, generated_kernels=0)
    known = predict_both(facts, compiled, own, capturable=True, pieces=1)
    least = predict_both(alone, fewest, own, capturable=True, pieces=1).estimate.low
    wide = replace(known.estimate, low=min(known.estimate.low, least), high=max(known.estimate.high, own.high))
    return wide.form(known.variant)


def _with_host(region: Region, replaying: float) -> Region:
    """A replayed step, all of whose host's work is outside the graph but the `replaying` ns that copying inputs and
    launching take: after its waits the device idles meanwhile, for no longer than it did in the trace.

    The compiler's graphs are entered by Python code of their own, which is none of that."""
    scale = min(host_scale(region).mid, 1.0)
    host, idle = max(scale * region.host - replaying, 0.0), scale * max(region.recorded - region.busy, 0.0)
    return replace(region, outside=Outside(host, min(host, idle) if len(region.waits) else 0.0))
