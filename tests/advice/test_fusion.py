"""What the fusion model makes of operator sequences."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.advice.story import Beat, analysis, gemm, op, pointwise
from tracelens.advice.facts import find_facts
from tracelens.advice.fusion import Compiled, compile_device
from tracelens.advice.region import find_region

BIG = 1 << 24


def compiled(*beats: Beat) -> Compiled:
    region = find_region(analysis(*beats))
    assert region is not None
    return compile_device(find_facts(region))


def reduction(size: int, dims: str, runs: float = 5.0) -> Beat:
    shapes = {"shapes": [[size // 256, 256], [], [], []], "dtypes": ["float", "ScalarList", "Scalar", ""]}
    return op("aten::sum", runs, kernel="at::native::reduce_kernel", concrete=["", dims, "False", ""], **shapes)


def test_a_chain_of_pointwise_operators_becomes_one_kernel() -> None:
    found = compiled(*[pointwise(50, BIG)] * 12)
    assert (found.generated_kernels, found.library_kernels) == (1, 0)
    assert found.generated < found.replaced_ns / 5


def test_library_kernels_stay_and_split_chains() -> None:
    found = compiled(*[pointwise(), pointwise(), gemm(50)] * 3)
    assert (found.generated_kernels, found.library_kernels) == (3, 3)
    assert found.library == pytest.approx(150_000)
    assert len(found.library_calls) == 3


def test_a_row_reduction_fuses_and_a_full_one_splits() -> None:
    row = [pointwise(), reduction(1 << 16, "[-1]"), pointwise()]
    full = [pointwise(), reduction(1 << 16, "[]"), pointwise()]
    assert compiled(*row).generated_kernels == 1
    assert compiled(*full).generated_kernels == 3


def test_a_reduction_over_leading_dimensions_is_a_kernel_of_its_own() -> None:
    assert compiled(pointwise(), reduction(1 << 16, "[0]"), pointwise()).generated_kernels == 2


def test_operators_unknown_to_the_compiler_stay() -> None:
    assert compiled(pointwise(), op("mylib::rope", 10, kernel="rope_kernel"), pointwise()).library_kernels == 1


def test_without_shapes_a_chain_still_fuses_and_says_that_it_is_unsure() -> None:
    found = compiled(*[op("aten::add", 40)] * 8)
    assert found.generated_kernels == 1
    assert not found.certain


def test_recurrent_layers_are_left_to_eager() -> None:
    assert compiled(op("aten::_cudnn_rnn", 50, kernel="RNN_blockPersist"), pointwise()).untraceable


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0.8, 200.0), st.sampled_from([1, 1 << 10, 1 << 20])), min_size=1, max_size=12))
def test_a_fused_chain_is_never_slower_than_its_eager_kernels(kernels: list[tuple[float, int]]) -> None:
    found = compiled(*[pointwise(runs, size) for runs, size in kernels])
    assert 0 < found.generated <= found.replaced_ns * (1 + 1e-9)
    assert 1 <= found.generated_kernels <= len(kernels)
