"""Training steps that shape representations: metric heads, distillation, hidden variables and calibration."""

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
    adamw,
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


class Counted(nn.Module):
    """What was counted in a cell as a few hidden numbers, and the rates of the counts that follow from those."""

    def __init__(self, genes: int, width: int, hidden: int) -> None:
        super().__init__()
        self.encode = nn.Sequential(*self.layer(genes, width), *self.layer(width, width), nn.Linear(width, 2 * hidden))
        self.decode = nn.Sequential(*self.layer(hidden, width), *self.layer(width, width))
        self.rate, self.absent = nn.Linear(width, genes), nn.Linear(width, genes)

    @staticmethod
    def layer(inputs: int, outputs: int) -> tuple[nn.Module, ...]:
        return nn.Linear(inputs, outputs), nn.LayerNorm(outputs), nn.SiLU()

    def forward(self, counts: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, ...]:
        mean, spread = self.encode(torch.log1p(counts)).chunk(2, -1)
        spread = spread.clamp(-6, 3)
        hidden = self.decode(mean + noise * torch.exp(0.5 * spread))
        share, size = self.rate(hidden).softmax(-1), counts.sum(-1, keepdim=True)
        away = 0.5 * (mean.square() + spread.exp() - spread - 1).sum(-1)
        return torch.log(share * size + 1e-6), self.absent(hidden), away


@workload("ninth", "training")
def counted_genes() -> Work:
    """A variational autoencoder of the genes counted in single cells, many of which are missed by the counting."""
    genes = 1200

    def loss(model: nn.Module, counts: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        rate, absent, away = model(counts, noise)
        present = counts * rate - rate.exp() - F.softplus(absent)
        missed = F.softplus(absent + rate.exp()) - rate.exp() - F.softplus(absent)
        likely = torch.where(counts > 0, present, missed)
        return (0.1 * away - likely.mean(-1)).mean()

    step = training(Counted(genes, 128, 16), loss, adamw)
    return Work(step, batches(lambda: ((normal(128, genes).abs() * 2).floor(), normal(128, 16))))


class Rescaled(nn.Module):
    """The scores of each class scaled and shifted, so that they say how sure a classifier may be."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(classes)), nn.Parameter(torch.zeros(classes))

    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        return scores * self.scale + self.shift


@workload("ninth", "training")
def calibrated_classes() -> Work:
    """A classifier's scores of all validation images calibrated class by class, after the classifier was trained."""
    images, classes = (196_608, 1000) if ON_GPU else (64, 10)

    def loss(model: nn.Module, scores: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(scores), label, label_smoothing=0.02)

    step = training(Rescaled(classes), loss, momentum)
    return Work(step, batches(lambda: (2 * normal(images, classes), integers(classes, images)), 2))
