"""Steps of music, stage and games: stems, chords, scores, pieces, lights, crowds and boards."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import cast

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Work,
    adamw,
    batches,
    inference,
    integers,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side

HALF = torch.bfloat16


@workload("twenty_first")
def composed_piece() -> Work:
    """Every event of a long piece looks back at all before it, as in a transformer that composes."""
    heads, events, size = (16, 24_576, 128) if ON_GPU else (2, 8, 16)

    def step(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)

    return Work(step, batches(lambda: tuple(normal(1, heads, events, size, dtype=HALF) for _ in range(3))))


def aligned(apart: torch.Tensor) -> list[tuple[int, int]]:
    """The cheapest way through distances (heard, written) from their first to their last, by dynamic time warping."""
    cost = cast("list[list[float]]", apart.cpu().tolist())
    cost[0] = [sum(cost[0][: place + 1]) for place in range(len(cost[0]))]
    for above, row in pairwise(cost):
        row[0] += above[0]
        for place in range(1, len(row)):
            row[place] += min(above[place], above[place - 1], row[place - 1])
    heard, written = len(cost) - 1, len(cost[0]) - 1
    way = [(heard, written)]
    while heard and written:
        before = [(heard - 1, written - 1), (heard - 1, written), (heard, written - 1)]
        heard, written = min(before, key=lambda point: cost[point[0]][point[1]])
        way.append((heard, written))
    return way[::-1]


@workload("twenty_first", "blocked")
def followed_score() -> Work:
    """Where in the score an orchestra is: sounds compared with what is written on the device, the way by the host."""
    heard, written = (220, 180) if ON_GPU else (9, 7)
    followed = cast("Callable[[torch.Tensor], list[tuple[int, int]]]", torch.compiler.disable(aligned))

    def step(sound: torch.Tensor, score: torch.Tensor) -> list[tuple[int, int]]:
        return followed(torch.cdist(sound, score))

    return Work(step, batches(lambda: (normal(heard, 12).abs(), normal(written, 12).abs())))


@workload("twenty_first", "streams")
def enlarged_features() -> Work:
    """Features of a stage's two cameras made twice as large by a transposed convolution, a stream for each camera."""
    frames, channels, height, width = (16, 256, 136, 240) if ON_GPU else (1, 4, 4, 6)
    streams, last = [torch.cuda.Stream() for _ in range(2)], torch.channels_last
    weight = (normal(channels, channels, 4, 4, dtype=HALF) / 64).contiguous(memory_format=last)

    def step(left: torch.Tensor, right: torch.Tensor) -> list[torch.Tensor]:
        larger = partial(F.conv_transpose2d, weight=weight, stride=2, padding=1)
        return side_by_side([partial(larger, left), partial(larger, right)], streams)

    def camera() -> torch.Tensor:
        return normal(frames, channels, height, width, dtype=HALF).contiguous(memory_format=last)

    return Work(step, batches(lambda: (camera(), camera()), 3))


class Stem(nn.Module):
    """One instrument's part of a mixture's spectrum, by recurrent layers of the vendor's library (Open-Unmix)."""

    def __init__(self, bins: int, width: int) -> None:
        super().__init__()
        self.enter, self.even = nn.Linear(bins, width), nn.LayerNorm(width)
        self.listen = nn.LSTM(width, width // 2, num_layers=2, bidirectional=True)
        self.leave = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, bins), nn.ReLU())

    def forward(self, mixture: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(self.even(self.enter(mixture)))
        return mixture * self.leave(torch.cat([x, self.listen(x)[0]], -1))


@workload("twenty_first", "streams")
def separated_stems() -> Work:
    """Voice, drums, bass and the rest of a moment of music, each by a network and on a stream of its own."""
    frames, bins, width = (40, 1024, 256) if ON_GPU else (4, 16, 8)
    networks = [Stem(bins, width).to(DEVICE).eval() for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in networks]

    def step(mixture: torch.Tensor) -> list[torch.Tensor]:
        with torch.no_grad():
            return side_by_side([partial(network, mixture) for network in networks], streams)

    return Work(step, batches(lambda: (normal(frames, 2, bins).abs(),)))


def sounding(size: torch.Tensor, window: torch.Tensor, hop: int, rounds: int) -> torch.Tensor:
    """Sound (voices, samples) whose spectra are as large as `size` (voices, frames, bins), after Griffin and Lim."""
    length = len(window)
    samples = length + hop * (size.shape[1] - 1)
    shape = {"output_size": (1, samples), "kernel_size": (1, length), "stride": (1, hop)}
    weight = F.fold(window.square().view(1, -1, 1).expand(1, -1, size.shape[1]), **shape).flatten(1)
    spectrum: torch.Tensor = size.to(torch.complex64)
    sound = weight
    for _ in range(rounds):
        frames: torch.Tensor = torch.fft.irfft(spectrum) * window
        sound = F.fold(frames.transpose(1, 2), **shape).flatten(1) / (weight + 1e-6)
        heard: torch.Tensor = torch.fft.rfft(sound.unfold(-1, length, hop) * window)
        spectrum = size * heard / (heard.abs() + 1e-8)
    return sound


@workload("twenty_first", "streams")
def recovered_phases() -> Work:
    """The sound of four singers from the sizes of its waves alone, a stream for each."""
    frames, length, rounds = (48, 1024, 8) if ON_GPU else (4, 16, 2)
    window, streams = torch.hann_window(length, device=DEVICE), [torch.cuda.Stream() for _ in range(4)]

    def step(size: torch.Tensor) -> list[torch.Tensor]:
        return side_by_side([partial(sounding, part, window, length // 4, rounds) for part in size.unbind(0)], streams)

    return Work(step, batches(lambda: (normal(4, 2, frames, length // 2 + 1).abs(),)))


class Chords(nn.Module):
    """The root, the bass and the kind of the chord at every beat of a song, by recurrent layers both ways."""

    def __init__(self, bins: int, width: int) -> None:
        super().__init__()
        self.listen = nn.GRU(bins, width, num_layers=3, batch_first=True, bidirectional=True)
        self.heads = nn.ModuleList(nn.Linear(2 * width, count) for count in (13, 13, 16))

    def forward(self, pitch: torch.Tensor) -> list[torch.Tensor]:
        heard = self.listen(pitch)[0]
        return [head(heard).argmax(-1) for head in self.heads]


@workload("twenty_first")
def recognised_chords() -> Work:
    """The chords of a verse of a song, beat by beat, from the strengths of its notes."""
    beats = 32 if ON_GPU else 6
    return Work(inference(Chords(144, 128)), batches(lambda: (normal(1, beats, 144).abs(),)))


class Beats(nn.Module):
    """Whether a beat, the first of a bar or neither falls on each frame of music, by recurrent layers both ways."""

    def __init__(self, bins: int, width: int) -> None:
        super().__init__()
        self.listen = nn.LSTM(bins, width, num_layers=3, bidirectional=True)
        self.say = nn.Linear(2 * width, 3)

    def forward(self, heard: torch.Tensor) -> torch.Tensor:
        return self.say(self.listen(heard)[0])


@workload("twenty_second", "training")
def tracked_beats() -> Work:
    """Beats found in a few short pieces of music, learned from where listeners tapped; few frames have a beat."""
    frames = 32 if ON_GPU else 5
    rare = torch.tensor([20.0, 60.0, 1.0], device=DEVICE)

    def loss(model: nn.Module, heard: torch.Tensor, tapped: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(heard).flatten(0, 1), tapped.flatten(), rare)

    step = training(Beats(81, 96), loss, adamw)
    return Work(step, batches(lambda: (normal(frames, 8, 81).abs(), integers(3, frames, 8))))


def pushed(away: torch.Tensor, moving: torch.Tensor) -> torch.Tensor:
    """Forces (2, walkers) from where neighbours are and how they move, (2, walkers, neighbours): social forces."""
    (x, y), (u, v) = away.unbind(0), moving.unbind(0)
    size = torch.sqrt(x * x + y * y + 1e-6)
    later = torch.sqrt((x - u).square() + (y - v).square() + 1e-6)
    stride = u * u + v * v
    oval = 0.5 * torch.sqrt(((size + later).square() - stride).clamp(min=1e-4))
    ahead = 0.3 + 0.7 * (1 - x / size) / 2
    push = 2.1 * torch.exp(-oval / 0.3) * (size + later) / (4 * oval) * ahead
    close = 50.0 * (0.6 - size).clamp(min=0)
    along = [(push + close) * part / size + push * (part - rate) / later for part, rate in ((x, u), (y, v))]
    return torch.stack([part.sum(-1) for part in along])


@workload("twenty_second", "blocked")
def simulated_crowd() -> Work:
    """How the walkers of a crowd push one another, each its nearest; the host asks whether a force is out of bounds."""
    walkers, neighbours = (1 << 20, 48) if ON_GPU else (8, 3)

    def step(away: torch.Tensor, moving: torch.Tensor) -> torch.Tensor:
        force = pushed(away, moving)
        return force.clamp(-1e4, 1e4) if force.abs().max().item() > 1e6 else force

    return Work(step, batches(lambda: (normal(2, walkers, neighbours), 0.3 * normal(2, walkers, neighbours)), 3))


def opponents(picture: torch.Tensor) -> torch.Tensor:
    """Colours (3, pictures, pixels) as lightness and two opponents, from the logarithms of what cones see."""
    red, green, blue = picture
    long = torch.log10(0.3811 * red + 0.5783 * green + 0.0402 * blue + 1e-3)
    middle = torch.log10(0.1967 * red + 0.7244 * green + 0.0782 * blue + 1e-3)
    short = torch.log10(0.0241 * red + 0.1288 * green + 0.8444 * blue + 1e-3)
    return torch.stack([(long + middle + short) / 1.732, (long + middle - 2 * short) / 2.449, (long - middle) / 1.414])


def coloured(opponent: torch.Tensor) -> torch.Tensor:
    """The colours of what `opponents` gives."""
    light, yellow, red = opponent[0] / 1.732, opponent[1] / 2.449, opponent[2] / 1.414
    cones = light + yellow + red, light + yellow - red, light - 2 * yellow
    long, middle, short = (10.0**cone for cone in cones)
    mixed = (
        4.4679 * long - 3.5873 * middle + 0.1193 * short,
        -1.2186 * long + 2.3809 * middle - 0.1624 * short,
        0.0497 * long - 0.2439 * middle + 1.2045 * short,
    )
    return torch.stack(mixed).clamp(0, 1)


@workload("twenty_second")
def matched_lighting() -> Work:
    """Frames of a play given the colours of its best evening by their means and spreads, after Reinhard."""
    frames, pixels = (20, 1080 * 1920) if ON_GPU else (2, 24)
    best = torch.tensor([[-0.6, 0.02, 0.01], [0.3, 0.05, 0.03]], device=DEVICE).view(2, 3, 1, 1)

    def step(frame: torch.Tensor) -> torch.Tensor:
        seen = opponents(frame)
        spread, mean = torch.std_mean(seen, -1, keepdim=True)
        return coloured((seen - mean) / (spread + 1e-4) * best[1] + best[0])

    return Work(step, batches(lambda: (torch.rand(3, frames, pixels, device=DEVICE),), 3))


class Squeezed(nn.Module):
    """Two convolutions around a shortcut, their channels weighed by what the whole board shows (as in Leela Chess)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(2))
        self.squeeze, self.excite = nn.Linear(channels, channels // 4), nn.Linear(channels // 4, 2 * channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self.norms[1](self.layers[1](F.mish(self.norms[0](self.layers[0](x)))))
        scale, shift = self.excite(F.mish(self.squeeze(made.mean((2, 3)))))[..., None, None].chunk(2, 1)
        return F.mish(torch.sigmoid(scale) * made + shift + x)


class Board(nn.Module):
    """Moves, and whether a game of chess is won, drawn or lost."""

    def __init__(self, channels: int, depth: int) -> None:
        super().__init__()
        self.enter = nn.Sequential(nn.Conv2d(112, channels, 3, padding=1), nn.Mish())
        self.body = nn.Sequential(*[Squeezed(channels) for _ in range(depth)])
        self.moves, self.ends = nn.Linear(64 * channels, 1858), nn.Linear(channels, 3)

    def forward(self, board: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.body(self.enter(board))
        return self.moves(x.flatten(1)).softmax(-1), self.ends(x.mean((2, 3))).softmax(-1)


@workload("twenty_second", "blocked")
def judged_position() -> Work:
    """A position of chess and what to play in it; the host resigns where the game is surely lost."""
    model = inference(Board(32, 10 if ON_GPU else 2))

    def step(board: torch.Tensor) -> torch.Tensor:
        moves, ends = model(board)
        return moves if ends[0, 2].item() < 0.97 else torch.zeros_like(moves)

    return Work(step, batches(lambda: (normal(1, 112, 8, 8),)))
