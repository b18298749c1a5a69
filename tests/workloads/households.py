"""Steps of a household: its photographs, sensors, meters, rooms, radio and the people in it."""

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
    adamw,
    batches,
    inference,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side


def developed(light: torch.Tensor) -> torch.Tensor:
    """Linear light (3, height, width) as the bytes of a picture: balanced, mixed, brightened and curved."""
    red, green, blue = light.clamp(min=0).unbind(0)
    warm = 3.4 * red - 0.5 * green - 0.2 * blue
    leafy = 1.5 * green - 0.4 * red - 0.5 * blue
    cold = 2.4 * blue - 0.5 * green
    mixed = torch.stack([warm, leafy, cold]).clamp(min=1e-4)
    toned = mixed * (1 + mixed / 4) / (1 + mixed)
    return (255 * toned.clamp(max=1) ** 0.4545 + 0.5).to(torch.uint8)


@workload("sixteenth")
def merged_bursts() -> Work:
    """A photograph at night from a burst of eight: what agrees with the first is averaged, and the rest developed."""
    frames, height, width = (8, 2400, 3200) if ON_GPU else (3, 12, 16)

    def step(burst: torch.Tensor) -> torch.Tensor:
        first = burst[:1]
        noise = 0.01 + 0.02 * first.clamp(min=0)
        trust = noise / (noise + (burst - first).square())
        return developed((trust * burst).sum(0) / trust.sum(0))

    return Work(step, batches(lambda: (torch.rand(frames, 3, height, width, device=DEVICE),), 3))


@workload("sixteenth")
def decoded_anchors() -> Work:
    """Boxes, certainties and classes from a detector's head over a day's pictures of a door, before any is dropped."""
    pictures, anchors, classes = (64, 25_200, 80) if ON_GPU else (2, 12, 5)
    place, size = 80 * torch.rand(anchors, 2, device=DEVICE), 10 + 100 * torch.rand(anchors, 2, device=DEVICE)
    stride = 8 * torch.ones(anchors, 1, device=DEVICE)

    def step(head: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        chance = head.sigmoid()
        middle = (2 * chance[..., :2] - 0.5 + place) * stride
        half = (2 * chance[..., 2:4]).square() * size / 2
        best = (chance[..., 4:5] * chance[..., 5:]).max(-1)
        return torch.cat([middle - half, middle + half], -1), best.values, best.indices

    return Work(step, batches(lambda: (normal(pictures, anchors, 5 + classes),), 3))


class Attending(nn.Module):
    """Graph attention between sensors that are linked (GATv2), around a shortcut, its result made even."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.both, self.out = heads, nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.weigh, self.norm = nn.Parameter(torch.randn(heads, width // heads)), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor, linked: torch.Tensor) -> torch.Tensor:
        own, other = (part.unflatten(-1, (self.heads, -1)) for part in self.both(x).chunk(2, -1))
        score = (F.leaky_relu(own.unsqueeze(2) + other.unsqueeze(1), 0.2) * self.weigh).sum(-1)
        share = score.masked_fill(~linked.unsqueeze(-1), -1e4).softmax(2)
        heard = torch.matmul(share.permute(0, 3, 1, 2), other.transpose(1, 2)).transpose(1, 2).flatten(2)
        return self.norm(x + F.elu(self.out(heard)))


class Home(nn.Module):
    """How likely each sensor of a home is that something is wrong, by rounds of graph attention."""

    def __init__(self, sensors: int, known: int, width: int, rounds: int) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(known, width), nn.Linear(width, 1)
        self.rounds = nn.ModuleList(Attending(width, 4) for _ in range(rounds))
        linked = (torch.rand(sensors, sensors) < 0.15) | torch.eye(sensors, dtype=torch.bool)
        self.register_buffer("linked", linked)

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        x = F.elu(self.enter(torch.asinh(seen)))
        for each in self.rounds:
            x = each(x, self.get_buffer("linked"))
        return torch.sigmoid(self.leave(x)).squeeze(-1)


@workload("sixteenth", "blocked")
def watched_home() -> Work:
    """A home's sensors judged over the graph of which are near each other; the host asks whether to ring."""
    sensors, rounds = (48, 10) if ON_GPU else (8, 2)
    model = inference(Home(sensors, 12, 64, rounds))

    def step(seen: torch.Tensor) -> torch.Tensor:
        wrong = model(seen)
        if wrong.amax().item() < 0.001:
            return torch.zeros_like(wrong)
        return wrong

    return Work(step, batches(lambda: (normal(2, sensors, 12),)))


class Rooms(nn.Module):
    """How fast rooms warm up, by what they are like and what heats them."""

    def __init__(self, rooms: int, width: int) -> None:
        super().__init__()
        self.body = perceptron(rooms + 6, width, width, rooms, activation=nn.SiLU)

    def forward(self, warm: torch.Tensor, outside: torch.Tensor) -> torch.Tensor:
        changed = self.body(torch.cat([warm, outside], -1))
        return 0.5 * torch.tanh(changed) + 0.1 * (outside[:, :1] - warm)


def foretold(model: nn.Module, warm: torch.Tensor, weather: torch.Tensor, hour: float) -> torch.Tensor:
    """Temperatures (times, houses, rooms) under weather (times, houses, 6), by the classical Runge-Kutta method."""
    past: list[torch.Tensor] = []
    for outside in weather.unbind(0):
        first = model(warm, outside)
        second = model(warm + 0.5 * hour * first, outside)
        third = model(warm + 0.5 * hour * second, outside)
        fourth = model(warm + hour * third, outside)
        warm = warm + hour / 6 * (first + 2 * second + 2 * third + fourth)
        past.append(warm)
    return torch.stack(past)


@workload("sixteenth", "training")
def learned_heating() -> Work:
    """A neural differential equation of how rooms warm up, learned from some hours of many houses."""
    houses, rooms, width, hours = (64, 10, 64, 8) if ON_GPU else (4, 3, 8, 2)

    def loss(model: nn.Module, warm: torch.Tensor, weather: torch.Tensor, measured: torch.Tensor) -> torch.Tensor:
        return F.smooth_l1_loss(foretold(model, warm, weather, 0.5), measured)

    def batch() -> Inputs:
        return normal(houses, rooms), normal(hours, houses, 6), normal(hours, houses, rooms)

    return Work(training(Rooms(rooms, width), loss, adamw), batches(batch))


class Jointed(nn.Module):
    """Attention between joints, by how far apart they are on the body, and a gated layer, both scaled."""

    def __init__(self, width: int, heads: int, joints: int) -> None:
        super().__init__()
        self.heads, self.near = heads, nn.Parameter(torch.randn(heads, joints, joints))
        self.norms, self.scales = (nn.ParameterList(torch.ones(width) for _ in range(2)) for _ in range(2))
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.enter, self.leave = nn.Linear(width, 4 * width), nn.Linear(2 * width, width)

    def even(self, x: torch.Tensor, at: int) -> torch.Tensor:
        away = x - x.mean(-1, keepdim=True)
        return away * torch.rsqrt(away.square().mean(-1, keepdim=True) + 1e-6) * self.norms[at]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.project(self.even(x, 0)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        score = torch.matmul(query, key.transpose(2, 3)) * query.shape[-1] ** -0.5
        mixed = torch.matmul((20 * torch.tanh((score + self.near) / 20)).softmax(-1), value)
        x = x + self.scales[0] * self.out(mixed.transpose(1, 2).flatten(2))
        gate, linear = self.enter(self.even(x, 1)).chunk(2, -1)
        return x + self.scales[1] * self.leave(F.gelu(gate) * linear)


@workload("sixteenth")
def lifted_poses() -> Work:
    """Where the joints of people are in space, from where a camera saw them, for exercises at home."""
    joints, width, depth = (17, 128, 10) if ON_GPU else (5, 32, 2)
    body = [Jointed(width, 4, joints) for _ in range(depth)]
    model = inference(nn.Sequential(nn.Linear(3, width), *body, nn.Linear(width, 3)))
    return Work(model, batches(lambda: (normal(9, joints, 3),)))


@workload("sixteenth")
def received_symbols() -> Work:
    """Symbols that a router hears with four antennas: guessed, the channel learned from the guess, and guessed anew."""
    antennas, symbols, carriers, prefix = 4, 14, 512, 36
    known = torch.exp(1j * torch.pi * torch.randint(0, 4, (1, carriers), device=DEVICE) / 2)
    early = (torch.arange(carriers, device=DEVICE) < prefix).to(torch.complex64)

    def step(heard: torch.Tensor) -> torch.Tensor:
        spectrum: torch.Tensor = torch.fft.fft(heard[..., prefix:])
        guess = known
        for _ in range(5):
            rough: torch.Tensor = (spectrum * guess.conj()).mean(1)
            channel: torch.Tensor = torch.fft.fft(torch.fft.ifft(rough) * early)
            power = (channel * channel.conj()).sum(0)
            joined = (spectrum * channel.conj().unsqueeze(1)).sum(0) / power
            guess = torch.sgn(joined)
        return guess

    return Work(step, batches(lambda: (normal(antennas, symbols, prefix + carriers, dtype=torch.complex64),)))


class Appliances(nn.Module):
    """What each appliance draws, from what all draw together, by the vendor's recurrent layers in both directions."""

    def __init__(self, width: int, appliances: int) -> None:
        super().__init__()
        self.see = nn.Conv1d(1, 16, 5, padding=2)
        self.read = nn.GRU(16, width, num_layers=2, batch_first=True, bidirectional=True)
        self.say = nn.Linear(2 * width, appliances)

    def forward(self, power: torch.Tensor) -> torch.Tensor:
        return self.say(self.read(F.relu(self.see(power)).transpose(1, 2))[0])


@workload("sixteenth", "training")
def split_meters() -> Work:
    """A recurrent network that learns to tell from a meter what each appliance draws."""
    minutes = 32 if ON_GPU else 8

    def loss(model: nn.Module, power: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(model(power), drawn)

    step = training(Appliances(64, 6), loss, adamw)
    return Work(step, batches(lambda: (normal(16, 1, minutes), normal(16, minutes, 6))))


def surveyed(
    place: torch.Tensor, seen: torch.Tensor, lower: torch.Tensor, weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """What a Gaussian process expects at places (places, 3), and how unsure it is, from the factor of what it saw."""
    near = torch.exp(-0.5 * torch.cdist(seen, place).square())
    half: torch.Tensor = torch.linalg.solve_triangular(lower, near, upper=False)
    return weight @ near, 1 - half.square().sum(0)


@workload("sixteenth", "streams")
def surveyed_rooms() -> Work:
    """Warmth, damp, light and noise all over a flat by Gaussian processes of its sensors, a stream for each."""
    readings = 512 if ON_GPU else 12
    processes: list[Inputs] = []
    for _ in range(4):
        seen = 4 * normal(readings, 3)
        covariance = torch.exp(-0.5 * torch.cdist(seen, seen).square()) + 0.1 * torch.eye(readings, device=DEVICE)
        processes.append((seen, torch.linalg.cholesky(covariance), normal(readings)))
    streams = [torch.cuda.Stream() for _ in processes]

    def step(place: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
        return side_by_side([partial(surveyed, place, *process) for process in processes], streams)

    return Work(step, batches(lambda: (4 * normal(64, 3),)))


@workload("sixteenth")
def compared_habits() -> Work:
    """How far the days of many households are from each of the usual ones, by the sum of what differs at each hour."""
    days, usual, quarters = (8192, 512, 96) if ON_GPU else (16, 4, 12)
    habits = torch.rand(usual, quarters, device=DEVICE)

    def step(day: torch.Tensor) -> torch.Tensor:
        return torch.cdist(day, habits, p=1.0)

    return Work(step, batches(lambda: (torch.rand(days, quarters, device=DEVICE),)))
