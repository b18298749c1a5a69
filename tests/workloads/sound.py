"""Steps on sound: recognisers, codecs and their losses."""

from __future__ import annotations

from functools import partial
from itertools import groupby, pairwise

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import Work, batches, fused_adamw, inference, integers, normal, training, workload
from tests.workloads.streams import side_by_side


class Listener(nn.Module):
    """Frames of sound to the logarithms of the probabilities of letters, time first."""

    def __init__(self, letters: int) -> None:
        super().__init__()
        self.recurrent = nn.LSTM(80, 256, num_layers=2, bidirectional=True, batch_first=True)
        self.read = nn.Linear(512, letters)

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        return self.read(self.recurrent(sound)[0]).log_softmax(-1).transpose(0, 1)


@workload("fourth", "training", "blocked")
def spoken_letters() -> Work:
    """A bidirectional LSTM trained by the CTC loss, the lengths of sounds and texts in host memory."""

    def batch() -> tuple[torch.Tensor, ...]:
        text = 1 + integers(63, 16, 30)
        return normal(16, 240, 80), text, torch.randint(180, 241, (16,)), torch.randint(10, 31, (16,))

    step = training(Listener(64), lambda model, sound, *rest: F.ctc_loss(model(sound), *rest), fused_adamw)
    return Work(step, batches(batch))


@workload("fourth", "training")
def filter_banks() -> Work:
    """Learned filters that take sound apart into bands and put it together again, all of them linear."""
    widths = (16, 32, 64, 128, 192)
    apart = [nn.Conv1d(a, b, 8, stride=2, padding=3, bias=False) for a, b in pairwise(widths)]
    together = [nn.ConvTranspose1d(b, a, 8, stride=2, padding=3, bias=False) for a, b in reversed([*pairwise(widths)])]
    model = nn.Sequential(*apart, *together)
    step = training(model, lambda model, sound: F.mse_loss(model(sound), sound), fused_adamw)
    return Work(step, batches(lambda: (normal(4, 16, 1024),)))


class Joint(nn.Module):
    """Scores of letters for every pair of a frame and a place in the text."""

    def __init__(self, width: int, letters: int) -> None:
        super().__init__()
        self.frames, self.places = nn.Linear(width, width), nn.Linear(width, width)
        self.read = nn.Linear(width, letters)

    def forward(self, sound: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        return self.read(torch.tanh(self.frames(sound).unsqueeze(2) + self.places(text).unsqueeze(1)))


@workload("fifth", "training")
def transducer_joint() -> Work:
    """The joint network of a speech transducer trained on the letter that follows each place, blanks beside it."""

    def loss(
        model: nn.Module, sound: torch.Tensor, text: torch.Tensor, letter: torch.Tensor, weight: torch.Tensor
    ) -> torch.Tensor:
        scores = model(sound, text).float().log_softmax(-1)
        after = letter[:, None, :, None].expand(-1, scores.shape[1], -1, 1)
        each = torch.logaddexp(scores.gather(-1, after).squeeze(-1), scores[..., 0] - 1.0)
        return -(each * weight.unsqueeze(-1)).mean()

    step = training(Joint(512, 256), loss, fused_adamw, torch.bfloat16)
    shapes = ((16, 400, 512), (16, 80, 512))
    return Work(step, batches(lambda: (*(normal(*s) for s in shapes), integers(256, 16, 80), normal(16, 400).abs())))


@workload("fifth", "blocked")
def decibel_features() -> Work:
    """Powers of many recordings in decibels, cut below the loudest as the host reads it, normalised, with slopes."""

    def slope(x: torch.Tensor) -> torch.Tensor:
        return 0.5 * (F.pad(x[..., 1:], (0, 1)) - F.pad(x[..., :-1], (1, 0)))

    def step(power: torch.Tensor) -> torch.Tensor:
        level = 10.0 * torch.log10(power.clamp(min=1e-10))
        level = level.clamp(min=level.amax().item() - 80.0)
        level = (level - level.mean(-1, keepdim=True)) / (level.std(-1, keepdim=True) + 1e-5)
        change = slope(level)
        return torch.stack([level, change, slope(change)], 1).half()

    return Work(step, batches(lambda: (normal(128, 80, 8000).square(),)))


@workload("fifth", "streams")
def reverberation() -> Work:
    """The sounds of four instruments through five rooms each by convolution, a stream for each, then mixed."""
    length = 12_000
    rooms = [[torch.fft.rfft(normal(2 * length) / length**0.5) for _ in range(5)] for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in rooms]

    def heard(sound: torch.Tensor, through: list[torch.Tensor]) -> torch.Tensor:
        for room in through:
            sound = torch.fft.irfft(torch.fft.rfft(sound, 2 * length) * room)[..., :length]
        return sound

    def step(*sounds: torch.Tensor) -> torch.Tensor:
        tasks = [partial(heard, *pair) for pair in zip(sounds, rooms, strict=True)]
        return torch.stack(side_by_side(tasks, streams)).mean(0)

    return Work(step, batches(lambda: tuple(normal(2, length) for _ in rooms)))


class Scan(nn.Module):
    """A recurrence with exponential gates, kept in bounds by the running maximum of their logarithms."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.enter, self.keep = nn.Linear(40, 4 * width), nn.Linear(width, 4 * width, bias=False)

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        rows = self.enter(sound)
        cell = norm = most = state = torch.zeros_like(rows[:, 0, : rows.shape[-1] // 4])
        for at in range(sound.shape[1]):
            fresh, gain, kept, shown = (rows[:, at] + self.keep(state)).chunk(4, -1)
            kept = F.logsigmoid(kept) + most
            most = torch.maximum(kept, gain)
            held, added = torch.exp(kept - most), torch.exp(gain - most)
            cell, norm = held * cell + added * torch.tanh(fresh), held * norm + added
            state = torch.sigmoid(shown) * cell / norm
        return state


@workload("fifth", "streams")
def both_directions() -> Work:
    """Spoken commands read forwards and backwards by hand-written recurrences, each direction on its stream."""
    scans, streams = [inference(Scan(128)) for _ in range(2)], [torch.cuda.Stream() for _ in range(2)]
    weight = normal(256, 30) / 16

    def step(sound: torch.Tensor) -> torch.Tensor:
        tasks = [partial(scan, seen) for scan, seen in zip(scans, (sound, sound.flip(1)), strict=True)]
        return torch.cat(side_by_side(tasks, streams), -1) @ weight

    return Work(step, batches(lambda: (normal(32, 20, 40),)))


@workload("sixth", "streams")
def constant_pitch() -> Work:
    """Sound split into the notes of eight octaves: one stream halves it again and again, three others listen."""
    length, banks, low = 256, [normal(12, 1, 256) / 16 for _ in range(2)], normal(1, 1, 32) / 6
    streams = [torch.cuda.Stream() for _ in range(3)]

    def step(sound: torch.Tensor) -> torch.Tensor:
        main, octaves, notes = torch.cuda.current_stream(), [sound], []
        for octave in range(8):
            stream, stride = streams[octave % 3], 256 >> octave
            stream.wait_stream(main)
            with torch.cuda.stream(stream):
                notes += [F.conv1d(octaves[-1], bank, stride=stride, padding=length // 2) for bank in banks]
            octaves.append(F.conv1d(octaves[-1], low, stride=2, padding=15))
        for stream in streams:
            main.wait_stream(stream)
        return torch.stack(notes)

    return Work(step, batches(lambda: (normal(4, 1, 32768),)))


class Bands(nn.Module):
    """The bands of a spectrum, each heard by a recurrent layer of the vendor's library and kept as far as it says."""

    def __init__(self, bands: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.hear = nn.ModuleList(nn.LSTM(size, 2 * size, batch_first=True) for _ in range(bands))
        self.keep = nn.ModuleList(nn.Linear(2 * size, size) for _ in range(bands))

    def forward(self, power: torch.Tensor) -> torch.Tensor:
        parts = []
        for hear, keep, part in zip(self.hear, self.keep, power.split(self.size, -1), strict=True):
            parts.append(part * torch.sigmoid(keep(hear(part)[0])))
        return torch.cat(parts, -1)


@workload("seventh")
def noisy_bands() -> Work:
    """A few frames of speech cleared of noise, band by band, as they come from a microphone."""
    model, window = inference(Bands(10, 32)), torch.hann_window(640, device=normal(1).device)

    def step(sound: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft(sound * window)[..., :320]
        kept = model(spectrum.abs())
        return torch.fft.irfft(spectrum * (kept / (spectrum.abs() + 1e-6)), 640) * window

    return Work(step, batches(lambda: (normal(2, 6, 640),)))


@workload("seventh", "streams")
def beam_formers() -> Work:
    """Four arrays of microphones, a stream for each, aimed by iterating on the covariance of what they hear."""
    streams = [torch.cuda.Stream() for _ in range(4)]

    def aimed(heard: torch.Tensor, aim: torch.Tensor) -> torch.Tensor:
        covariance = torch.bmm(heard, heard.mH) / heard.shape[-1]
        for _ in range(10):
            aim = torch.bmm(covariance, aim)
            aim = aim / torch.linalg.vector_norm(aim, dim=1, keepdim=True)
        return torch.bmm(aim.mH, heard)

    def step(aim: torch.Tensor, *arrays: torch.Tensor) -> torch.Tensor:
        return torch.cat(side_by_side([partial(aimed, heard, aim) for heard in arrays], streams), 1)

    def complex_normal(*shape: int) -> torch.Tensor:
        return torch.complex(normal(*shape), normal(*shape))

    return Work(step, batches(lambda: (complex_normal(65, 8, 1), *(complex_normal(65, 8, 64) for _ in range(4)))))


class Snake(nn.Module):
    """An activation that keeps what is periodic: a squared sine is added, of a rate for each channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.rate = nn.Parameter(torch.ones(channels, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.sin(self.rate * x).square() / (self.rate + 1e-9)


class Spread(nn.Module):
    """Convolutions that look ever further apart, each pair added to what came in."""

    def __init__(self, channels: int, size: int) -> None:
        super().__init__()
        self.pairs = nn.ModuleList(
            nn.Sequential(
                Snake(channels),
                nn.Conv1d(channels, channels, size, padding="same", dilation=apart),
                Snake(channels),
                nn.Conv1d(channels, channels, size, padding="same"),
            )
            for apart in (1, 3)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for pair in self.pairs:
            x = x + pair(x)
        return x


class Voice(nn.Module):
    """Sound from the bands of speech, made longer stage by stage."""

    def __init__(self, *channels: int) -> None:
        super().__init__()
        self.enter, self.leave = nn.Conv1d(80, channels[0], 7, padding=3), nn.Conv1d(channels[-1], 1, 7, padding=3)
        self.longer = nn.ModuleList(
            nn.Sequential(Snake(a), nn.ConvTranspose1d(a, b, 8, stride=4, padding=2)) for a, b in pairwise(channels)
        )
        self.spread = nn.ModuleList(nn.ModuleList(Spread(b, size) for size in (3, 7)) for b in channels[1:])
        self.last = Snake(channels[-1])

    def forward(self, bands: torch.Tensor) -> torch.Tensor:
        x = self.enter(bands)
        for longer, spread in zip(self.longer, self.spread, strict=True):
            x = longer(x)
            x = torch.stack([part(x) for part in spread]).mean(0)
        return torch.tanh(self.leave(self.last(x)))


@workload("eighth")
def spoken_answer() -> Work:
    """A third of a second of speech from its bands, by convolutions that lengthen them."""
    return Work(inference(Voice(256, 128, 64, 32)), batches(lambda: (normal(1, 80, 30),)))


def mistakes(heard: list[int], said: list[int]) -> int:
    """The least number of letters to change, leave out or put in."""
    row = list(range(len(said) + 1))
    for place, letter in enumerate(heard, 1):
        before, row[0] = row[0], place
        for at, wanted in enumerate(said, 1):
            before, row[at] = row[at], min(before + (letter != wanted), row[at] + 1, row[at - 1] + 1)
    return row[-1]


@torch.compiler.disable
def error_rate(letters: torch.Tensor, texts: torch.Tensor) -> float:
    """The share of letters that were misheard, repetitions and blanks left out."""
    wrong, total = 0, 0
    for row, said in zip(letters.cpu().tolist(), texts.tolist(), strict=True):
        heard = [letter for letter, _ in groupby(row) if letter]
        wrong, total = wrong + mistakes(heard, said), total + len(said)
    return wrong / total


@workload("ninth", "blocked")
def misheard_letters() -> Work:
    """Transcripts of a speech recogniser rated by how many letters it misheard, which the host counts."""

    def step(scores: torch.Tensor, texts: torch.Tensor) -> float:
        return error_rate(scores.argmax(-1), texts)

    blank = 2 * F.one_hot(torch.tensor(0), 48).to(normal(1).device)
    return Work(step, batches(lambda: (normal(12, 120, 48) + blank, torch.randint(1, 48, (12, 40)))))
