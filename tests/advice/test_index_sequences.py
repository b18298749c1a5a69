"""Where an index sequence is a kernel of compiled code: only where a library call reads it."""

from __future__ import annotations

import pytest

from tests.advice.compiling import compiled
from tests.advice.story import Beat, Clock, gemm, op, pointwise
from tests.build import TraceBuilder

SIZE = 1 << 10
SEQUENCE = op("aten::arange", 1, kernel="elementwise_kernel_with_index", shapes=[[], [], [], [0]], dtypes=[""] * 4)
COPY = op("aten::copy_", 2, shapes=[[SIZE], [SIZE]], dtypes=["long int"] * 2)


@pytest.mark.parametrize(
    ("beats", "kernels"),
    [
        ((SEQUENCE, pointwise()), 1),
        ((pointwise(), SEQUENCE, pointwise()), 1),
        ((SEQUENCE, gemm(5)), 1),
        ((pointwise(), SEQUENCE, gemm(5)), 2),
        ((SEQUENCE, COPY, gemm(5)), 2),
    ],
    ids=["read", "between", "alone", "for_library", "beside_a_copy_for_library"],
)
def test_a_sequence_is_computed_where_it_is_used(beats: tuple[Beat, ...], kernels: int) -> None:
    assert compiled(*beats).generated_kernels == kernels


def test_the_sequence_of_a_sort_is_part_of_the_call() -> None:
    def sort(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        trace.op("aten::sort", clock.host, 60, shapes=[[SIZE]], dtypes=["float"])
        trace.op("aten::arange", clock.host + 2, 25, shapes=[[], [], [], [0]])
        trace.op("aten::arange", clock.host + 4, 20, shapes=[[], [], [], [0]])
        for at, kernel in ((10, "elementwise_kernel_with_index"), (40, "radixSortKVInPlace")):
            starts = max(clock.drained, clock.host + at + 5)
            trace.launch(kernel, clock.host + at, 5, at=starts, runs=4)
            clock.streams[7] = starts + 4
        clock.host += 61

    found = compiled(sort, pointwise())
    assert (found.generated_kernels, found.library_kernels, len(found.library_calls)) == (1, 2, 1)
