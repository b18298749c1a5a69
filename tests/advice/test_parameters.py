"""What the parameters of a step cost its host once it is compiled."""

from __future__ import annotations

import pytest

from tests.advice.story import Beat, Clock, analysis, op, pointwise
from tests.build import TraceBuilder
from tracelens.advice import advise
from tracelens.advice import constants as C
from tracelens.advice.device.facts import facts_of
from tracelens.advice.forms.parameters import layer_tensors
from tracelens.model.units import NS_PER_MS


def layer(name: str, inner: str) -> Beat:
    """An operator of a layer around the one that launches."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        trace.op(name, clock.host - 1, 24)
        op(inner, 2)(trace, clock, step)
        clock.host += 4

    return tell


def gradient(trace: TraceBuilder, clock: Clock, step: int) -> None:
    """A parameter receives its gradient."""
    del step
    trace.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", clock.host, 3)
    trace.op("torch::autograd::AccumulateGrad", clock.host + 1, 1)
    clock.host += 4


def test_tensors_of_layers_are_counted_once_for_each_use() -> None:
    step = [layer("aten::linear", "aten::addmm"), layer("aten::batch_norm", "aten::native_batch_norm"), pointwise()]
    facts = facts_of(analysis(*step * 3))
    assert facts is not None
    assert layer_tensors(facts.region) == 3 * (2 + 4)


@pytest.mark.parametrize("count", [1, 8, 40])
def test_training_costs_its_compiled_host_a_share_for_itself_and_one_for_each_parameter(count: int) -> None:
    plain, one, more = (compile_ms(*[gradient] * some) for some in (0, 1, 1 + count))
    assert (one - plain) * NS_PER_MS == pytest.approx(C.COMPILED_TRAINING + C.COMPILED_PARAMETER, rel=0.1)
    assert (more - one) * NS_PER_MS == pytest.approx(C.COMPILED_PARAMETER * count, rel=0.1)


def compile_ms(*beats: Beat) -> float:
    """Predicted for a few small kernels, with beats behind them."""
    found = advise(analysis(*[op("aten::mm", 2, host=400)] * 20, *beats)).forms["compile"].step_ms
    assert found is not None
    return found
