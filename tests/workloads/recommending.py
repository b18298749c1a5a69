"""Steps of recommender systems: ranking, learning from sessions, and metrics."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import perceptron, plain
from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Work,
    adamw,
    batches,
    fused_adamw,
    inference,
    integers,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side

HALF = torch.bfloat16


class Dice(nn.Module):
    """An activation whose bend lies where the values of the training data had their mean."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.full((width,), 0.1))
        self.mean: torch.Tensor
        self.spread: torch.Tensor
        self.register_buffer("mean", torch.randn(width) / 8)
        self.register_buffer("spread", 0.5 + torch.rand(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        share = torch.sigmoid((x - self.mean) * torch.rsqrt(self.spread + 1e-8))
        return share * x + (1 - share) * self.slope * x


def curved(*widths: int) -> nn.Sequential:
    """Linear layers with that activation between them."""
    layers = [layer for a, b in pairwise(widths) for layer in (nn.Linear(a, b), Dice(b))]
    return nn.Sequential(*layers[:-1])


class Interest(nn.Module):
    """What a user did before, weighed by how much each of it has to do with a candidate."""

    def __init__(self, things: int, width: int) -> None:
        super().__init__()
        self.things, self.weigh = nn.Embedding(things, width), curved(4 * width, 80, 40, 1)

    def forward(self, past: torch.Tensor, candidate: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen, wanted = self.things(past), self.things(candidate)
        beside = wanted.unsqueeze(1).expand_as(seen)
        weight = self.weigh(torch.cat([beside, seen, beside - seen, beside * seen], -1))
        weight = weight * (past > 0).unsqueeze(-1)
        return (weight * seen).sum(1), wanted


class Ranker(nn.Module):
    """The chance of a click, from four kinds of things that a user looked at before."""

    def __init__(self, things: int, width: int, kinds: int) -> None:
        super().__init__()
        self.interests = nn.ModuleList(Interest(things, width) for _ in range(kinds))
        self.read = curved(2 * kinds * width, 200, 80, 1)

    def forward(self, past: torch.Tensor, candidate: torch.Tensor) -> torch.Tensor:
        parts = []
        for interest, ids, own in zip(self.interests, past.unbind(1), candidate.unbind(1), strict=True):
            parts += interest(ids, own)
        return torch.sigmoid(self.read(torch.cat(parts, -1)).squeeze(-1))


@workload("seventh")
def interest_ranking() -> Work:
    """Candidates ranked for a user by a deep interest network: attention of a perceptron over four histories."""
    model = inference(Ranker(20_000, 16, 4))
    return Work(model, batches(lambda: (integers(20_000, 128, 4, 40), integers(20_000, 128, 4))))


class Sessions(nn.Module):
    """Clicks of a session read by recurrent layers of the vendor's library; scores of what the others clicked next."""

    def __init__(self, items: int, width: int) -> None:
        super().__init__()
        self.items, self.read = nn.Embedding(items, width), nn.GRU(width, width, num_layers=2, batch_first=True)

    def forward(self, clicks: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
        return self.read(self.items(clicks))[0][:, -1] @ self.items(following).T


@workload("seventh", "training")
def clicked_sessions() -> Work:
    """A recurrent recommender trained on sessions, the other sessions' items as the ones that were not clicked."""

    def loss(model: nn.Module, clicks: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
        scores = model(clicks, following)
        weight = scores.softmax(-1)
        own = scores.diagonal().unsqueeze(1)
        ranked = -torch.log((weight * torch.sigmoid(own - scores)).sum(-1) + 1e-8)
        return (ranked + 0.5 * (weight * scores.square()).sum(-1)).mean()

    step = training(Sessions(5000, 96), loss, fused_adamw)
    return Work(step, batches(lambda: (integers(5000, 48, 10), integers(5000, 48))))


@workload("seventh", "blocked")
def ranking_metrics() -> Work:
    """How well all items are ranked for thousands of users: the discounted gain of the full order, read at the end."""
    users, items = (2048, 16384) if ON_GPU else (16, 64)
    discount = 1 / torch.log2(torch.arange(2.0, items + 2)).to(normal(1).device)

    def step(scores: torch.Tensor, relevance: torch.Tensor) -> float:
        order = scores.argsort(-1, descending=True)
        gained = relevance.gather(1, order) @ discount
        ideal = relevance.sort(-1, descending=True).values @ discount
        return (gained / ideal.clamp(min=1e-6)).mean().item()

    return Work(step, batches(lambda: (normal(users, items), F.relu(normal(users, items) - 2.0)), 3))


class Clicks(nn.Module):
    """The chance of a click from numbers and categories, by the products of all pairs of their vectors."""

    def __init__(self, numbers: int, fields: int, rows: int, width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(fields))
        self.bottom = perceptron(numbers, 256, width)
        self.top = perceptron(width + fields * (fields + 1) // 2, 256, 128, 1)
        self.pairs: torch.Tensor
        self.register_buffer("pairs", torch.tril_indices(fields + 1, fields + 1, -1))

    def forward(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        dense = F.relu(self.bottom(numbers))
        rows = [table(row) for table, row in zip(self.tables, categories.unbind(1), strict=True)]
        vectors = torch.stack([dense, *rows], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([dense, products], -1)).squeeze(-1)


@workload("eighth", "training")
def learned_clicks() -> Work:
    """A ranking model with a table for each of eight fields trained on the clicks that were seen."""

    def loss(model: nn.Module, numbers: torch.Tensor, categories: torch.Tensor, click: torch.Tensor) -> torch.Tensor:
        return F.binary_cross_entropy_with_logits(model(numbers, categories), click)

    step = training(Clicks(13, 8, 10_000, 32), loss, adamw)
    return Work(step, batches(lambda: (normal(1024, 13), integers(10_000, 1024, 8), integers(2, 1024).float())))


@workload("eighth", "streams")
def four_towers() -> Work:
    """Users, what surrounds them, items and their makers through a tower and a stream each, then compared."""

    towers = [plain(*[512] * 9).to(DEVICE, HALF).eval() for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in towers]

    def step(*parts: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            tasks = [partial(model, part) for model, part in zip(towers, parts, strict=True)]
            user, around, item, maker = side_by_side(tasks, streams)
            return (user + around) @ (item + maker).T

    return Work(step, batches(lambda: tuple(normal(128, 512, dtype=HALF) for _ in towers)))
