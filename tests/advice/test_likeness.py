"""Ranges widen away from the device and the release that the predictions were measured on, and the report says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.advice.story import analysis, pointwise
from tracelens.advice import advise
from tracelens.advice.likeness import differences, unlikeness
from tracelens.advice.results import Advice
from tracelens.model.events import Device, Trace

STEP = [pointwise(2, host=30)] * 40


def on(device: str, vendor: str = "cuda", cuda: object = 13000) -> tuple[Trace, Advice]:
    """The same step, recorded elsewhere."""
    found = analysis(*STEP)
    devices = tuple(Device(known.id, device) for known in found.trace.devices)
    trace = replace(found.trace, vendor=vendor, devices=devices, metadata={"cuda_runtime_version": cuda})
    return trace, advise(replace(found, trace=trace))


def width(advice: Advice, form: str) -> float:
    found = advice.forms[form]
    assert found.low is not None
    assert found.high is not None
    return found.high / found.low


def told(advice: Advice) -> list[str]:
    return [finding.title for finding in advice.findings if finding.rule == "uncalibrated"]


def test_nothing_widens_where_predictions_were_measured() -> None:
    trace, advice = on("NVIDIA H200")
    assert unlikeness(trace, "NVIDIA H200") == 1
    assert told(advice) == []


@pytest.mark.parametrize(
    ("device", "vendor", "cuda", "words"),
    [
        ("NVIDIA A100-SXM4-80GB", "cuda", 13000, "NVIDIA A100-SXM4-80GB instead of an NVIDIA H200"),
        ("NVIDIA H200", "cuda", 12060, "CUDA 12 instead of 13"),
        ("AMD Instinct MI300X", "hip", 0, "AMD Instinct MI300X instead of an NVIDIA H200"),
    ],
)
def test_ranges_widen_elsewhere_and_say_why(device: str, vendor: str, cuda: int, words: str) -> None:
    trace, elsewhere = on(device, vendor, cuda)
    assert unlikeness(trace, device) > 1
    assert all(width(elsewhere, form) > width(on("NVIDIA H200")[1], form) for form in ("compile", "replay", "both"))
    assert told(elsewhere) == [f"Ranges are wider: predicted for {words}"]


def test_differences_add_up() -> None:
    trace, _ = on("Tesla T4", cuda=12040)
    both = unlikeness(trace, "Tesla T4")
    assert both > max(unlikeness(trace, "NVIDIA H200"), unlikeness(on("Tesla T4")[0], "Tesla T4"))
    assert len(differences(trace, "Tesla T4")) == 2


@pytest.mark.parametrize("given", [None, "", "thirteen", [], -1, 10**30, 7])
def test_a_release_that_makes_no_sense_is_none(given: object) -> None:
    trace, _ = on("NVIDIA H200", cuda=given)
    assert differences(trace, "NVIDIA H200") == ()
