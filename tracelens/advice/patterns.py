"""Names of operators and kernels by what the compiler makes of them."""

from __future__ import annotations

import re
from typing import Final

from tracelens.analysis.kinds import Kind

LIBRARY: Final = re.compile(
    r"^_?(?:add)?mm|bmm|^mm|matmul|^linear$|conv|attention|^sort|^topk|fft|embedding_bag|(?<!count_)nonzero|rnn|lstm|gru"
    r"|unique|multinomial|masked_select|cholesky|^_?svd|^lu|cdist|pdist|hist|bincount|_amp_|^mode$|_fused_(?!rms_norm)"
    r"|linalg_(?!vector_norm|norm|matrix_norm|cross|vecdot)|repeat_interleave|^_local_scalar|^item|grid_sampler_3d|randperm"
    r"|^_grouped|_weight_int|segment_reduce|^(?:scatter|index)_reduce|^(?:nan)?median|kthvalue|^_trilinear|igamma"
    r"|polygamma|triangular_solve|_foreach_norm|adaptive_\w+_pool\dd_backward"
)
"""Operators of aten that generated code calls instead of replacing. [Inductor's tables of lowerings and fallbacks]"""
SCATTER: Final = re.compile(r"index_add|scatter|index_put|embedding_dense_backward")
"""Operators that write with atomics."""
GATHER: Final = re.compile(r"^(?:embedding|index_select|index)$")
"""Operators that read rows of a table: those count, not the table."""
INDEXED: Final = re.compile(r"^index$")
"""Operators that read by indices which a trace mostly does not describe."""
PICK: Final = re.compile(r"^(?:gather|take_along_dim)$")
"""Operators that read an element of a tensor for each index."""
BROADCASTS: Final = re.compile(
    r"^(?:r?sub|add|mul|div|true_divide|floor_divide|remainder|fmod|pow|atan2|hypot|maximum|minimum|fmax|fmin|lerp|where"
    r"|eq|ne|lt|le|gt|ge|(?:bitwise|logical)_(?:and|or|xor)|addcmul|addcdiv|masked_fill)$"
)
"""Operators on several tensors each of whose results is of one element of each, along all dimensions that any has."""
PICKED_LOSS: Final = re.compile(r"^nll_loss")
"""Losses over classes that take one element of each row, and their gradients, which place one there."""
COUNTED: Final = re.compile(r"^nonzero$")
"""Operators whose result is as long as what they find."""
NORMALISATION: Final = re.compile(r"norm|softmax|nll_loss|cross_entropy|logsumexp|pool")
"""Normalisations, losses over classes and pooling, which reduce rows."""
WINDOW: Final = re.compile(r"^(?:avg|max)_pool\dd(?:_with_indices)?$")
"""Poolings, each of whose results is of the elements of a window; its shape and its steps follow the tensor."""
MAXIMUM: Final = re.compile(r"^amax$")
"""The largest along given dimensions."""
LOG_SUM: Final = re.compile(r"^logsumexp$")
"""The logarithm of a sum of exponentials, of what lies below their maximum."""
NORMALISED: Final = re.compile(r"layer_norm|softmax|logsumexp|cross_entropy")
"""Operators that reduce each row twice: a mean and a variance, a maximum and a sum."""
REDUCTION: Final = re.compile(
    r"^(?:sum|mean|amax|amin|max|min|var|std|prod|any|all|argmax|argmin|norm|linalg_vector_norm|var_mean|std_mean|aminmax"
    r"|count_nonzero)$"
)
"""Operators that only reduce."""
POSITION: Final = re.compile(r"^arg")
"""Reductions to a position, which are never made in stages. [Inductor's Reduction.num_splits]"""
VECTORS: Final = re.compile(r"^(?:dot|vdot|mv|addmv)$")
"""Products with a vector: generated code multiplies and reduces."""
DOT: Final = re.compile(r"dot$")
"""Products of two vectors."""
ORDERED: Final = re.compile(r"^(?:norm|linalg_vector_norm)$")
"""Reductions whose dimensions follow an order among the arguments."""
COLUMN: Final = re.compile(r"batch_norm|norm_backward")
"""Operators that in training reduce over leading dimensions."""
NORM_BACKWARD: Final = re.compile(r"norm_backward$")
"""Gradients of a normalisation, which sum those of its weight and its bias over leading dimensions."""
INPUT_GRADIENTS: Final = re.compile(r"layer_norm_grad_input")
"""Kernels that give the gradient of a normalisation's input: they reduce rows."""
PARAMETER_GRADIENTS: Final = re.compile(r"GammaBetaBackward|cuComputePartGradGammaBeta|cuComputeGradGammaBeta")
"""Kernels that give those of its weight and bias."""
LAYER_NORM: Final = re.compile(r"(?:layer|rms)_norm$")
"""Normalisations of layers."""
SUM: Final = re.compile(r"^add$")
"""Sums of two tensors."""
FIXED: Final = re.compile(r"batch_norm")
"""With fixed statistics, as in inference, a batch normalisation reduces nothing."""
GROUPED: Final = re.compile(r"group_norm$|instance_norm$")
"""Normalisations over more than rows: a reduction first, and the rest with what follows."""
MOMENTS: Final = re.compile(r"Moments|welford", re.IGNORECASE)
"""Kernels that reduce for a normalisation of groups or instances."""
POWER: Final = re.compile(r"^pow$")
"""A power, which is a product where its exponent is a small whole number."""
WAVE: Final = re.compile(r"^(?:sin|cos)$")
"""Sines and cosines, of which tables are made."""
DIVISION: Final = re.compile(r"^div$")
"""A division, which is a product where it is by a number. [Inductor's lowering of div]"""
RECIPROCAL: Final = re.compile(r"^(?:div|reciprocal)$")
"""What generated code computes by one reciprocal."""
COMPOSITE: Final = re.compile(r"conv|^linear$|matmul|attention")
"""Operators of several: what they call beside the library fuses like any other."""
MATRIX_PRODUCT: Final = re.compile(r"mm$|^linear$")
"""Matrix products."""
LAYER_PRODUCT: Final = re.compile(r"^(?:add)?mm$|^linear$")
"""Those with a matrix of parameters."""
BIASED: Final = re.compile(r"^addmm|^baddbmm")
"""Matrix products that add a bias."""
RECURRENT: Final = re.compile(r"_rnn|^lstm|^gru")
"""Recurrent layers, each a library call of many kernels."""
RECURRENT_CALL: Final = re.compile(r"^aten::(?:lstm|gru|rnn_tanh|rnn_relu|_?(?:cudnn|miopen|mkldnn)_rnn\w*)$")
"""Calls of recurrent layers, and of their gradients; not of single cells."""
PARTS: Final = re.compile(r"^angle$")
"""Operators of complex numbers for which code is generated, from their parts. [Inductor's decompositions]"""
SIGN: Final = re.compile(r"^sgn$")
"""Signs, which the compiler makes of other operators. [Inductor's decompositions]"""
POINTWISE_PAIR: Final = re.compile(r"(?:add|sub|mul|div|where|maximum|minimum)_?$")
"""Operators of which every tensor argument at a step's head is an input."""
FOREACH: Final = re.compile(r"^_foreach_(?!norm)")
"""Operators over lists of tensors, as optimizers call them."""
AVERAGE: Final = re.compile(r"^_foreach_lerp")
"""How Adam and its kin move the mean of gradients."""
FOREIGN: Final = re.compile(r"^custom ")
"""Operators of custom libraries, which stay as they are."""
ORPHAN: Final = re.compile(r"^$")
"""Of device work without an operator, as in a replayed graph: told by its kernel alone."""
FUSABLE_KINDS: Final = (Kind.POINTWISE, Kind.REDUCTION, Kind.COPY)
"""Kinds of kernel that the compiler can generate."""
CONVOLUTION: Final = re.compile(r"conv")
"""Convolutions, whose layout conversions vanish in inference where they are over planes."""
ASKED_CONVOLUTION: Final = re.compile(r"^aten::convolution$")
"""Convolutions over as many dimensions as the user's code asked for."""
PLANE: Final = 4
"""Dimensions of a batch of images: the compiler keeps those channels last, and no others. [Inductor]"""
IN_PLACE: Final = re.compile(r"_$")
"""Operators that write into their first argument."""
ACCUMULATES: Final = re.compile(r"^torch::autograd::AccumulateGrad$")
"""The node of the graph of gradients that keeps a parameter's."""
NODE: Final = re.compile(r"^autograd::engine::evaluate_function: (?!torch::autograd::AccumulateGrad)")
"""A node of the graph of gradients, as the engine runs it; all but those that only keep a gradient."""
OWN_NODE: Final = re.compile(rf"{NODE.pattern}(?!CheckpointFunctionBackward)")
"""A node of the graph of gradients but for checkpoints, which the compiler knows, and what only keeps a gradient."""
COPY: Final = re.compile(r"^(?:copy|_to_copy|clone)$")
"""Copies, which may convert the type."""
DIFFERENTIATES: Final = re.compile(r"_backward(?:_data)?$")
"""Formulas of gradients."""
PLACED: Final = re.compile(r"^(?:(?:select|slice|diagonal)_backward|constant_pad_nd)$")
"""Operators that place a tensor in one of a single value: gradients of a part in the whole, padding."""
FILL: Final = re.compile(r"^fill$")
"""Fills of a tensor with one value."""
ONE_HOT: Final = re.compile(r"^scatter$")
"""A scatter into a tensor that was just filled: generated code compares indices instead."""
SHIFT: Final = re.compile(r"^(?:roll|flip|constant_pad_nd|(?:reflection|replication)_pad)")
"""Operators that read their argument at other places than they write."""
SEQUENCE: Final = re.compile(r"^arange$")
"""Index sequences."""
IDENTITY: Final = re.compile(r"^aten::eye$")
"""Identity matrices."""
LIBRARY_KINDS: Final = (Kind.GEMM, Kind.CONVOLUTION, Kind.ATTENTION, Kind.COMMUNICATION)
"""Kinds of kernel that stay as they are."""
CONVERTS_LAYOUT: Final = re.compile(r"nchwtonhwc|nhwctonchw|transpose_(?:nchw|nhwc)", re.IGNORECASE)
"""Kernels that convert between channels first and last."""
CHANNELS_FIRST: Final = re.compile(r"nchwkcrs_nchw|implicit_convolve_sgemm|grouped_direct|dgrad_engine")
"""Kernels of convolutions that read and write channels first. [cuDNN]"""
TO_CHANNELS_LAST: Final = re.compile(r"nchwtonhwc|transpose_nhwc", re.IGNORECASE)
"""Kernels that convert to channels last."""
FROM_HOST: Final = re.compile(r"HtoD|HostToDevice", re.IGNORECASE)
"""Copies from the host."""
PAGEABLE: Final = re.compile(r"pageable", re.IGNORECASE)
"""Copies from or to memory that is not pinned."""
OLDER_INSTRUCTIONS: Final = re.compile(r"sm80|cutlass_80|s16816|ampere_")
"""Kernels by the matrix instructions of the generation before the device's own."""
CONVERTS: Final = re.compile(r"^(?:to|_to_copy)$")
"""Operators that copy into a tensor of their own."""
LOG_OF_EXP_BACKWARD: Final = re.compile(r"^(?:softplus|log_sigmoid)_backward$")
"""Gradients of the logarithm of an exponential beside one: a quotient of exponentials."""
SPARSE: Final = re.compile(r"cusparse")
"""Kernels of a product with a sparse matrix."""
BIAS_KERNEL: Final = re.compile(r"epilogue::impl|scal_kernel|elementwise_kernel")
"""Kernels of a matrix product that only apply its bias and scale, or bring the bias to where it is added."""
NARROW_LOADS: Final = re.compile(r"_(?:align|ldg)[124](?!\d)")
"""Kernels of matrix products that load fewer than eight elements at once. [cuBLAS, CUTLASS]"""
FEW_ROWS: Final = re.compile(r"^(?:void )?gemmSN_")
"""Kernels of cuBLAS for single-precision matrix products of few rows."""
