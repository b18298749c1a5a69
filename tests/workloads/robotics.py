"""Steps of robots: what they sense and how they move."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import perceptron, plain
from tests.workloads.registry import DEVICE, Work, batches, normal, workload
from tests.workloads.streams import side_by_side


class Conditioned(nn.Module):
    """Convolutions over time with group norms and Mish, scaled and shifted by what the robot sees."""

    def __init__(self, channels: int, seen: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv1d(channels, channels, 5, padding=2) for _ in range(2))
        self.norms = nn.ModuleList(nn.GroupNorm(8, channels) for _ in range(2))
        self.condition = nn.Linear(seen, 2 * channels)

    def forward(self, x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        scale, shift = self.condition(F.mish(seen)).unsqueeze(-1).chunk(2, 1)
        hidden = F.mish(self.norms[0](self.first(x))) * (1 + scale) + shift
        return x + F.mish(self.norms[1](self.second(hidden)))


class Mover(nn.Module):
    """The noise in a trajectory, as a network sees it."""

    def __init__(self, joints: int, channels: int, seen: int) -> None:
        super().__init__()
        self.enter, self.leave = nn.Conv1d(joints, channels, 1), nn.Conv1d(channels, joints, 1)
        self.blocks = nn.ModuleList(Conditioned(channels, seen) for _ in range(4))

    def forward(self, path: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        x = self.enter(path)
        for block in self.blocks:
            x = block(x, seen)
        return self.leave(x)


@workload("sixth")
def trajectory_denoising() -> Work:
    """The next movements of a robot arm from noise, by four steps of a diffusion policy."""
    mover, moments = Mover(7, 128, 128).to(DEVICE).eval(), normal(4, 128)
    left = (0.05, 0.3, 0.7, 0.95, 1.0)

    def step(path: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            for moment, now, after in zip(moments, left, left[1:], strict=False):
                noise = mover(path, seen + moment)
                clean = ((path - (1 - now) ** 0.5 * noise) / now**0.5).clamp(-1, 1)
                path = after**0.5 * clean + (1 - after) ** 0.5 * noise
            return path

    return Work(step, batches(lambda: (normal(8, 7, 16), normal(8, 128))))


@workload("sixth", "blocked")
def laser_calibration() -> Work:
    """The returns of a laser scanner, another number at every step, corrected, placed in space and rated."""

    def step(
        distance: torch.Tensor, turn: torch.Tensor, tilt: torch.Tensor, strength: torch.Tensor, moment: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        far = distance * (1.0 + 2e-5 * distance) + 0.03 * torch.exp(-distance)
        flat, heading = far * torch.cos(tilt), 0.12 * moment
        right, ahead, up = flat * torch.cos(turn), flat * torch.sin(turn), far * torch.sin(tilt)
        east = right * torch.cos(heading) - ahead * torch.sin(heading) + 1.4 * moment
        north = right * torch.sin(heading) + ahead * torch.cos(heading)
        bright = torch.log1p((strength * far.square() / 400.0).clamp(0.0, 1e3))
        level = torch.tanh(0.5 * bright - 1.0) * torch.exp(-0.02 * far)
        ring, column = (tilt * 80.0 + 32.0).clamp(0, 63).long(), (turn * 163.0 + 512.0).clamp(0, 1023).long()
        return torch.stack([east, north, up, level]).half(), ring * 1024 + column, torch.sigmoid(4.0 * level) * flat

    def returns(count: int) -> tuple[torch.Tensor, ...]:
        distance, strength, moment = (normal(count).abs() for _ in range(3))
        return 20.0 * distance, normal(count), 0.2 * normal(count), strength, 0.1 * moment

    return Work(step, [returns(count) for count in range(10_000_000, 12_000_000, 500_123)])


@torch.compiler.disable
def pushed(states: torch.Tensor, pushes: torch.Tensor) -> torch.Tensor:
    """Carts with poles a tick later, by a simulator on the host."""
    (place, speed, angle, turn), push = states.numpy().T, 10 * pushes.numpy()[:, 0]
    sine, cosine = np.sin(angle), np.cos(angle)
    pull = (push + 0.05 * turn**2 * sine) / 1.1
    swing = (9.8 * sine - cosine * pull) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    thrust = pull - 0.05 * swing * cosine / 1.1
    moved = (place + 0.02 * speed, speed + 0.02 * thrust, angle + 0.02 * turn, turn + 0.02 * swing)
    return torch.from_numpy(np.clip(np.stack(moved, 1), -3, 3))


@workload("eighth", "blocked")
def acting_in_simulation() -> Work:
    """A policy that balances poles for sixteen ticks of a simulator on the host."""
    policy = perceptron(4, 64, 64, 1, activation=nn.Tanh).to(DEVICE)

    def step(states: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            for _ in range(16):
                states = pushed(states, torch.tanh(policy(states.to(DEVICE))).cpu())
            return states

    return Work(step, batches(lambda: (torch.randn(512, 4) / 8,)))


@workload("ninth", "streams")
def ensemble_planning() -> Work:
    """Plans of a robot tried out in five models of its world, each on a stream, and rated by how far they get."""
    worlds = [plain(40, 512, 512, 32).to(DEVICE).eval() for _ in range(5)]
    streams, goal = [torch.cuda.Stream() for _ in worlds], normal(32, 1)

    def tried(world: nn.Module, state: torch.Tensor, plan: torch.Tensor) -> torch.Tensor:
        for action in plan.unbind(0):
            state = world(torch.cat([state, action], -1))
        return state

    def step(state: torch.Tensor, plan: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            ends = side_by_side([partial(tried, world, state, plan) for world in worlds], streams)
            return torch.stack(ends).mean(0) @ goal

    return Work(step, batches(lambda: (normal(192, 32), normal(6, 192, 8))))
