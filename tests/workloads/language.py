"""Steps of language models."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import DEVICE, Work, batches, integers, momentum, normal, training, workload

HALF = torch.bfloat16


@workload("fourth", "training")
def distilled_head() -> Work:
    """A language model's head trained on the softened predictions of a larger model, padding masked out."""

    def loss(model: nn.Module, hidden: torch.Tensor, teacher: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        student = (model(hidden).float() / 2.0).log_softmax(-1)
        wanted = (teacher.float() / 2.0).softmax(-1)
        each = F.kl_div(student, wanted, reduction="none").sum(-1)
        return (each * real).sum() / real.sum()

    step = training(nn.Linear(512, 32000, bias=False), loss, momentum, HALF)
    shapes = ((4096, 512), (4096, 32000))
    return Work(step, batches(lambda: (*(normal(*s, dtype=HALF) for s in shapes), integers(4, 4096).clamp(max=1)), 2))


@workload("fourth")
def packed_weights() -> Work:
    """The feed-forward layers of a large model, their weights of four bits unpacked and scaled in groups before use."""
    shapes = ((14336, 8192), (8192, 14336), (14336, 8192), (8192, 14336))
    packed = [integers(256, rows, columns // 2).to(torch.uint8) for rows, columns in shapes]
    scales = [normal(rows, columns // 128, dtype=HALF).abs() / 400 for rows, columns in shapes]

    def unpacked(pairs: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        values = torch.stack([pairs & 15, pairs >> 4], -1).flatten(1).to(HALF) - 8
        return (values.unflatten(1, (-1, 128)) * scale.unsqueeze(-1)).flatten(1)

    def step(x: torch.Tensor) -> torch.Tensor:
        for pairs, scale in zip(packed, scales, strict=True):
            x = x @ unpacked(pairs, scale).T
        return x

    return Work(step, batches(lambda: (normal(16, 8192, dtype=HALF),)))


class PagedLayer(nn.Module):
    """A decoder layer that keeps keys and values in pages, which a table assigns to the requests."""

    def __init__(self, width: int, heads: int, pages: int) -> None:
        super().__init__()
        self.heads, self.first, self.second = heads, nn.RMSNorm(width), nn.RMSNorm(width)
        self.project, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up, self.down = (nn.Linear(*s, bias=False) for s in [(width, 1024)] * 2 + [(1024, width)])
        self.pages: torch.Tensor
        self.register_buffer("pages", torch.randn(2, pages, 16, heads, width // heads))

    def forward(self, x: torch.Tensor, table: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        query, *fresh = self.project(self.first(x)).unflatten(-1, (3, self.heads, -1)).unbind(1)
        page = table.gather(1, at.unsqueeze(1) // 16).squeeze(1)
        self.pages[:, page, at % 16] = torch.stack(fresh)
        keys, values = self.pages[:, table].flatten(2, 3).transpose(2, 3).unbind(0)
        seen = (torch.arange(keys.shape[2], device=x.device) <= at.unsqueeze(1))[:, None, None]
        mixed = F.scaled_dot_product_attention(query.unsqueeze(2), keys, values, attn_mask=seen)
        x = x + self.out(mixed.flatten(1))
        hidden = self.second(x)
        return x + self.down(F.silu(self.gate(hidden)) * self.up(hidden))


@workload("fourth")
def paged_decoding() -> Work:
    """One token for each of several requests, whose keys and values lie in pages of one pool."""
    requests, blocks, width = 8, 12, 512
    layers = nn.ModuleList(PagedLayer(width, 8, requests * blocks) for _ in range(8)).to(DEVICE, HALF).eval()
    table = torch.randperm(requests * blocks).view(requests, blocks).to(DEVICE)

    def step(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            for layer in layers:
                x = layer(x, table, at)
            return x

    return Work(step, batches(lambda: (normal(requests, width, dtype=HALF), 100 + integers(80, requests))))
