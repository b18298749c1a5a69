"""The four forms of a step, from the region of an eager trace."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Final

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.blockers.blockers import Observation
from tracelens.advice.blockers.momentum import made_momentum
from tracelens.advice.blockers.pieces import LOOP, Blocked, find_pieces
from tracelens.advice.compiler.fusion import Compiled, compile_device
from tracelens.advice.device.facts import Facts
from tracelens.advice.device.likeness import unlikeness
from tracelens.advice.device.roofline import contradictions, with_unexplained
from tracelens.advice.estimate import Estimate, either
from tracelens.advice.forms.compiled import in_pieces, predict_both, predict_compile
from tracelens.advice.forms.eager import as_recorded, predict_eager
from tracelens.advice.forms.host_time import host_scale, outside_slack
from tracelens.advice.forms.inputs import input_copies
from tracelens.advice.forms.pays import with_break_even
from tracelens.advice.forms.replay import predict_replay
from tracelens.advice.results import Blocker, Form
from tracelens.advice.step.changes import NONE
from tracelens.advice.step.region import Region
from tracelens.model.forms import COMPILED

BREAK_GRAPHS: Final = frozenset({"sync", "changing_shapes"})
"""Blockers that also cost a compiled step: graph breaks, recompilations."""


def predict_forms(facts: Facts, observed: tuple[Observation, ...]) -> dict[str, Form]:
    """Predicted form by name; a form that cannot run has no step time and names its blockers, one that runs despite
    them in parts names them too. What the trace does not prove blocks nothing."""
    region, blockers = facts.region, tuple(seen.blocker for seen in observed if seen.vetoes)
    blocked, compiled, eager = find_pieces(region, observed), compile_device(facts), predict_eager(facts)
    now = as_recorded(facts, eager, further=outside_slack(region))
    compile = predict_compile(facts, compiled, blocked.pieces, _functions(blocked, compiled))
    on_host = any(blocker.id == "host_compute" for blocker in blockers)
    both = predict_both(facts, compiled, compile, capturable=blocked.capturable, pieces=blocked.graphs, on_host=on_host)
    fused = both.estimate
    if region.training and blocked.repeats:  # without gradients the functions that the loop calls are compiled still
        compile = fused = in_pieces(now, 0.0, 0.0).told("{}", pieces=blocked.pieces)
    elif blocked.graphs > LOOP or blocked.repeats:
        compile, fused = _perhaps_eager(facts, blocked, compiled, now, (compile, fused))
    alike = compiled.replaced == 0 and eager.terms.values["host_ns"] < eager.terms.values["device_ns"]
    if alike:
        compile = _no_less(compile, now)
        fused = fused if blocked.capturable else _no_less(fused, now)
    compile, fused = with_unexplained(compile, facts), with_unexplained(fused, facts)
    unlike = unlikeness(region.trace, region.device) * (C.OTHER_DEVICE if contradictions(facts) else 1.0)
    worked, works = _worked(facts, now, unlike), facts.sustained.low * facts.span(0.0).least
    kept = 0.0 if compiled.replaced else works
    least = worked.low if alike else kept
    replay = _widened(predict_replay(facts), unlike, works).form(blockers=blockers)
    compile = _widened(compile, unlike, least).form(blockers=_breaks(blockers))
    fused = _widened(fused, unlike, kept if blocked.capturable else least).form(both.variant, blockers)
    compiling, capturing = _set_up(region)
    forms = {
        "eager": worked.form(),
        "compile": _pays(compile, now, compiling),
        "replay": _pays(replay, now, capturing) if blocked.capturable else cannot(blockers),
        "both": _pays(fused, now, compiling + capturing),
    }
    made = made_momentum(region)
    if not blocked.capturable and (blocked.solves or made):
        forms["both"] = cannot((*blockers, *made))
    raises = tuple(seen.blocker for seen in observed if seen.raises)
    return forms | dict.fromkeys(COMPILED if raises else (), cannot(raises))


def _worked(facts: Facts, eager: Estimate, unlike: float) -> Estimate:
    """The eager step, widened for another device."""
    works = facts.sustained.low * facts.span(C.STREAM_SPACING).expected
    return as_recorded(facts, _widened(eager, unlike, works), further=outside_slack(facts.region))


def _no_less(compiled: Estimate, eager: Estimate) -> Estimate:
    """A compiled step none of whose kernels fuse: its device work is eager's."""
    return replace(compiled.at_least("nothing_fuses", eager_ns=eager.mid), low=max(compiled.low, eager.low))


def _widened(known: Estimate, unlike: float, works: float) -> Estimate:
    """A form, widened for another device than the constants know, but not below its device work in ns where that is of
    traced kernels: they were recorded on the very device."""
    wide = known.widened(unlike)
    return replace(wide, low=max(wide.low, min(works, known.low)))


def _perhaps_eager(
    facts: Facts, blocked: Blocked, compiled: Compiled, now: Estimate, known: tuple[Estimate, Estimate]
) -> tuple[Estimate, Estimate]:
    """The two compiled forms, `known` as pieces that are all compiled, of a step that may be a loop which waits in its
    body. How likely the compiler leaves that to eager, its length tells; few pieces may as well be no loop, and then
    have less for the device to do. Of one that is left to eager the range holds the time with all pieces compiled:
    functions that its body calls are compiled, and a trace does not tell which."""
    compile, fused = known
    host = min(facts.region.host * host_scale(facts.region).mid, now.mid)
    turns = len(facts.region.waits) * (C.LAUNCH_LATENCY + C.SYNC_RETURN)
    works = float(facts.region.duration.sum()) if blocked.repeats else compiled.device
    device = facts.sustained.mid * works + turns
    copies = input_copies(facts.region, facts.bandwidth.rate).mid
    looped = fused.at_least("looped", looped_ns=C.LOOPED_REPLAY * compile.mid)
    looped = looped if blocked.is_loop else replace(looped, low=min(fused.low, looped.low))
    left = (in_pieces(now, host, C.BROKEN_COMPILE, device), in_pieces(now, host, C.BROKEN_REPLAY, device + copies))
    return either(compile, left[0], blocked.left), either(looped, left[1], blocked.left)


def _functions(blocked: Blocked, compiled: Compiled) -> float:
    """Regions beyond the pieces: each function that the body of a loop calls is one."""
    return max(len(compiled.library_calls) / C.LOOPED_CALLS - blocked.pieces, 0.0) if blocked.repeats else 0.0


def _set_up(region: Region) -> tuple[float, float]:
    """Seconds to compile the step, and to warm up and capture it; compiling and replaying it takes both."""
    return C.COMPILE_SETUP * sqrt(len(region)), C.CAPTURE_SETUP


def _pays(form: Form, eager: Estimate, setup_s: float) -> Form:
    """The form with its set-up, which comes on top of eager's, and after how many steps it has paid."""
    return with_break_even(replace(form, setup_s=setup_s), eager.form())


def _breaks(blockers: tuple[Blocker, ...]) -> tuple[Blocker, ...]:
    return tuple(blocker for blocker in blockers if blocker.id in BREAK_GRAPHS)


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
        outside_issued=left * region.outside_issued,
        outside_waited=none,
        host=left * region.host,
        operators=left * region.operators,
        recorded=left * region.recorded,
        outside=replace(region.outside, idle=max(region.outside.idle - saved * region.recorded, 0.0), apart=0.0),
        changes=NONE,
    )
