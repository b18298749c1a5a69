"""Steps whose time goes into moving tensors through memory, which fusion shortens."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from tests.workloads.registry import Work, batches, integers, normal, workload

HALF = torch.bfloat16


@workload("calibration")
def residual_norms() -> Work:
    """Residual additions and layer norms written out, on a large activation."""
    scale, shift = normal(4096), normal(4096)

    def norm(x: torch.Tensor) -> torch.Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-5) * scale + shift

    def step(x: torch.Tensor) -> torch.Tensor:
        for _ in range(4):
            x = x + 0.5 * norm(x)
        return x

    return Work(step, batches(lambda: (normal(16384, 4096),)))


@workload("unseen")
def gated_activation() -> Work:
    """A gated unit with a written-out GELU in half precision, and the channel statistics of its result."""

    def step(both: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        gate, value = both.chunk(2, -1)
        cubic = gate + 0.044715 * gate * gate * gate
        active = 0.5 * gate * (1 + torch.tanh(0.7978845608 * cubic)) * value
        return active, active.float().square().mean(0)

    return Work(step, batches(lambda: (normal(32768, 4096, dtype=HALF),)))


@workload("third")
def heat_equation() -> Work:
    """Explicit steps of diffusion on a grid with a reaction term, by shifted slices."""

    def step(field: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            around = field.roll(1, 0) + field.roll(-1, 0) + field.roll(1, 1) + field.roll(-1, 1)
            field = field + 0.1 * (around - 4 * field) + 0.01 * field * (1 - field)
        return field

    return Work(step, batches(lambda: (normal(6144, 6144),)))


@workload("validation")
def image_augmentation() -> Work:
    """Normalisation, colour jitter and cut-out on a batch of byte images."""
    mean, deviation = normal(1, 3, 1, 1), normal(1, 3, 1, 1).abs() + 0.5

    def step(images: torch.Tensor, contrast: torch.Tensor) -> torch.Tensor:
        x = images.float() / 255
        grey = (0.299 * x[:, :1] + 0.587 * x[:, 1:2] + 0.114 * x[:, 2:]).expand_as(x)
        x = (grey + contrast.view(-1, 1, 1, 1) * (x - grey)).clamp(0, 1)
        return ((x - mean) / deviation).to(torch.float16)

    return Work(step, batches(lambda: (integers(256, 128, 3, 384, 384).to(torch.uint8), normal(128).abs())))


@workload("validation")
def rotary_embedding() -> Work:
    """Rotary positions on large queries and keys, norms of both before."""
    angle = torch.outer(torch.arange(4096.0), 1e4 ** (-torch.arange(0, 128, 2) / 128.0)).to(normal(1).device)
    cosine, sine = (function(torch.cat([angle, angle], -1)) for function in (torch.cos, torch.sin))

    def rotate(x: torch.Tensor) -> torch.Tensor:
        x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
        first, second = x.chunk(2, -1)
        return x * cosine + torch.cat([-second, first], -1) * sine

    def step(query: torch.Tensor, key: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return rotate(query), rotate(key)

    return Work(step, batches(lambda: (normal(4, 16, 4096, 128), normal(4, 16, 4096, 128))))


@workload("validation")
def focal_loss() -> Work:
    """A focal loss with label smoothing over many classes, written out."""

    def step(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        shifted = logits - logits.amax(-1, keepdim=True)
        log_probability = shifted - shifted.exp().sum(-1, keepdim=True).log()
        smooth = 0.9 * F.one_hot(target, logits.shape[-1]) + 0.1 / logits.shape[-1]
        weight = (1 - log_probability.exp()).square()
        return -(weight * smooth * log_probability).sum(-1).mean()

    return Work(step, batches(lambda: (normal(32768, 1000), integers(1000, 32768))))


@workload("unseen")
def volume_rendering() -> Work:
    """Colours along many rays from densities: exponentials and a running product."""

    def step(density: torch.Tensor, colour: torch.Tensor) -> torch.Tensor:
        alpha = 1 - torch.exp(-F.softplus(density) * 0.02)
        through = torch.cumprod(1 - alpha + 1e-10, -1)
        weight = alpha * torch.cat([torch.ones_like(through[:, :1]), through[:, :-1]], -1)
        return (weight.unsqueeze(-1) * torch.sigmoid(colour)).sum(1)

    return Work(step, batches(lambda: (normal(65536, 128), normal(65536, 128, 3))))
