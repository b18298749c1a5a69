"""Blockers in traces built to have exactly one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.advice.cases.beats import inside, loader, on_host, pause
from tests.advice.story import Beat, Clock, analysis, at_step, call, gemm, item, op, pointwise, told, upload
from tests.build import TraceBuilder
from tracelens.advice import advise
from tracelens.advice.blockers.blockers import VETOES, Observation, find_blockers
from tracelens.advice.blockers.pieces import find_pieces
from tracelens.advice.device.facts import find_facts
from tracelens.advice.forms.forms import predict_forms
from tracelens.advice.results import Advice
from tracelens.advice.step.region import Region, find_region
from tracelens.analysis import analyze
from tracelens.analysis.results import Analysis

BODY = [pointwise()] * 10


def observed(analysis: Analysis) -> tuple[Region, tuple[Observation, ...]]:
    """The step of an analysis, and its blockers."""
    region = find_region(analysis)
    assert region is not None
    return region, find_blockers(analysis, region)


def by_id(analysis: Analysis) -> dict[str, Observation]:
    return {seen.blocker.id: seen for seen in observed(analysis)[1]}


def blockers(*beats: Beat) -> dict[str, Observation]:
    return by_id(analysis(*beats))


def test_a_plain_step_has_none() -> None:
    assert blockers(*BODY) == {}


def test_a_value_read_in_every_step_is_proof_with_its_count_operator_and_repair() -> None:
    found = blockers(*BODY, item(), *BODY, item(), *BODY)
    assert found.keys() == {"sync"}
    sync = found["sync"]
    assert sync.vetoes
    assert sync.blocker.per_step == 2
    assert sync.blocker.where == "aten::_local_scalar_dense"
    assert "torch.where" in sync.blocker.advice
    assert all(handle.startswith("s-") for handle in sync.blocker.evidence)


def test_waits_of_several_kinds_are_each_to_repair() -> None:
    copy = inside("aten::copy_", upload("HtoD (Pinned -> Device)"), call("cudaStreamSynchronize", 20))
    bare = call("cudaDeviceSynchronize", 50)
    sync = blockers(*BODY, item(), *BODY, item(), *BODY, copy, *BODY, bare, *BODY)["sync"]
    assert sync.blocker.per_step == 4
    assert [other.where for other in sync.repairs] == ["aten::_local_scalar_dense", "aten::copy_", None]
    assert [other.per_step for other in sync.others] == [1, 1]
    assert len({other.advice for other in sync.repairs}) == 3
    assert all(other.evidence and other.id == "sync" for other in sync.others)


def test_all_kinds_of_waits_are_repaired_before_the_form_that_needs_it() -> None:
    copy = inside("aten::copy_", upload("HtoD (Pinned -> Device)"), call("cudaStreamSynchronize", 20))
    advised = advise(analysis(*BODY, item(), *BODY, item(), *BODY, copy, *BODY)).recommendation
    assert advised.after_fix is not None
    assert [fix.where for fix in advised.fix_first if fix.id == "sync"] == ["aten::_local_scalar_dense", "aten::copy_"]


def test_one_stray_wait_is_evidence_and_vetoes_nothing() -> None:
    found = blockers(*BODY, item(only=2), *BODY)
    assert found["sync"].proven is False
    assert found["sync"].vetoes is False
    assert found["sync"].blocker.message.startswith("1 wait for the device in 1 of 3 steps")


@pytest.mark.parametrize("record", ["cudaLaunchKernel", "void at::native::vectorized_elementwise_kernel<4, add>"])
def test_lost_records_are_no_evidence_of_steps_that_change(record: str) -> None:
    builder = told(*BODY, gemm(5.0), steps=5)
    named = [event for event in builder.events if event["name"] == record]
    for lost in (3, len(named) // 2):
        builder.events.remove(named[lost])
    region, found = observed(analyze(builder.trace()))
    assert found == ()
    assert len(region) == len(BODY) + 1


def test_steps_that_change_are_seen_beside_one_that_lost_a_record() -> None:
    builder = told(*BODY, at_step(1, gemm(5.0)), at_step(2, gemm(7.0)), at_step(2, gemm(7.0)), steps=6)
    launches = [event for event in builder.events if event["name"] == "cudaLaunchKernel"]
    builder.events.remove(launches[3])
    assert by_id(analyze(builder.trace())).keys() == {"changing_kernels"}


def test_a_bare_wait_that_ends_every_step_lies_outside_what_would_be_captured() -> None:
    assert blockers(*BODY, call("cudaDeviceSynchronize", 200)) == {}
    assert blockers(call("cudaDeviceSynchronize", 200), *BODY) == {}
    assert blockers(*BODY, call("cudaDeviceSynchronize", 200), *BODY)["sync"].vetoes is True


def test_a_wait_for_results_on_their_way_to_the_host_is_part_of_the_step() -> None:
    download = upload("DtoH (Device -> Pinned)")
    assert blockers(*BODY, download, call("cudaStreamSynchronize", 50))["sync"].vetoes
    assert blockers(*BODY, download, call("cudaEventSynchronize", 50))["sync"].vetoes
    assert "sync" not in blockers(*BODY, download, call("cudaDeviceSynchronize", 50))
    assert "sync" not in blockers(*BODY, download, *BODY, call("cudaStreamSynchronize", 50))


def test_the_wait_that_ends_a_single_recorded_step_is_no_proof() -> None:
    assert not any(seen.vetoes for seen in observed(analysis(*BODY, steps=1))[1])


def test_pageable_copies_and_host_inputs() -> None:
    pageable, pinned = blockers(upload(), *BODY), blockers(upload("HtoD (Pinned -> Device)"), *BODY)
    assert pageable.keys() == {"pageable_copy"}, "which inputs they are needs no second name"
    assert pinned.keys() == {"host_input"}
    assert not pinned["host_input"].vetoes
    for seen in (*pageable.values(), *pinned.values()):
        assert [handle[:2] for handle in seen.blocker.evidence] == ["k-"] * 3


def test_a_copy_from_pageable_memory_and_its_own_wait_are_told_once() -> None:
    copy = inside("aten::copy_", upload(), call("cudaStreamSynchronize", 20))
    both = {"sync", "pageable_copy"}
    assert blockers(*BODY, copy, *BODY).keys() == {"sync"}
    assert blockers(*BODY, copy, *BODY, item(), item(), *BODY).keys() == both, "the repair told is for other waits"
    assert blockers(*BODY, upload(), *BODY, item(), *BODY).keys() == both


def read_late(memory: str) -> Beat:
    """A value read into pageable or pinned memory: a copy that returns after its work, and the wait for the same."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        begun, copied = clock.host, max(clock.drained, clock.host + 10)
        trace.op("aten::_local_scalar_dense", begun, copied + 20 - begun, shapes=[[]])
        trace.copy(begun + 1, copied + 4 - begun, at=copied, runs=2, kind=f"DtoH (Device -> {memory})")
        trace.sync(copied + 6, 5, "stream")
        clock.host, clock.streams[7] = copied + 22, copied + 2

    return tell


def test_a_copy_that_blocks_and_the_wait_for_it_are_one_wait() -> None:
    download = read_late("Pageable")
    found = blockers(*BODY, download, *BODY, download, *BODY)["sync"].blocker
    assert found.per_step == 2
    assert found.message.startswith("2 waits for the device a step")
    assert pieces(*BODY, download, *BODY, download, *BODY) == 3
    apart = blockers(*BODY, download, *BODY, call("cudaStreamSynchronize", 20), *BODY)["sync"].blocker
    assert apart.per_step == 2


def test_the_wait_for_a_copy_that_only_returned_late_counts_in_that_step_as_in_the_others() -> None:
    late, usual = read_late("Pinned"), item()

    def read(trace: TraceBuilder, clock: Clock, step: int) -> None:
        (usual if step else late)(trace, clock, step)

    found = blockers(*BODY, read)["sync"]
    assert found.vetoes
    assert found.blocker.per_step == 1


def test_of_a_stretch_that_is_no_step_nothing_is_counted_a_step() -> None:
    stretch = analyze(told(*BODY, item(), *BODY, upload()).trace(), span="all")
    messages = [seen.blocker.message for seen in observed(stretch)[1]]
    assert len(messages) == 2
    assert all("in this stretch" in message for message in messages)


def test_a_share_of_typical_steps_says_so() -> None:
    steady = blockers(loader(4000), gemm(500))["host_work"].blocker
    paused = blockers(loader(4000), gemm(500), at_step(2, pause(30_000)))["host_work"].blocker
    assert steady.message.endswith("of the traced time")
    assert paused.message.endswith("of a typical traced step")


def test_allocations_in_steady_steps_do_not_prevent_a_capture() -> None:
    found = blockers(*BODY, inside("aten::empty", call("cudaMalloc", 100)))
    assert found["allocation"].blocker.per_step == 1
    assert not found["allocation"].vetoes
    assert all(handle.startswith("o-") for handle in found["allocation"].blocker.evidence)


def test_an_allocator_that_is_switched_off_is_told_from_a_cache_that_is_emptied() -> None:
    own = [inside("aten::add", call("cudaMalloc", 20), pointwise(), call("cudaFree", 50))] * 12
    emptied = [*[inside("aten::add", call("cudaMalloc", 20), pointwise())] * 12, *[call("cudaFree", 50)] * 12]
    assert "switched off" in blockers(*own)["allocation"].blocker.advice
    assert "empty_cache" in blockers(*emptied)["allocation"].blocker.advice


def test_a_pool_that_still_grows_is_no_cache_that_is_emptied() -> None:
    advice = blockers(*BODY, inside("aten::empty", call("cudaMalloc", 100)))["allocation"].blocker.advice
    assert advice.startswith("Warm up longer")
    assert "empty_cache" not in advice


def test_changing_shapes_are_told_from_changing_kernels() -> None:
    shapes = [at_step(step, pointwise(size=1000 + step)) for step in range(4)]
    kernels = [at_step(step, gemm(5)) for step in (1, 2, 2)]
    assert blockers(*shapes, *BODY).keys() == {"changing_shapes"}
    assert blockers(*kernels, *BODY).keys() == {"changing_kernels"}


def test_one_odd_step_of_several_is_evidence_only() -> None:
    found = blockers(at_step(1, gemm(5)), *BODY)
    assert found.keys() == {"changing_kernels"}
    assert not found["changing_kernels"].vetoes
    assert found["changing_kernels"].blocker.message == "kernels that change in one of the steps"


def optimizer_step(trace: TraceBuilder, clock: Clock, step: int) -> None:
    """The step of an optimizer that keeps its counter on the host: it is read without a call."""
    del step
    trace.annotation("Optimizer.step#AdamW.step", clock.host, 40)
    trace.op("aten::_local_scalar_dense", clock.host + 5, 2, shapes=[[]])
    clock.host += 41


def test_an_optimizer_that_counts_on_the_host() -> None:
    found = blockers(*BODY, optimizer_step)
    assert found.keys() == {"host_optimizer"}
    assert found["host_optimizer"].vetoes
    assert "capturable" in found["host_optimizer"].blocker.advice


def pieces(*beats: Beat) -> int:
    return find_pieces(*observed(analysis(*beats))).pieces


def test_waits_cut_the_step_into_pieces_and_a_last_one_cuts_nothing() -> None:
    assert pieces(*BODY) == 1
    assert pieces(*BODY, item()) == 1
    assert pieces(*BODY, item(), *BODY, item(), *BODY) == 3


def test_the_wait_of_a_copy_from_the_host_cuts_nothing() -> None:
    def put(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        begun, copied = clock.host, max(clock.drained, clock.host + 10) + 20
        trace.op("aten::copy_", begun, copied + 6 - begun)
        trace.copy(begun + 1, 4, at=copied - 20, runs=20, kind="HtoD (Pageable -> Device)")
        trace.sync(begun + 6, copied - begun - 2, "stream")
        clock.host, clock.streams[7] = copied + 8, copied

    assert pieces(put, put, *BODY, put, *BODY) == 1
    assert pieces(put, *BODY, item(), *BODY) == 2
    assert pieces(put, *BODY, call("cudaDeviceSynchronize", 20), *BODY) == 2


@pytest.mark.parametrize("id", sorted(VETOES))
def test_every_veto_has_a_story(id: str) -> None:
    stories: dict[str, list[Beat]] = {
        "sync": [*BODY, item()],
        "pageable_copy": [upload(), *BODY],
        "changing_shapes": [*[at_step(step, pointwise(size=1000 + step)) for step in range(4)], *BODY],
        "changing_kernels": [*[at_step(step, gemm(5)) for step in (1, 2, 2)], *BODY],
        "host_optimizer": [*BODY, optimizer_step],
        "host_compute": [*BODY, on_host("aten::sort", 900), *BODY],
    }
    assert blockers(*stories[id])[id].vetoes


def test_blockers_survive_a_trace_without_operators() -> None:
    builder = told(*BODY, call("cudaMalloc"), item(), *BODY)
    builder.events = [event for event in builder.events if event["cat"] != "cpu_op"]
    found = by_id(analyze(builder.trace()))
    assert found.keys() == {"sync", "allocation"}
    assert found["sync"].blocker.where is None


def forward(*sequences: int) -> list[Beat]:
    return [pointwise(sequence=number) for number in sequences]


def backward(*sequences: int) -> list[Beat]:
    """Nodes of a backward pass, each with a kernel, and one that only keeps a gradient."""
    node, keeps = "autograd::engine::evaluate_function: MulBackward0", "torch::autograd::AccumulateGrad"
    nodes = [op(node, 1, sequence=number) for number in sequences]
    return [*nodes, op(f"autograd::engine::evaluate_function: {keeps}", 1, sequence=2**62)]


def test_a_backward_pass_that_returns_to_a_spent_forward_pass_cannot_be_compiled_as_one() -> None:
    beats = (*forward(1, 2, 3), *backward(3, 2), *forward(4, 5), *backward(5, 4, 1))
    found = blockers(*beats)["second_backward"]
    assert found.raises
    assert not found.vetoes
    assert found.blocker.per_step == 1
    region, seen = observed(analysis(*beats))
    forms = predict_forms(find_facts(region), seen)
    assert forms["compile"].step_ms is forms["both"].step_ms is None
    assert forms["replay"].step_ms is not None
    assert forms["compile"].blockers == (found.blocker,)


def test_a_backward_pass_through_several_streams_cannot_be_compiled() -> None:
    """torch 2.11 raises: its operators of streams have no fake implementation."""
    beside = [pointwise(sequence=number, stream=9) for number in (2, 3)]
    found = blockers(*forward(1), *beside, *backward(3, 2, 1))["streamed_backward"]
    assert found.raises
    assert not found.vetoes
    assert found.blocker.per_step == 2
    assert found.blocker.evidence[:2] == ("k-2", "k-3")


def test_work_of_other_streams_without_a_backward_pass_can_be_compiled() -> None:
    beside = [pointwise(sequence=number, stream=9) for number in (2, 3)]
    assert blockers(*forward(1), *beside) == {}
    assert blockers(*forward(1, 4), *beside, *backward(4, 1)) == {}


def test_accumulated_gradients_are_backward_passes_of_their_own() -> None:
    assert blockers(*forward(1, 2), *backward(2, 1), *forward(3, 4), *backward(4, 3)) == {}


def lacking(builder: TraceBuilder, *numbers: int) -> dict[str, Observation]:
    """Blockers once the records of some operators are lost."""
    told = [event for event in builder.events if event["cat"] == "cpu_op"]
    for number in numbers:
        builder.events.remove(told[number])
    return by_id(analyze(builder.trace()))


def test_lost_operators_are_no_evidence_of_steps_that_change() -> None:
    assert lacking(told(*BODY, gemm(5.0), steps=5), 3, 17, 30) == {}


def test_shapes_that_change_are_seen_though_operators_are_lost() -> None:
    sizes = [at_step(step, pointwise(size=1 << (10 + step))) for step in range(5)]
    found = lacking(told(*BODY, *sizes, *BODY, steps=5), 3, 30)
    assert found.keys() == {"changing_shapes"}
    assert found["changing_shapes"].proven


def test_lost_forward_operators_are_no_evidence_of_a_later_backward_pass() -> None:
    beats = (*forward(1, 2, 3), *backward(3, 2), *forward(4, 5), *backward(5, 4, 1))
    assert lacking(told(*beats, steps=4)).keys() == {"second_backward"}
    assert lacking(told(*beats, steps=4), 4) == {}


def test_long_work_outside_seen_once_may_be_a_pause_and_is_not_repaired_first() -> None:
    work = (*BODY, upload("HtoD (Pinned -> Device)"), pause(3_000), *BODY)
    seen, once = lacking(told(*work, steps=5))["outside_work"], lacking(told(*work, steps=1))["outside_work"]
    assert seen.first
    assert seen.proven
    assert not once.first
    assert not once.proven


@pytest.mark.parametrize("us", [0, 100, 5_000])
def test_a_device_clock_that_is_behind_proves_no_blocker(us: int) -> None:
    builder = told(*BODY, upload("HtoD (Pinned -> Device)"), pause(3_000), *BODY, steps=5)
    for event in builder.events:
        event["ts"] -= us if event["cat"] in ("kernel", "gpu_memcpy") else 0
    found = lacking(builder)
    assert found.keys() == ({"host_input"} if us else {"host_input", "outside_work"})
    assert not any(seen.vetoes for seen in found.values())


def of_capability(major: int, *beats: Beat, vendor: str = "NVIDIA") -> Advice:
    device = {"id": 0, "name": f"{vendor} P", "computeMajor": major, "computeMinor": 1}
    trace = told(*beats, steps=4, deviceProperties=[device]).trace()
    return advise(analyze(replace(trace, vendor={"AMD": "hip"}.get(vendor, trace.vendor))))


def test_a_device_that_triton_does_not_compile_for_can_replay_and_no_more() -> None:
    advice = of_capability(6, *BODY)
    assert advice.forms["compile"].step_ms is advice.forms["both"].step_ms is None
    assert [blocker.message for blocker in advice.forms["both"].blockers] == [
        "NVIDIA P has compute capability 6.1 and Triton needs 7.0"
    ]
    assert advice.recommendation.verdict == "replay"


def test_no_repair_of_the_step_makes_an_old_device_compile() -> None:
    then = of_capability(6, *BODY, item(), *BODY).recommendation.after_fix
    assert then is not None
    assert then.verdict == "replay"


@pytest.mark.parametrize(("major", "vendor"), [(7, "NVIDIA"), (6, "AMD")])
def test_triton_compiles_for_newer_devices_and_for_those_of_another_vendor(major: int, vendor: str) -> None:
    assert of_capability(major, *BODY, vendor=vendor).forms["compile"].step_ms is not None
