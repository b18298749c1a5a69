"""Steps of a newsroom: what is filmed, drawn, written up, recommended and read."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Work,
    adamw,
    batches,
    fused_adamw,
    integers,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side


@workload("twentieth", "streams")
def compared_transcripts() -> Work:
    """Two long transcripts of one hearing, each attending to the other on a stream of its own."""
    heads, words = (16, 16_384) if ON_GPU else (2, 16)
    streams = [torch.cuda.Stream() for _ in range(2)]
    attend = F.scaled_dot_product_attention

    def step(ours: torch.Tensor, theirs: torch.Tensor) -> list[torch.Tensor]:
        asked, offered, told = ours
        wondered, shown, said = theirs
        return side_by_side([partial(attend, asked, shown, said), partial(attend, wondered, offered, told)], streams)

    def sides() -> torch.Tensor:
        return normal(3, 1, heads, words, 128, dtype=torch.bfloat16)

    return Work(step, batches(lambda: (sides(), sides())))


@workload("twentieth")
def drawn_illustrations() -> Work:
    """One step of a diffusion sampler: guided, its spread corrected, clamped and moved on."""
    pictures, side = (24, 1024) if ON_GPU else (2, 8)
    now, after, guidance, share = 0.42, 0.51, 7.5, 0.7

    def step(noisy: torch.Tensor, told: torch.Tensor, untold: torch.Tensor) -> torch.Tensor:
        guided = untold + guidance * (told - untold)
        spread = told.std((1, 2, 3), keepdim=True) / guided.std((1, 2, 3), keepdim=True)
        noise = share * guided * spread + (1 - share) * guided
        clean = ((noisy - (1 - now) ** 0.5 * noise) / now**0.5).clamp(-1, 1)
        noise = (noisy - now**0.5 * clean) / (1 - now) ** 0.5
        return after**0.5 * clean + (1 - after) ** 0.5 * noise

    picture = partial(normal, pictures, 3, side, side)
    return Work(step, batches(lambda: (picture(), picture(), picture())))


def graded(frames: torch.Tensor) -> torch.Tensor:
    """Frames (frame, red-green-blue, row, column) in 0..1, made linear, warmed, contrasted and encoded again."""
    red, green, blue = frames.clamp(0, 1).pow(2.2).unbind(1)
    luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    warmed = torch.stack((1.06 * red, green, 0.93 * blue), 1)
    vivid = luma[:, None] + 1.15 * (warmed - luma[:, None])
    return torch.sigmoid(6 * (vivid - 0.4)).clamp(0, 1).pow(1 / 2.2)


@workload("twentieth", "blocked")
def broadcast_footage() -> Work:
    """Footage graded for the bulletin and steadied in light over time, unless the host sees a cut to another scene."""
    frames, rows, columns = (16, 1080, 1920) if ON_GPU else (2, 6, 8)

    def step(shot: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        now, then = graded(shot), graded(before)
        apart = (now - then).abs().mean()
        if apart.item() > 0.6:
            return now
        weight = torch.exp(-8 * (now - then).square())
        return (now + 0.5 * weight * (then - now)).mul(219 / 255).add(16 / 255)

    def footage() -> torch.Tensor:
        return torch.rand(frames, 3, rows, columns, device=DEVICE)

    return Work(step, batches(lambda: (footage(), footage())))


class Sessions(nn.Module):
    """Articles opened one after another, (reader, click) -> (reader, click, feature), by two recurrent layers."""

    def __init__(self, articles: int, width: int) -> None:
        super().__init__()
        self.articles = nn.Embedding(articles, width)
        self.first = nn.GRU(width, width, batch_first=True)
        self.second = nn.GRU(width, width, batch_first=True)

    def forward(self, opened: torch.Tensor) -> torch.Tensor:
        seen, _ = self.first(self.articles(opened))
        return self.second(seen)[0]


def preferred(model: Sessions, opened: torch.Tensor, ignored: torch.Tensor) -> torch.Tensor:
    """How little the next article opened outranks one that was ignored."""
    state = model(opened[:, :-1])
    better = (state * (model.articles(opened[:, 1:]) - model.articles(ignored))).sum(-1)
    return -F.logsigmoid(better).mean()


@workload("twentieth", "training")
def article_sessions() -> Work:
    """Recurrent sessions of readers, trained to rank the article opened next above one that was not."""
    articles, width = (5000, 96) if ON_GPU else (50, 8)
    step = training(Sessions(articles, width), preferred, fused_adamw)
    return Work(step, batches(lambda: (integers(articles, 32, 9), integers(articles, 32, 8))))


class Recurrent(nn.Module):
    """Words (text, word) read both ways by recurrent layers, one after another, to one vector a text."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.words = nn.Embedding(8000, width)
        self.layers = nn.ModuleList(
            nn.LSTM(width, width // 2, batch_first=True, bidirectional=True) for _ in range(layers)
        )

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        state = self.words(words)
        for layer in self.layers:
            state, _ = layer(state)
        return state[:, -1]


@workload("twentieth", "streams")
def matched_headlines() -> Work:
    """Headlines matched with opening lines: a recurrent tower for each, side by side on two streams."""
    towers = [Recurrent(128, 4).to(DEVICE).eval() for _ in range(2)]
    streams = [torch.cuda.Stream() for _ in towers]

    def step(headlines: torch.Tensor, openings: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            tasks = [partial(tower, text) for tower, text in zip(towers, (headlines, openings), strict=True)]
            short, long = side_by_side(tasks, streams)
            return short @ long.T

    return Work(step, batches(lambda: (integers(8000, 8, 12), integers(8000, 8, 12))))


class MixerBlock(nn.Module):
    """Series (article, channel, patch, feature) mixed over patches, then over features, behind norms."""

    def __init__(self, patches: int, width: int) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.over_time = nn.Sequential(nn.Linear(patches, 2 * patches), nn.GELU(), nn.Linear(2 * patches, patches))
        self.over_width = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.gate = nn.Linear(width, width)

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        state = state + self.over_time(self.before(state).transpose(-1, -2)).transpose(-1, -2)
        inner = self.after(state)
        return state + torch.sigmoid(self.gate(inner)) * self.over_width(inner)


class PatchMixer(nn.Module):
    """The next `ahead` values of series (article, channel, hour), normalised by their own mean and spread."""

    def __init__(self, hours: int, ahead: int, patch: int, width: int) -> None:
        super().__init__()
        self.patch, patches = patch, hours // patch
        self.embed = nn.Linear(patch, width)
        self.blocks = nn.Sequential(*(MixerBlock(patches, width) for _ in range(4)))
        self.head = nn.Linear(patches * width, ahead)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        middle = series.mean(-1, keepdim=True)
        spread = (series.var(-1, keepdim=True) + 1e-5).sqrt()
        patches = ((series - middle) / spread).unflatten(-1, (-1, self.patch))
        return self.head(self.blocks(self.embed(patches)).flatten(-2)) * spread + middle


@workload("twentieth", "training")
def expected_readers() -> Work:
    """A patch mixer trained to foretell how many will read what, an hour at a time."""

    def loss(model: nn.Module, past: torch.Tensor, future: torch.Tensor) -> torch.Tensor:
        return F.smooth_l1_loss(model(past), future)

    step = training(PatchMixer(96, 24, 8, 64), loss, adamw)
    return Work(step, batches(lambda: (normal(16, 4, 96), normal(16, 4, 24))))
