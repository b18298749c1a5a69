"""What in the trace prevents a form, with its count per step and its repair."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tracelens.advice.blockers.allocation import allocation_repair
from tracelens.advice.blockers.backward import beside_main_stream, returning_nodes
from tracelens.advice.blockers.repairs import COPIES
from tracelens.advice.blockers.scaler import wait_repair
from tracelens.advice.patterns import FROM_HOST, PAGEABLE
from tracelens.advice.results import Blocker
from tracelens.advice.step.inner_waits import inner_waits
from tracelens.advice.step.often import a_step, often
from tracelens.advice.step.outside import computes_within, mainly_computing, stretches
from tracelens.advice.step.region import Region
from tracelens.analysis.clocks import clocks_agree
from tracelens.analysis.handles import handles_of
from tracelens.analysis.results import Analysis
from tracelens.analysis.table import Table
from tracelens.analysis.typical import of_typical_steps
from tracelens.model.events import ABSENT, Bools, Category, Int64s, Role
from tracelens.model.intervals import covered, length
from tracelens.model.names import bearing, named
from tracelens.model.nesting import nearest
from tracelens.model.units import percent

COSTLY: Final = 0.2
"""Share of the step from which what is no veto, allocation or a data loader, is repaired before any other form is
tried. [judgement: where a finding is critical]"""
VETOES: Final = frozenset(
    {"sync", "pageable_copy", "changing_shapes", "changing_kernels", "host_optimizer", "host_compute"}
)
"""Blockers that make the capture of a whole step impossible; the others cost time or need care."""
UNCOMPILABLE: Final = frozenset({"second_backward", "streamed_backward", "old_device"})
"""Blockers that make torch.compile of a whole step raise; its capture they do not prevent."""
LEAST_CAPABILITY: Final = 7
"""Major compute capability from which Triton, and so torch.compile, generates kernels for CUDA devices; any AMD device
passes. [PyTorch: is_triton_capable]"""
EVIDENCE: Final = 5
"""Handles named by one blocker."""
LOADER_SHARE: Final = 0.05
"""Share of the window in the data loader from which it is worth moving out. [judgement]"""
OPTIMIZER: Final = re.compile(r"^Optimizer\.step")
SCALAR_READ: Final = re.compile(r"^aten::_local_scalar_dense$")


@dataclass(frozen=True, slots=True)
class Observation:
    """A blocker, and whether the trace proves it: seen in every counted step, not in a stray one."""

    blocker: Blocker
    proven: bool
    stops: bool = False
    """A capture was tried and failed on it."""
    share: float = 0.0
    """Share of the traced time that its repair saves in any form."""
    others: tuple[Blocker, ...] = ()
    """The same at other places or by other causes, which its own repair leaves."""

    @property
    def repairs(self) -> tuple[Blocker, ...]:
        """All that is to be repaired, what the blocker names first."""
        return self.blocker, *self.others

    @property
    def vetoes(self) -> bool:
        """Whether a whole step cannot be captured because of it."""
        return self.stops or (self.proven and self.blocker.id in VETOES)

    @property
    def raises(self) -> bool:
        """Whether a whole step cannot be compiled because of it."""
        return self.proven and self.blocker.id in UNCOMPILABLE

    @property
    def first(self) -> bool:
        """Whether its repair comes before another form."""
        return self.vetoes or self.share >= COSTLY


def find_blockers(analysis: Analysis, region: Region) -> tuple[Observation, ...]:
    """All blockers of the counted steps; how long they hold up the device is that of typical ones, where the clocks of
    host and device tell."""
    typical, tell = of_typical_steps(analysis), clocks_agree(analysis.trace)
    whose = "the traced time" if typical is analysis else "a typical traced step"
    syncs = _syncs(analysis, region)
    found = (
        syncs,
        None if syncs is not None and syncs.vetoes and _are_waited_for(analysis) else _pageable(analysis),
        _host_inputs(analysis),
        _changes(region),
        _host_optimizer(analysis),
        _allocations(analysis, typical.attribution.share("dispatch", "allocator") if tell else 0.0, whose),
        _loader(typical, whose) if tell else None,
        _outside(typical, whose) if tell else None,
        None if region.changes.lost_operators else _second_backward(analysis),
        _streamed_backward(analysis, region),
        _old_device(region),
    )
    return tuple(seen for seen in found if seen is not None)


def _per_step(analysis: Analysis, rows: Int64s) -> Int64s:
    """How many of the rows each counted step owns."""
    owner = analysis.steps.owner[rows]
    return np.bincount(owner[owner != ABSENT], minlength=len(analysis.window.tiles))


def _observe(
    counts: Int64s, id: str, message: str, advice: str, where: str | None = None, evidence: tuple[str, ...] = ()
) -> Observation:
    """A blocker counted per step, proven when every counted step has it."""
    return Observation(Blocker(id, message, where, float(counts.mean()), advice, evidence), bool(counts.min() > 0))


def _syncs(analysis: Analysis, region: Region) -> Observation | None:
    """Waits for the device between the launches of a step, named by the commonest; and each other repair and place."""
    syncs = analysis.tables["syncs"].take(inner_waits(analysis))
    if not len(syncs):
        return None
    counts, of, repairs = _per_step(analysis, syncs["row"]), _commonest(syncs), _repairs(analysis, syncs)
    cause = f"{'mostly' if len(of) < len(syncs) else 'by'} {_cause(of)}"
    message = f"{often(counts, 'wait', ' for the device', a_step(analysis))}, {cause}"
    found = _observe(counts, "sync", message, *next(iter(repairs)), tuple(of.first(EVIDENCE)["handle"]))
    others = tuple(_apart(analysis, found.blocker, *repair, waits) for repair, waits in [*repairs.items()][1:])
    return replace(found, proven=found.proven and (region.steps > 1 or _between(region) > 1), others=others)


def _repairs(analysis: Analysis, syncs: Table) -> dict[tuple[str, str | None], Table]:
    """The waits by advice and place, those of the commonest cause first; the place is their operator where the trace
    tells none."""
    found = dict[tuple[str, str | None], Table]()
    for waits in _by_cause(syncs):
        operator: str | None = waits["operator"][0]
        advice = wait_repair(analysis, waits["row"], operator or "")
        each = {str(place): waits.only("where", place) for place in dict.fromkeys(waits["where"].tolist()) if place}
        for place, at in (each or {operator: waits}).items():
            found.setdefault((advice, place), at)
    return found


def _apart(analysis: Analysis, of: Blocker, advice: str, place: str | None, waits: Table) -> Blocker:
    """Some of a blocker's waits, with a repair of their own."""
    counts, evidence = _per_step(analysis, waits["row"]), tuple(waits.first(EVIDENCE)["handle"])
    message = f"{often(counts, 'wait', ' for the device', a_step(analysis))}, by {_cause(waits)}"
    return replace(of, message=message, where=place, per_step=float(counts.mean()), advice=advice, evidence=evidence)


def _cause(waits: Table) -> str:
    """The call and the operator of waits of one cause."""
    operator, call = waits["operator"][0], waits["call"][0]
    return f"{call} in {operator}" if operator else call


def _commonest(syncs: Table) -> Table:
    """The waits of the operator and the call that most are of."""
    return _by_cause(syncs)[0]


def _by_cause(syncs: Table) -> list[Table]:
    """The waits of each operator and call, the commonest first."""
    causes = Counter(zip(syncs["operator"], syncs["call"], strict=True)).most_common()
    return [syncs.only("operator", operator).only("call", call) for (operator, call), _ in causes]


def _are_waited_for(analysis: Analysis) -> bool:
    """Whether all copies of pageable memory are calls, or of operators, that make the waits told first: the same."""
    links, copies = analysis.trace.links, _copies(analysis, PAGEABLE)
    waits = _commonest(analysis.tables["syncs"].take(inner_waits(analysis)))["row"]
    calls = links.launch[copies]
    by = links.operator[calls]
    return bool(np.all(np.isin(calls, waits) | ((by != ABSENT) & np.isin(by, links.operator[waits]))))


def _between(region: Region) -> int:
    """Waits with launches behind them. Of a single step one such wait is no proof."""
    return int((region.waits < len(region)).sum())


def _copies(analysis: Analysis, pattern: re.Pattern[str]) -> Int64s:
    events = analysis.trace.events
    rows = np.flatnonzero((events.category == Category.COPY) & (analysis.steps.owner != ABSENT))
    return rows[named(analysis.trace, rows, pattern)]


def _pageable(analysis: Analysis) -> Observation | None:
    """Copies from or to memory that is not pinned."""
    rows = _copies(analysis, PAGEABLE)
    counts = _per_step(analysis, rows)
    if not counts.sum():
        return None
    message = often(counts, "transfer", " of pageable memory", a_step(analysis))
    return _observe(counts, "pageable_copy", message, COPIES, evidence=_handles(analysis, "k", rows))


def _handles(analysis: Analysis, prefix: str, rows: Int64s) -> tuple[str, ...]:
    """Handles of the first EVIDENCE of the rows."""
    return tuple(str(handle) for handle in handles_of(analysis.trace, prefix, rows[:EVIDENCE]) if handle is not None)


def _operators(analysis: Analysis, calls: Int64s) -> Int64s:
    """Rows of the operators that made the calls, each once."""
    found = np.unique(analysis.trace.links.operator[calls])
    return found[found != ABSENT].astype(np.int64)


def _host_inputs(analysis: Analysis) -> Observation | None:
    """Copies from the host into the step, but those that pageable memory makes blockers of their own."""
    rows = np.setdiff1d(_copies(analysis, FROM_HOST), _copies(analysis, PAGEABLE))
    counts = _per_step(analysis, rows)
    if not counts.sum():
        return None
    advice = "Give the step static device tensors and copy each batch into them before the replay."
    message = often(counts, "input", " from the host", a_step(analysis))
    return _observe(counts, "host_input", message, advice, evidence=_handles(analysis, "k", rows))


def _changes(region: Region) -> Observation | None:
    """Steps that differ: by shapes when the same operators ran, else by what ran; one odd step of several is no
    proof."""
    changes = region.changes
    if not (changes.kernels or changes.shapes):
        return None
    proven = changes.unlike > 1 or region.steps < 3
    between = "between steps" if proven else "in one of the steps"
    if not (changes.kernels and changes.operators):
        id, what = "changing_shapes", "shapes"
        advice = "Pad to a few fixed sizes (buckets) and keep one graph per size, or compile with dynamic=True."
    else:
        id, what = "changing_kernels", "kernels"
        advice = "Make the step's control flow independent of its data, or capture the parts that repeat."
    what = f"{what} that change {between}"
    return Observation(Blocker(id, what, None, changes.unlike / region.steps, advice), proven)


def _host_optimizer(analysis: Analysis) -> Observation | None:
    """Optimizers that are not capturable count their steps in host tensors and read them in every step."""
    trace = analysis.trace
    optimizer = bearing(trace, OPTIMIZER, Category.ANNOTATION)
    reads = np.flatnonzero(bearing(trace, SCALAR_READ, Category.OPERATOR))
    reads = reads[(nearest(trace.links.parent, reads, optimizer) != ABSENT) & ~_reaches_device(analysis, reads)]
    counts = _per_step(analysis, reads)
    if not counts.sum():
        return None
    advice = "Give the optimizer capturable=True (or fused=True with it), so that its step counters live on the device."
    message = often(counts, "optimizer value", " read on the host", a_step(analysis))
    return _observe(counts, "host_optimizer", message, advice)


def _reaches_device(analysis: Analysis, operators: Int64s) -> Bools:
    """Whether an operator made a call that submits or awaits device work."""
    events = analysis.trace.events
    calling = analysis.trace.links.operator[events.category == Category.RUNTIME]
    return np.isin(operators, calling[calling != ABSENT])


def _allocations(analysis: Analysis, typical: float, whose: str) -> Observation | None:
    """Calls that allocate or free device memory; typical: their share of a typical step, and whose that is."""
    events = analysis.trace.events
    rows = np.flatnonzero((events.role == Role.ALLOC) & (analysis.steps.owner != ABSENT))
    counts = _per_step(analysis, rows)
    if not counts.sum():
        return None
    advice = allocation_repair(analysis)
    share = typical if counts.min() else 0.0
    taking = f", which hold up the device for {percent(share)} of {whose}" if share >= COSTLY else ""
    message = often(counts, "call", " to allocate or free device memory", a_step(analysis)) + taking
    evidence = _handles(analysis, "o", _operators(analysis, rows))
    return replace(_observe(counts, "allocation", message, advice, evidence=evidence), share=share)


def _loader(analysis: Analysis, whose: str) -> Observation | None:
    """A data loader that holds up the device."""
    share = analysis.attribution.share("dispatch", "input")
    if share < LOADER_SHARE:
        return None
    advice = "Load ahead: more workers, pinned memory, a prefetching copy stream; keep loading outside the region."
    message = f"a data loader that holds up the device for {percent(share)} of {whose}"
    return Observation(Blocker("host_work", message, None, 1.0, advice), True, share=share)


def _outside(analysis: Analysis, whose: str) -> Observation | None:
    """Work without operators, or of those on the host, in every counted step; what comes and goes is a pause, as what
    one step has may be."""
    found, tiles = stretches(analysis), analysis.window.tiles
    share = length(found) / max(analysis.attribution.window_ns, 1)
    each = covered(found, tiles[:, 0], tiles[:, 1])
    if share < LOADER_SHARE or not each.all():
        return None
    operator = mainly_computing(analysis, found)
    if operator is not None and computes_within(analysis):
        return _computing(operator, share, whose)
    advice = "Move it out of the step: to a worker process, onto the device, or behind the launches of the next step."
    what = "host work outside PyTorch that holds" if operator is None else "operators that compute on the host and hold"
    message = f"{what} up the device for {percent(share)} of {whose}"
    seen = Observation(Blocker("outside_work", message, operator, 1.0, advice), len(tiles) > 1, share=share)
    return seen if seen.proven else replace(seen, share=0.0)


def _computing(operator: str, share: float, whose: str) -> Observation:
    """Operators that compute on the host between launches, in every counted step: a graph does not run them again."""
    advice = "Compute it on the device, or before the first launch of the step and hand it over in a static tensor."
    message = f"operators that compute on the host and hold up the device for {percent(share)} of {whose}"
    return Observation(Blocker("host_compute", message, operator, 1.0, advice), True, share=share)


def _second_backward(analysis: Analysis) -> Observation | None:
    """A backward pass through what one before it of the same step has freed, were both compiled as one."""
    counts = returning_nodes(analysis)
    if not len(counts) or not counts.sum():
        return None
    advice = "Compile the modules apart, not the step that holds both backward passes, or add the losses and call one."
    returns = often(counts, "forward operator", each=a_step(analysis))
    message = f"a later backward pass that returns to {returns} from before the first"
    return _observe(counts, "second_backward", message, advice)


def _streamed_backward(analysis: Analysis, region: Region) -> Observation | None:
    """A backward pass through work of several streams: compiling it raised in all of six steps. [torch 2.11]"""
    rows = beside_main_stream(analysis, region)
    counts = _per_step(analysis, rows)
    if not counts.sum():
        return None
    advice = "Compile what runs on each stream by itself, not the step that holds them all and their backward pass."
    kernels = often(counts, "kernel", " on other streams", a_step(analysis))
    message = f"a backward pass through {kernels}, which torch.compile fails on (seen with torch 2.11)"
    return _observe(counts, "streamed_backward", message, advice, evidence=_handles(analysis, "k", rows))


def _old_device(region: Region) -> Observation | None:
    """A device that the compiler generates no kernels for."""
    device, vendor = region.device, region.trace.vendor
    major, minor = (device.properties.get(name) for name in ("computeMajor", "computeMinor"))
    if vendor != "cuda" or not isinstance(major, int) or not 0 < major < LEAST_CAPABILITY:
        return None
    advice = f"Replay instead, or run on a device of compute capability {LEAST_CAPABILITY}.0 or more."
    has = f"{device.name or 'the device'} has compute capability {major}.{minor if isinstance(minor, int) else 0}"
    message = f"{has} and Triton needs {LEAST_CAPABILITY}.0"
    return Observation(Blocker("old_device", message, None, None, advice), True)
