from __future__ import annotations

import numpy as np
import pytest

from tests.build import TraceBuilder
from tracelens.analysis.kinds import Kind, bare_name, is_communication, kernel_kind, kernel_origin, kinds, origins
from tracelens.model.events import Category

EXAMPLES = {
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": Kind.COMMUNICATION,
    "void cross_device_reduce_1stage<__nv_bfloat16, 8>(RankData*, RankSignals, Signal*)": Kind.COMMUNICATION,
    "ampere_sgemm_128x64_tn": Kind.GEMM,
    "nvjet_tst_128x8_64x12_4x1_v_bz_TNT": Kind.GEMM,
    "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1": Kind.GEMM,
    "void cublasLt::splitKreduce_kernel<32, 16, int, float, float>(cublasSplitKParams<float>)": Kind.GEMM,
    "void cutlass_80_wmma_tensorop_f16_s161616gemm_f16_16x16_128x1_tn_align8": Kind.GEMM,
    "void cudnn::winograd::generateWinogradTilesKernel<0, float, float>(cudnn::winograd::Params)": Kind.CONVOLUTION,
    "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>(int)": Kind.CONVOLUTION,
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32": Kind.CONVOLUTION,
    "void cudnn::bn_fw_tr_1C11_singleread<float, 512, true>(cudnnTensorStruct, float const*)": Kind.REDUCTION,
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)": Kind.REDUCTION,
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false, false>(float*)": Kind.REDUCTION,
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps> >(int)": Kind.REDUCTION,
    "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64> >(Params)": Kind.ATTENTION,
    "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Kernel::Params)": Kind.ATTENTION,
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, 1>(int)": Kind.COPY,
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 3>(float*)": Kind.COPY,
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, 3>(int)": Kind.POINTWISE,
    "void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, 2, 2>(int)": Kind.INDEX,
    "void at::native::radixSortKVInPlace<-2, -1, 32, 4, long, long, unsigned int>(int)": Kind.INDEX,
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor>(int)": Kind.OPTIMIZER,
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<CopyFunctor<float>>(int)": Kind.COPY,
    "void at::native::distribution_elementwise_grid_stride_kernel<float, 4>(long)": Kind.RANDOM,
    "triton_poi_fused_add_mul_sigmoid_sub_tanh_0": Kind.POINTWISE,
    "triton_poi_fused__to_copy_1": Kind.COPY,
    "triton_poi_fused_0": Kind.POINTWISE,
    "triton_poi_fused_embedding_3": Kind.INDEX,
    "triton_red_fused_add_mean_mul_pow_rsqrt_0": Kind.REDUCTION,
    "triton_per_fused_native_layer_norm_0": Kind.REDUCTION,
    "triton_tem_fused_addmm_relu_3": Kind.GEMM,
    "triton_tem_fused_convolution_2": Kind.CONVOLUTION,
    "triton_tem_fused_flex_attention_0": Kind.ATTENTION,
    "zqx": Kind.OTHER,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_kind_of_a_kernel_by_its_name(name: str) -> None:
    assert kernel_kind(name) == EXAMPLES[name]


def test_argument_types_do_not_tell_the_kind() -> None:
    name = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(cudnn::cnn::Params)"
    assert kernel_kind(name) == Kind.POINTWISE


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("void at::f<float>(int, g(int))", "at::f<float>"),
        ("void (anonymous namespace)::f(int)", "anon::f"),
        (
            "std::enable_if<(((8)>(0))), void>::type vllm::norm<8>(float*)",
            "std::enable_if<(((8)>(0))), void>::type vllm::norm<8>",
        ),
        ("f<a::{lambda()#1}::operator()() const>(int)", "f<a::{lambda()#1}::operator()() const>"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_bare_name_ends_at_the_argument_list(name: str, bare: str) -> None:
    assert bare_name(name) == bare


@pytest.mark.parametrize("category", [Category.COPY, Category.MEMSET])
def test_copies_and_memsets_are_copies_whatever_their_name(category: Category) -> None:
    assert kernel_kind("gemm", category) == Kind.COPY


@pytest.mark.parametrize(
    ("name", "category", "origin"),
    [
        ("triton_poi_fused_add_0", Category.KERNEL, "triton"),
        ("void at::native::vectorized_elementwise_kernel<4>(int)", Category.KERNEL, "eager"),
        ("ampere_sgemm_128x64_tn", Category.KERNEL, "library"),
        ("ncclDevKernel_AllReduce", Category.KERNEL, "library"),
        ("Memcpy HtoD (Pinned -> Device)", Category.COPY, "library"),
    ],
)
def test_origin_of_device_work(name: str, category: Category, origin: str) -> None:
    assert kernel_origin(name, category) == origin


def test_a_gemm_launched_by_a_convolution_is_a_convolution() -> None:
    trace = (
        TraceBuilder()
        .op("aten::cudnn_convolution", 0, 20)
        .launch("volta_sgemm_128x64_nn", 5)
        .op("aten::mm", 40, 20)
        .launch("volta_sgemm_128x64_nn", 45)
        .op("aten::_convert_weight", 80, 20)
        .launch("volta_sgemm_128x64_nn", 85)
        .trace()
    )
    work = np.flatnonzero(trace.events.device_work())
    assert kinds(trace, work).tolist() == ["convolution", "gemm", "gemm"]
    assert set(origins(trace, work)) == {"library"}
    assert not is_communication(trace, work).any()


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        ("aten::mm", "gemm"),
        ("aten::baddbmm", "gemm"),
        ("aten::linear", "gemm"),
        ("flash_attn::_flash_attn_forward", "attention"),
        ("aten::_to_copy", "copy"),
        ("mine::secret", "other"),
    ],
)
def test_a_kernel_whose_name_says_nothing_is_told_by_its_operator(operator: str, kind: str) -> None:
    trace = TraceBuilder().op(operator, 0, 20).launch("zqx_kernel", 5).trace()
    assert kinds(trace, np.flatnonzero(trace.events.device_work())).tolist() == [kind]


def test_communication_is_told_apart() -> None:
    trace = TraceBuilder().launch("ncclDevKernel_AllReduce_Sum", 0).launch("gemm", 20).trace()
    assert is_communication(trace, np.flatnonzero(trace.events.device_work())).tolist() == [True, False]


def test_kernels_that_differ_in_numbers_alone_are_asked_of_once() -> None:
    trace, before = TraceBuilder(), kernel_kind.cache_info().misses
    for number in range(500):
        trace.launch(f"void numbered_{'x'}<{number}, 0x7f{number:04x}>(int, {number})", 20 * number, 5, runs=5)
        trace.launch(f"void flash<{number}>(int)", 20 * number + 10, 5, runs=5)
    events = trace.trace().events
    told = kinds(trace.trace(), np.flatnonzero(events.device_work()))
    assert set(told[0::2]) | set(told[1::2]) == {"attention", "other"}
    assert kernel_kind.cache_info().misses <= before + 2


@pytest.mark.parametrize("name", EXAMPLES)
def test_numbers_that_tell_a_kind_are_kept(name: str) -> None:
    trace = TraceBuilder().launch(name.replace("<", "<7, "), 0, 5, runs=5).launch(name.replace("<", "<8, "), 20, 5)
    trace.launch("sm80_x_7", 40, 5, runs=5).launch("7_x", 60, 5, runs=5)
    rows = np.flatnonzero(trace.trace().events.device_work())
    assert kinds(trace.trace(), rows)[0] == EXAMPLES[name]


def test_no_rows_no_kinds() -> None:
    trace = TraceBuilder().trace()
    none = np.zeros(0, dtype=np.int64)
    assert len(kinds(trace, none)) == len(origins(trace, none)) == len(is_communication(trace, none)) == 0
