"""Steps on the rows of tables: cleaned, learned from."""

from __future__ import annotations

import csv
import io
import logging
import random
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import Encoder, perceptron, plain
from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Inputs,
    Work,
    adamw,
    batches,
    fused_adamw,
    integers,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side

LOG = logging.getLogger(__name__)


class Rows(nn.Module):
    """Numbers and the embeddings of categories through a wide perceptron."""

    def __init__(self, numbers: int, categories: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(1000 * categories, 16)
        self.read = perceptron(numbers + 16 * categories, width, width, width, width, 1)

    def forward(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        return self.read(torch.cat([numbers, self.table(categories).flatten(1)], -1)).squeeze(-1)


@torch.compiler.disable
def logged(loss: torch.Tensor) -> float:
    """The loss, noted for whoever watches the training."""
    value = loss.item()
    LOG.debug("loss %.4f", value)
    return value


@workload("eighth", "training", "blocked")
def logged_regression() -> Work:
    """Prices learned from numbers and categories in full precision, the loss logged at every step."""
    width, rows = (3072, 3072) if ON_GPU else (64, 32)
    update = training(Rows(64, 8, width), lambda model, *x: F.mse_loss(model(*x[:2]), x[2]), fused_adamw)

    def step(numbers: torch.Tensor, categories: torch.Tensor, price: torch.Tensor) -> float:
        return logged(update(numbers, categories, price))

    return Work(step, batches(lambda: (normal(rows, 64), integers(8000, rows, 8), normal(rows))))


@workload("eighth", "streams")
def cleaned_columns() -> Work:
    """Columns of a large table made fit for a network: numbers on one stream, hashed categories on another."""
    rows, columns = (262_144, 128) if ON_GPU else (64, 8)
    middle, low, high = normal(columns) / 8, -2 - normal(columns).abs(), 2 + normal(columns).abs()
    mean, spread = normal(columns) / 8, 0.5 + normal(columns).abs()
    streams = [torch.cuda.Stream() for _ in range(2)]

    def numbers(x: torch.Tensor) -> torch.Tensor:
        missing = torch.isnan(x)
        x = torch.where(missing, middle, x).clamp(low, high)
        x = (torch.sign(x) * torch.log1p(x.abs()) - mean) / spread
        return torch.cat([x, missing.to(x.dtype)], -1).half()

    def categories(x: torch.Tensor) -> torch.Tensor:
        mixed = (x ^ (x >> 7)) * 40_503 % 1_000_003
        return torch.where(x < 0, 0, 1 + (mixed ^ (mixed >> 5)) % 4095).to(torch.int32)

    def step(x: torch.Tensor, kinds: torch.Tensor) -> list[torch.Tensor]:
        return side_by_side([lambda: numbers(x), lambda: categories(kinds)], streams)

    def table() -> Inputs:
        x = normal(rows, columns) * 2
        return x.masked_fill(torch.rand(rows, columns, device=DEVICE) < 0.05, float("nan")), integers(1 << 30, rows, 32)

    return Work(step, batches(table, 3))


class FeatureTokens(nn.Module):
    """A token for each number and category of a row, and one that is read after layers of attention between them."""

    def __init__(self, numbers: int, categories: int, width: int, depth: int) -> None:
        super().__init__()
        self.scale, self.shift = (nn.Parameter(torch.randn(numbers, width) / 8) for _ in range(2))
        self.table, self.first = nn.Embedding(50 * categories, width), nn.Parameter(torch.randn(1, 1, width) / 8)
        self.offset: torch.Tensor
        self.register_buffer("offset", 50 * torch.arange(categories))
        self.layers = nn.Sequential(*[Encoder(width, 4) for _ in range(depth)])
        self.read = nn.Sequential(nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, numbers: torch.Tensor, kinds: torch.Tensor) -> torch.Tensor:
        valued = numbers.unsqueeze(-1) * self.scale + self.shift
        tokens = torch.cat([self.first.expand(len(numbers), -1, -1), valued, self.table(kinds + self.offset)], 1)
        return self.read(self.layers(tokens)[:, 0]).squeeze(-1)


@workload("ninth", "training")
def feature_tokens() -> Work:
    """A transformer over the columns of a table trained to tell who will leave, its gradients clipped."""
    model = FeatureTokens(16, 8, 64, 3).to(DEVICE).train()
    optimizer = adamw(model.parameters())

    def step(numbers: torch.Tensor, kinds: torch.Tensor, left: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = F.binary_cross_entropy_with_logits(model(numbers, kinds), left)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return Work(step, batches(lambda: (normal(128, 16), integers(50, 128, 8), integers(2, 128).float())))


@workload("ninth", "streams", "training")
def cross_validation() -> Work:
    """The four models of a cross-validation trained at once, each on the rows of its own fold and on its stream."""
    models = nn.ModuleList(plain(256, *[512] * 5, 16) for _ in range(4)).to(DEVICE).train()
    optimizer, streams = fused_adamw(models.parameters()), [torch.cuda.Stream() for _ in models]

    def loss(model: nn.Module, rows: torch.Tensor, kind: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(rows), kind)

    def step(kinds: torch.Tensor, *folds: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        tasks = [partial(loss, *part) for part in zip(models, folds, kinds.unbind(0), strict=True)]
        losses = torch.stack(side_by_side(tasks, streams))
        losses.sum().backward()
        optimizer.step()
        return losses.detach()

    return Work(step, batches(lambda: (integers(16, 4, 128), *(normal(128, 256) for _ in models))))


class SoftTrees(nn.Module):
    """Trees that send each row both ways at every turn, more or less, by a soft choice of one column each."""

    def __init__(self, columns: int, trees: int, depth: int, says: int) -> None:
        super().__init__()
        self.trees, self.depth = trees, depth
        self.choose, self.turn = (nn.Parameter(torch.randn(size, trees * depth)) for size in (columns, 1))
        self.sharp = nn.Parameter(torch.zeros(trees * depth))
        self.leaves = nn.Parameter(torch.randn(trees, 2**depth, says) / 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = (x @ self.choose.softmax(0) - self.turn) * torch.exp(self.sharp)
        left = torch.sigmoid(4 * seen).unflatten(-1, (self.trees, self.depth))
        share = torch.ones_like(left[..., :1])
        for part in left.unbind(-1):
            share = torch.cat([share * part.unsqueeze(-1), share * (1 - part.unsqueeze(-1))], -1)
        return torch.einsum("rtl,tls->rts", share, self.leaves).flatten(1)


class Forest(nn.Module):
    """Layers of soft trees that see the columns and what all trees before them said."""

    def __init__(self, columns: int, trees: int, depth: int, layers: int) -> None:
        super().__init__()
        sizes = [columns + 2 * trees * layer for layer in range(layers)]
        self.layers = nn.ModuleList(SoftTrees(size, trees, depth, 2) for size in sizes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        columns = x.shape[1]
        for layer in self.layers:
            x = torch.cat([x, layer(x)], -1)
        return x[:, columns:].mean(-1)


@workload("eleventh", "training")
def soft_trees() -> Work:
    """A forest of differentiable trees trained to tell which loans will fail."""

    def loss(model: nn.Module, rows: torch.Tensor, failed: torch.Tensor) -> torch.Tensor:
        return F.binary_cross_entropy_with_logits(model(rows), failed)

    step = training(Forest(24, 32, 4, 3), loss, adamw)
    return Work(step, batches(lambda: (normal(256, 24), integers(2, 256).float())))


@torch.compiler.disable
def parsed(text: torch.Tensor, kinds: dict[str, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Lines of numbers and two categories as tensors."""
    lines = list(csv.reader(io.StringIO(text.numpy().tobytes().decode())))
    numbers = [[float(field) for field in line[:-2]] for line in lines]
    return torch.tensor(numbers), torch.tensor([[kinds.get(field, 0) for field in line[-2:]] for line in lines])


@workload("eleventh", "blocked")
def parsed_records() -> Work:
    """Records that arrive as lines of text, read by the host and rated by a small network."""
    draw, rows = random.Random(0), 1800 if ON_GPU else 20
    names = ["".join(draw.choices("abcdefgh", k=4)) for _ in range(200)]
    kinds, model = {name: place for place, name in enumerate(names)}, Rows(12, 2, 128).to(DEVICE).eval()

    def line() -> str:
        return ",".join([*(f"{draw.uniform(-9, 9):+.4f}" for _ in range(12)), *draw.choices(names, k=2)])

    def text() -> Inputs:
        return (torch.frombuffer(bytearray("\n".join(line() for _ in range(rows)).encode()), dtype=torch.uint8),)

    def step(lines: torch.Tensor) -> torch.Tensor:
        numbers, categories = parsed(lines, kinds)
        with torch.no_grad():
            return model(numbers.to(DEVICE), categories.to(DEVICE)).cpu()

    return Work(step, batches(text))
