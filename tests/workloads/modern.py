"""Steps of models in common use: what reads and writes texts, routes, ranks and retrieves."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.decoding import Scaled, angles, turned
from tests.workloads.layers import Encoder, perceptron
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


class Nearby(nn.Module):
    """A decoder layer whose heads share keys, normalise them and look no further back than a window."""

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.size = width // heads
        self.norms = nn.ModuleList(Scaled(width) for _ in range(4))
        self.of_query, self.of_key = Scaled(self.size), Scaled(self.size)
        self.query, self.out = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.key, self.value = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
        before, after, first, last = self.norms
        seen = before(x)
        query, key, value = (layer(seen).unflatten(-1, (-1, self.size)) for layer in (self.query, self.key, self.value))
        query, key = turned(self.of_query(query), cosine, sine), turned(self.of_key(key), cosine, sine)
        parts = [part.transpose(1, 2) for part in (query, key, value)]
        mixed = F.scaled_dot_product_attention(*parts, attn_mask=allowed, enable_gqa=True)
        x = x + after(self.out(mixed.transpose(1, 2).flatten(2)))
        seen = first(x)
        return x + last(self.down(F.gelu(self.gate(seen), approximate="tanh") * self.up(seen)))


class Windowed(nn.Module):
    """A language model of such layers, its scores kept within bounds."""

    def __init__(self, words: int, width: int, depth: int) -> None:
        super().__init__()
        self.words, self.norm, self.width = nn.Embedding(words, width), Scaled(width), width
        self.layers = nn.ModuleList(Nearby(width, 8, 2) for _ in range(depth))

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        places = torch.arange(text.shape[1], device=text.device)
        apart = places.unsqueeze(1) - places
        allowed, turns = (apart >= 0) & (apart < 64), angles(places, self.width // 8)
        x = self.words(text) * self.width**0.5
        for layer in self.layers:
            x = layer(x, *turns, allowed)
        scores = self.norm(x[:, -1]) @ self.words.weight.T
        return 30 * torch.tanh(scores / 30)


@workload("thirteenth")
def windowed_queries() -> Work:
    """Short prompts through a small language model of grouped queries, rotary positions and sliding windows."""
    words, length = (8000, 128) if ON_GPU else (200, 16)
    model = inference(Windowed(words, 512, 5), HALF)
    return Work(model, batches(lambda: (integers(words, 2, length),)))


@workload("thirteenth")
def chunked_scan() -> Work:
    """A state-space layer over long texts by chunks: within each by products, from one to the next by its state."""
    texts, chunks, size, heads, width, states = (8, 32, 128, 16, 64, 64) if ON_GPU else (2, 3, 8, 2, 8, 4)
    later = torch.ones(size, size, dtype=torch.bool, device=DEVICE).triu(1)

    def carried(fresh: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
        state, before = torch.zeros_like(fresh[:, 0]), []
        for at in range(chunks):
            before.append(state)
            state = kept[:, at, :, None, None] * state + fresh[:, at]
        return torch.stack(before, 1)

    def step(x: torch.Tensor, pace: torch.Tensor, enter: torch.Tensor, leave: torch.Tensor) -> torch.Tensor:
        rate = F.softplus(pace.float()).transpose(2, 3)
        total = -(0.1 * rate).cumsum(-1)
        decay = (total.unsqueeze(-1) - total.unsqueeze(-2)).masked_fill(later, -torch.inf).exp()
        driven = (x.transpose(2, 3) * rate.unsqueeze(-1)).to(x.dtype)
        scores = (leave @ enter.transpose(-2, -1)).unsqueeze(2)
        within = (scores * decay).to(x.dtype) @ driven
        left = (total[..., -1:] - total).exp().unsqueeze(-1)
        fresh = enter.transpose(-2, -1).unsqueeze(2) @ (driven * left).to(x.dtype)
        state = carried(fresh.float(), total[..., -1].exp()).to(x.dtype)
        across = (leave.unsqueeze(2) @ state) * total.exp().unsqueeze(-1)
        return (within + across).to(x.dtype).transpose(2, 3).flatten(3)

    shapes = ((size, heads, width), (size, heads), (size, states), (size, states))
    return Work(step, batches(lambda: tuple(normal(texts, chunks, *shape, dtype=HALF) for shape in shapes)))


@workload("thirteenth", "blocked")
def routed_tokens() -> Work:
    """Words sent to the two best of eight wide experts, each of which picks out those that come to it."""
    words, width, hidden = (16_384, 2048, 8192) if ON_GPU else (64, 16, 32)
    with torch.device(DEVICE):
        router = nn.Linear(width, 8, bias=False).to(HALF)
        experts = [perceptron(width, hidden, width, activation=nn.GELU).to(HALF) for _ in range(8)]

    def step(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            weight, chosen = router(x).float().softmax(-1).topk(2)
            weight = (weight / weight.sum(-1, keepdim=True)).to(x.dtype)
            mixed = torch.zeros_like(x)
            for number, expert in enumerate(experts):
                word, rank = torch.where(chosen == number)
                mixed.index_add_(0, word, expert(x[word]) * weight[word, rank].unsqueeze(-1))
            return mixed

    return Work(step, batches(lambda: (normal(words, width, dtype=HALF),)))


@workload("thirteenth", "blocked")
def answered_tokens() -> Work:
    """Words drawn one after another from the likeliest, until the host sees that every answer has ended."""
    words, length, rounds = 4000, 32, 3
    layers = [Encoder(256, 4, causal=True) for _ in range(4)]
    model = nn.Sequential(nn.Embedding(words, 256), *layers, nn.LayerNorm(256), nn.Linear(256, words)).to(DEVICE).eval()

    def drawn(scores: torch.Tensor, luck: torch.Tensor) -> torch.Tensor:
        chance, order = (scores / 0.8).softmax(-1).sort(-1, descending=True)
        below = chance.cumsum(-1) - chance
        kept = chance.masked_fill(below > 0.9, 0.0)
        reached = (kept / kept.sum(-1, keepdim=True)).cumsum(-1)
        place = (reached < luck.unsqueeze(-1)).sum(-1, keepdim=True).clamp(max=words - 1)
        return order.gather(-1, place)

    def step(text: torch.Tensor, luck: torch.Tensor) -> torch.Tensor:
        ended = torch.zeros_like(text[:, :1], dtype=torch.bool)
        with torch.no_grad():
            for at in range(rounds):
                word = drawn(model(text)[:, -1], luck[at]).masked_fill(ended, 0)
                text, ended = torch.cat([text[:, 1:], word], 1), ended | (word == 0)
                if ended.all().item():
                    break
        return text[:, length - rounds :]

    return Work(step, batches(lambda: (integers(words, 4, length), torch.rand(rounds, 4, device=DEVICE))))


@workload("thirteenth", "streams")
def attended_documents() -> Work:
    """Long documents read by the attention of two members of an ensemble, side by side, and averaged."""
    texts, heads, length, size = (2, 16, 8192, 128) if ON_GPU else (1, 2, 16, 8)
    members = [normal(heads * size, heads * size, dtype=HALF) / (heads * size) ** 0.5 for _ in range(2)]
    streams = [torch.cuda.Stream() for _ in members]

    def attend(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        query = (x @ weight).unflatten(-1, (heads, size)).transpose(1, 2)
        key = x.unflatten(-1, (heads, size)).transpose(1, 2)
        return F.scaled_dot_product_attention(query, key, key, is_causal=True)

    def step(x: torch.Tensor) -> torch.Tensor:
        one, other = side_by_side([partial(attend, x, weight) for weight in members], streams)
        return torch.lerp(one, other, 0.5)

    return Work(step, batches(lambda: (normal(texts, length, heads * size, dtype=HALF),)))


class Adverts(nn.Module):
    """The chance of a click: numbers and bags of categories as vectors, their products in pairs, and a perceptron."""

    def __init__(self, kinds: int, size: int, width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(size, width, mode="sum") for _ in range(kinds))
        self.numbers = perceptron(13, 256, width)
        self.read = perceptron(width + (kinds + 1) ** 2, 256, 256, 1)

    def forward(self, numbers: torch.Tensor, bags: torch.Tensor) -> torch.Tensor:
        dense = self.numbers(numbers)
        looked = [table(bag) for table, bag in zip(self.tables, bags.unbind(0), strict=True)]
        vectors = torch.stack([dense, *looked], 1)
        pairs = torch.bmm(vectors, vectors.transpose(1, 2))
        return torch.sigmoid(self.read(torch.cat([dense, pairs.flatten(1)], 1)).squeeze(-1))


@workload("thirteenth")
def advert_clicks() -> Work:
    """The chances that shown adverts are clicked, from many tables of categories."""
    model = inference(Adverts(26, 20_000, 64))
    return Work(model, batches(lambda: (normal(256, 13), integers(20_000, 26, 256, 4))))


@workload("thirteenth")
def scored_archive() -> Work:
    """The hundred best passages of a large archive for each question, scored again in full precision."""
    passages, questions, width = (1_000_000, 512, 256) if ON_GPU else (2000, 4, 16)
    archive = normal(passages, width, dtype=HALF) / width**0.5

    def step(question: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        best = (question @ archive.T).topk(100).indices
        scores = torch.bmm(archive[best].float(), question.float().unsqueeze(-1)).squeeze(-1)
        return scores, best

    return Work(step, batches(lambda: (normal(questions, width, dtype=HALF),)))


@workload("thirteenth", "training")
def rated_pairs() -> Work:
    """A ranker of search results trained on every pair of a list, weighed by what it costs to swap them."""
    lists, length = (128, 640) if ON_GPU else (4, 12)

    def loss(model: nn.Module, result: torch.Tensor, grade: torch.Tensor) -> torch.Tensor:
        score = model(result).squeeze(-1)
        apart = score.unsqueeze(2) - score.unsqueeze(1)
        rank = 1 + (apart < 0).sum(2).float()
        gain, discount = torch.exp2(grade) - 1, 1 / torch.log2(1 + rank)
        cost = (gain.unsqueeze(2) - gain.unsqueeze(1)).abs() * (discount.unsqueeze(2) - discount.unsqueeze(1)).abs()
        better = grade.unsqueeze(2) > grade.unsqueeze(1)
        return (F.softplus(-apart) * cost).masked_fill(~better, 0.0).sum((1, 2)).mean() / length

    step = training(perceptron(64, 256, 256, 1), loss, adamw)
    return Work(step, batches(lambda: (normal(lists, length, 64), integers(5, lists, length).float())))


class Paired(nn.Module):
    """Pictures and captions as directions, with the learned scale and offset of their scores."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.picture, self.caption = perceptron(512, 1024, width), perceptron(384, 1024, width)
        self.scale, self.offset = nn.Parameter(torch.tensor(2.3)), nn.Parameter(torch.tensor(-10.0))

    def forward(self, picture: torch.Tensor, caption: torch.Tensor) -> torch.Tensor:
        one, other = F.normalize(self.picture(picture), dim=-1), F.normalize(self.caption(caption), dim=-1)
        return (one @ other.T).float() * self.scale.exp() + self.offset


@workload("thirteenth", "training")
def paired_pictures() -> Work:
    """Pictures matched with their captions by a sigmoid for every pair of a large batch, in mixed precision."""
    pairs = 8192 if ON_GPU else 16

    def loss(model: nn.Module, picture: torch.Tensor, caption: torch.Tensor) -> torch.Tensor:
        scores = model(picture, caption)
        sign = 2 * torch.eye(len(scores), device=scores.device) - 1
        return -F.logsigmoid(sign * scores).sum(1).mean()

    def batch() -> Inputs:
        return normal(pairs, 512), normal(pairs, 384)

    return Work(training(Paired(256), loss, fused_adamw, HALF), batches(batch))
