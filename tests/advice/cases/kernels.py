"""The device is the limit: what fuses, what stays, and what a graph changes."""

from __future__ import annotations

from typing import Final

from tests.advice.cases.beats import copied, graph, inside
from tests.advice.cases.case import Case, case, share, step_ms
from tests.advice.story import fork, gemm, item, op, pointwise, told
from tests.build import TraceBuilder

BIG: Final = 1 << 25


def with_overhead() -> TraceBuilder:
    """A busy device and the profiler's "Command Buffer Full"."""
    cast = inside("aten::to", inside("aten::_to_copy", copied(90, host=20)))
    trace = told(*[gemm(200), cast] * 20)
    for at in range(1, 8):
        trace.overhead(900.0 * at, 700, "Command Buffer Full")
    return trace


CASES: Final[list[Case]] = [
    case(
        "spikingjelly#740",
        "GPU 100 % busy with neuron dynamics: 1.6x by compile, none by a graph",
        *[gemm(150), *[pointwise(90, BIG)] * 6] * 5,
        verdict="compile",
        tells="fusable_chains",
        also=lambda a, d: step_ms(d, "replay") > 0.97 * step_ms(d, "eager"),
    ),
    case(
        "diffusion-fast",
        "SDXL: mostly busy, 1.3x by compile",
        *[gemm(300), gemm(300), *[pointwise(80, BIG)] * 4] * 8,
        item(),
        verdict="compile|both",
        tells="fusable_chains",
    ),
    case(
        "karpathy/build-nanogpt#6",
        "GPT-2 on a busy GPU: reduce-overhead loses",
        *[*[gemm(250)] * 2, *[pointwise(60, BIG)] * 3] * 12,
        verdict="compile",
        silent="host_bound_dispatch",
    ),
    case(
        "pytorch/pytorch#119611",
        "Linear, LayerNorm, GELU in bf16: compiled slower than eager",
        *[gemm(400), pointwise(20, 1 << 22), pointwise(20, 1 << 22)] * 10,
        verdict="neither|compile",
        silent="host_bound_dispatch",
        also=lambda a, d: (d.forms["compile"].high or 0) > 0.95 * step_ms(d, "eager"),
    ),
    Case(
        "transformer contest",
        '"Command Buffer Full" for 40 % of the host, and casts that a graph repeats',
        with_overhead,
        "compile|neither",
        tells="cast_kernels",
        silent="host_bound_dispatch",
        also=lambda a, d: share(a, "kernel") > 0.9 and step_ms(d, "replay") > 0.97 * step_ms(d, "eager"),
    ),
    case(
        "two-stream study",
        "two saturated streams: a graph overlaps no better",
        *[gemm(300), *fork(), gemm(300, stream=13), *fork()] * 10,
        verdict="neither|compile",
        silent="host_bound_dispatch",
        also=lambda a, d: step_ms(d, "replay") > 0.9 * step_ms(d, "eager"),
    ),
    case(
        "trace_diff of HTA",
        "four streams: durations add up to more than the time",
        *[gemm(300, stream=stream) for stream in (7, 13, 17, 21)] * 10,
        verdict="neither|compile|replay|both",
        also=lambda a, d: (
            share(a, "kernel") <= 1
            and sum(map(float, a.kernels["total_ns"])) > 1.2 * a.attribution.parts["kernel"]["compute"]
        ),
    ),
    # -- replayed already: what is left ------------------------------------------------------------------------
    case(
        "sgl-project/sglang-omni#579",
        "a replayed decode of library kernels: compile adds nothing",
        graph(60, 30),
        verdict="neither",
        also=lambda a, d: a.form == "replay",
    ),
    case(
        "gpt-fast",
        "compiled and replayed at 72 % of the bandwidth",
        graph(60, 30, name="triton_poi_fused_mm_0"),
        verdict="neither",
        also=lambda a, d: a.form == "both",
    ),
    case(
        "pytorch/pytorch#143577",
        "two fill kernels of the random state before each replay",
        *[op("aten::fill_", 1, kernel="void at::native::FillFunctor<long>", host=15)] * 2,
        graph(60, 20),
        verdict="neither",
        also=lambda a, d: a.form == "replay",
    ),
]
