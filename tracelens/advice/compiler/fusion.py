"""Which kernels torch.compile makes of an eager step, and how long they run: a fusion model. Times in ns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice import patterns as P
from tracelens.advice.compiler.breaks import EQUAL_PARTS, libraries_before
from tracelens.advice.compiler.generated import Generated
from tracelens.advice.compiler.padding import padded
from tracelens.advice.device.facts import Facts
from tracelens.advice.device.roofline import shortest, slowdown
from tracelens.advice.device.schedule import graph_spacing, stretched
from tracelens.advice.operators.operators import Operators
from tracelens.advice.operators.roles import Role
from tracelens.advice.step.before import before
from tracelens.advice.step.region import Region
from tracelens.analysis.kinds import is_communication
from tracelens.model.distinct import distinct
from tracelens.model.events import ABSENT, Bools, Int64s, Trace
from tracelens.model.masks import mask_of
from tracelens.model.names import named
from tracelens.model.nesting import nearest

LOOPED: Final = 3
"""More calls of recurrent layers than this come from a loop. [judgement]"""


@dataclass(frozen=True, slots=True)
class Compiled:
    """The device work of a compiled step."""

    library: float
    """Device time of calls into libraries, as in eager."""
    generated: float
    """Device time of generated kernels."""
    library_kernels: int
    """Memsets included."""
    library_spacing: float
    """Time that they take in a graph beside their durations."""
    generated_kernels: int
    library_calls: Int64s
    """Rows of the operators that stay calls."""
    further_calls: int
    """Calls beside those, of operators that the compiler makes of a single one."""
    replaced: int
    """Eager kernels that the generated ones replace."""
    replaced_ns: float
    """Their device time."""
    unbiased: float
    """Device time of single-precision matrix products that lose their bias to generated kernels."""
    relaid: float
    """Device time of convolutions among them for which the compiler asks another layout."""
    from_host: float
    """Device time of copies from the host among the library calls."""
    awaited: float
    """... into tensors that were there before: compiled code waits for each."""
    awaits: int
    """How many these are."""
    untraceable: bool
    """The step calls recurrent layers, which the compiler leaves to eager."""
    certain: bool
    """Shapes and bandwidth were known."""

    @property
    def device(self) -> float:
        """Device time in ns without spacing."""
        return self.library + self.generated

    @property
    def replacing(self) -> float:
        """Device time in ns of the eager work that it replaces and that stays."""
        return self.library + self.replaced_ns

    @property
    def kernels(self) -> int:
        """All kernels and memsets."""
        return self.library_kernels + self.generated_kernels


def compile_device(facts: Facts) -> Compiled:
    """The compiled step's device work: libraries stay, runs of other kernels between them fuse.

    Streams that user code forks become one, unless that code is left to eager; those inside a library call stay."""
    region = facts.region
    loop = _loop_left_to_eager(facts.operators)
    operators = _eager_if_sparse(region, _eager_in_a_loop(_eager_once_fed(region, facts.operators), loop))
    unfused = _loses_bias(operators)
    stays = (operators.role == Role.LIBRARY) | _vanishes_whole(operators)
    library = stays & ~(unfused & operators.bias_kernel)
    overlap, beside = _overlaps(facts, eager=bool(loop.any()))
    fused = _in_order(operators)
    groups = Generated(region, operators, fused)
    calls = operators.name[library & ~region.memset]
    products = padded(region, operators, facts.bandwidth.rate)
    changed = np.where(unfused & (facts.share < 1), C.UNFUSED_BIAS, 1.0) * products
    duration = (
        np.where(unfused & operators.few_rows & (operators.third <= C.NARROW), C.SPLIT_PRODUCT, changed) * overlap
    )
    signs = np.where(operators.signs, C.SIGN_TIME, 1.0)
    duration, further = duration * signs, C.SIGN_KERNELS * (library & operators.signs)
    own = float(groups.times(facts.bandwidth.rate, shortest(facts)).sum())
    replaced = float(region.duration[fused].sum())
    return Compiled(
        library=float(duration[library].sum()),
        generated=beside * min(slowdown(facts) * own, max(own, replaced)),
        library_kernels=int((library + further).sum()),
        library_spacing=float((graph_spacing(region, facts.operators) * (library + further)).sum()),
        generated_kernels=int(groups.kernels().sum()),
        library_calls=_outermost(region.trace, distinct(calls[calls != ABSENT], len(region.trace.events))),
        further_calls=int(further.sum()),
        replaced=len(fused),
        replaced_ns=replaced,
        unbiased=float(duration[library & unfused].sum()),
        relaid=float(duration[library & operators.relaid].sum()),
        from_host=float(duration[operators.from_host].sum()),
        awaited=float(duration[operators.in_place].sum()),
        awaits=int(operators.in_place.sum()),
        untraceable=bool(operators.recurrent.any()),
        certain=facts.bandwidth.known and bool(operators.sized[fused].mean() > 0.5) if len(fused) else True,
    )


def _overlaps(facts: Facts, *, eager: bool) -> tuple[float, float]:
    """What overlap of streams leaves of the sum of the library calls, and of the generated kernels: these run beside
    collectives, which stay on a stream of their own, as what they replace did in the trace.

    eager: the code that hands work to streams stays eager, and each kernel is launched where that says."""
    region = facts.region
    if region.fork.any() and eager:
        overlap = facts.span(C.NODE_SPACING).overlap
        return overlap, overlap
    if region.fork.any():
        return 1 - stretched(region, facts.share), 1.0
    overlap = facts.span(C.NODE_SPACING).overlap
    if not is_communication(region.trace, region.work).any():
        return overlap, 1.0
    seen = min(overlap, region.busy / max(float(region.duration.sum()), 1.0))
    return seen, seen


def _in_order(operators: Operators) -> Int64s:
    """The fusable work in the order in which it is generated: between two libraries what depends on nothing there
    first, and last what nothing there depends on."""
    fused = np.flatnonzero((operators.role != Role.LIBRARY) & (operators.role != Role.VANISHES))
    turn = operators.leaves[fused].astype(np.int64) - operators.standalone[fused]
    return fused[np.lexsort((fused, turn, libraries_before(operators, fused)))]


def _eager_once_fed(region: Region, operators: Operators) -> Operators:
    """The operators, of which those after the wait for a number that a later one takes stay as in eager: the compiler
    gives up making them anew for each number."""
    ahead = region.waits[region.waits <= region.fed]
    if region.training or region.fed == len(region) or not len(ahead):
        return operators
    after = np.arange(len(region)) >= ahead[-1]
    return replace(operators, role=np.where(after, Role.LIBRARY, operators.role))


def _loop_left_to_eager(operators: Operators) -> Bools:
    """(n) Work between recurrent layers that a loop calls: each breaks the graph, and the compiler leaves a loop whose
    body does that to eager."""
    calls = np.flatnonzero(operators.recurrent & (operators.name != before(operators.name, ABSENT)))
    at = np.arange(len(operators.role))
    return (at >= calls[0]) & (at <= calls[-1]) if len(calls) > LOOPED else np.zeros(len(at), dtype=np.bool_)


def _eager_in_a_loop(operators: Operators, loop: Bools) -> Operators:
    """The operators, of which those in a loop that is left to eager stay as they are."""
    within = loop & (operators.role != Role.VANISHES)
    return replace(operators, role=np.where(within, Role.LIBRARY, operators.role))


def _eager_if_sparse(region: Region, operators: Operators) -> Operators:
    """The operators, all of which stay as in eager where one multiplies by a sparse matrix: the compiler makes no graph
    of what takes tensors of that layout."""
    if not named(region.trace, region.work, P.SPARSE).any():
        return operators
    return replace(operators, role=np.full_like(operators.role, Role.LIBRARY))


def _vanishes_whole(operators: Operators) -> bool:
    """Whether the step is nothing but work that vanishes beside other work, such as memsets: it stays then."""
    return bool((operators.role == Role.VANISHES).all())


def _outermost(trace: Trace, operators: Int64s) -> Int64s:
    """The operators that no other of them encloses."""
    others = mask_of(operators, len(trace.events))
    return operators[nearest(trace.links.parent, trace.links.parent[operators], others) == ABSENT]


def _loses_bias(operators: Operators) -> Bools:
    """Single-precision work of an addmm that generated pointwise work follows: the compiler moves its bias there. Work
    on two tensors may follow two of them."""
    biased = operators.single_precision & operators.biased & (operators.name != ABSENT)
    pointwise = np.append(operators.role[1:], Role.LIBRARY) == Role.POINTWISE
    last = biased & pointwise
    pairs = last & np.append(operators.inputs[1:] > 1, False)[: len(last)]
    elements, matched = operators.elements, operators.matched
    alike = (elements == before(elements, -1)) & (matched == before(matched, -1))
    first = np.append(pairs & alike, False)[1:]
    return biased & np.isin(operators.name, operators.name[last | (biased & first) | _read_later(operators, biased)])


def _read_later(operators: Operators, biased: Bools) -> Bools:
    """Products of few rows whose result, whole or in parts, pointwise work is the first to read, if later."""
    columns = operators.third
    result = operators.matched * columns**2 / np.maximum(operators.elements, 1)
    asked = biased & operators.few_rows & (columns > 0)
    found = np.zeros(len(biased), dtype=np.bool_)
    for size in np.unique(result[asked]).tolist():
        parts = [size / part for part in (1, *EQUAL_PARTS)]
        reads = np.isin(operators.matched, parts) | np.isin(operators.third, parts) | np.isin(operators.elements, parts)
        readers, at = np.flatnonzero(reads | ~operators.sized), np.flatnonzero(asked & (result == size))
        after = np.append(readers, len(biased))[np.searchsorted(readers, at, side="right")]
        found[at] = np.append(operators.role == Role.POINTWISE, False)[after]
    return found
