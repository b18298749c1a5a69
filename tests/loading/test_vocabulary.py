"""Calls of every vendor take the role that they play."""

from __future__ import annotations

import pytest

from tracelens.loading.vocabulary import category, role
from tracelens.model.events import Category, Role

CALLS = {
    Role.LAUNCH: """
        cudaLaunchKernel cudaLaunchKernelExC cudaLaunchCooperativeKernel cuLaunchKernel
        cuLaunchKernelEx hipLaunchKernel hipExtModuleLaunchKernel hipModuleLaunchKernel
        hipExtLaunchKernel hipLaunchCooperativeKernel urEnqueueKernelLaunch
        urEnqueueKernelLaunchCustomExp urEnqueueCooperativeKernelLaunchExp
        zeCommandListAppendLaunchKernel
    """,
    Role.GRAPH_LAUNCH: """
        cudaGraphLaunch cuGraphLaunch hipGraphLaunch cudaGraphLaunch_ptsz urEnqueueCommandBufferExp
    """,
    Role.COPY: """
        cudaMemcpyAsync cudaMemcpy cudaMemcpy2DAsync cuMemcpyHtoDAsync_v2 hipMemcpyWithStream
        hipMemcpyAsync hipMemcpyDtoH urEnqueueUSMMemcpy urEnqueueMemBufferCopy
        zeCommandListAppendMemoryCopy cudaMemcpyPeerAsync
    """,
    Role.MEMSET: """
        cudaMemsetAsync cuMemsetD32Async hipMemset hipMemsetAsync urEnqueueUSMFill
        zeCommandListAppendMemoryFill
    """,
    Role.SYNC: """
        cudaDeviceSynchronize cudaStreamSynchronize cudaEventSynchronize cuCtxSynchronize
        hipDeviceSynchronize hipStreamSynchronize hipEventSynchronize urQueueFinish urEventWait
        synchronizeStream zeCommandQueueSynchronize
    """,
    Role.ALLOC: """
        cudaMalloc cudaFree cudaHostAlloc cudaMallocAsync cudaFreeHost cuMemAlloc_v2 cuMemCreate
        cuMemMap cuMemUnmap hipMalloc hipFree hipHostMalloc urUSMDeviceAlloc urUSMFree
        zeMemAllocDevice cudaHostRegister
    """,
    Role.LOAD: """
        cuModuleLoadData cuModuleLoadDataEx cuLibraryLoadData hipModuleLoadData cuModuleGetFunction
        cudaGetFuncBySymbol urProgramBuild urKernelCreate zeModuleCreate hipGetFuncBySymbol
    """,
    Role.CAPTURE: """
        cudaStreamBeginCapture cudaStreamEndCapture hipStreamBeginCapture hipStreamEndCapture
        cudaGraphInstantiate cudaGraphInstantiateWithFlags cudaGraphExecUpdate
        hipGraphInstantiateWithFlags
    """,
    Role.EVENT_RECORD: """
        cudaEventRecord cudaEventRecordWithFlags hipEventRecord cuEventRecord recordEvent
    """,
    Role.EVENT_WAIT: """
        cudaStreamWaitEvent hipStreamWaitEvent cuStreamWaitEvent urEnqueueEventsWait
    """,
    Role.OTHER: """
        cudaLaunchHostFunc hipLaunchHostFunc cuLaunchHostFunc
        cudaGetDeviceCount cudaEventQuery cudaStreamIsCapturing cudaStreamGetCaptureInfo
        hipGetDevicePropertiesR0600 INVALID cudaOccupancyMaxActiveBlocksPerMultiprocessor
        cudaFuncGetAttributes cudaMemGetInfo cudaEventCreate hipStreamGetCaptureInfo_v2
        cudaPeekAtLastError cudaStreamQuery hipCtxGetCurrent cudaFuncSetAttribute hipGraphDestroy
        hipGraphGetNodes hipEventDestroy
    """,
}


@pytest.mark.parametrize(
    ("name", "expected"), [(name, role) for role, names in CALLS.items() for name in names.split()]
)
def test_the_role_of_a_call(name: str, expected: Role) -> None:
    assert role(name) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Kernel", Category.KERNEL),
        ("kernel,extra", Category.KERNEL),
        ("mine, gpu_memcpy", Category.COPY),
        ("mine", Category.OTHER),
        ("musa_runtime", Category.RUNTIME),
        ("driver", Category.OTHER),
        ("", Category.OTHER),
    ],
)
def test_the_first_known_word_of_a_list_is_the_category(text: str, expected: Category) -> None:
    assert category(text) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("LaunchKernel", Role.LAUNCH),
        ("MemcpyAsync", Role.COPY),
        ("MemsetAsync", Role.MEMSET),
        ("StreamSynchronize", Role.SYNC),
        ("Malloc", Role.ALLOC),
        ("Free", Role.ALLOC),
    ],
)
def test_a_vendor_names_its_calls_as_others_do(call: str, expected: Role) -> None:
    assert role(f"musa{call}") == expected
