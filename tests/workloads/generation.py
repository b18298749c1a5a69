"""Steps of diffusion: what makes videos and molecules out of noise."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import perceptron
from tests.workloads.registry import DEVICE, ON_GPU, Inputs, Work, batches, normal, workload


@workload("eleventh")
def guided_video() -> Work:
    """One update of a sampler of videos: guidance, brought back to its usual size, in the second order."""
    videos, frames, side = (4, 32, 128) if ON_GPU else (2, 2, 8)
    signal, noise, signal_after, noise_after, ratio = 0.8, 0.6, 0.86, 0.51, 0.9

    def size(x: torch.Tensor) -> torch.Tensor:
        return x.flatten(1).std(1).view(-1, 1, 1, 1, 1)

    def step(
        latent: torch.Tensor, free: torch.Tensor, led: torch.Tensor, before: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        guided = free + 7.5 * (led - free)
        guided = 0.7 * guided * (size(led) / size(guided)) + 0.3 * guided
        clean = 4 * torch.tanh((signal * latent - noise * guided) / 4)
        second = (1 + 0.5 / ratio) * clean - (0.5 / ratio) * before
        direction = (latent - signal * second) / noise
        return signal_after * second + noise_after * direction, clean

    return Work(step, batches(lambda: tuple(normal(videos, 16, frames, side, side) for _ in range(4)), 3))


class Moved(nn.Module):
    """Atoms moved and updated by messages between all pairs of them, whichever way the molecule is turned."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own, self.other = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.far, self.message = nn.Parameter(torch.randn(width) / 8), nn.Linear(width, width)
        self.weigh, self.move = nn.Linear(width, 1), perceptron(width, width, 1, activation=nn.SiLU)
        self.update = perceptron(2 * width, width, width, activation=nn.SiLU)

    def forward(self, x: torch.Tensor, place: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        away = place.unsqueeze(2) - place.unsqueeze(1)
        far = away.square().sum(-1, keepdim=True)
        pair = self.own(x).unsqueeze(2) + self.other(x).unsqueeze(1) + torch.log1p(far) * self.far
        message = F.silu(self.message(F.silu(pair)))
        message = message * torch.sigmoid(self.weigh(message))
        place = place + (away / (far + 1).sqrt() * torch.tanh(self.move(message))).mean(2)
        return x + self.update(torch.cat([x, message.sum(2)], -1)), place


@workload("eleventh")
def denoised_molecules() -> Work:
    """Molecules a little less noisy: kinds and places of their atoms, by two steps of an equivariant diffusion."""
    molecules, atoms, width = (16, 20, 64) if ON_GPU else (2, 5, 64)
    layers = nn.ModuleList(Moved(width) for _ in range(4)).to(DEVICE).eval()
    enter, leave = nn.Linear(8, width).to(DEVICE), nn.Linear(width, 8).to(DEVICE)
    moments = normal(2, width).unbind(0)

    def noise(kind: torch.Tensor, place: torch.Tensor, moment: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, moved = enter(kind) + moment, place
        for layer in layers:
            x, moved = layer(x, moved)
        moved = moved - place
        return leave(x), moved - moved.mean(1, keepdim=True)

    def step(kind: torch.Tensor, place: torch.Tensor, luck: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            for moment, (keep, take) in zip(moments, ((1.05, 0.2), (1.02, 0.1)), strict=True):
                of_kind, of_place = noise(kind, place, moment)
                kind, place = keep * kind - take * of_kind, keep * place - take * of_place + 0.01 * luck
            return kind.softmax(-1), place

    def batch() -> Inputs:
        return normal(molecules, atoms, 8), normal(molecules, atoms, 3), normal(molecules, atoms, 3)

    return Work(step, batches(batch))
