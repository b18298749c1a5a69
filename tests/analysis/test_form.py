from __future__ import annotations

import pytest

from tests.build import TraceBuilder
from tracelens.analysis import analyze

EAGER = "void at::native::vectorized_elementwise_kernel<4>(int)"
TRITON = "triton_poi_fused_add_0"


def form(builder: TraceBuilder) -> str:
    return analyze(builder.trace()).form


def test_kernels_launched_one_by_one_are_eager() -> None:
    assert form(TraceBuilder().op("aten::add", 0, 20).launch(EAGER, 5).launch(EAGER, 30)) == "eager"


def test_triton_kernels_are_compiled() -> None:
    assert form(TraceBuilder().launch(TRITON, 0).launch("ampere_sgemm_128x64_tn", 20, runs=2)) == "compile"


def test_library_kernels_launched_in_a_compiled_region_are_compiled() -> None:
    builder = TraceBuilder().annotation("Torch-Compiled Region: 0/0", 0, 50).op("aten::mm", 5, 20)
    assert form(builder.launch("ampere_sgemm_128x64_tn", 10)) == "compile"


def test_backward_of_a_compiled_function_is_compiled() -> None:
    builder = TraceBuilder().op("CompiledFunctionBackward", 0, 50, thread=9)
    assert form(builder.launch("ampere_sgemm_128x64_tn", 10, thread=9)) == "compile"


def test_a_graph_of_eager_kernels_is_replayed() -> None:
    assert form(TraceBuilder().launch_graph(0, 5, [(EAGER, 10, 5), ("gemm", 16, 20)])) == "replay"


def test_a_graph_with_triton_kernels_is_both_also_when_captured_by_hand() -> None:
    assert form(TraceBuilder().launch_graph(0, 5, [(TRITON, 10, 1), ("gemm", 12, 100)])) == "both"


def test_a_graph_launched_in_a_compiled_region_is_both() -> None:
    builder = TraceBuilder().annotation("Torch-Compiled Region: 0/0", 0, 50)
    assert form(builder.launch_graph(5, 5, [("gemm", 12, 100)])) == "both"


def test_eager_copies_of_inputs_do_not_hide_a_replay() -> None:
    builder = TraceBuilder().launch("void at::native::copy_kernel(int)", 0, 5, at=6, runs=100)
    assert form(builder.launch_graph(10, 5, [(EAGER, 120, 20)])) == "replay"


def test_halves_in_two_forms_are_mixed() -> None:
    assert form(TraceBuilder().launch(EAGER, 0, at=5, runs=20).launch_graph(10, 5, [(EAGER, 30, 20)])) == "mixed"


def test_a_small_eager_part_leaves_the_form() -> None:
    assert form(TraceBuilder().launch(EAGER, 0, at=5, runs=2).launch_graph(10, 5, [(EAGER, 30, 20)])) == "replay"


@pytest.mark.parametrize("builder", [TraceBuilder(), TraceBuilder().kernel(EAGER, 0, 5)], ids=["empty", "unlinked"])
def test_without_linked_kernels_the_form_is_unknown(builder: TraceBuilder) -> None:
    assert form(builder) == "unknown"
