"""Steps of industry and trade: adverts, markets, machines, roads and routes."""

from __future__ import annotations

import copy
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import plain
from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Inputs,
    Work,
    adamw,
    batches,
    inference,
    integers,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side

HALF = torch.bfloat16


@workload("fifteenth")
def scored_adverts() -> Work:
    """Every advert of a campaign scored for every one of many readers, for a table that is served later."""
    readers, adverts, width = (16_384, 65_536, 768) if ON_GPU else (16, 64, 8)
    table = normal(adverts, width, dtype=HALF)

    def step(reader: torch.Tensor) -> torch.Tensor:
        return reader @ table.T

    return Work(step, batches(lambda: (normal(readers, width, dtype=HALF),)))


@workload("fifteenth")
def ordered_trades() -> Work:
    """The trades of many markets put in the order of their times, and their prices with them."""
    trades = 24 << 20 if ON_GPU else 64

    def step(time: torch.Tensor, price: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        ordered, place = time.sort(stable=True)
        return ordered, price[place]

    return Work(step, batches(lambda: (integers(1 << 50, trades), normal(trades)), 2))


def nearer(swing: torch.Tensor, paid: torch.Tensor, depth: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
    """Newton's next guess of the volatilities at which options of a log-moneyness cost what was paid for them."""
    root = torch.sqrt(time)
    first = depth / (swing * root) + 0.5 * swing * root
    second = first - swing * root
    near, far = (0.5 * (1 + torch.erf(point * 0.70710678)) for point in (first, second))
    vega = 0.39894228 * torch.exp(-0.5 * first.square()) * root
    return (swing - (near - torch.exp(-depth) * far - paid) / vega.clamp(min=0.01)).clamp(0.01, 3.0)


@workload("fifteenth", "blocked")
def implied_volatilities() -> Work:
    """The volatilities that the prices of many options imply; the host asks whether Newton's method has arrived."""
    options = 16 << 20 if ON_GPU else 64

    def step(paid: torch.Tensor, depth: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        swing = torch.sqrt(2 * depth.abs() / time).clamp(0.2, 1.0)
        for _ in range(4):
            swing = nearer(swing, paid, depth, time)
        last = nearer(swing, paid, depth, time)
        if (last - swing).abs().mean().item() > 0.5:
            return nearer(last, paid, depth, time)
        return last

    def book() -> Inputs:
        depth, time = 0.1 * normal(options), 0.5 + torch.rand(options, device=DEVICE)
        inner = (1 - torch.exp(-depth)).clamp(min=0)
        return inner + 0.1 * torch.sqrt(time), depth, time

    return Work(step, batches(book, 3))


@workload("fifteenth", "streams")
def odd_transactions() -> Work:
    """How odd transactions look to four autoencoders trained on different months, each on its stream."""
    members = [plain(128, 256, 256, 128, 64, 16, 64, 128, 256, 256, 128).to(DEVICE).eval() for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in members]

    def step(made: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            rebuilt = side_by_side([partial(member, made) for member in members], streams)
            return (torch.stack(rebuilt) - made).square().mean((0, 2))

    return Work(step, batches(lambda: (normal(64, 128),)))


@workload("fifteenth", "blocked")
def pressed_panels() -> Work:
    """How air presses on the panels of a wing for several winds, by one dense system; the host checks the result."""
    panels, winds = (5120, 16) if ON_GPU else (24, 3)
    diagonal = 3 * panels**0.5 * torch.eye(panels, device=DEVICE)

    def step(influence: torch.Tensor, wind: torch.Tensor) -> torch.Tensor:
        strength = torch.linalg.solve(influence, wind)
        if not torch.isfinite(strength).all().item():
            raise ArithmeticError("the panels' system is singular: refine the mesh")
        return strength

    return Work(step, batches(lambda: (normal(panels, panels) + diagonal, normal(panels, winds))))


@torch.compiler.disable
def shortened(apart: torch.Tensor) -> list[int]:
    """A round trip by the nearest stop not yet visited, then with crossings undone in one sweep."""
    length, left = apart.cpu().tolist(), set(range(1, len(apart)))
    tour = [0]
    while left:
        tour.append(min(left, key=length[tour[-1]].__getitem__))
        left.remove(tour[-1])
    for first in range(1, len(tour) - 2):
        for last in range(first + 1, len(tour) - 1):
            a, b, c, d = tour[first - 1], tour[first], tour[last], tour[last + 1]
            if length[a][c] + length[b][d] < length[a][b] + length[c][d]:
                tour[first : last + 1] = tour[first : last + 1][::-1]
    return tour


@workload("fifteenth", "blocked")
def visited_stops() -> Work:
    """The order in which a van visits its stops: their distances on the device, the search for a tour on the host."""
    stops = 180 if ON_GPU else 10

    def step(place: torch.Tensor) -> list[int]:
        return shortened(torch.cdist(place, place))

    return Work(step, batches(lambda: (torch.rand(stops, 2, device=DEVICE),)))


def even(x: torch.Tensor) -> torch.Tensor:
    """Vectors divided by their size."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


class Acting(nn.Module):
    """Attention between what a robot senses, its queries and keys of even size, and a gated layer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.scales = heads, nn.ParameterList(torch.ones(width) for _ in range(2))
        self.project, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.enter, self.leave = nn.Linear(width, 4 * width, bias=False), nn.Linear(2 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.project(even(x) * self.scales[0]).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(even(parts[0]), even(parts[1]), parts[2])
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        gate, value = self.enter(even(x) * self.scales[1]).chunk(2, -1)
        return x + self.leave(F.silu(gate) * value)


@workload("fifteenth", "blocked")
def guarded_robot() -> Work:
    """The next moves of a robot's arm by a transformer; the host reads how likely they collide before they are sent."""
    senses, width, depth = (48, 256, 8) if ON_GPU else (6, 32, 2)
    model = inference(nn.Sequential(*[Acting(width, 4) for _ in range(depth)], nn.Linear(width, 8)), HALF)

    def step(sensed: torch.Tensor) -> torch.Tensor:
        out = model(sensed)
        moves = torch.tanh(out[..., :7]).float()
        collides = torch.sigmoid(out[..., 7].float()).mean()
        return moves if collides.item() < 0.9 else torch.zeros_like(moves)

    return Work(step, batches(lambda: (normal(1, senses, width, dtype=HALF),)))


class Watching(nn.Module):
    """Pictures through convolutions, remembered by recurrent layers of the vendor's library, and what to do."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        shapes = [(3, channels), *[(channels, channels)] * 4]
        layers = [nn.Conv2d(a, b, 3, stride=2, padding=1, bias=False) for a, b in shapes]
        self.see = nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU())])
        self.remember = nn.GRU(4 * channels, width, num_layers=2, batch_first=True)
        self.act = plain(width, width, width, 7)

    def forward(self, frame: torch.Tensor, memory: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        heard, memory = self.remember(self.see(frame).flatten(1).unsqueeze(0), memory)
        return self.act(heard[:, -1]), memory


@workload("fifteenth")
def watchful_robot() -> Work:
    """A gripper guided by the last pictures of its camera and by a recurrent memory."""
    return Work(inference(Watching(32, 256)), batches(lambda: (normal(2, 3, 64, 64), normal(2, 1, 256))))


class Valued(nn.Module):
    """How good actions are in states, through norms and smooth steps."""

    def __init__(self, known: int, width: int, depth: int) -> None:
        super().__init__()
        sizes = [known, *[width] * (depth - 1)]
        layers = [(nn.Linear(size, width), nn.LayerNorm(width), nn.Mish()) for size in sizes]
        self.layers = nn.Sequential(*[part for layer in layers for part in layer], nn.Linear(width, 1))

    def forward(self, state: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        return self.layers(torch.cat([state, action], -1)).squeeze(-1)


@workload("fifteenth", "training")
def cautious_values() -> Work:
    """Values learned from a plant's log by conservative Q-learning: what was never tried counts for less."""
    value = Valued(24, 128, 4).to(DEVICE)
    slow, optimizer = copy.deepcopy(value), adamw(value.parameters())

    def step(state: torch.Tensor, action: torch.Tensor, gain: torch.Tensor, tried: torch.Tensor) -> torch.Tensor:
        now, later = state.unbind(0)
        spread = later.unsqueeze(1).expand(-1, tried.shape[1], -1)
        with torch.no_grad():
            wanted = gain + 0.99 * slow(spread, tried).amax(1)
        optimizer.zero_grad(set_to_none=True)
        done, others = value(now, action), value(now.unsqueeze(1).expand_as(spread), tried)
        loss = F.smooth_l1_loss(done, wanted) + 0.5 * (torch.logsumexp(others, 1) - done).mean()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(slow.parameters(), value.parameters(), strict=True):
                old.lerp_(new, 0.005)
        return loss.detach()

    shapes = ((2, 128, 18), (128, 6), (128,), (128, 6, 6))
    return Work(step, batches(lambda: tuple(normal(*shape) for shape in shapes)))


class Traffic(nn.Module):
    """The speeds of cars on roads read hour by hour: gates over what a road and the roads that lead to it knew."""

    def __init__(self, roads: int, links: int, width: int) -> None:
        super().__init__()
        self.gates, self.fresh = nn.Linear(2 * width + 2, 2 * width), nn.Linear(2 * width + 2, width)
        self.say, self.width = nn.Linear(width, 12), width
        self.register_buffer("links", torch.randint(0, roads, (2, links)))
        self.weight = nn.Parameter(torch.rand(links, 1) / 4)

    def mixed(self, known: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        source, target = self.get_buffer("links").unbind(0)
        told = known.index_select(1, source) * self.weight
        return torch.cat([known, torch.zeros_like(known).index_add(1, target, told), seen], -1)

    def forward(self, past: torch.Tensor) -> torch.Tensor:
        known = past.new_zeros(*past.shape[1:3], self.width)
        for seen in past.unbind(0):
            keep, reset = torch.sigmoid(self.gates(self.mixed(known, seen))).chunk(2, -1)
            fresh = torch.tanh(self.fresh(self.mixed(reset * known, seen)))
            known = keep * known + (1 - keep) * fresh
        return self.say(known)


@workload("fifteenth", "training")
def predicted_traffic() -> Work:
    """The next hour on the roads of a town, learned by a recurrent network that passes messages along them."""
    roads, links, hours = (207, 1200, 8) if ON_GPU else (8, 20, 3)

    def loss(model: nn.Module, past: torch.Tensor, speed: torch.Tensor) -> torch.Tensor:
        return (model(past) - speed).abs().mean()

    step = training(Traffic(roads, links, 32), loss, adamw)
    return Work(step, batches(lambda: (normal(hours, 8, roads, 2), normal(8, roads, 12))))
