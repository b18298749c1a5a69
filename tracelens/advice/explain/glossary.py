"""Words of reports that no formula stands behind: keys of the document and what its fields may say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.explain.sources import constants
from tracelens.advice.terms import DECIDED, TERMS

CLASSES: Final = {
    "kernel": "The device works: compute, communication or copies. Its parts are those under kernel.",
    "dispatch": "The device idles while the host has not launched the next work yet.",
    "launch": "The device idles during the launch call or on the launched work's way to it; of an event, the host "
    "call that submits device work.",
    "sync": "The device idles while or because the host waits for it; as a blocker, a wait inside the step.",
    "device": "The device idles with work launched: between kernels, for a stream, inside a graph; also the number of "
    "the device that is judged.",
    "unknown": "The trace does not say why the device idles; as a form, the trace does not show how its step runs.",
}
"""Classes of the account."""
KEYS: Final = {
    "schema_version": "The version of the document's shape.",
    "tool": "Who wrote the document.",
    "run": "The run directory that the trace belongs to, or null; inside it and in a stamp, its id.",
    "trace": "The file, its devices, how its step runs and what was mended.",
    "trust": "Whether the trace can carry an answer, and the checks that say so.",
    "attribution": "Where the window's time went, by class and part, to the nanosecond.",
    "forms": "The step in eager mode, compiled, replayed and both.",
    "recommendation": "The verdict with what leads to it and what applies it.",
    "findings": "What is worth knowing about the step, the largest saving first.",
    "tables": "Kernels, operators, gaps, sync points and launches, the costliest first.",
    "table_rows": "How many rows each table has before any limit.",
    "name": "As the trace, the profiler or the driver has it.",
    "version": "Of the tool.",
    "id": "A device's number, or the name of a check, a blocker or a run.",
    "count": "How often: events of a name in the counted steps, or repairs of a kind.",
    "example": "A handle for tracelens show, or the damaged text.",
    "offset": "Byte of the decoded file at which the first damage of a kind is.",
    "in_steps": "How many of the repairs are in events of the counted steps, which the trust checks look at; null "
    "where nobody knows.",
    "path": "The file, or the run's directory.",
    "bytes": "Size of the file as it was read, decompressed.",
    "events": "Number of events of the trace, all kinds.",
    "base_ns": "The trace's start on the file's own clock, in ns.",
    "vendor": "Whose devices: cuda, hip, xpu or another.",
    "devices": "The devices of the trace, each with the time in which it ran anything.",
    "rank": "Number of the process among those that work together.",
    "world_size": "How many processes work together.",
    "repairs": "What was mended while reading, one entry for each kind of damage.",
    "command": "What was run.",
    "complete": "Whether the recording came to its end.",
    "target": "What was repeated: its kind, its name and its place.",
    "environment": "torch, driver, device and host of the recording.",
    "torch": "The version of torch that recorded.",
    "cuda": "The version of CUDA that torch was built for.",
    "python": "The version of Python that recorded; as a part of dispatch, see dispatch.python.",
    "driver": "The version of the driver.",
    "gpu": "The device, as the driver names it; null without one.",
    "host": "The machine that recorded.",
    "cpu": "Its processor's architecture.",
    "cpu_threads": "Threads that torch uses on the processor.",
    "traces": "The usable traces of a run, by form.",
    "notes": "What a reader must know, a sentence each: what was left out, and why.",
    "checks": "Reasons to trust or distrust the trace.",
    "passed": "Whether the value keeps to the threshold.",
    "value": "What a check measured; null where there was nothing to measure.",
    "threshold": "The limit of a check.",
    "message": "What a check or a blocker says.",
    "level": "ok, degraded (the confidence is lower) or unusable (no verdict from the trace).",
    "median": "Of the counted steps, under the profiler, in ms.",
    "min": "The shortest counted step, under the profiler, in ms.",
    "max": "The longest counted step, under the profiler, in ms.",
    "steps": "Steps that were counted, or that a measurement ran.",
    "step_ms": "A step in ms: of a form the time without the profiler, of the window its spread under it. Null where "
    "it cannot run.",
    "intervals_ns": "[start, end] of each counted stretch on the file's own clock, in ns.",
    "window_ns": "Length of all counted stretches, in ns. The classes add up to it.",
    "classes": "The account: class, its ns, its parts.",
    "parts": "The parts of a class in ns.",
    "ns": "Length in ns: of a class or gap in the window, of a wait or a launch call on the host.",
    "where": "The user's file and line. Of a trace with stacks it is the line that a function begins at, as the "
    "profiler notes no other; of a capture it is the line that ran. Else an operator or null.",
    "per_step": "How often a step has it; null where nobody counted.",
    "low": "The lower end of a range. Measured: of the batches of steps in one process. Predicted: see range.",
    "mid": "The expected value of a range.",
    "high": "The upper end of a range. Measured: of the batches of steps in one process. Predicted: see range.",
    "source": "Whether a form's time is measured or predicted.",
    "variant": "How a form is made: manual or reduce-overhead.",
    "region_ms": "Ms from the start of what is captured or compiled to its end, of a measured step. It may be longer "
    "than step_ms, where steps overlap.",
    "blockers": "What prevents a form, or costs it time.",
    "blocker": "Its id.",
    "predicted": "As a source: computed from the trace. Beside a measurement: what the trace alone predicts.",
    "terms": "What the predicted time of a form is made of, which tracelens explain FORM TRACE tells in words.",
    "formula": "The predicted step in ns, from the values beside it.",
    "decided_by": "Which side, or which rule, decides a predicted time.",
    "values": "The terms by name: ns, counts, factors. Those that the formula does not name tell what others are of.",
    "measured": "As a source: timed by a run without the profiler. Of a run: the forms that were tried.",
    "peak_mib": "Most memory that tensors held on the device while a form ran, in MiB.",
    "reserved_mib": "Most memory that the caching allocator held while a form ran, in MiB.",
    "traced_over_untraced": "How many times longer the step took under the profiler, of a measured form.",
    "outputs": "Whether a form computes what eager does: match, differ or unchecked. What differs is not advised.",
    "largest_error": "Largest difference from eager's outputs.",
    "error": "Why a form could not run.",
    "summary": "The verdict in plain sentences.",
    "among": "Where the verdict is a guess, yet surely a form pays: the forms of which one is the best, as the ranges "
    "have it, and beats the form in use. Empty where the form in use may be as fast, and where the verdict is decided.",
    "factors": "What the confidence is the product of: what the ranges tell, and what each doubt that holds leaves.",
    "decided": "Whether the verdict is more than a guess. False below a confidence of 50 %, unless all forms that may "
    "be used are measured, where no other form is known, and with abstain; then reports name the forms and not which "
    "is best.",
    "snippet": "torch code that applies the verdict.",
    "evidence": "Handles for tracelens show.",
    "advice": "The repair in PyTorch terms.",
    "rule": "Which rule found it: tracelens explain has its thresholds.",
    "title": "A finding in one sentence.",
    "origin": "Who wrote a kernel: triton, eager or library.",
    "total_ns": "Of all events of a name in the counted steps, in ns.",
    "median_ns": "Of the events of a name, in ns.",
    "device_ns": "Device time that an operator launched in the counted steps, in ns.",
    "launches": "Launch calls of an operator; as a table, all of them.",
    "kernels": "Device work of a launch; as a table, by name.",
    "operators": "The table of PyTorch operators by name.",
    "gaps": "The table of stretches in which the device runs nothing.",
    "syncs": "The table of host calls that wait for the device.",
    "handle": "Name of an event: g- gap, s- sync point, l- launch, k- device event, o- operator; over the whole trace.",
    "start_ns": "On the file's own clock, in ns.",
    "class": "Class of the account that most of a gap is in.",
    "part": "Part of the account that most of a gap is in.",
    "before": "Device event that ended last before a gap.",
    "after": "Device event that ends a gap.",
    "operator": "PyTorch operator that made a call, or filled most of a gap on the host.",
    "call": "Runtime call.",
    "busy_overlap_ns": "Of a wait, the ns in which the device worked meanwhile: they cost nothing.",
}
"""Keys of the document that are no figures."""
VALUES: Final = {
    "neither": "Verdict: no other form than the one in use pays. In words: Neither, or Keep and the form in use.",
    "abstain": "Verdict: what was recorded decides nothing. In words: No verdict, with what to record instead.",
    "manual": "Variant: torch.cuda.graph around the step, compiled before where both are used.",
    "reduce-overhead": "Variant: torch.compile(mode='reduce-overhead'), which replays what lies between graph breaks.",
    "mixed": "Form of a trace: part of its step is compiled or replayed.",
    "ok": "Trust: all checks pass.",
    "degraded": "Trust: a check failed; the confidence is lower.",
    "unusable": "Trust: a check failed beyond repair; only measurements give a verdict.",
    "profiler_step": "Window: steps marked by ProfilerStep, the calls of profiler.step().",
    "annotation": "Window: steps marked by an annotation that repeats.",
    "period": "Window: steps found by the repetition of launches; one may be a layer.",
    "single_step": "Window: one step, from its start to its last device event.",
    "whole": "Window: the whole trace as one step, as none repeats.",
    "range": "Window: the stretch that was asked for.",
    "match": "Outputs: as eager's, within the tolerance of their type.",
    "differ": "Outputs: not as eager's; the form is never advised.",
    "unchecked": "Outputs: not compared with eager's: nobody did, or no call returned a value.",
    "info": "Severity: saves less than 5 % of the step, or tells how to read the trace.",
    "warning": "Severity: saves 5 % of the step or more.",
    "critical": "Severity: saves 20 % of the step or more, or spoils the recording.",
    "triton": "Origin: generated by torch.compile.",
    "library": "Origin: cuBLAS, cuDNN, NCCL, the runtime's copies, extensions.",
    "cuda": "Vendor: NVIDIA.",
    "hip": "Vendor: AMD.",
    "xpu": "Vendor: Intel.",
    "mtia": "Vendor: Meta.",
    "hpu": "Vendor: Intel, of Gaudi.",
    "privateuse1": "Vendor: another accelerator, which joins PyTorch from outside.",
    "none": "Vendor: the trace names no device.",
}
"""What fields of the document may say."""
TRIED: Final = {
    "graph_break": "The compiler broke the graph there and left what follows to a graph of its own.",
    "recompile": "The compiler compiled the code once more, as a guard failed.",
    "cudagraph_skip": "The compiler replayed no graph, for that reason.",
    "no_graph": "The compiler was asked for the step and made no graph of it: eager's code was timed again.",
    "host_copy": "A copy between host and device in the captured step.",
    "optimizer_state": "The optimizer keeps its step counters on the host; capturable=True keeps them on the device.",
    "rng": "Random numbers from a generator that the graph does not know.",
    "autocast_cache": "Autocast's cache of cast weights, which a captured step must not use.",
    "module_hooks": "Hooks of a module that graphs of callables do not take.",
    "default_stream": "Something still uses the default stream, which a capture must not depend on.",
    "backward_outside": "The backward pass lies outside what is captured.",
    "output_overwritten": "An output of a replay was used after the next replay had overwritten it.",
    "memory": "The device ran out of memory.",
    "compile": "The compiler gave up with an error.",
    "no_cuda": "There is no device that a form needs.",
    "error": "The script failed for another reason; the message and the form's log have it.",
}
"""Blockers that an attempt to run a form found."""
FACTORS: Final = {
    "ranges": "How likely the advised form is within 5 % of each other one or faster, as their ranges have it.",
    **{
        name.lower(): f"What is left of the confidence{constant.meaning.removeprefix('Left')} Factor {constant.value}."
        for name, constant in constants("advice.choice.doubts").items()
        if constant.meaning.startswith("Left ")
    },
}
"""What the confidence is the product of: the constants of doubts.py that say what is left."""
FACE: Final = {
    "idle": "The device runs nothing: all of the account but kernel; --fail-on idle=PERCENT asks for it as recorded, "
    "what the profiler adds included.",
    "saves": "What a repair may save of a step without the profiler: saving_ms of a finding, saving_ns of a wait, "
    "from what it surely costs to what it costs if nothing else takes its place.",
    "perhaps": "The advised form may gain nothing, as the ranges before and after overlap, and the confidence is below "
    "70 %: measure before you change code.",
    "cannot tell": "The verdict is a guess, more likely wrong than right: decided is false, and the forms that it may "
    "be are named with their ranges.",
    "at a guess": "The verdict decides nothing: more likely wrong than right, or nothing to compare with. decided is "
    "false.",
    "guess": "A verdict that decides nothing: decided is false, and the forms that it may be are named.",
    "repair first": "What the repairs allow takes less at worst than any form of the step as it is at best: fix_first "
    "and after_fix.",
    "after repair": "The best form once everything under fix_first is repaired, with its range: after_fix.",
    "speed-up": "Eager's time over a form's: above 1 the form is faster.",
    "off": "How far the prediction is from the measurement beside it, of the measurement.",
    "predicted (off)": "What the trace alone predicts of a form that was measured, and how far that is off.",
    "set-up pays after": "Steps after which what a form's set-up takes beyond eager's is won back: break_even_steps.",
    "busy overlap": "Of a wait, the time in which the device worked meanwhile: busy_overlap_ns.",
    "while busy": "Of a wait, the time in which the device worked meanwhile: busy_overlap_ns.",
    "by itself": "Of a rank, the verdict of its own report, which counts its waits in; ? where that is a guess.",
    "sure": "Of a rank, the confidence of its own report.",
    "waits": "Of a rank, the ms of a step that its collectives wait for ranks that are later: tracelens ranks takes "
    "them off its times.",
    "repaired": "Of a rank, the ms of the form that its job is to run in once it is repaired, without its waits.",
    "longest": "Of the ranks of a job, the one that is the longest in the form in use, without its waits.",
    "latest": "Of the ranks of a job, the one that the others wait for.",
    "late": "Of a rank, that the others wait for it in collectives.",
    "job": "What is advised for all ranks: the keys of a recommendation with the forms and findings of the job; null "
    "without a verdict.",
    "doubt": "Of traces that are judged as ranks, what speaks against one job; null where nothing does.",
    "now": "Of the ranks of a job, the form that all of them run in.",
    "waits_ms": "Of a rank, the ms of a step that its collectives wait for ranks that are later.",
    "alone": "The forms of a rank without its waits.",
    "at": "When a gap begins, after the trace's start: start_ns less base_ns.",
    "length": "Of a gap or a call: its ns.",
    "cause": "Class and part of the account that most of a gap is in.",
}
"""Words that people read in text and tables, each with the key of the document that it shows."""
GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "A class of the account": CLASSES,
    "A key of the document": KEYS,
    "What a field says": VALUES,
    "A blocker that an attempt to run a form found": TRIED,
    "A factor of the confidence": FACTORS,
    "On a report's face": FACE,
    "A term of a predicted time": TERMS,
    "What decides a predicted time": DECIDED,
}
MADE_FROM: Final = {"idle": ("attribution.classes.kernel.ns", "attribution.window_ns")}
"""Paths in the report document of what a word's value is made from, where no key is named so."""


def words() -> dict[str, str]:
    """Every word with its meanings; one that stands for several things has all of them."""
    told: dict[str, str] = {}
    for group in GROUPS.values():
        for name, meaning in group.items():
            told[name] = f"{told[name]} {meaning}" if name in told else meaning
    return told


def groups_of(name: str) -> tuple[str, ...]:
    """What kinds of word it is."""
    return tuple(title for title, group in GROUPS.items() if name in group)
