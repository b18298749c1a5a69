"""Generated kernels: runs of fusable work, and how long what they become takes. Times in ns."""

from __future__ import annotations

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.compiler.breaks import EQUAL_PARTS, breaks, split_by_stream
from tracelens.advice.compiler.concatenation import at_each_element, parts_of_concatenations
from tracelens.advice.operators.operators import Operators
from tracelens.advice.operators.roles import Role
from tracelens.advice.step.region import Region
from tracelens.model import arguments as A
from tracelens.model.events import Bools, Floats, Int64s
from tracelens.model.masks import mask_of, run_starts


class Generated:
    """Runs of fusable work and the kernels they become."""

    def __init__(self, region: Region, operators: Operators, fused: Int64s) -> None:
        self.work = fused
        self.first = np.empty(0, dtype=np.int64)
        if len(fused):
            self.first = np.flatnonzero(split_by_stream(region, operators, fused, breaks(operators, fused)))
        parts = parts_of_concatenations(operators, fused, self.first)
        self.operators, self.role = at_each_element(operators, fused, parts), operators.role[fused]
        # A forward pass of nothing but formulas and a loss: results of these roles are stored, never made anew.
        stored = np.isin(operators.role, (Role.LIBRARY, Role.ROW, Role.COLUMN)) & ~operators.backward
        self.only_formulas = not stored.any()
        self.parts = self._most(parts)
        self.duration = region.duration[fused]
        self.blocks = np.maximum(region.product(A.GRID)[fused], 0).astype(np.float64)
        self.eager = self._sum(self.duration)
        self.elements = self._most(self.operators.elements[fused])

    def kernels(self) -> Int64s:
        """Generated kernels per group."""
        return self._joined() + self._copies().astype(np.int64)

    def _copies(self) -> Floats:
        """Kernels that copy one tensor each of a long concatenation; eager batches them."""
        listed = self._most(self.operators.listed[self.work])
        return np.where((listed > C.COPIED_INPUTS) & ~self._any(self.role == Role.FOREACH), listed - 1, 0)

    def _copying(self, shortest: Floats) -> Floats:
        """Device time of those: they move as much as the eager kernel that they replace."""
        copied = self.operators.listed[self.work] > C.COPIED_INPUTS
        return self._copies() * shortest + np.where(self._copies() > 0, self._sum(self.duration * copied), 0.0)

    def _joined(self) -> Int64s:
        """Kernels per group beside copies: one, its further stages, a scatter's zeroes, further calls on lists."""
        stages = self._most(self.operators.stages[self.work])
        zeroes = self._any(self.role == Role.SCATTER)
        calls = np.maximum(self._sum(np.ones(len(self.work))) / np.maximum(self._operators(), 1), 1)
        foreach = np.where(self._any(self.role == Role.FOREACH), np.ceil(calls) - 1, 0)
        return (1 + stages + zeroes + foreach).astype(np.int64)

    def times(self, bandwidth: float, shortest_pointwise: float = C.SHORTEST_POINTWISE) -> Floats:
        """Device time per group: bounded by traffic, arithmetic and the shortest kernel; not above eager, but for what
        they compute anew."""
        reduces = self._any(np.isin(self.role, (Role.ROW, Role.FULL, Role.COLUMN)))
        shortest = shortest_pointwise + np.where(reduces, C.SHORTEST_REDUCTION - C.SHORTEST_POINTWISE, 0.0)
        moved, arithmetic = self._recomputed(self._traffic() + self._read_again(), self._arithmetic())
        least = np.maximum(shortest + self._latency() + moved / bandwidth, arithmetic)
        streaming = np.where(self._any(self.role == Role.FOREACH), self._optimizer(bandwidth), least)
        time = np.maximum(streaming, shortest) + (self._joined() - 1) * shortest
        most = self.eager + self._sum(self.operators.anew[self.work] * self.operators.elements[self.work])
        return np.where(self._alone(), self.eager, np.minimum(time, most)) + self._copying(shortest)

    def _recomputed(self, moved: Floats, arithmetic: Floats) -> tuple[Floats, Floats]:
        """Bytes and ns of arithmetic of each group. Those of gradients make anew what they need of a forward pass of
        nothing but formulas and a loss, where all that moves is less than they would read: the compiler stores the
        least that it can, and makes no reduction again. Of what the loss sums no gradient needs the value.
        [torch._functorch.partitioners: solve_min_cut, ban_recompute_reductions]"""
        gradients = self._any(self.operators.backward[self.work])
        forward = np.cumsum(gradients) == 0
        before = float(moved[forward].sum())
        as_large = self.elements <= self.elements[forward].max(initial=0.0)
        anew = gradients & ~self._any(self.role == Role.COLUMN) & as_large & (before < moved) & self.only_formulas
        into_loss = np.append((self.role == Role.FULL)[1:], False)[: len(self.work)]
        cost = self.operators.arithmetic[self.work] * self.operators.elements[self.work] * ~into_loss
        again = float(self._sum(cost)[forward].sum())
        return np.where(anew, before, moved), arithmetic + anew * again

    def _latency(self) -> Floats:
        """What reductions add beside the first of a group: a normalisation makes two. That of a group, or one to few
        positions, adds one more for each turn of a block's loop over its elements."""
        normalises = self.operators.normalises[self.work]
        whole = (self.role == Role.FULL) & normalises & (self.operators.stages[self.work] == 0)
        of = self.operators.elements[self.work] / np.maximum(self.operators.results[self.work], 1)
        few = self.operators.positions[self.work] & (self.operators.results[self.work] < C.PLENTY_INNER)
        rows = (self.role == Role.ROW) * (1.0 + normalises) + whole * (2 + of / C.LOOP_TURN) + few * of / C.LOOP_TURN
        return C.REDUCTION_LATENCY * np.maximum(self._sum(rows) - 1, 0)

    def _alone(self) -> Bools:
        """The pointwise kernels of a step in which no kernel has another to join: generated, each moves what it moved
        before. So do long gathers that nothing joins, from places as far apart."""
        pointwise = (self.role == Role.POINTWISE) & ~self.operators.casts[self.work]
        gathers = self.operators.gathers[self.work] & (self.duration > C.STREAMING_KERNEL)
        return (self._sum(~gathers) == 0) | (self._any(pointwise) & (len(self.first) == len(self.operators.role)))

    def _traffic(self) -> Floats:
        """Bytes: external reads, and one write unless all is reduced, of the largest tensor as it comes and goes.

        Each operator but the first reads one tensor that the one before made; what is left are external reads. Of
        several tensors that operators update in place each is read and written; each part of a concatenation reads for
        itself what parts share; the formula of a gradient reads what the forward pass stored."""
        full = self._full()
        inputs = np.where(full, self.operators.inputs[self.work], 0) - self._stored()
        reads = np.where(full, self.operators.read[self.work], 0)
        shrinks = self.operators.shrinks[self.work]
        apart = self._taken_apart()
        writes = np.where(full & ~shrinks & ~apart, self.operators.written[self.work], 0)
        writes = np.where(apart & self._ends(), self.operators.bytes[self.work], writes)
        reduced = self._last(full * (1.0 + (shrinks & (self.role != Role.COLUMN)))) > 1
        reuse = np.where(self._any(self.role == Role.SCATTER), C.GATHER_REUSE, 1.0)
        updated = self._sum(full & self.operators.updates[self.work])
        updated = np.where(updated > 1, updated, 0)
        uses = self._sum(inputs) - (self._sum(inputs > 0) - 1)
        uses = np.clip(uses, 1, np.maximum(updated + 1, np.maximum(uses / C.READ_ONCE, 2 * self.parts)))
        uses = self._anew(uses, reduced)
        beside = self._sum(self._stored() * reads) + self._residual(reads) + self._beside_parts()
        return (uses * self._first(reads) + beside + self._last(writes) * np.maximum(~reduced, updated)) / reuse

    def _anew(self, uses: Floats, reduced: Bools) -> Floats:
        """External reads, of which those of a normalisation in stages come again for its second reduction, and for each
        kernel from there to the next that stores what it makes of them."""
        twice = self._any(self.operators.twice[self.work])
        changes = np.diff(self.elements, prepend=-1) != 0
        run = np.cumsum(changes | np.append(False, ~reduced)[: len(reduced)])
        begun = np.cumsum(twice)
        normalised = begun > np.append(0, begun)[np.searchsorted(run, run)]
        most: Floats = np.maximum.accumulate(run * uses.max(initial=0.0) + uses) - run * uses.max(initial=0.0)
        return np.where(normalised, most, uses).astype(np.float64) * (1 + twice.astype(np.int64))

    def _taken_apart(self) -> Bools:
        """Work of groups in which work on equal parts of the largest tensor follows: that is computed where its parts
        are read, and not stored."""
        return self._spread(self._sum(self._divided() > 0)) > 0

    def _divided(self) -> Floats:
        """Into how many equal parts work divides the largest tensor of its group, behind the last work on that; else
        0."""
        parts = self._spread(self.elements) / np.maximum(self.operators.elements[self.work], 1)
        last = self._spread(np.maximum.reduceat(np.where(self._full(), np.arange(len(self.work)), 0), self.first))
        after = (np.arange(len(self.work)) > last) & (self.role == Role.POINTWISE) & ~self.operators.casts[self.work]
        return np.where(after & np.isin(parts, EQUAL_PARTS), parts, 0.0)

    def _beside_parts(self) -> Floats:
        """Bytes that work on equal parts of the largest tensor reads beside those: a tensor for each read that neither
        they nor a chain of its operators explains, two at most."""
        parts = self._divided()
        inputs = np.where(parts > 0, self.operators.inputs[self.work], 0)
        uses = self._sum(inputs) - np.maximum(self._sum(inputs > 0) - 1, 0) - self._most(parts)
        return np.clip(uses, 0, 2) * self._first(np.where(parts > 0, self.operators.bytes[self.work], 0))

    def _ends(self) -> Bools:
        """The last work of each group."""
        return np.isin(np.arange(len(self.work)) + 1, np.append(self.first[1:], len(self.work)))

    def _full(self) -> Bools:
        """Work on as many elements as the largest of its group."""
        return self.operators.elements[self.work] == self._spread(self.elements)

    def _stored(self) -> Floats:
        """Tensors that formulas of gradients read beside the gradient: the forward pass stored them."""
        read = np.maximum(self.operators.inputs[self.work] - 1, 0)
        return np.where(self._full() & self.operators.differentiates[self.work], read, 0)

    def _residual(self, reads: Floats) -> Floats:
        """Bytes of sums that a normalisation reads in the same kernel: they are stored beside its result, for the sum
        or the gradient of a later layer."""
        sums = np.cumsum(self.operators.sums[self.work])
        norms = self.operators.layer[self.work]
        start = self._spread(np.append(0, sums)[self.first])
        return self._first(np.where(norms & (sums > start), reads, 0.0))

    def _read_again(self) -> Floats:
        """Bytes of long rows that are read once more for each reduction, those from the cache at its rate, as they come
        from outside: what the kernel made of them it makes again."""
        elements = self.operators.elements[self.work]
        reads = np.where(self._full(), self.operators.read[self.work], 0)
        comes = elements * self._spread(self._first(reads) / np.maximum(self.elements, 1))
        bytes = np.minimum(self.operators.bytes[self.work], comes)
        row = self.operators.row[self.work]
        rows = (self.role == Role.ROW) & (row > C.PERSISTENT_ROW) & ~self.operators.picks[self.work]
        cached = row * bytes / np.maximum(elements, 1) < C.CACHED_ROW
        return self._sum(bytes * rows / np.where(cached, C.CACHED_RATE, 1.0))

    def _arithmetic(self) -> Floats:
        """Device time per group that its functions and reductions take on all of their elements, functions of long rows
        anew in each later loop; longer where they are many, or in blocks of a row each."""
        rows, held = self.role == Role.ROW, self.operators.row[self.work] <= C.PERSISTENT_ROW
        looped = rows & ~held & self.operators.normalises[self.work] & ~self.operators.layer[self.work]
        own = self.operators.arithmetic[self.work]
        cost = own * (1 + self._later_loops() * (own > C.PLAIN_OPERATOR)) + self.operators.anew[self.work]
        cost = cost + C.ROW_REDUCTION * (rows & held) + C.LOOPED_SOFTMAX * looped
        reduces = self.operators.shrinks[self.work] | self.operators.normalises[self.work]
        wide = self._any(rows & held & reduces & (self.operators.row[self.work] >= C.WIDE_ROW))
        many = self._sum(own > C.PLAIN_OPERATOR) > C.FEW_FUNCTIONS
        longer = np.where(wide, C.WIDE_ROW_ARITHMETIC, 1.0) * np.where(many, C.AMONG_OTHERS, 1.0)
        return self._sum(cost * self.operators.elements[self.work]) * longer

    def _later_loops(self) -> Floats:
        """Loops of a kernel over rows too long to hold that follow the one which each full work is in: each computes
        anew what it needs of it. The next begins where work on whole rows reads what was reduced of them, as after the
        mean from which it tells how far they are. What softmaxes compute twice, their own rate holds.
        [torch._inductor: the result of a reduction is there behind its loop alone, values read twice are inlined]"""
        row, normalises = self.operators.row[self.work], self.operators.normalises[self.work]
        long = (self.role == Role.ROW) & (row > C.PERSISTENT_ROW) & ~self.operators.picks[self.work] & ~normalises
        reduced = np.cumsum(long)
        whole = self._full() & (self.operators.matched[self.work] * row == self._spread(self.elements))
        reads = np.flatnonzero(whole & self._since_first(long))
        begins = reads[np.diff(reduced[reads], prepend=0) > 0]
        loop = np.cumsum(mask_of(begins, len(self.work)).astype(np.float64))
        return np.where(self._full(), self._spread(self._most(loop)) - loop, 0.0)

    def _since_first(self, marked: Bools) -> Bools:
        """Work behind the first marked one of its group."""
        done = np.cumsum(marked)
        return done > self._spread((done - marked)[self.first])

    def _optimizer(self, bandwidth: float) -> Floats:
        """A run of foreach operators reads and writes each tensor once instead of in every operator.

        Calls on whole lists tell what a pass takes: those on the optimizer's counters are far shorter, and one that
        divides by tensors works tensor by tensor, as many operators. Each of their blocks takes a chunk at most, of
        which short lists have too few to fill the device."""
        calls = self._calls(self.duration)
        whole = calls > C.COUNTERS * self._spread(self._most(calls))
        count = np.maximum(self._sum(whole), 1)
        passes = np.where(self._any(self.operators.averages[self.work]), C.OPTIMIZER_TRAFFIC, C.MOMENTUM_TRAFFIC)
        each = self._sum(calls * whole) / (C.FOREACH_TRAFFIC * count)
        chunks = self._sum(self._calls(self.blocks) * whole) / count
        most = np.where(chunks > 0, C.FOREACH_CHUNK * chunks / (C.FOREACH_RATE * bandwidth), np.inf)
        return np.minimum(passes * np.minimum(each, most), self.eager)

    def _calls(self, values: Floats) -> Floats:
        """Sums over each call on lists, at its first work; over all calls where none of the group's has a list."""
        begins = np.flatnonzero(run_starts(self.operators.name[self.work]) | mask_of(self.first, len(self.work)))
        calls = np.zeros(len(self.work))
        calls[begins] = np.add.reduceat(values, begins) if len(begins) else 0.0
        lists = (self.role == Role.FOREACH) & (self.operators.listed[self.work] != 1)
        return np.where(lists | (self._spread(self._sum(lists)) == 0), calls, 0.0)

    def _operators(self) -> Floats:
        """Operators per group."""
        return self._sum(run_starts(self.operators.name[self.work]))

    def _sum(self, values: Floats | Bools) -> Floats:
        return np.add.reduceat(values.astype(np.float64), self.first) if len(self.first) else np.empty(0)

    def _first(self, values: Floats) -> Floats:
        """The first of the group's values that is not 0; 0 where all are."""
        return self._edge(values, 1)

    def _last(self, values: Floats) -> Floats:
        """The last of the group's values that is not 0; 0 where all are."""
        return self._edge(values, -1)

    def _edge(self, values: Floats, step: int) -> Floats:
        """Of each group the first (step 1) or the last (-1) value that is not 0."""
        at = np.flatnonzero(values)[::step]
        groups, found = np.unique(np.searchsorted(self.first, at, side="right") - 1, return_index=True)
        edge = np.zeros(len(self.first))
        edge[groups] = values[at[found]]
        return edge

    def _most(self, values: Floats) -> Floats:
        return np.maximum.reduceat(values, self.first) if len(self.first) else np.empty(0)

    def _any(self, values: Bools) -> Bools:
        return self._sum(values) > 0

    def _spread(self, values: Floats) -> Floats:
        """A value per group, repeated for its work."""
        return np.repeat(values, np.diff(np.append(self.first, len(self.work))))
