"""Steps that waits cut into pieces."""

from __future__ import annotations

from tests.advice.story import analysis, item, op, pointwise
from tracelens.advice import advise
from tracelens.advice.results import Form

BACKWARD = op("autograd::engine::evaluate_function: AddBackward0", 2, kernel="elementwise_kernel", host=20)


def forms(*beats: object) -> dict[str, Form]:
    return advise(analysis(*beats)).forms  # type: ignore[arg-type]


def step_ms(form: Form) -> float:
    assert form.step_ms is not None
    return form.step_ms


def test_a_training_loop_that_waits_stays_eager() -> None:
    looped = forms(*[*[pointwise(2, host=30)] * 50, BACKWARD, item()] * 3)
    assert step_ms(looped["compile"]) == step_ms(looped["eager"]) == step_ms(looped["both"])
    assert looped["replay"].step_ms is None


def test_compiling_a_loop_that_waits_gains_nothing() -> None:
    looped = forms(*[*[pointwise(2, host=30)] * 50, item()] * 5)
    assert step_ms(looped["compile"]) > step_ms(looped["eager"])
    assert step_ms(looped["both"]) < step_ms(looped["eager"])


def test_one_long_piece_pays_beside_short_ones() -> None:
    uneven = forms(item(), *[pointwise(2, host=30)] * 60, item())
    even = forms(*[*[pointwise(2, host=30)] * 20, item()] * 3)
    assert step_ms(uneven["both"]) < 0.7 * step_ms(uneven["eager"])
    assert step_ms(even["both"]) > step_ms(even["eager"])
