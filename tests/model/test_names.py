"""Names that differ only in the number at their end are asked as one, and each row gets what holds for its own name."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.build import TraceBuilder
from tracelens.model.events import Category, Trace
from tracelens.model.names import alike, named, names_of, tell_alike

NAMES = st.lists(st.text("ab_7 0", min_size=1, max_size=5), min_size=1, max_size=12)
PATTERN = re.compile(r"^a$|b_|^[ab]+_?\d+$")


def trace_of(names: list[str]) -> tuple[Trace, np.ndarray]:
    builder = TraceBuilder()
    for number, name in enumerate(names):
        builder.annotation(name, 10 * number, 5)
    trace = builder.trace()
    return trace, np.flatnonzero(trace.events.category == Category.ANNOTATION)


@given(NAMES)
@settings(max_examples=60)
def test_a_pattern_is_found_in_the_same_rows_as_name_by_name(names: list[str]) -> None:
    trace, rows = trace_of(names)
    assert names_of(trace, rows).tolist() == names
    assert named(trace, rows, PATTERN).tolist() == [PATTERN.search(name) is not None for name in names]


def test_names_that_count_up_are_asked_once() -> None:
    names = [f"step {number}" for number in range(50)] + ["step", "step 1 of 2", "step "]
    trace, rows = trace_of(names)
    asked: list[str] = []
    told = tell_alike(trace, rows, lambda name: asked.append(name) or len(name) > 4, np.bool_)
    assert asked == ["step 0", "step", "step 1 of 2", "step "]
    assert told.tolist() == [len(name) > 4 for name in names]
    assert len(set(alike(trace)[trace.events.name[rows]].tolist())) == len(asked)
