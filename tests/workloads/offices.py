"""Steps of an office: invoices, receipts, letters, scanned pages, registers and accounts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import cast

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Inputs,
    Work,
    adamw,
    batches,
    inference,
    integers,
    momentum,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side


def oddness(amount: torch.Tensor, tax: torch.Tensor, freight: torch.Tensor, late: torch.Tensor) -> torch.Tensor:
    """How odd invoices (rows) are: their sizes, rates and delays against the usual, and their leading digits."""
    size = torch.log10(amount.clamp(min=0.01))
    digit = torch.floor(10 ** (size - torch.floor(size))).clamp(1, 9)
    rare = -torch.log10(torch.log10(1 + 1 / digit))
    rate, share = tax / amount.clamp(min=0.01), freight / amount.clamp(min=0.01)
    off = torch.minimum((rate - 0.19).abs(), (rate - 0.07).abs()).clamp(max=0.2) / 0.05
    heavy = torch.log1p(share.clamp(min=0)) / 0.3
    waited = torch.asinh((late - 14.0) / 10.0)
    far = (size - 2.3) / 0.8
    return torch.sqrt(far.square() + off.square() + heavy.square() + waited.square() + 0.5 * rare.square())


@workload("sixteenth", "blocked")
def screened_invoices() -> Work:
    """Invoices of a large firm rated by how odd they are; the host reads how many would be checked by hand."""
    rows = 64 << 20 if ON_GPU else 64

    def step(
        amount: torch.Tensor, tax: torch.Tensor, freight: torch.Tensor, late: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        odd = oddness(amount, tax, freight, late)
        if (odd > 4.0).float().mean().item() > 0.9:
            return odd, odd > 8.0
        return odd, odd > 4.0

    def ledger() -> Inputs:
        amount = torch.exp(5 + 2 * normal(rows))
        return amount, 0.19 * amount, 5 * normal(rows).abs(), 14 + 8 * normal(rows)

    return Work(step, batches(ledger, 2))


@workload("sixteenth", "blocked")
def counted_receipts() -> Work:
    """How often each article stands on a year's receipts, and what was paid for it."""
    lines, articles = (96 << 20, 60_000) if ON_GPU else (64, 9)

    def step(article: torch.Tensor, paid: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.bincount(article, minlength=articles), torch.bincount(article, paid, minlength=articles)

    return Work(step, batches(lambda: (integers(articles, lines), torch.rand(lines, device=DEVICE)), 2))


Box = tuple[int, int, int, int]


def boxes_of_ink(ink: torch.Tensor) -> list[Box]:
    """Left, top, right and bottom of every connected patch of a page (height, width), found on the host."""
    width = ink.shape[1]
    left: set[int] = set(ink.flatten().nonzero().flatten().tolist())
    boxes: list[Box] = []
    while left:
        waiting = [left.pop()]
        patch: list[int] = []
        while waiting:
            place = waiting.pop()
            patch.append(place)
            for beside in (place - 1, place + 1, place - width, place + width):
                if beside in left:
                    left.remove(beside)
                    waiting.append(beside)
        across, down = [place % width for place in patch], [place // width for place in patch]
        boxes.append((min(across), min(down), max(across), max(down)))
    return sorted(boxes, key=lambda box: (box[1], box[0]))


@workload("sixteenth", "blocked")
def found_lines() -> Work:
    """Lines of a scanned page: its ink smeared along the lines on the device, connected patches found by the host."""
    height, width = (200, 140) if ON_GPU else (20, 16)
    searched = cast("Callable[[torch.Tensor], list[Box]]", torch.compiler.disable(boxes_of_ink))

    def step(page: torch.Tensor) -> list[Box]:
        smeared = F.avg_pool2d(page, (1, 9), stride=1, padding=(0, 4))[0]
        return searched(F.pad(smeared[:, 1:-1] > 0.5, (1, 1)))

    return Work(step, batches(lambda: (torch.rand(1, height, width, device=DEVICE),)))


class Spelled(nn.Module):
    """What an entry says, read letter by letter in both directions by the vendor's recurrent layers."""

    def __init__(self, letters: int, width: int) -> None:
        super().__init__()
        self.letters = nn.Embedding(letters, width)
        self.read = nn.LSTM(width, width, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, entry: torch.Tensor) -> torch.Tensor:
        return self.read(self.letters(entry))[0].mean(1)


@workload("sixteenth", "streams")
def compared_addresses() -> Work:
    """Pairs of a register's entries that may be the same customer, both read by one network, a stream for each."""
    read, streams = inference(Spelled(96, 128)), [torch.cuda.Stream() for _ in range(2)]

    def step(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        first, second = side_by_side([partial(read, one), partial(read, other)], streams)
        return F.cosine_similarity(first, second)

    return Work(step, batches(lambda: (integers(96, 8, 32), integers(96, 8, 32))))


class Printed(nn.Module):
    """Scores of letters along a picture of a line: convolutions, then the vendor's recurrent layers (CRNN)."""

    def __init__(self, letters: int, channels: int) -> None:
        super().__init__()
        widths = pairwise((1, channels, 2 * channels, 4 * channels))
        pools = [nn.MaxPool2d(size) for size in ((2, 2), (2, 2), (8, 1))]
        layers = [(nn.Conv2d(a, b, 3, padding=1), nn.ReLU()) for a, b in widths]
        self.see = nn.Sequential(*[part for pair, pool in zip(layers, pools, strict=True) for part in (*pair, pool)])
        self.read = nn.LSTM(4 * channels, 4 * channels, num_layers=3, bidirectional=True)
        self.say = nn.Linear(8 * channels, letters)

    def forward(self, line: torch.Tensor) -> torch.Tensor:
        seen = self.see(line).squeeze(2).permute(2, 0, 1).contiguous()
        return self.say(self.read(seen)[0]).argmax(-1)


@workload("sixteenth")
def read_lines() -> Work:
    """The letters of two printed lines of a form."""
    return Work(inference(Printed(96, 32)), batches(lambda: (normal(2, 1, 32, 128),)))


@workload("sixteenth", "streams")
def hashed_letters() -> Work:
    """The means of hashed pieces of a day's letters, of their subjects and of their texts, a stream for each."""
    letters, pieces, buckets, width = (262_144, 64, 1 << 20, 64) if ON_GPU else (6, 5, 16, 8)
    tables, streams = normal(2, buckets, width), [torch.cuda.Stream() for _ in range(2)]

    def step(subject: torch.Tensor, text: torch.Tensor) -> list[torch.Tensor]:
        parts = zip((subject, text), tables.unbind(0), strict=True)
        return side_by_side([partial(F.embedding_bag, piece, table, mode="mean") for piece, table in parts], streams)

    return Work(step, batches(lambda: (integers(buckets, letters, pieces), integers(buckets, letters, pieces)), 3))


class Glass(nn.Module):
    """What is true of every dot of a scanner: by how much it is too bright or too dark, and what it adds by itself."""

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        self.gain, self.offset = nn.Parameter(torch.ones(height, width)), nn.Parameter(torch.zeros(height, width))

    def forward(self, page: torch.Tensor) -> torch.Tensor:
        return self.gain * page + self.offset


@workload("sixteenth", "training")
def even_scanner() -> Work:
    """A scanner's own pattern learned from pages that a better one has scanned too."""
    pages, height, width = (12, 2400, 3200) if ON_GPU else (3, 12, 16)

    def loss(model: nn.Module, page: torch.Tensor, better: torch.Tensor) -> torch.Tensor:
        return F.smooth_l1_loss(torch.sigmoid(4 * model(page)), better, beta=0.1)

    step = training(Glass(height, width), loss, momentum)
    shape = (pages, height, width)
    return Work(step, batches(lambda: (normal(*shape), torch.rand(shape, device=DEVICE)), 3))


def even(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Vectors divided by their root mean square, then scaled."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * scale


class Answering(nn.Module):
    """A transformer layer of the usual kind: even vectors, rotated queries and keys, a gated feed-forward."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.scales = heads, nn.ParameterList(torch.ones(width) for _ in range(2))
        self.project, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.enter, self.leave = nn.Linear(width, 4 * width, bias=False), nn.Linear(2 * width, width, bias=False)

    def forward(self, x: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
        parts = self.project(even(x, self.scales[0])).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        first, second = parts[:2].chunk(2, -1)
        query, key = (parts[:2] * turn[0] + torch.cat([-second, first], -1) * turn[1]).unbind(0)
        mixed = F.scaled_dot_product_attention(query, key, parts[2])
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        gate, value = self.enter(even(x, self.scales[1])).chunk(2, -1)
        return x + self.leave(F.silu(gate) * value)


class Sorting(nn.Module):
    """Which of some departments a letter is for, and what every layer made of its words."""

    def __init__(self, words: int, width: int, depth: int, departments: int) -> None:
        super().__init__()
        self.words, self.say = nn.Embedding(words, width), nn.Linear(width, departments)
        self.layers = nn.ModuleList(Answering(width, 4) for _ in range(depth))

    def forward(self, text: torch.Tensor, turn: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        x: torch.Tensor = self.words(text)
        made: list[torch.Tensor] = []
        for layer in self.layers:
            x = layer(x, turn)
            made.append(x)
        return self.say(x.mean(1)), made


@workload("sixteenth", "training")
def copied_assistant() -> Work:
    """A small network that sorts letters taught by what a large one answered and its layers made of them."""
    width, depth, words = (128, 6, 32) if ON_GPU else (32, 2, 6)
    angle = normal(words, width // 8).repeat(1, 2)
    turn = torch.stack([angle.cos(), angle.sin()])

    def loss(model: nn.Module, text: torch.Tensor, answer: torch.Tensor, layers: torch.Tensor) -> torch.Tensor:
        said, made = model(text, turn)
        soft = F.kl_div((said / 2).log_softmax(-1), (answer / 2).softmax(-1), reduction="batchmean")
        apart = [F.mse_loss(own, other) for own, other in zip(made, layers.unbind(0), strict=True)]
        return 4 * soft + torch.stack(apart).mean()

    def batch() -> Inputs:
        return integers(4000, 8, words), normal(8, 12), normal(depth, 8, words, width)

    return Work(training(Sorting(4000, width, depth, 12), loss, adamw), batches(batch))


@workload("sixteenth")
def supplied_sectors() -> Work:
    """What every sector of an economy must make to meet each of many demands, by Leontief's inverse."""
    sectors, demands = (6144, 2048) if ON_GPU else (12, 4)
    shares = torch.rand(sectors, sectors, device=DEVICE, dtype=torch.float64) / sectors
    inverse: torch.Tensor = torch.linalg.inv(torch.eye(sectors, device=DEVICE, dtype=torch.float64) - shares)

    def step(demand: torch.Tensor) -> torch.Tensor:
        return inverse @ demand

    return Work(step, batches(lambda: (normal(sectors, demands, dtype=torch.float64),)))
