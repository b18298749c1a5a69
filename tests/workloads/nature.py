"""Steps on what nature does: weather, waves, grains, ground, genes and tissue."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import perceptron
from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Inputs,
    Work,
    batches,
    fused_adamw,
    inference,
    integers,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side

HALF = torch.bfloat16


@workload("fifteenth")
def felt_weather() -> Work:
    """How the weather feels on every place of the globe: potential temperature, dew point, heat and wind chill."""
    hours, high, wide = (16, 1024, 2048) if ON_GPU else (2, 8, 16)

    def step(kelvin: torch.Tensor, damp: torch.Tensor, pressure: torch.Tensor, wind: torch.Tensor) -> Inputs:
        celsius, east, north = kelvin - 273.15, *wind.unbind(0)
        potential = kelvin * (1000.0 / pressure) ** 0.2854
        full = 6.112 * torch.exp(17.67 * celsius / (celsius + 243.5))
        vapour = full * damp.clamp(0.01, 1.0)
        drop = torch.log(vapour / 6.112)
        dew = 243.5 * drop / (17.67 - drop)
        mixing = 0.622 * vapour / (pressure - vapour).clamp(min=1.0)
        speed = 3.6 * torch.sqrt(east * east + north * north)
        gust = speed.clamp(min=4.8) ** 0.16
        chill = 13.12 + 0.6215 * celsius - 11.37 * gust + 0.3965 * celsius * gust
        muggy = celsius + 0.5555 * (vapour - 10.0)
        felt = torch.where(celsius < 10.0, chill, torch.where(celsius > 20.0, muggy, celsius))
        return potential * (1 + 0.608 * mixing), dew, felt

    def globe() -> Inputs:
        shape = (hours, high, wide)
        weather = (285 + 10 * normal(*shape), torch.rand(shape, device=DEVICE), 1000 + 10 * normal(*shape))
        return (*weather, 5 * normal(2, *shape))

    return Work(step, batches(globe, 2))


class Column(nn.Module):
    """A gated layer over what is known of a column of air, after dividing that by its size, around a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.enter, self.leave = nn.Linear(width, 4 * width, bias=False), nn.Linear(2 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        even = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.scale
        gate, value = self.enter(even).chunk(2, -1)
        return x + self.leave(F.silu(gate) * value)


@workload("fifteenth", "training")
def convective_columns() -> Work:
    """What clouds do to columns of air, learned from a fine simulation to replace it in a coarse one."""
    columns, known, changed = (131_072, 480, 240) if ON_GPU else (32, 48, 24)
    model = nn.Sequential(nn.Linear(known, 128), *[Column(128) for _ in range(3)], nn.Linear(128, changed))

    def loss(model: nn.Module, air: torch.Tensor, change: torch.Tensor) -> torch.Tensor:
        return F.smooth_l1_loss(model(air), change)

    step = training(model, loss, fused_adamw, HALF)
    return Work(step, batches(lambda: (normal(columns, known), normal(columns, changed))))


@workload("fifteenth")
def spreading_waves() -> Work:
    """A beam of light through twelve slices of glass by the split-step method: phases in frequency, then in space."""
    side = 96
    along = torch.fft.fftfreq(side, device=DEVICE)
    spread = torch.exp(-12j * (along.square() + along.square().unsqueeze(1)))
    slices = [torch.exp(0.1j * part) for part in normal(12, side, side)]

    def step(beam: torch.Tensor) -> torch.Tensor:
        for glass in slices:
            beam = torch.fft.ifft2(torch.fft.fft2(beam * glass) * spread)
        return beam

    return Work(step, batches(lambda: (normal(1, side, side, dtype=torch.complex64),)))


class Grain(nn.Module):
    """A round of messages between grains that touch."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.tell, self.hear = perceptron(3 * width, width, width), perceptron(2 * width, width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(
        self, grain: torch.Tensor, touch: torch.Tensor, one: torch.Tensor, other: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        seen = torch.cat([touch, grain.index_select(0, one), grain.index_select(0, other)], -1)
        told = self.norms[0](self.tell(seen))
        heard = torch.zeros_like(grain).index_add(0, other, told)
        return grain + self.norms[1](self.hear(torch.cat([grain, heard], -1))), touch + told


class Grains(nn.Module):
    """How grains speed up, from where they were, by rounds of messages."""

    def __init__(self, width: int, rounds: int) -> None:
        super().__init__()
        self.enter, self.near = perceptron(12, width, width), perceptron(3, width, width)
        self.rounds = nn.ModuleList(Grain(width) for _ in range(rounds))
        self.say = perceptron(width, width, 2)

    def forward(self, moved: torch.Tensor, place: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        apart = place.index_select(0, one) - place.index_select(0, other)
        touch = self.near(torch.cat([apart, apart.square().sum(-1, keepdim=True).sqrt()], -1))
        grain = self.enter(torch.cat([moved, place, torch.tanh(place / 4)], -1))
        for each in self.rounds:
            grain, touch = each(grain, touch, one, other)
        speed = moved[:, :2] + 0.01 * self.say(grain)
        return torch.cat([speed, place + 0.01 * speed], -1)


@workload("fifteenth")
def simulated_grains() -> Work:
    """Sand that falls, a tick later, by a learned simulator over the graph of the grains that touch."""
    grains, touches = (400, 2400) if ON_GPU else (12, 40)

    def batch() -> Inputs:
        return normal(grains, 8), normal(grains, 2), integers(grains, touches), integers(grains, touches)

    return Work(inference(Grains(96, 8)), batches(batch))


@workload("fifteenth", "streams")
def spectra_of_shots() -> Work:
    """Spectra of seismic shots in pinned memory; a stream brings the next shot while one is transformed."""
    shots, traces, samples = (3, 8192, 2048) if ON_GPU else (3, 4, 16)
    stored = torch.empty(shots, traces, samples, pin_memory=ON_GPU).copy_(normal(shots, traces, samples))
    buffers, copier = [normal(traces, samples) for _ in range(2)], torch.cuda.Stream()

    def bring(shot: int) -> None:
        copier.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(copier):
            buffers[shot % 2].copy_(stored[shot], non_blocking=True)

    def step(taper: torch.Tensor) -> list[torch.Tensor]:
        spectra = []
        bring(0)
        for shot in range(shots):
            torch.cuda.current_stream().wait_stream(copier)
            if shot + 1 < shots:
                bring(shot + 1)
            spectra.append(torch.fft.rfft(buffers[shot % 2] * taper))
        return spectra

    return Work(step, batches(lambda: (torch.rand(samples, device=DEVICE),)))


@workload("fifteenth", "streams")
def both_strands() -> Work:
    """How open a stretch of the genome is, read along both strands, each on its stream, by the same convolutions."""
    bases, channels = (1024, 96) if ON_GPU else (64, 16)
    shapes = [(4, channels, 15, 1), *[(channels, channels, 5, 2**at) for at in range(7)], (channels, 8, 1, 1)]
    layers = [nn.Conv1d(a, b, k, padding=k // 2 * d, dilation=d, bias=False) for a, b, k, d in shapes]
    for layer in layers:
        nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
    read = inference(nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU())][:-1]))
    streams = [torch.cuda.Stream() for _ in range(2)]

    def step(strand: torch.Tensor) -> torch.Tensor:
        forth, back = side_by_side([partial(read, strand), partial(read, strand.flip(1, 2))], streams)
        return (forth + back.flip(2)) / 2

    return Work(step, batches(lambda: (F.one_hot(integers(4, 1, bases), 4).float().transpose(1, 2).contiguous(),)))


@workload("fifteenth")
def filtered_tissue() -> Work:
    """Features of microscope slides answered by a bank of large filters, their channels last."""
    slides, side, inputs, outputs = (8, 256, 128, 256) if ON_GPU else (1, 8, 4, 8)
    bank = (normal(outputs, inputs, 7, 7, dtype=HALF) / 80).to(memory_format=torch.channels_last)

    def step(features: torch.Tensor) -> torch.Tensor:
        return F.conv2d(features, bank, padding=3)

    def features() -> Inputs:
        return (normal(slides, inputs, side, side, dtype=HALF).to(memory_format=torch.channels_last),)

    return Work(step, batches(features))


@workload("fifteenth", "training")
def outlined_organs() -> Work:
    """The last layers of a segmentation of scans, trained on stored features of voxels by a focal and a Dice loss."""
    voxels, known, width, organs = (2 << 20, 64, 32, 8) if ON_GPU else (64, 12, 8, 3)
    model = nn.Sequential(nn.LayerNorm(known), nn.Linear(known, width), nn.GELU(), nn.Linear(width, organs))

    def loss(model: nn.Module, voxel: torch.Tensor, organ: torch.Tensor) -> torch.Tensor:
        likely = model(voxel).log_softmax(-1)
        chance = likely.exp()
        focal = -(organ * (1 - chance).square() * likely).sum(-1).mean()
        shared, total = (chance * organ).sum(0), chance.square().sum(0) + organ.square().sum(0)
        return focal + 1 - ((2 * shared + 1) / (total + 1)).mean()

    def batch() -> Inputs:
        return normal(voxels, known), normal(voxels, organs).softmax(-1)

    return Work(training(model, loss, fused_adamw), batches(batch, 3))
