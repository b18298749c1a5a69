"""Each cause of lost time, alone in a small trace, lands in its part and nowhere else.

Most traces are two kernels with a gap from 20 to 105 us between them: `first` runs 10..20, and the launch of
`second` is called at 100, returns at 105 and starts at once.
"""

from __future__ import annotations

import pytest

from tests.analysis.accounts import parts_us
from tests.build import TraceBuilder

AUTOGRAD = 4001


def gap(vendor: str = "cuda") -> TraceBuilder:
    return TraceBuilder(vendor).launch("first", 0, 5, at=10, runs=10).launch("second", 100, 5, at=105, runs=10)


def filled(part: str, us: float = 80, **more: float) -> dict[str, float]:
    """Parts of a gap whose host time is `us` of one part."""
    rest = {name.replace("__", "."): time for name, time in more.items() if time}
    return {"kernel.compute": 20, part: us, "launch.api": 5, **rest}


# -- busy -------------------------------------------------------------------------------------------------------


def test_one_kernel_is_compute() -> None:
    assert parts_us(TraceBuilder().launch("gemm", 0, runs=50)) == {"kernel.compute": 50}


def test_a_collective_alone_is_communication() -> None:
    assert parts_us(TraceBuilder().launch("ncclDevKernel_AllReduce_Sum", 0, runs=50)) == {"kernel.communication": 50}


def test_copies_and_memsets_are_copy() -> None:
    builder = TraceBuilder().copy(0, 2, at=10, runs=20).memset(3, 2, at=30, runs=5)
    assert parts_us(builder) == {"kernel.copy": 25}


def test_compute_hides_communication_and_both_hide_copies() -> None:
    builder = (
        TraceBuilder()
        .launch("gemm", 0, 1, at=10, runs=10)
        .launch("ncclDevKernel_AllGather", 2, 1, at=15, runs=10, stream=20)
        .copy(4, 1, at=22, runs=8, stream=21)
        .launch("gemm", 6, 1, at=12, runs=4, stream=22)
    )
    assert parts_us(builder) == {"kernel.compute": 10, "kernel.communication": 5, "kernel.copy": 5}


# -- dispatch ---------------------------------------------------------------------------------------------------


def test_no_operator_at_all_is_python() -> None:
    assert parts_us(gap()) == filled("dispatch.python")


def test_python_frames_are_python() -> None:
    assert parts_us(gap().python("model.py(41): forward", 0, 110)) == filled("dispatch.python")


@pytest.mark.parametrize("name", ["aten::layer_norm", "autograd::engine::evaluate_function: MmBackward0"])
def test_an_operator_is_framework(name: str) -> None:
    assert parts_us(gap().op(name, 15, 95)) == filled("dispatch.framework")


def test_the_optimizer_is_framework() -> None:
    assert parts_us(gap().annotation("Optimizer.step#Adam.step", 15, 95)) == filled("dispatch.framework")


@pytest.mark.parametrize("name", ["ProfilerStep#3", "forward", "## my block ##"])
def test_steps_and_free_annotations_explain_nothing(name: str) -> None:
    assert parts_us(gap().annotation(name, 0, 110)) == filled("dispatch.python")


def test_a_step_recorded_as_an_operator_explains_nothing() -> None:
    assert parts_us(gap().op("ProfilerStep#3", 0, 110)) == filled("dispatch.python")


@pytest.mark.parametrize(
    "name",
    [
        "TorchDynamo Cache Lookup",
        "Torch-Compiled Region: 0/0",
        "## Call CompiledFxGraph fabc ##",
        "Pregraph bytecode",
        "AOTDispatcher Runtime Wrapper Prologue",
        "CompiledFunctionBackward",
        "_compile.compile_inner (dynamo_timed)",
    ],
)
def test_guards_and_wrappers_are_compiler(name: str) -> None:
    assert parts_us(gap().annotation(name, 15, 95)) == filled("dispatch.compiler")


def test_the_wrapper_of_a_generated_kernel_is_compiler() -> None:
    assert parts_us(gap().op("triton_poi_fused_add_0", 15, 95)) == filled("dispatch.compiler")


@pytest.mark.parametrize(
    "name", ["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "## load_batch ##", "get_batch"]
)
def test_loading_data_is_input(name: str) -> None:
    assert parts_us(gap().annotation(name, 15, 95)) == filled("dispatch.input")


def test_operators_inside_the_data_loader_are_input() -> None:
    """Such as those that collate a batch; behind its end they are the step's own."""
    loader = gap().annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 15, 55)
    collated = loader.op("aten::stack", 20, 40).op("aten::select", 25, 10)
    assert parts_us(collated) == parts_us(gap().annotation("load_batch", 15, 55))
    assert parts_us(collated.op("aten::mm", 71, 20))["dispatch.framework"] > 0


@pytest.mark.parametrize("vendor", ["cuda", "hip"])
def test_allocating_and_freeing_is_allocator(vendor: str) -> None:
    assert parts_us(gap(vendor).malloc(15, 45).free(60, 40)) == filled("dispatch.allocator")


def test_a_call_inside_an_operator_wins_over_it() -> None:
    builder = gap().op("aten::empty", 15, 95).malloc(30, 40)
    assert parts_us(builder) == filled("dispatch.allocator", 40, dispatch__framework=40)


def test_the_innermost_of_nested_events_counts() -> None:
    builder = gap().annotation("Torch-Compiled Region: 0/0", 15, 95).op("aten::mm", 40, 20)
    assert parts_us(builder) == filled("dispatch.compiler", 60, dispatch__framework=20)


# -- launch -----------------------------------------------------------------------------------------------------


def test_the_launch_call_itself_is_api() -> None:
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10).launch("second", 15, 30, at=45, runs=10)
    assert parts_us(builder) == {"kernel.compute": 20, "launch.api": 25}


def test_a_kernel_may_start_before_its_launch_returns() -> None:
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10).launch("second", 30, 50, at=40, runs=10)
    assert parts_us(builder) == {"kernel.compute": 20, "dispatch.python": 10, "launch.api": 10}


def test_other_launch_calls_in_the_gap_are_api() -> None:
    builder = gap().launch("on another stream", 40, 6, at=115, runs=1, stream=9)
    assert parts_us(builder) == filled("dispatch.python", 74) | {"launch.api": 11, "kernel.compute": 21}


def test_up_to_100_us_from_call_to_start_is_latency() -> None:
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10).launch("second", 20, 5, at=45, runs=10)
    assert parts_us(builder) == {"kernel.compute": 20, "launch.api": 5, "launch.latency": 20}


def test_of_several_streams_the_earliest_launch_ends_the_gap() -> None:
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10)
    builder.launch("late", 60, 5, at=80, runs=10, stream=9).launch("early", 20, 5, at=80, runs=10)
    assert parts_us(builder) == {"kernel.compute": 20, "launch.api": 5, "launch.latency": 55}


def test_a_graph_launch_and_its_way_to_the_device_are_graph() -> None:
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10).launch_graph(50, 20, [("node", 80, 10)])
    assert parts_us(builder) == {"kernel.compute": 20, "dispatch.python": 30, "launch.graph": 30}


def test_a_long_first_launch_of_a_kernel_is_loading() -> None:
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10).launch("second", 100, 2000, at=2100, runs=10)
    assert parts_us(builder) == {"kernel.compute": 20, "dispatch.python": 80, "launch.loading": 2000}


def test_a_long_launch_of_a_known_kernel_is_api() -> None:
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10).launch("first", 100, 2000, at=2100, runs=10)
    assert parts_us(builder) == {"kernel.compute": 20, "dispatch.python": 80, "launch.api": 2000}


def test_loading_a_module_is_loading() -> None:
    assert parts_us(gap().load_module(20, 80)) == filled("launch.loading")


# -- sync -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["device", "stream", "event"])
@pytest.mark.parametrize("vendor", ["cuda", "hip", "xpu"])
def test_a_wait_on_an_idle_device_is_wait(vendor: str, kind: str) -> None:
    assert parts_us(gap(vendor).sync(20, 80, kind)) == filled("sync.wait")


def test_a_copy_that_returns_after_its_end_is_a_wait() -> None:
    builder = gap().copy(12, 88, at=22, runs=10, kind="DtoH (Device -> Pageable)")
    assert parts_us(builder)["sync.wait"] == 100 - 32


def test_a_copy_that_returns_early_is_none() -> None:
    builder = gap().copy(12, 8, at=22, runs=10)
    assert "sync.wait" not in parts_us(builder)


def test_a_wait_wins_over_the_operator_around_it() -> None:
    assert parts_us(gap().op("aten::item", 15, 85).sync(20, 80, "stream")) == filled("sync.wait")


def test_what_a_drained_queue_left_to_do_is_refill() -> None:
    """The wait overlaps 8 us of a busy device, so 8 us of the dispatch after it would have been hidden."""
    assert parts_us(gap().sync(12, 18)) == filled("dispatch.python", 62, sync__wait=10, sync__refill=8)


def test_launches_use_up_credit_but_stay_launches() -> None:
    builder = gap().sync(12, 18).call("cudaLaunchKernel", 32, 4)
    expected = filled("dispatch.python", 62, sync__wait=10, sync__refill=4)
    assert parts_us(builder) == expected | {"launch.api": 9}


@pytest.mark.parametrize("name", ["DataLoader.__next__", "Torch-Compiled Region: 0/0"])
def test_input_and_compiler_are_never_refill(name: str) -> None:
    assert "sync.refill" not in parts_us(gap().sync(12, 18).annotation(name, 30, 70))


def test_credit_is_carried_to_later_gaps() -> None:
    """Credit 19: 9 until the launch at 30, 1 for that call, then 4 until 100 and 5 for that call."""
    builder = gap().launch("third", 130, 5, at=135, runs=5).kernel("busy", 0.5, 9.5).sync(1, 20, "stream")
    builder.launch("fourth", 30, 1, at=31, runs=65)
    assert parts_us(builder)["sync.refill"] == 13


def test_a_later_wait_replaces_the_credit() -> None:
    builder = gap().sync(12, 18).sync(34, 6)
    assert parts_us(builder) == filled("dispatch.python", 60, sync__wait=16, sync__refill=4)


# -- device -----------------------------------------------------------------------------------------------------


def test_a_short_gap_before_launched_work_is_spacing() -> None:
    builder = TraceBuilder().launch("first", 0, 2, at=10, runs=10).launch("second", 3, 2, at=40, runs=10)
    assert parts_us(builder) == {"kernel.compute": 20, "device.spacing": 20}


def test_a_long_gap_before_launched_work_is_a_dependency() -> None:
    builder = TraceBuilder().launch("first", 0, 2, at=10, runs=10).launch("second", 3, 2, at=40.001, runs=10)
    assert parts_us(builder) == {"kernel.compute": 20, "device.dependency": 20.001}


def test_between_nodes_of_one_graph_launch_is_in_graph() -> None:
    builder = TraceBuilder().launch_graph(0, 60, [("a", 10, 10), ("b", 50, 10)])
    assert parts_us(builder) == {"kernel.compute": 20, "device.in_graph": 30}


def test_between_nodes_of_an_unrecorded_graph_launch_is_in_graph() -> None:
    builder = TraceBuilder().kernel("a", 10, 10, correlation=7).kernel("b", 50, 10, correlation=7)
    assert parts_us(builder) == {"kernel.compute": 20, "device.in_graph": 30}


def test_work_launched_just_before_the_gap_is_still_on_its_way() -> None:
    """Five launches on an idle device take 4 us each; one that returned 1 us before the gap is spared 3 of it."""
    builder = TraceBuilder()
    for number in range(6):
        builder.launch("kernel", 100 * number, 6, at=100 * number + 10, runs=10)
    builder.launch("close", 512, 7, at=530, runs=10)
    parts = parts_us(builder)
    assert parts["launch.latency"] == 5 * 4 + 3
    assert parts["device.spacing"] == 7


# -- unknown ----------------------------------------------------------------------------------------------------


def test_a_gap_before_unlinked_work_is_unlinked() -> None:
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10).kernel("stray", 50, 10)
    assert parts_us(builder) == {"kernel.compute": 20, "unknown.unlinked": 30}


def test_beyond_100_us_from_call_to_start_is_stalled() -> None:
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10).launch("second", 20, 5, at=175, runs=10)
    expected = {"kernel.compute": 20, "launch.api": 5, "launch.latency": 100, "unknown.stalled": 50}
    assert parts_us(builder) == expected


def test_a_stall_under_an_allocation_of_any_thread_is_allocator() -> None:
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10).launch("second", 20, 5, at=175, runs=10)
    parts = parts_us(builder.free(130, 30, thread=AUTOGRAD))
    assert parts["dispatch.allocator"] == 30
    assert parts["unknown.stalled"] == 20


def test_a_wait_for_the_stalled_device_does_not_explain_the_stall() -> None:
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10).launch("second", 20, 5, at=175, runs=10)
    assert parts_us(builder.sync(26, 150))["unknown.stalled"] == 50


def test_the_profilers_own_work_is_profiler() -> None:
    assert parts_us(gap().overhead(20, 80)) == filled("unknown.profiler")


def test_the_profilers_own_work_beside_a_host_that_goes_on_costs_nothing() -> None:
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10).overhead(15, 80)
    builder.launch("second", 20, 5, at=30, runs=10).launch("third", 50, 5, at=60, runs=10)
    assert "unknown.profiler" not in parts_us(builder)


def test_the_profilers_own_work_does_not_cut_waits() -> None:
    assert parts_us(gap().sync(20, 80).overhead(30, 20)) == filled("sync.wait")


def test_launch_calls_after_the_last_event_are_outside() -> None:
    builder = TraceBuilder().launch("only", 0, 5, at=10, runs=10).call("cudaLaunchKernel", 30, 10)
    assert parts_us(builder, (10, 50)) == {"kernel.compute": 10, "unknown.outside": 20, "dispatch.python": 10}


def test_time_that_was_not_recorded_is_outside() -> None:
    assert parts_us(gap(), (1000, 1500)) == {"unknown.outside": 500}


# -- threads ----------------------------------------------------------------------------------------------------


def test_another_launching_thread_explains_what_the_own_does_not() -> None:
    """The backward's thread launches at 100; until 70 the main thread was busy with the forward."""
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10).op("aten::forward", 15, 55)
    builder.launch("second", 100, 5, at=105, runs=10, thread=AUTOGRAD).op("MmBackward", 70, 40, thread=AUTOGRAD)
    assert parts_us(builder) == filled("dispatch.framework")


def test_waits_of_another_launching_thread_count() -> None:
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10).sync(20, 80)
    builder.launch("second", 100, 5, at=105, runs=10, thread=AUTOGRAD)
    assert parts_us(builder) == filled("sync.wait")


def test_a_wait_of_a_thread_that_launches_nothing_leaves_no_refill() -> None:
    assert parts_us(gap().sync(12, 18, thread=AUTOGRAD)) == filled("dispatch.python")


def test_a_thread_that_launches_nothing_explains_nothing() -> None:
    assert parts_us(gap().op("aten::stack", 10, 95, thread=AUTOGRAD)) == filled("dispatch.python")


# -- devices ----------------------------------------------------------------------------------------------------


def test_each_of_three_devices_has_its_own_account() -> None:
    builder = TraceBuilder().op("aten::mm", 0, 300)
    for device in range(3):
        builder.launch("gemm", 100 * device, 5, at=100 * device + 5, runs=10, device=device, stream=7)
        builder.launch("gemm", 100 * device + 50, 5, at=100 * device + 55, runs=10 * (device + 1), device=device)
    for device in range(3):
        expected = {"kernel.compute": 10 * (device + 2), "dispatch.framework": 35, "launch.api": 5}
        assert parts_us(builder, device=device) == expected


def test_an_idle_device_has_no_account() -> None:
    assert parts_us(gap(), device=5) == {}
    assert parts_us(TraceBuilder()) == {}
    assert parts_us(TraceBuilder(), (0, 100)) == {"unknown.outside": 100}
