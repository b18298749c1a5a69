"""The host waits for the device: what drains the queue, and what costs nothing."""

from __future__ import annotations

from typing import Final

from tests.advice.cases.beats import drained, inside, optimizer, read_back, served, slow_launch, wait_in
from tests.advice.cases.case import Case, advice_of, case, saving_of, step_ms
from tests.advice.story import Beat, call, gemm, op, pointwise, upload
from tracelens.advice.results import Advice
from tracelens.analysis.results import Analysis

BUSY: Final = [gemm(400)] * 12
AHEAD: Final = [op("aten::mm", 60, host=6)] * 1100


def waited_ms(analysis: Analysis) -> float:
    """Time of the table's waits per step."""
    return float(analysis.syncs["ns"].sum()) / 1e6 / len(analysis.window.tiles)


def cheap(analysis: Analysis, advice: Advice) -> bool:
    """What waits cost is a fraction of the time that they take."""
    return saving_of(advice, "sync_points") < 0.05 * waited_ms(analysis)


def on_device(analysis: Analysis, advice: Advice) -> bool:
    """The repair keeps values on the device."""
    return any("torch.where" in fix.advice for fix in advice.recommendation.fix_first)


def nonzero() -> Beat:
    """A boolean index."""
    return inside("aten::index", wait_in("aten::nonzero"))


CASES: Final[list[Case]] = [
    # -- waits that drain the queue --------------------------------------------------------------------------
    case(
        "vllm-project/vllm#16436",
        "a boolean index in each decode step",
        *drained(nonzero(), 4),
        verdict="neither",
        tells="sync_points",
        first="sync",
    ),
    case(
        "deepmodeling/deepmd-kit#3361",
        "a mask turned into indices",
        *drained(wait_in("aten::nonzero"), 5),
        verdict="neither",
        tells="sync_points",
        first="sync",
    ),
    case(
        "Robbyant/lingbot-world#51",
        "thousands of .item() in a forward pass",
        *drained(wait_in("aten::item"), 12),
        verdict="neither",
        tells="sync_points",
        first="sync",
        also=lambda a, d: on_device(a, d) and saving_of(d, "sync_points") < waited_ms(a),
    ),
    case(
        "pytorch/pytorch#60691",
        "clip_grad_norm_ reads a norm before many small optimizer kernels",
        *[gemm(100, 1024)] * 20,
        inside("aten::is_nonzero", wait_in("aten::item")),
        optimizer(*[pointwise(2, host=30)] * 60, name="Adam"),
        verdict="neither|both|replay|compile",
        tells="sync_points optimizer_loop",
        also=lambda a, d: saving_of(d, "sync_points") > 0.05,
    ),
    case(
        "Koratahiu/Advanced_Optimizers#5",
        "an alpha that is a tensor: an .item() for each parameter",
        optimizer(*[inside("aten::sub", pointwise(2, host=30), wait_in("aten::item"))] * 24, name="Lion"),
        verdict="neither",
        tells="sync_points",
        first="sync",
    ),
    case(
        "paiml/entrenar#240",
        "59 % of the API time in waits, a fifth to gain",
        *[*[gemm(60, 512)] * 6, wait_in("aten::item")] * 24,
        verdict="neither|both|compile",
        tells="sync_points",
        also=lambda a, d: saving_of(d, "sync_points") < 0.35 * step_ms(d, "eager") < waited_ms(a),
    ),
    # -- waits that cost little --------------------------------------------------------------------------------
    case(
        "vllm-project/vllm#19578",
        "112 boolean indices, 0.1 % of the step",
        *[gemm(2000)] * 20,
        *[wait_in("aten::nonzero")] * 4,
        *[gemm(2000)] * 20,
        verdict="neither|both|compile",
        silent="sync_points host_bound_dispatch",
    ),
    case(
        "yzhang1918/www2023tiger#2",
        "long waits, most of them for work that has to be done",
        *BUSY,
        wait_in("aten::item"),
        verdict="neither",
        tells="overlapped_waits",
        also=cheap,
    ),
    case(
        "pytorch/pytorch#44784",
        "aten::equal takes 4.5 ms: it waits for others' work",
        *BUSY,
        wait_in("aten::equal"),
        verdict="neither",
        tells="overlapped_waits",
        silent="host_bound_dispatch",
        also=cheap,
    ),
    case(
        "BONSAI#102",
        "aten::copy_ is large: it waits for the device",
        *served(*BUSY),
        verdict="neither",
        tells="overlapped_waits",
        silent="host_bound_dispatch",
    ),
    case(
        "TimeSformer on an H100",
        "a blocking copy of 81 % of the step, 99 % of it busy",
        *BUSY,
        read_back(20),
        verdict="neither",
        tells="overlapped_waits",
        silent="host_bound_dispatch",
        also=cheap,
    ),
    # -- blocking copies ---------------------------------------------------------------------------------------
    case(
        "meta-pytorch/torchrec#3855",
        ".tolist() of memory that is not pinned blocks without a synchronisation",
        *drained(read_back(), 6),
        verdict="neither",
        tells="sync_points pageable_copies",
        first="sync",
        also=lambda a, d: set(a.syncs["call"]) == {"cudaMemcpyAsync"},
    ),
    case(
        "pytorch/tutorials#2983",
        "a copy and a wait for each input",
        *[upload(), call("cudaStreamSynchronize", 30)] * 12,
        *[pointwise(3, host=20)] * 6,
        verdict="neither|both|compile",
        tells="pageable_copies",
        first="pageable_copy",
        also=lambda a, d: "pinning it in the step blocks" in advice_of(d, "pageable_copies"),
    ),
    # -- a full queue ------------------------------------------------------------------------------------------
    *(
        case(
            source,
            signature,
            *AHEAD,
            *[slow_launch(60, 60, "nvjet_gemm")] * 60,
            verdict="neither|compile",
            steps=3,
            tells="queue_full",
            silent="host_bound_dispatch sync_points",
        )
        for source, signature in {
            "facebookresearch/HolisticTraceAnalysis#178": "a thousand launches outstanding, each call waits",
            "pytorch/pytorch#5216": "the host's total holds blocked launches, so comparing totals misleads",
        }.items()
    ),
]
