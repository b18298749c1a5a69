"""Training steps that shape representations: metric heads and distillation."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import plain
from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Work,
    batches,
    fused_adamw,
    integers,
    momentum,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side

HALF = torch.bfloat16


class Angular(nn.Module):
    """Cosines of faces and of many people's directions, the right one's angle made larger by a margin."""

    def __init__(self, width: int, people: int, margin: float) -> None:
        super().__init__()
        self.people, self.margin = nn.Parameter(torch.randn(people, width)), margin

    def forward(self, face: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        cosine = F.linear(F.normalize(face), F.normalize(self.people)).float().clamp(-1 + 1e-6, 1 - 1e-6)
        own = cosine.gather(1, label.unsqueeze(1))
        moved = own * math.cos(self.margin) - (1 - own.square()).sqrt() * math.sin(self.margin)
        return 64 * cosine.scatter(1, label.unsqueeze(1), moved)


@workload("eighth", "training")
def angular_margins() -> Work:
    """The directions of a hundred thousand people learned from embeddings of faces, with a margin between them."""
    people, faces = (100_000, 1024) if ON_GPU else (500, 16)
    model = Angular(512, people, 0.5)
    step = training(model, lambda model, face, label: F.cross_entropy(model(face, label), label), momentum, HALF)
    return Work(step, batches(lambda: (normal(faces, 512), integers(people, faces))))


@workload("eighth", "streams", "training")
def several_teachers() -> Work:
    """A small network taught by three larger ones, each on a stream of its own beside it."""
    student, *teachers = (plain(256, *[512] * depth, 100).to(DEVICE, HALF) for depth in (3, 8, 8, 8))
    optimizer, streams = fused_adamw(student.parameters()), [torch.cuda.Stream() for _ in range(4)]

    def taught(teacher: nn.Module, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return (teacher(x).float() / 2.0).softmax(-1)

    def step(x: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        own, *wanted = side_by_side([partial(student, x), *[partial(taught, each, x) for each in teachers]], streams)
        loss = F.kl_div((own.float() / 2.0).log_softmax(-1), torch.stack(wanted).mean(0), reduction="batchmean")
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Work(step, batches(lambda: (normal(128, 256, dtype=HALF),)))
