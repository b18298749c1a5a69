"""Which annotations mark steps, found or named."""

from __future__ import annotations

import pytest

from tests.analysis.repeated import loops, owned, steps_of, tiles_us
from tests.build import TraceBuilder
from tracelens.analysis.steps import find_steps
from tracelens.errors import UsageError
from tracelens.model.events import ABSENT


@pytest.mark.parametrize(
    "name",
    [
        "Optimizer.zero_grad#Adam.zero_grad",
        "Optimizer.step#Adam.step",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "train step",
        "iteration {}",
    ],
)
def test_a_repeating_annotation_marks_steps(name: str) -> None:
    steps = find_steps(loops(name).trace(), 0)
    assert steps.window.kind == "annotation"
    assert tiles_us(steps) == [[50, 150], [150, 250], [250, 350]]


def test_two_occurrences_are_not_enough() -> None:
    assert find_steps(loops("train step", count=2).trace(), 0).window.kind == "whole"


def test_annotations_before_the_only_work_mark_no_step() -> None:
    builder = TraceBuilder()
    for number in range(3):
        builder.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 10 * number, 5)
    assert find_steps(builder.launch("gemm", 50).trace(), 0).window.kind == "whole"


def test_zero_grad_comes_before_step() -> None:
    builder = loops("Optimizer.step#Adam.step")
    for number in range(4):
        builder.annotation("Optimizer.zero_grad#Adam.zero_grad", 100 * number + 25, 2)
    assert find_steps(builder.trace(), 0).window.name == "Optimizer.zero_grad#Adam.zero_grad"


def test_an_annotation_of_each_layer_marks_no_step() -> None:
    """Three layers a step, then an optimizer of its own: the layers do not lead the same work each time."""
    builder = TraceBuilder()
    for number in range(4):
        for layer in range(3):
            start = 400 * number + 100 * layer
            builder.annotation("layer", start, 90).launch(f"layer {layer}", start + 10, at=start + 20, runs=10)
        for kernel in range(9):
            builder.launch(f"adam {kernel}", 400 * number + 300 + 8 * kernel, 2, runs=3)
    assert find_steps(builder.trace(), 0).window.kind == "period"


def test_annotations_of_collectives_and_compilers_mark_no_step() -> None:
    for name in ("nccl:all_reduce", "## Call CompiledFxGraph f ##", "Torch-Compiled Region: 0/0"):
        assert find_steps(loops(name).trace(), 0).window.kind == "period"


def test_a_named_annotation_is_taken() -> None:
    trace = loops("forward", builder=steps_of([])).trace()
    steps = find_steps(trace, 0, name="forward")
    assert (steps.window.kind, steps.window.name) == ("annotation", "forward")
    assert len(steps.window.tiles) == 3


def test_a_name_without_its_number_takes_all() -> None:
    trace = steps_of([100, 100, 100]).trace()
    assert tiles_us(find_steps(trace, 0, name="ProfilerStep")) == [[20, 120], [120, 220]]


def test_a_name_with_its_number_takes_one() -> None:
    trace = steps_of([100, 110, 90]).trace()
    steps = find_steps(trace, 0, name="ProfilerStep#1")
    assert (steps.window.kind, steps.window.name) == ("profiler_step", "ProfilerStep#1")
    assert tiles_us(steps) == [[120, 230]]
    assert owned(trace, steps, "gemm") == [ABSENT, 0, ABSENT]
    last = find_steps(trace, 0, name="ProfilerStep#2")
    assert last.window.kind == "single_step"
    assert tiles_us(last) == [[210, 300]]


@pytest.mark.parametrize("name", ["ProfilerStep", "ProfilerStep#"])
def test_the_profilers_steps_are_the_same_whether_named_or_found(name: str) -> None:
    trace = steps_of([100, 110, 90]).trace()
    named, found = find_steps(trace, 0, name=name), find_steps(trace, 0)
    assert (named.window.kind, named.window.name) == (found.window.kind, found.window.name)
    assert tiles_us(named) == tiles_us(found)


def test_a_numbered_step_without_work_is_not_replaced_by_the_next() -> None:
    trace = steps_of([100], TraceBuilder().step(7, 150, 10).step(8, 160, 90).launch("gemm", 170, 5, runs=10)).trace()
    with pytest.raises(UsageError, match="'ProfilerStep#7' launched no device work"):
        find_steps(trace, 0, name="ProfilerStep#7")


def test_a_step_that_is_not_there_is_told_which_are() -> None:
    """Early profilers recorded their steps as operators."""
    builder = TraceBuilder()
    for number in (5, 6, 7):
        builder.op(f"ProfilerStep#{number}", 100 * number, 90).launch("gemm", 100 * number + 10, 5, runs=10)
    trace = builder.trace()
    with pytest.raises(UsageError, match=r"the trace has ProfilerStep#5 to ProfilerStep#7$"):
        find_steps(trace, 0, name="ProfilerStep#2")
    with pytest.raises(UsageError, match=r"'nope': the trace has ProfilerStep$"):
        find_steps(trace, 0, name="nope")


def test_an_unknown_name_is_an_error_that_names_what_there_is() -> None:
    trace = loops("forward").trace()
    with pytest.raises(UsageError, match=r"'forwad', did you mean 'forward'.*the trace has forward") as error:
        find_steps(trace, 0, name="forwad")
    assert "\n" not in str(error.value)
    with pytest.raises(UsageError, match="the trace has none"):
        find_steps(TraceBuilder().launch("gemm", 0).trace(), 0, name="forward")


def test_a_name_without_device_work_is_an_error() -> None:
    trace = TraceBuilder().launch("gemm", 0, 5).annotation("evaluate", 50, 10).trace()
    with pytest.raises(UsageError, match="'evaluate' launched no device work"):
        find_steps(trace, 0, name="evaluate")
