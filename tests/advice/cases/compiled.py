"""Steps that are compiled or replayed already, and steps too small for it."""

from __future__ import annotations

from typing import Final

from tests.advice.cases.beats import copied, data_parallel, graph, inside, on_host, served, together
from tests.advice.cases.case import Case, advice_of, case, share, step_ms
from tests.advice.story import Beat, Clock, at_step, op
from tests.build import TraceBuilder
from tracelens.advice.results import Advice
from tracelens.analysis.results import Analysis

TRITON: Final = op("triton_poi_fused_add_0", 3, kernel="triton_poi_fused_add_0", host=15)
PRODUCT: Final = op("extern_kernels::mm", 6, kernel="nvjet_gemm", host=15)


def region(*beats: Beat, lookup: float = 60.0, wrapper: float = 60.0, name: str = "0/0") -> Beat:
    """An entry into compiled code: guards, wrappers, and what it launches."""
    entry = on_host("TorchDynamo Cache Lookup", lookup), on_host("Pregraph bytecode", wrapper)
    graph = inside("## Call CompiledFxGraph fabc ##", *beats)
    return together(*entry, inside(f"Torch-Compiled Region: {name}", graph))


def compiling(ms: float, *beats: Beat) -> Beat:
    """A compilation and the call that made it necessary."""
    compile = inside("_compile.compile_inner (dynamo_timed)", on_host("aten::empty", 1e3 * ms), kind="annotation")
    return together(compile, *beats)


def recording(*beats: Beat) -> Beat:
    """A graph is recorded for an input of a new size."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        trace.call("cudaStreamBeginCapture_v10000", clock.host, 5)
        clock.host += 900
        trace.call("cudaGraphInstantiateWithFlags", clock.host, 300)
        clock.host += 301

    return together(inside("CUDAGraphNode.record (dynamo_timed)", tell, kind="annotation"), *beats)


def anew(analysis: Analysis, advice: Advice) -> bool:
    """Compilations are told to recur, with what to do about it."""
    return "fixed sizes" in advice_of(advice, "recompilation")


def late(analysis: Analysis, advice: Advice) -> bool:
    """One is told to be start-up."""
    return "first three calls" in advice_of(advice, "graph_recording")


def driver_launches() -> TraceBuilder:
    """Generated kernels launched through the driver."""
    trace = TraceBuilder()
    for step in range(4):
        trace.step(step, 1000 * step, 999)
        for at in range(20):
            begun, number = 1000 * step + 40 * at, 1000 * step + at + 100_000
            trace.call("cuLaunchKernelEx", begun, 5, correlation=number, category="cuda_driver")
            trace.kernel("triton_poi_fused_add_0", begun + 9, 6, correlation=number)
    return trace


CASES: Final[list[Case]] = [
    # -- too small ---------------------------------------------------------------------------------------------
    case(
        "KernelBench#68",
        "one operator of two kernels: compiled it is slower in every mode",
        op("aten::_log_softmax", 8, kernel="cunn_SoftMaxForward", host=9),
        op("aten::nll_loss_forward", 4, kernel="nll_loss_forward", host=9),
        pause=0.0,
        verdict="neither",
        tells="few_kernels",
    ),
    *(
        case(
            source,
            "a graph of one kernel: 8.6 us eager, 27 as a graph",
            op("aten::take", 6, kernel="take_put_kernel", host=14),
            pause=0.0,
            verdict="neither",
            tells="few_kernels",
        )
        for source in ("pytorch/pytorch#114860", "pytorch/pytorch#160168")
    ),
    # -- overhead of compiled code ----------------------------------------------------------------------------
    case(
        "Dao-AILab/quack#77",
        "a compiled wrapper around one kernel of 41 us: kernels alike, gaps longer",
        region(op("quack::rmsnorm", 41, kernel="quack_rmsnorm", host=60)),
        verdict="both",
        tells="compiler_overhead",
    ),
    case(
        "pytorch/pytorch#161783",
        "torch.compile for a rotary embedding alone",
        region(TRITON),
        verdict="both",
        tells="compiler_overhead",
    ),
    case(
        "pytorch/pytorch#191753",
        "2 ms of guards on a prefill of 41 ms",
        region(*[op("extern_kernels::mm", 2000, kernel="nvjet", host=15)] * 20, lookup=760, wrapper=1200),
        verdict="neither|both",
        silent="host_bound_dispatch",
        also=lambda a, d: step_ms(d, "both") > 0.9 * step_ms(d, "compile"),
    ),
    case(
        "pytorch/pytorch#191753",
        "2 ms of guards on a decode step of 2 ms",
        region(*[PRODUCT] * 40, lookup=760, wrapper=1200),
        verdict="both",
        tells="compiler_overhead",
    ),
    case(
        "pytorch/pytorch#185886",
        "5.65 ms of guards a step",
        region(*[PRODUCT] * 40, lookup=5650),
        verdict="both",
        tells="compiler_overhead",
    ),
    case(
        "pytorch/pytorch#120733",
        "mutated inputs: the compiler skips its graphs, a capture by hand works",
        region(*[PRODUCT, TRITON] * 20),
        verdict="both",
        also=lambda a, d: d.forms["both"].variant == "manual",
    ),
    case(
        "mlcommons/algorithmic-efficiency#467",
        "regions split at gradient buckets",
        data_parallel(*[region(*[PRODUCT] * 6, name=f"{at}/0") for at in range(5)]),
        verdict="both|neither",
        tells="compiled_pieces",
        also=lambda a, d: "optimize_ddp" in advice_of(d, "compiled_pieces"),
    ),
    # -- compilation inside the step --------------------------------------------------------------------------
    *(
        case(
            source,
            signature,
            compiling(30, *[TRITON] * 10),
            verdict="abstain",
            tells="recompilation",
            fails="building",
            also=anew,
        )
        for source, signature in {
            "meta-pytorch/torchtune#1402": "a growing mask compiled in each decode step",
            "huggingface/transformers#30055": "Python numbers compiled anew at each call",
            "pytorch/pytorch#140229": "longer sequences under DistributedDataParallel, up to the limit",
        }.items()
    ),
    *(
        case(
            source,
            signature,
            recording(graph(30, 10)),
            verdict="abstain",
            tells="graph_recording",
            fails="building",
            also=lambda a, d: "Pad to a few sizes" in advice_of(d, "graph_recording"),
        )
        for source, signature in {
            "pytorch/pytorch#188150": "nine distinct sizes, each recorded",
            "pytorch/pytorch#196385": "one recording for each size for ever",
        }.items()
    ),
    case(
        "pytorch/pytorch#120309",
        "the second call records its graph",
        at_step(1, recording()),
        graph(200, 10),
        verdict="abstain|neither",
        tells="graph_recording",
        fails="building",
        also=late,
    ),
    # -- replayed in pieces ------------------------------------------------------------------------------------
    case(
        "pytorch/pytorch#150706",
        "a graph for each block of a compiled model",
        *[region(graph(6, 8), name=f"{at}/0") for at in range(12)],
        verdict="neither",
        tells="graph_pieces",
        also=lambda a, d: "max-autotune-no-cudagraphs" in advice_of(d, "graph_pieces"),
    ),
    case(
        "SGLang: breakable graphs",
        "guards between the graphs of a piecewise prefill",
        *[region(graph(8, 10), lookup=90, name=f"{at}/0") for at in range(8)],
        verdict="neither",
        tells="graph_pieces compiler_overhead",
    ),
    case(
        "pytorch/pytorch#123162",
        "dozens of copies of new inputs before each graph",
        *[copied()] * 24,
        graph(40, 8),
        verdict="neither|both",
        tells="graph_inputs",
    ),
    case(
        "PyGraph, arXiv 2503.19779",
        "copies of parameters outweigh what a graph saves",
        *[copied()] * 40,
        graph(10, 5),
        verdict="neither|both",
        tells="graph_inputs",
    ),
    *(
        case(source, signature, *served(graph(nodes, 8, call=call)), verdict="neither", tells="graph_launches")
        for source, signature, nodes, call in (
            ("sgl-project/sglang#5593", "2 ms before the first kernel of each replay", 600, 2000.0),
            ("sgl-project/sglang#29960", "2.8 ms to launch 2,876 nodes in branches", 900, 2826.0),
            ("pytorch/pytorch#174575", "graph launches seven times as long as in the version before", 60, 280.0),
        )
    ),
    # -- how graphs are recorded -------------------------------------------------------------------------------
    case(
        "wolfpld/tracy#1330",
        "all kernels of a graph share one correlation",
        graph(50),
        verdict="neither",
        also=lambda a, d: a.form == "replay" and list(a.launches["kernels"].unique()) == [50],
    ),
    Case(
        "pytorch/kineto#1567",
        "graph kernels without node numbers, on HIP",
        lambda: hip_graph(),
        "neither",
        also=lambda a, d: a.form == "replay",
    ),
    Case(
        "AMD-AGI/TraceLens#827",
        "97 % of the device time under one graph launch",
        lambda: hip_graph("Cijk_gemm", "rmsnorm_kernel"),
        "neither",
        also=lambda a, d: set(a.kernels["name"]) == {"Cijk_gemm", "rmsnorm_kernel"},
    ),
    Case(
        "AMD-AGI/TraceLens#728",
        "a replayed decode is busy, whatever a tool makes of it",
        lambda: hip_graph(each=60),
        "neither",
        silent="host_bound_dispatch",
        also=lambda a, d: share(a, "kernel") > 0.9,
    ),
    Case(
        "vllm-project/vllm#22698",
        "a pause of the device at the end of each graph, the next work already launched",
        lambda: hip_graph(bubble=60),
        "neither",
        tells="queued_idle",
        silent="host_bound_dispatch",
    ),
    Case(
        "pytorch/pytorch#99571",
        "generated kernels launched by the driver",
        driver_launches,
        "both",
        also=lambda a, d: a.form == "compile" and len(a.launches) > 0,
    ),
    # -- graphs on HIP -----------------------------------------------------------------------------------------
    *(
        Case(
            source,
            signature,
            lambda: hip_eager(),
            "both|replay|neither",
            tells="hip_graphs",
            also=lambda a, d: (d.forms["replay"].high or 0) > 1.4 * step_ms(d, "replay"),
        )
        for source, signature in {
            "ROCm/clr#77": "HIP graphs as fast as launches",
            "PyFR/PyFR#312": "HIP graphs at twice the overhead",
        }.items()
    ),
]


def hip_graph(*names: str, each: float = 20.0, bubble: float = 0.0) -> TraceBuilder:
    """Four steps of one HIP graph each, its kernels without node numbers; with a bubble, more work behind it."""
    trace, now, kernels = TraceBuilder("hip"), 0.0, list(names or ("Cijk_gemm",)) * 20
    for step in range(4):
        trace.step(step, now, len(kernels) * (each + 1) + 2 * bubble + 30)
        number = 100_000 + step
        trace.call("hipGraphLaunch", now + 2, 12, correlation=number)
        for at, name in enumerate(kernels):
            trace.kernel(name, now + 20 + at * (each + 1), each, correlation=number)
        now += 20 + len(kernels) * (each + 1)
        if bubble:
            trace.op("aten::mm", now - 60, 30).launch("Cijk_logits", now - 50, 5, at=now + bubble, runs=each)
            now += bubble + each
    return trace


def hip_eager() -> TraceBuilder:
    """Host-bound steps on HIP."""
    trace = TraceBuilder("hip").device_name(0, "AMD Instinct MI300X")
    for step in range(4):
        trace.step(step, 3000 * step, 2999)
        for at in range(60):
            trace.op("aten::mm", 3000 * step + 45 * at, 40).launch("Cijk_gemm", 3000 * step + 45 * at + 30, 6, runs=5)
    return trace
