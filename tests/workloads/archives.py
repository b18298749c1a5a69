"""Steps beside archives: what is kept, found again, summed up, and read or said from it."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Inputs,
    Work,
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


@workload("fourteenth")
def sorted_fingerprints() -> Work:
    """Fingerprints of fifty million documents put in order, so that equal ones lie beside each other."""
    documents = 48 << 20 if ON_GPU else 64

    def step(fingerprint: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        ordered = fingerprint.sort()
        return ordered.values, ordered.indices

    return Work(step, batches(lambda: (integers(1 << 62, documents),), 2))


@workload("fourteenth", "blocked")
def gaussian_process_evidence() -> Work:
    """How likely measurements are under a Gaussian process: their covariance factored, the answer sent to the host."""
    points = 8192 if ON_GPU else 32

    def step(covariance: torch.Tensor, seen: torch.Tensor) -> float:
        lower: torch.Tensor = torch.linalg.cholesky(covariance)
        fitted = torch.cholesky_solve(seen, lower)
        return -(0.5 * (seen * fitted).sum() + lower.diagonal().log().sum()).item()

    def batch() -> Inputs:
        drawn = normal(points, points)
        return drawn @ drawn.T / points + torch.eye(points, device=DEVICE), normal(points, 1)

    return Work(step, batches(batch, 2))


@workload("fourteenth", "streams")
def canonical_correlations() -> Work:
    """The three covariances that relate features of pictures to those of their captions, a stream for each."""
    rows, width = (16_384, 2048) if ON_GPU else (32, 8)
    streams = [torch.cuda.Stream() for _ in range(3)]

    def step(picture: torch.Tensor, caption: torch.Tensor) -> list[torch.Tensor]:
        pairs = (picture, picture), (caption, caption), (picture, caption)
        return side_by_side([partial(torch.mm, first.T, second) for first, second in pairs], streams)

    return Work(step, batches(lambda: (normal(rows, width), normal(rows, width))))


@workload("fourteenth")
def inverted_lists() -> Work:
    """Documents found through inverted lists: in each of eight parts the lists nearest to a query, then their best."""
    width, lists, length, probes = 128, 256, 64, 4
    parts = [(normal(width, lists), normal(lists, length, width)) for _ in range(8)]

    def step(query: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found: list[torch.Tensor] = []
        for centre, documents in parts:
            near = (query @ centre).topk(probes).indices
            scores = torch.bmm(documents[near].flatten(1, 2), query.unsqueeze(-1))
            found.append(scores.squeeze(-1).topk(10).values)
        best = torch.cat(found, 1).topk(10)
        return best.values, best.indices

    return Work(step, batches(lambda: (normal(8, width),)))


@workload("fourteenth")
def translated_memory() -> Work:
    """A sentence to translate, projected to the keys and values that every layer of the decoder will look at."""
    layers, width, heads = (24, 1024, 16) if ON_GPU else (2, 64, 4)
    pairs = [[nn.Linear(width, width, device=DEVICE, dtype=HALF) for _ in range(2)] for _ in range(layers)]

    def step(sentence: torch.Tensor) -> list[torch.Tensor]:
        with torch.no_grad():
            seen = [project(sentence) for pair in pairs for project in pair]
            return [x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in seen]

    return Work(step, batches(lambda: (normal(1, 48, width, dtype=HALF),)))


class Letters(nn.Module):
    """Scores of each next letter, by recurrent layers of the vendor's library."""

    def __init__(self, letters: int, width: int) -> None:
        super().__init__()
        self.letters, self.say = nn.Embedding(letters, width), nn.Linear(width, letters)
        self.read = nn.LSTM(width, width, num_layers=2, batch_first=True)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        return self.say(self.read(self.letters(text))[0])


@workload("fourteenth", "training")
def next_letters() -> Work:
    """A recurrent network that learns to write, a letter at a time."""

    def loss(model: nn.Module, text: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())

    return Work(training(Letters(96, 128), loss, fused_adamw), batches(lambda: (integers(96, 16, 21),)))


@workload("fourteenth")
def shrunken_archive() -> Work:
    """Embeddings of an archive centred, brought to unit length and stored in a byte a number, with what that loses."""
    documents, width = (262_144, 384) if ON_GPU else (16, 24)
    mean = normal(width) / 8

    def step(embedding: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        unit = F.normalize(embedding - mean, dim=-1)
        scale = unit.abs().amax(-1, keepdim=True) / 127
        code = (unit / scale).round().clamp(-127, 127)
        lost = (code * scale - unit).square().sum(-1)
        return code.to(torch.int8), scale, lost

    return Work(step, batches(lambda: (normal(documents, width),), 3))


class Bought(nn.Module):
    """The chance that a basket is bought, by residual layers over its features."""

    def __init__(self, features: int, width: int, depth: int) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(features, width), nn.Linear(width, 1)
        self.body = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.SiLU(), nn.Linear(width, width)) for _ in range(depth)
        )

    def forward(self, basket: torch.Tensor) -> torch.Tensor:
        x = self.enter(basket)
        for layer in self.body:
            x = x + layer(x)
        return self.leave(F.silu(x)).squeeze(-1)


@workload("fourteenth", "training", "blocked")
def rated_baskets() -> Work:
    """Training on a large batch of baskets; the host lets an update pass only where the loss is a number."""
    rows, features = (131_072, 64) if ON_GPU else (32, 64)
    model = Bought(features, 256, 5).to(DEVICE).train()
    optimizer = fused_adamw(model.parameters())

    def step(basket: torch.Tensor, bought: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE, dtype=HALF):
            score = model(basket)
        loss = F.binary_cross_entropy_with_logits(score.float(), bought)
        loss.backward()
        if torch.isfinite(loss).item():
            optimizer.step()
        return loss.detach()

    return Work(step, batches(lambda: (normal(rows, features), integers(2, rows).float())))


class Decoding(nn.Module):
    """A decoder layer for one word at a time, with a cache of fixed length and a gated feed-forward."""

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads, size = heads, width // heads
        self.norms = nn.ModuleList(nn.RMSNorm(n) for n in (width, width, size, size))
        self.project, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * width, width, bias=False)
        self.cache: torch.Tensor
        self.register_buffer("cache", torch.zeros(2, 1, heads, length, size))

    def attend(self, x: torch.Tensor, at: torch.Tensor, turn: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        query, key, value = self.project(x).view(1, 1, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key = rotated(self.norms[2](query), turn), rotated(self.norms[3](key), turn)
        self.cache.index_copy_(3, at, torch.stack([key, value]))
        mixed = F.scaled_dot_product_attention(query, self.cache[0], self.cache[1], attn_mask=seen)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def forward(self, x: torch.Tensor, at: torch.Tensor, turn: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        x = x + self.attend(self.norms[0](x), at, turn, seen)
        hidden = self.norms[1](x)
        return x + self.down(F.silu(self.gate(hidden)) * self.up(hidden))


def rotated(x: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
    """Pairs of numbers (..., size) turned by cosines and sines (2, 1, size)."""
    first, second = x.chunk(2, -1)
    return x * turn[0] + torch.cat([-second, first], -1) * turn[1]


class Writer(nn.Module):
    """Scores of the word that follows one word, at its place in the text."""

    def __init__(self, words: int, width: int, heads: int, length: int, depth: int) -> None:
        super().__init__()
        self.words, self.norm = nn.Embedding(words, width), nn.RMSNorm(width)
        self.layers = nn.ModuleList(Decoding(width, heads, length) for _ in range(depth))
        self.turns: torch.Tensor
        self.register_buffer("turns", torch.randn(length, width // heads).sin())

    def forward(self, word: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        x, angle = self.words(word), self.turns[at]
        turn = torch.stack([angle.cos(), angle.sin()])
        seen = (torch.arange(len(self.turns), device=at.device) <= at).view(1, 1, 1, -1)
        for layer in self.layers:
            x = layer(x, at, turn, seen)
        return (self.norm(x)[:, -1] @ self.words.weight.T).argmax(-1)


@workload("fourteenth")
def cached_words() -> Work:
    """A word written by a small language model with a cache of fixed length, for one reader."""
    words, length = 8000, 256
    model = inference(Writer(words, 512, 8, length, 10), HALF)
    return Work(model, batches(lambda: (integers(words, 1, 1), 128 + integers(64, 1))))


class Mixed(nn.Module):
    """Frames of a sound mixed over time, then over bands, both around shortcuts."""

    def __init__(self, frames: int, width: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.over = nn.Sequential(nn.Linear(frames, 2 * frames), nn.GELU(), nn.Linear(2 * frames, frames))
        self.along = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.over(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        return x + F.silu(self.along(self.norms[1](x)))


class Heard(nn.Module):
    """Chances of each command, from the logarithms of a sound's bands."""

    def __init__(self, frames: int, width: int, commands: int) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(64, width), nn.Linear(width, commands)
        self.body = nn.Sequential(*[Mixed(frames, width) for _ in range(8)])

    def forward(self, power: torch.Tensor) -> torch.Tensor:
        bands = torch.log(power + 1e-6)
        bands = (bands - bands.mean(1, keepdim=True)) / (bands.std(1, keepdim=True) + 1e-5)
        return self.leave(self.body(self.enter(bands)).mean(1)).softmax(-1)


@workload("fourteenth", "blocked")
def heard_commands() -> Work:
    """A spoken command told apart by a small network in a service; the host asks whether it was understood."""
    model = inference(Heard(96, 128, 35))

    def step(power: torch.Tensor) -> torch.Tensor:
        best = model(power).max(-1)
        if best.values.amin().item() < 0.01:
            return torch.full_like(best.indices, -1)
        return best.indices

    return Work(step, batches(lambda: (normal(2, 96, 64).square(),)))
