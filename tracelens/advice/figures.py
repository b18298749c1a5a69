"""Figures of a report and the functions that compute them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Figure:
    """A number or word that reports show."""

    id: str
    title: str
    computed_by: tuple[str, ...]
    """Functions as "module:name", the one that gives the figure first; a module alone stands for all of it."""
    inputs: tuple[str, ...] = ()
    """Paths in the report document of the numbers that it is made from, "*" for any key."""


STEP: Final = (
    "window.steps", "window.step_ms.median", "attribution.window_ns", "attribution.classes.*.ns", "table_rows.*",
)  # fmt: skip
"""The recorded step."""
FIGURES: Final = (
    Figure(
        "eager",
        "Step time in eager mode",
        (
            "advice.eager:predict_eager", "advice.eager:as_recorded", "advice.host_time:host_scale",
            "advice.host_time:within_scale", "advice.host_time:unrecorded", "advice.host_time:records",
            "advice.host_time:_call", "advice.host_time:launch_gauge",
            "advice.host_time:call_gauge", "advice.schedule:eager_period", "advice.schedule", "advice.region",
            "analysis.typical:typical_steps",
        ),
        STEP,
    ),
    Figure(
        "compile",
        "Step time under torch.compile",
        (
            "advice.compiled:predict_compile", "advice.compiled:_host", "advice.parameters:layer_tensors",
            "advice.compiled:_device",
            "advice.fusion:compile_device", "advice.fusion", "advice.padding", "advice.generated",
            "advice.breaks", "advice.stages", "advice.unused",
            "advice.operators", "advice.roles", "advice.patterns",
            "advice.host_time:_least_outside", "advice.host_time:with_outside", "advice.host_time:slowness",
        ),
        (*STEP, "forms.eager.step_ms"),
    ),
    Figure(
        "replay",
        "Step time when replayed as a CUDA Graph",
        (
            "advice.replay:predict_replay", "advice.schedule:graph_spacing", "advice.schedule:device_span",
            "advice.schedule", "advice.dependencies:critical_path", "advice.beside:delay", "advice.beside",
            "advice.share:held", "advice.share:_computes", "advice.share:share_of_device", "advice.working_set",
            "advice.inputs:input_copies", "advice.power:sustained", "advice.power",
            "advice.host_time:with_outside", "advice.host_time:slowness", "advice.host_time:at_floor",
            "advice.host_time:replay_floor",
        ),
        STEP,
    ),
    Figure(
        "both",
        "Step time when compiled and then replayed",
        (
            "advice.compiled:predict_both", "advice.compiled:_no_graphs", "advice.compiled:_device",
            "advice.compiled:_trees", "advice.host_time:at_floor", "advice.host_time:replay_floor",
            "advice.fusion:compile_device", "advice.fusion", "advice.padding", "advice.generated", "advice.breaks",
            "advice.stages", "advice.unused", "advice.operators",
            "advice.roles", "advice.patterns", "advice.inputs:input_copies", "advice.inputs:tree_copies",
        ),
        (*STEP, "forms.compile.step_ms", "forms.replay.step_ms"),
    ),
    Figure(
        "traced",
        "Forms of a step that is compiled or replayed already",
        ("advice.traced:traced_forms", "advice.host_time:as_compiled"),
        ("trace.form", *STEP),
    ),
    Figure(
        "bandwidth",
        "Memory bandwidth that fused kernels reach",
        ("advice.bandwidth:streaming_bandwidth", "advice.bandwidth", "advice.roofline:slowdown", "advice.roofline"),
    ),
    Figure(
        "range",
        "Low and high of a step time",
        ("advice.estimate:Estimate.widened", "advice.likeness:unlikeness", "advice.likeness", "advice.power:sustained"),
        ("forms.*.low", "forms.*.high", "trace.devices.*"),
    ),
    Figure(
        "blocked", "What blockers leave of a form",
        (
            "advice.pieces:find_pieces",
            "advice.pieces:Blocked.left", "advice.pieces:Blocked.repeats",
            "advice.forms:_functions",
            "advice.forms:_perhaps_eager",
            "advice.compiled:in_pieces",
            "advice.forms:predict_forms",
        ),
        ("forms.*.blockers.*",),
    ),
    Figure("measured", "Measured step time of a form", ("advice.measured:measured_forms", "advice.measured:beside")),
    Figure("setup_s", "Seconds to set a form up", ("advice.forms:_set_up", "advice.forms:_pays")),
    Figure(
        "break_even_steps", "Steps after which a form has paid", ("advice.pays:with_break_even",),
        ("forms.*.setup_s", "forms.*.step_ms"),
    ),
    Figure(
        "verdict", "The verdict",
        (
            "advice.verdict:choose", "advice.verdict:_margin", "advice.verdict:candidates", "advice.verdict:verdict_of",
            "advice.recommend:_chosen", "advice.communication:comes_first",
        ),
        ("trace.form", "forms.*.step_ms", "forms.*.source", "forms.*.outputs"),
    ),
    Figure(
        "speedup", "Speed-up of the advised form", ("advice.verdict:speedup",),
        ("recommendation.verdict", "forms.*.step_ms", "forms.*.low", "forms.*.high"),
    ),
    Figure(
        "confidence",
        "Confidence of the verdict",
        (
            "advice.doubts", "advice.verdict:is_decided", "advice.verdict:confidence", "advice.verdict:_no_worse",
            "advice.verdict:_sigma", "advice.verdict:_is_same_work", "advice.roofline:are_rates_doubtful",
            "advice.roofline:contradictions", "advice.roofline:unexplained_ns",
        ),
        (
            "recommendation.factors.*", "recommendation.decided", "trust.level", "window.kind", "trace.form",
            "forms.*.step_ms", "forms.*.low", "forms.*.high", "forms.*.source",
        ),
    ),
    Figure(
        "abstain", "When there is no verdict", ("advice.advise:advise", "advice.advise:_too_little"),
        ("trust.level", "recommendation.summary"),
    ),
    Figure(
        "after_fix", "Step time after the repairs", ("advice.recommend:_after_fix", "advice.forms:repaired"),
        ("recommendation.fix_first.*",),
    ),
    Figure("fix_first", "What to repair first", ("advice.recommend:_first",)),
    Figure(
        "saving_ms",
        "Saving of a finding",
        ("advice.rules:_worth", "advice.rules.rule:host_saving_ms", "advice.rules.rule:per_step_ms"),
    ),
    Figure(
        "severity", "Severity of a finding", ("advice.rules.rule:severity", "advice.first:raised"),
        ("findings.*", "forms.*.step_ms"),
    ),
    Figure("window", "The steps that are counted", ("analysis.steps:find_steps", "analysis.steps:_warm_up")),
    Figure("form", "Form that the trace's step has already", ("analysis.form:find_form",)),
    Figure("busy_ns", "Time in which a device runs anything", ("analysis.extent:busy_ns",)),
    Figure(
        "saving_ns",
        "What a sync point may save",
        ("analysis.tables.syncs:sync_costs", "analysis.tables.syncs:_hidden"),
    ),
    Figure("latency_ns", "Launch to start", ("analysis.tables.launches:launch_table",)),
    Figure("host_ns", "Host time of an operator", ("analysis.tables.operators:self_ns",)),
    Figure("share", "Share of the device time", ("analysis.tables.kernels:kernel_table",)),
    Figure("kind", "Kind of a kernel", ("analysis.kinds:kernel_kind",)),
)  # fmt: skip
