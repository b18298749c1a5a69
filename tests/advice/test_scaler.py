"""A step that a GradScaler scales keeps it, and its wait is told from others."""

from __future__ import annotations

import pytest

from tests.advice.story import Beat, Clock, analysis, item, op, pointwise
from tests.build import TraceBuilder
from tests.reference import reference_traces
from tracelens import report
from tracelens.advice import advise
from tracelens.advice.choice.snippet import Target, code
from tracelens.advice.results import Advice

CHECK = op("aten::_amp_foreach_non_finite_check_and_unscale_", 2)
UPDATE = op("aten::_amp_update_scale_", 2)
WORK = [op("aten::mm", 2, shapes=[[64, 64]] * 2, dtypes=["c10::Half"] * 2, host=30), *[pointwise(2, host=30)] * 3] * 20


def stepping(optimizer: str) -> Beat:
    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        trace.op("autograd::engine::evaluate_function: AddBackward0", clock.host, 5)
        trace.annotation(f"Optimizer.step#{optimizer}.step", clock.host + 6, 5)
        clock.host += 12

    return tell


def advice(*beats: Beat) -> Advice:
    return advise(analysis(*WORK, *beats, *WORK))


def repair_of_waits(found: Advice) -> str:
    return next(blocker.advice for blocker in found.recommendation.fix_first if blocker.id == "sync")


def test_the_scalers_wait_is_repaired_at_the_optimizer() -> None:
    found = advice(CHECK, item(), stepping("AdamW"), UPDATE)
    assert "GradScaler" in repair_of_waits(found)
    assert "fused=True" in repair_of_waits(found)
    assert "torch.where" not in repair_of_waits(found)
    for part in ("torch.autocast", "scaler.scale(loss).backward()", "scaler.step(optimizer)", "scaler.update()"):
        assert part in found.recommendation.snippet
    assert "fused=True, capturable=True" in found.recommendation.snippet


def test_a_loss_that_is_read_as_well_keeps_its_own_repair() -> None:
    advised = repair_of_waits(advice(CHECK, item(), stepping("AdamW"), UPDATE, item()))
    assert "GradScaler" in advised
    assert "torch.where" in advised


@pytest.mark.parametrize(
    "beats",
    [
        (item(), CHECK, stepping("SGD"), UPDATE),
        (CHECK, stepping("SGD"), UPDATE, item()),
        (CHECK, item(), op("aten::_fused_sgd_", 2), stepping("SGD"), UPDATE),
        (item(), stepping("SGD")),
    ],
    ids=["before", "after", "fused", "no-scaler"],
)
def test_other_waits_are_not_the_scalers(beats: tuple[Beat, ...]) -> None:
    assert "GradScaler" not in repair_of_waits(advice(*beats))


@pytest.mark.parametrize("verdict", ["replay", "both"])
def test_an_optimizer_without_fused_steps_outside_the_capture(verdict: str) -> None:
    text = code(verdict, "manual", Target(training=True, optimizer="RMSprop", scaled=True))
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert not any("scaler.step" in line for line in lines)
    assert "scaler.step(optimizer) and scaler.update() after each" in text


def test_real_steps_keep_their_scaler() -> None:
    scaled = [path for path in reference_traces("h200") if "gradscaler" in path.name and ".eager." in path.name]
    for path in scaled or pytest.skip("no such trace"):
        recommended = report(path).document["recommendation"]
        assert "scaler.step(optimizer)" in recommended["snippet"]
        assert any("GradScaler" in first["advice"] for first in recommended["fix_first"])
