"""The step under torch.compile, and compiled and then replayed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Final

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.arguments import Json, read_arguments
from tracelens.advice.compiler.fusion import Compiled
from tracelens.advice.device.facts import Facts
from tracelens.advice.estimate import Estimate, slower_of, spread
from tracelens.advice.forms.host_time import (
    after_waits,
    at_floor,
    call_gauge,
    launch_gauge,
    outside_beside,
    outside_spread,
    records,
    slowness,
    with_outside,
)
from tracelens.advice.forms.inputs import input_copies, tree_copies
from tracelens.advice.forms.parameters import layer_tensors
from tracelens.advice.step.region import Region
from tracelens.advice.terms import DEVICE, HOST, slower
from tracelens.analysis.waits import blocking_waits
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Category, Floats, Int64s, Role
from tracelens.model.masks import mask_of
from tracelens.model.nesting import nearest

TURNS_SPREAD: Final = (0.3, 2.6)
"""Range of what host and device wait for each other around its estimate. [H200, 33 steps under reduce-overhead: 0.1 to
2.7, four fifths of them from 0.3; median 1.0]"""
RECURRENT_PIECES: Final = 2
"""Regions that a call of recurrent layers adds: the statement that holds it is left to eager, and what is behind is
resumed. [Dynamo's step_graph_break; H200, as traced of one step]"""
UNCERTAIN: Final = 1.5
"""Widens the range of generated kernels whose shapes or bandwidth the trace does not show. [judgement]"""


@dataclass(frozen=True, slots=True)
class Both:
    """The better way to replay a compiled step."""

    estimate: Estimate
    variant: str
    """"manual": capture the compiled step; "reduce-overhead": the compiler's own graphs."""


def predict_compile(facts: Facts, compiled: Compiled, pieces: int, functions: float = 0.0) -> Estimate:
    """The slower of the compiled host and the compiled device; `pieces` regions between blocking waits, and so many
    functions that are regions within them."""
    regions = pieces + functions + RECURRENT_PIECES * compiled.untraceable
    costs = _host(facts.region, compiled, regions) | {"outside_ns": outside_beside(facts.region)}
    if left := facts.region.outside.left * slowness(facts.region) * (C.GUARDS + C.REGION_OVERHEAD):
        costs |= {"left_ns": min(left, facts.region.outside.beyond)}
    if not len(facts.region.waits):
        costs |= {"awaited_ns": compiled.awaited + compiled.awaits * (C.LAUNCH_LATENCY + C.SYNC_RETURN)}
    host, fixed = sum(costs.values()), costs["outside_ns"] + costs.get("awaited_ns", 0.0)
    device = _device(facts, compiled, C.STREAM_SPACING * compiled.kernels)
    entered, resumed = _begun(facts, compiled)
    begun = C.COMPILED_ENTRY * entered + C.COMPILED_RESUME * resumed
    sigma = C.COMPILED_TRAINING_SIGMA if facts.region.training else C.COMPILED_SIGMA
    sigma *= 1 - fixed / host  # the model's own work is what it is unsure of
    mid = slower_of(host - begun, device.mid, sigma) + begun
    busy = device + spread(begun, TURNS_SPREAD)
    low, high = ((host - fixed) * factor + fixed for factor in C.COMPILED_SPREAD)
    high += outside_spread(facts.region, costs["outside_ns"]).high - costs["outside_ns"]
    high = max(high, C.BROKEN_SPREAD[1] * mid) if compiled.untraceable else high
    inside = Estimate(mid, max(low, busy.low), max(high, busy.high))
    waited = (" - begun_ns", " + begun_ns") if begun else ("", "")
    inside = inside.told(
        f"max({' + '.join(costs)}{waited[0]}, {device.terms.formula}) + unsure_ns{waited[1]}",
        "untraceable" if compiled.untraceable else slower(host - begun, device.mid),
        **costs,
        **device.terms.values,
        begun_ns=begun,
        unsure_ns=mid - begun - max(host - begun, device.mid),
        pieces=pieces,
    )
    return after_waits(inside, facts.region)


def predict_both(
    facts: Facts, compiled: Compiled, alone: Estimate, *, capturable: bool, pieces: int, on_host: bool = False
) -> Both:
    """Compiled kernels as graph nodes; under reduce-overhead not faster than its host.

    alone: the compiled step without graphs. The compiler makes none of a region that reads the host's memory, nor of
    one whose operators compute `on_host` [torch._inductor.cudagraph_utils], nor of recurrent layers. Where eager keeps
    every operator there are no `pieces` to make graphs of, whose inputs would be copied."""
    if not (capturable or pieces):
        return Both(alone, "reduce-overhead")
    if why := _no_graphs(compiled, capturable=capturable, on_host=on_host):
        more = C.SKIPPED_GRAPHS
        fixed = compiled.awaited + outside_beside(facts.region) + facts.region.outside.apart
        extra = more * max(alone.mid - fixed, 0.0)
        high = alone.high + 2 * more * max(alone.high - fixed, 0.0)
        skipped = Estimate(alone.mid + extra, alone.low, high)
        told = skipped.told("compile_ns + skipped_ns", why, compile_ns=alone.mid, skipped_ns=extra)
        return Both(told, "reduce-overhead")
    spacing = compiled.library_spacing + C.NODE_SPACING * compiled.generated_kernels
    device = _device(facts, compiled, spacing)
    launch = Estimate(C.GRAPH_LAUNCH, 0.0, C.GRAPH_LAUNCH).told("graph_launch_ns", graph_launch_ns=C.GRAPH_LAUNCH)
    if capturable:
        replayed = device + launch + input_copies(facts.region, facts.bandwidth.rate)
        return Both(with_outside(at_floor(replayed, facts.region), facts.region), "manual")
    replayed = device + launch + tree_copies(facts.region, facts.bandwidth.rate)
    return Both(
        with_outside(_trees(facts.region, replayed, pieces, sum(_begun(facts, compiled))), facts.region),
        "reduce-overhead",
    )


def _no_graphs(compiled: Compiled, *, capturable: bool, on_host: bool) -> str:
    """Why the compiler makes no graphs of most work, as one of the rules that decide a time; "" where it does. What is
    captured by hand copies before the replay what is only a small part of the step, as it does its inputs."""
    if compiled.awaited > (C.HOST_SHARE * compiled.replacing if capturable else 0.0):
        return "copy_awaited"
    if on_host:
        return "host_compute"
    if compiled.untraceable and not capturable:
        return "untraceable"
    copies = not capturable and compiled.from_host > C.HOST_SHARE * compiled.device
    return "copies_from_host" if copies else ""


def _begun(facts: Facts, compiled: Compiled) -> tuple[float, float]:
    """How often in a step the idle device waits for the host to enter the step, and to resume it.

    It resumes after each wait but those that an operator follows with work that takes longer, and enters after one that
    ends the step or after the work behind the last one if that is over before."""
    region, waits = facts.region, facts.region.waits
    if not len(waits):
        return 0.0, 0.0
    between = waits[(waits > 0) & (waits < len(region))]
    idle = np.maximum(1 - _launched_on(facts, between) / C.GUARDS, 0.0)
    behind = float(region.duration[waits[-1] :].sum()) * compiled.device / max(float(region.duration.sum()), 1.0)
    late = max(1 - behind / C.GUARDS, 0.0) if behind else 0.0
    return len(waits) - len(between) + late, float(idle.sum())


def _launched_on(facts: Facts, waits: Int64s) -> Floats:
    """(m) Device work in ns that the operator which waits before each of m launches still launches."""
    operator = facts.operators.name
    done = np.append(0.0, np.cumsum(facts.region.duration))
    changes = np.append(np.flatnonzero(np.diff(operator)) + 1, len(operator))
    inside = operator[waits - 1] == operator[waits]
    return np.where(inside, done[changes[np.searchsorted(changes, waits, side="right")]] - done[waits], 0.0)


def _host(region: Region, compiled: Compiled, regions: float) -> dict[str, float]:
    """Host time of compiled code in ns by its terms: guards per region, a launch per generated kernel, the library
    calls left, and what parameters cost, in training autograd's share as well."""
    working = _working(region, compiled.library_calls) - records(region, _within(region, compiled.library_calls))
    number = len(compiled.library_calls) + compiled.further_calls
    calls = C.LIBRARY_TRACED * max(working, 0.0) * call_gauge(region) + C.LIBRARY_CALL * number
    calls = min(calls, C.LIBRARY_MOST * compiled.library_kernels * region.speed)
    calls += C.COMPLEX_CALL * (_complex(region, compiled.library_calls) + compiled.further_calls)
    inputs = C.COMPILED_INPUT * layer_tensors(region)
    if region.training:
        inputs = (C.COMPILED_TRAINING + C.COMPILED_PARAMETER * region.parameters) / launch_gauge(region)
    launches = C.GENERATED_LAUNCH * compiled.generated_kernels
    own = {"guards_ns": C.GUARDS * regions, "generated_launches_ns": launches}
    own |= {"library_calls_ns": calls, "parameters_ns": inputs}
    return {name: slowness(region) * cost for name, cost in own.items()}


def _complex(region: Region, operators: Int64s) -> float:
    """How many of the operators take complex numbers."""

    def read(_: list[Json], dtypes: list[Json]) -> tuple[float]:
        return (float("complex" in str(dtypes)),)

    keys = (A.SHAPES, A.DTYPES)
    return float(read_arguments(region.trace, operators, keys, read).sum()) if len(operators) else 0.0


def _working(region: Region, operators: Int64s) -> float:
    """Host time of operators in ns, as traced, without what they wait for the device and what the allocator takes."""
    events, links = region.trace.events, region.trace.links
    apart = blocking_waits(region.trace) | (events.role == Role.ALLOC)
    rows = np.flatnonzero(apart & np.isin(links.operator, operators))
    return float(events.duration[operators].sum()) - float(events.duration[rows].sum())


def _within(region: Region, operators: Int64s) -> int:
    """How many operators those in the rows are and call."""
    if not len(operators):
        return 0
    events, parent = region.trace.events, region.trace.links.parent
    begun, ended = events.start[operators].min(), events.end[operators].max()
    rows = np.flatnonzero((events.category == Category.OPERATOR) & (events.start >= begun) & (events.start < ended))
    return int((nearest(parent, rows, mask_of(operators, len(events))) != ABSENT).sum())


def _device(facts: Facts, compiled: Compiled, gaps: float) -> Estimate:
    """Device time of the compiled kernels with gaps of so many ns in all between them."""
    unsure = 1.0 if compiled.certain else UNCERTAIN
    low, high = C.FUSED_SPREAD[0] / unsure, C.FUSED_SPREAD[1] * unsure
    unbiased, relaid, factor = compiled.unbiased, compiled.relaid, facts.sustained
    rest = compiled.library - unbiased - relaid
    least, most = (a * unbiased + b * relaid for a, b in zip(C.UNBIASED_SPREAD, C.RELAID_SPREAD, strict=True))
    device = Estimate(
        factor.mid * compiled.device + gaps,
        factor.low * rest + least + low * compiled.generated + gaps / 2,
        factor.high * rest + most + high * compiled.generated + gaps,
    )
    return device.told(
        "library_ns + generated_ns + spacing_ns",
        DEVICE,
        library_ns=factor.mid * compiled.library,
        generated_ns=factor.mid * compiled.generated,
        spacing_ns=gaps,
        generated_kernels=compiled.generated_kernels,
        replaced_kernels=compiled.replaced,
        replaced_ns=compiled.replaced_ns,
    )


def _trees(region: Region, replayed: Estimate, pieces: int, begun: float) -> Estimate:
    """Under reduce-overhead: one graph per region, launched by Python, after which the host works outside. Where the
    device waits for a region to begin they take turns: it waits for the step's entry, and for each that resumes. Work
    outside, such as a data loader, hides behind the graphs."""
    host = C.TREE_FLOOR + C.TREE_SHAPES * region.changes.shapes
    if region.training:
        host = C.TREE_TRAINING + C.TREE_PARAMETER * region.parameters
    else:
        turns = host + C.REGION_OVERHEAD * begun if begun else 0.0
        replayed = replayed + spread(turns, TURNS_SPREAD).told("turns_ns", turns_ns=turns)
    costs = {"entry_ns": host, "regions_ns": C.REGION_OVERHEAD * (pieces - 1)}
    costs = {name: slowness(region) * cost for name, cost in costs.items()}
    entering = sum(costs.values())
    costs["outside_ns"] = outside_beside(region)
    both = replayed.at_least(HOST, **costs).told("{}", pieces=pieces)
    host = sum(costs.values())
    low, high = C.TREE_SPREAD
    if pieces == 1 and not (region.training and len(region.waits)):
        return replace(both, low=max(low * host, replayed.low), high=max(high * host, replayed.high))
    alternating = C.TREE_ALTERNATING * min(entering, replayed.mid) if region.training else 0.0
    mid = both.mid + alternating
    cut = replace(spread(mid, C.BROKEN_SPREAD), terms=both.terms)
    return cut.told("{} + alternating_ns", alternating_ns=alternating)


def in_pieces(eager: Estimate, host: float, share: float, device: float = inf) -> Estimate:
    """A step whose regions are too short to gain on the host: eager, and a share of its host time on top. It takes no
    longer than its host and its device, so many ns, in turns."""
    mid = min(eager.mid, host + device) + share * host
    cut = spread(mid, C.BROKEN_SPREAD)
    if device == inf:
        return cut.told("eager_ns", "stays_eager", eager_ns=eager.mid)
    formula = "min(eager_ns, host_ns + device_ns) + broken_ns"
    values = {"eager_ns": eager.mid, "host_ns": host, "device_ns": device, "broken_ns": share * host}
    return cut.told(formula, "in_turns", **values)
