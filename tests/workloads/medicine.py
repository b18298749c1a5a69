"""Steps of medicine and biology: hearts, brains, scans, cells and genes."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import plain
from tests.workloads.registry import DEVICE, ON_GPU, Inputs, Work, batches, inference, normal, workload
from tests.workloads.streams import side_by_side


class Lead(nn.Module):
    """Group norms, SiLU and convolutions over time, their channels weighed, around a shortcut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(8, channels) for _ in range(2))
        self.convolutions = nn.ModuleList(nn.Conv1d(channels, channels, 5, padding=2) for _ in range(2))
        self.squeeze, self.excite = nn.Linear(channels, 16), nn.Linear(16, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = x
        for norm, convolution in zip(self.norms, self.convolutions, strict=True):
            hidden = convolution(F.silu(norm(hidden)))
        weight = torch.sigmoid(self.excite(F.silu(self.squeeze(hidden.mean(-1)))))
        return x + hidden * weight.unsqueeze(-1)


@workload("eleventh", "blocked")
def heart_beats() -> Work:
    """Beats of electrocardiograms sorted into rhythms; the host asks whether there is one to show a doctor."""
    beats, samples = (16, 256) if ON_GPU else (2, 32)
    enter = inference(nn.Conv1d(12, 64, 7, padding=3), torch.float16)
    body = inference(nn.Sequential(*[Lead(64) for _ in range(7)]), torch.float16)
    read = inference(nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 5)), torch.float16)

    def step(beat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, spread = beat.mean(-1, keepdim=True), beat.std(-1, keepdim=True)
        x = body(enter(((beat - mean) / (spread + 1e-3)).half()))
        chance = read(x.mean(-1)).float().softmax(-1)
        sure = chance.amax(-1)
        if int((sure > 0.1).sum()) == 0:
            return chance[:0], sure[:0]
        return chance, sure

    return Work(step, batches(lambda: (normal(beats, 12, samples),)))


def lengths(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The lengths of the axes of symmetric matrices, given by six numbers each, in closed form."""
    xx, yy, zz, xy, xz, yz = tensor.unbind(0)
    mean = (xx + yy + zz) / 3
    x, y, z = xx - mean, yy - mean, zz - mean
    size = torch.sqrt((x * x + y * y + z * z + 2 * (xy * xy + xz * xz + yz * yz)) / 6 + 1e-12)
    volume = x * (y * z - yz * yz) - xy * (xy * z - yz * xz) + xz * (xy * yz - y * xz)
    angle = torch.acos((0.5 * volume / (size * size * size)).clamp(-0.999, 0.999)) / 3
    first, last = mean + 2 * size * torch.cos(angle), mean + 2 * size * torch.cos(angle + 2 * math.pi / 3)
    return first, 3 * mean - first - last, last


@workload("eleventh", "blocked")
def brain_fibres() -> Work:
    """How water moves in a brain: the axes of every voxel's diffusion, until the host asks whether fibres are seen."""
    voxels = 1 << 24 if ON_GPU else 64

    def step(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
        first, second, third = lengths(tensor)
        mean, across = (first + second + third) / 3, (second + third) / 2
        away = (first - mean).square() + (second - mean).square() + (third - mean).square()
        whole = first.square() + second.square() + third.square()
        fraction = torch.sqrt(1.5 * away / (whole + 1e-6)).clamp(0, 1)
        linear, flat = (first - second) / (first.abs() + 1e-3), (second - third) / (first.abs() + 1e-3)
        shown = [part.half() for part in (fraction, mean, across, torch.tanh(linear), torch.tanh(flat))]
        if int((fraction > 0.2).sum()) == 0:
            return tuple(part[:0] for part in shown)
        return tuple(shown)

    return Work(step, batches(lambda: (normal(6, voxels),), 3))


@workload("eleventh")
def brain_rhythms() -> Work:
    """How the channels of an electroencephalogram swing together, rhythm by rhythm, by wavelets."""
    trials, channels, samples, rhythms = 4, 32, 256, 30
    hertz, middles = torch.arange(samples, device=DEVICE), torch.linspace(3, 60, rhythms, device=DEVICE)
    shape = torch.exp(-0.5 * ((hertz - middles.unsqueeze(1)) / (0.2 * middles.unsqueeze(1))).square())
    wavelets = list(torch.complex(2 * shape, torch.zeros_like(shape)).unbind(0))

    def step(signal: torch.Tensor) -> torch.Tensor:
        spectrum, swings = torch.fft.fft(signal), []
        for wavelet in wavelets:
            swing = torch.fft.ifft(spectrum * wavelet)
            swings.append(torch.bmm(swing, swing.mH))
        return torch.view_as_real(torch.stack(swings))

    return Work(step, batches(lambda: (normal(trials, channels, samples),)))


@workload("eleventh", "streams", "blocked")
def streamed_scans() -> Work:
    """Scans in pinned memory, too many to keep: one stream brings the next while another computes features."""
    scans, slices, side = (16, 32, 224) if ON_GPU else (1, 4, 16)
    layers = [nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in ((slices, 64), (64, 128), (128, 256))]
    model = inference(nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU())]))
    buffers, copier = [normal(scans, slices, side, side) for _ in range(2)], torch.cuda.Stream()

    def bring(stored: torch.Tensor, place: int) -> None:
        copier.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(copier):
            buffers[place % 2].copy_(stored[place], non_blocking=True)

    def step(stored: torch.Tensor) -> torch.Tensor:
        features = []
        bring(stored, 0)
        for place in range(len(stored)):
            torch.cuda.current_stream().wait_stream(copier)
            if place + 1 < len(stored):
                bring(stored, place + 1)
            features.append(model(buffers[place % 2]).mean((2, 3)))
        return torch.cat(features)

    def kept() -> Inputs:
        stored = torch.empty(4, scans, slices, side, side, pin_memory=ON_GPU)
        return (stored.copy_(torch.randn(4, 1, slices, side, side)),)

    return Work(step, batches(kept, 2))


@workload("eleventh", "streams")
def cell_measurements() -> Work:
    """What was not measured of cells filled in: five kinds of measurements encoded, averaged, and decoded again."""
    sizes, half = (2048, 1024, 512, 256, 128), torch.bfloat16
    encode = [plain(size, 384, 384, 384, 384, 384).to(DEVICE, half).eval() for size in sizes]
    decode = [plain(384, 384, 384, 384, 384, size).to(DEVICE, half).eval() for size in sizes]
    streams = [torch.cuda.Stream() for _ in sizes]

    def step(*measured: torch.Tensor) -> list[torch.Tensor]:
        with torch.no_grad():
            tasks = [partial(model, part) for model, part in zip(encode, measured, strict=True)]
            code = torch.stack(side_by_side(tasks, streams)).mean(0)
            return side_by_side([partial(model, code) for model in decode], streams)

    return Work(step, batches(lambda: tuple(normal(160, size, dtype=half) for size in sizes)))


@workload("eleventh", "streams")
def gene_ranks() -> Work:
    """Which genes rise together in healthy and in ill cells, by the correlation of ranks, a stream for each kind."""
    genes, cells = (1024, 8192) if ON_GPU else (8, 32)
    streams, spread = [torch.cuda.Stream() for _ in range(2)], (cells * cells - 1) / 12

    def together(counts: torch.Tensor) -> torch.Tensor:
        rank = counts.argsort(-1).argsort(-1).float() - (cells - 1) / 2
        return F.linear(rank, rank) / (cells * spread)

    def step(healthy: torch.Tensor, ill: torch.Tensor) -> torch.Tensor:
        first, second = side_by_side([partial(together, healthy), partial(together, ill)], streams)
        return second - first

    return Work(step, batches(lambda: (normal(genes, cells), normal(genes, cells))))
