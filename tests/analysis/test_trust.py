"""What each check of trust passes and fails, at its thresholds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.recordings import check, of, sound, steps, trust
from tests.build import MAIN_THREAD, TraceBuilder
from tracelens.analysis import analyze
from tracelens.analysis.trust import RULES
from tracelens.loading import load_trace

INFO = (
    "Record counts: Out-of-range = {}, Blocklisted runtime = 5, Invalid ext correlations = {}, CUPTI stopped early? = 0"
)


def test_a_sound_trace_passes_every_check() -> None:
    found = trust(sound())
    assert found.level == "ok"
    assert all(check.passed for check in found.checks)
    assert [check.id for check in found.checks] == ["device_events", *(rule.id for rule in RULES)]


def test_failed_checks_come_first_and_say_what_to_record() -> None:
    checks = trust(sound(launches=3)).checks
    assert not checks[0].passed
    assert "record" in checks[0].message
    assert all(check.passed for check in checks[1:])


@pytest.mark.parametrize(
    ("builder", "word"),
    [
        (TraceBuilder(), "no event with a duration"),
        (TraceBuilder().raw({"ph": "X", "name": "gemm", "ts": 0, "dur": 9, "pid": 0, "tid": 7}), "category"),
        (TraceBuilder().op("aten::add", 0, 5), "CPU only"),
        (TraceBuilder().call("cudaDeviceSynchronize", 0, 5), "ran nothing"),
        (TraceBuilder().call("cudaLaunchKernel", 0, 5), "no kernel recorded"),
    ],
    ids=["empty", "uncategorised", "operators", "calls", "launches"],
)
def test_a_trace_without_device_work_is_unusable_and_says_why(builder: TraceBuilder, word: str) -> None:
    found = trust(builder)
    assert found.level == "unusable"
    assert found.checks[0].id == "device_events"
    assert found.checks[0].value == 0
    assert word in found.checks[0].message


def test_a_window_without_device_work_is_unusable() -> None:
    builder = sound().op("aten::mm", 700, 10)
    for end, said in ((600_000, "another step"), (10**9, "outside the recording")):
        found = analyze(builder.trace(), span=(end - 100_000, end)).trust
        assert found.level == "unusable"
        assert said in found.checks[0].message


@pytest.mark.parametrize(("launches", "passed"), [(9, False), (10, True)])
def test_few_device_events_lower_confidence(launches: int, passed: bool) -> None:
    judged = trust(sound(launches=launches))
    found = of(judged, "device_events")
    assert (found.passed, found.value, found.threshold) == (passed, launches, 10)
    assert judged.level == ("ok" if passed else "degraded")


def spread(often: list[int], thread: int, runs: float = 10) -> TraceBuilder:
    """Five steps of 40 launches on one device, in which a thread launches some more on another, so often in each."""
    builder = TraceBuilder().op("aten::mm", 0, 1)
    for number, more in enumerate(often):
        at = 1000 * number
        builder.step(number, at, 1000)
        for launch in range(40):
            builder.launch("gemm", at + 20 * launch, 5, at=at + 20 * launch + 8, runs=10)
        for launch in range(more):
            begun = at + 20 * launch + 10
            builder.launch("gemm", begun, 5, at=begun + 8, runs=runs, device=1, thread=thread)
    return builder


@pytest.mark.parametrize(
    ("more", "runs", "share", "level"),
    [(0, 10, 0.0, "ok"), (1, 10, 1 / 41, "degraded"), (1, 100, 1 / 5, "unusable"), (10, 10, 1 / 5, "unusable")],
)
def test_steps_that_launch_work_on_other_devices(more: int, runs: float, share: float, level: str) -> None:
    judged = trust(spread([more] * 5, MAIN_THREAD, runs))
    assert of(judged, "one_device").value == pytest.approx(share)
    assert judged.level == level


@pytest.mark.parametrize(("often", "share"), [([10] * 5, 1 / 5), ([5, 10, 4, 12, 9], 0.0)])
def test_another_thread_that_launches_as_much_in_each_step_launches_for_it(often: list[int], share: float) -> None:
    assert check(spread(often, MAIN_THREAD + 1), "one_device").value == pytest.approx(share)


def test_a_rare_copy_to_another_device_is_told_and_no_fault() -> None:
    judged = trust(spread([0, 1, 0, 0, 0], MAIN_THREAD))
    found = of(judged, "one_device")
    assert found.value == pytest.approx(1 / 161)
    assert found.message.startswith("0.6 % of the work")
    assert judged.level == "ok"


@pytest.mark.parametrize(("device", "remedy"), [(0, "a process of its own"), (1, "(--device 0)")])
def test_the_device_that_runs_most_of_the_step_is_the_one_to_judge(device: int, remedy: str) -> None:
    found = analyze(spread([10] * 5, MAIN_THREAD).trace(), device=device).trust
    assert remedy in of(found, "one_device").message


def test_a_thread_that_bears_its_own_steps_launches_for_no_other() -> None:
    builder = spread([10] * 5, MAIN_THREAD + 1)
    for number in range(5):
        builder.annotation(f"ProfilerStep#{number}", 1000 * number, 1000, thread=MAIN_THREAD + 1)
    for device in (0, 1):
        found = analyze(builder.trace(), device=device).trust
        assert of(found, "one_device").value == 0
        assert found.level == "ok"


@pytest.mark.parametrize(
    ("unlinked", "value", "level"), [(1, 12 / 13, "ok"), (4, 12 / 16, "degraded"), (20, 12 / 32, "unusable")]
)
def test_work_without_a_launch_record(unlinked: int, value: float, level: str) -> None:
    builder = sound()
    for number in range(unlinked):
        builder.kernel("lost", 240 + number * 2, 2)
    judged = trust(builder)
    found = of(judged, "linked")
    assert found.value == pytest.approx(value)
    assert found.passed == (level == "ok")
    assert judged.level == level


def test_work_launched_before_the_recording_is_of_no_step() -> None:
    builder = TraceBuilder().kernel("before", 0, 8)
    for step in range(4):
        builder.step(step, step * 1000, 990)
        sound(builder, start=step * 1000 + 10)
    assert check(builder, "complete_steps").value == 3


@pytest.mark.parametrize(("lost_in", "whole", "level"), [((), 4, "ok"), ((1, 3), 2, "ok"), ((0, 1, 3), 1, "degraded")])
@pytest.mark.parametrize("lost", ["cudaLaunchKernel", "gemm"])
def test_steps_that_lack_records_are_not_whole(lost: str, lost_in: tuple[int, ...], whole: int, level: str) -> None:
    builder = TraceBuilder()
    for step in range(5):
        builder.step(step, step * 1000, 990)
        sound(builder, start=step * 1000, launches=20)
    named = [event for event in builder.events if event["name"] == lost]
    for step in lost_in:
        builder.events.remove(named[20 * step + 7])
    judged = trust(builder)
    assert of(judged, "complete_steps").value == whole
    assert judged.level == level


def test_work_launched_before_the_recording_does_not_count_against_it() -> None:
    builder = TraceBuilder()
    for number in range(20):
        builder.kernel("before", number * 3, 2)
    for number in range(12):
        builder.launch("gemm", 100 + number * 20, 5, at=108 + number * 20, runs=10)
    assert check(builder, "linked").value == 1.0


def test_work_that_is_never_linked_is_unusable() -> None:
    builder = TraceBuilder()
    for number in range(12):
        builder.kernel("lost", number * 10, 9)
    assert check(builder, "linked").value == 0.0
    assert check(builder, "linked").message.startswith("no device events have a launch record, ")
    assert trust(builder).level == "unusable"


@pytest.mark.parametrize(("delay", "level"), [(30, "ok"), (400, "degraded"), (5000, "unusable")])
def test_launched_work_that_does_not_start(delay: int, level: str) -> None:
    builder = sound(launches=200).launch("late", 4000, 5, at=4005 + delay, runs=10)
    judged = trust(builder)
    found = of(judged, "stalled")
    assert found.passed == (level == "ok")
    assert judged.level == level
    expected = max(delay - 100, 0) / (4005 + delay + 10 - 8)
    assert found.value == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("call", "level"), [(900, "ok"), (1200, "degraded"), (20_000, "unusable")])
def test_loading_of_kernels(call: int, level: str) -> None:
    builder = sound(launches=1000).launch("new", 20_010, call, at=20_010 + call + 5, runs=10)
    judged = trust(builder)
    assert of(judged, "loading").passed == (level == "ok")
    assert judged.level == level


def test_allocation_that_grows_the_pool_fails_and_allocation_in_every_step_does_not() -> None:
    once, always = steps([200, 200, 200, 200]), steps([200, 200, 200, 200])
    once.malloc(230, 120)
    for number in range(5):
        always.malloc(number * 200 + 25, 100)
    assert not check(once, "allocator").passed
    assert check(always, "allocator").passed
    assert trust(once).level == "degraded"
    assert not check(sound().malloc(240, 200).launch("gemm", 450), "allocator").passed
    assert check(sound(), "allocator").value == 0.0


@pytest.mark.parametrize(("lost", "level"), [(0, "ok"), (2, "degraded"), (12, "unusable")])
def test_launches_without_a_kernel(lost: int, level: str) -> None:
    builder = sound()
    for number in range(lost):
        builder.call("cudaLaunchKernel", number * 20 + 6, 5)
    judged = trust(builder)
    found = of(judged, "lost_launches")
    assert found.value == pytest.approx(lost / (12 + lost))
    assert judged.level == level


def test_calls_back_to_the_host_leave_no_kernel_to_miss() -> None:
    builder = sound()
    for at in range(12):
        builder.call("cudaLaunchHostFunc", 10 + 20 * at, 2)
    assert check(builder, "lost_launches").value == 0
    assert trust(builder).level == "ok"


def test_memsets_without_device_work_are_not_lost_launches() -> None:
    builder = sound()
    for number in range(12):
        builder.call("cudaMemsetAsync", number * 20 + 6, 2)
    assert check(builder, "lost_launches").value == 0.0


@pytest.mark.parametrize(("empty", "level"), [(0, "ok"), (1, "ok"), (2, "unusable")])
def test_graph_launches_without_kernels(empty: int, level: str) -> None:
    builder = sound().launch_graph(240, 5, [("gemm", 250, 10)])
    for number in range(empty):
        builder.launch_graph(270 + number * 10, 5, [])
    judged = trust(builder)
    assert of(judged, "graph_launches").value == pytest.approx(1 / (1 + empty))
    assert judged.level == level


def test_without_graph_launches_there_is_nothing_to_check() -> None:
    found = check(sound(), "graph_launches")
    assert (found.passed, found.value) == (True, None)


def capture(builder: TraceBuilder) -> TraceBuilder:
    return builder.call("cudaStreamBeginCapture", 16, 1)


def compilation(builder: TraceBuilder) -> TraceBuilder:
    return builder.annotation("_compile.compile_inner (dynamo_timed)", 16, 100)


def recording(builder: TraceBuilder) -> TraceBuilder:
    return builder.annotation("CUDAGraphNode.record (dynamo_timed)", 16, 1)


def frames(builder: TraceBuilder) -> TraceBuilder:
    return builder.python("torch/_dynamo/convert_frame.py(1180): _compile", 16, 100)


@pytest.mark.parametrize(
    ("add", "level"),
    [(capture, "degraded"), (recording, "degraded"), (compilation, "unusable"), (frames, "unusable")],
)
def test_capture_or_compilation_in_the_window(add, level: str) -> None:  # noqa: ANN001
    builder = add(sound())
    judged = trust(builder)
    found = of(judged, "building")
    assert not found.passed
    assert found.value is not None
    assert found.value > 0
    assert "after warm-up" in found.message
    assert judged.level == level


def test_running_compiled_code_is_no_compilation() -> None:
    builder = sound().annotation("Torch-Compiled Region: 0/0", 0, 200).op("TorchDynamo Cache Lookup", 1, 2)
    assert check(builder, "building").passed


@pytest.mark.parametrize(("overlap", "passed"), [(4, True), (15, False)])
def test_work_that_overlaps_on_its_stream(overlap: int, passed: bool) -> None:
    builder = TraceBuilder()
    for number in range(12):
        builder.launch("gemm", number * 20, 2, at=number * 20 + 5, runs=20 + overlap)
    judged = trust(builder)
    found = of(judged, "overlap")
    assert found.passed == passed
    assert passed or judged.level == "degraded"


@pytest.mark.parametrize("broken", [range(40, 41), range(80)], ids=["one", "all"])
def test_durations_beyond_the_work_that_follows_make_a_trace_unusable(broken: range) -> None:
    builder = sound(launches=80)
    kernels = [event for event in builder.events if event["name"] == "gemm"]
    for number in broken:
        kernels[number]["dur"] = 900_000
    judged = trust(builder)
    assert judged.level == "unusable"
    assert of(judged, "overlap").value == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(("runs", "level"), [(1_500, "ok"), (10_000, "degraded"), (9 * 10**12, "unusable")])
def test_a_device_event_that_outlasts_the_recording(runs: int, level: str) -> None:
    """No work follows on its stream that would refute it."""
    judged = trust(sound(launches=80).launch("last", 1600, 5, at=1610, runs=runs))
    assert of(judged, "longest").value == pytest.approx(runs / 1610)
    assert judged.level == level


def test_one_long_overlap_in_much_work_passes() -> None:
    builder = sound(launches=400).launch("gemm", 4, 2, at=14, runs=20)
    assert check(builder, "overlap").passed


def test_work_of_other_streams_may_overlap() -> None:
    builder = TraceBuilder()
    for number in range(12):
        builder.launch("gemm", number * 20, 2, at=number * 20 + 5, runs=50, stream=number)
    assert check(builder, "overlap").value == 0.0


def test_kernels_before_their_launch() -> None:
    assert check(sound().launch("early", 260, 5, at=255, runs=2), "clock").passed is False
    assert check(sound(), "clock").value == 0.0


@pytest.mark.parametrize(("back", "passed"), [(0.5, True), (8, False)])
def test_a_synchronisation_that_returns_before_its_work_ends(back: float, passed: bool) -> None:
    builder = sound().launch("long", 240, 5, at=250, runs=100).sync(300, 50 - back)
    judged = trust(builder)
    found = of(judged, "sync_order")
    assert found.value == pytest.approx(back)
    assert found.passed == passed


def test_a_stream_synchronisation_may_return_before_other_streams() -> None:
    builder = sound().launch("long", 240, 5, at=250, runs=100).sync(300, 10, "stream")
    assert check(builder, "sync_order").value is None


@pytest.mark.parametrize(("lengths", "passed"), [([200, 210, 220], True), ([200, 200, 350], False)])
def test_steps_that_differ(lengths: list[int], passed: bool) -> None:
    found = check(steps(lengths), "step_spread")
    assert found.passed == passed
    assert found.value == pytest.approx(max(lengths) / min(lengths))


def test_a_single_step_has_no_spread() -> None:
    assert check(sound(), "step_spread").value is None


@pytest.mark.parametrize("notes", [[INFO.format(0, 3)], INFO.format(0, 3)], ids=["list", "text"])
def test_records_that_the_profiler_dropped(notes: object) -> None:
    found = check(sound(TraceBuilder(metadata={"INFO": notes})), "dropped")
    assert (found.passed, found.value) == (False, 3)


def test_however_many_it_says() -> None:
    assert not check(sound(TraceBuilder(metadata={"INFO": INFO.format(0, "9" * 5_000)})), "dropped").passed


def test_counts_of_sound_traces_are_no_dropped_records() -> None:
    found = check(sound(TraceBuilder(metadata={"INFO": [INFO.format(4181, 0)]})), "dropped")
    assert (found.passed, found.value) == (True, 0)
    assert check(sound(), "dropped").value is None


@pytest.mark.parametrize(("late", "level"), [(0, "ok"), (2, "degraded"), (10, "unusable")])
def test_work_recorded_in_one_burst_after_its_steps(late: int, level: str) -> None:
    builder = TraceBuilder().op("aten::mm", 0, 1)
    for step in range(6):
        builder.step(step, 200 * step, 199)
        for at in range(12):
            begun = 200 * step + 16 * at
            runs = 9000 + 20 * (12 * step + at) if at >= 12 - late else begun + 8
            builder.launch("gemm", begun, 3, at=runs, runs=10)
    found = check(builder, "deferred")
    assert found.passed is (late == 0)
    assert found.passed or "falls behind the others, or records were written late" in found.message
    assert trust(builder).level == level


@pytest.mark.parametrize(("instants", "level"), [(1, "ok"), (3, "degraded"), (12, "unusable")])
def test_device_events_that_take_no_time(instants: int, level: str) -> None:
    builder = sound(launches=9).launch("gemm", 1_000)
    for number in range(instants):
        builder.launch("gemm", 300 + number * 20, 5, at=308 + number * 20, runs=0)
    assert of(trust(builder), "durations").value == pytest.approx(instants / (10 + instants))
    assert trust(builder).level == level


def test_counts_agree_with_their_nouns() -> None:
    assert check(sound(launches=1), "device_events").message.startswith("only 1 device event ran in the window:")
    assert check(sound(launches=3), "device_events").message.startswith("only 3 device events ran in the window:")


def test_a_short_range_does_not_blame_the_recording() -> None:
    """Its only kernel was launched before the recording began."""
    builder = TraceBuilder().kernel("early", 0, 50)
    for number in range(12):
        builder.launch("gemm", 100 + number * 20, 5, at=108 + number * 20, runs=10)
    found = analyze(builder.trace(), span=(0, 60_000)).trust
    assert of(found, "linked").passed


def test_waits_among_the_kernels_of_an_accelerator_lower_trust(tmp_path: Path) -> None:
    def device(number: int, **args: int) -> dict[str, Any]:
        place = {"pid": 0, "tid": 7, "ts": number * 20, "dur": 10, "args": {"stream": 7, "correlation": number, **args}}
        return {"ph": "X", "cat": "mtia_ccp_events", "name": "pe_exe", **place}

    call = {"ph": "X", "cat": "mtia_runtime", "name": "runFunction", "pid": 9, "tid": 9, "dur": 2}
    calls = [call | {"ts": n * 20 - 5, "args": {"correlation": n}} for n in range(1, 31)]
    calls.append(call | {"cat": "cpu_op", "name": "aten::mm", "ts": 0})
    for waits, level in ((0, "ok"), (6, "degraded")):
        work = [device(n, **({"wait_on_stream": 3} if n <= waits else {})) for n in range(1, 31)]
        path = tmp_path / "trace.json"
        path.write_text(json.dumps({"traceEvents": [*calls, *work]}))
        found = analyze(load_trace(path), span="all").trust
        assert (of(found, "waits_as_work").value, found.level) == (waits / 30, level)
