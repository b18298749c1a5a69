"""Steps of farms: fields and orchards, herds, water, seeds and harvests."""

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
    adamw,
    batches,
    inference,
    integers,
    momentum,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side


@workload("eighteenth")
def related_cattle() -> Work:
    """How related the cattle of a herd book are: the products of their centred markers, in full precision."""
    cattle, markers = (3072, 16_384) if ON_GPU else (8, 24)

    def step(genes: torch.Tensor) -> torch.Tensor:
        return genes @ genes.T

    return Work(step, batches(lambda: (normal(cattle, markers),)))


@workload("eighteenth", "blocked")
def needed_water() -> Work:
    """The water that crops of a country need by the equation of Penman and Monteith; the host reads the mean."""
    cells = 32 << 20 if ON_GPU else 64

    def step(heat: torch.Tensor, wind: torch.Tensor, sun: torch.Tensor, damp: torch.Tensor) -> Inputs:
        full = 0.6108 * torch.exp(17.27 * heat / (heat + 237.3))
        rise = 4098 * full / (heat + 237.3).square()
        vapour = full * damp.clamp(0.05, 1.0)
        cloudy = (1.35 * (sun / 25).clamp(0.3, 1.0) - 0.35).clamp(min=0.05)
        lost = 4.903e-9 * (heat + 273.16) ** 4 * (0.34 - 0.14 * torch.sqrt(vapour)) * cloudy
        gained = 0.77 * sun - lost
        speed = wind.abs() * 0.748
        dry = 0.067 * 900 / (heat + 273) * speed * (full - vapour)
        need = ((0.408 * rise * gained + dry) / (rise + 0.067 * (1 + 0.34 * speed))).clamp(min=0)
        leaf = 1.15 * torch.sigmoid(0.3 * (heat - 12))
        crop = need * (leaf + 0.04 * (speed - 2) - 0.004 * (100 * damp - 45))
        if crop.mean().item() > 50.0:
            return need, need
        return need, crop

    def country() -> Inputs:
        return (
            18 + 6 * normal(cells),
            2 + normal(cells),
            12 + 8 * torch.rand(cells, device=DEVICE),
            torch.rand(cells, device=DEVICE),
        )

    return Work(step, batches(country, 2))


class Ground(nn.Module):
    """The water in the ground of many fields, day by day: their capacity, leak and thirst are its parameters."""

    def __init__(self, fields: int) -> None:
        super().__init__()
        self.capacity, self.leak, self.thirst = (nn.Parameter(0.1 * torch.randn(fields)) for _ in range(3))

    def forward(self, rain: torch.Tensor, heat: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        capacity = 2 + F.softplus(self.capacity)
        leak, thirst = 0.2 * torch.sigmoid(self.leak), F.softplus(self.thirst)
        store, wrong = 0.5 * capacity, torch.zeros((), device=rain.device)
        for fallen, warm, wet in zip(rain.unbind(0), heat.unbind(0), seen.unbind(0), strict=True):
            full = (store / capacity).clamp(0, 1)
            entered = fallen * (1 - full.square())
            drunk = thirst * warm * torch.sigmoid(6 * (full - 0.4))
            store = F.softplus(store + entered - drunk - leak * store)
            wrong = wrong + F.smooth_l1_loss(store / capacity, wet)
        return wrong


@workload("eighteenth", "training")
def watched_ground() -> Work:
    """The ground of millions of fields learned from how wet satellites saw it after some days of rain and heat."""
    fields, days = (8 << 20, 5) if ON_GPU else (32, 3)

    def loss(model: nn.Module, rain: torch.Tensor, heat: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        return model(rain, heat, seen)

    def batch() -> Inputs:
        rain, heat, seen = torch.rand(3, days, fields, device=DEVICE).unbind(0)
        return rain.clone(), heat.clone(), seen.clone()

    return Work(training(Ground(fields), loss, momentum), batches(batch, 2))


class Moving(nn.Module):
    """What an animal does, from the acceleration of its collar: convolutions, then the vendor's recurrent layers."""

    def __init__(self, known: int, width: int, kinds: int) -> None:
        super().__init__()
        first, second = nn.Conv1d(known, 64, 5, stride=2), nn.Conv1d(64, 64, 5, stride=2)
        self.feel = nn.Sequential(first, nn.ReLU(), second, nn.ReLU())
        self.remember, self.say = nn.LSTM(64, width, num_layers=2, batch_first=True), nn.Linear(width, kinds)

    def forward(self, moved: torch.Tensor) -> torch.Tensor:
        return self.say(self.remember(self.feel(moved).transpose(1, 2))[0][:, -1])


@workload("eighteenth", "training")
def grazing_herd() -> Work:
    """Grazing, walking, lying and chewing told apart from collars, learned from labelled seconds (DeepConvLSTM)."""
    ticks = 128 if ON_GPU else 24

    def loss(model: nn.Module, moved: torch.Tensor, kind: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(moved), kind)

    step = training(Moving(6, 128, 5), loss, adamw)
    return Work(step, batches(lambda: (normal(32, 6, ticks), integers(5, 32))))


class Mixed(nn.Module):
    """Pieces of a spectrum mixed with each other, then their features, each after being brought to even size."""

    def __init__(self, pieces: int, width: int) -> None:
        super().__init__()
        self.scales = nn.ParameterList(torch.ones(width) for _ in range(2))
        self.across, self.along = nn.Linear(pieces, pieces), nn.Linear(width, 2 * width)

    def even(self, x: torch.Tensor, part: int) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.scales[part]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + torch.tanh(self.across(self.even(x, 0).transpose(1, 2))).transpose(1, 2)
        gate, value = self.along(self.even(x, 1)).chunk(2, -1)
        return x + F.silu(gate) * value


@workload("eighteenth", "blocked")
def graded_fruit() -> Work:
    """Sugar and firmness of fruit on a belt from their spectra; the host reads whether to push one out."""
    bands, pieces, width, depth = (512, 32, 64, 8) if ON_GPU else (32, 4, 8, 2)
    layers = [Mixed(pieces, width) for _ in range(depth)]
    model = inference(nn.Sequential(nn.Linear(3 * bands // pieces, width), *layers, nn.Linear(width, 3)))

    def step(spectrum: torch.Tensor) -> torch.Tensor:
        level = spectrum - spectrum.mean(-1, keepdim=True)
        level = level / (level.square().mean(-1, keepdim=True).sqrt() + 1e-6)
        slope = F.pad((level[:, 2:] - level[:, :-2]) / 2, (1, 1))
        bend = F.pad(level[:, 2:] - 2 * level[:, 1:-1] + level[:, :-2], (1, 1))
        out = model(torch.stack([level, slope, bend], -1).reshape(len(spectrum), pieces, -1)).mean(1)
        fine = torch.sigmoid(out[:, 2])
        if fine.amin().item() < 1e-6:
            return torch.zeros_like(out[:, :2])
        return F.softplus(out[:, :2])

    return Work(step, batches(lambda: (torch.rand(4, bands, device=DEVICE),)))


class Tilled(nn.Module):
    """A residual layer over what is known of a field: norm, smooth step and gate."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.enter, self.leave = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, value = self.enter(self.norm(x)).chunk(2, -1)
        return x + self.leave(F.mish(gate) * torch.tanh(value))


@workload("eighteenth", "training")
def expected_harvest() -> Work:
    """The quantiles of the harvests of fields learned from a table of weather, soil and seed, by the pinball loss."""
    fields, known, width, depth = (256, 48, 96, 6) if ON_GPU else (6, 8, 16, 2)
    levels = torch.tensor([0.05, 0.25, 0.5, 0.75, 0.95], device=DEVICE)

    def loss(model: nn.Module, field: torch.Tensor, harvest: torch.Tensor) -> torch.Tensor:
        first, *steps = model(field).unbind(-1)
        quantile = torch.stack([first, *[F.softplus(step) for step in steps]], -1).cumsum(-1)
        missed = harvest.unsqueeze(-1) - quantile
        return torch.maximum(levels * missed, (levels - 1) * missed).mean()

    layers = [Tilled(width) for _ in range(depth)]
    model = nn.Sequential(nn.Linear(known, width), *layers, nn.LayerNorm(width), nn.Linear(width, 5))
    return Work(training(model, loss, adamw), batches(lambda: (normal(fields, known), normal(fields))))


@workload("eighteenth", "streams")
def foretold_yields() -> Work:
    """Yields of counties from a year of weather, of satellite pictures and of ground water, a stream for each."""
    counties, weeks, width = (16, 40, 128) if ON_GPU else (2, 5, 8)
    known = (14, 9, 6)
    readers = [inference(nn.LSTM(size, width, num_layers=2, batch_first=True)) for size in known]
    say = inference(nn.Linear(3 * width, 1))
    streams = [torch.cuda.Stream() for _ in known]

    def step(*series: torch.Tensor) -> torch.Tensor:
        read = side_by_side([partial(reader, seen) for reader, seen in zip(readers, series, strict=True)], streams)
        return say(torch.cat([heard[:, -1] for heard, _ in read], -1))

    return Work(step, batches(lambda: tuple(normal(counties, weeks, size) for size in known)))


def shifted(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """The places (scales, 1) at which one picture (1, height, width) fits another, by phase correlation."""
    places = []
    for _ in range(3):
        cross = torch.fft.fft2(one) * torch.fft.fft2(other).conj()
        places.append(torch.fft.ifft2(torch.sgn(cross)).real.flatten(1).argmax(1))
        one, other = F.avg_pool2d(one, 2), F.avg_pool2d(other, 2)
    return torch.stack(places)


@workload("eighteenth", "streams")
def stitched_orchard() -> Work:
    """How far a drone flew between two pictures of an orchard, from each of its bands on a stream of its own."""
    bands, side = (4, 256) if ON_GPU else (4, 16)
    streams = [torch.cuda.Stream() for _ in range(bands)]

    def step(*pairs: torch.Tensor) -> torch.Tensor:
        return torch.cat(side_by_side([partial(shifted, *pair.unbind(0)) for pair in pairs], streams), 1)

    return Work(step, batches(lambda: tuple(normal(2, 1, side, side) for _ in range(bands))))


@workload("eighteenth")
def sharpened_seeds() -> Work:
    """A blurred picture of seeds under a lens made sharp by ten rounds of Richardson's and Lucy's method."""
    side = 192 if ON_GPU else 16
    along = torch.fft.fftfreq(side, device=DEVICE)
    passed = torch.exp(-40 * (along.square().unsqueeze(1) + along[: side // 2 + 1].square()))
    tilt = torch.exp(2j * (along.unsqueeze(1) - along[: side // 2 + 1]))
    forth, back = passed * tilt, passed * tilt.conj()

    def step(picture: torch.Tensor) -> torch.Tensor:
        guess = picture
        for _ in range(10):
            blurred = torch.fft.irfft2(torch.fft.rfft2(guess) * forth, s=(side, side))
            guess = guess * torch.fft.irfft2(torch.fft.rfft2(picture / blurred) * back, s=(side, side))
        return guess

    return Work(step, batches(lambda: (0.5 + torch.rand(1, side, side, device=DEVICE),)))
