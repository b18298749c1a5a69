"""Steps that make models smaller or train them another way: pruned weights, careful updates, moments kept elsewhere."""

from __future__ import annotations

from functools import partial

import torch
from torch.nn import functional as F

from tests.workloads.decoding import begun, joined, moved
from tests.workloads.layers import perceptron
from tests.workloads.registry import DEVICE, ON_GPU, Inputs, Work, batches, fused_adamw, normal, workload

HALF = torch.bfloat16


@workload("tenth")
def pruned_layers() -> Work:
    """A deep perceptron of which nine weights in ten were pruned, kept by compressed rows."""
    width, depth, rows = (768, 36, 64) if ON_GPU else (32, 4, 8)

    def pruned() -> torch.Tensor:
        weight = normal(width, width) * (20 / width) ** 0.5
        return (weight * (torch.rand(width, width, device=DEVICE) < 0.1)).to_sparse_csr()

    layers = [pruned() for _ in range(depth)]

    def step(x: torch.Tensor) -> torch.Tensor:
        for layer in layers:
            x = F.relu(layer @ x)
        return x

    return Work(step, batches(lambda: (normal(width, rows),)))


@workload("tenth", "training")
def sharpness_aware() -> Work:
    """A wide regression trained where its loss is flat: weights go uphill before the gradient that counts."""
    width, rows = (1536, 4096) if ON_GPU else (32, 16)
    model = perceptron(*[width] * 5).to(DEVICE).train()
    optimizer, weights = fused_adamw(model.parameters()), list(model.parameters())

    def slope(x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(x), wanted)
        loss.backward()
        return loss.detach()

    def step(x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        loss = slope(x, wanted)
        with torch.no_grad():
            gradients = [weight.grad for weight in weights]
            size = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
            uphill = torch._foreach_mul(gradients, 0.05 / (size + 1e-12))
            torch._foreach_add_(weights, uphill)
        slope(x, wanted)
        with torch.no_grad():
            torch._foreach_sub_(weights, uphill)
        optimizer.step()
        return loss

    return Work(step, batches(lambda: (normal(rows, width), normal(rows, width))))


@workload("tenth", "streams")
def paged_moments() -> Work:
    """An update by Adam, whose moments lie in pinned memory: streams bring each layer's and take them back."""
    layers, size = (8, 4_194_304) if ON_GPU else (3, 64)
    weights = [normal(size) for _ in range(layers)]
    near = [torch.zeros(2, size, device=DEVICE) for _ in weights]
    far = [torch.zeros(2, size, pin_memory=ON_GPU) for _ in weights]
    fetches = [partial(moved, [here], [there]) for here, there in zip(near, far, strict=True)]
    stores = [partial(moved, [there], [here]) for here, there in zip(near, far, strict=True)]
    streams = [torch.cuda.Stream() for _ in weights]

    def updated(weight: torch.Tensor, moments: torch.Tensor, gradient: torch.Tensor) -> None:
        mean, square = moments.unbind(0)
        mean.lerp_(gradient, 0.1)
        square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        weight.addcdiv_(mean, square.sqrt() + 1e-6, value=-1e-3)

    def step(gradients: torch.Tensor) -> torch.Tensor:
        begun(fetches, streams)
        for layer in range(layers):
            joined(streams[layer : layer + 1])
            updated(weights[layer], near[layer], gradients[layer])
            begun(stores[layer : layer + 1], streams[layer : layer + 1])
        joined(streams)
        return weights[-1][:1024].clone()

    return Work(step, batches(lambda: (normal(layers, size),), 3))


def coded(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Blocks of numbers in eight bits, and the scale of each block."""
    scale = x.abs().amax(-1, keepdim=True) / 127 + 1e-12
    return (x / scale).round().to(torch.int8), scale


@workload("tenth")
def eight_bit_moments() -> Work:
    """An update of a large model by Adam, whose moments are kept in eight bits, with a scale for each block of them."""
    blocks, size = (393_216, 256) if ON_GPU else (8, 16)
    weight = normal(blocks, size)
    mean, square = coded(torch.zeros_like(weight)), coded(torch.zeros_like(weight))

    def step(gradient: torch.Tensor) -> torch.Tensor:
        slope = gradient.float() + 0.01 * weight
        first = torch.lerp(slope, mean[0].float() * mean[1], 0.9)
        second = torch.lerp(slope.square(), (square[0].float() * square[1]).square(), 0.999)
        weight.sub_(1e-3 * first / (second.sqrt() + 1e-4))
        for kept, fresh in ((mean, first), (square, second.sqrt())):
            for old, new in zip(kept, coded(fresh), strict=True):
                old.copy_(new)
        return weight[0].clone()

    def gradients() -> Inputs:
        return (normal(blocks, size, dtype=HALF),)

    return Work(step, batches(gradients, 3))
