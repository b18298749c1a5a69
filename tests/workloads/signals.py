"""Steps on signals: pictures, depths, voices, prices and what is tracked or simulated."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.perception import by_channel
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

HALF = torch.float16


def convolutions(*channels: int) -> nn.Sequential:
    """Convolutions without biases, cut at zero between them, that keep the size of what they see."""
    layers = [nn.Conv2d(a, b, 3, padding=1, bias=False) for a, b in pairwise(channels)]
    for layer in layers:
        nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
    return nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU())][:-1])


class Frequencies(nn.Module):
    """Channels filtered by learned weights of their frequencies, then mixed place by place."""

    def __init__(self, channels: int, side: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels, side, side // 2 + 1, dtype=torch.complex64))
        self.mix = nn.Conv2d(channels, channels, 1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft2(x, norm="ortho") * self.weight
        return self.mix(torch.fft.irfft2(spectrum, s=x.shape[-2:], norm="ortho"))


@workload("thirteenth")
def filtered_frequencies() -> Work:
    """A periodic field through layers that filter its frequencies, with nothing but a cut at zero between them."""
    layers = [part for _ in range(10) for part in (Frequencies(24, 64), nn.ReLU())]
    model = nn.Sequential(*layers[:-1]).to(DEVICE).eval()

    def step(field: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return model(field)

    return Work(step, batches(lambda: (normal(2, 24, 64, 64),)))


@workload("thirteenth", "training")
def denoised_patches() -> Work:
    """A plain convolutional denoiser trained on a few small patches to find the noise in them."""
    side, model = 40 if ON_GPU else 12, convolutions(3, *[48] * 14, 3)
    step = training(model, lambda model, noisy, noise: F.mse_loss(model(noisy), noise), fused_adamw)
    return Work(step, batches(lambda: (normal(4, 3, side, side), 0.1 * normal(4, 3, side, side))))


@workload("thirteenth", "streams")
def matched_stereo() -> Work:
    """Both pictures of a stereo camera through the same convolutions, side by side, and every match along the rows."""
    high, wide = (80, 128) if ON_GPU else (8, 16)
    model = inference(convolutions(4, *[48] * 12).to(memory_format=torch.channels_last), HALF)
    streams = [torch.cuda.Stream() for _ in range(2)]

    def step(left: torch.Tensor, right: torch.Tensor) -> list[torch.Tensor]:
        rows = [part.permute(0, 2, 3, 1) for part in side_by_side([partial(model, x) for x in (left, right)], streams)]
        levels = [rows[0] @ rows[1].transpose(2, 3)]
        for _ in range(3):
            levels.append(F.avg_pool2d(levels[-1], (1, 2)))
        return levels

    return Work(step, batches(lambda: tuple(by_channel(normal(1, 4, high, wide, dtype=HALF)) for _ in range(2))))


class Dilated(nn.Module):
    """Dilated convolutions around shortcuts, as voices are made of."""

    def __init__(self, channels: int, size: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv1d(channels, channels, size, dilation=apart, padding=apart * (size // 2)) for apart in (1, 3, 5)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = x + layer(F.leaky_relu(x, 0.1))
        return x


class Voice(nn.Module):
    """A spectrum made into sound: transposed convolutions, each followed by dilated ones of two sizes."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.enter, rates = nn.Conv1d(80, channels, 7, padding=3), (8, 8, 2, 2)
        widths = [channels >> place for place in range(len(rates) + 1)]
        self.larger = nn.ModuleList(
            nn.ConvTranspose1d(a, b, 2 * rate, stride=rate, padding=rate // 2)
            for (a, b), rate in zip(pairwise(widths), rates, strict=True)
        )
        self.short, self.long = (nn.ModuleList(Dilated(width, size) for width in widths[1:]) for size in (3, 7))
        self.leave = nn.Conv1d(widths[-1], 1, 7, padding=3)

    def forward(self, spectrum: torch.Tensor) -> torch.Tensor:
        x = self.enter(spectrum)
        for larger, short, long in zip(self.larger, self.short, self.long, strict=True):
            x = larger(F.leaky_relu(x, 0.1))
            x = (short(x) + long(x)) / 2
        return torch.tanh(self.leave(F.leaky_relu(x)))


@workload("thirteenth")
def voiced_frames() -> Work:
    """A third of a second of a voice made from its spectrum."""
    return Work(inference(Voice(128)), batches(lambda: (normal(1, 80, 32),)))


def filtered(
    seen: torch.Tensor, move: torch.Tensor, drift: torch.Tensor, blur: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Where things are by a Kalman filter over their sightings, and how likely those were."""
    place = F.pad(seen[:, 0], (0, 2)).unsqueeze(-1)
    spread = 4 * torch.eye(4, device=seen.device).expand(len(seen), 4, 4)
    likely = torch.zeros_like(seen[:, 0, 0])
    for at in range(1, seen.shape[1]):
        place, spread = move @ place, move @ spread @ move.T + drift
        error, total = seen[:, at].unsqueeze(-1) - place[:, :2], spread[:, :2, :2] + blur
        (a, b), (c, d) = (row.unbind(-1) for row in total.unbind(-2))
        size = a * d - b * c
        inverse = torch.stack([d, -b, -c, a], -1).view(-1, 2, 2) / size[:, None, None]
        gain = spread[:, :, :2] @ inverse
        likely = likely - 0.5 * ((error.transpose(1, 2) @ inverse @ error).flatten() + size.log())
        place, spread = place + gain @ error, spread - gain @ spread[:, :2]
    return place.squeeze(-1), likely


@workload("thirteenth", "streams")
def tracked_vehicles() -> Work:
    """Vehicles tracked under three ideas of how they move, a stream for each, weighed by how well each explains."""
    vehicles, length = (512, 10) if ON_GPU else (4, 4)
    coast = torch.eye(4, device=DEVICE) + 0.1 * torch.eye(4, device=DEVICE).roll(2, 1).triu()
    left, right = coast.clone(), coast.clone()
    left[2, 3], left[3, 2], right[2, 3], right[3, 2] = -0.1, 0.1, 0.1, -0.1
    drift, blur = 0.01 * torch.eye(4, device=DEVICE), 0.1 * torch.eye(2, device=DEVICE)
    streams = [torch.cuda.Stream() for _ in range(3)]

    def step(seen: torch.Tensor) -> torch.Tensor:
        tasks = [partial(filtered, seen, move, drift, blur) for move in (coast, left, right)]
        places, likely = (torch.stack(parts, 1) for parts in zip(*side_by_side(tasks, streams), strict=True))
        return (places * likely.softmax(1).unsqueeze(-1)).sum(1)

    return Work(step, batches(lambda: (0.1 * normal(vehicles, length, 2).cumsum(1),)))


class Rod(nn.Module):
    """A temperature by place and time, with how fast it changes in time and how it bends in place."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.enter = nn.Linear(2, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.leave = nn.Linear(width, 1)

    def forward(self, point: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        value, (slope, rate) = self.enter(point), self.enter.weight.T.unsqueeze(1).unbind(0)
        bend = torch.zeros_like(value)
        for layer in [*self.layers, self.leave]:
            value = torch.tanh(value)
            steep = 1 - value.square()
            bend = steep * bend - 2 * value * steep * slope.square()
            slope, rate = steep * slope, steep * rate
            value = layer(value)
            slope, rate, bend = (part @ layer.weight.T for part in (slope, rate, bend))
        return value, rate, bend


@workload("thirteenth", "training")
def heated_rod() -> Work:
    """A physics-informed network of the heat equation trained within the rod, at its start and at its ends."""
    inner, edge = (2048, 256) if ON_GPU else (16, 4)

    def loss(model: nn.Module, point: torch.Tensor, start: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
        _, rate, bend = model(point)
        first, last = model(start)[0], model(end)[0]
        wrong = first - torch.sin(torch.pi * start[:, :1])
        return (rate - 0.1 * bend).square().mean() + 10 * (wrong.square().mean() + last.square().mean())

    def batch() -> Inputs:
        point, start, end = (torch.rand(count, 2, device=DEVICE) for count in (inner, edge, edge))
        return point, start * start.new_tensor([1.0, 0.0]), torch.cat([(end[:, :1] > 0.5).float(), end[:, 1:]], 1)

    return Work(training(Rod(64, 5), loss, adamw), batches(batch))


@workload("thirteenth")
def priced_asian() -> Work:
    """An option on a mean price by paths under a variance that moves by itself, corrected by its geometric mean."""
    paths, dates = (8 << 20, 16) if ON_GPU else (64, 16)

    def step(luck: torch.Tensor) -> torch.Tensor:
        price, variance = torch.zeros_like(luck[0, 0]), torch.full_like(luck[0, 0], 0.04)
        mean, geometric = torch.zeros_like(price), torch.zeros_like(price)
        for at in range(dates):
            swing = (variance.clamp(min=0.0) / dates).sqrt()
            price = price + (0.02 - 0.5 * variance.clamp(min=0.0)) / dates + swing * luck[at, 0]
            turn = -0.7 * luck[at, 0] + 0.714 * luck[at, 1]
            variance = variance + 1.5 * (0.04 - variance.clamp(min=0.0)) / dates + 0.3 * swing * turn
            mean, geometric = mean + price.exp() / dates, geometric + price / dates
        gain, beside = (mean - 1).clamp(min=0.0), (geometric.exp() - 1).clamp(min=0.0)
        apart, other = gain - gain.mean(), beside - beside.mean()
        slope = (apart * other).mean() / other.square().mean()
        corrected = gain - slope * (beside - 0.045)
        return torch.stack([corrected.mean(), corrected.std()])

    return Work(step, batches(lambda: (normal(dates, 2, paths),), 3))


@workload("thirteenth", "blocked")
def levelled_depths() -> Work:
    """Depth pictures smoothed where they are even, and as points of space the places that face upwards."""
    pictures, high, wide = (20, 720, 1280) if ON_GPU else (2, 12, 16)
    across = (torch.arange(wide, device=DEVICE) - wide / 2) / wide
    down = ((torch.arange(high, device=DEVICE) - high / 2) / wide).unsqueeze(1)

    def change(x: torch.Tensor, axis: int) -> torch.Tensor:
        return 0.5 * (x.roll(-1, axis) - x.roll(1, axis))

    def smoothed(depth: torch.Tensor) -> torch.Tensor:
        total, weight = depth, torch.ones_like(depth)
        for axis in (-1, -2):
            for shift in (-1, 1):
                beside = depth.roll(shift, axis)
                alike = torch.exp(-((beside - depth) / 0.1).square())
                total, weight = total + alike * beside, weight + alike
        return total / weight

    def step(depth: torch.Tensor) -> torch.Tensor:
        depth = smoothed(depth)
        point = (depth * across, depth * down, depth)
        (a, b, c), (d, e, f) = ([change(part, axis) for part in point] for axis in (-1, -2))
        normal_to = (b * f - c * e, c * d - a * f, a * e - b * d)
        size = normal_to[0].square() + normal_to[1].square() + normal_to[2].square()
        upright = normal_to[1].abs() * torch.rsqrt(size + 1e-12)
        kept = (upright > 0.95) & (depth > 0.3) & (depth < 8.0)
        return torch.stack([part[kept] for part in point], -1)

    return Work(step, batches(lambda: (2 + normal(pictures, high, wide).abs(),)))


class Spoken(nn.Module):
    """How likely each sentence is, word after word, by the library's recurrent layers."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words, self.read = nn.Embedding(words, width), nn.Linear(width, words)
        self.recurrent = nn.LSTM(width, width, num_layers=2, batch_first=True)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        chance = self.read(self.recurrent(self.words(text[:, :-1]))[0]).log_softmax(-1)
        return chance.gather(-1, text[:, 1:].unsqueeze(-1)).squeeze(-1)


@workload("thirteenth", "blocked")
def rescored_hypotheses() -> Work:
    """What a recogniser may have heard, scored by a recurrent language model; the host takes the best, cut to size."""
    likely = inference(Spoken(4000, 512))

    def step(text: torch.Tensor, length: torch.Tensor, heard: torch.Tensor) -> torch.Tensor:
        there = torch.arange(text.shape[1] - 1, device=text.device) < length.unsqueeze(1)
        score = heard + 0.5 * (likely(text) * there).sum(1) / length
        best = int(score.argmax().item())
        return text[best, : int(length[best].item())]

    return Work(step, batches(lambda: (integers(4000, 16, 48), 10 + integers(30, 16), normal(16))))
