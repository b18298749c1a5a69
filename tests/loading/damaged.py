"""A damaged event between two sound ones."""

from __future__ import annotations

from tests.loading.traces import event

BEFORE, AFTER = event("before", ts=100), event("after", ts=300)
NOT_JSON = "values that are not JSON (NaN, inf, N/A)"
READ = "damaged event read as far as it goes"
NAMED = '"name": "x", "args": '
EVENTS = [
    event(
        f'op {n} "quoted" {{',
        ts=n * 100,
        args={"External id": n, "Input Dims": [[n, 2]], "Concrete Inputs": ["a]", "{"]},
    )
    for n in range(8)
]
"""Sound ones whose texts hold quotes and brackets."""


def damaged(rest: str) -> str:
    """Text of an event that ends in `rest`."""
    return '{"ph": "X", "cat": "cpu_op", "pid": 7, "tid": 8, "ts": 200, "dur": 5, ' + rest + "}"
