"""The rules on real traces: the values of an independent study on fourteen."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.analysis.accounts import account, flat
from tests.reference import reference_traces
from tracelens.analysis.extent import device_ids
from tracelens.analysis.steps import find_steps
from tracelens.loading import load_trace
from tracelens.model.events import Trace

STUDY: dict[str, dict[str, int]] = {
    "rmsnorm_item_branch.eager": {
        "kernel.compute": 1400652,
        "kernel.copy": 91995,
        "dispatch.framework": 7775129,
        "dispatch.python": 3244875,
        "launch.api": 5510956,
        "launch.latency": 1270613,
        "sync.wait": 277604,
        "sync.refill": 91539,
    },
    "moe_dynamic_routing.eager": {
        "kernel.compute": 4821824,
        "kernel.copy": 220100,
        "dispatch.framework": 11013543,
        "dispatch.python": 3085677,
        "launch.api": 6200572,
        "launch.latency": 2589113,
        "sync.wait": 441912,
        "sync.refill": 180020,
        "device.spacing": 137777,
    },
    "host_logging_print.eager": {
        "kernel.compute": 735489,
        "kernel.copy": 70044,
        "dispatch.framework": 3633725,
        "dispatch.python": 1789559,
        "launch.api": 1405234,
        "launch.latency": 342066,
        "sync.wait": 201226,
        "sync.refill": 68878,
        "device.spacing": 23931,
    },
    "pageable_h2d.eager": {
        "kernel.compute": 3025038,
        "kernel.copy": 31689774,
        "dispatch.framework": 605129,
        "dispatch.python": 233710,
        "launch.api": 228710,
        "launch.latency": 273,
        "sync.wait": 23897,
        "sync.refill": 42675,
        "device.spacing": 10144,
        "unknown.unlinked": 1888,
    },
    "tl_mi300_ddp_resnet18": {
        "kernel.compute": 358908852,
        "kernel.copy": 31545,
        "dispatch.framework": 13215831,
        "dispatch.python": 4773692,
        "dispatch.allocator": 3005795803,
        "launch.api": 2649894,
        "launch.latency": 5923490,
        "sync.wait": 2231,
        "sync.refill": 16259,
        "device.spacing": 32044,
    },
    # The study took this profiler's ProfilerStep, recorded as an operator, for framework: 2877000 of python.
    "kin_gpu_metrics_input": {
        "kernel.compute": 48000,
        "kernel.copy": 2000,
        "dispatch.framework": 11271000 - 2877000,
        "dispatch.python": 2877000,
        "launch.api": 572000,
        "launch.latency": 42000,
        "sync.wait": 9000,
        "sync.refill": 2000,
    },
    "st_switch_d": {
        "kernel.compute": 11098000,
        "kernel.copy": 68000,
        "dispatch.framework": 19798000,
        "dispatch.python": 5491000,
        "dispatch.allocator": 15634000,
        "launch.api": 2034000,
        "launch.latency": 3734000,
        "launch.loading": 132192000,
        "sync.wait": 101000,
        "sync.refill": 203000,
        "device.spacing": 385000,
        "device.dependency": 329000,
        "unknown.stalled": 6021000,
    },
    "tl_mi300_sglang_prefilldecode": {
        "kernel.compute": 492768906,
        "kernel.copy": 37971,
        "dispatch.framework": 601444,
        "dispatch.python": 355377,
        "launch.api": 162121,
        "launch.latency": 186134,
        "sync.wait": 5177,
        "sync.refill": 32123,
        "device.spacing": 513,
        "unknown.stalled": 493139121,
    },
    # The study took what the data loader's own operators take, 140000, for framework.
    "hta_tracediff_test_v100": {
        "kernel.compute": 548148000,
        "kernel.communication": 73298000,
        "kernel.copy": 96497000,
        "dispatch.input": 247000 + 140000,
        "launch.api": 48000,
        "launch.latency": 16000,
        "device.spacing": 18834000,
        "device.in_graph": 7472000,
        "unknown.unlinked": 539000,
    },
    "tl_b300_moe_top1": {
        "kernel.compute": 489314,
        "dispatch.framework": 35641,
        "dispatch.python": 20607,
        "launch.api": 28832,
        "launch.latency": 24593,
        "sync.wait": 6765,
        "sync.refill": 57176,
        "device.spacing": 25457,
    },
    "mlp_small_b1.replay": {
        "kernel.compute": 106461,
        "kernel.copy": 3232,
        "dispatch.framework": 15741,
        "dispatch.python": 21875,
        "launch.api": 14437,
        "launch.latency": 3188,
        "launch.graph": 96310,
        "device.spacing": 1344,
        "device.in_graph": 17187,
    },
    # The study called 15662 of a 2 ms launch call loading; its kernel was not new, the profiler filled the call.
    "train_forloop_adam.eager_stack": {
        "kernel.compute": 11625595,
        "kernel.copy": 131093,
        "dispatch.framework": 102714931,
        "dispatch.python": 13153266,
        "launch.api": 46546277 + 15662,
        "launch.latency": 17385969,
        "device.spacing": 192314,
        "unknown.profiler": 2097737,
    },
    "hta_triton_example": {"kernel.compute": 1760},
}
"""ns of each part over the device's first to last event."""

DEVICE_STEPS: dict[str, list[int]] = {
    "rmsnorm_item_branch.eager": [5027208, 4964457, 4884265],
    "moe_dynamic_routing.eager": [7420506, 7259833, 7124347],
    "host_logging_print.eager": [2298129, 1999506, 2027538],
    "pageable_h2d.eager": [8509168, 8668112, 9181388],
    "hta_tracediff_test_v100": [100079000, 122214000, 166690000, 81821000, 107217000],
    "mlp_small_b1.replay": [92991, 69600, 60000],
    "train_forloop_adam.eager_stack": [49772367, 44467022, 45365799],
}
"""ns of each device step, a warm-up at the head included."""


def name_of(path: Path) -> str:
    return path.name.partition(".json")[0]


def traces(*names: str) -> list[Path]:
    return [path for path in reference_traces("public", "h200") if name_of(path) in names]


@functools.lru_cache(maxsize=64)
def loaded(path: Path) -> Trace:
    return load_trace(path)


def busiest(path: Path) -> tuple[Trace, int]:
    trace = loaded(path)
    return trace, device_ids(trace)[0]


@pytest.mark.parametrize("path", traces(*STUDY), ids=name_of)
def test_parts_are_those_of_the_study(path: Path) -> None:
    assert flat(account(*busiest(path))) == STUDY[name_of(path)]


@pytest.mark.parametrize("path", traces("tl_mi300_flux_capture"), ids=name_of)
def test_generated_wrappers_and_function_look_ups_are_told_from_operators(path: Path) -> None:
    """The study left 7768566 of triton_* wrappers in framework, and 20835 of looking up functions."""
    parts = flat(account(*busiest(path)))
    assert parts["dispatch.compiler"] == 266250318 + 7768566
    host = parts["dispatch.framework"] + parts["dispatch.compiler"] + parts.get("launch.loading", 0)
    assert host == 29476653 + 266250318
    assert parts["sync.refill"] == 12096249


@pytest.mark.parametrize("path", traces(*DEVICE_STEPS), ids=name_of)
def test_device_steps_are_those_of_the_study(path: Path) -> None:
    tiles = find_steps(*busiest(path)).window.tiles
    lengths = (tiles[:, 1] - tiles[:, 0]).tolist()
    assert lengths in (DEVICE_STEPS[name_of(path)], DEVICE_STEPS[name_of(path)][1:])
