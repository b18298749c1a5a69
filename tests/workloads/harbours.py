"""Steps of a harbour: ships, cargo, berths and tugs, and the weather and sound of the sea."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from functools import partial
from typing import cast

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import plain
from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
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


@workload("twentieth")
def inspected_containers() -> Work:
    """Features of scanned containers searched for a bank of learnt shapes of goods, all in one convolution."""
    scans, channels, shapes, side = (16, 128, 256, 512) if ON_GPU else (2, 4, 8, 8)
    bank = normal(shapes, channels, 3, 3, dtype=torch.bfloat16).to(memory_format=torch.channels_last)

    def step(scan: torch.Tensor) -> torch.Tensor:
        return F.conv2d(scan, bank, padding=1)

    def scan() -> torch.Tensor:
        return normal(scans, channels, side, side, dtype=torch.bfloat16).to(memory_format=torch.channels_last)

    return Work(step, batches(lambda: (scan(),), 2))


@workload("twentieth")
def radar_waves() -> Work:
    """The spectrum over frequency and wave numbers of the sea that a radar sees in many turns."""
    turns, side = (64, 2048) if ON_GPU else (4, 8)

    def step(echoes: torch.Tensor) -> torch.Tensor:
        return torch.fft.rfftn(echoes, dim=(0, 1, 2))

    return Work(step, batches(lambda: (normal(turns, side, side),)))


@workload("twentieth", "blocked")
def sea_level_patterns() -> Work:
    """The patterns by which the levels at many gauges vary together, as many as the host finds to explain most."""
    gauges, hours = (768, 4096) if ON_GPU else (12, 40)

    def step(levels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        power, patterns = torch.linalg.eigh(levels @ levels.T)
        explained = power.flip(0).cumsum(0) / power.sum()
        kept = int((explained < 0.9).sum().item()) + 1
        return power[-kept:], patterns[:, -kept:]

    return Work(step, batches(lambda: (normal(gauges, hours),)))


def stowed(weights: torch.Tensor, ports: torch.Tensor, stacks: int, tiers: int) -> torch.Tensor:
    """The stack of each container: last port first and heavy ones lowest, always on the lightest stack with room."""
    weight, port = weights.tolist(), ports.tolist()
    loads = [(0.0, 0, stack) for stack in range(stacks)]
    place = [0] * len(weight)
    for box in sorted(range(len(weight)), key=lambda box: (-port[box], -weight[box])):
        load, height, stack = heapq.heappop(loads)
        place[box] = stack
        if height + 1 < tiers:
            heapq.heappush(loads, (load + weight[box], height + 1, stack))
    return torch.tensor(place)


@workload("twentieth", "blocked")
def stowage_plan() -> Work:
    """Where each container goes aboard: planned on the host from what the scales and the lists say."""
    boxes, tiers = (2400, 10) if ON_GPU else (60, 10)
    planned = cast("Callable[[torch.Tensor, torch.Tensor, int, int], torch.Tensor]", torch.compiler.disable(stowed))

    def step(weights: torch.Tensor, ports: torch.Tensor) -> torch.Tensor:
        return planned(weights, ports, boxes // tiers, tiers).to(weights.device)

    return Work(step, batches(lambda: (normal(boxes).abs(), integers(8, boxes))))


class SpectralMember(nn.Module):
    """Fields (day, channel, row, column) carried through their lowest waves by layers, and drawn finer by the last."""

    def __init__(self, channels: int, waves: int, layers: int) -> None:
        super().__init__()
        self.waves = waves
        shape = (layers, waves, waves, channels, channels)
        self.weights = nn.Parameter(torch.randn(shape, dtype=torch.complex64) / channels**0.5)

    def forward(self, fields: torch.Tensor) -> torch.Tensor:
        side = fields.shape[-1]
        sizes = [side] * (len(self.weights) - 1) + [2 * side]
        for weight, size in zip(self.weights, sizes, strict=True):
            waves = torch.fft.rfft2(fields, norm="forward")[..., : self.waves, : self.waves]
            mixed = (waves.permute(2, 3, 0, 1) @ weight).permute(2, 3, 0, 1)
            fields = torch.fft.irfft2(mixed, s=(size, size), norm="forward")
        return fields


@workload("twentieth", "streams")
def downscaled_winds() -> Work:
    """Coarse winds drawn finer by an ensemble of four spectral models, each on its stream."""
    members = [SpectralMember(32, 12, 4).to(DEVICE).eval() for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in members]

    def step(winds: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return torch.stack(side_by_side([partial(member, winds) for member in members], streams)).mean(0)

    return Work(step, batches(lambda: (normal(2, 32, 64, 64),)))


class BerthDemand(nn.Module):
    """Calls of ships at berths in days to come, (berth, day, 1), each day foretold from the one before."""

    def __init__(self, width: int, ahead: int) -> None:
        super().__init__()
        self.ahead = ahead
        self.past = nn.GRU(1, width, num_layers=2, batch_first=True)
        self.future = nn.GRU(1, width, num_layers=2, batch_first=True)
        self.calls = nn.Linear(width, 1)

    def forward(self, calls: torch.Tensor) -> torch.Tensor:
        _, state = self.past(calls)
        day, days = calls[:, -1:], []
        for _ in range(self.ahead):
            out, state = self.future(day, state)
            day = self.calls(out)
            days.append(day)
        return torch.cat(days, 1)


@workload("twentieth")
def demanded_berths() -> Work:
    """A fortnight of calls at each berth, foretold by recurrent layers from the month before."""
    return Work(inference(BerthDemand(64, 14)), batches(lambda: (normal(32, 28, 1),)))


@workload("twentieth")
def sound_under_water() -> Work:
    """How a sonar's tones spread from range to range: free in wave numbers, then bent by the layers of the sea."""
    depths, ranges = (1024, 48) if ON_GPU else (16, 4)
    number = torch.fft.fftfreq(depths, device=DEVICE)
    free = torch.exp(-1j * 40 * number.square())

    def step(source: torch.Tensor, speed: torch.Tensor) -> torch.Tensor:
        bend = torch.polar(torch.ones_like(speed), 0.3 * speed)
        field = torch.complex(source, torch.zeros_like(source))
        for _ in range(ranges):
            field = torch.fft.ifft(torch.fft.fft(field) * free) * bend
        return field

    return Work(step, batches(lambda: (normal(8, depths), normal(8, depths))))


@workload("twentieth")
def tidal_levels() -> Work:
    """The tide over a fine chart and how fast it rises: the sums of its constituents."""
    constituents, cells = (10, 6 << 20) if ON_GPU else (3, 32)
    speed = torch.linspace(0.02, 1.0, constituents, device=DEVICE)[:, None]
    node = 1 + 0.04 * torch.linspace(-1, 1, constituents, device=DEVICE)[:, None]

    def step(height: torch.Tensor, lag: torch.Tensor, hour: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        turn = speed * hour - lag * (math.pi / 180)
        level = (node * height * torch.cos(turn)).sum(0)
        rate = (-node * speed * height * torch.sin(turn)).sum(0)
        return level, rate

    chart = partial(normal, constituents, cells)
    return Work(step, batches(lambda: (chart(), 90 * chart(), normal(1).abs() * 1000)))


class MemberCorrection(nn.Module):
    """Forecasts (member, row, column) shifted, stretched about their mean and bent, cell by cell."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(rows, columns))
        self.stretch = nn.Parameter(torch.zeros(rows, columns))
        self.bend = nn.Parameter(torch.zeros(rows, columns))

    def forward(self, forecasts: torch.Tensor) -> torch.Tensor:
        middle = forecasts.mean(0)
        apart = (forecasts - middle) * torch.exp(self.stretch)
        return middle + self.shift + apart + self.bend * torch.tanh(apart)


def ranked_probability(model: nn.Module, forecasts: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """How far the corrected members are from what was seen, less half of how far they are from each other."""
    corrected = model(forecasts)
    return (corrected - seen).abs().mean() - 0.5 * (corrected - corrected.roll(1, 0)).abs().mean()


@workload("twentieth", "training")
def corrected_ensemble() -> Work:
    """A weather ensemble corrected at every cell of a fine grid, trained by its ranked probability score."""
    members, rows, columns = (48, 1024, 1536) if ON_GPU else (4, 6, 8)
    step = training(MemberCorrection(rows, columns), ranked_probability, momentum)
    return Work(step, batches(lambda: (normal(members, rows, columns), normal(rows, columns))))


@workload("twentieth")
def followed_ships() -> Work:
    """Ships' places and speeds along both axes, by Kalman filters over the echoes of a dozen turns of the radar."""
    echoes, ships = (12, 256) if ON_GPU else (4, 8)

    def step(seen: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        place, speed = seen[0], torch.zeros_like(seen[0])
        far, joint, fast = noise, torch.zeros_like(noise), torch.ones_like(noise)
        for echo in seen[1:]:
            place = place + speed
            far, joint, fast = far + 2 * joint + fast + 0.25, joint + fast + 0.5, fast + 1.0
            miss, doubt = echo - place, far + noise
            miss = miss * torch.rsqrt(1 + miss.square() / (9 * doubt))
            gain, lead = far / doubt, joint / doubt
            place, speed = place + gain * miss, speed + lead * miss
            fast, far, joint = fast - lead * joint, (1 - gain) * far, (1 - gain) * joint
        return place, speed

    return Work(step, batches(lambda: (normal(echoes, 2, ships), 0.5 + torch.rand(2, ships, device=DEVICE))))


def balanced(log: torch.Tensor, trucks: torch.Tensor, rounds: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Prices of cranes and of trucks after rounds of Sinkhorn's scaling of a table (hour, truck, crane)."""
    cranes = torch.zeros_like(trucks)
    for _ in range(rounds):
        cranes = -torch.logsumexp(log + trucks, -2, keepdim=True).transpose(-1, -2)
        cranes = cranes - cranes.mean(-2, keepdim=True)
        trucks = -torch.logsumexp(log + cranes.transpose(-1, -2), -1, keepdim=True)
    return trucks, cranes


@workload("twentieth", "blocked")
def routed_trucks() -> Work:
    """Trucks routed to cranes by Sinkhorn's scaling, and by more of it where the host finds it not settled."""
    hours, side = (8, 48) if ON_GPU else (2, 6)

    def step(cost: torch.Tensor) -> torch.Tensor:
        log = -cost / 0.02
        trucks, cranes = balanced(log, torch.zeros_like(cost[..., :1]), 12)
        plan = torch.exp(log + trucks + cranes.transpose(-1, -2))
        if (plan.sum(-2) - 1).abs().max().item() > 1e-4:
            trucks, cranes = balanced(log, trucks, 12)
        return torch.softmax(log + trucks + cranes.transpose(-1, -2), -1)

    return Work(step, batches(lambda: (torch.rand(hours, side, side, device=DEVICE),)))


class Duelling(nn.Module):
    """The worth of each order to a tug, (sight, order): that of the moment and what each order adds to it."""

    def __init__(self, sights: int, orders: int, width: int) -> None:
        super().__init__()
        self.seen = nn.Sequential(
            *(nn.Sequential(nn.Linear(size, width), nn.LayerNorm(width), nn.SiLU()) for size in (sights, width, width))
        )
        self.moment, self.order = plain(width, width, 1), plain(width, width, orders)

    def forward(self, sight: torch.Tensor) -> torch.Tensor:
        seen = self.seen(sight)
        adds = self.order(seen)
        return self.moment(seen) + adds - adds.mean(-1, keepdim=True)


@workload("twentieth", "training")
def steered_tugs() -> Work:
    """A double Q-learning update of the worth of a tug's orders, against a slow copy that follows."""
    orders, sights = 9, 24
    model, slow = (Duelling(sights, orders, 128).to(DEVICE) for _ in range(2))

    def loss(
        model: nn.Module, sight: torch.Tensor, order: torch.Tensor, gain: torch.Tensor, after: torch.Tensor
    ) -> torch.Tensor:
        with torch.no_grad():
            best = model(after).argmax(-1, keepdim=True)
            aim = gain + 0.99 * slow(after).gather(-1, best)
        return F.smooth_l1_loss(model(sight).gather(-1, order), aim)

    update = training(model, loss, adamw)

    def step(*inputs: torch.Tensor) -> torch.Tensor:
        value = update(*inputs)
        with torch.no_grad():
            for kept, learnt in zip(slow.parameters(), model.parameters(), strict=True):
                kept.lerp_(learnt, 0.005)
        return value

    sight = partial(normal, 128, sights)
    return Work(step, batches(lambda: (sight(), integers(orders, 128, 1), normal(128, 1), sight())))
