"""Which tiles are counted as steps, and which step owns which work."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.repeated import loops, owned, steps_of, tiles_us
from tests.build import TraceBuilder
from tracelens.analysis.extent import device_ids
from tracelens.analysis.steps import find_steps
from tracelens.model.events import ABSENT

AUTOGRAD = 4001


def test_a_step_runs_from_its_first_device_event_to_the_next_steps() -> None:
    steps = find_steps(steps_of([100, 110, 90]).trace(), 0)
    assert (steps.window.kind, steps.window.name) == ("profiler_step", "ProfilerStep")
    assert tiles_us(steps) == [[20, 120], [120, 230]]
    assert (steps.host / 1000).tolist() == [[0, 100], [100, 210]]
    assert steps.window.length == 210_000
    assert steps.notes == ()


def test_work_belongs_to_the_step_that_launched_it_however_late_it_runs() -> None:
    trace = steps_of([100, 100, 100, 100], lag=150).trace()
    steps = find_steps(trace, 0)
    assert owned(trace, steps, "gemm") == [0, 1, 2, ABSENT]
    assert owned(trace, steps, "cudaLaunchKernel") == [0, 0, 1, 1, 2, 2, ABSENT, ABSENT]
    assert tiles_us(steps) == [[160, 260], [260, 360], [360, 460]]


def test_launches_of_any_thread_count() -> None:
    builder = steps_of([100, 100, 100])
    trace = (
        builder.launch("backward", 160, 5, at=250, runs=5, thread=AUTOGRAD).op("Mm", 150, 30, thread=AUTOGRAD).trace()
    )
    steps = find_steps(trace, 0)
    assert owned(trace, steps, "backward") == [1]
    assert owned(trace, steps, "Mm") == [1]


def test_every_step_owns_the_same_device_time_where_work_lags() -> None:
    trace = steps_of([100] * 6, lag=250).trace()
    steps = find_steps(trace, 0)
    work = trace.events.device_work() & (steps.owner != ABSENT)
    assert np.bincount(steps.owner[work], trace.events.duration[work]).tolist() == [20_000] * 5


def test_a_long_first_step_is_left_out_as_warm_up() -> None:
    steps = find_steps(steps_of([116, 100, 100, 100]).trace(), 0)
    assert tiles_us(steps) == [[136, 236], [236, 336]]
    assert steps.notes == ("first step left out as warm-up: 1.16 x the median of the others",)


@pytest.mark.parametrize("lengths", [[115, 100, 100, 100], [300, 100, 100]])
def test_a_like_first_step_or_one_of_two_is_kept(lengths: list[float]) -> None:
    assert len(find_steps(steps_of(lengths).trace(), 0).window.tiles) == len(lengths) - 1


def ahead(steps: int, copied: float, kernel: float, count: int = 10, first: bool = True) -> TraceBuilder:
    """Steps whose host takes 100 us to launch `count` kernels of some us, and a copy on a second stream that nothing
    waits for, as the step's first launch or as its last."""
    builder, free = TraceBuilder(), 0.0
    for step in range(steps):
        begun = 100 * step
        builder.copy(begun if first else begun + 95, 1, at=begun + (6 if first else 99), runs=copied, stream=20)
        for at in range(count):
            called = begun + 5 + 9 * at
            free = max(free, called + 4) + kernel
            builder.launch("gemm", called, 1, at=free - kernel, runs=kernel)
        builder.step(step, begun, 100)
    return builder


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("steps", "kernel", "count"), [(3, 15, 10), (8, 15, 10), (3, 11, 10), (2, 500, 10), (3, 900, 1)]
)
def test_a_copy_ahead_of_its_use_begins_no_step_of_a_device_that_falls_behind(
    steps: int, kernel: float, count: int, first: bool
) -> None:
    trace = ahead(steps, 60, kernel, count, first).trace()
    tiles = tiles_us(find_steps(trace, 0))
    assert len(tiles) == steps - 1
    assert all(end - begin == pytest.approx(kernel * count, rel=0.05) for begin, end in tiles)


def test_a_copy_ahead_of_its_use_begins_the_step_of_a_device_that_keeps_up() -> None:
    steps = find_steps(ahead(4, 60, 8).trace(), 0)
    assert tiles_us(steps) == [[6, 106], [106, 206], [206, 306]]


def test_copies_that_keep_their_lead_begin_the_steps() -> None:
    """Each is of the step after the next, and the device is done with none before."""
    builder = TraceBuilder()
    for step in range(5):
        builder.step(step, 100 * step, 100).copy(100 * step, 1, at=100 * step + 5, runs=20, stream=20)
        builder.launch("gemm", 100 * step + 10, 1, at=100 * step + 150, runs=95)
    assert tiles_us(find_steps(builder.trace(), 0)) == [[100 * step + 5, 100 * step + 105] for step in range(4)]


def test_a_single_step_runs_from_its_start_to_the_end_of_its_work() -> None:
    trace = TraceBuilder().step(7, 5, 60).launch("gemm", 20, 5, at=40, runs=50).op("aten::mm", 0, 1).trace()
    steps = find_steps(trace, 0)
    assert steps.window.kind == "single_step"
    assert tiles_us(steps) == [[5, 90]]
    assert owned(trace, steps, "gemm") == [0]
    assert owned(trace, steps, "aten::mm") == [ABSENT]


def test_a_single_step_outlasts_its_work() -> None:
    trace = TraceBuilder().step(7, 0, 200).launch("gemm", 20, 5, at=40, runs=50).trace()
    assert tiles_us(find_steps(trace, 0)) == [[0, 200]]


def test_a_step_without_device_work_is_left_out_and_said_so() -> None:
    builder = TraceBuilder().step(1, 0, 2).step(2, 2, 100).launch("gemm", 20, 5, at=40, runs=20)
    steps = find_steps(builder.trace(), 0)
    assert steps.window.kind == "single_step"
    assert tiles_us(steps) == [[2, 102]]
    assert steps.notes[0] == "1 step left out: no device work"


def test_a_step_of_absurd_duration_does_not_poison_the_window() -> None:
    trace = steps_of([100, 100, 100], TraceBuilder().recorded(400).step(99, 5, 13_300_000)).trace()
    steps = find_steps(trace, 0)
    assert tiles_us(steps) == [[20, 120], [120, 220]]
    assert steps.notes == ("1 x ProfilerStep left out: its duration is broken",)


def test_only_an_absurd_step_leaves_the_whole_trace() -> None:
    trace = TraceBuilder().recorded(400).step(1, 0, 13_300_000).launch("gemm", 0, 5, at=10, runs=10).trace()
    steps = find_steps(trace, 0)
    assert steps.window.kind == "whole"
    assert tiles_us(steps) == [[10, 20]]
    assert "1 x ProfilerStep left out: its duration is broken" in steps.notes


def test_steps_recorded_by_early_profilers_as_operators_count() -> None:
    builder = TraceBuilder()
    for number in range(3):
        builder.op(f"ProfilerStep#{number}", 100 * number, 100).launch("gemm", 100 * number + 10, runs=10)
    assert find_steps(builder.trace(), 0).window.kind == "profiler_step"


def test_steps_are_read_from_one_thread() -> None:
    builder = steps_of([100, 100, 100])
    for number in range(2):
        builder.step(number, 50 + 100 * number, 100, thread=AUTOGRAD)
    steps = find_steps(builder.trace(), 0)
    assert tiles_us(steps) == [[20, 120], [120, 220]]
    assert steps.notes == ("2 x ProfilerStep left out: on other threads",)


@pytest.mark.parametrize("name", ["ProfilerStep#{}", "step"])
@pytest.mark.parametrize("named", [False, True])
def test_steps_are_read_from_the_thread_that_launches_not_from_that_with_most(name: str, named: bool) -> None:
    builder = loops(name)
    for number in range(40):
        builder.annotation(name.format(number), 10 * number + 2, 8, thread=AUTOGRAD)
    steps = find_steps(builder.trace(), 0, name=name.removesuffix("#{}") if named else None)
    assert tiles_us(steps)[:2] == [[50, 150], [150, 250]]
    assert any(note.startswith("40 x ") and note.endswith("left out: on other threads") for note in steps.notes)


def test_the_thread_whose_steps_hold_the_launches_leads() -> None:
    """The other one launches more on the same stream, but within none of its own steps."""
    builder = steps_of([100, 100, 100])
    for number in range(5):
        builder.step(number, 20 * number, 1, thread=AUTOGRAD)
    for number in range(12):
        builder.launch("backward", 40 + 20 * number, 1, runs=1, thread=AUTOGRAD)
    assert len(find_steps(builder.trace(), 0).window.tiles) == 2


@pytest.mark.parametrize("name", ["ProfilerStep#9", "step"])
def test_one_step_around_all_others_is_none_of_them(name: str) -> None:
    builder = steps_of([100, 100, 100]) if name != "step" else loops("step")
    steps = find_steps(builder.annotation(name, 0, 395).recorded(400).trace(), 0)
    assert len(steps.window.tiles) == (2 if name != "step" else 3)
    assert any(note.endswith("left out: the others lie in it") for note in steps.notes)


def test_one_step_in_another_is_part_of_it() -> None:
    steps = find_steps(steps_of([100]).step(7, 10, 50).trace(), 0)
    assert (steps.window.kind, tiles_us(steps)) == ("single_step", [[0, 100]])


def test_steps_that_the_device_alone_repeats_count_where_the_host_has_none() -> None:
    builder = steps_of([100, 110, 90], lag=30)
    builder.events = [event for event in builder.events if event["cat"] != "user_annotation"]
    for number, at in enumerate((40, 140, 250)):
        builder.device_annotation(f"ProfilerStep#{number}", at, 30).device_annotation("forward", at, 5)
    steps = find_steps(builder.trace(), 0)
    assert (steps.window.kind, steps.window.name) == ("profiler_step", "ProfilerStep")
    assert tiles_us(steps) == [[40, 140], [140, 250]]
    assert (steps.host / 1000).tolist() == [[10, 110], [110, 220]]


def test_unlinked_work_at_the_head_belongs_to_no_step() -> None:
    trace = steps_of([100, 100, 100]).kernel("stray", 0, 15).trace()
    steps = find_steps(trace, 0)
    assert tiles_us(steps) == [[20, 120], [120, 220]]
    assert owned(trace, steps, "stray") == [ABSENT]


def test_tiles_are_disjoint_where_device_work_is_out_of_order() -> None:
    builder = TraceBuilder().step(0, 0, 100).step(1, 100, 100).step(2, 200, 100)
    builder.launch("late", 10, 5, at=150, runs=5).launch("early", 110, 5, at=120, runs=5, stream=9)
    steps = find_steps(builder.launch("last", 210, 5, at=220, runs=5).trace(), 0)
    assert tiles_us(steps) == [[150, 220]]
    assert steps.notes == ("1 step joined with the one before: device work out of order",)


def test_other_devices_do_not_matter() -> None:
    trace = steps_of([100, 100, 100]).launch("other", 1, 2, at=3, runs=290, device=1).trace()
    steps = find_steps(trace, 0)
    assert tiles_us(steps) == [[20, 120], [120, 220]]
    assert owned(trace, steps, "other") == [ABSENT]
    assert device_ids(trace) == [1, 0]


def test_the_period_of_the_launches_is_the_last_resort() -> None:
    builder = TraceBuilder()
    for number in range(5):
        for at, kernel in enumerate(("embed", "gemm", "gemm", "softmax")):
            builder.launch(kernel, 100 * number + 20 * at, 5, runs=10)
    trace = builder.trace()
    steps = find_steps(trace, 0)
    assert (steps.window.kind, steps.window.name) == ("period", "repeated unit of 4 launches")
    assert tiles_us(steps) == [[8, 108], [108, 208], [208, 308], [308, 408]]
    assert owned(trace, steps, "softmax") == [0, 1, 2, 3, ABSENT]
    assert steps.notes[0].endswith("a unit of 4 launches that repeats 5 times; it may be a layer")


def test_a_graph_launch_counts_as_one() -> None:
    builder = TraceBuilder()
    for start in (0, 100, 200, 300):
        builder.copy(start, 2, at=start + 3, runs=2)
        builder.launch_graph(start + 5, 5, [("layer", start + 12 + 10 * at, 8) for at in range(4)])
    steps = find_steps(builder.trace(), 0)
    assert steps.window.name == "repeated unit of 2 launches"
    assert tiles_us(steps) == [[3, 103], [103, 203], [203, 303]]


def test_nothing_that_repeats_is_one_window() -> None:
    builder = TraceBuilder()
    for number in range(8):
        builder.launch(f"kernel {number}", 20 * number, 5, runs=10)
    trace = builder.kernel("stray", 300, 10).trace()
    steps = find_steps(trace, 0)
    assert steps.window.kind == "whole"
    assert tiles_us(steps) == [[8, 310]]
    assert owned(trace, steps, "stray") == [0]
    assert owned(trace, steps, "cudaLaunchKernel") == [0] * 8


@pytest.mark.parametrize("builder", [TraceBuilder(), TraceBuilder().step(0, 0, 100).op("aten::mm", 0, 10)])
def test_no_device_work_gives_no_tiles(builder: TraceBuilder) -> None:
    trace = builder.trace()
    for steps in (find_steps(trace, 0), find_steps(trace, 0, span="all")):
        assert steps.window.tiles.shape == steps.host.shape == (0, 2)
        assert steps.owner.tolist() == [ABSENT] * len(trace.events)
    assert device_ids(trace) == []
