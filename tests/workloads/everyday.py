"""Steps of everyday training and evaluation: models fine-tuned and fitted, and how well they do."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F

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

HALF = torch.bfloat16


class BertLayer(nn.Module):
    """A post-norm transformer layer with dropout."""

    def __init__(self, width: int, heads: int, dropped: float = 0.1) -> None:
        super().__init__()
        self.heads, self.dropped = heads, dropped
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.enter, self.leave = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        parts = [read(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for read in (self.query, self.key, self.value)]
        mixed = F.scaled_dot_product_attention(*parts, attn_mask=mask, dropout_p=self.dropped)
        x = self.first(x + F.dropout(self.out(mixed.transpose(1, 2).flatten(2)), self.dropped))
        return self.second(x + F.dropout(self.leave(F.gelu(self.enter(x))), self.dropped))


class Bert(nn.Module):
    """A classifier of texts that reads the first place of a BERT encoder."""

    def __init__(self, words: int, width: int, depth: int, length: int, classes: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.norm, self.layers = nn.LayerNorm(width), nn.ModuleList(BertLayer(width, 12) for _ in range(depth))
        self.pool, self.read = nn.Linear(width, width), nn.Linear(width, classes)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        mask = (text != 0)[:, None, None, :]
        x = F.dropout(self.norm(self.words(text) + self.places.weight[: text.shape[1]]), 0.1)
        for layer in self.layers:
            x = layer(x, mask)
        return self.read(F.dropout(torch.tanh(self.pool(x[:, 0])), 0.1))


@workload("twelfth", "training")
def judged_reviews() -> Work:
    """A BERT encoder fine-tuned to sort reviews under automatic mixed precision."""
    words, width, depth, rows, length = (20_000, 768, 4, 64, 256) if ON_GPU else (100, 48, 2, 2, 16)

    def loss(model: nn.Module, text: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(text), label)

    step = training(Bert(words, width, depth, length, 5), loss, adamw, HALF)
    return Work(step, batches(lambda: (integers(words, rows, length), integers(5, rows))))


def doubled(inputs: int, outputs: int) -> nn.Sequential:
    """Convolution, batch norm and ReLU, twice."""
    pairs = ((inputs, outputs), (outputs, outputs))
    blocks = [(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True)) for a, b in pairs]
    return nn.Sequential(*[part for block in blocks for part in block])


class UNet(nn.Module):
    """A U-Net for segmentation."""

    def __init__(self, *widths: int) -> None:
        super().__init__()
        self.down = nn.ModuleList(doubled(a, b) for a, b in pairwise((3, *widths)))
        steps = list(pairwise(reversed(widths)))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, stride=2) for a, b in steps)
        self.up, self.read = nn.ModuleList(doubled(2 * b, b) for _, b in steps), nn.Conv2d(widths[0], 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        passed: list[torch.Tensor] = []
        for block in self.down:
            x = block(F.max_pool2d(x, 2) if passed else x)
            passed.append(x)
        for grow, block, skipped in zip(self.grow, self.up, reversed(passed[:-1]), strict=True):
            x = block(torch.cat([skipped, grow(x)], 1))
        return self.read(x).squeeze(1)


@workload("twelfth", "training")
def segmented_roads() -> Work:
    """A U-Net trained to find roads in aerial images, by cross-entropy and the dice loss."""
    widths, images, side = ((32, 64, 128, 256), 16, 256) if ON_GPU else ((4, 8), 2, 16)

    def loss(model: nn.Module, image: torch.Tensor, road: torch.Tensor) -> torch.Tensor:
        scores = model(image).float()
        share = torch.sigmoid(scores)
        shared, both = (share * road).sum((1, 2)), (share + road).sum((1, 2))
        return F.binary_cross_entropy_with_logits(scores, road) + 1 - ((2 * shared + 1) / (both + 1)).mean()

    step = training(UNet(*widths), loss, momentum, HALF)
    return Work(step, batches(lambda: (normal(images, 3, side, side), integers(2, images, side, side).float())))


class Factors(nn.Module):
    """Ratings as products of the factors of users and films, and how generous and how good each of them is."""

    def __init__(self, users: int, films: int, rank: int) -> None:
        super().__init__()
        sizes = ((users, rank), (films, rank), (users, 1), (films, 1))
        self.user, self.film, self.generous, self.good = (nn.Embedding(*size, device=DEVICE) for size in sizes)

    def forward(self, user: torch.Tensor, film: torch.Tensor) -> torch.Tensor:
        bias = (self.generous(user) + self.good(film)).squeeze(-1)
        return (self.user(user) * self.film(film)).sum(-1) / self.user.embedding_dim + bias


@workload("twelfth", "training")
def rated_films() -> Work:
    """The factors of a million users and half as many films fitted to their ratings."""
    users, films, rows = (1_000_000, 500_000, 8192) if ON_GPU else (100, 50, 16)

    def loss(model: nn.Module, user: torch.Tensor, film: torch.Tensor, rating: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(model(user, film), rating)

    step = training(Factors(users, films, 128), loss, fused_adamw)
    return Work(step, batches(lambda: (integers(users, rows), integers(films, rows), 1 + integers(5, rows).float())))


class LowRank(nn.Module):
    """A frozen projection and, beside it, a trained one of low rank."""

    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.base = nn.Linear(width, width, bias=False).requires_grad_(False)
        self.down, self.up = nn.Linear(width, rank, bias=False), nn.Linear(rank, width, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + self.up(self.down(x)) * 2.0


class TunedLayer(nn.Module):
    """A frozen layer of a language model, its queries and values tuned at low rank."""

    def __init__(self, width: int, heads: int, rank: int) -> None:
        super().__init__()
        self.heads, hidden = heads, 11 * width // 4
        self.first, self.second = nn.RMSNorm(width), nn.RMSNorm(width)
        self.key, self.out = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)
        self.requires_grad_(False)
        self.query, self.value = LowRank(width, rank), LowRank(width, rank)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = self.first(x)
        parts = [part(seen).unflatten(-1, (self.heads, -1)) for part in (self.query, self.key, self.value)]
        mixed = F.scaled_dot_product_attention(*[part.transpose(1, 2) for part in parts], is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        seen = self.second(x)
        return x + self.down(F.silu(self.gate(seen)) * self.up(seen))


@workload("twelfth", "training")
def low_rank_tuning() -> Work:
    """A frozen language model tuned on two short instructions at a time through factors of low rank."""
    words, width, depth, length = (8000, 512, 6, 128) if ON_GPU else (100, 48, 2, 16)
    table, norm = nn.Embedding(words, width).requires_grad_(False), nn.RMSNorm(width).requires_grad_(False)
    read = nn.Linear(width, words, bias=False).requires_grad_(False)
    model = nn.Sequential(table, *[TunedLayer(width, 8, 16) for _ in range(depth)], norm, read).to(HALF)

    def loss(model: nn.Module, text: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(text[:, :-1]).flatten(0, 1).float(), text[:, 1:].flatten())

    step = training(model, loss, lambda parameters: adamw([p for p in parameters if p.requires_grad]))
    return Work(step, batches(lambda: (integers(words, 2, length + 1),)))


@workload("twelfth", "blocked")
def evaluated_words() -> Work:
    """How well a language model foretells the words that count, how sure it is, and how often it is right."""
    places, words = (8192, 32_000) if ON_GPU else (16, 50)

    def step(scores: torch.Tensor, word: torch.Tensor) -> tuple[float, float, torch.Tensor]:
        wide = scores.float() / 1.2
        chance = wide.log_softmax(-1)
        unsure = -(chance.exp() * chance).sum(-1)
        loss = -chance.gather(-1, word.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        right = (wide.argmax(-1) == word).float()
        counted = word >= 0
        return loss[counted].mean().exp().item(), right[counted].mean().item(), unsure[counted].mean()

    return Work(step, batches(lambda: (3 * normal(places, words, dtype=HALF), integers(words + 99, places) - 99), 2))


@workload("twelfth", "blocked")
def neighbour_accuracy() -> Work:
    """Features judged by their nearest neighbours among those of the training images; the host reads the accuracy."""
    images, known, classes, width = (4096, 65_536, 1000, 384) if ON_GPU else (16, 64, 5, 8)
    bank, label = F.normalize(normal(known, width, dtype=HALF), dim=-1), integers(classes, known)

    def step(features: torch.Tensor, truth: torch.Tensor) -> float:
        alike, place = (F.normalize(features, dim=-1) @ bank.T).topk(20)
        weight = (alike.float() / 0.07).exp()
        votes = torch.zeros(len(truth), classes, device=truth.device).scatter_add_(1, label[place], weight)
        return (votes.argmax(-1) == truth).float().mean().item()

    return Work(step, batches(lambda: (normal(images, width, dtype=HALF), integers(classes, images))))


@workload("twelfth")
def ranked_properties() -> Work:
    """How well the order of molecules is foretold, property by property, by the correlation of ranks."""
    molecules, properties = (2048, 12) if ON_GPU else (32, 3)

    def ranks(x: torch.Tensor) -> torch.Tensor:
        return x.argsort().argsort().float() - (molecules - 1) / 2

    def step(guess: torch.Tensor, measured: torch.Tensor) -> torch.Tensor:
        pairs = zip(guess.unbind(0), measured.unbind(0), strict=True)
        same = torch.stack([torch.dot(ranks(first), ranks(second)) for first, second in pairs])
        return same * 12 / (molecules * (molecules**2 - 1))

    return Work(step, batches(lambda: (normal(properties, molecules), normal(properties, molecules))))


@workload("twelfth")
def principal_components() -> Work:
    """The covariance of many features, their projection on known components, and how much these explain."""
    rows, width, kept = (131_072, 1024, 64) if ON_GPU else (64, 16, 4)
    components = F.normalize(normal(width, kept), dim=0)

    def step(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        centred = x - x.mean(0)
        covariance, projected = centred.T @ centred / (rows - 1), centred @ components
        return covariance, projected, projected.var(0) / covariance.diagonal().sum()

    return Work(step, batches(lambda: (normal(rows, width),), 2))
