"""The host does not launch fast enough, or does something else."""

from __future__ import annotations

from typing import Final

from tests.advice.cases.beats import graph, inside, on_host, optimizer, pause, served
from tests.advice.cases.case import Case, advice_of, case, saving_of, step_ms
from tests.advice.story import Beat, at_step, gemm, op, pointwise

ATTENTION = op("aten::_flash_attention_forward", 4, kernel="flash_fwd_kernel", host=30)
CONVOLUTION = "volta_scudnn_128x64_relu_interior_nn_v1"
MIXED: Final = [gemm(3, 64, host=30), *[pointwise(2, host=30)] * 3] * 20
LIBRARY: Final = [gemm(3, 64, host=30), ATTENTION] * 40
HOST_BOUND: Final = {
    "facebookresearch/sam2#768": ("1185 kernels for 14 % of the step, no wait", LIBRARY, "replay"),
    "vllm-project/vllm-omni#4204": ("a third of a decode step between operators", LIBRARY, "replay"),
    "predibase/lorax#154": ("decode steps of short library kernels", LIBRARY, "replay"),
    "pytorch/torchtitan#2373": ("decode gains 3.8x by replay without Inductor", LIBRARY, "replay"),
    "haifeng-jin/keras-benchmarks#1": ("a BERT of short kernels", MIXED, "both"),
    "huggingface/transformers#34923": ("generate() at batch 1", MIXED, "both"),
    "gpt-fast": ("a 7B model at batch 1, bound by the host", MIXED, "both"),
    "meta-pytorch/LeanRL": ("small networks in a reinforcement-learning loop", MIXED, "both"),
    "BERT-small and a ViT on an H100": ("8 % busy, one launch at a time", MIXED, "replay|both"),
}


def batch(size: float) -> list[Beat]:
    """A step of library kernels whose time grows with the batch; the host's does not."""
    return [op("aten::cudnn_convolution", size, kernel=CONVOLUTION, host=30)] * 100


CASES: Final[list[Case]] = [
    *(
        case(source, told, *beats, verdict=verdict, tells="host_bound_dispatch")
        for source, (told, beats, verdict) in HOST_BOUND.items()
    ),
    case(
        "LLaMA-2-7B: compile or replay, 30 -> 69 tokens/s",
        "the same gain, minutes against a second to set up",
        *MIXED,
        verdict="replay|both",
        also=lambda a, d: (d.forms["both"].setup_s or 0) > 10 * (d.forms["replay"].setup_s or 1),
    ),
    *(
        case(
            "pytorch/benchmark#706", f"flat until the device takes over: {us} us a kernel", *batch(us), verdict=verdict
        )
        for us, verdict in ((3, "replay"), (8, "replay"), (30, "neither"), (90, "neither"))
    ),
    case(
        "sparkinfer#800",
        "a thousand gaps of 2 us: at most a few percent",
        *[gemm(33, 1024)] * 100,
        verdict="neither|replay",
        silent="host_bound_dispatch",
        also=lambda a, d: 0.9 < step_ms(d, "replay") / step_ms(d, "eager") < 1.05,
    ),
    case(
        "pytorch/kineto#325",
        "512 tiny layers recorded with shapes and stack",
        *[gemm(2, 64, host=40)] * 512,
        verdict="replay|both",
        steps=3,
        also=lambda a, d: step_ms(d, "eager") < 0.8e-6 * a.window.length / len(a.window.tiles),
    ),
    case(
        "pytorch/pytorch#82793",
        "43 % idle under the profiler, none without",
        *[gemm(30, 256, host=44)] * 100,
        verdict="neither|compile",
        tells="profiler_idle",
        silent="host_bound_dispatch",
    ),
    case(
        "pytorch/pytorch#195746",
        "each operator inside one of its name: a dispatch mode",
        *[inside("aten::add", pointwise(2, host=30))] * 40,
        verdict="replay|both",
        tells="doubled_operators",
    ),
    case(
        "pytorch/pytorch#134191",
        "an optimizer under a debugger",
        *MIXED,
        optimizer(
            *[inside("pydevd_bundle/pydevd_frame.py(12): trace_dispatch", pointwise(1, host=60), kind="python")] * 60
        ),
        verdict="replay|both",
        tells="debugger optimizer_loop",
    ),
    case(
        "deepmodeling/deepmd-kit#4463",
        "an unfused Adam: 2.75 times faster, 3 % of the step",
        *served(*[gemm(300)] * 40, then=[optimizer(*[pointwise(1, host=20)] * 60)]),
        verdict="neither|both|compile",
        tells="optimizer_loop",
        also=lambda a, d: saving_of(d, "optimizer_loop") < 0.12 * step_ms(d, "eager"),
    ),
    # -- the host does something else -----------------------------------------------------------------------
    case(
        "OWLv2 on an H100",
        "four gaps of 122 ms after a copy, in scipy's zoom",
        *served(*[gemm(200)] * 40, then=[pause(20_000, "scipy/ndimage/_interpolation.py(690): zoom")]),
        verdict="neither",
        tells="host_work",
        silent="host_bound_dispatch sync_points",
        first="outside_work",
        also=lambda a, d: "zoom" in next(f.title for f in d.findings if f.rule == "host_work"),
    ),
    case(
        "vllm-project/vllm#52297",
        "900 us of Python between replays",
        *served(graph(60, 20), then=[pause(900)]),
        verdict="neither",
        tells="host_work",
    ),
    case(
        "wuklab: scheduling overhead",
        "the scheduler takes half of the iteration",
        *served(*[gemm(50, 1024)] * 40, then=[pause(2500)]),
        verdict="neither|replay",
        tells="host_work",
        first="outside_work",
    ),
    case(
        "gty111/gLLM#148",
        "20 ms of messages between replays",
        *served(graph(100, 20), then=[pause(20_000)]),
        verdict="neither",
        tells="host_work",
        silent="host_bound_dispatch",
    ),
    case(
        "GeeeekExplorer/nano-vllm#175",
        "allocation and copies on the host between replays",
        *served(graph(20, 10), then=[on_host("aten::empty", 20), on_host("aten::copy_", 25)] * 8),
        verdict="neither",
        tells="host_bound_dispatch",
        also=lambda a, d: "out from between the replays" in advice_of(d, "host_bound_dispatch"),
    ),
    case(
        "vllm-project/vllm#44363",
        "one step in several is late: a full collection",
        *served(*[gemm(50, 1024)] * 20, then=[at_step(2, pause(40_000))]),
        verdict="neither|replay|compile",
        steps=7,
        tells="host_pause",
        silent="host_work",
    ),
    case(
        "sgl-project/sglang#28067",
        "gc.collect in a decode step",
        *served(*[gemm(50, 1024)] * 20, then=[at_step(2, pause(41_000, "<built-in function collect>"))]),
        verdict="neither|replay|compile",
        steps=7,
        tells="host_pause",
    ),
]
