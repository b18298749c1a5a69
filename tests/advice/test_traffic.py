"""What generated kernels move and compute, and so how long they take."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.advice.compiling import BIG, compiled, elementwise
from tests.advice.story import Beat, Clock, Given, gemm, op, pointwise
from tests.build import TraceBuilder


@pytest.mark.parametrize("shapes", [[[BIG], [BIG], []], None], ids=["sized", "unsized"])
def test_a_kernel_with_nothing_to_join_keeps_its_time(shapes: list[list[int]] | None) -> None:
    alone = {} if shapes is None else {"shapes": shapes, "dtypes": ["float", "float", "Scalar"]}
    found = compiled(op("aten::add", 500, **alone))
    assert found.generated == pytest.approx(500_000)


def test_a_long_gather_with_nothing_to_join_keeps_its_time() -> None:
    def gathered(runs: float, *beats: Beat) -> float:
        gather = op("aten::index", runs, shapes=[[1 << 10], []], dtypes=["float", ""])
        return compiled(op("aten::sort", 2_000), gather, *beats).generated

    assert gathered(500) == pytest.approx(500_000)
    assert gathered(500, pointwise(60, 1 << 10)) < 500_000
    assert gathered(7) < 7_000


def test_kernels_that_join_move_less_than_before() -> None:
    assert compiled(*[pointwise(500, BIG)] * 2).generated < 500_000


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0.8, 200.0), st.sampled_from([1, 1 << 10, 1 << 20])), min_size=1, max_size=12))
def test_a_fused_chain_is_never_slower_than_its_eager_kernels(kernels: list[tuple[float, int]]) -> None:
    found = compiled(*[pointwise(runs, size) for runs, size in kernels])
    assert 0 < found.generated <= found.replaced_ns * (1 + 1e-9)
    assert 1 <= found.generated_kernels <= len(kernels)


def test_a_square_costs_no_power_function() -> None:
    square, power = (elementwise("aten::pow", BIG, ["float"], concrete=["", by]) for by in ("2", "2.37"))
    chain = [pointwise(100, BIG)] * 2
    assert compiled(*[square] * 12, *chain).generated < compiled(*[power] * 12, *chain).generated


def test_a_cast_moves_bytes_of_both_types() -> None:
    narrow, wide = (elementwise("aten::copy_", BIG, ["float", source]) for source in ("unsigned char", "double"))
    assert compiled(narrow).generated < 0.6 * compiled(wide).generated


def test_what_is_taken_apart_is_not_stored() -> None:
    whole = elementwise("aten::copy_", 3 * BIG, ["float", "unsigned char"], 400.0)
    part, other = pointwise(140, BIG), pointwise(60, BIG // 7)
    assert compiled(whole, part).generated < 0.6 * compiled(whole, whole).generated
    assert compiled(whole, other).generated > 0.9 * compiled(whole, whole).generated


def test_what_parts_meet_is_read_beside_them() -> None:
    whole, gate = elementwise("aten::neg", 2 * BIG, ["float"], 200.0), elementwise("aten::sigmoid", BIG, ["float"])
    gated, *others = [elementwise("aten::mul", BIG, ["float"] * 2)] * 4
    alone, one, many = (compiled(whole, gate, gated, *others[:count]).generated for count in range(3))
    assert one == pytest.approx(4 / 3 * alone, rel=0.05)
    assert many == pytest.approx(5 / 3 * alone, rel=0.05)


def test_a_logarithm_takes_longer_than_an_exponential() -> None:
    chains = [[pointwise(200, BIG), *[elementwise(f"aten::{name}", BIG, ["float"])] * 12] for name in ("log1p", "exp")]
    logarithms, exponentials = (compiled(*chain).generated for chain in chains)
    assert logarithms > 1.5 * exponentials


def test_long_rows_are_read_again_for_each_reduction() -> None:
    def rows(length: int) -> list[Beat]:
        of = {"shapes": [[BIG // length, length]], "dtypes": ["float"]}
        return [op("aten::mean", 100, kernel="at::native::reduce_kernel", concrete=["", "[-1]"], **of)] * 6

    assert compiled(*rows(4096)).generated > compiled(*rows(512)).generated


def test_a_cast_reads_only_its_source() -> None:
    cast, addition = (elementwise(name, BIG, ["float"] * 2) for name in ("aten::copy_", "aten::add"))
    after = elementwise("aten::abs", BIG, ["float"])
    assert compiled(cast, after).generated < compiled(addition, after).generated


TABLE = [30_000, 512]
READS = {
    "embedding": ("aten::embedding", [TABLE, [64, 128], [], [], []], ["float", "long int", "Scalar", "", ""]),
    "index_select": ("aten::index_select", [TABLE, [], [64 * 128]], ["float", "Scalar", "long int"]),
    "gather": ("aten::gather", [TABLE, [], [64 * 128, 512], []], ["float", "Scalar", "long int", "Scalar"]),
}


@pytest.mark.parametrize(("name", "shapes", "dtypes"), READS.values(), ids=READS.keys())
def test_rows_of_a_table_fuse_with_work_on_them(name: str, shapes: list[list[int]], dtypes: list[str]) -> None:
    rows = op(name, 10, kernel="at::native::indexSelectLargeIndex", shapes=shapes, dtypes=dtypes)
    found = compiled(rows, pointwise(20, 64 * 128 * 512))
    assert found.generated_kernels == 1
    assert found.generated < compiled(pointwise(10, 30_000 * 512), pointwise(20, 64 * 128 * 512)).generated


def test_tensors_updated_in_place_are_each_read_and_written() -> None:
    given = {"shapes": [[BIG], [BIG], []], "dtypes": ["float", "float", "Scalar"], "concrete": ["", "", "1"]}
    fresh, kept = (compiled(*[op(name, 60, **given)] * 3) for name in ("aten::add", "aten::add_"))
    assert kept.generated == pytest.approx(7 / 3 * fresh.generated, rel=0.02)


def test_rows_too_long_for_the_cache_are_read_again_from_memory() -> None:
    def norms(length: int) -> float:
        given = {"shapes": [[(1 << 27) // length, length]], "dtypes": ["float"]}
        return compiled(*[op("aten::native_layer_norm", 900, **given)] * 2).generated

    assert norms(1 << 15) > 1.5 * norms(1 << 14)
    assert norms(1 << 14) == pytest.approx(norms(1 << 13), rel=0.05)


def test_an_optimizer_that_keeps_one_tensor_moves_less() -> None:
    def stepped(*names: str) -> float:
        given = {"shapes": [[[BIG], [BIG]]], "dtypes": ["TensorList"]}
        return compiled(*[op(f"aten::_foreach_{name}_", 200, **given) for name in names]).generated

    assert stepped("mul", "add", "add") < stepped("lerp", "add", "add")


def on_lists(name: str, runs: float, size: int = BIG, blocks: int = 4096) -> Beat:
    """A call on lists of two tensors."""
    args: dict[str, Given] = {"shapes": [[[size]] * 2], "dtypes": ["TensorList"], "grid": [blocks, 1, 1]}
    return op(f"aten::_foreach_{name}_", runs, **args)


def test_neither_counters_nor_divisions_tensor_by_tensor_tell_what_a_pass_of_an_optimizer_takes() -> None:
    def divided(trace: TraceBuilder, clock: Clock, step: int) -> None:
        trace.op("aten::_foreach_div_", clock.host - 1, 12 * 21 + 1)
        for _ in range(12):
            elementwise("aten::div_", BIG, ["float"], runs=40)(trace, clock, step)

    whole = [on_lists(name, 200) for name in ("lerp", "addcmul", "add", "addcdiv")]
    counters = [on_lists(name, 2, size=1) for name in ("add", "pow", "neg", "sqrt")]
    assert compiled(*whole, *counters, divided).generated == pytest.approx(compiled(*whole).generated, rel=0.01)


def test_calls_of_few_blocks_move_no_more_than_these_take() -> None:
    few, many = ([on_lists(name, 50, blocks=blocks) for name in ("lerp", "add")] for blocks in (40, 4000))
    assert compiled(*few).generated < 0.5 * compiled(*many).generated


def test_many_plain_operators_outlast_the_traffic() -> None:
    few, many = (compiled(*[pointwise(500, BIG, shapes=[[BIG], [], []])] * count) for count in (4, 300))
    assert many.generated > 1.5 * few.generated


def test_the_formula_of_a_gradient_reads_what_was_stored() -> None:
    before = [elementwise("aten::neg", BIG, ["float"])] * 3
    two = ["float", "float"]
    stored = compiled(*before, elementwise("aten::silu_backward", BIG, two), elementwise("aten::add", BIG, two))
    assert stored.generated > 1.3 * compiled(*before, *[elementwise("aten::add", BIG, two)] * 2).generated


def test_a_sum_that_is_normalised_is_stored_beside() -> None:
    norm = op("aten::native_layer_norm", 90, shapes=[[BIG // 512, 512]], dtypes=["float"])
    scaled, added = (elementwise(name, BIG, ["float"] * 2) for name in ("aten::mul", "aten::add"))
    assert compiled(added, norm).generated > 1.2 * compiled(scaled, norm).generated


def test_rows_read_by_unknown_indices_are_as_many_as_the_next_work_takes() -> None:
    gather = op("aten::index", 7, shapes=[[1 << 10, 512], []], dtypes=["float", ""])
    few, many = (op("aten::neg", 300, shapes=[[rows, 512]], dtypes=["float"]) for rows in (256, 1 << 16))
    assert compiled(gather, many).generated > 10 * compiled(gather, few).generated
    assert compiled(gather, gemm(5), many).generated > 10 * compiled(gather, gemm(5), few).generated


@pytest.mark.parametrize("taken", [[8, 4, 64, 128], [8, 256, 128], [2048, 128]], ids=["apart", "flat", "flatter"])
def test_rows_read_by_unknown_indices_may_be_flattened_with_what_picks_them(taken: list[int]) -> None:
    gather = op("aten::index", 300, shapes=[[1 << 14, 64, 128], []], dtypes=["float", ""])
    found, whole = (
        compiled(gather, op("aten::neg", 300, shapes=[dims], dtypes=["float"])).generated
        for dims in (taken, [*taken[:-1], 127])
    )
    assert found < 0.1 * whole
