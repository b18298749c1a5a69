"""Steps of models that serve: clicks, forecasts, words, speech and images answered as they come."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import convert_conv2d_weight_memory_format

from tests.workloads.layers import Attention, Encoder, perceptron
from tests.workloads.registry import DEVICE, ON_GPU, Inputs, Work, batches, inference, integers, normal, workload
from tests.workloads.streams import side_by_side

HALF = torch.float16


class Ads(nn.Module):
    """Numbers and bags of categories brought to vectors; their products say how likely a click is."""

    def __init__(self, numbers: int, fields: int, rows: int, width: int) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(fields))
        self.bottom = perceptron(numbers, 128, width)
        self.top = perceptron(width + (fields + 1) ** 2, 256, 1)

    def forward(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        dense = self.bottom(numbers)
        rows = [bag(own) for bag, own in zip(self.bags, categories, strict=True)]
        vectors = torch.stack([dense, *rows], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)
        return torch.sigmoid(self.top(torch.cat([dense, products], 1))).squeeze(1)


@workload("twelfth")
def clicked_ads() -> Work:
    """The chance of a click on each of some ads, from a bag of categories for each of two dozen fields."""
    fields, rows, ads = (24, 20_000, 256) if ON_GPU else (4, 50, 4)
    model = inference(Ads(13, fields, rows, 32))
    return Work(model, batches(lambda: (normal(ads, 13), integers(rows, fields, ads, 6))))


class Forecaster(nn.Module):
    """Recurrent layers that read the past, and others that say the hours to come one after the other."""

    def __init__(self, known: int, width: int, hours: int) -> None:
        super().__init__()
        self.hours, self.say = hours, nn.Linear(width, 1)
        self.past = nn.LSTM(known, width, num_layers=2, batch_first=True)
        self.future = nn.LSTM(1, width, num_layers=2, batch_first=True)

    def forward(self, past: torch.Tensor) -> torch.Tensor:
        said: list[torch.Tensor] = []
        value, (_, state) = past[:, -1:, :1], self.past(past)
        for _ in range(self.hours):
            out, state = self.future(value, state)
            value = self.say(out)
            said.append(value)
        return torch.cat(said, 1).squeeze(-1)


@workload("twelfth")
def electricity_forecast() -> Work:
    """How much electricity households will need in the next hours, by a sequence-to-sequence LSTM."""
    households, known, width, hours = (64, 8, 128, 24) if ON_GPU else (2, 4, 16, 4)
    return Work(inference(Forecaster(known, width, hours)), batches(lambda: (normal(households, 2 * hours, known),)))


class CachedLayer(nn.Module):
    """A GPT-2 layer that keeps the keys and values of the words so far."""

    def __init__(self, width: int, heads: int, requests: int, length: int) -> None:
        super().__init__()
        self.heads, self.first, self.second = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.enter, self.leave = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.past: torch.Tensor
        self.register_buffer("past", torch.randn(2, requests, heads, length, width // heads))

    def forward(self, x: torch.Tensor, at: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        query, key, value = self.project(self.first(x)).unflatten(-1, (3, self.heads, -1)).transpose(1, 3).unbind(2)
        self.past.index_copy_(3, at, torch.stack([key, value]))
        mixed = F.scaled_dot_product_attention(query, self.past[0], self.past[1], attn_mask=mask)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.leave(F.gelu(self.enter(self.second(x)), approximate="tanh"))


@workload("twelfth")
def next_words() -> Work:
    """The next words of a few texts from a GPT-2 with a cache of keys and values of fixed length."""
    words, width, depth, length, texts = (32_000, 768, 8, 512, 4) if ON_GPU else (100, 48, 2, 16, 2)
    layers = nn.ModuleList(CachedLayer(width, 12, texts, length) for _ in range(depth)).to(DEVICE, HALF).eval()
    table, places = normal(words, width, dtype=HALF) / 16, normal(length, width, dtype=HALF) / 16
    norm = nn.LayerNorm(width).to(DEVICE, HALF)

    def step(word: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            mask = (torch.arange(length, device=at.device) <= at).view(1, 1, 1, -1)
            x = table[word] + places[at]
            for layer in layers:
                x = layer(x, at, mask)
            return (norm(x[:, -1]) @ table.T).argmax(-1)

    return Work(step, batches(lambda: (integers(words, texts, 1), length // 2 + integers(length // 2, 1))))


class RelativeAttention(nn.Module):
    """T5's attention: without scale, and with a bias by how far apart two places are."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.norm = heads, nn.RMSNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x: torch.Tensor, seen: torch.Tensor | None, bias: torch.Tensor) -> torch.Tensor:
        own = self.norm(x)
        source = own if seen is None else seen
        pairs = ((self.query, own), (self.key, source), (self.value, source))
        query, key, value = (layer(y).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer, y in pairs)
        weight = (query @ key.transpose(2, 3) + bias).float().softmax(-1).to(x.dtype)
        return x + self.out((weight @ value).transpose(1, 2).flatten(2))


class T5(nn.Module):
    """An encoder and a decoder as in T5, with gated feed-forward parts."""

    def __init__(self, words: int, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.own, self.cross = (
            nn.ModuleList(RelativeAttention(width, heads) for _ in range(n * depth)) for n in (2, 1)
        )
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2 * depth + 2))
        self.gates, self.ups = (nn.ModuleList(nn.Linear(width, 2 * width) for _ in self.own) for _ in range(2))
        self.downs = nn.ModuleList(nn.Linear(2 * width, width) for _ in self.own)
        self.bias = nn.ModuleList(nn.Embedding(32, heads) for _ in range(2))

    def feed(self, x: torch.Tensor, at: int) -> torch.Tensor:
        seen = self.norms[at](x)
        return x + self.downs[at](F.gelu(self.gates[at](seen), approximate="tanh") * self.ups[at](seen))

    def apart(self, length: int, side: int) -> torch.Tensor:
        place = torch.arange(length, device=self.words.weight.device)
        return self.bias[side]((place - place.unsqueeze(1)).clamp(-16, 15) + 16).permute(2, 0, 1)

    def forward(self, text: torch.Tensor, answer: torch.Tensor) -> torch.Tensor:
        depth, x, y = len(self.cross), self.words(text), self.words(answer)
        near = self.apart(text.shape[1], 0)
        for at in range(depth):
            x = self.feed(self.own[at](x, None, near), at)
        x, size = self.norms[-1](x), answer.shape[1]
        past = self.apart(size, 1) + torch.full((size, size), -1e4, device=y.device, dtype=y.dtype).triu(1)
        for at in range(depth):
            y = self.own[depth + at](y, None, past)
            y = self.feed(self.cross[at](y, x, torch.zeros_like(past[:1, :1, :1])), depth + at)
        return self.norms[-2](y[:, -1]) @ self.words.weight.T


@workload("twelfth")
def shortened_articles() -> Work:
    """A short article and the summary so far read by an encoder and a decoder of the T5 kind."""
    words, width, depth, length = (16_000, 384, 4, 128) if ON_GPU else (100, 32, 1, 16)
    model = inference(T5(words, width, 6 if ON_GPU else 2, depth), torch.bfloat16)
    return Work(model, batches(lambda: (integers(words, 2, length), integers(words, 2, length // 4))))


class Vision(nn.Module):
    """A vision transformer that gives one vector for an image."""

    def __init__(self, width: int, depth: int, side: int, patch: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch, bias=False)
        self.whole = nn.Parameter(torch.randn(1, 1, width))
        self.places = nn.Parameter(torch.randn((side // patch) ** 2 + 1, width) / 16)
        self.layers = nn.Sequential(*[Encoder(width, width // 64) for _ in range(depth)], nn.LayerNorm(width))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.whole.expand(len(x), -1, -1), x], 1) + self.places
        return self.layers(x)[:, 0]


class Reading(nn.Module):
    """A causal transformer that gives one vector for a text, at its last word."""

    def __init__(self, words: int, width: int, depth: int, length: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.randn(length, width) / 16)
        self.layers = nn.Sequential(*[Encoder(width, width // 64, True) for _ in range(depth)], nn.LayerNorm(width))

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        return self.layers(self.words(text) + self.places)[:, -1]


@workload("twelfth", "streams")
def labelled_images() -> Work:
    """Images compared with what could be said of them, by an image and a text tower, each on its stream."""
    width, depth, side, length = (512, 6, 224, 77) if ON_GPU else (64, 1, 64, 8)
    towers = [inference(Vision(width, depth, side, 32), HALF), inference(Reading(8000, width, depth, length), HALF)]
    streams = [torch.cuda.Stream() for _ in towers]

    def step(*inputs: torch.Tensor) -> torch.Tensor:
        tasks = [partial(tower, part) for tower, part in zip(towers, inputs, strict=True)]
        image, text = (F.normalize(x, dim=-1) for x in side_by_side(tasks, streams))
        return (100 * image @ text.T).softmax(-1)

    return Work(step, batches(lambda: (normal(4, 3, side, side, dtype=HALF), integers(8000, 8, length))))


class Basic(nn.Module):
    """A block of a small residual network."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(outputs) for _ in range(2))
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.norms[1](self.second(F.relu(self.norms[0](self.first(x)))))
        return F.relu(hidden + self.shortcut(x))


@workload("twelfth", "streams")
def five_folds() -> Work:
    """Residual networks from the five folds of a cross-validation, each on its stream, their chances averaged."""

    side, wide = (32, 256) if ON_GPU else (8, 16)

    def member() -> nn.Sequential:
        blocks = [Basic(a, b, 1 if a == 3 else 2) for a, b in pairwise((3, wide // 4, wide // 2, wide))]
        return nn.Sequential(*blocks, Basic(wide, wide, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(wide, 10))

    members = [inference(member(), HALF) for _ in range(5)]
    streams = [torch.cuda.Stream() for _ in members]

    def step(images: torch.Tensor) -> torch.Tensor:
        return torch.stack([x.softmax(-1) for x in side_by_side([partial(m, images) for m in members], streams)]).mean(
            0
        )

    return Work(step, batches(lambda: (normal(16, 3, side, side, dtype=HALF),)))


@workload("twelfth", "streams")
def index_in_parts() -> Work:
    """The nearest vectors of an index in pinned memory; a stream brings its next part while one is searched."""
    parts, rows, width, queries = (4, 65_536, 512, 512) if ON_GPU else (3, 32, 8, 4)
    stored = torch.empty(parts, rows, width, dtype=HALF, pin_memory=ON_GPU).copy_(normal(parts, rows, width))
    buffers, copier = [normal(rows, width, dtype=HALF) for _ in range(2)], torch.cuda.Stream()

    def bring(part: int) -> None:
        copier.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(copier):
            buffers[part % 2].copy_(stored[part], non_blocking=True)

    def step(query: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found: list[list[torch.Tensor]] = []
        bring(0)
        for part in range(parts):
            torch.cuda.current_stream().wait_stream(copier)
            if part + 1 < parts:
                bring(part + 1)
            found.append([*(query @ buffers[part % 2].T).topk(10)])
        best = torch.cat([values for values, _ in found], 1).topk(10)
        places = torch.cat([place + part * rows for part, (_, place) in enumerate(found)], 1)
        return best.values, places.gather(1, best.indices)

    return Work(step, batches(lambda: (normal(queries, width, dtype=HALF),)))


class Conformer(nn.Module):
    """Half a feed-forward part, attention, gated convolutions over time, the other half, and a norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(5))
        self.feeds = nn.ModuleList(perceptron(width, 4 * width, width, activation=nn.SiLU) for _ in range(2))
        self.attention, self.enter = Attention(width, heads), nn.Conv1d(width, 2 * width, 1)
        self.depth, self.batch = nn.Conv1d(width, width, 31, padding=15, groups=width), nn.BatchNorm1d(width)
        self.leave = nn.Conv1d(width, width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + 0.5 * self.feeds[0](self.norms[0](x))
        x = x + self.attention(self.norms[1](x))
        gated = F.glu(self.enter(self.norms[2](x).transpose(1, 2)), 1)
        x = x + self.leave(F.silu(self.batch(self.depth(gated)))).transpose(1, 2)
        return self.norms[4](x + 0.5 * self.feeds[1](self.norms[3](x)))


@workload("twelfth", "blocked")
def recognised_speech() -> Work:
    """An utterance heard by conformer blocks, its likeliest letters kept where they change and are no blank."""
    width, depth, frames = (256, 6, 240) if ON_GPU else (32, 2, 16)
    layers = [Conformer(width, 4) for _ in range(depth)]
    hear = inference(nn.Sequential(nn.Linear(80, width), *layers, nn.Linear(width, 32)), HALF)

    def step(sound: torch.Tensor) -> torch.Tensor:
        letters: torch.Tensor = hear(sound)[0].argmax(-1)
        changed = F.pad(letters[1:] != letters[:-1], (1, 0), value=True)
        return letters[changed & (letters != 0)]

    return Work(step, batches(lambda: (normal(1, frames, 80, dtype=HALF),)))


def overlaps(box: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """The area that a box shares with each of some others, over that of both together."""
    low, high = torch.maximum(box[:2], others[:, :2]), torch.minimum(box[2:], others[:, 2:])
    inner = (high - low).clamp(min=0).prod(1)
    return inner / ((box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(1) - inner)


@workload("twelfth", "blocked")
def distinct_objects() -> Work:
    """Boxes of a detector's head, the best of which are kept one by one, and those that overlap them dropped."""
    side, kept_most = (40, 40) if ON_GPU else (8, 4)
    head = inference(nn.Sequential(nn.Conv2d(128, 128, 3, padding=1), nn.ReLU(), nn.Conv2d(128, 5, 1)))
    place = torch.stack(torch.meshgrid(*[8.0 * torch.arange(side, device=DEVICE)] * 2, indexing="ij")[::-1]).flatten(1)

    def step(features: torch.Tensor) -> torch.Tensor:
        out = head(features)[0].flatten(1)
        score, order = torch.sigmoid(out[4]).sort(descending=True)
        order = order[:400][score[:400] > 0.3]
        centre, half = place + 8 * torch.tanh(out[:2]), 12 * torch.exp(out[2:4].clamp(-2, 2))
        boxes = torch.cat([centre - half, centre + half]).T
        kept: list[torch.Tensor] = []
        while order.numel() > 0 and len(kept) < kept_most:
            kept.append(order[0])
            order = order[1:][overlaps(boxes[order[0]], boxes[order[1:]]) < 0.5]
        return boxes[torch.stack(kept)]

    return Work(step, batches(lambda: (normal(1, 128, side, side),)))


class Inverted(nn.Module):
    """An EfficientNet's block: widened, filtered channel by channel, channels weighed, narrowed."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        wide = 4 * inputs
        shapes = ((inputs, wide, 1, 1, 1), (wide, wide, 3, stride, wide), (wide, outputs, 1, 1, 1))
        convolutions = [nn.Conv2d(a, b, k, stride=s, padding=k // 2, groups=g, bias=False) for a, b, k, s, g in shapes]
        self.widen, self.filter, self.narrow = (nn.Sequential(c, nn.BatchNorm2d(c.out_channels)) for c in convolutions)
        self.squeeze, self.excite = nn.Conv2d(wide, inputs // 4, 1), nn.Conv2d(inputs // 4, wide, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = F.silu(self.filter(F.silu(self.widen(x))))
        weight = self.excite(F.silu(self.squeeze(F.adaptive_avg_pool2d(hidden, 1))))
        out = self.narrow(hidden * torch.sigmoid(weight))
        return x + out if out.shape == x.shape else out


@workload("twelfth")
def sorted_photographs() -> Work:
    """Photographs sorted by an EfficientNet, many at a time."""
    images, side, wide = (96, 192, 24) if ON_GPU else (2, 16, 8)
    stem = [nn.Conv2d(3, wide, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(wide), nn.SiLU()]
    shapes = ((1, 1, 1), (1, 2, 2), (2, 2, 1), (2, 4, 2), (4, 4, 1), (4, 8, 2), (8, 8, 1))
    blocks = [Inverted(a * wide, b * wide, stride) for a, b, stride in shapes]
    model = nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * wide, 1000))

    def photographs() -> Inputs:
        return (normal(images, 3, side, side, dtype=HALF).to(memory_format=torch.channels_last),)

    convert_conv2d_weight_memory_format(model, torch.channels_last)
    return Work(inference(model, HALF), batches(photographs))
