"""Steps on skies: exposures, spectra, variable stars, galaxies, radio antennas, gravitational waves and showers."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import perceptron
from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Inputs,
    Work,
    batches,
    inference,
    momentum,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side


@workload("seventeenth")
def sky_backgrounds() -> Work:
    """How bright the sky itself is in every tile of a survey's exposures: the median of the tile's pixels."""
    tiles, pixels = (32_768, 4096) if ON_GPU else (12, 16)

    def step(tile: torch.Tensor) -> torch.Tensor:
        return tile.median(1).values

    return Work(step, batches(lambda: (normal(tiles, pixels),), 3))


def correlated(voltage: torch.Tensor) -> torch.Tensor:
    """Products of all pairs of antennas, summed over time, of voltages (channels, antennas, times)."""
    return torch.bmm(voltage, voltage.mH)


@workload("seventeenth", "streams")
def correlated_antennas() -> Work:
    """A radio interferometer's correlator: every antenna against every other, its two bands on a stream each."""
    channels, antennas, times = (256, 256, 1024) if ON_GPU else (3, 4, 8)
    streams = [torch.cuda.Stream() for _ in range(2)]

    def step(low: torch.Tensor, high: torch.Tensor) -> list[torch.Tensor]:
        return side_by_side([partial(correlated, band) for band in (low, high)], streams)

    def band() -> torch.Tensor:
        return normal(channels, antennas, times, dtype=torch.complex64)

    return Work(step, batches(lambda: (band(), band()), 2))


@workload("seventeenth", "blocked")
def strongest_pulses() -> Work:
    """The sixteen strongest samples at each of many dispersions of a pulsar search, written to the host's list."""
    dispersions, samples, kept = (4096, 65_536, 16) if ON_GPU else (6, 64, 4)

    def step(series: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        best = series.topk(kept)
        return best.values.cpu(), best.indices.cpu()

    return Work(step, batches(lambda: (normal(dispersions, samples),), 3))


def loudest(strain: torch.Tensor, bank: torch.Tensor) -> torch.Tensor:
    """The loudest answer (groups, templates) of strain (samples) to templates' spectra (groups, templates, samples)."""
    spectrum: torch.Tensor = torch.fft.fft(strain)
    found: list[torch.Tensor] = []
    for waves in bank.unbind(0):
        answer: torch.Tensor = torch.fft.ifft(spectrum * waves)
        found.append(answer.abs().amax(-1))
    return torch.stack(found)


@workload("seventeenth", "streams")
def matched_chirps() -> Work:
    """Chirps of merging black holes sought in three detectors by a bank of whitened templates, a stream for each."""
    groups, templates, samples = (12, 4, 16_384) if ON_GPU else (3, 2, 32)
    banks = [normal(groups, templates, samples, dtype=torch.complex64) for _ in range(3)]
    streams = [torch.cuda.Stream() for _ in banks]

    def step(strain: torch.Tensor) -> torch.Tensor:
        pairs = zip(strain.unbind(0), banks, strict=True)
        heard = side_by_side([partial(loudest, *pair) for pair in pairs], streams)
        return torch.stack(heard).square().sum(0).sqrt()

    return Work(step, batches(lambda: (normal(3, samples, dtype=torch.complex64),)))


class Curves(nn.Module):
    """Light curves brought to a few numbers and back by the vendor's recurrent layers, and the kind of their stars."""

    def __init__(self, width: int, few: int, kinds: int) -> None:
        super().__init__()
        self.read = nn.GRU(3, width, num_layers=2, batch_first=True)
        self.shrink, self.sort = nn.Linear(width, few), nn.Linear(few, kinds)
        self.write = nn.GRU(few + 1, width, num_layers=2, batch_first=True)
        self.say = nn.Linear(width, 1)

    def forward(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        code = self.shrink(self.read(seen)[0][:, -1])
        spread = code.unsqueeze(1).expand(-1, seen.shape[1], -1)
        return self.sort(code), self.say(self.write(torch.cat([seen[..., :1], spread], -1))[0])


@workload("seventeenth")
def variable_stars() -> Work:
    """The kinds of eight variable stars, and their light curves rebuilt, by a recurrent autoencoder."""
    times = 64 if ON_GPU else 6
    return Work(inference(Curves(96, 32, 7)), batches(lambda: (normal(8, times, 3),)))


@workload("seventeenth", "blocked")
def reduced_exposures() -> Work:
    """A night's raw exposures made straight, even and free of dark current; the host asks if they are burnt out."""
    frames, side = (24, 2048) if ON_GPU else (2, 8)
    bias, dark = 300 + normal(side, side), normal(side, side).abs()
    flat, warm = 1 + 0.02 * normal(side, side), torch.rand(side, side, device=DEVICE)

    def step(raw: torch.Tensor, time: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        counts = raw - bias - time * dark * torch.exp(0.1 * warm)
        straight = counts * (1 + 1e-6 * counts + 2e-12 * counts.square())
        electrons = 1.7 * straight / flat
        noise = torch.sqrt(electrons.clamp(min=0) + 25.0)
        bright = torch.asinh(electrons / (3 * noise)) / time
        certain = torch.sigmoid((55_000 - raw) / 500) / noise.square()
        if (raw > 60_000).float().mean().item() > 0.9:
            return torch.zeros_like(bright), certain
        return bright, certain

    def night() -> Inputs:
        return 300 + 20_000 * torch.rand(frames, side, side, device=DEVICE), 30 + normal(frames, 1, 1)

    return Work(step, batches(night, 3))


class Galaxies(nn.Module):
    """Pictures of galaxies by Sersic's profile, each with its light, size, slope, flatness, angle and place."""

    def __init__(self, galaxies: int, side: int) -> None:
        super().__init__()
        self.shapes = nn.ParameterList(torch.randn(galaxies, 1, 1) / 10 for _ in range(7))
        self.register_buffer("along", torch.linspace(-3, 3, side))

    def forward(self) -> torch.Tensor:
        light, size, slope, flat, angle, right, up = self.shapes
        along, index = self.get_buffer("along"), torch.exp(slope)
        x, y = along - right, along.unsqueeze(1) - up
        major = x * torch.cos(angle) + y * torch.sin(angle)
        minor = (y * torch.cos(angle) - x * torch.sin(angle)) * torch.exp(flat)
        away = 0.5 * torch.log(major.square() + minor.square() + 1e-3) - size
        return torch.exp(light - (2 * index - 0.333) * (torch.exp(away / index) - 1))


@workload("seventeenth", "training")
def fitted_galaxies() -> Work:
    """Profiles of many galaxies fitted at once to their pictures by descent on how unlikely these are."""
    galaxies, side = (24_576, 64) if ON_GPU else (4, 8)

    def loss(model: nn.Module, picture: torch.Tensor) -> torch.Tensor:
        wanted = model()
        return ((picture - wanted).square() / (wanted + 0.1) + torch.log(wanted + 0.1)).mean()

    step = training(Galaxies(galaxies, side), loss, momentum)
    return Work(step, batches(lambda: (torch.rand(galaxies, side, side, device=DEVICE),), 3))


@workload("seventeenth")
def clipped_spectra() -> Work:
    """Spectra of many stars against the usual level of each, found in three rounds without what lies far from it."""
    stars, colours = (32_768, 4096) if ON_GPU else (6, 24)

    def step(flux: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        light = torch.log(flux.clamp(min=1e-3))
        keep = torch.ones_like(light)
        away = spread = light
        for _ in range(3):
            count = keep.sum(-1, keepdim=True)
            away = light - (keep * light).sum(-1, keepdim=True) / count
            spread = torch.sqrt((keep * away.square()).sum(-1, keepdim=True) / count)
            keep = (away.abs() < 3 * spread).to(light.dtype)
        return away / spread, keep.sum(-1)

    return Work(step, batches(lambda: (normal(stars, colours).exp(),), 3))


def together(momenta: torch.Tensor) -> torch.Tensor:
    """What pairs of particles (..., particles, particles, 4) have in common, from energies and momenta (..., 4)."""
    one, other = momenta.unsqueeze(-2), momenta.unsqueeze(-3)
    hard = torch.sqrt(momenta[..., 1:3].square().sum(-1) + 1e-6)
    tilt = torch.asinh(momenta[..., 3] / hard)
    turn = torch.atan2(momenta[..., 2], momenta[..., 1])
    round_by = torch.remainder(turn.unsqueeze(-1) - turn.unsqueeze(-2) + torch.pi, 2 * torch.pi) - torch.pi
    apart = torch.sqrt((tilt.unsqueeze(-1) - tilt.unsqueeze(-2)).square() + round_by.square() + 1e-6)
    soft = torch.minimum(hard.unsqueeze(-1), hard.unsqueeze(-2))
    share = soft / (hard.unsqueeze(-1) + hard.unsqueeze(-2))
    both = (one + other).square()
    mass = (both[..., 0] - both[..., 1:].sum(-1)).abs() + 1e-6
    return torch.stack([apart.log(), (soft * apart).log(), share.log(), mass.log()], -1)


class Showering(nn.Module):
    """Attention between particles with a bias for what pairs have in common, normed before and after (NormFormer)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.scale = heads, nn.Parameter(torch.ones(heads, 1, 1))
        self.norms = nn.ModuleList(nn.LayerNorm(size) for size in (width, width, width, 4 * width))
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.enter, self.leave = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        parts = self.project(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        score = torch.matmul(parts[0], parts[1].transpose(2, 3)) * parts[0].shape[-1] ** -0.5
        mixed = self.scale * torch.matmul((score + bias).softmax(-1), parts[2])
        x = x + self.norms[1](self.out(mixed.transpose(1, 2).flatten(2)))
        return x + self.leave(self.norms[3](F.gelu(self.enter(self.norms[2](x)))))


class Showers(nn.Module):
    """Scores of what started a shower of particles, by a particle transformer."""

    def __init__(self, width: int, heads: int, depth: int, kinds: int) -> None:
        super().__init__()
        self.enter, self.pairs = perceptron(4, width, width), perceptron(4, 32, heads, activation=nn.GELU)
        self.layers = nn.ModuleList(Showering(width, heads) for _ in range(depth))
        self.say = nn.Linear(width, kinds)

    def forward(self, momenta: torch.Tensor) -> torch.Tensor:
        bias = self.pairs(together(momenta)).permute(0, 3, 1, 2)
        x = self.enter(torch.asinh(momenta))
        for layer in self.layers:
            x = layer(x, bias)
        return self.say(x.mean(1)).softmax(-1)


@workload("seventeenth")
def sorted_showers() -> Work:
    """What started the showers of particles that a telescope saw in the air, two at a time."""
    particles, depth = (40, 8) if ON_GPU else (5, 2)
    return Work(inference(Showers(128, 8, depth, 6)), batches(lambda: (normal(2, particles, 4),)))
