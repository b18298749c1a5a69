"""The same for a function of this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import capture
from capture.job import Plan

PLAN = Plan(warmup=5, measure=7, active=1, profiler_warmup=1)
pytestmark = pytest.mark.filterwarnings("default")


def test_a_function_is_recorded_in_place(tmp_path: Path) -> None:
    calls: list[float] = []

    def step(x: torch.Tensor) -> torch.Tensor:
        calls.append(x[0].item())
        return x + 1

    pool = [(torch.full((3,), float(i)),) for i in range(3)]
    records = capture.run(step, pool, tmp_path / "run", ("eager", "replay"), PLAN)
    assert records["eager"].step_ms is not None
    assert calls[:4] == [0, 1, 2, 0]
    assert records["replay"].blockers[0]["id"] == ("sync" if torch.cuda.is_initialized() else "no_cuda")
    manifest = json.loads((tmp_path / "run/run.json").read_text())
    assert manifest["complete"]
    assert manifest["target"]["name"].endswith("step")
    assert (tmp_path / "run" / manifest["forms"]["eager"]["trace"]).exists()


def test_an_error_of_the_step_is_the_callers(tmp_path: Path) -> None:
    def step(x: int) -> int:
        raise ValueError("no such luck")

    with pytest.raises(ValueError, match="no such luck"):
        capture.run(step, [(1,)], tmp_path / "run", ("eager",), PLAN)
    assert not json.loads((tmp_path / "run/run.json").read_text())["complete"]
