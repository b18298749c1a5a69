"""Steps that read texts: classifiers, encoders and what is trained on words."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.decoding import Scaled
from tests.workloads.layers import Attention, Encoder, perceptron
from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Inputs,
    Parameters,
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


def pieces(word: str, vocabulary: dict[str, int]) -> Iterator[int]:
    """The longest known pieces of a word, from its start."""
    start = 0
    while start < len(word):
        end = next(end for end in range(len(word), start, -1) if end - start == 1 or word[start:end] in vocabulary)
        yield vocabulary.get(word[start:end], 1)
        start = end


@torch.compiler.disable
def tokens(texts: torch.Tensor, vocabulary: dict[str, int], length: int) -> torch.Tensor:
    """Texts, a row of bytes each, as the numbers of their pieces, padded with zeros."""
    rows = []
    for text in texts.numpy():
        known = [piece for word in text.tobytes().decode().split() for piece in pieces(word, vocabulary)]
        rows.append((known + [0] * length)[:length])
    return torch.tensor(rows)


@workload("eighth", "blocked")
def tokenised_requests() -> Work:
    """Requests split into pieces of words by the host, then sorted into intents by a small network."""
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(1, 4))) for _ in range(4000)]
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys(words), 2)}
    table, read = nn.Embedding(5000, 128, padding_idx=0).to(DEVICE), perceptron(128, 128, 40).to(DEVICE)

    def asked() -> Inputs:
        rows = [" ".join("".join(draw.choices(words, k=3)) for _ in range(60)).encode()[:500] for _ in range(12)]
        return (torch.tensor([list(row.ljust(500)) for row in rows], dtype=torch.uint8),)

    def step(texts: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            number = tokens(texts, vocabulary, 128).to(DEVICE)
            real = (number > 0).unsqueeze(-1)
            return read((table(number) * real).sum(1) / real.sum(1)).softmax(-1).cpu()

    return Work(step, batches(asked))


def fused_momentum(parameters: Parameters) -> torch.optim.Optimizer:
    """Stochastic gradient descent with momentum in one kernel."""
    return torch.optim.SGD(parameters, lr=1e-2, momentum=0.9, fused=True)


@workload("eighth", "training")
def hashed_words() -> Work:
    """A linear classifier of texts trained over a large table of hashed pairs of words."""
    table, texts = (4_000_000, 32_768) if ON_GPU else (5000, 64)
    model = nn.Sequential(nn.EmbeddingBag(table, 64), nn.Linear(64, 200))
    step = training(model, lambda model, pairs, label: F.cross_entropy(model(pairs), label), fused_momentum)
    return Work(step, batches(lambda: (integers(table, texts, 64), integers(200, texts))))


class AfterNorm(nn.Module):
    """A transformer layer whose norms come after its sums."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention, self.first, self.second = Attention(width, heads), nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = perceptron(width, 4 * width, width, activation=nn.GELU)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x + self.attention(x))
        return self.second(x + self.feed(x))


class HiddenWords(nn.Module):
    """An encoder that guesses hidden words, its table of words used at both ends."""

    def __init__(self, words: int, width: int, length: int, depth: int) -> None:
        super().__init__()
        self.words, self.places, self.norm = (
            nn.Embedding(words, width),
            nn.Embedding(length, width),
            nn.LayerNorm(width),
        )
        self.layers = nn.Sequential(*[AfterNorm(width, 12) for _ in range(depth)])
        self.leave = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.bias = nn.Parameter(torch.zeros(words))
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.words(text) + self.places.weight)
        return F.linear(self.leave(self.layers(x)), self.words.weight, self.bias)


@workload("eighth", "training")
def masked_words() -> Work:
    """An encoder of texts trained to guess hidden words, under automatic mixed precision."""
    words, width, length, texts = (30_522, 768, 512, 16) if ON_GPU else (300, 48, 16, 2)

    def loss(model: nn.Module, text: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(text).flatten(0, 1), hidden.flatten())

    def masked() -> Inputs:
        text, chosen = integers(words, texts, length), integers(100, texts, length) < 15
        return text.masked_fill(chosen, 3), text.masked_fill(~chosen, -100)

    step = training(HiddenWords(words, width, length, 2), loss, fused_adamw, HALF)
    return Work(step, batches(masked))


class Related(nn.Module):
    """Attention, of a text to itself or to another, with learned biases for distances."""

    def __init__(self, width: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal, self.near = heads, causal, nn.Embedding(32, heads)
        self.norm, self.out = Scaled(width), nn.Linear(width, width, bias=False)
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))

    def forward(self, x: torch.Tensor, other: torch.Tensor | None = None) -> torch.Tensor:
        seen = self.norm(x)
        source = seen if other is None else other
        asked = ((self.query, seen), (self.key, source), (self.value, source))
        query, key, value = (layer(part).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer, part in asked)
        scores = query @ key.transpose(-2, -1) / 8
        if other is None:
            at = torch.arange(x.shape[1], device=x.device)
            apart = at.unsqueeze(0) - at.unsqueeze(1)
            scores = scores + self.near(apart.clamp(-15, 16) + 15).permute(2, 0, 1)
            scores = scores.masked_fill(apart > 0, -1e4) if self.causal else scores
        mixed = scores.float().softmax(-1).to(x.dtype) @ value
        return x + self.out(mixed.transpose(1, 2).flatten(2))


class Feed(nn.Module):
    """The gated feed-forward part of a layer, with its norm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.down = Scaled(width), nn.Linear(2 * width, width, bias=False)
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = self.norm(x)
        return x + self.down(F.gelu(self.gate(seen), approximate="tanh") * self.up(seen))


class Rewriter(nn.Module):
    """A text encoded, and another decoded that looks at it."""

    def __init__(self, words: int, width: int, depth: int) -> None:
        super().__init__()
        self.words, self.norm, self.last = nn.Embedding(words, width), Scaled(width), Scaled(width)
        self.encode = nn.Sequential(*[part for _ in range(depth) for part in (Related(width, 4), Feed(width))])
        layer = (lambda: Related(width, 4, causal=True), lambda: Related(width, 4), lambda: Feed(width))
        self.decode = nn.ModuleList(nn.ModuleList(part() for part in layer) for _ in range(depth))

    def forward(self, text: torch.Tensor, written: torch.Tensor) -> torch.Tensor:
        source, x = self.norm(self.encode(self.words(text))), self.words(written)
        for own, cross, feed in self.decode:
            x = feed(cross(own(x), source))
        return self.last(x) @ self.words.weight.T / 16


@workload("eighth")
def summarised_texts() -> Work:
    """Two texts and the starts of their summaries through an encoder and a decoder with biases for distances."""
    model = inference(Rewriter(4000, 256, 3), HALF)
    return Work(model, batches(lambda: (integers(4000, 2, 96), integers(4000, 2, 24))))


@workload("eighth", "training")
def upper_layers() -> Work:
    """The upper layers of a sentence classifier fine-tuned, clipped, with a moving average of their weights kept."""
    words, lower = nn.Embedding(8000, 256).to(DEVICE), nn.Sequential(Encoder(256, 4), Encoder(256, 4)).to(DEVICE)
    upper, read = nn.Sequential(Encoder(256, 4), Encoder(256, 4)).to(DEVICE), perceptron(256, 256, 3).to(DEVICE)
    trained = [*upper.parameters(), *read.parameters()]
    optimizer, average = adamw(trained), [parameter.detach().clone() for parameter in trained]

    def step(text: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE, dtype=HALF):
            with torch.no_grad():
                x = lower(words(text))
            loss = F.cross_entropy(read(upper(x).mean(1)), label, label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        torch._foreach_lerp_(average, [parameter.detach() for parameter in trained], 0.01)
        return loss.detach()

    return Work(step, batches(lambda: (integers(8000, 8, 128), integers(3, 8))))


class Sentences(nn.Module):
    """Sentences as directions: the library's transformer encoder, and the mean over the words that are there."""

    def __init__(self, words: int, width: int, length: int, depth: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.randn(length, width) / 8)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, 0.0, F.gelu, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, nn.LayerNorm(width), enable_nested_tensor=False)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        absent = text == 0
        x = self.encoder(self.words(text) + self.places, src_key_padding_mask=absent)
        there = (~absent).unsqueeze(-1).float()
        return F.normalize((x * there).sum(1) / there.sum(1), dim=-1)


@workload("tenth", "training")
def paired_sentences() -> Work:
    """An encoder of sentences trained so that a sentence is nearer to one that means the same than to another."""
    length = 24

    def loss(model: nn.Module, text: torch.Tensor) -> torch.Tensor:
        return F.triplet_margin_loss(*model(text).chunk(3), margin=0.5)

    def triples() -> Inputs:
        text, size = 1 + integers(7999, 48, length), 6 + integers(length - 6, 48, 1)
        return (text.masked_fill(torch.arange(length, device=DEVICE) >= size, 0),)

    return Work(training(Sentences(8000, 128, length, 3), loss, fused_adamw), batches(triples))


@workload("tenth", "blocked")
def answered_question() -> Work:
    """Where in a passage the answer to a question stands, unless the host finds that there is none."""
    words, width, length = 8000, 256, 160
    layers = [AfterNorm(width, 4) for _ in range(10)]
    model = nn.Sequential(nn.Embedding(words, width), *layers, nn.Linear(width, 2)).to(DEVICE, HALF).eval()
    places = torch.arange(length, device=DEVICE)
    apart = places - places.unsqueeze(1)
    allowed = (apart >= 0) & (apart < 24)

    def step(text: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            begin, end = model(text).float().unbind(-1)
            spans = (begin.unsqueeze(2) + end.unsqueeze(1)).masked_fill(~allowed, -50.0).flatten(1)
            sure = spans.softmax(-1).amax(-1)
            if sure.max().item() < 1e-6:
                return torch.zeros_like(spans)
            return spans

    return Work(step, batches(lambda: (integers(words, 2, length),)))


class Drafting(nn.Module):
    """A head that guesses a word further on: a few residual layers, and the scores of words."""

    def __init__(self, width: int, depth: int, words: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))
        self.read = nn.Linear(width, words, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = x + F.relu(layer(x))
        return self.read(x)


@workload("tenth", "streams")
def drafting_heads() -> Work:
    """Six heads that each guess one of the next six words from the same last state, a stream for each."""
    heads = [inference(Drafting(1024, 5, 2048), HALF) for _ in range(6)]
    streams = [torch.cuda.Stream() for _ in heads]

    def step(state: torch.Tensor) -> torch.Tensor:
        return torch.stack(side_by_side([partial(head, state) for head in heads], streams), 1)

    return Work(step, batches(lambda: (normal(48, 1024, dtype=HALF),)))
