"""Steps of a clinic: scans reconstructed and shown, patients watched, drugs found for them."""

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
    adamw,
    batches,
    fused_adamw,
    inference,
    integers,
    momentum,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side


@workload("nineteenth")
def projected_slices() -> Work:
    """What a tomograph would see of a stack of slices: the lengths of its rays within each pixel, a sparse matrix."""
    side, rays, crossed, slices = (512, 92_160, 512, 32) if ON_GPU else (6, 12, 4, 3)
    pixel = integers(side * side, rays, crossed).sort(1).values.flatten()
    begins = crossed * torch.arange(rays + 1, device=DEVICE)
    within = torch.rand(rays * crossed, device=DEVICE)
    lengths = torch.sparse_csr_tensor(begins, pixel, within, size=(rays, side * side))

    def step(stack: torch.Tensor) -> torch.Tensor:
        return lengths @ stack

    return Work(step, batches(lambda: (normal(side * side, slices),)))


@workload("nineteenth")
def windowed_volumes() -> Work:
    """A tomograph's raw volume as a radiologist looks at it: in windows for lungs, soft tissue, bones and brains."""
    slices, side = (400, 512) if ON_GPU else (2, 16)
    windows = ((-600.0, 1500.0), (40.0, 400.0), (400.0, 1800.0), (35.0, 80.0))

    def step(raw: torch.Tensor) -> torch.Tensor:
        density = (1.02 * raw.float() - 1024.0).clamp(-1024.0, 3071.0)
        shown = [torch.sigmoid(4 * (density - middle) / width) for middle, width in windows]
        fat = torch.exp(-((density + 100.0) / 40.0).square())
        water = torch.exp(-(density / 25.0).square())
        return torch.stack([part.half() for part in (*shown, fat, water)])

    def volume() -> Inputs:
        return (integers(3000, slices, side, side).to(torch.int16),)

    return Work(step, batches(volume))


class Decay(nn.Module):
    """The signal of every voxel by the strength of diffusion: of blood, which is lost fast, and of tissue."""

    def __init__(self, voxels: int) -> None:
        super().__init__()
        self.level, self.share, self.slow = (nn.Parameter(torch.randn(voxels, 1) / 8) for _ in range(3))

    def forward(self, strength: torch.Tensor) -> torch.Tensor:
        share, slow = torch.sigmoid(self.share), F.softplus(self.slow)
        blood, tissue = torch.exp(-10 * strength * (0.5 + slow)), torch.exp(-strength * slow)
        return torch.exp(self.level) * (share * blood + (1 - share) * tissue)


@workload("nineteenth", "training")
def fitted_decay() -> Work:
    """Maps of diffusion and blood fitted to a scan, every voxel for itself, by descent on what the noise leaves."""
    voxels, measured = (6 << 20, 16) if ON_GPU else (32, 4)
    strength = torch.linspace(0, 1, measured, device=DEVICE)

    def loss(model: nn.Module, seen: torch.Tensor) -> torch.Tensor:
        apart = model(strength) - seen
        return torch.log1p(4 * apart.square()).mean()

    step = training(Decay(voxels), loss, momentum)
    return Work(step, batches(lambda: (torch.rand(voxels, measured, device=DEVICE),), 3))


@workload("nineteenth")
def undersampled_scan() -> Work:
    """A slice of a magnetic resonance scan from a quarter of its waves and eight coils, by conjugate gradients."""
    coils, side = (8, 112) if ON_GPU else (2, 8)
    coil = normal(coils, side, side, dtype=torch.complex64)
    coil = coil / coil.abs().square().sum(0).sqrt()
    back, kept = coil.conj().resolve_conj(), (torch.rand(side, device=DEVICE) < 0.25).to(torch.complex64)

    def combined(waves: torch.Tensor) -> torch.Tensor:
        return (torch.fft.ifft2(waves * kept) * back).sum(0)

    def size(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.vdot(x.flatten(), y.flatten())

    def step(waves: torch.Tensor) -> torch.Tensor:
        left = along = combined(waves)
        image, before = torch.zeros_like(left), size(left, left)
        for _ in range(10):
            turned = combined(torch.fft.fft2(coil * along))
            pace = before / size(along, turned)
            image, left = image + pace * along, left - pace * turned
            now = size(left, left)
            along, before = left + now / before * along, now
        return image

    return Work(step, batches(lambda: (normal(coils, side, side, dtype=torch.complex64),)))


@workload("nineteenth", "streams")
def watched_patients() -> Work:
    """How patients in intensive care fare: vital signs, laboratory, drugs and pumps, each read by a GRU on a stream."""
    known, hours, width = (12, 40, 8, 16), 48 if ON_GPU else 4, 128
    readers = [inference(nn.GRU(signs, width, num_layers=2, batch_first=True)) for signs in known]
    say, streams = inference(nn.Linear(width * len(known), 4)), [torch.cuda.Stream() for _ in known]

    def step(*records: torch.Tensor) -> torch.Tensor:
        tasks = [partial(read, record) for read, record in zip(readers, records, strict=True)]
        read = side_by_side(tasks, streams)
        return say(torch.cat([states[:, -1] for states, _ in read], -1))

    return Work(step, batches(lambda: tuple(normal(16, hours, signs) for signs in known)))


class Glucose(nn.Module):
    """Quantiles of the next readings of a sensor under the skin, by the vendor's recurrent layers."""

    def __init__(self, known: int, width: int, ahead: int) -> None:
        super().__init__()
        self.read, self.say = nn.GRU(known, width, num_layers=2, batch_first=True), nn.Linear(width, ahead)

    def forward(self, past: torch.Tensor) -> torch.Tensor:
        return self.say(self.read(past)[0][:, -1])


@workload("nineteenth", "training")
def foretold_glucose() -> Work:
    """The sugar in the blood half an hour ahead, learned from three hours of readings, meals and insulin."""
    readings = 36 if ON_GPU else 5

    def loss(model: nn.Module, past: torch.Tensor, later: torch.Tensor) -> torch.Tensor:
        return F.smooth_l1_loss(model(past), later)

    step = training(Glucose(4, 128, 6), loss, fused_adamw)
    return Work(step, batches(lambda: (normal(16, readings, 4), normal(16, 6))))


class Fading(nn.Module):
    """A gated recurrence over signs that are measured now and then: what was known fades with time (GRU-D)."""

    def __init__(self, signs: int, width: int) -> None:
        super().__init__()
        self.fade, self.forget = nn.Linear(signs, signs), nn.Linear(signs, width)
        self.gates, self.fresh = (nn.Linear(2 * signs + width, size) for size in (2 * width, width))
        self.say, self.width = perceptron(width, width, 1), width

    def forward(self, seen: torch.Tensor, there: torch.Tensor, since: torch.Tensor) -> torch.Tensor:
        last, state = torch.zeros_like(seen[:, 0]), seen.new_zeros(len(seen), self.width)
        for sign, given, waited in zip(seen.unbind(1), there.unbind(1), since.unbind(1), strict=True):
            last = given * sign + (1 - given) * last
            guess = given * sign + (1 - given) * last * torch.exp(-F.relu(self.fade(waited)))
            state = state * torch.exp(-F.relu(self.forget(waited)))
            keep, reset = torch.sigmoid(self.gates(torch.cat([guess, given, state], -1))).chunk(2, -1)
            fresh = torch.tanh(self.fresh(torch.cat([guess, given, reset * state], -1)))
            state = keep * state + (1 - keep) * fresh
        return torch.sigmoid(self.say(state)).squeeze(-1)


@workload("nineteenth", "blocked")
def feared_sepsis() -> Work:
    """The danger of sepsis on a ward from a day of signs, many not measured; the host reads it to call a doctor."""
    signs, hours = (32, 20) if ON_GPU else (4, 3)
    model = inference(Fading(signs, 96))

    def step(seen: torch.Tensor, there: torch.Tensor, since: torch.Tensor) -> torch.Tensor:
        danger = model(seen, there, since)
        if danger.amax().item() > 0.99:
            return danger.topk(3).indices
        return danger

    def ward() -> Inputs:
        shape = (24, hours, signs)
        return normal(*shape), (torch.rand(shape, device=DEVICE) < 0.3).float(), torch.rand(shape, device=DEVICE)

    return Work(step, batches(ward))


class Turned(nn.Module):
    """How well a drug, turned by a relation in the complex plane, lands on what it may act upon (RotatE)."""

    def __init__(self, things: int, relations: int, width: int) -> None:
        super().__init__()
        self.things, self.turns = nn.Embedding(things, 2 * width), nn.Embedding(relations, width)

    def forward(self, drug: torch.Tensor, relation: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        real, imaginary = self.things(drug).unsqueeze(1).chunk(2, -1)
        far_real, far_imaginary = self.things(target).chunk(2, -1)
        angle = self.turns(relation).unsqueeze(1)
        cosine, sine = torch.cos(angle), torch.sin(angle)
        off = real * cosine - imaginary * sine - far_real, real * sine + imaginary * cosine - far_imaginary
        return 12.0 - torch.sqrt(off[0].square() + off[1].square() + 1e-9).sum(-1)


@workload("nineteenth", "training")
def repurposed_drugs() -> Work:
    """Embeddings of a graph of drugs, genes and illnesses, learned against false links that weigh as they deceive."""
    things, relations, false = (12_000, 24, 16) if ON_GPU else (40, 3, 4)

    def loss(model: nn.Module, drug: torch.Tensor, relation: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        score = model(drug, relation, targets)
        true, others = score[:, 0], score[:, 1:]
        share = others.detach().softmax(-1)
        return -(F.logsigmoid(true) + (share * F.logsigmoid(-others)).sum(-1)).mean() / 2

    def links() -> Inputs:
        return integers(things, 256), integers(relations, 256), integers(things, 256, 1 + false)

    return Work(training(Turned(things, relations, 64), loss, adamw), batches(links))


class Dilated(nn.Module):
    """A layer of a diffusion model of waves: a dilated convolution behind a gate, and what it leaves and tells."""

    def __init__(self, channels: int, apart: int) -> None:
        super().__init__()
        self.when, self.scale = nn.Linear(channels, channels), nn.Parameter(torch.ones(channels, 1))
        self.mix = nn.Conv1d(channels, 2 * channels, 3, padding=apart, dilation=apart)
        self.leave = nn.Conv1d(channels, 2 * channels, 1)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        even = x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-6) * self.scale
        first, second = self.mix(even + self.when(time).unsqueeze(-1)).chunk(2, 1)
        kept, told = self.leave(torch.tanh(first) * torch.sigmoid(second)).chunk(2, 1)
        return (x + kept) * 0.7071, told


class Beats(nn.Module):
    """The noise in a stretch of an electrocardiogram, by gated convolutions that know how far it is noised."""

    def __init__(self, leads: int, channels: int, depth: int) -> None:
        super().__init__()
        self.enter, self.say = nn.Conv1d(leads, channels, 1), nn.Conv1d(channels, leads, 1)
        self.time = perceptron(channels, channels, channels, activation=nn.SiLU)
        self.layers = nn.ModuleList(Dilated(channels, 2 ** (at % 5)) for at in range(depth))
        self.rates: torch.Tensor
        self.register_buffer("rates", torch.exp(torch.linspace(0, 6, channels // 2)))

    def forward(self, noised: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        angle = time.unsqueeze(-1) * self.rates
        when = self.time(torch.cat([angle.sin(), angle.cos()], -1))
        x = F.relu(self.enter(noised))
        told: list[torch.Tensor] = []
        for layer in self.layers:
            x, part = layer(x, when)
            told.append(part)
        return self.say(F.relu(torch.stack(told).sum(0) * len(told) ** -0.5))


@workload("nineteenth", "training")
def denoised_beats() -> Work:
    """A diffusion model of electrocardiograms learns to find the noise that was added to them."""
    samples = 192 if ON_GPU else 16

    def loss(model: nn.Module, beats: torch.Tensor, noise: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        kept = torch.cos(1.57 * time).view(-1, 1, 1)
        noised = kept * beats + (1 - kept.square()).clamp(min=1e-6).sqrt() * noise
        return F.mse_loss(model(noised, time), noise)

    def batch() -> Inputs:
        return normal(4, 12, samples), normal(4, 12, samples), torch.rand(4, device=DEVICE)

    return Work(training(Beats(12, 48, 8), loss, adamw), batches(batch))
