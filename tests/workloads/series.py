"""Steps on time series: forecasts and alarms."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import ON_GPU, Work, batches, inference, normal, workload


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
