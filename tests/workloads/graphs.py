"""Steps on graphs: of relations, of likings, of accounts."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional as F

from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Work,
    batches,
    fused_adamw,
    integers,
    normal,
    training,
    workload,
)

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


class Neighbours:
    """A graph in host memory, with the features of its nodes, from which neighbours are drawn."""

    def __init__(self, nodes: int, edges: int, width: int) -> None:
        draw = np.random.default_rng(0)
        degrees = draw.multinomial(edges - nodes, np.full(nodes, 1 / nodes)) + 1
        self.starts = np.concatenate([[0], degrees.cumsum()])
        self.ends = draw.integers(nodes, size=edges)
        self.features = draw.standard_normal((nodes, width), dtype=np.float32)

    def drawn(self, nodes: NDArray[np.int64], luck: NDArray[np.float32]) -> NDArray[np.int64]:
        """As many neighbours of each node as there are columns of random numbers below one."""
        first = self.starts[nodes]
        place = (luck * (self.starts[nodes + 1] - first)[:, None]).astype(np.int64)
        return self.ends[first[:, None] + place].ravel()

    @torch.compiler.disable
    def around(self, nodes: torch.Tensor, *lucks: torch.Tensor) -> list[torch.Tensor]:
        """Features of nodes, of neighbours of each, and of neighbours of those, on the device."""
        rings = [nodes.numpy()]
        for luck in lucks:
            rings.append(self.drawn(rings[-1], luck.numpy()))
        return [torch.from_numpy(self.features[ring]).to(DEVICE) for ring in rings]


class Averaged(nn.Module):
    """Nodes updated by themselves and the mean of their neighbours."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.own, self.near = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False)

    def forward(self, x: torch.Tensor, around: torch.Tensor) -> torch.Tensor:
        return self.own(x) + self.near(around.unflatten(0, (len(x), -1)).mean(1))


@workload("ninth", "blocked")
def sampled_neighbours() -> Work:
    """Accounts of a large graph judged by neighbours that the host draws, with features it keeps for them."""
    graph, seeds = Neighbours(200_000, 2_000_000, 96) if ON_GPU else Neighbours(200, 2000, 8), 512 if ON_GPU else 8
    width = graph.features.shape[1]
    first, second = (Averaged(width, size).to(DEVICE).eval() for size in (width, 2))

    def step(nodes: torch.Tensor, *lucks: torch.Tensor) -> torch.Tensor:
        own, near, far = graph.around(nodes, *lucks)
        with torch.no_grad():
            return second(F.relu(first(own, near)), F.relu(first(near, far)))

    def batch() -> tuple[torch.Tensor, ...]:
        return torch.randint(len(graph.features), (seeds,)), torch.rand(seeds, 10), torch.rand(10 * seeds, 6)

    return Work(step, batches(batch))


class Passed(torch.autograd.Function):
    """What the nodes of an undirected graph send each other; its matrix is its own transpose."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: torch.Tensor, graph: torch.Tensor) -> torch.Tensor:
        ctx.graph = graph
        return graph @ x

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.graph @ gradient.contiguous(), None


@torch.compiler.disable
def passed(x: torch.Tensor, graph: torch.Tensor) -> torch.Tensor:
    """The messages over a sparse graph, as a graph package computes them."""
    return Passed.apply(x, graph)


class Topics(nn.Module):
    """Papers sorted into topics by their words and by the words of what cites them."""

    def __init__(self, words: int, width: int, topics: int, graph: torch.Tensor) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(words, width, bias=False), nn.Linear(width, topics, bias=False)
        self.graph = graph

    def forward(self, papers: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
        x = F.relu(passed(self.first(papers), self.graph))
        return passed(self.second(x), self.graph)[known]


@workload("eleventh", "training")
def paper_topics() -> Work:
    """A graph convolution over all citations between many papers trained on the few whose topics are known."""
    papers, citations, known = (400_000, 8_000_000, 20_000) if ON_GPU else (60, 200, 8)
    ends, weight = integers(papers, 2, citations), normal(citations).abs() / 32
    both = torch.cat([ends, ends.flip(0)], 1), torch.cat([weight, weight])
    graph = torch.sparse_coo_tensor(*both, (papers, papers)).coalesce().to_sparse_csr()

    def loss(model: nn.Module, words: torch.Tensor, labelled: torch.Tensor, topic: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(words, labelled), topic)

    step = training(Topics(64, 64, 40, graph), loss, fused_adamw)
    return Work(step, batches(lambda: (normal(papers, 64), integers(papers, known), integers(40, known))))
