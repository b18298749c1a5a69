"""Constants are swapped for a while only, and what is judged was not fitted with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.validation import split
from tests.validation.measured import Measured
from tests.validation.split import Known, Outcome, errors, outcome, replaced, unseen
from tracelens.advice import constants
from tracelens.advice.results import Form


def forms(**step_ms: float) -> dict[str, Form]:
    return {name: Form(step_ms.get(name), None, None, "predicted") for name in ("eager", "compile", "replay", "both")}


def test_other_constants_hold_only_inside() -> None:
    before = constants.GUARDS
    with replaced({"GUARDS": 1.0}):
        assert constants.GUARDS == 1.0
    assert before == constants.GUARDS


def test_every_fitted_constant_exists() -> None:
    assert all(isinstance(getattr(constants, name), float) for name in split.FITTED)


def test_errors_and_verdicts_are_counted() -> None:
    step = Measured("step", Path(), {"eager": 2.0, "replay": 1.0})
    assert errors(forms(eager=2.0, compile=3.0, replay=2.0), step) == pytest.approx(
        {"eager": 0.0, "replay": 0.6931}, abs=1e-4
    )
    found = outcome([(_Told(step, forms(eager=2.0, replay=1.1)), forms(eager=2.0, replay=1.1))])
    assert (found.right, found.steps) == (1, 1)


def test_each_half_is_judged_by_constants_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [_Told(Measured(str(at), Path(), {"eager": 1.0}), forms(eager=1.0)) for at in range(4)]
    fitted_with: list[list[str]] = []

    def fitted(half: list[Known]) -> dict[str, float]:
        fitted_with.append([known.step.name for known in half])
        return {}

    monkeypatch.setattr(split, "fitted", fitted)
    found: Outcome = unseen(list(steps))
    assert fitted_with == [["1", "3"], ["0", "2"]]
    assert found.steps == 4


class _Told(Known):
    """A step whose forms are given."""

    def __init__(self, step: Measured, given: dict[str, Form]) -> None:
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "given", given)

    def forms(self) -> dict[str, Form]:
        return self.given  # type: ignore[attr-defined, no-any-return]
