"""Kernels that only move memory and could be fused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tracelens.advice.device.facts import Facts, facts_of
from tracelens.advice.forms.verdict import candidates, choose
from tracelens.advice.results import Finding, Form
from tracelens.advice.rules.rule import EVIDENCE, WARNING, Rule, device_ms, now_ms, severity
from tracelens.analysis.results import Analysis
from tracelens.model.forms import COMPILED
from tracelens.model.units import NS_PER_MS, share

LEAST: Final = 0.03
"""Share of the best time without fusion that fusion must save. [what makes a form worth its trouble]"""
SHARE: Final = 0.3
"""Share of the kernel time in fusable kernels from which that is worth a word whatever it saves. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires where fusing kernels, as the compiler's prediction has them, makes some form faster than all without, and
    saves as much as a warning does or much of the device time is in such kernels."""
    facts = facts_of(analysis) if _pays(forms) else None
    if facts is None:
        return None
    part, saving, now = facts.fusable_share, _saving(forms, facts), now_ms(analysis, forms)
    if part < SHARE and not (saving and now and saving >= WARNING * now):
        return None
    of_step = min(device_ms(analysis) / now, 1.0) if now else analysis.attribution.share("kernel")
    kernels, rows = analysis.tables["kernels"], facts.region.work[facts.fusable]
    names = {analysis.trace.names[name] for name in np.unique(analysis.trace.events.name[rows]).tolist()}
    fusable = kernels.take(np.array([name in names for name in kernels["name"]], dtype=np.bool_))
    return Finding(
        RULE.id,
        severity(part * of_step),
        f"{share(part)} of the device time is in kernels that torch.compile can fuse",
        saving,
        tuple(fusable.first(EVIDENCE)["example"]),
        "Compile the region: chains of pointwise operators and normalisations become one pass over memory.",
    )


def _pays(forms: Mapping[str, Form]) -> bool:
    """Whether the faster of compile and both beats eager and replay by LEAST, and is not too little faster to use."""
    fused, plain = _times(forms, *COMPILED), _times(forms, "eager", "replay")
    return bool(fused and plain) and min(fused) <= (1 - LEAST) * min(plain) and choose(forms) in COMPILED


def _saving(forms: Mapping[str, Form], facts: Facts) -> float | None:
    """Ms between forms that differ by fusion alone: replay and both, else eager and compile, and of that what the
    kernels take less; None where they do not tell."""
    for pair in (("replay", "both"), ("eager", "compile")):
        times = _times(forms, *pair)
        if len(times) == 2 and times[1] < times[0]:
            return max(min(times[0] - times[1], _shorter(forms[pair[1]], facts)), 0.0)
    return None


def _shorter(fused: Form, facts: Facts) -> float:
    """Ms that the generated kernels take less than those that they replace, as the form's prediction has them; where
    there is none all of the kernels that can fuse."""
    values = fused.terms.values if fused.terms else dict[str, float]()
    if "replaced_ns" in values:
        return (values["replaced_ns"] - values["generated_ns"]) / NS_PER_MS
    return facts.fusable_share * float(facts.region.duration.sum()) / NS_PER_MS


def _times(forms: Mapping[str, Form], *names: str) -> list[float]:
    known = candidates(forms)
    return [step for name in names if name in known and (step := known[name].step_ms) is not None]


RULE: Final = Rule(
    "fusable_chains",
    "Fusable chains",
    "Each pointwise kernel reads and writes its tensors once; fused, a chain does so once in all. The saving is "
    "replay's time less that of both, else eager's less that of compile; of this at most what the kernels take less.",
    "https://pytorch.org/docs/stable/torch.compiler.html",
    check,
    compares=True,
    expects=True,
    less_work=True,
)
