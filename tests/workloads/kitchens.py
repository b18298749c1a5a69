"""Steps of food and of those who sell it: recipes, ingredients, dishes, baskets, offers and shops."""

from __future__ import annotations

from typing import cast

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import perceptron
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

HALF = torch.bfloat16


@workload("twenty_first")
def bought_together() -> Work:
    """How much any two articles of a grocer are bought together, from many weighed baskets."""
    baskets, articles = (32_768, 10_240) if ON_GPU else (16, 8)

    def step(basket: torch.Tensor) -> torch.Tensor:
        return basket.T @ basket

    return Work(step, batches(lambda: (torch.rand(baskets, articles, device=DEVICE).to(HALF),), 2))


@workload("twenty_first", "blocked")
def distinct_offers() -> Work:
    """The offers that many shops have in common: distinct hashes of what they offer, and how often each occurs."""
    offers = 40 << 20 if ON_GPU else 64

    def step(hashed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        distinct, counts = cast("Inputs", torch.unique(hashed, return_counts=True))
        return distinct, counts

    return Work(step, batches(lambda: (integers(1 << 24, offers) * 0x9E3779B97F4A7,), 2))


class Recipes(nn.Module):
    """Whether a cook likes a recipe: bags of what is in it and of what the cook has cooked, crossed."""

    def __init__(self, known: int, width: int, crosses: int) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(known, width, mode="mean") for _ in range(2))
        self.ids = nn.ModuleList(nn.Embedding(known, width) for _ in range(4))
        self.crosses = nn.ModuleList(nn.Linear(6 * width, 6 * width) for _ in range(crosses))
        self.deep = perceptron(6 * width, 128, 64, activation=nn.SiLU)
        self.say = nn.Linear(6 * width + 64, 1)

    def forward(self, bag: torch.Tensor, single: torch.Tensor) -> torch.Tensor:
        parts = [table(held) for table, held in zip(self.bags, bag.unbind(0), strict=True)]
        parts += [table(held) for table, held in zip(self.ids, single.unbind(0), strict=True)]
        crossed = first = torch.cat(parts, -1)
        for layer in self.crosses:
            crossed = first * layer(crossed) + crossed
        return self.say(torch.cat([crossed, F.silu(self.deep(first))], -1)).squeeze(-1)


@workload("twenty_first", "training")
def recommended_recipes() -> Work:
    """Recipes recommended by their ingredients, learned from a few hundred ratings at a time."""

    def loss(model: nn.Module, bag: torch.Tensor, single: torch.Tensor, liked: torch.Tensor) -> torch.Tensor:
        return F.binary_cross_entropy_with_logits(model(bag, single), liked)

    step = training(Recipes(2000, 16, 4), loss, adamw)
    return Work(step, batches(lambda: (integers(2000, 2, 256, 12), integers(2000, 4, 256), normal(256).gt(0).float())))


class Own(nn.Module):
    """A network for each shop, whose weights another one makes from what is known of the shop."""

    def __init__(self, known: int, seen: int, width: int) -> None:
        super().__init__()
        self.sizes = seen * width, width, width * width, width, width
        layers = [part for _ in range(4) for part in (nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU())]
        self.make = nn.Sequential(nn.Linear(known, 64), *layers, nn.Linear(64, sum(self.sizes)))
        self.seen, self.width = seen, width

    def forward(self, shop: torch.Tensor, day: torch.Tensor) -> torch.Tensor:
        enter, start, through, middle, leave = (0.2 * self.make(shop)).split(self.sizes, -1)
        x = torch.tanh(day @ enter.unflatten(-1, (self.seen, self.width)) + start.unsqueeze(1))
        x = x + torch.tanh(x @ through.unflatten(-1, (self.width, self.width)) + middle.unsqueeze(1))
        return F.softplus((x * leave.unsqueeze(1)).sum(-1))


@workload("twenty_first", "training")
def shops_own_models() -> Work:
    """What each shop of a chain sells in a day, learned by a hypernetwork that makes every shop a small model."""

    def loss(model: nn.Module, shop: torch.Tensor, day: torch.Tensor, sold: torch.Tensor) -> torch.Tensor:
        rate = model(shop, day) + 1e-3
        return (rate - sold * torch.log(rate)).mean()

    def batch() -> Inputs:
        return normal(64, 24), normal(64, 28, 12), integers(9, 64, 28).float()

    return Work(training(Own(24, 12, 16), loss, adamw), batches(batch))


class Labels(nn.Module):
    """How unlikely the labels of words are under a conditional random field over what their neighbours say."""

    def __init__(self, words: int, width: int, labels: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.mix = nn.Sequential(nn.Linear(3 * width, width), nn.LayerNorm(width), nn.GELU(), nn.Linear(width, labels))
        self.follow, self.start = nn.Parameter(torch.randn(labels, labels) / 8), nn.Parameter(torch.zeros(labels))

    def forward(self, line: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        x = self.words(line)
        score = self.mix(torch.cat([x, x.roll(1, 1), x.roll(-1, 1)], -1))
        path = self.start[label[:, 0]] + score.gather(2, label.unsqueeze(-1)).sum((1, 2))
        path = path + self.follow[label[:, :-1], label[:, 1:]].sum(1)
        total = self.start + score[:, 0]
        for now in score[:, 1:].unbind(1):
            total = torch.logsumexp(total.unsqueeze(-1) + self.follow, 1) + now
        return (torch.logsumexp(total, -1) - path).mean()


@workload("twenty_first", "training")
def labelled_ingredients() -> Work:
    """Amounts, units, names and remarks told apart in lines of ingredients, learned by a conditional random field."""
    words = 20 if ON_GPU else 5

    def loss(model: nn.Module, line: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return model(line, label)

    step = training(Labels(3000, 64, 11), loss, adamw)
    return Work(step, batches(lambda: (integers(3000, 32, words), integers(11, 32, words))))


@workload("twenty_first", "training")
def distilled_products() -> Work:
    """The last layer of a small classifier of products taught by stored answers of a large one, in mixed precision."""
    pictures, width, products = (16_384, 256, 8192) if ON_GPU else (8, 16, 12)

    def loss(model: nn.Module, seen: torch.Tensor, answer: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        said = model(seen).float()
        soft = F.kl_div((said / 4).log_softmax(-1), (answer / 4).softmax(-1), reduction="batchmean")
        return 16 * soft + 0.3 * F.cross_entropy(said, label, label_smoothing=0.1)

    def batch() -> Inputs:
        return normal(pictures, width), 3 * normal(pictures, products), integers(products, pictures)

    return Work(training(nn.Linear(width, products), loss, fused_adamw, HALF), batches(batch, 3))


@workload("twenty_first")
def grouped_shoppers() -> Work:
    """How likely each of millions of shoppers is in each group of a Gaussian mixture, and how likely at all."""
    shoppers, habits, groups = (4 << 20, 16, 8) if ON_GPU else (16, 4, 3)
    mean, spread = normal(groups, habits), 0.5 + torch.rand(groups, habits, device=DEVICE)
    share = torch.softmax(normal(groups), 0)

    def step(habit: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        away = (habit.unsqueeze(1) - mean) / spread
        score = torch.log(share) - (0.5 * away.square() + torch.log(spread)).sum(-1)
        total = torch.logsumexp(score, 1, keepdim=True)
        return torch.exp(score - total), total

    return Work(step, batches(lambda: (normal(shoppers, habits),), 3))


class Described(nn.Module):
    """Words about a dish, one after another, by recurrent layers that start from what a picture shows."""

    def __init__(self, words: int, width: int, length: int) -> None:
        super().__init__()
        self.words, self.length = nn.Embedding(words, width), length
        self.look, self.say = nn.Linear(512, 2 * width), nn.Linear(width, words)
        self.write = nn.LSTM(width, width, num_layers=2, batch_first=True)

    def forward(self, shown: torch.Tensor, word: torch.Tensor) -> torch.Tensor:
        state = self.look(shown).unflatten(-1, (2, -1)).transpose(0, 1).contiguous()
        memory, written = (state, torch.zeros_like(state)), [word]
        for _ in range(self.length):
            out, memory = self.write(self.words(written[-1]), memory)
            written.append(self.say(out).argmax(-1))
        return torch.cat(written[1:], 1)


@workload("twenty_first")
def described_dishes() -> Work:
    """What is to be read below the pictures of a few dishes, the likeliest word after the likeliest word."""
    model = inference(Described(6000, 256, 20 if ON_GPU else 3))
    return Work(model, batches(lambda: (normal(4, 512), integers(6000, 4, 1))))
