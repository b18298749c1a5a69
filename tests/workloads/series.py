"""Steps on time series: forecasts and alarms."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import Encoder
from tests.workloads.registry import ON_GPU, Work, batches, fused_adamw, inference, normal, training, workload


class GatedResidual(nn.Module):
    """Two layers whose result passes a gate before it joins what came in."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.enter, self.leave, self.norm = nn.Linear(size, width), nn.Linear(width, 2 * size), nn.LayerNorm(size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x + F.glu(self.leave(F.elu(self.enter(x))), -1))


class Rebuilt(nn.Module):
    """Windows of many sensors, mixed over time and over sensors in turn and rebuilt from that."""

    def __init__(self, length: int, sensors: int, depth: int) -> None:
        super().__init__()
        self.over_time = nn.ModuleList(GatedResidual(length, 128) for _ in range(depth))
        self.over_sensors = nn.ModuleList(GatedResidual(sensors, 128) for _ in range(depth))

    def forward(self, window: torch.Tensor) -> torch.Tensor:
        mean, spread = window.mean(1, keepdim=True), window.std(1, keepdim=True) + 1e-4
        x = (window - mean) / spread
        for time, sensor in zip(self.over_time, self.over_sensors, strict=True):
            x = sensor(time(x.transpose(1, 2)).transpose(1, 2))
        return x * spread + mean


@workload("sixth", "blocked")
def sensor_alarm() -> Work:
    """Windows of sensors compared with what a network rebuilds of them; the host reads the worst to raise an alarm."""
    rebuild = inference(Rebuilt(96, 64, 6))

    def step(window: torch.Tensor) -> torch.Tensor:
        score = (rebuild(window) - window).square().mean(1)
        if score.amax().item() > 1e3:
            return score.topk(3).indices
        return score

    return Work(step, batches(lambda: (normal(32, 96, 64),)))


@workload("sixth")
def wind_forecast() -> Work:
    """The power of a thousand turbines foretold by wide recurrent layers of the vendor's library, in half precision."""
    model = inference(nn.LSTM(64, 1024, num_layers=2, batch_first=True), torch.bfloat16)
    read, turbines = normal(1024, 24, dtype=torch.bfloat16) / 32, 1024 if ON_GPU else 4

    def step(weather: torch.Tensor) -> torch.Tensor:
        return model(weather)[0][:, -1] @ read

    return Work(step, batches(lambda: (normal(turbines, 96, 64, dtype=torch.bfloat16),)))


class Demand(nn.Module):
    """What was sold, read by recurrent layers of the vendor's library, to the mean and the spread of what will be."""

    def __init__(self, known: int, width: int) -> None:
        super().__init__()
        self.read, self.say = nn.LSTM(known, width, num_layers=2, batch_first=True), nn.Linear(width, 2)

    def forward(self, past: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, spread = self.say(self.read(past)[0]).unbind(-1)
        return mean, F.softplus(spread) + 0.01


@workload("ninth", "training")
def demand_forecast() -> Work:
    """The demand for a thousand articles, learned from five weeks of sales and what was known of the days."""
    articles, days, width = (1024, 35, 1024) if ON_GPU else (4, 5, 32)

    def loss(model: nn.Module, past: torch.Tensor, sold: torch.Tensor) -> torch.Tensor:
        mean, spread = model(past)
        return (((sold - mean) / spread).square() / 2 + spread.log()).mean()

    step = training(Demand(32, width), loss, fused_adamw)
    return Work(step, batches(lambda: (normal(articles, days, 32), normal(articles, days))))


@workload("ninth")
def rolling_features() -> Work:
    """Features of many prices over time: returns, and how each stands in the days before it."""
    prices, days = (8192, 8192) if ON_GPU else (8, 64)

    def over(x: torch.Tensor, span: int) -> torch.Tensor:
        return F.avg_pool1d(F.pad(x, (span - 1, 0)).unsqueeze(1), span, 1).squeeze(1)

    def step(price: torch.Tensor, volume: torch.Tensor) -> torch.Tensor:
        change = F.pad(torch.log(price[:, 1:] / price[:, :-1]), (1, 0))
        short, long = over(change, 4), over(change, 8)
        swing = torch.sqrt((over(change.square(), 8) - long.square()).clamp(min=0) + 1e-6)
        gain, loss = over(F.relu(change), 8), over(F.relu(-change), 8)
        strength, flow = gain / (gain + loss + 1e-6), torch.tanh(0.1 * change * torch.log1p(volume))
        return torch.stack([(change - long) / swing, (short - long) / swing, strength, flow, swing], 1).half()

    return Work(step, batches(lambda: (1 + normal(prices, days).abs(), normal(prices, days).abs()), 3))


class Patched(nn.Module):
    """Pieces of a series as the words of a transformer, each channel for itself, and the days that follow."""

    def __init__(self, length: int, ahead: int, width: int, depth: int) -> None:
        super().__init__()
        pieces = (length - 16) // 8 + 1
        self.enter, self.places = nn.Linear(16, width), nn.Parameter(torch.randn(pieces, width) / 8)
        self.layers = nn.Sequential(*[Encoder(width, 4) for _ in range(depth)])
        self.say = nn.Linear(pieces * width, ahead)

    def forward(self, past: torch.Tensor) -> torch.Tensor:
        mean = past.mean(1, keepdim=True)
        spread = torch.sqrt(past.var(1, keepdim=True, unbiased=False) + 1e-5)
        pieces = ((past - mean) / spread).transpose(1, 2).flatten(0, 1).unfold(-1, 16, 8)
        seen = self.layers(self.enter(pieces) + self.places).flatten(1)
        return self.say(seen).unflatten(0, (len(past), -1)).transpose(1, 2) * spread + mean


@workload("ninth")
def patched_series() -> Work:
    """The next four days of a few hourly series from the two weeks before, by a transformer over pieces of them."""
    return Work(inference(Patched(336, 96, 128, 4)), batches(lambda: (normal(4, 336, 7),)))


class Mixture(nn.Module):
    """What may follow as a mixture of many possibilities: how likely each is, where it lies and how wide it is."""

    def __init__(self, known: int, width: int, parts: int) -> None:
        super().__init__()
        self.read, self.say = nn.Linear(known, width), nn.Linear(width, 3 * parts)

    def forward(self, past: torch.Tensor) -> tuple[torch.Tensor, ...]:
        weight, mean, spread = self.say(torch.tanh(self.read(past))).chunk(3, -1)
        return weight.log_softmax(-1), mean, F.softplus(spread) + 0.05


@workload("eleventh", "training")
def mixed_densities() -> Work:
    """The next hour of a million meters, learned as a mixture of distributions with heavy tails."""
    meters, parts = (1 << 20, 32) if ON_GPU else (64, 4)

    def loss(model: nn.Module, past: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        weight, mean, spread = model(past)
        miss = (value.unsqueeze(-1) - mean) / spread
        return -torch.logsumexp(weight - 2.5 * torch.log1p(miss.square() / 4) - spread.log(), -1).mean()

    step = training(Mixture(32, 32, parts), loss, fused_adamw)
    return Work(step, batches(lambda: (normal(meters, 32), normal(meters)), 3))
