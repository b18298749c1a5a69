"""Steps on pictures: taken, measured, watched, followed, cleaned of noise and learnt from."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import Attention, Encoder
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

HALF = torch.bfloat16


@workload("fourteenth")
def coil_images() -> Work:
    """Slices of a magnetic resonance scan as each of sixteen coils saw them, from what was recorded of their waves."""
    slices, coils, side = (64, 16, 320) if ON_GPU else (2, 2, 16)

    def step(recorded: torch.Tensor) -> torch.Tensor:
        return torch.fft.ifft2(recorded, norm="backward")

    return Work(step, batches(lambda: (normal(slices, coils, side, side, dtype=torch.complex64),), 2))


@workload("fourteenth")
def perceived_videos() -> Work:
    """A few thousand summaries that look at every patch of long videos, their keys and values computed before."""
    videos, heads, summaries, patches, size = (4, 8, 4096, 65_536, 64) if ON_GPU else (2, 2, 8, 32, 16)
    query = normal(videos, heads, summaries, size, dtype=HALF)

    def step(key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(query, key, value)

    return Work(step, batches(lambda: tuple(normal(videos, heads, patches, size, dtype=HALF) for _ in range(2)), 2))


@workload("fourteenth")
def wavelet_bands() -> Work:
    """Photographs split into wavelet bands six times over and put together again without the finest."""
    tap = torch.tensor([0.483, 0.8365, 0.2241, -0.1294], device=DEVICE)
    pair = torch.stack([tap, tap.flip(0) * torch.tensor([1.0, -1.0, 1.0, -1.0], device=DEVICE)])
    filters = (pair[:, None, :, None] * pair[None, :, None, :]).reshape(4, 1, 4, 4).contiguous()

    def step(photograph: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        low: torch.Tensor = photograph
        bands: list[torch.Tensor] = []
        for _ in range(6):
            parts = F.conv2d(low, filters, stride=2, padding=1)
            low = parts[:, :1]
            bands.append(parts[:, 1:])
        for band in bands[:0:-1]:
            low = F.conv_transpose2d(torch.cat([low, band], 1), filters, stride=2, padding=1)
        return F.conv_transpose2d(low, filters[:1], stride=2, padding=1), bands

    return Work(step, batches(lambda: (normal(6, 1, 256, 256),)))


def painted(picture: torch.Tensor, usual: torch.Tensor) -> torch.Tensor:
    """Bytes (frames, 3, height, width) as linear light, by the usual mean and spread (2, 3, 1, 1) of its colours."""
    light = (picture.float() / 255).clamp(min=1e-3) ** 2.2
    return ((light - usual[0]) / usual[1]).to(HALF)


def normals(depth: torch.Tensor) -> torch.Tensor:
    """Directions (frames, 3, height - 1, width - 1) in which surfaces face, from depths (frames, height, width)."""
    height, width = depth.shape[-2:]
    along = (torch.arange(width, device=depth.device) - width / 2) / width
    down = (torch.arange(height, device=depth.device) - height / 2).unsqueeze(1) / width
    place = (along * depth, down * depth, depth)
    right = [p[:, :-1, 1:] - p[:, :-1, :-1] for p in place]
    below = [p[:, 1:, :-1] - p[:, :-1, :-1] for p in place]
    turned = [right[(i + 1) % 3] * below[(i + 2) % 3] - right[(i + 2) % 3] * below[(i + 1) % 3] for i in range(3)]
    size = (turned[0].square() + turned[1].square() + turned[2].square() + 1e-12).sqrt()
    return torch.stack([part / size for part in turned], 1)


@workload("fourteenth", "streams")
def surface_normals() -> Work:
    """Frames of a depth camera prepared: colours on one stream, on another the directions in which surfaces face."""
    frames, height, width = (48, 720, 1280) if ON_GPU else (2, 8, 12)
    streams = [torch.cuda.Stream() for _ in range(2)]
    usual = torch.tensor([[0.21, 0.18, 0.15], [0.2, 0.2, 0.2]], device=DEVICE).view(2, 3, 1, 1)

    def step(picture: torch.Tensor, depth: torch.Tensor) -> list[torch.Tensor]:
        return side_by_side([partial(painted, picture, usual), partial(normals, depth)], streams)

    def batch() -> Inputs:
        return integers(256, frames, 3, height, width).to(torch.uint8), 1 + normal(frames, height, width).abs()

    return Work(step, batches(batch, 3))


@workload("fourteenth", "blocked")
def watched_cameras() -> Work:
    """What moves before thirty cameras, told from a background that adapts; the host asks whether the light changed."""
    cameras, height, width = (30, 1080, 1920) if ON_GPU else (2, 8, 12)

    def step(frame: torch.Tensor, mean: torch.Tensor, spread: torch.Tensor) -> tuple[torch.Tensor, ...]:
        red, green, blue = (frame.float() / 255).unbind(1)
        grey = 0.299 * red + 0.587 * green + 0.114 * blue
        away = grey - mean
        moving = away.square() > 6.25 * spread
        rate = torch.where(moving, 0.001, 0.02)
        background = mean + rate * away
        usual = (spread + rate * (away.square() - spread)).clamp(min=1e-4)
        if moving.float().mean().item() > 0.9:
            return grey, spread, moving
        return background, usual, moving

    def batch() -> Inputs:
        size = cameras, height, width
        frame = torch.randint(0, 256, (cameras, 3, height, width), device=DEVICE, dtype=torch.uint8)
        return frame, 0.5 + 0.1 * normal(*size), 0.02 + 0.01 * normal(*size).abs()

    return Work(step, batches(batch, 2))


class Modulated(nn.Module):
    """A transformer layer whose norms are shifted, scaled and gated by how noisy its picture is."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention, self.ask = Attention(width, heads), nn.Linear(width, 6 * width)
        self.norms = nn.ModuleList(nn.LayerNorm(width, elementwise_affine=False) for _ in range(2))
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
        parts = self.ask(F.silu(level)).unsqueeze(1).chunk(6, -1)
        x = x + parts[2] * self.attention(self.norms[0](x) * (1 + parts[1]) + parts[0])
        return x + parts[5] * self.feed(self.norms[1](x) * (1 + parts[4]) + parts[3])


class Denoiser(nn.Module):
    """The noise in latent patches, by a diffusion transformer."""

    def __init__(self, size: int, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(size, width), nn.Linear(width, size)
        self.level = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width))
        self.layers = nn.ModuleList(Modulated(width, heads) for _ in range(depth))

    def forward(self, noisy: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
        x, about = self.enter(noisy), self.level(level)
        for layer in self.layers:
            x = layer(x, about)
        return self.leave(x)


@workload("fourteenth", "training")
def learned_denoising() -> Work:
    """A diffusion transformer that learns to tell noise from pictures, in mixed precision."""
    pictures, patches, width, depth = (32, 1024, 384, 4) if ON_GPU else (2, 8, 64, 2)

    def loss(model: nn.Module, clean: torch.Tensor, noise: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
        share = level.unsqueeze(-1)
        noisy = share * clean + (1 - share.square()).sqrt() * noise
        return F.mse_loss(model(noisy, level).float(), noise)

    def batch() -> Inputs:
        return normal(pictures, patches, 32), normal(pictures, patches, 32), torch.rand(pictures, 1, device=DEVICE)

    return Work(training(Denoiser(32, width, width // 64, depth), loss, fused_adamw, HALF), batches(batch))


class Patched(nn.Module):
    """Scores of a small picture's classes, by a transformer over its patches."""

    def __init__(self, width: int, depth: int, classes: int) -> None:
        super().__init__()
        self.patch, self.places = nn.Conv2d(3, width, 4, stride=4), nn.Parameter(torch.randn(64, width) / 50)
        self.body = nn.Sequential(*[Encoder(width, 4) for _ in range(depth)], nn.LayerNorm(width))
        self.say = nn.Linear(width, classes)

    def forward(self, picture: torch.Tensor) -> torch.Tensor:
        x = self.patch(picture).flatten(2).transpose(1, 2) + self.places
        return self.say(self.body(x).mean(1))


@workload("fourteenth", "training")
def small_pictures() -> Work:
    """A small vision transformer trained on pictures of 32 by 32 pixels."""

    def loss(model: nn.Module, picture: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(picture), label, label_smoothing=0.1)

    step = training(Patched(128, 8, 10), loss, adamw)
    return Work(step, batches(lambda: (normal(16, 3, 32, 32), integers(10, 16))))


def located(heat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Where points lie (points, 2), in shares of the picture, and how far it spreads, from (points, height, width)."""
    chance = (4 * heat).flatten(1).softmax(-1).view_as(heat)
    places: list[torch.Tensor] = []
    spreads: list[torch.Tensor] = []
    for kept, summed in ((2, 1), (1, 2)):
        along = (torch.arange(heat.shape[kept], device=heat.device) + 0.5) / heat.shape[kept]
        share = chance.sum(summed)
        place = (share * along).sum(-1)
        places.append(place)
        spreads.append(((share * along.square()).sum(-1) - place.square()).clamp(min=0))
    return torch.stack(places, -1), torch.stack(spreads, -1).sum(-1, keepdim=True).sqrt()


def followed(heat: torch.Tensor, before: torch.Tensor, speed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Places and speeds of points, smoothed the less the faster they move (the One Euro filter, at 30 Hz)."""
    place, spread = located(heat)
    speed = speed + 0.17 * (30 * (place - before) - speed)
    limit = (1 + 0.7 * speed.abs()) / (1 + 10 * spread)
    weight = 1 / (1 + 30 / (2 * torch.pi * limit))
    return before + weight * (place - before), speed


@workload("fourteenth", "streams")
def followed_keypoints() -> Work:
    """Points of a body, two hands and a face followed from frame to frame, a stream for each of the four."""
    points = (17, 21, 21, 68)
    streams = [torch.cuda.Stream() for _ in points]

    def step(before: torch.Tensor, speed: torch.Tensor, *heats: torch.Tensor) -> list[torch.Tensor]:
        parts = zip(heats, before.split(points), speed.split(points), strict=True)
        found = side_by_side([partial(followed, *part) for part in parts], streams)
        return [torch.cat(kind) for kind in zip(*found, strict=True)]

    def batch() -> Inputs:
        heats = (normal(count, 64, 48) for count in points)
        return 0.5 + 0.1 * normal(sum(points), 2), normal(sum(points), 2), *heats

    return Work(step, batches(batch))
