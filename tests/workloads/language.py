"""Steps of language models."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import Attention, plain
from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Work,
    batches,
    fused_adamw,
    inference,
    integers,
    momentum,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side

HALF = torch.bfloat16


@workload("fourth", "training")
def distilled_head() -> Work:
    """A language model's head trained on the softened predictions of a larger model, padding masked out."""

    def loss(model: nn.Module, hidden: torch.Tensor, teacher: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        student = (model(hidden).float() / 2.0).log_softmax(-1)
        wanted = (teacher.float() / 2.0).softmax(-1)
        each = F.kl_div(student, wanted, reduction="none").sum(-1)
        return (each * real).sum() / real.sum()

    step = training(nn.Linear(512, 32000, bias=False), loss, momentum, HALF)
    shapes = ((4096, 512), (4096, 32000))
    return Work(step, batches(lambda: (*(normal(*s, dtype=HALF) for s in shapes), integers(4, 4096).clamp(max=1)), 2))


@workload("fourth")
def packed_weights() -> Work:
    """The feed-forward layers of a large model, their weights of four bits unpacked and scaled in groups before use."""
    shapes = ((14336, 8192), (8192, 14336), (14336, 8192), (8192, 14336))
    packed = [integers(256, rows, columns // 2).to(torch.uint8) for rows, columns in shapes]
    scales = [normal(rows, columns // 128, dtype=HALF).abs() / 400 for rows, columns in shapes]

    def unpacked(pairs: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        values = torch.stack([pairs & 15, pairs >> 4], -1).flatten(1).to(HALF) - 8
        return (values.unflatten(1, (-1, 128)) * scale.unsqueeze(-1)).flatten(1)

    def step(x: torch.Tensor) -> torch.Tensor:
        for pairs, scale in zip(packed, scales, strict=True):
            x = x @ unpacked(pairs, scale).T
        return x

    return Work(step, batches(lambda: (normal(16, 8192, dtype=HALF),)))


class PagedLayer(nn.Module):
    """A decoder layer that keeps keys and values in pages, which a table assigns to the requests."""

    def __init__(self, width: int, heads: int, pages: int) -> None:
        super().__init__()
        self.heads, self.first, self.second = heads, nn.RMSNorm(width), nn.RMSNorm(width)
        self.project, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up, self.down = (nn.Linear(*s, bias=False) for s in [(width, 1024)] * 2 + [(1024, width)])
        self.pages: torch.Tensor
        self.register_buffer("pages", torch.randn(2, pages, 16, heads, width // heads))

    def forward(self, x: torch.Tensor, table: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        query, *fresh = self.project(self.first(x)).unflatten(-1, (3, self.heads, -1)).unbind(1)
        page = table.gather(1, at.unsqueeze(1) // 16).squeeze(1)
        self.pages[:, page, at % 16] = torch.stack(fresh)
        keys, values = self.pages[:, table].flatten(2, 3).transpose(2, 3).unbind(0)
        seen = (torch.arange(keys.shape[2], device=x.device) <= at.unsqueeze(1))[:, None, None]
        mixed = F.scaled_dot_product_attention(query.unsqueeze(2), keys, values, attn_mask=seen)
        x = x + self.out(mixed.flatten(1))
        hidden = self.second(x)
        return x + self.down(F.silu(self.gate(hidden)) * self.up(hidden))


@workload("fourth")
def paged_decoding() -> Work:
    """One token for each of several requests, whose keys and values lie in pages of one pool."""
    requests, blocks, width = 8, 12, 512
    layers = nn.ModuleList(PagedLayer(width, 8, requests * blocks) for _ in range(8)).to(DEVICE, HALF).eval()
    table = torch.randperm(requests * blocks).view(requests, blocks).to(DEVICE)

    def step(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            for layer in layers:
                x = layer(x, table, at)
            return x

    return Work(step, batches(lambda: (normal(requests, width, dtype=HALF), 100 + integers(80, requests))))


@workload("fifth")
def likely_words() -> Work:
    """The forty likeliest of many words after each of thousands of places."""
    words = normal(64_000, 4096, dtype=HALF) / 64

    def step(hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        best = (hidden @ words.T).topk(40)
        return best.values, best.indices

    return Work(step, batches(lambda: (normal(4096, 4096, dtype=HALF),)))


@workload("fifth", "training")
def long_documents() -> Work:
    """One attention layer fine-tuned on a document of many thousand words."""
    step = training(
        Attention(1024, 16, causal=True), lambda model, x, y: F.mse_loss(model(x), y), fused_adamw, torch.bfloat16
    )
    return Work(step, batches(lambda: (normal(1, 16384, 1024, dtype=HALF), normal(1, 16384, 1024, dtype=HALF))))


@workload("fifth", "blocked")
def packed_sentences() -> Work:
    """Sentences of different lengths, which the host knows, packed for the recurrent layers of the vendor's library."""
    recurrent = nn.GRU(128, 256, num_layers=2, batch_first=True).to(DEVICE).eval()

    def step(words: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            packed = nn.utils.rnn.pack_padded_sequence(words, length, batch_first=True, enforce_sorted=False)
            return recurrent(packed)[1][-1]

    return Work(step, batches(lambda: (normal(48, 90, 128), torch.randint(20, 91, (48,)))))


class Speaker(nn.Module):
    """A recurrent decoder that attends to its source by a small network, and says the likeliest word each time."""

    def __init__(self, width: int, words: int) -> None:
        super().__init__()
        self.words, self.read = nn.Embedding(words, width), nn.Linear(2 * width, words)
        self.cell, self.ask = nn.GRUCell(2 * width, width), nn.Linear(width, width)
        self.answer, self.weigh = nn.Linear(width, width, bias=False), nn.Linear(width, 1, bias=False)

    def forward(self, source: torch.Tensor) -> torch.Tensor:
        keys, state = self.answer(source), source.mean(1)
        word, said = torch.zeros(len(source), dtype=torch.long, device=source.device), []
        for _ in range(10):
            weight = self.weigh(torch.tanh(keys + self.ask(state).unsqueeze(1))).softmax(1)
            context = (weight * source).sum(1)
            state = self.cell(torch.cat([self.words(word), context], -1), state)
            word = self.read(torch.cat([state, context], -1)).argmax(-1)
            said.append(word)
        return torch.stack(said, 1)


@workload("fifth")
def attentive_translation() -> Work:
    """Ten words of a recurrent translator with additive attention, greedily."""
    return Work(inference(Speaker(256, 3000)), batches(lambda: (normal(12, 40, 256),)))


class Reading(nn.Module):
    """Attention that reads from the residual stream and writes to it, with neither norms nor biases."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.write = heads, nn.Linear(width, width, bias=False)
        self.reads = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [read(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for read in self.reads]
        mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
        return x + self.write(mixed.transpose(1, 2).flatten(2))


@workload("sixth", "training")
def attention_only() -> Work:
    """A language model of attention alone, small enough to be understood, trained in half precision."""
    layers = [Reading(256, 4) for _ in range(6)]
    model = nn.Sequential(nn.Embedding(512, 256), *layers, nn.Linear(256, 512, bias=False)).to(HALF)

    def loss(model: nn.Module, text: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())

    return Work(training(model, loss, fused_adamw), batches(lambda: (integers(512, 4, 129),)))


@workload("sixth", "streams", "blocked")
def rewarded_words() -> Work:
    """Rewards of drawn words less their price, how far a model has moved from its reference, which the host reads."""
    streams = [torch.cuda.Stream() for _ in range(2)]

    def judged(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logarithm = (scores.float() / 0.7).log_softmax(-1)
        return logarithm, -(logarithm.exp() * logarithm).sum(-1)

    def step(scores: torch.Tensor, reference: torch.Tensor, word: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        (own, surprise), (other, _) = side_by_side([partial(judged, scores), partial(judged, reference)], streams)
        moved = (own.exp() * (own - other)).sum(-1)
        price = 0.2 if moved.mean().item() > 0.05 else 0.1
        drawn = own.gather(-1, word.unsqueeze(-1)).squeeze(-1)
        return torch.stack([drawn, gain - price * moved + 0.01 * surprise])

    words, places = 50_304, 1024
    shapes = ((places, words), (places, words))
    return Work(
        step, batches(lambda: (*(normal(*s, dtype=HALF) for s in shapes), integers(words, places), normal(places)), 2)
    )


class Receptance(nn.Module):
    """A layer that mixes a word with the one before it, and with all before by a decaying average of their values."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.decay = nn.Parameter(torch.rand(5, width)), nn.Parameter(-torch.rand(width))
        self.bonus = nn.Parameter(torch.zeros(width))
        self.keys, self.values, self.gates, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)
        self.pass_on = nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor, kept: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        before, above, below, most, other = kept.unbind(0)
        seen = self.first(x)
        key, value, gate = (
            layer(torch.lerp(before, seen, mix))
            for layer, mix in zip((self.keys, self.values, self.gates), self.mix[:3], strict=True)
        )
        top = torch.maximum(most, self.bonus + key)
        old, new = torch.exp(most - top), torch.exp(self.bonus + key - top)
        x = x + self.out(torch.sigmoid(gate) * (old * above + new * value) / (old * below + new))
        top = torch.maximum(most + self.decay, key)
        old, new = torch.exp(most + self.decay - top), torch.exp(key - top)
        read = self.second(x)
        hidden = F.relu(self.wide(torch.lerp(other, read, self.mix[3]))).square()
        x = x + torch.sigmoid(self.pass_on(torch.lerp(other, read, self.mix[4]))) * self.narrow(hidden)
        return x, torch.stack([seen, old * above + new * value, old * below + new, top, read])


@workload("seventh", "blocked")
def receptance_decoding() -> Work:
    """One word of a language model without attention, its state carried over; the host looks whether it was the end."""
    width, depth = 512, 6
    layers, norm = nn.ModuleList(Receptance(width) for _ in range(depth)).to(DEVICE).eval(), nn.LayerNorm(width)
    table, norm = normal(8000, width) / width**0.5, norm.to(DEVICE)

    def step(word: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            x, after = table[word], []
            for layer, kept in zip(layers, state, strict=True):
                x, own = layer(x, kept)
                after.append(own)
            word, state = (norm(x) @ table.T).argmax(-1), torch.stack(after)
            if word.item() == 0:
                state = torch.zeros_like(state)
            return word, state

    return Work(step, batches(lambda: (integers(8000, 1), normal(depth, 5, 1, width).abs())))


@workload("seventh", "blocked")
def clipped_weights() -> Work:
    """A layer's weights brought to four bits, clipped where, of several places, the error the host reads is least."""
    shape, shares = (8192, 14336) if ON_GPU else (64, 128), (1.0, 0.92, 0.84, 0.76)

    def coded(weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return (weight.float() / scale).round().clamp(-8, 7)

    def error(weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return (coded(weight, scale) * scale - weight.float()).square().mean()

    def step(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        largest = weight.float().abs().amax(1, keepdim=True) / 7
        errors = torch.stack([error(weight, share * largest) for share in shares])
        best = shares[int(errors.argmin())]
        return coded(weight, best * largest).to(torch.int8), best * largest

    return Work(step, batches(lambda: (normal(*shape, dtype=HALF),), 3))


class SparseFeatures(nn.Module):
    """Activations of a language model explained by the few of many features that answer the most."""

    def __init__(self, width: int, features: int, kept: int) -> None:
        super().__init__()
        self.kept, self.shift = kept, nn.Parameter(torch.zeros(width))
        self.encode, self.decode = nn.Linear(width, features), nn.Linear(features, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        answer, place = self.encode(x - self.shift).topk(self.kept, -1)
        features = x.new_zeros(len(x), self.encode.out_features).scatter(-1, place, F.relu(answer))
        return self.decode(features) + self.shift


@workload("seventh", "training")
def sparse_features() -> Work:
    """A sparse autoencoder of a language model's activations trained in half precision, 32 features for each."""
    width, features, places = (4096, 16384, 4096) if ON_GPU else (64, 256, 32)
    model = SparseFeatures(width, features, 32).to(HALF)
    step = training(model, lambda model, x: F.mse_loss(model(x), x), fused_adamw)
    return Work(step, batches(lambda: (normal(places, width, dtype=HALF),)))


class Switched(nn.Module):
    """A feed-forward layer of many experts, each on a stream: a router sends every word to one, up to a number."""

    def __init__(self, width: int, experts: int, capacity: int) -> None:
        super().__init__()
        self.capacity, self.route = capacity, nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(plain(width, 2 * width, width) for _ in range(experts))
        self.streams = [torch.cuda.Stream() for _ in range(experts)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        words = self.route(x).T.topk(self.capacity, -1).indices
        tasks = [partial(expert, x[own]) for expert, own in zip(self.experts, words, strict=True)]
        return x.index_add(0, words.flatten(), torch.cat(side_by_side(tasks, self.streams)), alpha=0.5)


@workload("ninth", "streams")
def experts_beside() -> Work:
    """Words through three layers of six experts each, which run beside each other."""
    model = nn.Sequential(*[Switched(1024, 6, 96) for _ in range(3)])
    return Work(inference(model), batches(lambda: (normal(384, 1024),)))
