"""Steps that listen: to who speaks, and to what plays."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import ON_GPU, Work, adamw, batches, integers, normal, training, workload
from tests.workloads.streams import side_by_side


class Context(nn.Module):
    """Convolutions over time, their channels weighed by what the whole recording says, around a shortcut."""

    def __init__(self, channels: int, apart: int) -> None:
        super().__init__()
        self.look = nn.Conv1d(channels, channels, 3, padding=apart, dilation=apart)
        self.mix = nn.Conv1d(channels, channels, 1)
        self.norms = nn.ModuleList(nn.BatchNorm1d(channels) for _ in range(2))
        self.squeeze, self.excite = nn.Linear(channels, channels // 4), nn.Linear(channels // 4, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = self.norms[0](F.relu(self.look(x)))
        seen = self.norms[1](F.relu(self.mix(seen)))
        weight = torch.sigmoid(self.excite(F.relu(self.squeeze(seen.mean(-1)))))
        return x + seen * weight.unsqueeze(-1)


class Speaker(nn.Module):
    """Cosines of a recording and of many speakers, from the mean and the spread of what deserves attention."""

    def __init__(self, channels: int, width: int, speakers: int) -> None:
        super().__init__()
        self.enter = nn.Conv1d(80, channels, 5, padding=2)
        self.body = nn.Sequential(*[Context(channels, apart) for apart in (1, 2, 3)])
        self.attend = nn.Sequential(nn.Conv1d(channels, 64, 1), nn.Tanh(), nn.Conv1d(64, channels, 1))
        self.norm, self.read = nn.BatchNorm1d(2 * channels), nn.Linear(2 * channels, width)
        self.speakers = nn.Parameter(torch.randn(speakers, width))

    def forward(self, bands: torch.Tensor) -> torch.Tensor:
        x = self.body(F.relu(self.enter(bands - bands.mean(-1, keepdim=True))))
        weight = self.attend(x).softmax(-1)
        mean = (weight * x).sum(-1)
        spread = ((weight * x.square()).sum(-1) - mean.square()).clamp(min=1e-5).sqrt()
        voice = self.read(self.norm(torch.cat([mean, spread], -1)))
        return F.linear(F.normalize(voice), F.normalize(self.speakers))


@workload("eleventh", "training")
def known_voices() -> Work:
    """A network that tells speakers apart, trained with a margin between their voices."""
    speakers, frames = 400, 100 if ON_GPU else 12

    def loss(model: nn.Module, bands: torch.Tensor, speaker: torch.Tensor) -> torch.Tensor:
        cosine = model(bands)
        margin = torch.zeros_like(cosine).scatter(1, speaker.unsqueeze(1), 0.2)
        return F.cross_entropy(30 * (cosine - margin), speaker)

    step = training(Speaker(128, 96, speakers), loss, adamw)
    return Work(step, batches(lambda: (normal(16, 80, frames), integers(speakers, 16))))


def complex_normal(*shape: int) -> torch.Tensor:
    """Random complex numbers on the device."""
    return torch.complex(normal(*shape), normal(*shape))


def kept(spectrum: torch.Tensor, layers: list[torch.Tensor]) -> torch.Tensor:
    """The part of a spectrum that complex layers say belongs to one instrument."""
    x = spectrum
    for layer in layers[:-1]:
        x = torch.view_as_complex(F.relu(torch.view_as_real(x @ layer)))
    return torch.fft.irfft(spectrum * (x @ layers[-1]))


@workload("eleventh", "streams")
def separated_instruments() -> Work:
    """Six instruments taken out of a song by complex networks on its spectra, a stream for each."""
    length, hop, widths = 1024, 512, (513, 128, 128, 128, 128, 128, 128, 513)
    samples = length + hop * (100 if ON_GPU else 4)
    instruments = [[complex_normal(a, b) / (2 * a) ** 0.5 for a, b in pairwise(widths)] for _ in range(6)]
    window = torch.hann_window(length, device=normal(1).device)
    streams = [torch.cuda.Stream() for _ in instruments]

    def played(spectrum: torch.Tensor, layers: list[torch.Tensor]) -> torch.Tensor:
        frames = kept(spectrum, layers) * window
        return F.fold(frames.transpose(1, 2), (1, samples), (1, length), stride=(1, hop)).flatten(1)

    def step(song: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft(song.unfold(-1, length, hop) * window)
        return torch.stack(side_by_side([partial(played, spectrum, layers) for layers in instruments], streams))

    return Work(step, batches(lambda: (normal(2, samples),)))
