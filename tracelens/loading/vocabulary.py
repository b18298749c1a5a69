"""Names of profiler eras and vendors, mapped to one vocabulary."""

from __future__ import annotations

import re
from typing import Final

from tracelens.model.events import Category, Role

CATEGORIES: Final = {
    # Host: operators and annotations. Capitalised ones (lower-cased here) are of Kineto 1.8 to 1.12.
    "cpu_op": Category.OPERATOR,
    "operator": Category.OPERATOR,
    "user_annotation": Category.ANNOTATION,
    "python_function": Category.PYTHON,
    "overhead": Category.OVERHEAD,
    "cpu_instant_event": Category.MEMORY,
    # Host: calls of the runtime or driver of each vendor.
    "runtime": Category.RUNTIME,
    "cuda_runtime": Category.RUNTIME,
    "cuda_driver": Category.RUNTIME,
    "hip_runtime": Category.RUNTIME,
    "xpu_runtime": Category.RUNTIME,
    "xpu_driver": Category.RUNTIME,
    "mtia_runtime": Category.RUNTIME,
    "glow_runtime": Category.RUNTIME,
    "hpu_runtime": Category.RUNTIME,
    "privateuse1_runtime": Category.RUNTIME,
    "privateuse1_driver": Category.RUNTIME,
    # Device.
    "kernel": Category.KERNEL,
    "concurrent_kernel": Category.KERNEL,
    "mtia_ccp_events": Category.KERNEL,
    "hpu_op": Category.KERNEL,
    "gpu_memcpy": Category.COPY,
    "memcpy": Category.COPY,
    "gpu_memset": Category.MEMSET,
    "memset": Category.MEMSET,
    "cuda_sync": Category.DEVICE_SYNC,
    "gpu_user_annotation": Category.DEVICE_ANNOTATION,
    "mtia_user_annotation": Category.DEVICE_ANNOTATION,
    "cuda_profiler_range": Category.DEVICE_ANNOTATION,
    # Arrows between events, by the names of each era.
    "ac2g": Category.FLOW,
    "async": Category.FLOW,
    "async_cpu_to_gpu": Category.FLOW,
    "async_gpu": Category.FLOW,
    "fwdbwd": Category.FLOW,
    "forward_backward": Category.FLOW,
    "trace": Category.SPAN,
}
"""`cat` in lower case -> category; whatever is not here is OTHER."""

_VENDOR: Final = re.compile(r"[a-z0-9]+_(runtime|driver)")
"""Calls of a vendor whose profiler writes what the others write."""

PHASES: Final = {
    ord("M"): Category.METADATA,
    ord("C"): Category.COUNTER,
    ord("s"): Category.FLOW,
    ord("t"): Category.FLOW,
    ord("f"): Category.FLOW,
}
"""`ph` that settles the category whatever `cat` says."""

ROLES: Final = (
    (Role.CAPTURE, r"BeginCapture|EndCapture|GraphInstantiate|GraphExec\w*Update|GraphUpload"),
    (Role.GRAPH_LAUNCH, r"GraphLaunch|EnqueueCommandBuffer|CommandListImmediateAppendCommandLists"),
    (
        Role.OTHER,
        r"LaunchHostFunc|IsCapturing|GetCaptureInfo|LaunchKernelGetInfo|PushCallConfiguration|PopCallConfiguration",
    ),
    (Role.LAUNCH, r"Launch(Kernel|CooperativeKernel|Grid)|ModuleLaunch|LaunchByPtr"),
    (Role.LAUNCH, r"EnqueueKernelLaunch|EnqueueCooperativeKernelLaunch|CommandListAppendLaunch|^runFunction"),
    (Role.COPY, r"^[a-z]+Memcpy|EnqueueMemBuffer(Copy|Read|Write)|EnqueueUSMMemcpy|CommandListAppendMemoryCopy"),
    (Role.COPY, r"memcpy(DtoH|HtoD|DtoD)Async"),
    (Role.MEMSET, r"^[a-z]+Memset|EnqueueUSMFill|EnqueueMemBufferFill|AppendMemoryFill"),
    (Role.SYNC, r"[sS]ynchronize|^urEventWait$|^urQueueFinish$|HostSynchronize|^ur\w*WaitWithBarrier$"),
    (Role.EVENT_WAIT, r"StreamWait(Event|Value)|EnqueueEventsWait|waitOnEvent|AppendWaitOnEvents"),
    (Role.EVENT_RECORD, r"EventRecord|^recordEvent|AppendSignalEvent"),
    (Role.ALLOC, r"^[a-z]+(Malloc|Free|HostAlloc|HostMalloc|HostFree|HostRegister|HostUnregister|ExtMalloc)"),
    (Role.ALLOC, r"^(cu|hip)Mem(Alloc|Free|HostAlloc|Create|Map|Unmap|Release|AddressReserve|AddressFree|SetAccess)"),
    (Role.ALLOC, r"^urUSM(Host|Device|Shared)Alloc|^urUSM(Free|Pool)|^urVirtualMem|^zeMem(Alloc|Free)|^zeVirtualMem"),
    (Role.LOAD, r"Module(Load|GetFunction|GetLoadingMode)|Library(Load|GetKernel|GetModule)|FuncBySymbol"),
    (
        Role.LOAD,
        r"(Func|Kernel)Get\w*BySymbol|^urProgram(Create|Build|Link|Compile)|^(ur|ze)KernelCreate|^zeModuleCreate",
    ),
)
"""Role -> pattern searched in the name of a call; the first match wins."""


def category(text: str) -> Category:
    """Category of an event by its `cat`, which may list several after commas: by the first that is known."""
    words = [word.strip() for word in text.lower().split(",")]
    named = next((CATEGORIES[word] for word in words if word in CATEGORIES), None)
    other = Category.RUNTIME if any(_VENDOR.fullmatch(word) for word in words) else Category.OTHER
    return other if named is None else named


def role(name: str) -> Role:
    """Role of a RUNTIME call by its name."""
    return next((found for found, pattern in ROLES if re.search(pattern, name)), Role.OTHER)
