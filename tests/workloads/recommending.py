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
    Inputs,
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


class Goals(nn.Module):
    """Experts that several goals share, each with a gate of its own over them and a tower that reads them."""

    def __init__(self, fields: int, rows: int, width: int, experts: int, goals: int) -> None:
        super().__init__()
        self.table, self.spread = nn.Embedding(fields * rows, 16), nn.Parameter(torch.zeros(goals))
        self.offset: torch.Tensor
        self.register_buffer("offset", rows * torch.arange(fields))
        self.experts = nn.ModuleList(self.part(16 * fields, width, width) for _ in range(experts))
        self.gates = nn.ModuleList(nn.Linear(16 * fields, experts) for _ in range(goals))
        self.towers = nn.ModuleList(self.part(width, width // 2, 1) for _ in range(goals))

    @staticmethod
    def part(inputs: int, width: int, outputs: int) -> nn.Sequential:
        return nn.Sequential(nn.Linear(inputs, width), nn.LayerNorm(width), nn.GELU(), nn.Linear(width, outputs))

    def forward(self, kinds: torch.Tensor) -> list[torch.Tensor]:
        x = self.table(kinds + self.offset).flatten(1)
        known = torch.stack([expert(x) for expert in self.experts], 1)
        shares = [gate(x).softmax(-1).unsqueeze(-1) for gate in self.gates]
        return [tower((share * known).sum(1)).squeeze(-1) for tower, share in zip(self.towers, shares, strict=True)]


@workload("tenth", "training")
def several_goals() -> Work:
    """Clicks, purchases after them and minutes watched, learned together by experts that the three goals share."""
    model = Goals(10, 5000, 96, 4, 3).to(DEVICE).train()
    optimizer = fused_adamw(model.parameters())

    def step(kinds: torch.Tensor, click: torch.Tensor, bought: torch.Tensor, minutes: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        clicks, buys, watched = model(kinds)
        both = (torch.sigmoid(clicks) * torch.sigmoid(buys)).clamp(1e-6, 1 - 1e-6)
        losses = [
            F.binary_cross_entropy_with_logits(clicks, click),
            F.binary_cross_entropy(both, click * bought),
            F.smooth_l1_loss(watched, torch.log1p(minutes)),
        ]
        loss = (torch.stack(losses) * torch.exp(-model.spread) + 0.5 * model.spread).sum()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        return loss.detach()

    def seen() -> Inputs:
        flags = (integers(2, 512).float() for _ in range(2))
        return integers(5000, 512, 10), *flags, 20 * normal(512).abs()

    return Work(step, batches(seen))


@workload("tenth", "blocked")
def alternating_factors() -> Work:
    """Factors of users by alternating least squares, those of the items fixed; the host reads the error."""
    users, items, length, rank = (32_768, 200_000, 64, 64) if ON_GPU else (8, 50, 6, 4)
    table, ridge = normal(items, rank) / rank**0.5, 0.1 * torch.eye(rank, device=DEVICE)

    def step(history: torch.Tensor, rating: torch.Tensor) -> tuple[torch.Tensor, float]:
        seen = table[history]
        lower = torch.linalg.cholesky_ex(torch.baddbmm(ridge, seen.mT, seen)).L
        half = torch.linalg.solve_triangular(lower, torch.bmm(seen.mT, rating), upper=False)
        factors = torch.linalg.solve_triangular(lower.mT, half, upper=True)
        off = torch.bmm(seen, factors) - rating
        return factors.squeeze(-1), off.square().mean().sqrt().item()

    return Work(step, batches(lambda: (integers(items, users, length), normal(users, length, 1))))


class Pair(nn.Module):
    """Users and items as rows of a table each, brought to one space."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(2))
        self.towers = nn.ModuleList(perceptron(width, 2 * width, width) for _ in range(2))

    def forward(self, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
        parts = [tower(table(rows)) for tower, table, rows in zip(self.towers, self.tables, (user, item), strict=True)]
        left, right = (F.normalize(part, dim=-1) for part in parts)
        return left @ right.T


@workload("tenth", "training")
def popular_negatives() -> Work:
    """Two towers trained with a large batch's other items as negatives, corrected for how often each item occurs."""
    rows, batch, width = (100_000, 24_576, 64) if ON_GPU else (100, 16, 8)

    def loss(model: nn.Module, user: torch.Tensor, item: torch.Tensor, often: torch.Tensor) -> torch.Tensor:
        scores = model(user, item).float() / 0.05 - often
        own = torch.arange(len(item), device=item.device)
        again = (item == item.unsqueeze(1)) & (own != own.unsqueeze(1))
        return F.cross_entropy(scores.masked_fill(again, -1e4), own)

    step = training(Pair(rows, width), loss, fused_adamw, HALF)
    return Work(step, batches(lambda: (integers(rows, batch), integers(rows, batch), normal(batch).abs() - 9)))
