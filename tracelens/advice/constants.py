"""Constants of the prediction with their sources. Times are ns, rates bytes per ns (= GB/s) unless said.

[H200] fitted on step times measured without a profiler on an H200, torch 2.11, CUDA 13, 16-core host.
[measured] timed alone there. [literature] published figures. [judgement] set by reasoning; nothing measured pins it.
"""

from __future__ import annotations

from typing import Final

US: Final = 1_000.0

CALIBRATED: Final = "H200"
"""Word of the device's name that the constants were measured on."""
CALIBRATED_CUDA: Final = 13
"""Major version of the CUDA runtime of those measurements, and so their releases of torch."""
OTHER_DEVICE: Final = 1.2
"""Ranges widen by this factor on another CUDA device. [judgement]"""
OTHER_RELEASE: Final = 1.1
"""Ranges widen by this factor with another release of CUDA, and so of torch. [judgement]"""
OTHER_VENDOR: Final = 1.5
"""Ranges widen by this factor on another vendor's device. [judgement]"""

# -- host without the profiler ---------------------------------------------------------------------------------
REFERENCE_CALL: Final = 5.2 * US
"""Median duration of a traced launch call on the average host of the calibration. [H200]"""
CALL_RANGE: Final = (4.0 * US, 10.0 * US)
"""Launch calls outside are not a host's speed (a full queue, a blocked call). [H200: 4.5 to 9.7 seen]"""
WAITED_FOR: Final = 0.5
"""A device that is busy for less of the traced step waits for the host. [judgement]"""
GAUGE_POWER: Final = 0.8
"""Exponent of the gauge: calls vary within a host too, so they tell less than their ratio. [H200, 63 steps: rms 14 %,
15 % for 1, 22 % for 0]"""
OPERATOR_RECORD: Final = 1.5 * US
"""What recording an operator with its shapes takes at the reference call. [H200, 54 host-bound steps: rms of eager's
host time 16 %, 18 % without it]"""
LEAST_UNRECORDED: Final = 0.4
"""Share of the host time that no records take. [H200: at least 0.6 in 101 steps]"""
INFERENCE_HOST: Final = 0.69
"""Untraced over traced host time of a step at the reference call, records apart. [H200: 42 host-bound steps]"""
TRAINING_HOST: Final = 0.82
"""Untraced over traced host time of a step with a backward pass at the reference call, records apart. [H200: 12
host-bound steps]"""
COMPILED_HOST: Final = 0.96
"""Untraced over traced host time of a step that is compiled already: fewer operators to record. [H200, 18 traces, rms
17 %]"""
PROFILER_STEP: Final = 30.0 * US
"""What the profiler's own step call adds to a ProfilerStep at the reference call. [H200]"""
HOST_SPREAD: Final = (0.68, 1.45)
"""Range of host time around its estimate; host-bound times vary by 17 % rms between runs. [H200]"""
OUTSIDE_SPREAD: Final = (0.7, 1.7)
"""Range of the untraced over the traced time of host work that runs no operator for long. [H200, 8 steps of 2 to 17 ms
of it, each in 3 processes: 0.64 to 1.9, median 1.03, 21 of 24 within; one of 7.3 ms in one of them took 12 in
another]"""
BACK_PRESSURE: Final = 10.0
"""A launch call this many medians long waits for a full queue or a lock rather than works. [judgement]"""
LAUNCH_LATENCY: Final = 4.0 * US
"""End of a launch call to the kernel's start on an idle device. [H200; literature: 5-10 us]"""
SYNC_RETURN: Final = 4.0 * US
"""End of the last kernel to the return of the call that waits for it. [H200]"""

# -- device ----------------------------------------------------------------------------------------------------
STREAM_SPACING: Final = 1.2 * US
"""Between dependent kernels launched one by one and already queued. [H200]"""
HAND_OVER: Final = 0.5 * US
"""From the end of work on one stream to the start of what waits for it on another, over their spacing on one stream.
[measured: forks and joins of 2 to 8 chains in graphs, H200: 0.3 a stream; 2 replayed steps that are one chain: 0.4 and
1.3]"""
COPY_HAND_OVER: Final = 4.0 * US
"""What a hand-over between a stream's copy to or from the host and another stream's kernel takes beside. [measured: 4
kinds of copies beside kernels in graphs, H200: 3.9 to 6.7 a way]"""
FORK: Final = 1.0 * US
"""Until the next of the streams begins that a graph begins with, over the spacing of the nodes that the device is
handed before. [measured: 2 to 6 chains side by side in graphs, H200: 1.3 to 1.6 a chain of one node, 2.0 of four]"""
HANDED: Final = 12
"""Nodes of such a stream that the device is handed before it begins the next. [H200: traced streams of 25 to 28 nodes,
replayed at the device's pace, begin 6.3 to 7.4 us apart, of 75 nodes 15; without a profiler the errors of 24 steps are
least, in the mean, at 8 to 12]"""
REGISTERS_TO_COMPUTE: Final = 64
"""Registers of a thread that keeps part of a product in them. [measured: 83 kinds of kernels, H200: 72 to 224, others
16 to 54]"""
COMPUTES: Final = 0.85
"""What a kernel that computes takes of a multiprocessor with room for more of its blocks. [measured: 2 to 6 chains of
11 kinds side by side in graphs, H200: 0.55 to 0.9]"""
COMPUTE_START: Final = 2.5 * US
"""Of its time, what leaves the multiprocessor to others: its blocks load and store. [measured: the same; kernels of 4
to 9 us slow each other by about half of what those of 19 to 27 us do]"""
OWN_PLACES: Final = 0.25
"""Weight of the multiprocessors that a kernel finds held; what is taken of them weighs the rest. [measured: 1,326 pairs
and 1,100 random programs of 52 kinds of work in graphs, H200, and 47 replayed steps]"""
COPIED_BY_BLOCK: Final = 1024
"""Bytes of a copy within the device for each block of the kernel that makes it. [measured: copies of 0.5 and 32 MiB
beside kernels, H200]"""
OVERLAP_REACH: Final = 0.2
"""Part of the way to the critical path, and to the sum of all work, that the range of a replay reaches. [H200, 47
steps: it holds 44, and 47 at 0.5]"""
FILLS: Final = 0.8
"""Share of the device from which a kernel leaves no room for others: its blocks stay as long as it runs. [measured: 17
kinds of kernels beside their like in graphs, H200: 1.6 to 2.7 times as long, median 1.9]"""
NODE_SPACING: Final = 0.22 * US
"""Between kernel nodes of a graph, over the durations of the eager kernels. [H200, 50 steps: 0.14 to 0.3. In 21 of 56
traced graphs nodes follow at once, with gaps of 0.06 to 0.1 us where the others have 0.26, or 0.42 from memory: in 14
of 19 compiled ones and in 3 of 17 others on hosts of 3 cores, in 4 of 20 on hosts of more. Other graphs of the same
kernels do not, and nothing in an eager trace tells]"""
COLD_NODE_SPACING: Final = 0.4 * US
"""Between kernel nodes of a graph that come from memory, not from the cache. [H200, 9 steps: 0.33 to 0.45]"""
NODE_FETCH: Final = 8.0 * US
"""A node's work from which the next one is there in time, from memory too. [H200, traced gaps: alike after longer]"""
CACHE_FOR_STEP: Final = 36 * 2**20
"""Bytes of a step's tensors that leave room for the graph itself in the cache. [data sheet: 50 MB in all. H200, traced
gaps: 27 steps of 33 MiB and less keep it, 11 of 12 of 50 and more do not]"""
DISTINCT: Final = 0.3
"""Of what a training step's work is given, the share that it was not given before: forward, backward and update read a
tensor in turn. [H200, traced gaps: 9 steps given up to 109 MiB stay in the cache, 9 given 167 and more do not]"""
MEMSET_SPACING: Final = 1.7 * US
"""What a memset node adds to a graph. [H200, 17 steps of 4 and more: 0.4 to 6.0, median 1.9]"""
GRAPH_LAUNCH: Final = 3.0 * US
"""Start of a graph launch to its first node, and the end of its last. [H200: 2.6-7.3]"""
REPLAY_FLOOR: Final = (25.0 * US, 40.0 * US)
"""Least and most host time of one replay: the copy into a static input and the launch call. [H200, 4 steps: 26 to
40 us]"""
INPUT_LAUNCH: Final = 7.0 * US
"""Host time of the copy into each further static input. [H200, 1 step that its host limits: 9; another of five: at
most 6]"""
BRANCHED_NODE: Final = 0.55 * US
"""Time of the host of the reference call to launch each node of a graph of several streams: the call hands over branch
after branch, and each begins only then, as traced. A graph that is one chain is launched at once. [H200, 4 steps that
this limits, at their own calls: 0.53 to 0.63, where the times themselves are 0.6 to 0.87; 5 others of nodes as short:
at most 0.5 to 0.8]"""
INPUT_COPY: Final = 1.5 * US
"""Fixed cost of copying an input into its static buffer. [H200; steps of 16 and of 48 inputs: 1.8]"""
DEVICE_SPREAD: Final = (0.96, 1.04)
"""Range of device time between runs: clocks, power, memory layout. [H200: three times 1.2 % rms; a power cap apart]"""
UNPINNED_SPREAD: Final = (0.75, 1.4)
"""Range of copies from and to host memory that is not pinned, which the host makes, between runs. [H200, 1 step
of 88 % such copies: two processes without the profiler take 0.85 to 1.36 of two traced times; 1 step of 66 %: 0.9]"""
BETWEEN_RUNS: Final = 1.012
"""A device-bound step over the same step of another run. [H200: 1.2 % rms]"""
BETWEEN_PROCESSES: Final = 1.2
"""A compiled step whose host is the limit over the same step as another process recorded it: the profiler slows it by
less than processes differ. [H200, 5 steps, each in two other processes: up to 1.17]"""

# -- memory ----------------------------------------------------------------------------------------------------
PEAK_BANDWIDTH: Final = {
    "H200": 4_800.0, "H100": 3_350.0, "H20": 4_000.0, "A100": 2_039.0, "A10": 600.0, "B200": 8_000.0, "B300": 8_000.0,
    "GB200": 8_000.0, "V100": 900.0, "L40": 864.0, "L4": 300.0, "T4": 320.0, "RTX 4090": 1_008.0, "RTX 5090": 1_792.0,
    "MI300X": 5_300.0, "MI325X": 6_000.0, "MI355X": 8_000.0, "MI250X": 3_277.0,
}  # fmt: skip
"""Memory bandwidth in GB/s by a word of the device's name. [literature: data sheets]"""
LARGEST_MEMORY: Final = 288 * 10**9
"""Bytes of memory of the largest devices. [data sheets: B300, MI355X]"""
MULTIPROCESSORS: Final = {
    "H200": 132, "H100": 132, "H20": 78, "A100": 108, "A10": 72, "B200": 148, "V100": 80, "L40": 142, "L4": 58,
    "T4": 40, "RTX 4090": 128, "RTX 5090": 170, "MI300X": 304, "MI325X": 304, "MI355X": 256,
}  # fmt: skip
"""Multiprocessors of the whole device by a word of its name. [literature: data sheets]"""
SLICES: Final = 7
"""Slices that a device divides into. [literature: multi-instance GPU]"""
UNKNOWN_BANDWIDTH: Final = 1_500.0
"""GB/s for a device that is not listed and whose trace shows none. [judgement]"""
ACHIEVABLE: Final = 0.87
"""Share of the peak that a streaming kernel reaches. [H200: 4.2 of 4.8 TB/s]"""
LEAST_SHOWN: Final = 0.85
"""Share of that which generated kernels reach whatever the trace's own show, which may load single elements. [H200, 7
steps whose kernels show less: their time is nearer in 6 than with 0.7]"""
STREAMING_KERNEL: Final = 8.0 * US
"""Shorter kernels do not show a bandwidth. [H200]"""

SLOW: Final = 4.0
"""Three quarters of the pointwise kernels that take so many times as long as their traffic tell of a device that is
slower than its name. [H200, 180 steps: half of them at most 2.2]"""
FEWEST_POINTWISE: Final = 5
"""Kernels from which that counts. [judgement]"""
UNEXPLAINED: Final = 20.0
"""A kernel takes so many times as long as its traffic for another reason. [judgement]"""
MOST_UNEXPLAINED: Final = 0.4
"""Share of the device time in such kernels up to which what fuses with them is believed. [H200, 180 steps: at most
0.22]"""

# -- fused kernels ---------------------------------------------------------------------------------------------
SHORTEST_POINTWISE: Final = 1.1 * US
"""A generated pointwise kernel in a graph beside its streaming time: its start, the latency of memory, its end. [H200,
450 kernels of 87 steps, by their size: 1.0 to 1.3 us up to 4 MB]"""
SHORTEST_REDUCTION: Final = 1.2 * US
"""A generated reduction beside its streaming time. [H200, 250 kernels of 87 steps: 1.15 to 1.3 us for one of rows]"""
RAMP: Final = 0.6 * US
"""Start and drain of an eager kernel beside its streaming time. [H200]"""
PLAIN_OPERATOR: Final = 0.03e-3
"""ns per element for each other operator in generated code. [measured: H200, 0.02 to 0.06; data sheet: 0.03 for a
multiply-add, which does the work of two]"""
QUOTIENT: Final = 0.25e-3
"""ns per element for each quotient of two tensors in generated code: one reciprocal and a product, rounded loosely.
[measured: H200; data sheet: 16 reciprocals a cycle in each of 132 multiprocessors at 1.75 GHz take 0.27]"""
POWER_FUNCTION: Final = 4.0e-3
"""ns per element for each power with an exponent of its own for each element in generated code. [H200, 2 kernels]"""
BROKEN_POWER: Final = 2.0e-3
"""ns per element for each power with one exponent that is no whole number and no half: a call of a library's function,
parts of which fall away for a number that the compiler knows. [Inductor's lowering of pow; H200, 5 kernels]"""
WINDOW_READ: Final = 0.27e-3
"""ns for each element of a window that generated code reads for an element: through the first cache, in rows that are
not aligned. [data sheet: 128 bytes a cycle in each of 132 multiprocessors at 1.75 GHz, two accesses a row; H200, 1
step]"""
REDUCTION_LATENCY: Final = 0.3 * US
"""What each further reduction of rows in the same kernel adds. [H200, 60 kernels: 1.5 us for a normalisation of layers
or a softmax, 1.2 for one reduction]"""
LOOP_TURN: Final = 2048.0
"""Elements of a group that a block takes in one turn of its loop, which takes as long as another reduction. [Inductor's
largest block; H200, 9 kernels: 1.5 us for the moments of 256 and 800 elements, 2.0 of 3,200, 1.9 to 2.6 of 6,272; the
position of the largest of 8,000 elements 2.7, of 32,000 6.5]"""
UNROLLED_ROW: Final = 7
"""Longest row whose reduction generated code writes out, as work on single elements. [Inductor's default]"""
PERSISTENT_ROW: Final = 1024
"""Longest row that a generated kernel keeps in registers; longer ones are read again for each reduction. [Inductor]"""
CACHED_RATE: Final = 3.2
"""Rate of reading a row again, which the cache holds, over that of memory. [H200, 2 steps: 2.6 and 4]"""
CACHED_ROW: Final = 95e3
"""Bytes of a row from which the rows that are read at the same time leave the cache: 50 MB for four rows on each of
132 multiprocessors. [data sheet]"""
FEW_FUNCTIONS: Final = 2
"""Functions of a generated kernel beyond which it takes longer for each. [judgement]"""
AMONG_OTHERS: Final = 1.3
"""... and for its reductions, by this factor. [H200, 45 steps; measured: 1.2 to 1.3 of five and of eight functions]"""
WIDE_ROW: Final = 256
"""Elements from which a row held for a reduction takes a block, whose threads wait for each other. [Inductor]"""
WIDE_ROW_ARITHMETIC: Final = 1.3
"""... which makes its arithmetic longer by this factor. [measured: H200, rows of 512 and 1024: 1.1 to 1.7]"""
ROW_REDUCTION: Final = 0.1e-3
"""ns per element for each normalisation or reduction of rows held in registers. [H200, 1 step]"""
LOOPED_SOFTMAX: Final = 1.1e-3
"""ns per element for each softmax, or gradient of one, over rows too long for that, beside its exponential: what was
summed is scaled anew with each greater element. [H200, 5 steps: 1.4 to 1.9 in all, the exponential included]"""
READ_ONCE: Final = 5.0
"""Reads of a generated kernel that no chain of its operators explains, to each tensor that it takes from outside: the
others are of what it holds. [H200, 4 steps of 56 to 120 operators]"""
GATHER_REUSE: Final = 1.9
"""Gathered rows hit the cache: traffic falls by this factor before a scatter. [H200]"""
SPLIT_INNER: Final = 8192
"""Elements of one result along the last dimensions beyond which they are reduced in two stages. [Inductor]"""
PLENTY_INNER: Final = 264
"""... unless there are so many results: two for each of 132 multiprocessors. [Inductor]"""
SPLIT_OUTER: Final = 128
"""Elements of one result over leading dimensions beyond which they are reduced in two stages. [Inductor: four values
for each of 32 threads]"""
PLENTY_OUTER: Final = 8448
"""... unless there are so many results: 64 for each of 132 multiprocessors. [Inductor]"""
NODES_TO_CONVOLUTION: Final = 300
"""Nodes of the compiler's graph for each convolution from which it leaves the layout of those alone. [Inductor]"""
GRAPH_NODES: Final = 5
"""Nodes of that graph for each kernel of eager. [Inductor's decompositions: 62 for a transformer's layer of 10 to 13
kernels, 25 for a convolution, its normalisation and a cut at zero, of 3 to 6]"""
COPIED_INPUTS: Final = 8
"""A concatenation of more tensors copies them one kernel each. [Inductor's default]"""
STENCIL: Final = 3
"""Operators from one shifted read of a stencil to the next, at most. [judgement: weigh, add, shift]"""
OPTIMIZER_TRAFFIC: Final = 7.0
"""Tensor passes of a fused Adam: four reads, three writes. [the algorithm]"""
MOMENTUM_TRAFFIC: Final = 5.0
"""... and of an optimizer that keeps one tensor for each parameter: three reads, two writes. [the algorithm]"""
FOREACH_TRAFFIC: Final = 2.5
"""Tensor passes of one foreach operator on average. [the operators' arities]"""
FOREACH_CHUNK: Final = 4.0 * 65536
"""Bytes of each tensor that a block of a foreach kernel takes at most, in single precision. [torch's kChunkSize]"""
FOREACH_RATE: Final = 0.88
"""Share of the bandwidth that the generated kernels over lists reach. [H200, 1 step: 1.3 GB in 327 us]"""
COUNTERS: Final = 0.125
"""Foreach operators that take a smaller share of the longest one's time are on single values, as on an optimizer's
counters of steps. [judgement]"""

# -- compiled host ---------------------------------------------------------------------------------------------
GUARDS: Final = 50.0 * US
"""Guards and entry of one compiled region. [H200, 25 steps]"""
COMPILED_ENTRY: Final = 130.0 * US
"""From a wait that ends a step until the device works again for the compiled one: the wait's return, Python, guards,
the first launch. [H200, 13 device-bound steps: 62 to 298 us, median 133]"""
COMPILED_RESUME: Final = 74.0 * US
"""From a wait inside a step until the device works again for the compiled code that resumes behind it. [H200, 3
steps with that wait alone: 78 to 111 us]"""
GENERATED_LAUNCH: Final = 15.7 * US
"""Host time of one generated kernel: its output buffer, the Python wrapper, the launch. [H200, 94 steps]"""
LIBRARY_CALL: Final = 8.0 * US
"""Host time of a library call from compiled code, whatever it calls: the wrapper, output buffers. [H200, 94 steps]"""
LIBRARY_TRACED: Final = 0.7
"""... and over its traced eager operator at the reference call, records apart. Calls differ less than their traces say.
[H200, 94 steps: rms 28 % leave-one-set-out, 33 % from the trace alone, 34 % from the count alone]"""
LIBRARY_MOST: Final = 25.0 * US
"""Host time of library calls from compiled code per kernel that they launch, at most: profiling slows operators that
nest deep by more than the gauge takes back. [H200, 26 steps: median 25 us, half of them 16 to 36]"""
SIGN_KERNELS: Final = 5
"""Further kernels of the sign of complex numbers: it is their quotient by their magnitude, converted, unless that is
zero, and the compiler makes no code for such quotients. [Inductor; H200, as traced of one step]"""
SIGN_TIME: Final = 4.4
"""Device time of all of them over that of eager's kernel. [H200, 1 step; so are the bytes that they move, 70 to 16]"""
COMPLEX_CALL: Final = 8.0 * US
"""What a library call on complex numbers adds to that: the compiler makes no code for those, and calls each operator
through the dispatcher from Python. [H200, 15 steps: mean error 29 % with 4 to 8 us, 32 % with none or 12]"""
COMPILED_INPUT: Final = 3.0 * US
"""Host time of each tensor of a layer in compiled inference: its guard, its place among the inputs. [H200, 82 steps]"""
COMPILED_TRAINING: Final = 770.0 * US
"""Host time that the autograd engine and the optimizer's wrapper add to compiled training at the reference call. [H200,
26 steps]"""
COMPILED_PARAMETER: Final = 55.0 * US
"""... for each parameter tensor: guards, unpacking, accumulating its gradient. [H200, 26 steps: median error 11 %
leave-one-set-out, 16 % without the gauge of the call]"""
COMPILED_SPREAD: Final = (0.65, 1.45)
"""Range of compiled host time around its estimate. [H200: leave-one-out error 14 % median, 23 % rms]"""
COMPILED_SIGMA: Final = 0.37
"""Standard deviation of the logarithm of compiled host time around its estimate. [H200, 29 steps: 0.37 leave-one-out,
0.22 between runs alone]"""
COMPILED_TRAINING_SIGMA: Final = 0.2
"""Standard deviation of the logarithm of compiled training's host time around its estimate. [H200, 26 steps: 0.16
leave-one-set-out]"""
FUSED_SPREAD: Final = (0.7, 1.7)
"""Range of the time of generated kernels around its estimate. [H200]"""
UNFUSED_BIAS: Final = 0.9
"""Device time of a single-precision addmm over eager's when its bias moves into the generated kernel that follows:
another matrix product is chosen. Only where it leaves the device partly idle. [H200: 0.52-1.0 in 5 steps, 8 in one]"""
SPLIT_PRODUCT: Final = 29.0 * US
"""Device time of such an addmm whose eager kernel is for few rows and whose result is narrow: without its bias cuBLAS
takes a kernel that splits the product. [H200, 2 steps: 28 and 30 us for 16 and 12 rows]"""
NARROW: Final = 256
"""Columns of a narrow result. [H200: at 768 the kernel for few rows stays]"""
ALIGNED: Final = 8
"""Whole multiples of this are even dimensions of a half-precision matrix product: 16 bytes. [Inductor]"""
PADDED_INTENSITY: Final = 103.0
"""Elements multiplied per element moved from which the compiler tries to pad a product: half of the device's operations
per byte. [Inductor; data sheet: 989 Tflop/s, 4.8 TB/s]"""
PADDING_PAYS: Final = 1.1
"""... and pads it where that is faster by this factor. [Inductor]"""
PADDING_COPY: Final = SHORTEST_POINTWISE + STREAM_SPACING
"""A kernel that pads a matrix, beside its streaming time."""
DENSE_RATE: Final = 650e3
"""Operations per ns of a half-precision matrix product with even dimensions. [H200: 490 to 910 Tflop/s]"""
PRODUCT_START: Final = 3.2 * US
"""What a half-precision matrix product takes beside its arithmetic. [H200, 1,963 products of up to 20 Gflop: median of
each size 2.6 to 3.8 us]"""
UNBIASED_SPREAD: Final = (0.55, 1.05)
"""Range of single-precision matrix products that lose their bias, for which the compiler may call other kernels. [H200;
those that keep it take what they took in eager: replayed, 10 of 10 steps of little else 0.96 to 1.12]"""
RELAID_SPREAD: Final = (0.5, 1.3)
"""Range of convolutions that run channels first in eager: channels last, as compiled, cuDNN takes other kernels. [H200,
2 steps: 0.68 and 0.80 in all; single ones 0.2 to 2.4]"""
TREE_FLOOR: Final = 125.0 * US
"""Host time of one region under reduce-overhead, inference. [H200: 84-185]"""
TREE_SHAPES: Final = 30.0 * US
"""What shapes that change between steps add to that: which of the graphs to replay. [H200, 4 steps: 0 to 80 us]"""
TREE_COPY: Final = 7.6 * US
"""Device time of the copies into a graph's static inputs under reduce-overhead, at least. [H200, 12 of 24 steps with
little to copy: 7.4 to 8.1; 1 to 4 in the others]"""
TREE_COPY_RATE: Final = 0.83
"""Rate of those copies over that of streaming kernels: batched, each in chunks. [H200, 9 steps: 0.65 to 0.86, the
longer the nearer to that]"""
TREE_SPREAD: Final = (0.75, 1.5)
"""Range of the host time under reduce-overhead around its estimate. [judgement]"""
TREE_ALTERNATING: Final = 0.6
"""Share of the faster of host and device that a training step in pieces does not hide behind the other. [judgement]"""
TREE_TRAINING: Final = 800.0 * US
"""Host time of a training step under reduce-overhead, without its parameters. [H200, 4 steps]"""
TREE_PARAMETER: Final = 42.0 * US
"""Host time that each parameter tensor adds to a training step under reduce-overhead. [H200, 4 steps]"""

# -- set-up ----------------------------------------------------------------------------------------------------
COMPILE_SETUP: Final = 1.0
"""Seconds to compile a step with a cold cache, times the root of its kernels. [H200, 22 steps: within 2x]"""
CAPTURE_SETUP: Final = 0.1
"""Seconds to warm up and capture a step. [H200: 0.01-0.3]"""

# -- blocked regions -------------------------------------------------------------------------------------------
REGION_LAUNCHES: Final = (31.0, 45.0)
"""Launches between two waits of a loop up to which the compiler leaves its body to eager, and from which it compiles
it. [H200: 11 steps of up to 31 and of 45 and more]"""
LOOPED_LAUNCHES: Final = 0.5
"""Share of the launches in stretches that repeat from which a step with waits is a loop. [judgement; H200: 0.67 of a
training step that the compiler left to eager, 0 of one that it did not]"""
LOOPED_CALLS: Final = 4.0
"""Library calls to each function that the body of a loop with waits calls, such as a layer. [H200, 4 steps: 3 to 6]"""
LOOPED_REPLAY: Final = 0.6
"""Share of the compiled step's time that a loop which waits in its body keeps at least under reduce-overhead. [H200, 5
steps: 0.5 to 1]"""
BROKEN_COMPILE: Final = 0.15
"""Host time that compiling adds when every region is short, over eager's. [H200, 5 steps]"""
BROKEN_REPLAY: Final = 0.45
"""Host time that reduce-overhead adds when every region is short, over eager's. [H200, 7 steps: 0 to 1.4]"""
REGION_OVERHEAD: Final = 80.0 * US
"""Leaving, resuming and replaying one region under reduce-overhead. [H200, 17 steps: 0 to 160 after the first]"""
HOST_SHARE: Final = 0.3
"""Share of the device time in copies from the host from which they decide how a step runs. [judgement]"""
SKIPPED_GRAPHS: Final = 0.1
"""Time that reduce-overhead adds where it finds that it may not make graphs. [H200, 3 steps: -1, 14 and 17 %]"""
BROKEN_SPREAD: Final = (0.7, 1.6)
"""Range of steps that run in pieces. [H200]"""

FEWEST_EVENTS: Final = 10
"""Device events below which a trace with a failed check gets no verdict. [judgement]"""

# -- the verdict -----------------------------------------------------------------------------------------------
NEEDLESS: Final = 0.034
"""A form must beat every simpler one by this share of the best time. [the rule's 3 %, and a margin]"""
FUSED_NEEDLESS: Final = 0.07
"""The same for predicted fused kernels beside a replay of the traced ones: small gains predicted are smaller when
measured. [H200, 6 steps predicted 2 to 8 % faster: -3 to 4 %]"""
