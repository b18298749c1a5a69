"""Ranges widen away from the device and the release that the predictions were measured on, and the report says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.advice.story import Beat, analysis, facts, gemm, pointwise
from tracelens.advice import advise
from tracelens.advice.compiler.fusion import compile_device
from tracelens.advice.device.bandwidth import part_of
from tracelens.advice.device.likeness import differences, is_calibrated, unlikeness
from tracelens.advice.results import Advice
from tracelens.model.events import Device, Trace

H200 = Device(0, "NVIDIA H200")
STEP = [pointwise(2, host=30)] * 40


def on(
    device: str, vendor: str = "cuda", cuda: object = 13000, step: list[Beat] = STEP, **properties: object
) -> tuple[Trace, Advice]:
    """The same step, recorded elsewhere."""
    found = analysis(*step)
    devices = tuple(Device(known.id, device, properties) for known in found.trace.devices)
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
    assert unlikeness(trace, H200) == 1
    assert told(advice) == []


@pytest.mark.parametrize(
    ("device", "vendor", "cuda", "words"),
    [
        ("NVIDIA A100-SXM4-80GB", "cuda", 13000, "NVIDIA A100-SXM4-80GB instead of an NVIDIA H200"),
        ("NVIDIA H200", "cuda", 12060, "CUDA 12 instead of 13"),
        ("AMD Instinct MI300X", "hip", 0, "AMD Instinct MI300X instead of an NVIDIA H200"),
        ("", "hip", 0, "an unnamed hip device instead of an NVIDIA H200"),
    ],
)
def test_ranges_widen_elsewhere_and_say_why(device: str, vendor: str, cuda: int, words: str) -> None:
    trace, elsewhere = on(device, vendor, cuda)
    assert unlikeness(trace, trace.devices[0]) > 1
    assert all(width(elsewhere, form) > width(on("NVIDIA H200")[1], form) for form in ("compile", "replay", "both"))
    assert told(elsewhere) == [f"Ranges are wider: predicted for {words}"]


def test_differences_add_up() -> None:
    trace, _ = on("Tesla T4", cuda=12040)
    both = unlikeness(trace, trace.devices[0])
    assert both > max(unlikeness(trace, H200), unlikeness(on("Tesla T4")[0], trace.devices[0]))
    assert len(differences(trace, trace.devices[0])) == 2


@pytest.mark.parametrize("given", [None, "", "thirteen", [], -1, 10**30, 7])
def test_a_release_that_makes_no_sense_is_none(given: object) -> None:
    trace, _ = on("NVIDIA H200", cuda=given)
    assert differences(trace, H200) == ()


@pytest.mark.parametrize(
    ("name", "multiprocessors", "share"),
    [
        ("NVIDIA H200", 132, 1),
        ("NVIDIA H200", 16, 16 / 132),
        ("NVIDIA H200 MIG 1g.18gb", 16, 16 / 132),
        ("NVIDIA H200 MIG 2g.35gb", None, 2 / 7),
        ("NVIDIA A100-SXM4-80GB", 108, 1),
        ("AMD Instinct MI300X", 38, 1 / 8),
        ("something", 16, 1),
        ("NVIDIA H200", "many", 1),
    ],
)
def test_a_slice_of_a_device_is_told_by_its_multiprocessors(name: str, multiprocessors: object, share: float) -> None:
    device = Device(0, name, {"numSms": multiprocessors})
    assert part_of(device) == pytest.approx(share)
    assert is_calibrated(device) == ("H200" in name and share == 1)


def test_a_slice_moves_less_and_is_no_calibrated_device() -> None:
    large = [pointwise(100, 1 << 24)] * 10
    _, whole = on("NVIDIA H200", step=large, numSms=132)
    _, part = on("NVIDIA H200 MIG 1g.18gb", step=large, numSms=16)
    assert part.forms["both"].step_ms > 4 * whole.forms["both"].step_ms
    assert part.recommendation.confidence < 0.7 < whole.recommendation.confidence
    (title,) = told(part)
    assert (
        title
        == "Ranges are wider: predicted for NVIDIA H200 MIG 1g.18gb (12 % of a whole one) instead of an NVIDIA H200"
    )


def test_kernels_that_all_run_too_slowly_slow_what_is_fused_of_them() -> None:
    """Three tensors of 64 MB take an H200 50 us."""
    usual, slow = (on("NVIDIA H200", step=[pointwise(us, 1 << 24)] * 10)[1] for us in (50, 500))
    assert slow.forms["both"].step_ms > 4 * usual.forms["both"].step_ms
    assert slow.recommendation.confidence < 0.7 < usual.recommendation.confidence
    assert told(usual) == []
    assert "pointwise kernels that take 8" in told(slow)[0]


def test_a_least_time_of_tiny_kernels_is_no_slow_memory() -> None:
    """3 x 1024 floats are 12 kB: next to nothing; three tensors of 64 MB take an A100 about 150 us."""
    tiny = [pointwise(4.7, 1024, host=30)] * 20
    assert "as long as" not in told(on("NVIDIA A100-SXM4-40GB", step=tiny)[1])[0]
    slow = told(on("NVIDIA A100-SXM4-40GB", step=[*tiny[:5], *[pointwise(1_500, 1 << 24)] * 20])[1])[0]
    assert "x as long as NVIDIA A100-SXM4-40GB moves their bytes" in slow


def test_a_kernel_that_no_traffic_explains_may_stay_as_it_is() -> None:
    _, found = on("NVIDIA H200", step=[*[pointwise(1.2, 1024, host=30)] * 40, pointwise(20_000, 1024, host=30)])
    assert found.forms["both"].high > 20
    assert found.recommendation.confidence < 0.7
    assert "kernels that take over 20 x as long" in told(found)[0]


@pytest.mark.parametrize(("device", "least"), [("NVIDIA A100-SXM4-80GB", 3_000.0), ("NVIDIA H200", 1_100.0)])
def test_no_generated_kernel_is_shorter_elsewhere_than_the_short_ones_of_the_trace(device: str, least: float) -> None:
    wrong, fused = pointwise(0.3, host=30), [pointwise(3, host=30), pointwise(5, host=30), gemm(10)]
    made = compile_device(facts(wrong, *fused * 20, deviceProperties=[{"id": 0, "name": device}]))
    assert made.generated == pytest.approx(least * made.generated_kernels, rel=0.1)
