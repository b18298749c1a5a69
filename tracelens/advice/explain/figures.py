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
            "advice.forms.eager:predict_eager", "advice.forms.eager:as_recorded",
            "advice.forms.eager:_beside_collectives", "advice.forms.host_time:host_scale",
            "advice.forms.host_time:within_scale", "advice.forms.host_time:unrecorded",
            "advice.forms.host_time:records", "advice.forms.host_time:_call", "advice.forms.host_time:_gauge",
            "advice.forms.host_time:call_gauge", "advice.device.schedule:eager_period", "advice.device.schedule",
            "advice.step.region", "analysis.typical:typical_steps",
        ),
        STEP,
    ),
    Figure(
        "compile",
        "Step time under torch.compile",
        (
            "advice.forms.compiled:predict_compile", "advice.forms.compiled:_host",
            "advice.forms.parameters:layer_tensors", "advice.forms.compiled:_device",
            "advice.compiler.fusion:compile_device", "advice.compiler.fusion", "advice.compiler.padding",
            "advice.compiler.generated", "advice.compiler.breaks", "advice.operators.stages", "advice.operators.unused",
            "advice.operators.operators", "advice.operators.functions", "advice.operators.roles", "advice.patterns",
            "advice.forms.host_time:outside_spread", "advice.forms.host_time:with_outside",
            "advice.forms.host_time:slowness",
        ),
        (*STEP, "forms.eager.step_ms"),
    ),
    Figure(
        "replay",
        "Step time when replayed as a CUDA Graph",
        (
            "advice.forms.replay:predict_replay", "advice.device.schedule:graph_spacing",
            "advice.device.schedule:device_span", "advice.device.schedule", "advice.step.dependencies:critical_path",
            "advice.device.beside:delay", "advice.device.beside", "advice.device.share:held",
            "advice.device.share:_computes", "advice.device.share:share_of_device", "advice.device.working_set",
            "advice.forms.inputs:input_copies", "advice.forms.inputs:_fitting", "advice.device.power:sustained",
            "advice.device.power", "advice.device.power:_rate", "advice.forms.host_time:with_outside",
            "advice.forms.host_time:slowness", "advice.forms.host_time:at_floor", "advice.forms.host_time:replay_floor",
            "advice.forms.host_time:launch_gauge", "advice.forms.host_time:_gauge",
            "advice.forms.host_time:_waited_for",
        ),
        STEP,
    ),
    Figure(
        "both",
        "Step time when compiled and then replayed",
        (
            "advice.forms.compiled:predict_both", "advice.forms.compiled:_no_graphs", "advice.forms.compiled:_device",
            "advice.forms.compiled:_trees", "advice.forms.host_time:at_floor", "advice.forms.host_time:replay_floor",
            "advice.compiler.fusion:compile_device", "advice.compiler.fusion", "advice.compiler.padding",
            "advice.compiler.generated", "advice.compiler.breaks", "advice.operators.stages", "advice.operators.unused",
            "advice.operators.operators", "advice.operators.functions", "advice.operators.roles", "advice.patterns",
            "advice.forms.inputs:input_copies", "advice.forms.inputs:tree_copies",
        ),
        (*STEP, "forms.compile.step_ms", "forms.replay.step_ms"),
    ),
    Figure(
        "traced",
        "Forms of a step that is compiled or replayed already",
        ("advice.forms.traced:traced_forms", "advice.forms.host_time:as_compiled"),
        ("trace.form", *STEP),
    ),
    Figure(
        "bandwidth",
        "Memory bandwidth that fused kernels reach",
        (
            "advice.device.bandwidth:streaming_bandwidth", "advice.device.bandwidth", "advice.device.roofline:slowdown",
            "advice.device.roofline",
        ),
    ),
    Figure(
        "range",
        "Low and high of a step time",
        (
            "advice.estimate:Estimate.widened", "advice.device.likeness:unlikeness", "advice.device.likeness",
            "advice.device.power:sustained", "advice.device.power:_rate",
        ),
        ("forms.*.low", "forms.*.high", "trace.devices.*"),
    ),
    Figure(
        "blocked", "What blockers leave of a form",
        (
            "advice.blockers.pieces:find_pieces",
            "advice.blockers.pieces:Blocked.left", "advice.blockers.pieces:Blocked.repeats",
            "advice.forms.forms:_functions",
            "advice.forms.forms:_perhaps_eager",
            "advice.forms.compiled:in_pieces",
            "advice.forms.forms:predict_forms",
        ),
        ("forms.*.blockers.*",),
    ),
    Figure(
        "measured", "Measured step time of a form",
        ("advice.forms.measured:measured_forms", "advice.forms.measured:beside"),
    ),
    Figure("setup_s", "Seconds to set a form up", ("advice.forms.forms:_set_up", "advice.forms.forms:_pays")),
    Figure(
        "break_even_steps", "Steps after which a form has paid", ("advice.forms.pays:with_break_even",),
        ("forms.*.setup_s", "forms.*.step_ms"),
    ),
    Figure(
        "verdict", "The verdict",
        (
            "advice.forms.verdict:choose", "advice.forms.verdict:_margin", "advice.forms.verdict:candidates",
            "advice.forms.verdict:verdict_of", "advice.choice.recommend:_chosen",
            "advice.choice.communication:comes_first",
        ),
        ("trace.form", "forms.*.step_ms", "forms.*.source", "forms.*.outputs"),
    ),
    Figure(
        "ranks", "One verdict for the ranks of a job",
        (
            "advice.choice.job:judge", "advice.choice.job:_joint", "advice.choice.rank:Rank.waits_ms",
            "advice.choice.rank:Rank.alone", "advice.choice.job:_joined", "advice.choice.job:_observed",
            "advice.choice.job:_latest", "advice.choice.job_findings:findings_of",
            "advice.choice.one_job:kinship", "advice.choice.one_job:_alike",
        ),
        ("trace.rank", "trace.world_size", "forms.*.step_ms"),
    ),
    Figure(
        "speedup", "Speed-up of the advised form", ("advice.forms.verdict:speedup",),
        ("recommendation.verdict", "forms.*.step_ms", "forms.*.low", "forms.*.high"),
    ),
    Figure(
        "confidence",
        "Confidence of the verdict",
        (
            "advice.choice.doubts", "advice.forms.verdict:is_decided", "advice.forms.verdict:confidence",
            "advice.forms.verdict:_no_worse", "advice.forms.verdict:_sigma", "advice.forms.verdict:_is_same_work",
            "advice.device.roofline:are_rates_doubtful", "advice.device.roofline:contradictions",
            "advice.device.roofline:unexplained_ns",
        ),
        (
            "recommendation.factors.*", "recommendation.decided", "trust.level", "window.kind", "trace.form",
            "forms.*.step_ms", "forms.*.low", "forms.*.high", "forms.*.source",
        ),
    ),
    Figure(
        "abstain", "When there is no verdict", ("advice.advising:advise", "advice.advising:_too_little"),
        ("trust.level", "recommendation.summary"),
    ),
    Figure(
        "after_fix", "Step time after the repairs",
        ("advice.choice.recommend:_after_fix", "advice.forms.forms:repaired"),
        ("recommendation.fix_first.*",),
    ),
    Figure("fix_first", "What to repair first", ("advice.choice.recommend:_first",)),
    Figure(
        "saving_ms",
        "Saving of a finding",
        ("advice.rules:_worth", "advice.rules.rule:host_saving_ms", "advice.rules.rule:per_step_ms"),
    ),
    Figure(
        "severity", "Severity of a finding", ("advice.rules.rule:severity", "advice.choice.first:raised"),
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
