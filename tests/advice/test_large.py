"""What the fusion model makes of large tensors: all pairs, several launches for one operator, long rows."""

from __future__ import annotations

import pytest

from tests.advice.compiling import compiled
from tests.advice.story import Beat, Clock, op
from tests.build import TraceBuilder
from tracelens.advice import constants as C

HUGE = [1 << 15, 1 << 15]
"""Of float32 more than 32 bits address."""


def huge(name: str, *, launches: int = 2) -> Beat:
    """An operator that goes through its tensor in several launches."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        trace.op(f"aten::{name}", clock.host, 40, shapes=[HUGE], dtypes=["float"])
        for launch in range(launches):
            starts = max(clock.streams.get(7, 0.0) + 1, clock.host + 10)
            where = {"at": starts, "runs": 2000 / launches, "grid": [4096, 1, 1], "block": [128, 1, 1]}
            trace.launch("at::native::vectorized_elementwise_kernel<4>", clock.host + 1 + 6 * launch, 5, **where)
            clock.streams[7] = starts + 2000 / launches
        clock.host += 41

    return tell


def test_launches_for_one_operator_read_its_tensor_once_between_them() -> None:
    once, twice = (compiled(*[huge("exp", launches=launches)] * 3) for launches in (1, 2))
    assert twice.generated_kernels == once.generated_kernels == 1
    assert twice.generated == pytest.approx(once.generated, rel=0.01)
    assert twice.replaced == 2 * once.replaced


def pairs(*shapes: list[int]) -> Beat:
    return op("aten::eq", 50, shapes=list(shapes), dtypes=["float"] * len(shapes))


def test_all_pairs_of_two_lists_are_as_many_as_their_lengths_multiplied() -> None:
    whole = op("aten::mul", 50, shapes=[[4096, 4096]] * 2, dtypes=["float"] * 2)
    assert compiled(whole, pairs([4096], [4096, 1]), whole).generated_kernels == 1
    assert compiled(whole, pairs([4096], [1, 4096]), whole).generated_kernels == 2


def softmax(length: int, *names: str) -> float:
    given = {"shapes": [[(1 << 26) // length, length]], "dtypes": ["float"]}
    return compiled(*(op(f"aten::{name}", 130, **given) for name in names)).generated


def test_a_softmax_of_long_rows_scales_its_sum_anew() -> None:
    longest = C.PERSISTENT_ROW
    work = ("_log_softmax", "_log_softmax_backward_data", *["exp"] * 6)
    more = C.AMONG_OTHERS * (C.LOOPED_SOFTMAX - C.ROW_REDUCTION) * 2 * (1 << 26)
    held = softmax(longest, *work) / C.WIDE_ROW_ARITHMETIC
    assert softmax(2 * longest, *work) == pytest.approx(held + more, rel=0.01)


def test_a_loss_that_picks_an_element_of_each_row_does_not_read_the_rows_again() -> None:
    norm = ("native_layer_norm", "mul")
    assert softmax(1 << 15, *norm, "nll_loss_forward") < softmax(1 << 15, *norm, "native_layer_norm")
    assert softmax(1 << 15, *norm, "nll_loss_forward") == pytest.approx(softmax(1 << 15, *norm), rel=0.05)


def deviation(length: int) -> float:
    """Rows of logarithms, of each of which the deviation from its mean is summed up."""
    full, kept = [(1 << 26) // length, length], ["", "[-1]", "True"]
    logs = [op("aten::log", 200, shapes=[full], dtypes=["float"])] * 3
    total = op("aten::sum", 130, shapes=[full], dtypes=["float"], concrete=kept)
    apart = op("aten::sub", 130, shapes=[full, [full[0], 1]], dtypes=["float"] * 2)
    return compiled(*logs, total, apart, op("aten::abs", 130, shapes=[full], dtypes=["float"]), total).generated


def test_a_loop_that_reads_what_was_reduced_of_long_rows_computes_their_functions_anew() -> None:
    longest, anew = C.PERSISTENT_ROW, C.AMONG_OTHERS * 3 * 0.85e-3 * (1 << 26)
    held = 2 * C.ROW_REDUCTION * (1 << 26)
    kept = deviation(longest) / C.WIDE_ROW_ARITHMETIC
    assert deviation(2 * longest) == pytest.approx(kept + anew - held, rel=0.01)
