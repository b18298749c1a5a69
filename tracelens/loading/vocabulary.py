"""Names of profiler eras and vendors, mapped to one vocabulary."""

from __future__ import annotations

import re
from typing import Final

from tracelens.model.events import Category, Role

CATEGORIES: Final = {
    "cpu_op": Category.OPERATOR, "operator": Category.OPERATOR,
    "user_annotation": Category.ANNOTATION,
    "cuda_runtime": Category.RUNTIME, "cuda_driver": Category.RUNTIME, "runtime": Category.RUNTIME,
    "xpu_runtime": Category.RUNTIME, "xpu_driver": Category.RUNTIME, "mtia_runtime": Category.RUNTIME,
    "hip_runtime": Category.RUNTIME, "privateuse1_runtime": Category.RUNTIME, "privateuse1_driver": Category.RUNTIME,
    "python_function": Category.PYTHON, "overhead": Category.OVERHEAD,
    "kernel": Category.KERNEL, "mtia_ccp_events": Category.KERNEL, "concurrent_kernel": Category.KERNEL,
    "gpu_memcpy": Category.COPY, "memcpy": Category.COPY,
    "gpu_memset": Category.MEMSET, "memset": Category.MEMSET,
    "cuda_sync": Category.DEVICE_SYNC, "gpu_user_annotation": Category.DEVICE_ANNOTATION,
    "ac2g": Category.FLOW, "async": Category.FLOW, "async_cpu_to_gpu": Category.FLOW, "async_gpu": Category.FLOW,
    "fwdbwd": Category.FLOW, "cpu_instant_event": Category.MEMORY, "trace": Category.SPAN,
}

ROLES: Final = (
    (Role.CAPTURE, r"(BeginCapture|EndCapture|GraphInstantiate|GraphExecUpdate)"),
    (Role.GRAPH_LAUNCH, r"GraphLaunch"),
    (Role.LAUNCH, r"(Launch(Kernel|CooperativeKernel|HostFunc)|ModuleLaunch|EnqueueKernelLaunch|^runFunction)"),
    (Role.COPY, r"(Memcpy|EnqueueMemBufferCopy|EnqueueUSMMemcpy|memcpy\w*Async)"),
    (Role.MEMSET, r"(Memset|EnqueueUSMFill|MemFill)"),
    (Role.SYNC, r"([sS]ynchronize|StreamSynchronize|EventWait$|QueueFinish)"),
    (Role.EVENT_WAIT, r"StreamWaitEvent"),
    (Role.EVENT_RECORD, r"EventRecord"),
    (Role.ALLOC, r"^(cuda|hip|cu|ur)\w*(Malloc|Free|HostAlloc|MemAlloc|MemCreate|MemMap|MemUnmap|MemRelease|HostRegister)"),
    (Role.LOAD, r"(ModuleLoad|LibraryLoad|ModuleGetFunction|FuncGetBySymbol|GetFuncBySymbol)"),
)


def category(text: str) -> Category:
    """Category of an event by its `cat`."""
    return CATEGORIES.get(text.lower(), Category.OTHER)


def role(name: str) -> Role:
    """Role of a RUNTIME call by its name."""
    return next((found for found, pattern in ROLES if re.search(pattern, name)), Role.OTHER)
