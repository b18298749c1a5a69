"""Inference steps of whole models, most of them bound by the host."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import Attention, Encoder, Residual, perceptron
from tests.workloads.registry import DEVICE, Work, batches, inference, integers, normal, workload

HALF = torch.bfloat16


class Denoiser(nn.Module):
    """A small U-Net with a time embedding."""

    def __init__(self, channels: int = 64) -> None:
        super().__init__()
        self.time = perceptron(channels, channels, channels, activation=nn.SiLU)
        self.enter, self.leave = nn.Conv2d(4, channels, 3, padding=1), nn.Conv2d(channels, 4, 3, padding=1)
        self.down = nn.ModuleList(Residual(channels) for _ in range(3))
        self.up = nn.ModuleList(Residual(channels) for _ in range(3))
        self.middle = Attention(channels, 4)

    def forward(self, noisy: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        x = self.enter(noisy) + self.time(time)[:, :, None, None]
        passed = []
        for block in self.down:
            x = block(x)
            passed.append(x)
            x = F.avg_pool2d(x, 2)
        x = x + self.middle(x.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(x.shape)
        for block, skipped in zip(self.up, reversed(passed), strict=True):
            x = block(F.interpolate(x, scale_factor=2.0, mode="nearest") + skipped)
        return self.leave(x)


@workload("calibration")
def diffusion_unet() -> Work:
    """One denoising step of an image model."""
    return Work(
        inference(Denoiser(), HALF), batches(lambda: (normal(1, 4, 64, 64, dtype=HALF), normal(1, 64, dtype=HALF)))
    )


@workload("calibration")
def token_mixer() -> Work:
    """An all-perceptron vision model: layers mix patches, then channels."""

    class Mixer(nn.Module):
        def __init__(self, patches: int, width: int) -> None:
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
            self.across = perceptron(patches, 256, patches, activation=nn.GELU)
            self.within = perceptron(width, 1024, width, activation=nn.GELU)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x + self.across(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
            return x + self.within(self.norms[1](x))

    model = nn.Sequential(*[Mixer(196, 384) for _ in range(10)])
    return Work(inference(model, torch.float16), batches(lambda: (normal(4, 196, 384, dtype=torch.float16),)))


@workload("calibration")
def graph_attention() -> Work:
    """Attention over the edges of a small graph, softmax by scattered maxima and sums."""
    nodes, edges, width = 3000, 24000, 64
    source, target = integers(nodes, 2, edges)

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project, self.score = nn.Linear(width, width, bias=False), nn.Linear(2 * width, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.project(x)
            score = F.leaky_relu(self.score(torch.cat([x[source], x[target]], -1)).squeeze(-1), 0.2)
            top = score.new_full((nodes,), -1e9).scatter_reduce(0, target, score, "amax")
            weight = (score - top[target]).exp()
            total = score.new_zeros(nodes).index_add(0, target, weight)
            part = (weight / (total[target] + 1e-9)).unsqueeze(-1)
            return F.elu(torch.zeros_like(x).index_add(0, target, part * x[source]))

    return Work(inference(nn.Sequential(*[Layer() for _ in range(4)])), batches(lambda: (normal(nodes, width),)))


@workload("calibration")
def policy_rollout() -> Work:
    """A control policy acting in a simulated pendulum for sixteen ticks."""
    policy = perceptron(3, 64, 64, 1, activation=nn.Tanh).to(DEVICE)

    def step(angle: torch.Tensor, speed: torch.Tensor) -> torch.Tensor:
        reward = torch.zeros_like(angle)
        with torch.no_grad():
            for _ in range(16):
                seen = torch.cat([torch.cos(angle), torch.sin(angle), speed], -1)
                force = 2 * torch.tanh(policy(seen))
                speed = (speed + (15 * torch.sin(angle) + 3 * force) * 0.05).clamp(-8, 8)
                angle = angle + speed * 0.05
                reward = reward - (angle.square() + 0.1 * speed.square() + 0.001 * force.square())
        return reward

    return Work(step, batches(lambda: (normal(256, 1), normal(256, 1))))


@workload("third")
def dense_experts() -> Work:
    """A mixture of experts with fixed capacity: every expert runs as one batched product."""
    width, experts, capacity = 512, 8, 160

    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.router = nn.Linear(width, experts)
            self.enter = nn.Parameter(torch.randn(experts, width, 1024) / 23)
            self.leave = nn.Parameter(torch.randn(experts, 1024, width) / 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            weight, token = self.router(x).softmax(-1).T.topk(capacity, -1)
            hidden = F.silu(torch.bmm(x[token.flatten()].view(experts, capacity, width), self.enter))
            out = torch.bmm(hidden, self.leave) * weight.unsqueeze(-1)
            return x.index_add(0, token.flatten(), out.flatten(0, 1))

    return Work(
        inference(nn.Sequential(*[Experts() for _ in range(4)]), HALF),
        batches(lambda: (normal(1024, width, dtype=HALF),)),
    )


@workload("validation")
def speech_conformer() -> Work:
    """Conformer layers: attention, and gated depthwise convolution over time."""
    width = 256

    class Convolution(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.enter = nn.LayerNorm(width), nn.Conv1d(width, 2 * width, 1)
            self.depth, self.leave = nn.Conv1d(width, width, 15, padding=7, groups=width), nn.Conv1d(width, width, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = F.glu(self.enter(self.norm(x).transpose(1, 2)), 1)
            return x + self.leave(F.silu(self.depth(hidden))).transpose(1, 2)

    layers = [layer for _ in range(6) for layer in (Encoder(width, 4), Convolution())]
    return Work(
        inference(nn.Sequential(*layers), torch.float16), batches(lambda: (normal(2, 200, width, dtype=torch.float16),))
    )


@workload("validation")
def segmentation_decoder() -> Work:
    """Upsampling blocks of a segmentation network on feature maps."""

    class Up(nn.Module):
        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__()
            self.up = nn.ConvTranspose2d(inputs, outputs, 2, stride=2)
            self.convolution, self.norm = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.relu(self.norm(self.convolution(self.up(x))))

    model = nn.Sequential(Up(256, 128), Up(128, 64), Up(64, 32), nn.Conv2d(32, 21, 1))
    return Work(inference(model), batches(lambda: (normal(2, 256, 16, 16),)))


@workload("unseen")
def window_attention() -> Work:
    """Attention in shifted windows with a bias by relative position."""
    width, side, heads = 128, 7, 4

    class Window(nn.Module):
        def __init__(self, shift: int) -> None:
            super().__init__()
            self.shift, self.norm = shift, nn.LayerNorm(width)
            self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.bias = nn.Parameter(torch.randn(heads, side * side, side * side))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            rows, columns = x.shape[1] // side, x.shape[2] // side
            cells = self.norm(x).roll((-self.shift, -self.shift), (1, 2)).view(-1, rows, side, columns, side, width)
            cells = cells.transpose(2, 3).reshape(-1, side * side, width)
            query, key, value = self.project(cells).unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
            weight = (query @ key.transpose(-2, -1) * 0.177 + self.bias).softmax(-1)
            mixed = self.out((weight @ value).transpose(1, 2).flatten(2)).view(-1, rows, columns, side, side, width)
            return x + mixed.transpose(2, 3).reshape(x.shape).roll((self.shift, self.shift), (1, 2))

    model = nn.Sequential(*[Window(shift) for _ in range(4) for shift in (0, 3)])
    return Work(inference(model), batches(lambda: (normal(2, 28, 28, width),)))


@workload("third")
def state_space_scan() -> Work:
    """A selective state-space layer, its recurrence unrolled over the sequence."""
    width, states, length = 128, 16, 48
    decay = -normal(width, states).abs()

    def step(x: torch.Tensor, rate: torch.Tensor, enter: torch.Tensor, leave: torch.Tensor) -> torch.Tensor:
        state, out = x.new_zeros(x.shape[0], width, states), []
        pace = F.softplus(rate)
        for at in range(length):
            change = pace[:, at].unsqueeze(-1)
            state = torch.exp(change * decay) * state + change * x[:, at].unsqueeze(-1) * enter[:, at].unsqueeze(1)
            out.append((state * leave[:, at].unsqueeze(1)).sum(-1))
        return torch.stack(out, 1)

    shapes = ((4, length, width), (4, length, width), (4, length, states), (4, length, states))
    return Work(step, batches(lambda: tuple(normal(*shape) for shape in shapes)))


@workload("third")
def optimal_transport() -> Work:
    """Sinkhorn iterations on a cost matrix, rows and columns in turn."""

    def step(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        cost = (first.unsqueeze(1) - second.unsqueeze(0)).square().sum(-1) / 0.1
        rows, columns = cost.new_zeros(len(first)), cost.new_zeros(len(second))
        for _ in range(20):
            rows = -torch.logsumexp(columns - cost, 1)
            columns = -torch.logsumexp((rows.unsqueeze(1) - cost), 0)
        return (torch.exp(rows.unsqueeze(1) + columns - cost) * cost).sum()

    return Work(step, batches(lambda: (normal(400, 32), normal(400, 32))))


@workload("third")
def factorised_ranking() -> Work:
    """A ranking model: field embeddings, pairwise products of factors, cross layers and a perceptron."""
    fields, width = 20, 16

    class Ranker(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.offset = nn.Embedding(fields * 10_000, width), torch.arange(fields, device=DEVICE) * 10_000
            self.cross = nn.ModuleList(nn.Linear(fields * width, fields * width) for _ in range(3))
            self.deep = perceptron(fields * width, 256, 128, 1)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            rows = self.table(ids + self.offset)
            pairs = 0.5 * (rows.sum(1).square() - rows.square().sum(1)).sum(-1)
            start = crossed = rows.flatten(1)
            for layer in self.cross:
                crossed = start * layer(crossed) + crossed
            return torch.sigmoid(self.deep(crossed).squeeze(-1) + pairs)

    return Work(inference(Ranker()), batches(lambda: (integers(10_000, 1024, fields),)))
