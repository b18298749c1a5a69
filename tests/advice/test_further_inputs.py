"""Inputs that others than the step's first operator read."""

from __future__ import annotations

import pytest

from tests.advice.story import H200, Beat, Given, analysis, op
from tests.build import TraceBuilder
from tracelens.advice import constants as C
from tracelens.advice.forms.inputs import input_copies
from tracelens.advice.step.region import find_region

SMALL, LARGE = [64, 1], [64, 1 << 18]
RATE = 4_000.0
FIRST = op("aten::exp", 5, shapes=[SMALL], dtypes=["float"])
SCALED = op("aten::mul", 200, shapes=[LARGE, SMALL], dtypes=["float", "float"])


def copies(*beats: Beat, **options: Given) -> float:
    """Device time of copying the step's inputs, in ns."""
    region = find_region(analysis(*beats, **options))
    assert region is not None
    return input_copies(region, RATE).mid


def part(of: list[int]) -> Beat:
    """A view of a part as large as LARGE."""
    return lambda trace, clock, step: _viewed(trace, clock.host, of)


def _viewed(trace: TraceBuilder, at: float, of: list[int]) -> None:
    trace.op("aten::as_strided", at - 0.5, 0.2, shapes=[of, [], [], []], concrete=["", str(LARGE), "[1, 1]", ""])


def test_a_tensor_that_nothing_before_could_have_made_is_an_input() -> None:
    read = 2 * 4 * (1 << 24) / RATE
    assert copies(FIRST, SCALED) - copies(FIRST) == pytest.approx(read + C.INPUT_COPY)
    assert copies(FIRST, SCALED, SCALED) == copies(FIRST, SCALED)


@pytest.mark.parametrize("name", ["aten::mm", "aten::cat", "aten::upsample_nearest2d"])
def test_behind_what_gives_a_tensor_of_another_size_nothing_is_told(name: str) -> None:
    other = op(name, 5, shapes=[SMALL, SMALL], dtypes=["float", "float"])
    assert copies(FIRST, other, SCALED) == copies(FIRST)


def test_a_part_of_a_tensor_was_made_with_it() -> None:
    assert copies(FIRST, part([2, *LARGE]), SCALED) == copies(FIRST)
    assert copies(FIRST, part(LARGE), SCALED) > copies(FIRST)


def test_what_two_tensors_give_together_is_made() -> None:
    outer = op("aten::add", 200, shapes=[SMALL, [1, 1 << 18]], dtypes=["float", "float"])
    assert copies(FIRST, outer, SCALED) == copies(FIRST)


def test_an_index_sequence_is_no_input_and_hides_none_behind_it() -> None:
    sequence = op("aten::arange", 2, shapes=[[], []], dtypes=["Scalar", ""])
    assert copies(FIRST, sequence, SCALED) == copies(FIRST)
    shifted = op("aten::sub", 2, shapes=[[1 << 18], []], dtypes=["long int", "Scalar"])
    assert copies(FIRST, sequence, shifted, SCALED) == copies(FIRST, SCALED)


@pytest.mark.parametrize(("memory", "most"), [({"totalGlobalMem": 16 << 30}, 16 << 30), ({}, C.LARGEST_MEMORY)])
def test_inputs_and_their_copies_fit_into_the_devices_memory(memory: dict[str, int], most: int) -> None:
    expanded = op("aten::exp", 5, shapes=[[1 << 20, 1 << 20]], dtypes=["float"])
    device = [{"id": 0, **H200, **memory}]
    assert copies(expanded, deviceProperties=device) == pytest.approx(C.INPUT_COPY + most / RATE)
    assert copies(FIRST, deviceProperties=device) == copies(FIRST)
