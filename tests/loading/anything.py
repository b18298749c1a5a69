"""Events of any kind and content, and the layouts that JSON writers give them."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tracelens.loading.fields import ARGUMENTS

NAMES = st.sampled_from(
    ["aten::mm", "kérnel<{lambda()#1}>", 'say "hi"', "a\\b", "", "[memory]", "process_name"]
) | st.text(max_size=30)
IDS = st.integers(-5, 2**31 - 1) | st.sampled_from([0, -1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 10**25])
TIMES = (
    st.integers(0, 2 * 10**15)
    | st.decimals(0, 10**13, places=3).map(float)
    | st.floats(0, 1e9)
    | st.sampled_from(["12.5", -3, None])
)
ARGUMENT_VALUES = (
    IDS
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.lists(st.lists(st.integers(0, 99), max_size=3), max_size=3)
    | st.none()
    | st.booleans()
    | st.dictionaries(st.text(max_size=4), st.integers(), max_size=2)
)
ARGS = st.dictionaries(st.sampled_from([*ARGUMENTS, "name", "ts", "other"]), ARGUMENT_VALUES, max_size=6)
EVENTS = st.fixed_dictionaries(
    {"ph": st.sampled_from("XXXXXisfMCBE") | st.sampled_from(["", "é", "XX"]), "name": NAMES},
    optional={
        "cat": st.sampled_from(["cpu_op", "kernel", "Kernel", "cuda_runtime", "ac2g", "new", ""]),
        "pid": IDS | st.sampled_from(["Spans", "7", "", None]),
        "tid": IDS | st.sampled_from(["stream 7", "x", 1.5]),
        "ts": TIMES,
        "dur": TIMES,
        "id": IDS | st.text(max_size=3),
        "args": ARGS | st.none() | st.just([1]),
        "extra": ARGUMENT_VALUES,
    },
)
LAYOUTS = st.sampled_from([{}, {"indent": 2}, {"separators": (",", ":")}, {"sort_keys": True}, {"ensure_ascii": False}])
QUIET = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
"""Of properties that use a folder for all their examples."""
