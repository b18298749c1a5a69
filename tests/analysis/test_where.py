from __future__ import annotations

import numpy as np
import pytest

from tests.build import TraceBuilder
from tracelens.analysis import describe
from tracelens.analysis.where import place, places
from tracelens.model.events import ABSENT, Category, Trace


def rows(trace: Trace, category: Category) -> np.ndarray:
    return np.flatnonzero(trace.events.category == category)


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        ("model.py(41): forward", "model.py:41"),
        ("/home/me/project/train.py(7): <module>", "/home/me/project/train.py:7"),
        (r"C:\work\train.py(7): main", "C:/work/train.py:7"),
        ("/opt/app/python/app/layers.py(12): forward", "/opt/app/python/app/layers.py:12"),
        ("transformers/models/bert/modeling_bert.py(3): forward", "transformers/models/bert/modeling_bert.py:3"),
        ("torch/nn/modules/module.py(1501): _call_impl", None),
        ("/opt/conda/lib/python3.10/site-packages/torch/_ops.py(5): __call__", None),
        ("/usr/lib/python3/dist-packages/numpy/core.py(5): f", None),
        ("contextlib.py(78): inner", None),
        ("multiprocessing/process.py(108): run", None),
        ("/tmp/torchinductor_me/ab/cabc.py(90): call", None),
        ("<built-in method item of Tensor object at 0x7fa2>", None),
        ("<frozen importlib._bootstrap>(241): _call", None),
        ("nn.Module: Linear_0", None),
        ("profile.py(3): main", "profile.py:3"),
        ("", None),
    ],
)
def test_a_frame_is_the_users_or_a_librarys(frame: str, found: str | None) -> None:
    assert place(frame) == found


def test_the_innermost_user_frame_around_the_call_is_taken() -> None:
    trace = (
        TraceBuilder()
        .python("train.py(10): main", 0, 100)
        .python("model.py(41): forward", 10, 50)
        .python("torch/nn/modules/linear.py(5): forward", 15, 40)
        .op("aten::mm", 20, 20)
        .launch("gemm", 25)
        .op("aten::add", 70, 20)
        .trace()
    )
    assert places(trace, rows(trace, Category.KERNEL)).tolist() == ["model.py:41"]
    assert places(trace, rows(trace, Category.OPERATOR)).tolist() == ["model.py:41", "train.py:10"]


def test_a_frame_that_returned_after_opening_an_annotation_is_not_taken() -> None:
    trace = (
        TraceBuilder()
        .python("train.py(10): main", 0, 100)
        .python("helper.py(3): begin", 5, 10)
        .annotation("part", 8, 80)
        .op("aten::mm", 30, 20)
        .launch("gemm", 35)
        .trace()
    )
    assert places(trace, rows(trace, Category.KERNEL)).tolist() == ["train.py:10"]
    assert describe(trace, "k-1")["called_by"] == ["o-1 aten::mm", "part", "train.py(10): main"]


def test_without_frames_or_launch_there_is_no_place() -> None:
    trace = TraceBuilder().op("aten::mm", 0, 20).launch("gemm", 5).kernel("lost", 90, 5).trace()
    assert places(trace, rows(trace, Category.KERNEL)).tolist() == [None, None]
    assert places(trace, np.array([ABSENT])).tolist() == [None]
    assert places(trace, np.zeros(0, dtype=np.int64)).tolist() == []


def test_backward_work_is_placed_at_its_forward() -> None:
    trace = (
        TraceBuilder()
        .python("model.py(41): forward", 0, 50)
        .op("aten::mm", 10, 20, sequence=7)
        .op("autograd::engine::evaluate_function: MmBackward0", 100, 50, thread=9, sequence=7)
        .op("MmBackward0", 105, 40, thread=9, sequence=7)
        .launch("gemm", 110, thread=9)
        .trace()
    )
    assert places(trace, rows(trace, Category.KERNEL)).tolist() == ["model.py:41"]


def test_call_stacks_of_early_profilers_are_read_innermost_first() -> None:
    stack = "/x/lib/python3.7/site-packages/torch/nn/functional.py(9): linear;net.py(54): forward;main.py(3): <module>"
    trace = TraceBuilder().op("aten::mm", 0, 20, **{"Call stack": stack}).launch("gemm", 5).trace()
    assert places(trace, rows(trace, Category.KERNEL)).tolist() == ["net.py:54"]


def test_an_empty_trace_has_no_places() -> None:
    assert len(places(TraceBuilder().trace(), np.zeros(0, dtype=np.int64))) == 0
