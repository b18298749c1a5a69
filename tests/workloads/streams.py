"""Steps whose work runs on several streams."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import Encoder, perceptron
from tests.workloads.registry import DEVICE, Work, batches, inference, normal, workload

HALF = torch.bfloat16


def side_by_side(tasks: list[Callable[[], Any]], streams: list[torch.cuda.Stream]) -> list[Any]:
    """Run each task on a stream of its own, forked from the current one and joined to it."""
    main, results = torch.cuda.current_stream(), []
    for task, stream in zip(tasks, streams, strict=True):
        stream.wait_stream(main)
        with torch.cuda.stream(stream):
            results.append(task())
    for stream in streams:
        main.wait_stream(stream)
    return results


@workload("calibration", "streams")
def voting_ensemble() -> Work:
    """Four perceptrons side by side, their votes averaged."""
    models = [perceptron(256, 512, 512, 512, 10).to(DEVICE).eval() for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in models]

    def step(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            votes = side_by_side([lambda model=model: model(x).softmax(-1) for model in models], streams)
            return torch.stack(votes).mean(0)

    return Work(step, batches(lambda: (normal(64, 256),)))


@workload("calibration", "streams")
def overlapped_encoders() -> Work:
    """Two encoders of different depth on one input, each too small to fill the device."""
    models = [inference(nn.Sequential(*[Encoder(512, 8) for _ in range(depth)]), HALF) for depth in (6, 3)]
    streams = [torch.cuda.Stream() for _ in models]

    def step(x: torch.Tensor) -> torch.Tensor:
        return torch.cat(side_by_side([partial(model, x) for model in models], streams), -1)

    return Work(step, batches(lambda: (normal(8, 128, 512, dtype=HALF),)))


@workload("calibration", "streams")
def beside_reductions() -> Work:
    """A large product on one stream while statistics of another tensor stream through memory on a second."""
    weight, streams = normal(4096, 4096, dtype=HALF) / 64, [torch.cuda.Stream() for _ in range(2)]

    def statistics(x: torch.Tensor) -> torch.Tensor:
        return torch.stack([x.mean(0), x.var(0), x.amax(0)])

    def step(x: torch.Tensor, logged: torch.Tensor) -> list[torch.Tensor]:
        return side_by_side([lambda: F.relu(x @ weight) @ weight, lambda: statistics(logged)], streams)

    return Work(step, batches(lambda: (normal(4096, 4096, dtype=HALF), normal(16384, 4096))))


@workload("validation", "streams")
def inception_branches() -> Work:
    """Convolution branches of one block on streams of their own, block after block."""

    class Branch(nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.convolution, self.norm = nn.Conv2d(96, 32, size, padding=size // 2, bias=False), nn.BatchNorm2d(32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.relu(self.norm(self.convolution(x)))

    blocks = [[inference(Branch(size), HALF) for size in (1, 3, 5)] for _ in range(6)]
    streams = [torch.cuda.Stream() for _ in range(3)]

    def step(x: torch.Tensor) -> torch.Tensor:
        for block in blocks:
            x = torch.cat(side_by_side([partial(branch, x) for branch in block], streams), 1)
        return x

    return Work(step, batches(lambda: (normal(4, 96, 28, 28, dtype=HALF),)))


@workload("validation", "streams")
def half_batches() -> Work:
    """A batch in two halves, each through the same feed-forward layers on its own stream."""
    model = inference(perceptron(2048, 4096, 2048, 4096, 2048, activation=nn.GELU), HALF)
    streams = [torch.cuda.Stream() for _ in range(2)]

    def step(x: torch.Tensor) -> torch.Tensor:
        return torch.cat(side_by_side([partial(model, part) for part in x.chunk(2)], streams))

    return Work(step, batches(lambda: (normal(512, 2048, dtype=HALF),)))


@workload("validation", "streams")
def averaged_weights() -> Work:
    """Features computed while a moving average of the weights is updated beside them."""
    model = perceptron(512, 1024, 1024, 512).to(DEVICE).eval()
    average = [parameter.detach().clone() for parameter in model.parameters()]
    streams = [torch.cuda.Stream() for _ in range(2)]

    def update() -> None:
        for kept, parameter in zip(average, model.parameters(), strict=True):
            kept.lerp_(parameter, 0.01)

    def step(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return side_by_side([lambda: F.layer_norm(model(x), (512,)), update], streams)[0]

    return Work(step, batches(lambda: (normal(1024, 512),)))
