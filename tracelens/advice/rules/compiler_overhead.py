"""Guards and wrappers of compiled code hold up the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence, recompilation
from tracelens.advice.rules.lost_time import lost_time
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis
from tracelens.model.forms import REPLAYED

SHARE: Final = 0.05
"""Share of the window in guards and wrappers. [a cache look-up takes 0.3 to 5.6 ms for large models: 5 % of a prefill
of 41 ms, all of a decode step of 2 ms]"""
OF_A_REPLAY: Final = (
    "Replay covers the kernels but not the entry: capture the compiled step by hand (torch.cuda.graph) so that no "
    "guard runs, or compile fewer and larger regions."
)
OF_COMPILED_CODE: Final = (
    "Replay the compiled step as a CUDA Graph, so that neither guards nor wrappers run. Or enter less: compile a "
    "larger region; drop guards with torch.compile(options={'guard_filter_fn': ...}); leave a region of one or two "
    "kernels eager."
)


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires where the device idles during cache look-ups and wrappers; silent where the compiler itself runs."""
    if len(evidence.spans(analysis, recompilation.COMPILING)):
        return None
    return lost_time(
        analysis,
        forms,
        RULE.id,
        "dispatch.compiler",
        SHARE,
        "Guards and wrappers of compiled code hold up the device for {share} of the traced time",
        OF_A_REPLAY if analysis.form in REPLAYED else OF_COMPILED_CODE,
    )


RULE: Final = Rule(
    "compiler_overhead",
    "Overhead of compiled regions",
    "Each entry into compiled code looks up its guards and runs wrappers of AOTAutograd and Inductor: a nearly "
    "constant cost per region, whatever it computes. It hides while the device is busy and counts in full where it is "
    "not.",
    "https://pytorch.org/docs/stable/torch.compiler_dynamo_overview.html",
    check,
    fix="cut guards and wrappers",
)
