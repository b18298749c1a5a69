"""Steps of many small library calls: replay takes the launches away, and there is little to fuse."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import Work, batches, inference, integers, normal, workload

HALF = torch.float16


@workload("calibration")
def linear_stack() -> Work:
    """Forty half-precision linear layers with nothing in between."""
    layers = [nn.Linear(768, 768) for _ in range(40)]
    return Work(inference(nn.Sequential(*layers), HALF), batches(lambda: (normal(32, 768, dtype=HALF),)))


@workload("unseen")
def spectral_filter() -> Work:
    """Short-time spectra of audio, filtered and transformed back, many times over."""
    filters = [normal(257, 1).abs() for _ in range(12)]
    window = torch.hann_window(512, device=filters[0].device)

    def step(audio: torch.Tensor) -> torch.Tensor:
        for shape in filters:
            spectrum = torch.fft.rfft(audio.unfold(-1, 512, 256) * window)
            audio = torch.fft.irfft(spectrum * shape.T).reshape(audio.shape[0], -1)[:, : audio.shape[1]]
        return audio

    return Work(step, batches(lambda: (normal(4, 16384),)))


@workload("calibration")
def shared_attention() -> Work:
    """Rounds of attention over the same keys, with no projection between them."""

    def step(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        for _ in range(24):
            query = F.scaled_dot_product_attention(query, key, value)
        return query

    return Work(step, batches(lambda: tuple(normal(2, 8, 256, 64, dtype=HALF) for _ in range(3))))


@workload("calibration")
def matrix_powers() -> Work:
    """Powers of small matrices by repeated squaring, one product after the other."""

    def step(x: torch.Tensor) -> torch.Tensor:
        for _ in range(30):
            x = torch.bmm(x, x.transpose(1, 2))
        return x

    return Work(step, batches(lambda: (normal(16, 64, 64) / 64,)))


@workload("validation")
def convolution_pyramid() -> Work:
    """Small convolutions without activations, each at half the size of the one before, from several scales."""
    scales = [
        nn.Sequential(*[nn.Conv2d(16, 16, 3, stride=2, padding=1, bias=False) for _ in range(4)]) for _ in range(8)
    ]

    class Pyramid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scales = nn.ModuleList(scales)

        def forward(self, image: torch.Tensor) -> list[torch.Tensor]:
            return [scale(image) for scale in self.scales]

    return Work(inference(Pyramid(), HALF), batches(lambda: (normal(4, 16, 64, 64, dtype=HALF),)))


@workload("validation")
def top_candidates() -> Work:
    """Candidates kept per round by sorted scores: products, top values and gathers."""
    tables = [normal(2048, 128) for _ in range(16)]

    def step(query: torch.Tensor) -> torch.Tensor:
        for table in tables:
            index = (query @ table.T).topk(8, -1).indices
            query = torch.bmm(table[index].transpose(1, 2), query.new_ones(len(query), 8, 1)).squeeze(-1)
        return query

    return Work(step, batches(lambda: (normal(64, 128),)))


@workload("validation")
def low_rank_adapters() -> Work:
    """Pairs of thin projections in a row, half precision, no bias."""
    layers = [layer for _ in range(20) for layer in (nn.Linear(1024, 16, bias=False), nn.Linear(16, 1024, bias=False))]
    return Work(
        inference(nn.Sequential(*layers), torch.bfloat16), batches(lambda: (normal(64, 1024, dtype=torch.bfloat16),))
    )


@workload("validation")
def triangular_systems() -> Work:
    """Batches of small triangular systems solved in sequence."""
    factors = [torch.eye(32, device=normal(1).device) + normal(64, 32, 32).tril() / 32 for _ in range(20)]

    def step(right: torch.Tensor) -> torch.Tensor:
        for factor in factors:
            right = torch.bmm(factor, torch.linalg.solve_triangular(factor, right, upper=False))
        return right

    return Work(step, batches(lambda: (normal(64, 32, 16),)))


@workload("unseen")
def tensor_train() -> Work:
    """Expectation values of matrix product states, contracted site by site from the left."""
    bond, physical, states = 48, 4, 16
    sites = [normal(states, bond, physical, bond) / (bond * physical) ** 0.5 for _ in range(24)]

    def step(left: torch.Tensor) -> torch.Tensor:
        for site in sites:
            half = torch.einsum("bij,bipk->bjpk", left, site)
            left = torch.einsum("bjpk,bjpl->bkl", half, site)
        return left

    return Work(step, batches(lambda: (normal(states, bond, bond) / bond,)))


@workload("unseen")
def propagated_labels() -> Work:
    """Scores spread over a sparse graph by personalised page rank, with a restart at every round."""
    nodes, edges, classes = 4096, 40_000, 64
    source, weight = integers(nodes, 2, edges), normal(edges).abs() / (edges / nodes)
    graph = torch.sparse_coo_tensor(source, weight, (nodes, nodes)).coalesce().to_sparse_csr()

    def step(scores: torch.Tensor) -> torch.Tensor:
        spread = scores
        for _ in range(24):
            spread = torch.addmm(scores, graph, spread, beta=0.1, alpha=0.9)
        return spread

    return Work(step, batches(lambda: (normal(nodes, classes),)))


@workload("third")
def preconditioned_gradients() -> Work:
    """The gradients of many layers, each between the factors of its curvature."""
    shapes = [shape for _ in range(16) for shape in ((64, 96), (96, 128), (128, 64))]
    factors = [(normal(rows, rows) / rows**0.5, normal(columns, columns) / columns**0.5) for rows, columns in shapes]

    def step(*gradients: torch.Tensor) -> list[torch.Tensor]:
        return [left @ gradient @ right for (left, right), gradient in zip(factors, gradients, strict=True)]

    return Work(step, batches(lambda: tuple(normal(*shape) for shape in shapes)))
