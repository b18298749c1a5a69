"""What the compiler leaves to eager although it could make code for it."""

from __future__ import annotations

import pytest

from tests.advice.cases.beats import inside
from tests.advice.compiling import BIG, compiled
from tests.advice.story import Beat, op, pointwise

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
