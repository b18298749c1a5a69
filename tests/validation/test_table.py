"""The table counts what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.validation.measured import Measured, best_variants


def step(**step_ms: float) -> Measured:
    return Measured("step", Path(), best_variants(step_ms))


def test_the_faster_variant_stands_for_both() -> None:
    assert step(eager=3.0, both=2.0, both_manual=1.0).step_ms == {"eager": 3.0, "both": 1.0}
    assert step(eager=3.0).step_ms == {"eager": 3.0}


@pytest.mark.parametrize(
    ("times", "best"),
    [
        ({"eager": 3.0, "compile": 2.0, "replay": 1.5, "both": 1.0}, "both"),
        ({"eager": 3.0, "compile": 2.0, "replay": 1.02, "both": 1.0}, "replay"),
        ({"eager": 1.02, "compile": 1.0, "replay": 1.1, "both": 1.2}, "neither"),
        ({"eager": 2.0, "compile": 1.0, "both": 0.98}, "compile"),
    ],
)
def test_the_best_verdict_is_the_simplest_close_to_the_fastest(times: dict[str, float], best: str) -> None:
    assert step(**times).best() == best
    assert step(**times).is_right(best)


def test_a_verdict_that_is_slow_needless_or_cannot_run_is_wrong() -> None:
    assert not step(eager=2.0, compile=1.0, replay=1.5, both=1.2).is_right("both")
    assert not step(eager=1.01, compile=1.0, replay=1.0, both=1.0).is_right("both")
    assert not step(eager=2.0, compile=1.0).is_right("replay")
