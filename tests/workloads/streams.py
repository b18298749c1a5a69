"""Steps whose work runs on several streams."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import Attention, Encoder, perceptron
from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Work,
    batches,
    inference,
    integers,
    momentum,
    normal,
    training,
    workload,
)

HALF = torch.bfloat16


def side_by_side(tasks: list[Callable[[], Any]], streams: list[torch.cuda.Stream]) -> list[Any]:
    """Run each task on a stream of its own, forked from the current one and joined to it."""
    main, results = torch.cuda.current_stream(), []
    for task, stream in zip(tasks, streams, strict=True):
        stream.wait_stream(main)
        with torch.cuda.stream(stream):
            results.append(task())
    for stream in streams:
        main.wait_stream(stream)
    return results


@workload("calibration", "streams")
def voting_ensemble() -> Work:
    """Four perceptrons side by side, their votes averaged."""
    models = [perceptron(256, 512, 512, 512, 10).to(DEVICE).eval() for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in models]

    def step(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            votes = side_by_side([lambda model=model: model(x).softmax(-1) for model in models], streams)
            return torch.stack(votes).mean(0)

    return Work(step, batches(lambda: (normal(64, 256),)))


@workload("calibration", "streams")
def overlapped_encoders() -> Work:
    """Two encoders of different depth on one input, each too small to fill the device."""
    models = [inference(nn.Sequential(*[Encoder(512, 8) for _ in range(depth)]), HALF) for depth in (6, 3)]
    streams = [torch.cuda.Stream() for _ in models]

    def step(x: torch.Tensor) -> torch.Tensor:
        return torch.cat(side_by_side([partial(model, x) for model in models], streams), -1)

    return Work(step, batches(lambda: (normal(8, 128, 512, dtype=HALF),)))


@workload("calibration", "streams")
def beside_reductions() -> Work:
    """A large product on one stream while statistics of another tensor stream through memory on a second."""
    weight, streams = normal(4096, 4096, dtype=HALF) / 64, [torch.cuda.Stream() for _ in range(2)]

    def statistics(x: torch.Tensor) -> torch.Tensor:
        return torch.stack([x.mean(0), x.var(0), x.amax(0)])

    def step(x: torch.Tensor, logged: torch.Tensor) -> list[torch.Tensor]:
        return side_by_side([lambda: F.relu(x @ weight) @ weight, lambda: statistics(logged)], streams)

    return Work(step, batches(lambda: (normal(4096, 4096, dtype=HALF), normal(16384, 4096))))


@workload("validation", "streams")
def inception_branches() -> Work:
    """Convolution branches of one block on streams of their own, block after block."""

    class Branch(nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.convolution, self.norm = nn.Conv2d(96, 32, size, padding=size // 2, bias=False), nn.BatchNorm2d(32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.relu(self.norm(self.convolution(x)))

    blocks = [[inference(Branch(size), HALF) for size in (1, 3, 5)] for _ in range(6)]
    streams = [torch.cuda.Stream() for _ in range(3)]

    def step(x: torch.Tensor) -> torch.Tensor:
        for block in blocks:
            x = torch.cat(side_by_side([partial(branch, x) for branch in block], streams), 1)
        return x

    return Work(step, batches(lambda: (normal(4, 96, 28, 28, dtype=HALF),)))


@workload("validation", "streams")
def half_batches() -> Work:
    """A batch in two halves, each through the same feed-forward layers on its own stream."""
    model = inference(perceptron(2048, 4096, 2048, 4096, 2048, activation=nn.GELU), HALF)
    streams = [torch.cuda.Stream() for _ in range(2)]

    def step(x: torch.Tensor) -> torch.Tensor:
        return torch.cat(side_by_side([partial(model, part) for part in x.chunk(2)], streams))

    return Work(step, batches(lambda: (normal(512, 2048, dtype=HALF),)))


@workload("validation", "streams")
def averaged_weights() -> Work:
    """Features computed while a moving average of the weights is updated beside them."""
    model = perceptron(512, 1024, 1024, 512).to(DEVICE).eval()
    average = [parameter.detach().clone() for parameter in model.parameters()]
    streams = [torch.cuda.Stream() for _ in range(2)]

    def update() -> None:
        for kept, parameter in zip(average, model.parameters(), strict=True):
            kept.lerp_(parameter, 0.01)

    def step(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return side_by_side([lambda: F.layer_norm(model(x), (512,)), update], streams)[0]

    return Work(step, batches(lambda: (normal(1024, 512),)))


@workload("unseen", "streams")
def sharded_search() -> Work:
    """The nearest vectors of an index in six shards, each searched on a stream of its own, then merged."""
    shards = [normal(20_000, 128) for _ in range(6)]
    streams = [torch.cuda.Stream() for _ in shards]

    def search(query: torch.Tensor, shard: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found = (query @ shard.T).topk(16)
        return found.values, found.indices

    def step(query: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        parts = side_by_side([partial(search, query, shard) for shard in shards], streams)
        best = torch.cat([values for values, _ in parts], 1).topk(16)
        return best.values, torch.cat([indices for _, indices in parts], 1).gather(1, best.indices)

    return Work(step, batches(lambda: (normal(32, 128),)))


@workload("unseen", "streams")
def paired_projections() -> Work:
    """Image and text tokens of a large batch through two projections each, side by side."""
    weights = [[normal(4096, 8192, dtype=HALF) / 64, normal(8192, 4096, dtype=HALF) / 90] for _ in range(2)]
    streams = [torch.cuda.Stream() for _ in weights]

    def project(x: torch.Tensor, pair: list[torch.Tensor]) -> torch.Tensor:
        return x @ pair[0] @ pair[1]

    def step(image: torch.Tensor, text: torch.Tensor) -> list[torch.Tensor]:
        return side_by_side([partial(project, image, weights[0]), partial(project, text, weights[1])], streams)

    return Work(step, batches(lambda: (normal(12288, 4096, dtype=HALF), normal(8192, 4096, dtype=HALF))))


@workload("unseen", "streams")
def offloaded_layers() -> Work:
    """Layers whose weights stay in pinned host memory; the next one is fetched while one is computed."""
    stored = [torch.empty(2048, 2048, dtype=HALF, pin_memory=ON_GPU).normal_(std=0.022) for _ in range(8)]
    buffers, copier = [normal(2048, 2048, dtype=HALF) for _ in range(2)], torch.cuda.Stream()

    def step(x: torch.Tensor) -> torch.Tensor:
        main, free = torch.cuda.current_stream(), [torch.cuda.Event() for _ in buffers]
        copier.wait_stream(main)
        for place, weight in enumerate(stored):
            buffer = buffers[place % 2]
            if place > 1:
                copier.wait_event(free[place % 2])
            with torch.cuda.stream(copier):
                buffer.copy_(weight, non_blocking=True)
            main.wait_stream(copier)
            x = F.relu(x @ buffer)
            free[place % 2].record(main)
        return x

    return Work(step, batches(lambda: (normal(1024, 2048, dtype=HALF),)))


@workload("unseen", "streams")
def flat_update() -> Work:
    """Adam written out over one flat buffer of parameters, beside statistics of the gradient on a second stream."""
    size = 48 << 20
    weight, first, second = normal(size), torch.zeros(size, device=DEVICE), torch.zeros(size, device=DEVICE)
    streams = [torch.cuda.Stream() for _ in range(2)]

    def update(gradient: torch.Tensor) -> torch.Tensor:
        decayed = gradient + 0.01 * weight
        first.mul_(0.9).add_(0.1 * decayed)
        second.mul_(0.999).add_(0.001 * decayed * decayed)
        return weight.sub_(1e-4 * (first / 0.9) / ((second / 0.99).sqrt() + 1e-8))

    def statistics(gradient: torch.Tensor) -> torch.Tensor:
        size = gradient.abs()
        return torch.stack([gradient.square().mean().sqrt(), size.amax(), (size < 1e-3).float().mean()])

    def step(gradient: torch.Tensor) -> torch.Tensor:
        return side_by_side([lambda: update(gradient), lambda: statistics(gradient)], streams)[1]

    return Work(step, batches(lambda: (normal(size),)))


class Modulated(nn.Module):
    """A transformer layer scaled and shifted by a condition."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width, elementwise_affine=False), Attention(width, heads)
        self.feed = perceptron(width, 4 * width, width, activation=nn.GELU)
        self.modulation = nn.Linear(width, 6 * width)

    def forward(self, x: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        shift, scale, gate, shift2, scale2, gate2 = self.modulation(F.silu(condition)).unsqueeze(1).chunk(6, -1)
        x = x + gate * self.attention(self.norm(x) * (1 + scale) + shift)
        return x + gate2 * self.feed(self.norm(x) * (1 + scale2) + shift2)


@workload("unseen", "streams")
def guided_transformer() -> Work:
    """A diffusion transformer with and without its condition side by side, combined by classifier-free guidance."""
    layers = nn.ModuleList(Modulated(384, 6) for _ in range(5)).to(DEVICE, HALF).eval()
    streams = [torch.cuda.Stream() for _ in range(2)]

    def denoise(x: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        for layer in layers:
            x = layer(x, condition)
        return x

    def step(x: torch.Tensor, time: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            free, led = side_by_side([partial(denoise, x, time), partial(denoise, x, time + label)], streams)
            return free + 4.0 * (led - free)

    shapes = ((1, 256, 384), (1, 384), (1, 384))
    return Work(step, batches(lambda: tuple(normal(*shape, dtype=HALF) for shape in shapes)))


class TwoRates(nn.Module):
    """Few frames through wide convolutions, all frames through narrow ones, on a stream each."""

    def __init__(self) -> None:
        super().__init__()
        self.slow, self.fast = self.path(3, 64, 64, 96), self.path(3, 8, 16, 16)
        self.read = nn.Linear(112, 50)
        self.streams = [torch.cuda.Stream() for _ in range(2)]

    @staticmethod
    def path(*channels: int) -> nn.Sequential:
        convolutions = [nn.Conv3d(a, b, 3, padding=1, bias=False) for a, b in pairwise(channels)]
        blocks = [(layer, nn.BatchNorm3d(layer.out_channels), nn.ReLU()) for layer in convolutions]
        return nn.Sequential(*[layer for block in blocks for layer in block])

    def forward(self, clip: torch.Tensor) -> torch.Tensor:
        paths = [(self.slow, clip[:, :, ::8]), (self.fast, clip)]
        tasks = [lambda path=path, seen=seen: path(seen).mean((2, 3, 4)) for path, seen in paths]
        return self.read(torch.cat(side_by_side(tasks, self.streams), -1))


@workload("third", "streams", "training")
def two_rate_video() -> Work:
    """A video classifier of two pathways trained, the pathways side by side."""
    step = training(TwoRates(), lambda model, clip, label: F.cross_entropy(model(clip), label), momentum)
    return Work(step, batches(lambda: (normal(4, 3, 16, 40, 40), integers(50, 4))))


@workload("third", "streams")
def local_and_global() -> Work:
    """Attention whose first heads look at short windows and whose others look at everything, a stream for each."""
    streams = [torch.cuda.Stream() for _ in range(2)]

    def near(*parts: torch.Tensor) -> torch.Tensor:
        windows = [part[:, :4].unflatten(2, (-1, 64)).flatten(1, 2) for part in parts]
        return F.scaled_dot_product_attention(*windows).view(parts[0][:, :4].shape)

    def far(*parts: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(*[part[:, 4:] for part in parts])

    def step(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        for _ in range(12):
            tasks = [partial(looks, query, key, value) for looks in (near, far)]
            query = torch.cat(side_by_side(tasks, streams), 1)
        return query

    return Work(step, batches(lambda: tuple(normal(2, 8, 512, 64, dtype=HALF) for _ in range(3))))


@workload("third", "streams")
def three_microphones() -> Work:
    """The sound of three microphones through recurrent layers of the vendor's library, each on its stream, averaged."""
    models = [inference(nn.GRU(40, 96, num_layers=2, batch_first=True)) for _ in range(3)]
    streams = [torch.cuda.Stream() for _ in models]

    def step(*sounds: torch.Tensor) -> torch.Tensor:
        tasks = [partial(model, sound) for model, sound in zip(models, sounds, strict=True)]
        return torch.stack([heard for heard, _ in side_by_side(tasks, streams)]).mean(0)

    return Work(step, batches(lambda: tuple(normal(16, 60, 40) for _ in models)))


@workload("third", "streams", "blocked")
def exported_features() -> Work:
    """Features of a large batch, part after part; a second stream takes each to the host, which waits for the last."""
    weights, copier = [normal(2048, 2048, dtype=HALF) / 45 for _ in range(2)], torch.cuda.Stream()

    def step(x: torch.Tensor) -> list[torch.Tensor]:
        features, exported = [], []
        for part in x.chunk(4):
            features.append(part @ weights[0] @ weights[1])
            copier.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(copier):
                exported.append(features[-1].to("cpu", non_blocking=True))
        copier.synchronize()
        return exported

    return Work(step, batches(lambda: (normal(16384, 2048, dtype=HALF),)))


@workload("fourth", "streams")
def sharded_layers() -> Work:
    """Linear layers cut into four shards, as over several devices: a stream computes each, then they meet."""
    shapes = ((1024, 512), (512, 512), (512, 256))
    layers = [[[normal(a, b, dtype=HALF) / a**0.5 for a, b in shapes] for _ in range(4)] for _ in range(6)]
    streams = [torch.cuda.Stream() for _ in range(4)]

    def shard(x: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
        for weight in weights:
            x = x @ weight
        return x

    def step(x: torch.Tensor) -> torch.Tensor:
        for layer in layers:
            x = torch.cat(side_by_side([partial(shard, x, weights) for weights in layer], streams), -1)
        return x

    return Work(step, batches(lambda: (normal(64, 1024, dtype=HALF),)))


@workload("eighth", "streams", "blocked")
def next_batch_beside() -> Work:
    """Texts encoded in full precision while a second stream brings the next ones from pinned memory."""
    width, rows = (1536, 8) if ON_GPU else (96, 2)
    model, copier = inference(nn.Sequential(Encoder(width, 12), Encoder(width, 12))), torch.cuda.Stream()

    def step(x: torch.Tensor, following: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        copier.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(copier):
            brought = following.to(DEVICE, non_blocking=True)
        out = model(x)
        torch.cuda.current_stream().wait_stream(copier)
        return out, brought

    return Work(step, batches(lambda: (normal(rows, 512, width), torch.randn(rows, 512, width, pin_memory=ON_GPU))))
