"""Begin and end events become complete ones, lane by lane, and none vanishes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.loading.traces import columns_of, event, kinds, load_events
from tracelens.model.events import Category, Trace

BEGUN, ENDED = "events begun and not ended", "ends of events that did not begin"


def marks(text: str, folder: Path) -> Trace:
    """A trace of begin and end events: "B1a@5" begins `a` on lane 1 at 5 us."""
    events = []
    for word in text.split():
        mark, at = word.split("@")
        events.append({"ph": mark[0], "cat": "cpu_op", "name": mark[2:], "pid": 1, "tid": mark[1], "ts": int(at)})
    return load_events(events, folder)


def complete(trace: Trace) -> dict[str, tuple[int, int]]:
    """Start and duration in us of the complete events, by name."""
    columns = columns_of(trace)
    rows = zip(columns["name"], columns["phase"], columns["start"], columns["duration"], strict=True)
    return {name: (start // 1000, length // 1000) for name, phase, start, length in rows if phase == ord("X")}


def test_ends_close_the_last_begin_of_their_lane(tmp_path: Path) -> None:
    trace = marks("B1outer@0 B2other@1 B1inner@2 E1@4 E2@9 B1next@4 E1@5 E1outer@10", tmp_path)
    assert complete(trace) == {"outer": (0, 10), "inner": (2, 2), "next": (4, 1), "other": (1, 8)}
    assert len(trace.events) == 8
    assert trace.repairs == ()


def test_file_order_settles_equal_times_and_time_settles_the_rest(tmp_path: Path) -> None:
    assert complete(marks("B1a@5 E1@5 B1b@5 E1@7", tmp_path)) == {"a": (0, 0), "b": (0, 2)}
    assert complete(marks("E1@9 E1@6 B1in@5 B1out@1", tmp_path)) == {"out": (0, 8), "in": (4, 1)}


def test_what_has_no_partner_is_counted_and_kept(tmp_path: Path) -> None:
    trace = marks("E1x@2 B1a@2 E1@3 E1@4 B1b@5 B1c@6 E1@8 B2d@9", tmp_path)
    assert complete(trace) == {"a": (0, 1), "c": (4, 2)}
    assert kinds(trace) == {BEGUN: 2, ENDED: 2}
    assert len(trace.events) == 8
    columns = columns_of(trace)
    assert [columns["name"][row] for row in range(8) if columns["phase"][row] == ord("B")] == ["b", "d"]


def test_a_mark_without_a_time_has_no_partner(tmp_path: Path) -> None:
    begin, end = event("a", ph="B", ts=5), event("a", ph="E", ts="soon")
    assert kinds(load_events([begin, end], tmp_path)) == {BEGUN: 1, ENDED: 1}


def test_pairs_enclose_what_runs_on_their_lane(tmp_path: Path) -> None:
    trace = load_events([event("outer", 0, ph="B"), event("inner", 2, 3), event("outer", 9, ph="E")], tmp_path)
    assert trace.links.parent.tolist()[1] == 0


def test_an_end_that_repeats_its_begin_is_no_second_event(tmp_path: Path) -> None:
    call = event("cudaLaunchKernel", 5, cat="cuda_runtime", args={"correlation": 9})
    begun, ended = call | {"ph": "B"}, call | {"ph": "E", "ts": 8}
    trace = load_events([begun, ended, event("gemm", 20, cat="kernel", args={"correlation": 9})], tmp_path)
    assert trace.events.category.tolist() == [Category.RUNTIME, Category.OTHER, Category.KERNEL]
    assert trace.events.duration.tolist()[0] == 3000
    assert trace.links.launch.tolist()[2] == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=80)
@given(listed=st.lists(st.tuples(st.sampled_from("BBE"), st.sampled_from("12"), st.integers(0, 6)), min_size=1))
def test_pairs_are_those_of_a_stack(listed: list[tuple[str, str, int]], tmp_path: Path) -> None:
    trace = marks(" ".join(f"{phase}{lane}{row}@{at}" for row, (phase, lane, at) in enumerate(listed)), tmp_path)
    columns = columns_of(trace)
    pairs = dict(by_stack(listed))
    assert {row for row, phase in enumerate(columns["phase"]) if phase == ord("X")} == set(pairs)
    assert all(columns["duration"][begin] == 1000 * (listed[end][2] - listed[begin][2]) for begin, end in pairs.items())
    phases = [phase for phase, _, _ in listed]
    left = {BEGUN: phases.count("B") - len(pairs), ENDED: phases.count("E") - len(pairs)}
    assert kinds(trace) == {kind: count for kind, count in left.items() if count}


def by_stack(listed: list[tuple[str, str, int]]) -> Iterable[tuple[int, int]]:
    """Rows of each begin and its end, with a stack per lane."""
    stacks: dict[str, list[int]] = {"1": [], "2": []}
    for row in sorted(range(len(listed)), key=lambda row: listed[row][2]):
        phase, lane, _ = listed[row]
        if phase == "B":
            stacks[lane].append(row)
        elif stacks[lane]:
            yield stacks[lane].pop(), row
