"""Steps of a few large library kernels, which neither fusion nor replay can shorten by much."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import Work, batches, inference, integers, normal, workload

HALF = torch.bfloat16


@workload("calibration")
def sort_and_count() -> Work:
    """Ranks of 16 million values, and how many of them fall into each bin."""

    def step(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return values.sort().indices, torch.histc(values, 512, -4.0, 4.0)

    return Work(step, batches(lambda: (normal(16 << 20),), 2))


@workload("calibration")
def wide_projections() -> Work:
    """Three bias-free projections of a large batch in half precision."""
    weights = [normal(6144, 6144, dtype=HALF) / 64 for _ in range(3)]

    def step(x: torch.Tensor) -> torch.Tensor:
        for weight in weights:
            x = x @ weight
        return x

    return Work(step, batches(lambda: (normal(6144, 6144, dtype=HALF),)))


@workload("unseen")
def volumetric_convolutions() -> Work:
    """Convolutions over a volume."""
    layers = [nn.Conv3d(32, 64, 3, padding=1, bias=False), nn.Conv3d(64, 64, 3, padding=1, bias=False)]
    return Work(inference(nn.Sequential(*layers), HALF), batches(lambda: (normal(2, 32, 64, 64, 64, dtype=HALF),)))


@workload("validation")
def long_attention() -> Work:
    """Causal attention over long sequences, the queries and keys given."""

    def step(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)

    return Work(step, batches(lambda: tuple(normal(2, 16, 8192, 128, dtype=HALF) for _ in range(3))))


@workload("validation")
def batched_products() -> Work:
    """Products of many pairs of matrices."""

    def step(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.bmm(torch.bmm(a, b), b)

    return Work(step, batches(lambda: (normal(256, 1024, 1024, dtype=HALF), normal(256, 1024, 1024, dtype=HALF))))


@workload("validation")
def grouped_convolutions() -> Work:
    """A stem and a grouped convolution on large images, without activations."""
    layers = [nn.Conv2d(64, 256, 3, padding=1, bias=False), nn.Conv2d(256, 256, 3, padding=1, groups=8, bias=False)]
    model = nn.Sequential(*layers).to(memory_format=torch.channels_last)
    images = batches(lambda: (normal(16, 64, 160, 160, dtype=HALF).to(memory_format=torch.channels_last),))
    return Work(inference(model, HALF), images)


@workload("unseen")
def nearest_codes() -> Work:
    """The nearest of many codes for each vector: a large product and its rows' minima."""
    codes = normal(8192, 256)

    def step(vectors: torch.Tensor) -> torch.Tensor:
        return torch.cdist(vectors, codes).topk(4, largest=False).indices

    return Work(step, batches(lambda: (normal(32768, 256),)))


@workload("third")
def two_gathers() -> Work:
    """Two look-ups: too little to gain from anything."""
    table = normal(100_000, 64)

    def step(index: torch.Tensor) -> torch.Tensor:
        return table[index].sum(1)

    return Work(step, batches(lambda: (integers(100_000, 256, 8),)))
