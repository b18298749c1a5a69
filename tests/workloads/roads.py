"""Steps of roads: vehicles steered, followed and foreseen, ways surveyed and found, what they emit and cost."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import cast

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import perceptron
from tests.workloads.registry import DEVICE, ON_GPU, Inputs, Work, batches, inference, normal, workload
from tests.workloads.streams import side_by_side

HALF = torch.bfloat16


@workload("nineteenth", "blocked")
def insured_losses() -> Work:
    """What an insurer may lose by vehicles in the worst of many simulated years; the host compares its reserve."""
    regions, years, worst = (192, 1 << 20, 10_486) if ON_GPU else (3, 64, 4)

    def step(loss: torch.Tensor) -> tuple[torch.Tensor, bool]:
        most = loss.topk(worst, sorted=False).values
        shortfall = most.mean(-1)
        return shortfall, shortfall.sum().item() > 4.0 * regions

    return Work(step, batches(lambda: (normal(regions, years),), 3))


@workload("nineteenth")
def surveyed_surface() -> Work:
    """Surveys of a road's surface freed of what nearby places share, by the Cholesky factor of their covariance."""
    places, surveys = (8192, 4096) if ON_GPU else (24, 4)
    lower = torch.tril(normal(places, places) / places, -1) + torch.eye(places, device=DEVICE)

    def step(height: torch.Tensor) -> torch.Tensor:
        return torch.linalg.solve_triangular(lower, height, upper=False)

    return Work(step, batches(lambda: (normal(places, surveys),)))


def quickest(minutes: torch.Tensor, side: int) -> list[int]:
    """The way by Dijkstra's search from the first to the last junction of a town's grid (junctions, 4), on the host."""
    cost: list[list[float]] = minutes.cpu().tolist()
    reached, came, waiting = {0: 0.0}, {0: 0}, [(0.0, 0)]
    while waiting:
        so_far, at = heapq.heappop(waiting)
        if so_far > reached[at]:
            continue
        row, column = divmod(at, side)
        free = (column + 1 < side, row + 1 < side, column > 0, row > 0)
        for road, (after, open_) in enumerate(zip((at + 1, at + side, at - 1, at - side), free, strict=True)):
            total = so_far + cost[at][road]
            if open_ and total < reached.get(after, 1e30):
                reached[after], came[after] = total, at
                heapq.heappush(waiting, (total, after))
    way = [side * side - 1]
    while way[-1]:
        way.append(came[way[-1]])
    return way[::-1]


@workload("nineteenth", "blocked")
def quickest_way() -> Work:
    """The quickest way through a town: how long every road takes now on the device, the search on the host."""
    side = 40 if ON_GPU else 5
    searched = cast("Callable[[torch.Tensor, int], list[int]]", torch.compiler.disable(quickest))

    def step(metres: torch.Tensor, speed: torch.Tensor) -> list[int]:
        return searched(metres / speed, side)

    def town() -> Inputs:
        shape = (side * side, 4)
        return 50 + 200 * torch.rand(shape, device=DEVICE), 200 + 600 * torch.rand(shape, device=DEVICE)

    return Work(step, batches(town))


@workload("nineteenth", "streams")
def fused_sensors() -> Work:
    """Every patch of a car's cameras looks at every cell of its laser scans and they at it, each way on its stream."""
    frames, heads, tokens, size = (2, 8, 16_384, 64) if ON_GPU else (1, 2, 12, 8)
    streams = [torch.cuda.Stream() for _ in range(2)]

    def step(camera: torch.Tensor, laser: torch.Tensor) -> list[torch.Tensor]:
        looks = [(camera[0], laser[1], laser[2]), (laser[0], camera[1], camera[2])]
        return side_by_side([partial(F.scaled_dot_product_attention, *look) for look in looks], streams)

    shape = (3, frames, heads, tokens, size)
    return Work(step, batches(lambda: (normal(*shape, dtype=HALF), normal(*shape, dtype=HALF)), 3))


@workload("nineteenth")
def steered_convoy() -> Work:
    """How each lorry of a convoy is steered best, by Riccati's recursion back from where it should be."""
    lorries, states, wheels, ticks = (12, 32, 8, 16) if ON_GPU else (2, 4, 2, 3)
    aim = torch.eye(states, device=DEVICE).repeat(lorries, 1, 1)
    effort = torch.eye(wheels, device=DEVICE).repeat(lorries, 1, 1)

    def step(moves: torch.Tensor, turns: torch.Tensor) -> list[torch.Tensor]:
        worth: torch.Tensor = aim
        gains: list[torch.Tensor] = []
        for _ in range(ticks):
            moved, turned = torch.bmm(worth, moves), torch.bmm(worth, turns)
            lower: torch.Tensor = torch.linalg.cholesky_ex(torch.baddbmm(effort, turns.mT, turned)).L
            half: torch.Tensor = torch.linalg.solve_triangular(lower, torch.bmm(turns.mT, moved), upper=False)
            gains.append(torch.linalg.solve_triangular(lower.mT, half, upper=True))
            worth = torch.baddbmm(torch.baddbmm(aim, moves.mT, moved), half.mT, half, alpha=-1)
        return gains

    def convoy() -> Inputs:
        return 0.9 * aim + normal(lorries, states, states) / 64, normal(lorries, states, wheels) / 8

    return Work(step, batches(convoy))


def cracks(*channels: int) -> nn.Sequential:
    """Convolutions without biases, channels last, that say what is wrong with a patch of tarmac."""
    sizes = list(pairwise(channels))
    layers = [nn.Conv2d(a, b, 3, stride=1 + (a != b), padding=1, bias=False) for a, b in sizes]
    for layer in layers:
        nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
        layer.weight.data = layer.weight.data.contiguous(memory_format=torch.channels_last)
    return nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU())][:-1])


@workload("nineteenth", "streams")
def voted_cracks() -> Work:
    """A patch of a road's picture seen by four networks that were trained apart, a stream for each, then averaged."""
    width, side = (128, 56) if ON_GPU else (8, 8)
    members = [inference(cracks(16, *[width] * 16, 2 * width), HALF) for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in members]

    def step(patch: torch.Tensor) -> torch.Tensor:
        return torch.stack(side_by_side([partial(member, patch) for member in members], streams)).mean(0)

    def patch() -> Inputs:
        return (normal(1, 16, side, side, dtype=HALF).to(memory_format=torch.channels_last),)

    return Work(step, batches(patch))


@workload("nineteenth")
def following_cars() -> Work:
    """Cars a tick later in many runs of a motorway, each behind its leader, by the intelligent driver model."""
    cars = 40 << 20 if ON_GPU else 64

    def step(speed: torch.Tensor, gap: torch.Tensor, lead: torch.Tensor, wish: torch.Tensor) -> Inputs:
        nearing = speed - lead
        wanted = 2.0 + (1.4 * speed + speed * nearing / (2 * (1.2 * 1.8) ** 0.5)).clamp(min=0)
        near = (wanted / gap.clamp(min=0.5)).square()
        free = 1 - (speed / wish).clamp(max=2.0).square().square()
        pull = (1.2 * (free - near)).clamp(-8.0, 1.2)
        calm = torch.where(nearing > 0, pull, torch.maximum(pull, -0.2 * torch.ones_like(pull)))
        after = (speed + 0.25 * calm).clamp(min=0)
        drawn = torch.tanh(0.1 * calm) * torch.exp(-0.02 * gap)
        return after, gap + 0.125 * (2 * lead - speed - after), drawn

    def traffic() -> Inputs:
        speed, gap, lead, wish = (torch.rand(cars, device=DEVICE) for _ in range(4))
        return 30 * speed, 2 + 80 * gap, 30 * lead, 20 + 20 * wish

    return Work(step, batches(traffic, 2))


@workload("nineteenth", "blocked")
def emitted_fumes() -> Work:
    """What vehicles emitted second by second, from their logs, by specific power; the host reads the total."""
    vehicles, seconds = (131_072, 512) if ON_GPU else (8, 16)

    def step(speed: torch.Tensor, push: torch.Tensor, slope: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        power = speed * (1.1 * push + 9.81 * torch.sin(torch.atan(slope)) + 0.132) + 0.000302 * speed.pow(3)
        load = power.clamp(-20.0, 50.0) / 25.0
        fuel = 0.3 + F.softplus(3 * load) + 0.02 * speed.sqrt()
        nitrous = torch.where(load > 0.2, 0.004 * torch.exp(1.2 * load), 0.002 * fuel)
        soot = 0.001 * torch.sigmoid(4 * (load - 0.8)) * fuel
        idle = (speed < 0.5).float()
        total = torch.stack([(part * (1 - 0.3 * idle)).sum(-1) for part in (fuel, nitrous, soot)])
        if total[1].mean().item() > 1e6:
            return total, total[1].topk(4).indices
        return total, total.mean(1)

    def logs() -> Inputs:
        shape = (vehicles, seconds)
        return 30 * torch.rand(shape, device=DEVICE), normal(*shape), 0.03 * normal(*shape)

    return Work(step, batches(logs, 3))


def even(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Vectors divided by their root mean square, then scaled."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * scale


class Looking(nn.Module):
    """Attention between what moves and what lies around it, weighed by how far apart they are, and a gated layer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.scales = heads, nn.ParameterList(torch.ones(width) for _ in range(2))
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.enter, self.leave = nn.Linear(width, 4 * width), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor, apart: torch.Tensor) -> torch.Tensor:
        query, key, value = (
            self.project(even(x, self.scales[0])).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        )
        score = query @ key.mT * query.shape[-1] ** -0.5 - 0.1 * apart.unsqueeze(1)
        x = x + self.out((score.softmax(-1) @ value).transpose(1, 2).flatten(2))
        gate, fresh = self.enter(even(x, self.scales[1])).chunk(2, -1)
        return x + self.leave(F.silu(gate) * fresh)


class Foreseeing(nn.Module):
    """Where cars may go, from the lines that they and the lanes around them draw (VectorNet)."""

    def __init__(self, known: int, width: int, depth: int, ahead: int) -> None:
        super().__init__()
        sizes = (known, *[2 * width] * 2)
        self.lines = nn.ModuleList(nn.Linear(size, width) for size in sizes)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in sizes)
        self.body = nn.ModuleList(Looking(2 * width, 4) for _ in range(depth))
        self.say, self.ahead = perceptron(2 * width, 2 * width, 6 * (2 * ahead + 1)), ahead

    def forward(self, line: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        place = line[..., -1, :2]
        apart = (place.unsqueeze(2) - place.unsqueeze(1)).square().sum(-1).add(1e-6).sqrt()
        x = line
        for enter, norm in zip(self.lines, self.norms, strict=True):
            x = F.relu(norm(enter(x)))
            x = torch.cat([x, x.amax(-2, keepdim=True).expand_as(x)], -1)
        x = x.amax(-2)
        for layer in self.body:
            x = layer(x, apart)
        out = self.say(x).unflatten(-1, (6, -1))
        way = out[..., 1:].unflatten(-1, (self.ahead, 2)).cumsum(-2)
        return out[..., 0].softmax(-1), place[..., None, None, :] + way


@workload("nineteenth")
def foreseen_ways() -> Work:
    """Six ways that each car around may take in the next three seconds, and how likely each is."""
    lines, points, width, depth = (48, 10, 64, 6) if ON_GPU else (5, 4, 8, 2)
    model = inference(Foreseeing(8, width, depth, 30))
    return Work(model, batches(lambda: (normal(2, lines, points, 8),)))
