"""Every rule fires on what it is for, is silent on what only looks like it, and survives what a trace lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import pytest

from tests.advice.cases.beats import (
    collective,
    copied,
    graph,
    inside,
    loader,
    pause,
    read_back,
    slow_launch,
    wait_in,
)
from tests.advice.cases.compiled import PRODUCT, TRITON, compiling, hip_eager, recording, region
from tests.advice.cases.ranks import BROADCAST, BUFFERS
from tests.advice.cases.recordings import lost_graphs, model_in_the_making, no_device, no_kernels, queued
from tests.advice.story import Beat, analysis, at_step, call, fork, gemm, item, op, pointwise, told, upload
from tests.build import TraceBuilder
from tracelens.advice import advise
from tracelens.advice.choice.first import ALLOWS, TELLS
from tracelens.advice.forms.forms import cannot
from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import HIDES, RULES, Rule, check_all, fusable_chains
from tracelens.advice.rules.rule import SEVERITIES, WARNING, device_ms, now_ms, severity
from tracelens.analysis import analyze
from tracelens.analysis.results import Analysis
from tracelens.model.forms import FORMS

Story: TypeAlias = Sequence[Beat] | Callable[[], TraceBuilder]
BIG = 1 << 25
LIBRARY = [gemm(900)] * 6
HOST_BOUND = [pointwise(1, host=30)] * 40
STEPS = 7
CAST = op("aten::copy_", 90, kernel="void at::native::direct_copy_kernel")
FORWARD = "DistributedDataParallel.forward"
ADAM = "Optimizer.step#Adam.step"


def marked(name: str, *beats: Beat) -> Beat:
    return inside(name, *beats, kind="annotation")


def foreach() -> Beat:
    return op("aten::_foreach_add_", 5, kernel="multi_tensor_apply_kernel", host=30)


FIRES_AND_NOT: dict[str, tuple[Story, Story]] = {
    "host_bound_dispatch": (HOST_BOUND, LIBRARY),
    "optimizer_loop": ([marked(ADAM, *HOST_BOUND, *HOST_BOUND)], [marked(ADAM, *[foreach()] * 80)]),
    "doubled_operators": ([inside("aten::add", pointwise())] * 9, [inside("aten::sum", pointwise())] * 9),
    "debugger": (
        [inside("debugpy/_vendored/pydevd/pydevd.py(9): trace", gemm(50), kind="python")],
        [inside("model.py(9): forward", gemm(50), kind="python")],
    ),
    "host_work": ([gemm(50), read_back(), pause(2000)], [gemm(50), read_back(), pause(300)]),
    "host_pause": ([gemm(50), read_back(), at_step(3, pause(30_000))], [gemm(50), read_back(), pause(30_000)]),
    "data_loading": ([loader(4000), gemm(500)], [gemm(4000), gemm(4000), loader(500)]),
    "allocator_churn": ([gemm(100), call("cudaMalloc", 500)], [gemm(4000), gemm(4000), call("cudaMalloc", 500)]),
    "sync_points": ([*[pointwise(20)] * 5, item()] * 8, [*[gemm(20_000)] * 5, item()]),
    "overlapped_waits": ([*LIBRARY, wait_in("aten::item")], [*[pointwise(1)] * 5, item()] * 8),
    "queue_full": (
        [*[op("aten::mm", 60, host=6)] * 1100, *[slow_launch(60, 60)] * 60],
        [gemm(9), slow_launch(900)] * 9,
    ),
    "pageable_copies": ([upload(), gemm(100)], [upload("HtoD (Pinned -> Device)"), gemm(100)]),
    "fusable_chains": ([pointwise(100, BIG)] * 10, [gemm(900), pointwise(100, BIG)]),
    "cast_kernels": ([gemm(200), inside("aten::to", inside("aten::_to_copy", CAST))], [gemm(200), CAST]),
    "device_limit": (LIBRARY, [pointwise(100, BIG)] * 10),
    "queued_idle": (queued, LIBRARY),
    "exposed_communication": ([gemm(100), collective(100)], [gemm(900), *fork(), collective(2), gemm(900)]),
    "captured_collectives": ([*HOST_BOUND, collective(5)], [gemm(900), collective(100)]),
    "late_rank": ([gemm(900), collective(4000, 57)], [gemm(900), collective(4000, 1 << 26)]),
    "buffer_broadcast": ([marked(FORWARD, *BUFFERS, BROADCAST)], [marked(FORWARD, gemm(50)), *BUFFERS, BROADCAST]),
    "few_kernels": ([op("aten::take", 60, kernel="take_put_kernel", host=10)], HOST_BOUND),
    "compiler_overhead": ([region(TRITON)], [region(*[op("extern_kernels::mm", 2000, kernel="nvjet")] * 4)]),
    "compiled_pieces": ([region(PRODUCT, name=f"{at}/0") for at in range(4)], [region(PRODUCT), region(PRODUCT)]),
    "recompilation": ([compiling(20, TRITON)], [region(TRITON)]),
    "graph_recording": ([recording(graph())], [graph()]),
    "graph_launches": ([graph(call=900), read_back()], [graph(each=100, call=9)]),
    "graph_pieces": ([graph(5), read_back()] * 8, [graph(60), read_back()]),
    "graph_inputs": ([*[copied()] * 20, graph()], [*[copied()] * 2, graph()]),
    "hip_graphs": (hip_eager, HOST_BOUND),
    "uncalibrated": (hip_eager, HOST_BOUND),
    "unclear_pauses": ([*HOST_BOUND, pause(400)], [*HOST_BOUND, at_step(2, pause(400))]),
    "profiler_idle": ([gemm(30, 256, host=44)] * 60, HOST_BOUND),
    "cold_start": ([*LIBRARY, at_step(2, slow_launch(50_000, kernel="first_use"))], [*LIBRARY, slow_launch(2)]),
    "model_setup": (model_in_the_making, LIBRARY),
    "lost_graph_kernels": (lambda: lost_graphs(4), lambda: lost_graphs(20)),
}
BY_ID = {rule.id: rule for rule in RULES}


def traced_of(story: Story) -> Analysis:
    return analyze(story().trace()) if callable(story) else analysis(*story, steps=STEPS)


OF_THE_WHOLE = ("uncalibrated", "hip_graphs", "debugger", "recompilation", "graph_recording", "model_setup")
"""Rules that tell of the whole trace, or of annotations, frames and calls, which have no handles."""


def advised(story: Story) -> tuple[Finding, ...]:
    """What is found in a story."""
    trace = story() if callable(story) else told(*story, steps=STEPS)
    return advise(analyze(trace.trace())).findings


def findings(story: Story) -> dict[str, str]:
    """What is advised, by rule."""
    return {finding.rule: finding.advice for finding in advised(story)}


def poor_traces() -> dict[str, TraceBuilder]:
    """Traces that lack something."""
    unlinked, bare = TraceBuilder(), TraceBuilder()
    for at in range(30):
        unlinked.kernel("ncclDevKernel_AllReduce", 10 + 20 * at, 10)
        bare.launch("ncclDevKernel_AllReduce", 40 * at, runs=10)
    return {
        "nothing at all": TraceBuilder(),
        "operators only": no_device(),
        "no kernels": no_kernels(),
        "kernels only": unlinked,
        "no operators": bare,
        "one kernel": TraceBuilder().launch("gemm", 0),
        "no shapes": told(*[op("c10d::allreduce_", 5, kernel="ncclDevKernel_AllReduce")] * 3, steps=2),
    }


def test_every_rule_has_its_stories() -> None:
    assert FIRES_AND_NOT.keys() == BY_ID.keys()


@pytest.mark.parametrize("rule", FIRES_AND_NOT)
def test_a_rule_fires_on_what_it_is_for(rule: str) -> None:
    assert rule in findings(FIRES_AND_NOT[rule][0])


@pytest.mark.parametrize("rule", FIRES_AND_NOT)
def test_what_to_do_next_begins_with_what_to_do(rule: str) -> None:
    advice = findings(FIRES_AND_NOT[rule][0])[rule]
    denied = advice.startswith(("Neither", "Nothing", "No ", "The ", "Not "))
    assert not (denied and (BY_ID[rule].fix or BY_ID[rule].remains)), advice


@pytest.mark.parametrize("rule", [rule for rule in FIRES_AND_NOT if rule not in OF_THE_WHOLE])
def test_what_a_rule_finds_can_be_looked_at(rule: str) -> None:
    assert all(finding.evidence for finding in advised(FIRES_AND_NOT[rule][0]) if finding.rule == rule)


@pytest.mark.parametrize("rule", FIRES_AND_NOT)
def test_a_rule_is_silent_on_what_only_looks_like_it(rule: str) -> None:
    assert rule not in findings(FIRES_AND_NOT[rule][1])


@pytest.mark.parametrize("lacking", poor_traces())
def test_rules_survive_what_a_trace_lacks(lacking: str) -> None:
    found = analyze(poor_traces()[lacking].trace())
    unknown = {name: cannot((), "not known") for name in FORMS}
    told = {rule.id for rule in RULES if rule.check(found, unknown) is not None}
    explained = {"host_bound_dispatch", "overlapped_waits", "exposed_communication", "device_limit", "queued_idle"}
    assert told <= explained
    assert lacking in ("kernels only", "no operators", "one kernel", "no shapes") or not told


def test_pageable_copies_are_counted_as_what_they_block() -> None:
    found = advise(analysis(upload(), upload(), *[pointwise()] * 10)).findings
    (title,) = (finding.title for finding in found if finding.rule == "pageable_copies")
    assert title.startswith("2 transfers of pageable memory a step go through a buffer of the driver's")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_metadata_is_complete(rule: Rule) -> None:
    assert rule.title
    assert rule.title[0].isupper()
    assert rule.why.endswith(".")
    assert rule.learn_more.startswith("https://")


def test_a_replayed_step_is_not_told_to_replay() -> None:
    told = findings([graph(5, call=40), read_back(), *[pause(20)] * 8])
    assert "CUDA Graph" not in told["host_bound_dispatch"]


def test_a_blocked_step_is_told_to_repair_before_it_replays() -> None:
    told = findings([*[pointwise(1, host=30)] * 8, item()] * 6)
    assert "once nothing prevents it" in told["host_bound_dispatch"]


def test_findings_name_evidence_and_the_largest_saving_comes_first() -> None:
    found = advise(analysis(*[*[pointwise(20, 1 << 22)] * 5, item()] * 8)).findings
    assert all(finding.evidence for finding in found)
    savings = [finding.saving_ms or 0 for finding in found]
    assert savings == sorted(savings, reverse=True)


def test_a_saving_of_the_host_is_of_the_step_without_the_profiler() -> None:
    found = analysis(loader(4000), gemm(500))
    advice = advise(found)
    saving = next(finding.saving_ms for finding in advice.findings if finding.rule == "data_loading")
    eager, part = advice.forms["eager"].step_ms, found.attribution.share("dispatch", "input")
    assert eager is not None
    assert saving == pytest.approx(min(part * eager, eager - device_ms(found)))


def test_a_trace_that_cannot_be_judged_still_says_what_spoilt_it() -> None:
    advice = advise(analyze(lost_graphs(1).trace()))
    assert advice.recommendation.verdict == "abstain"
    assert [finding.rule for finding in advice.findings] == ["lost_graph_kernels"]


def test_a_saving_of_the_host_leaves_the_device_its_time() -> None:
    found = analysis(loader(4000), *[gemm(900)] * 4)
    advice = advise(found)
    saving = next(finding.saving_ms for finding in advice.findings if finding.rule == "data_loading")
    now = now_ms(found, advice.forms)
    assert now is not None
    assert saving is not None
    assert now - saving >= device_ms(found) - 1e-9


def test_what_can_fuse_is_one_share_in_the_reason_and_the_finding() -> None:
    gather = op("aten::index", 300, kernel="vectorized_gather_kernel", shapes=[[1 << 20, 64], [1 << 18]])
    advice = advise(analysis(*[gather, pointwise(100, BIG), gemm(30)] * 4))
    finding = next(finding for finding in advice.findings if finding.rule == "fusable_chains")
    share = finding.title.partition(" of the")[0]
    assert f"{share} of it in kernels that can fuse" in advice.recommendation.summary


def test_fusing_saves_no_more_than_it_makes_the_devices_work_less() -> None:
    found = advise(analysis(*[pointwise(20, 1 << 22, host=60)] * 60, item()))
    saving = next(finding.saving_ms for finding in found.findings if finding.rule == "fusable_chains")
    eager, compiled = found.forms["eager"], found.forms["compile"]
    assert found.forms["replay"].step_ms is None
    assert eager.step_ms is not None
    assert compiled.step_ms is not None
    assert compiled.terms is not None
    values = compiled.terms.values
    assert saving is not None
    assert saving == pytest.approx((values["replaced_ns"] - values["generated_ns"]) / 1e6)
    assert saving < eager.step_ms - compiled.step_ms


@pytest.mark.parametrize(("longer", "severity"), [(1, "critical"), (4, "warning"), (20, "info")])
def test_fusing_that_saves_nobody_knows_what_matters_by_its_share_of_the_step(longer: int, severity: str) -> None:
    found = analysis(*[gemm(100), pointwise(80, BIG)] * 4)
    known = advise(found).forms
    step = longer * device_ms(found)
    times = {"eager": step, "compile": 1.1 * step, "replay": None, "both": 0.5 * step}
    forms = {name: replace(form, step_ms=times[name]) for name, form in known.items()}
    finding = fusable_chains.check(found, forms)
    assert finding is not None
    assert (finding.saving_ms, finding.severity) == (None, severity)


def test_fusing_is_told_by_what_it_saves_whatever_its_share() -> None:
    found = advise(analysis(*[*[gemm(150)] * 2, *[pointwise(40, 1 << 24)] * 3] * 8))
    finding = next(finding for finding in found.findings if finding.rule == "fusable_chains")
    assert float(finding.title.partition(" %")[0]) < 100 * fusable_chains.SHARE
    assert found.forms["eager"].step_ms is not None
    assert (finding.saving_ms or 0.0) > WARNING * found.forms["eager"].step_ms


def test_one_long_step_hides_no_idle_time_of_the_profilers() -> None:
    told = findings([*[gemm(30, 256, host=44)] * 60, at_step(2, pause(9_000))])
    assert "profiler_idle" in told
    assert "host_bound_dispatch" not in told


def test_launching_less_leaves_the_device_its_time() -> None:
    found = analysis(*[pointwise(20, 1 << 22, host=60)] * 60)
    advice = advise(found)
    saving = next(finding.saving_ms for finding in advice.findings if finding.rule == "host_bound_dispatch")
    eager, both = advice.forms["eager"].step_ms, advice.forms["both"].step_ms
    assert eager is not None
    assert both is not None
    assert saving == pytest.approx(eager - device_ms(found))
    assert saving < eager - both, "fusing saves the rest"


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.of_recording], ids=lambda rule: rule.id)
def test_a_finding_is_as_severe_as_what_it_saves_or_what_its_repair_allows(rule: Rule) -> None:
    traced = traced_of(FIRES_AND_NOT[rule.id][0])
    found = advise(traced)
    now, first = now_ms(traced, found.forms), {blocker.id for blocker in found.recommendation.fix_first}
    for finding in found.findings:
        allows = any(tells == finding.rule for id, tells in TELLS.items() if id in first)
        if now and finding.saving_ms and not allows:
            assert finding.severity == severity(finding.saving_ms / now)
        if now and allows and (after := found.recommendation.after_fix):
            assert SEVERITIES.index(finding.severity) >= SEVERITIES.index(severity(1 - after.step_ms / now))
            assert finding.title.endswith(ALLOWS) == (after.verdict != "neither")


def test_idle_time_that_no_form_saves_is_as_severe_as_its_share() -> None:
    found = advise(traced_of([item(), *[gemm(2, 64)] * 2] * 8))
    finding = next(finding for finding in found.findings if finding.rule == "host_bound_dispatch")
    assert found.recommendation.verdict == "neither"
    assert (finding.saving_ms, finding.severity) == (None, "critical")


def test_a_loader_that_a_busy_device_hides_says_so() -> None:
    found = analysis(loader(4000), *[gemm(900)] * 4)
    device, forms = device_ms(found), dict.fromkeys(FORMS, cannot(()))
    for bare_ms, hides in ((1.01 * device, True), (1.2 * device, False)):
        told = check_all(found, {**forms, "eager": Form(bare_ms, bare_ms, bare_ms, "predicted")})
        loading = next(finding for finding in told if finding.rule == "data_loading")
        assert "of the traced time" in loading.title
        assert loading.title.endswith(HIDES) == hides


def test_a_wait_saves_at_most_what_all_waits_may_save() -> None:
    traced = traced_of(FIRES_AND_NOT["sync_points"][0])
    found = next(finding for finding in advise(traced).findings if finding.rule == "sync_points")
    steps, shown = len(traced.window.tiles), traced.tables["syncs"]
    assert found.saving_ms is not None
    assert found.saving_ms <= shown["saving_high_ns"].sum() / steps / 1e6
    assert found.title.startswith("8 waits for the device a step drain the queue")


def test_waits_around_the_work_are_told_apart_from_those_that_block_a_capture() -> None:
    work = [item(), *[pointwise(1.0)] * 4]
    found = advise(analysis(*work, *work, call("cudaDeviceSynchronize", 50)))
    blocker = next(fix for fix in found.recommendation.fix_first if fix.id == "sync")
    finding = next(finding for finding in found.findings if finding.rule == "sync_points")
    assert blocker.message.startswith("2 waits for the device a step")
    assert finding.title.startswith("2 waits for the device and 1 other a step drain the queue")
