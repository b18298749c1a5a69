"""Steps of search: documents found, passages ranked, and what learns to compare pictures, sounds and words."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import plain
from tests.workloads.registry import DEVICE, ON_GPU, Inputs, Work, batches, fused_adamw, integers, normal, workload
from tests.workloads.streams import side_by_side

HALF = torch.bfloat16


@workload("eleventh", "blocked")
def nearest_documents() -> Work:
    """The documents nearest to a thousand queries, compared with all of them in full precision, sent to the host."""
    queries, documents, width = (1024, 262_144, 256) if ON_GPU else (4, 64, 16)
    index = normal(width, documents) / width**0.5

    def step(query: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found = (query @ index).topk(32)
        return found.values.cpu(), found.indices.cpu()

    return Work(step, batches(lambda: (normal(queries, width),)))


@workload("eleventh", "blocked")
def matched_passages() -> Work:
    """Passages ranked by how well any of their words match each word of a query, until the host sees a good one."""
    queries, words, passages, length = (16, 32, 4096, 128) if ON_GPU else (2, 4, 12, 8)
    places = torch.arange(length, device=DEVICE)

    def step(query: torch.Tensor, passage: torch.Tensor, size: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = (query.flatten(0, 1) @ passage.flatten(0, 1).T).view(queries, words, passages, length)
        missing = places >= size.unsqueeze(1)
        matched = (20 * scores.float()).masked_fill(missing, -1e4).logsumexp(-1) / 20
        total = (matched * torch.sigmoid(4 * matched)).mean(1)
        best = total.topk(10).values
        if best.amax().item() < -1.0:
            return total[:, :0], best[:, :0]
        return total, best

    def batch() -> Inputs:
        query, passage = normal(queries, words, 128), normal(passages, length, 128)
        return F.normalize(query, dim=-1).to(HALF), F.normalize(passage, dim=-1).to(HALF), 20 + integers(100, passages)

    return Work(step, batches(batch, 3))


@workload("eleventh", "streams", "training")
def bound_modalities() -> Work:
    """Pictures, sounds and words through three towers, a stream for each, that learn what belongs together."""
    rows, sizes = 128, (768, 512, 384)
    towers = nn.ModuleList(plain(size, *[512] * 6, 256) for size in sizes).to(DEVICE, HALF).train()
    optimizer, streams = fused_adamw(towers.parameters()), [torch.cuda.Stream() for _ in sizes]
    own = torch.arange(rows, device=DEVICE)

    def told_apart(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        scores = 14.0 * F.normalize(first, dim=-1) @ F.normalize(second, dim=-1).T
        return (F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)) / 2

    def step(*parts: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        tasks = [partial(tower, part) for tower, part in zip(towers, parts, strict=True)]
        picture, *others = (seen.float() for seen in side_by_side(tasks, streams))
        loss = torch.stack([told_apart(picture, other) for other in others]).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Work(step, batches(lambda: tuple(normal(rows, size, dtype=HALF) for size in sizes)))
