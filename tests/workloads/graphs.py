"""Steps on graphs of relations and of likings."""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional as F

from tests.workloads.registry import Work, batches, fused_adamw, integers, normal, training, workload

EDGES = "(Tensor x, Tensor source, Tensor target) -> Tensor"


@torch.library.custom_op("relations::spread", mutates_args=(), schema=EDGES)
def spread(x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """What every node receives by each relation: an operator of a package, which a compiler does not look into."""
    out = x.new_zeros(len(source), *x.shape)
    for received, start, end in zip(out, source, target, strict=True):
        received.index_add_(0, end, x.index_select(0, start))
    return out


@torch.library.custom_op("relations::collect", mutates_args=(), schema=EDGES)
def collect(x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """What every node gets back of what was received by each relation."""
    out = x.new_zeros(x.shape[1:])
    for received, start, end in zip(x, source, target, strict=True):
        out.index_add_(0, start, received.index_select(0, end))
    return out


@spread.register_fake
def spread_shape(x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return x.new_empty(source.shape[0], *x.shape)


@collect.register_fake
def collect_shape(x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return x.new_empty(x.shape[1:])


def keep_edges(ctx: FunctionCtx, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
    ctx.save_for_backward(*inputs[1:])


def spread_back(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
    return collect(gradient.contiguous(), *ctx.saved_tensors), None, None


spread.register_autograd(spread_back, setup_context=keep_edges)


class Relations(nn.Module):
    """Nodes updated by what they receive, a matrix for each relation."""

    def __init__(self, relations: int, inputs: int, outputs: int, edges: torch.Tensor) -> None:
        super().__init__()
        self.weight, self.own = nn.Parameter(torch.randn(relations, inputs, outputs) / 16), nn.Linear(inputs, outputs)
        self.edges = edges

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.own(x) + torch.bmm(spread(x, *self.edges), self.weight).sum(0)


@workload("sixth", "training")
def relation_messages() -> Work:
    """Kinds of the things in a knowledge graph learned from eight relations, by an operator of a graph package."""
    nodes, relations = 2000, 8
    edges = integers(nodes, 2, relations, 3000)
    sizes = ((32, 32), (32, 32), (32, 16))
    layers = [layer for size in sizes for layer in (Relations(relations, *size, edges), nn.ReLU())]
    step = training(nn.Sequential(*layers[:-1]), lambda model, x, kind: F.cross_entropy(model(x), kind), fused_adamw)
    return Work(step, batches(lambda: (normal(nodes, 32), integers(16, nodes))))


@workload("sixth", "blocked")
def liked_by_others() -> Work:
    """Features spread three times over a large sparse graph of users and items; the best items go to the host."""
    nodes, items = 300_000, 100_000
    ends, weight = integers(nodes, 2, 4_000_000), normal(4_000_000).abs() / 24
    both = torch.cat([ends, ends.flip(0)], 1), torch.cat([weight, weight])
    graph = torch.sparse_coo_tensor(*both, (nodes, nodes)).coalesce().to_sparse_csr()

    def step(features: torch.Tensor, users: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            features = graph @ features
        return (features[users] @ features[-items:].T).topk(20).indices.cpu()

    return Work(step, batches(lambda: (normal(nodes, 64), integers(nodes - items, 512))))
