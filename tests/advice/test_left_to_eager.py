"""What the compiler leaves to eager although it could make code for it."""

from __future__ import annotations

import pytest

from tests.advice.cases.beats import inside
from tests.advice.compiling import BIG, compiled
from tests.advice.story import Beat, analysis, fork, item, op, pointwise
from tracelens.advice import advise

ENGINE = "autograd::engine::evaluate_function:"
WORK = [pointwise(50, BIG)] * 6


def node(name: str, *beats: Beat) -> Beat:
    return inside(f"{ENGINE} {name}", *beats)


def layers(calls: int) -> list[Beat]:
    """Recurrent layers with work after each."""
    return [op("aten::_cudnn_rnn", 30, kernel="RNN_blockPersist", host=20), *WORK] * calls


def test_a_loop_that_calls_recurrent_layers_stays_eager() -> None:
    looped = compiled(*WORK, *layers(6))
    assert looped.library_kernels == 6 + 5 * len(WORK)
    assert looped.generated_kernels == 2, "before the loop, and after"


def test_a_few_recurrent_layers_are_no_loop() -> None:
    assert compiled(*WORK, *layers(2)).library_kernels == 2


def test_what_is_around_recurrent_layers_is_compiled() -> None:
    around = [pointwise(50, BIG)] * 20
    found = advise(analysis(*around, *layers(1), *around, item())).forms
    eager, compiled_ms, both = (found[form].step_ms for form in ("eager", "compile", "both"))
    assert eager is not None
    assert compiled_ms is not None
    assert both is not None
    assert compiled_ms < 0.5 * eager
    assert compiled_ms < both < 1.2 * compiled_ms


def test_all_work_of_recurrent_layers_stays_from_their_zeros_on() -> None:
    state = op("aten::fill_", 2, shapes=[[64]], dtypes=["float"])
    copies = inside("aten::contiguous", pointwise(3, 1 << 10))
    layer = inside("aten::lstm", inside("aten::_cudnn_rnn", copies, *layers(1)[:1]))
    backward = inside("aten::_cudnn_rnn_backward", copies, state, *layers(1)[:1])
    found = compiled(*WORK, state, state, layer, *WORK, backward, state, *WORK)
    assert (found.library_kernels, found.generated_kernels) == (2 + 2 + 3, 3)


def test_single_cells_of_recurrent_layers_are_compiled() -> None:
    assert compiled(inside("aten::gru_cell", inside("aten::linear", *WORK))).library_kernels == 0


def test_recurrent_layers_add_regions() -> None:
    calls = [op(name, 30, kernel="a_kernel", host=20) for name in ("aten::_cudnn_rnn", "aten::linalg_qr")]
    host = [advise(analysis(call, item())).forms["compile"].terms for call in calls]
    assert host[0] is not None
    assert host[1] is not None
    assert host[0].values["guards_ns"] == 3 * host[1].values["guards_ns"]


def test_a_backward_that_runs_the_engine_itself_stays_eager() -> None:
    inner = node("MulBackward0", *WORK)
    own = compiled(node("ReversedBackward", *WORK, inner))
    assert (own.library_kernels, own.generated_kernels) == (2 * len(WORK), 0)


@pytest.mark.parametrize("name", ["CheckpointFunctionBackward", "AddBackward0"])
def test_checkpoints_and_plain_nodes_are_compiled(name: str) -> None:
    inner = node("MulBackward0", *WORK) if name.startswith("Checkpoint") else pointwise(50, BIG)
    assert compiled(node(name, *WORK, inner)).library_kernels == 0


def test_a_step_that_multiplies_by_a_sparse_matrix_stays_eager() -> None:
    sparse = op("aten::addmm", 30, kernel="void cusparse::csrmm_v3_kernel", host=20)
    assert compiled(*WORK, op("aten::addmm", 30), *WORK).generated_kernels == 2
    found = compiled(*WORK, sparse, *WORK)
    assert (found.library_kernels, found.generated_kernels) == (2 * len(WORK) + 1, 0)


@pytest.mark.parametrize(("calls", "takes"), [(4, 0.5), (2, 1.0)], ids=["loop", "no loop"])
def test_branches_that_a_loop_left_to_eager_forks_stay_side_by_side(calls: int, takes: float) -> None:
    layer = [
        op("aten::_cudnn_rnn", 30, kernel="RNN_blockPersist", grid=[8, 1, 1], stream=7 + at % 2) for at in range(calls)
    ]
    found = compiled(*fork(), *layer)
    assert found.library == pytest.approx(takes * calls * 30_000, rel=0.1)
