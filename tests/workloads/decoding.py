"""Steps of language models that answer: prompts read, words decoded and drawn, requests swapped."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import DEVICE, ON_GPU, Inputs, Work, batches, inference, integers, normal, workload

HALF = torch.bfloat16


class Scaled(nn.Module):
    """A root-mean-square norm as models write it out, in full precision."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def angles(places: torch.Tensor, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of the rotary positions, for each place and half the size of a head."""
    turns = places.unsqueeze(-1) * 10_000.0 ** (-torch.arange(0, size, 2, device=places.device) / size)
    return turns.cos(), turns.sin()


def turned(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """Queries or keys turned by their positions; heads are next to last."""
    cosine, sine = cosine.unsqueeze(-2).to(x.dtype), sine.unsqueeze(-2).to(x.dtype)
    left, right = x.chunk(2, -1)
    return torch.cat([left * cosine - right * sine, left * sine + right * cosine], -1)


class GroupedLayer(nn.Module):
    """A decoder layer in which several heads share keys and values, with a gated feed-forward part."""

    def __init__(self, width: int, heads: int, groups: int, hidden: int) -> None:
        super().__init__()
        self.heads, self.groups = heads, groups
        self.first, self.second = Scaled(width), Scaled(width)
        self.query, self.out = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.pairs = nn.Linear(width, 2 * groups * width // heads, bias=False)
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        seen = self.first(x)
        query = turned(self.query(seen).unflatten(-1, (self.heads, -1)), cosine, sine)
        key, value = self.pairs(seen).unflatten(-1, (2, self.groups, -1)).unbind(-3)
        shared = [part.repeat_interleave(self.heads // self.groups, 2) for part in (turned(key, cosine, sine), value)]
        parts = [part.transpose(1, 2) for part in (query, *shared)]
        x = x + self.out(F.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2))
        seen = self.second(x)
        return x + self.down(F.silu(self.gate(seen)) * self.up(seen))


class Prompted(nn.Module):
    """A language model that reads a prompt and scores the word after it."""

    def __init__(self, words: int, width: int, depth: int) -> None:
        super().__init__()
        self.size, self.words = width // 16, nn.Embedding(words, width)
        self.layers = nn.ModuleList(GroupedLayer(width, 16, 4, 11 * width // 4) for _ in range(depth))
        self.norm, self.read = Scaled(width), nn.Linear(width, words, bias=False)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x, turns = self.words(text), angles(torch.arange(text.shape[1], device=text.device), self.size)
        for layer in self.layers:
            x = layer(x, *turns)
        return self.read(self.norm(x[:, -1]))


@workload("eighth")
def long_prompt() -> Work:
    """Prompts of two thousand words read by a language model whose heads share keys and values."""
    width, words, length = (2048, 32_000, 2048) if ON_GPU else (128, 500, 64)
    return Work(inference(Prompted(words, width, 4), HALF), batches(lambda: (integers(words, 2, length),)))


class ExpertLayer(nn.Module):
    """A decoder layer with a sliding window of shared keys and values, and two of several experts for each word."""

    def __init__(self, width: int, heads: int, groups: int, experts: int, hidden: int) -> None:
        super().__init__()
        self.heads, self.groups = heads, groups
        self.first, self.second, self.route = Scaled(width), Scaled(width), nn.Linear(width, experts, bias=False)
        self.project = nn.Linear(width, width + 2 * groups * width // heads, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = (nn.Parameter(torch.randn(experts, width, hidden) / width**0.5) for _ in range(2))
        self.down = nn.Parameter(torch.randn(experts, hidden, width) / hidden**0.5)

    def mix(self, x: torch.Tensor) -> torch.Tensor:
        share, expert = self.route(x).softmax(-1).topk(2, -1)
        gate, up = (torch.einsum("rw,rewh->reh", x, weight[expert]) for weight in (self.gate, self.up))
        out = torch.einsum("reh,rehw->rew", F.silu(gate) * up, self.down[expert])
        return (out * (share / share.sum(-1, keepdim=True)).unsqueeze(-1)).sum(1)

    def forward(self, x: torch.Tensor, past: torch.Tensor, *turns: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        heads = self.project(self.first(x)).unflatten(-1, (self.heads + 2 * self.groups, -1))
        query, key, value = heads.split([self.heads, self.groups, self.groups], 1)
        fresh = torch.stack([turned(key, *turns), value]).unsqueeze(3)
        keys, values = torch.cat([past[:, :, :, 1:], fresh], 3).repeat_interleave(self.heads // self.groups, 2)
        mixed = F.scaled_dot_product_attention(turned(query, *turns).unsqueeze(2), keys, values)
        x = x + self.out(mixed.flatten(1))
        return x + self.mix(self.second(x)), fresh


@workload("eighth")
def expert_decoding() -> Work:
    """The next word of four requests to a mixture of experts that looks back over a sliding window."""
    requests, width, window, words = 4, 512, 192, 8000
    layers = nn.ModuleList(ExpertLayer(width, 8, 2, 8, 512) for _ in range(5)).to(DEVICE).eval()
    table, past = normal(words, width) / 16, [normal(2, requests, 2, window, width // 8) for _ in layers]

    def step(word: torch.Tensor, at: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            x, turns, kept = table[word], angles(at, width // 8), []
            for layer, seen in zip(layers, past, strict=True):
                x, fresh = layer(x, seen, *turns)
                kept.append(fresh)
            return x @ table.T, torch.stack(kept)

    return Work(step, batches(lambda: (integers(words, requests), 200 + integers(800, requests))))


@workload("eighth", "blocked")
def likely_enough() -> Work:
    """Words drawn among those not much less likely than the likeliest, repetition punished; the host looks for ends."""
    rows, words = (256, 128_256) if ON_GPU else (8, 500)

    def step(scores: torch.Tensor, said: torch.Tensor, luck: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = scores - 0.4 * (said > 0) - 0.1 * said
        share = (scores / 0.8).softmax(-1)
        share = share.masked_fill(share < 0.05 * share.amax(-1, keepdim=True), 0.0)
        share = share / share.sum(-1, keepdim=True)
        word = (share.log() - (-luck.log()).log()).argmax(-1, keepdim=True)
        surprise = -share.gather(-1, word).log()
        if bool((word == 2).all()):
            return word[:0], surprise[:0]
        return word, surprise

    def drawn() -> Inputs:
        luck = torch.rand(rows, words, device=DEVICE).clamp(1e-6, 1 - 1e-6)
        return 2 * normal(rows, words), integers(3, rows, words).to(torch.int32), luck

    return Work(step, batches(drawn, 2))


@workload("eighth")
def adapters_per_request() -> Work:
    """Requests that bring adapters of their own, of several ranks, to the projections of one shared layer."""
    requests, width, ranks = 16, 1024, (8, 16, 32, 64)
    shared = [normal(width, width, dtype=HALF) / 32 for _ in range(3)]
    pairs = [
        [(normal(width, rank, dtype=HALF) / 32, normal(rank, width, dtype=HALF) / 8) for rank in ranks * 4]
        for _ in shared
    ]

    def step(*parts: torch.Tensor) -> list[torch.Tensor]:
        whole = torch.cat(parts)
        return [
            whole @ weight + torch.cat([part @ down @ up for part, (down, up) in zip(parts, own, strict=True)])
            for weight, own in zip(shared, pairs, strict=True)
        ]

    return Work(step, batches(lambda: tuple(normal(16, width, dtype=HALF) for _ in range(requests))))


class EightBitLayer(nn.Module):
    """A decoder layer whose past keys and values are kept in eight bits, with a scale for each place and head."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.first, self.second = heads, nn.RMSNorm(width), nn.RMSNorm(width)
        self.query, self.out = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.up, self.down = nn.Linear(width, 2 * width, bias=False), nn.Linear(2 * width, width, bias=False)

    def forward(self, x: torch.Tensor, past: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        keys, values = (past.to(x.dtype) * scale).unbind(0)
        size, groups = keys.shape[-1], keys.shape[1]
        query = self.query(self.first(x)).view(len(x), groups, self.heads // groups, size)
        x = x + self.out(F.scaled_dot_product_attention(query, keys, values).flatten(1))
        return x + self.down(F.gelu(self.up(self.second(x))))


@workload("ninth")
def eight_bit_cache() -> Work:
    """The next word of sixteen long conversations, whose keys and values are kept in eight bits."""
    requests, width, length, depth = (16, 4096, 4096, 4) if ON_GPU else (2, 256, 32, 2)
    layers = nn.ModuleList(EightBitLayer(width, width // 128) for _ in range(depth)).to(DEVICE, HALF).eval()

    def step(x: torch.Tensor, past: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            for layer, *kept in zip(layers, past, scale, strict=True):
                x = layer(x, *kept)
            return x

    def batch() -> Inputs:
        shape = (depth, 2, requests, max(1, width // 512), length)
        past = torch.randint(-127, 128, (*shape, 128), dtype=torch.int8, device=DEVICE)
        return normal(requests, width, dtype=HALF), past, normal(*shape, 1, dtype=HALF).abs() / 100

    return Work(step, batches(batch, 3))


def moved(targets: list[torch.Tensor], sources: list[torch.Tensor]) -> None:
    """Copy blocks one after the other, without waiting for them."""
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source, non_blocking=True)


@torch.compiler.disable
def begun(tasks: list[Callable[[], None]], streams: list[torch.cuda.Stream]) -> None:
    """Begin each task on a stream of its own, after what the current one has been given."""
    for task, stream in zip(tasks, streams, strict=True):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            task()


@torch.compiler.disable
def joined(streams: list[torch.cuda.Stream]) -> None:
    """Let the current stream wait for the others."""
    for stream in streams:
        torch.cuda.current_stream().wait_stream(stream)


@workload("ninth", "streams")
def swapped_requests() -> Work:
    """A word decoded while paused requests' keys and values leave for pinned memory and resumed ones' come back."""
    blocks, shape, width = (6, (2, 8, 4096, 128), 2048) if ON_GPU else (2, (2, 2, 8, 16), 64)
    near, paused = ([normal(*shape, dtype=HALF) for _ in range(blocks)] for _ in range(2))
    stored = [torch.empty(shape, dtype=HALF, pin_memory=ON_GPU).copy_(block) for block in near]
    left = [torch.empty(shape, dtype=HALF, pin_memory=ON_GPU) for _ in paused]
    weights = [normal(width, width, dtype=HALF) / width**0.5 for _ in range(24)]
    swaps = [partial(moved, near, stored), partial(moved, left, paused)]
    streams = [torch.cuda.Stream() for _ in swaps]

    def step(x: torch.Tensor) -> torch.Tensor:
        begun(swaps, streams)
        for weight in weights:
            x = F.relu(x @ weight) * 1.4
        joined(streams)
        return x + near[-1][0, 0, 0, 0]

    return Work(step, batches(lambda: (normal(16, width, dtype=HALF),)))
