"""Ranks that wait for each other."""

from __future__ import annotations

from typing import Final

from tests.advice.cases.beats import collective, data_parallel, on_host
from tests.advice.cases.case import Case, case, saving_of
from tests.advice.story import at_step, gemm, op

COMPUTE: Final = [gemm(300)] * 10
BUFFERS: Final = [on_host("aten::narrow", 250), on_host("aten::_unflatten_dense_tensors", 400)]
BROADCAST: Final = op("c10d::broadcast_", 30, kernel="ncclDevKernel_Broadcast_RING_LL", host=30)

CASES: Final[list[Case]] = [
    case(
        "sgl-project/sglang#28067",
        "ranks spin in NCCL at 100 % while one collects garbage",
        *COMPUTE,
        at_step(2, collective(9000)),
        *[at_step(step, collective(200)) for step in (0, 1, 3, 4, 5)],
        verdict="neither|compile",
        steps=6,
        tells="late_rank",
        silent="host_bound_dispatch",
    ),
    case(
        "NVIDIA/nccl#701",
        "an all-reduce of 228 bytes takes 4 ms",
        *COMPUTE,
        collective(4000, 57),
        verdict="neither|compile",
        tells="late_rank",
        also=lambda a, d: saving_of(d, "late_rank") > 3,
    ),
    case(
        "NVIDIA/nccl#689",
        "busy at 100 %, three quarters of it in all-reduce",
        *COMPUTE,
        *[collective(2000, 1 << 26)] * 4,
        verdict="neither|compile",
        tells="exposed_communication",
        silent="host_bound_dispatch late_rank",
    ),
    case(
        "sgl-project/sglang#6067",
        "an all-reduce kernel of its own waits for peers",
        *[gemm(60, 1024), op("sgl::all_reduce", 90, kernel="cross_device_reduce_2stage<half>")] * 20,
        verdict="neither|compile",
        tells="exposed_communication",
        silent="host_bound_dispatch",
    ),
    case(
        "nccl_parser of HTA",
        "gaps of 7 ms while DistributedDataParallel packs its buffers",
        data_parallel(*[*BUFFERS, BROADCAST] * 6, *[gemm(50, 512)] * 10),
        verdict="replay|both",
        tells="buffer_broadcast",
        also=lambda a, d: saving_of(d, "buffer_broadcast") > 1,
    ),
]
