"""Building blocks that several workloads share."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F


class Residual(nn.Module):
    """Group norm, SiLU and convolution, twice, around a shortcut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        norms = [nn.GroupNorm(8, channels) for _ in range(2)]
        convolutions = [nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2)]
        self.pairs = nn.ModuleList(nn.ModuleList(pair) for pair in zip(norms, convolutions, strict=True))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = x
        for norm, convolution in self.pairs:
            hidden = convolution(F.silu(norm(hidden)))
        return x + hidden


class Attention(nn.Module):
    """Self-attention with its projections."""

    def __init__(self, width: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.project(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Encoder(nn.Module):
    """A pre-norm transformer layer."""

    def __init__(self, width: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.attention, self.first, self.second = (
            Attention(width, heads, causal),
            nn.LayerNorm(width),
            nn.LayerNorm(width),
        )
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.first(x))
        return x + self.feed(self.second(x))


def perceptron(*widths: int, activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    """Linear layers with activations between them."""
    layers = [layer for inputs, outputs in pairwise(widths) for layer in (nn.Linear(inputs, outputs), activation())]
    return nn.Sequential(*layers[:-1])


def plain(*widths: int) -> nn.Sequential:
    """Linear layers without biases, cut at zero between them, that keep the size of what they see."""
    model = nn.Sequential(*[part for a, b in pairwise(widths) for part in (nn.Linear(a, b, bias=False), nn.ReLU())])
    for layer in model[::2]:
        nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
    return model[:-1]
