"""The four forms of a step, from the region of an eager trace."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt
from typing import Final

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.blockers import Observation
from tracelens.advice.changes import NONE
from tracelens.advice.compiled import in_pieces, predict_both, predict_compile
from tracelens.advice.eager import as_recorded, predict_eager
from tracelens.advice.estimate import Estimate
from tracelens.advice.facts import Facts
from tracelens.advice.fusion import Compiled, compile_device
from tracelens.advice.host_time import host_scale
from tracelens.advice.inputs import input_copies
from tracelens.advice.likeness import unlikeness
from tracelens.advice.patterns import FROM_HOST
from tracelens.advice.pays import with_break_even
from tracelens.advice.region import Region
from tracelens.advice.replay import predict_replay
from tracelens.advice.results import Blocker, Form
from tracelens.advice.roofline import contradictions, with_unexplained
from tracelens.model.events import ABSENT, Int64s
from tracelens.model.names import named

BREAK_GRAPHS: Final = frozenset({"sync", "changing_shapes"})
"""Blockers that also cost a compiled step: graph breaks, recompilations."""


LOOP: Final = 3
"""More pieces than this come from a loop that waits in its body, which the compiler leaves to eager."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """How much of the step can run without interruption."""

    capturable: bool
    """Nothing proven prevents the capture of the whole step."""
    pieces: int
    """Stretches of launches between blocking waits."""
    launches: float
    """Launches in the stretch that a launch is in, on average."""
    repeated: float = 0.0
    """Share of the launches in stretches whose kernels another stretch repeats: in a loop most."""


def predict_forms(facts: Facts, observed: tuple[Observation, ...]) -> dict[str, Form]:
    """Predicted form by name; a form that cannot run has no step time and names its blockers, one that runs despite
    them in parts names them too. What the trace does not prove blocks nothing."""
    region, blockers = facts.region, tuple(seen.blocker for seen in observed if seen.vetoes)
    blocked, compiled, eager = find_pieces(region, observed), compile_device(facts), predict_eager(facts)
    now = as_recorded(facts, eager)
    compile = predict_compile(facts, compiled, eager, blocked.pieces)
    both = predict_both(facts, compiled, compile, capturable=blocked.capturable, pieces=blocked.pieces)
    fused = both.estimate
    if _stays_eager(region, blocked, compiled):
        compile = fused = in_pieces(now, 0.0, 0.0).told("{}", pieces=blocked.pieces)
    elif blocked.pieces > LOOP and blocked.launches < C.REGION_LAUNCHES:
        host = min(region.host * host_scale(region).mid, now.mid)
        device = facts.sustained.mid * compiled.device
        compile = in_pieces(now, host, C.BROKEN_COMPILE, device)
        fused = in_pieces(now, host, C.BROKEN_REPLAY, device + input_copies(region, facts.bandwidth.rate).mid)
    elif blocked.pieces > LOOP:
        fused = fused.at_least("looped", looped_ns=C.LOOPED_REPLAY * compile.mid)
    if compiled.replaced == 0 and eager.terms.values["host_ns"] < eager.terms.values["device_ns"]:
        compile = compile.at_least("nothing_fuses", eager_ns=now.mid)
        fused = fused if blocked.capturable else fused.at_least("nothing_fuses", eager_ns=now.mid)
    compile, fused = with_unexplained(compile, facts), with_unexplained(fused, facts)
    unlike = unlikeness(region.trace, region.device) * (C.OTHER_DEVICE if contradictions(facts) else 1.0)
    replay = predict_replay(facts).widened(unlike).form(blockers=blockers)
    compiling, capturing = _set_up(region)
    forms = {
        "eager": as_recorded(facts, now.widened(unlike)).form(),
        "compile": _pays(compile.widened(unlike).form(blockers=_breaks(blockers)), now, compiling),
        "replay": _pays(replay, now, capturing) if blocked.capturable else cannot(blockers),
        "both": _pays(fused.widened(unlike).form(both.variant, blockers), now, compiling + capturing),
    }
    raises = tuple(seen.blocker for seen in observed if seen.raises)
    return forms | dict.fromkeys(("compile", "both") if raises else (), cannot(raises))


def _stays_eager(region: Region, blocked: Blocked, compiled: Compiled) -> bool:
    """Whether the compiler gives the step up: it leaves a loop whose body breaks the graph to eager, and what is around
    recurrent layers with waits. Without gradients the functions that the loop calls are compiled still."""
    given_up = blocked.repeated > C.LOOPED_LAUNCHES or compiled.untraceable
    return region.training and blocked.pieces > 2 and given_up


def _set_up(region: Region) -> tuple[float, float]:
    """Seconds to compile the step, and to warm up and capture it; compiling and replaying it takes both."""
    return C.COMPILE_SETUP * sqrt(len(region)), C.CAPTURE_SETUP


def _pays(form: Form, eager: Estimate, setup_s: float) -> Form:
    """The form with its set-up, which comes on top of eager's, and after how many steps it has paid."""
    return with_break_even(replace(form, setup_s=setup_s), eager.form())


def _breaks(blockers: tuple[Blocker, ...]) -> tuple[Blocker, ...]:
    return tuple(blocker for blocker in blockers if blocker.id in BREAK_GRAPHS)


def find_pieces(region: Region, observed: tuple[Observation, ...]) -> Blocked:
    """What the proven blockers leave of the step; a stray wait is no proof and splits nothing."""
    capturable = not any(seen.vetoes for seen in observed)
    waits = any(seen.vetoes and seen.blocker.id == "sync" for seen in observed)
    bounds = np.unique(np.concatenate(([0], _breaking(region) if waits else [], [len(region)]))).astype(np.int64)
    pieces = max(len(bounds) - 1, 1)
    inside = np.diff(bounds).astype(float)
    return Blocked(capturable, pieces, float((inside * inside).sum()) / max(len(region), 1), _repeated(region, bounds))


def _repeated(region: Region, bounds: Int64s) -> float:
    """Share of the launches in stretches, each from one bound to the next, of the same kernels as another."""
    names = region.trace.events.name[region.work]
    stretches = [names[first:last].tobytes() for first, last in pairwise(bounds.tolist())]
    often = Counter(stretches)
    return sum(len(stretch) for stretch in stretches if often[stretch] > 1) / max(names.nbytes, 1)


def _breaking(region: Region) -> Int64s:
    """The waits that break a graph: not those of copies from the host's memory, which are operators of the graph."""
    behind, operator = region.work[np.maximum(region.waits - 1, 0)], region.trace.links.operator
    same = (operator[behind] == operator[region.wait_rows]) & (operator[behind] != ABSENT)
    return region.waits[~(same & named(region.trace, behind, FROM_HOST))]


def cannot(blockers: tuple[Blocker, ...], error: str | None = None) -> Form:
    """A form that cannot run."""
    return Form(None, None, None, "predicted", blockers=blockers, error=error)


def repaired(region: Region, saved: float = 0.0) -> Region:
    """The region as if its host never waited for the device and its steps were alike.

    saved: share of the host's time that goes too, evenly over the step."""
    none, left = np.empty(0), 1 - saved
    return replace(
        region,
        waits=none.astype(np.int64),
        wait_at=none,
        wait_rows=none.astype(np.int64),
        fed=len(region),
        issued=left * region.issued,
        host=left * region.host,
        operators=left * region.operators,
        recorded=left * region.recorded,
        outside=replace(region.outside, idle=max(region.outside.idle - saved * region.recorded, 0.0), apart=0.0),
        changes=NONE,
    )
