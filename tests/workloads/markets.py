"""Steps on markets: orders, news, shares, bonds, options and what moves them together."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from typing import cast

import torch
from torch import nn
from torch.nn import functional as F

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
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side

Trade = tuple[int, int, int]


def matched(ticks: torch.Tensor, buys: torch.Tensor, sizes: torch.Tensor) -> list[Trade]:
    """Number, number of the older order and size of every trade: orders meet the best price, then the oldest."""
    bids: list[list[int]] = []
    asks: list[list[int]] = []
    trades: list[Trade] = []
    orders: list[list[int]] = torch.stack([ticks, buys, sizes], 1).tolist()
    for number, (price, buy, size) in enumerate(orders):
        own, other, limit = (bids, asks, price) if buy else (asks, bids, -price)
        while size and other and other[0][0] <= limit:
            best = other[0]
            traded = min(size, best[2])
            trades.append((number, best[1], traded))
            size, best[2] = size - traded, best[2] - traded
            if not best[2]:
                heapq.heappop(other)
        if size:
            heapq.heappush(own, [-limit, number, size])
    return trades


@workload("seventeenth", "blocked")
def matched_orders() -> Work:
    """A simulated exchange: the device says at which price each order comes, and the host matches them one by one."""
    orders = 5000 if ON_GPU else 40
    match = cast("Callable[..., list[Trade]]", torch.compiler.disable(matched))

    def step(worth: torch.Tensor, greed: torch.Tensor, buys: torch.Tensor, sizes: torch.Tensor) -> list[Trade]:
        return match((100 * worth - greed).round().long(), buys, sizes)

    def day() -> Inputs:
        return 50 + 0.1 * normal(orders), 5 * normal(orders), integers(2, orders), 1 + integers(100, orders)

    return Work(step, batches(day))


@workload("seventeenth")
def compared_news() -> Work:
    """The news of a day compared with the profiles of many companies, both embedded in one byte a number."""
    stories, companies, width = (16_384, 32_768, 2048) if ON_GPU else (32, 16, 8)
    profiles = torch.randint(-127, 128, (companies, width), device=DEVICE, dtype=torch.int8)

    def step(story: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten._int_mm(story, profiles.T)

    def day() -> Inputs:
        return (torch.randint(-127, 128, (stories, width), device=DEVICE, dtype=torch.int8),)

    return Work(step, batches(day))


class Book(nn.Module):
    """Whether a price will fall, stay or rise, from its order book: convolutions, then an LSTM (DeepLOB)."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        merges = ((1, 2), (1, 2), (1, 10))
        layers: list[nn.Module] = []
        for known, merge in zip((1, channels, channels), merges, strict=True):
            layers += [nn.Conv2d(known, channels, merge, stride=merge), nn.LeakyReLU(0.01)]
            layers += [nn.Conv2d(channels, channels, (4, 1)), nn.LeakyReLU(0.01)]
        self.see = nn.Sequential(*layers)
        self.read, self.say = nn.LSTM(channels, width, batch_first=True), nn.Linear(width, 3)

    def forward(self, book: torch.Tensor) -> torch.Tensor:
        seen = self.see(book).squeeze(3).transpose(1, 2)
        return self.say(self.read(seen)[0][:, -1]).softmax(-1)


@workload("seventeenth", "streams")
def order_books() -> Work:
    """Where four exchanges will move the price of one share, by a network for each, each on its stream."""
    models = [inference(Book(32, 64)) for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in models]

    def step(books: torch.Tensor) -> torch.Tensor:
        parts = zip(models, books.unbind(0), strict=True)
        return torch.stack(side_by_side([partial(model, book) for model, book in parts], streams))

    return Work(step, batches(lambda: (normal(4, 2, 1, 50, 40),)))


class Swings(nn.Module):
    """The mean and the logarithm of the spread of each next return, by the vendor's recurrent layers."""

    def __init__(self, known: int, width: int) -> None:
        super().__init__()
        self.read, self.say = nn.LSTM(known, width, num_layers=3, batch_first=True), nn.Linear(width, 2)

    def forward(self, past: torch.Tensor) -> torch.Tensor:
        return self.say(self.read(past)[0])


@workload("seventeenth", "training")
def learned_volatility() -> Work:
    """How much shares will swing from hour to hour, learned by an LSTM from the likelihood of what they returned."""
    shares, hours = (16, 40) if ON_GPU else (4, 6)

    def loss(model: nn.Module, past: torch.Tensor, returned: torch.Tensor) -> torch.Tensor:
        mean, spread = model(past).unbind(-1)
        return (spread + 0.5 * ((returned - mean) * torch.exp(-spread)).square()).mean()

    step = training(Swings(10, 64), loss, fused_adamw)
    return Work(step, batches(lambda: (normal(shares, hours, 10), normal(shares, hours))))


@workload("seventeenth")
def heston_smiles() -> Work:
    """Calls at every strike and eight expiries under Heston's model, from its characteristic function (Carr, Madan)."""
    names, places, damp = (16, 2048, 1.5) if ON_GPU else (2, 16, 1.5)
    at = 0.25 * torch.arange(places, device=DEVICE)
    strike = -torch.pi / 0.25 + 2 * torch.pi / (0.25 * places) * torch.arange(places, device=DEVICE)
    wave = at - (damp + 1) * 1j
    below = damp * damp + damp - at.square() + 1j * (2 * damp + 1) * at
    weigh = 0.25 * torch.exp(1j * at * torch.pi / 0.25) / below
    undone = torch.exp(-damp * strike) / torch.pi

    def step(now: torch.Tensor, pull: torch.Tensor, usual: torch.Tensor, swing: torch.Tensor) -> list[torch.Tensor]:
        drift = pull + 0.7j * swing * wave
        root = torch.sqrt(drift * drift + swing * swing * (1j * wave + wave * wave))
        low, ratio = drift - root, (drift - root) / (drift + root)
        calls: list[torch.Tensor] = []
        for month in range(1, 9):
            fade = torch.exp(root * (-month / 12))
            rest = 1 - ratio * fade
            own = low * (1 - fade) / rest * (now / (swing * swing))
            long = (low * (month / 12) - 2 * torch.log(rest / (1 - ratio))) * (pull * usual / (swing * swing))
            smile: torch.Tensor = torch.fft.fft(torch.exp(own + long) * weigh)
            calls.append(smile.real * undone)
        return calls

    def day() -> Inputs:
        now, pull, usual, swing = torch.rand(4, names, 1, device=DEVICE).unbind(0)
        return 0.02 + 0.05 * now, 1 + 2 * pull, 0.02 + 0.05 * usual, 0.2 + 0.3 * swing

    return Work(step, batches(day))


@workload("seventeenth")
def priced_bonds() -> Work:
    """What many bonds are worth under Svensson's curve of rates, with their durations and their convexities."""
    bonds, flows = (2 << 20, 64) if ON_GPU else (8, 6)

    def step(cash: torch.Tensor, time: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        near, far = time / 1.7, time / 9.5
        fade, later = torch.exp(-near), torch.exp(-far)
        slope = (1 - fade) / near
        rate = 0.031 - 0.012 * slope - 0.02 * (slope - fade) + 0.015 * ((1 - later) / far - later)
        present = cash * torch.exp(-rate * time)
        price = present.sum(-1)
        duration = (time * present).sum(-1) / price
        return price, duration, (time * (time + 1) * present).sum(-1) / price

    def portfolio() -> Inputs:
        return torch.rand(bonds, flows, device=DEVICE), 0.1 + 30 * torch.rand(bonds, flows, device=DEVICE)

    return Work(step, batches(portfolio, 2))


class Splines(nn.Module):
    """A layer of learned curves (a Kolmogorov-Arnold network's), each a sum of cubic B-splines and a smooth step."""

    def __init__(self, inputs: int, outputs: int, cells: int) -> None:
        super().__init__()
        knots = 2 * torch.arange(-3, cells + 4) / cells - 1
        self.register_buffer("knots", knots)
        self.smooth, self.curved = nn.Linear(inputs, outputs), nn.Linear(inputs * (cells + 3), outputs, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        knots, at = self.get_buffer("knots"), torch.tanh(x).unsqueeze(-1)
        base = ((at >= knots[:-1]) & (at < knots[1:])).to(x.dtype)
        for order in range(1, 4):
            rising = (at - knots[: -order - 1]) / (knots[order:-1] - knots[: -order - 1])
            falling = (knots[order + 1 :] - at) / (knots[order + 1 :] - knots[1:-order])
            base = rising * base[..., :-1] + falling * base[..., 1:]
        return self.smooth(F.silu(x)) + self.curved(base.flatten(1))


@workload("seventeenth", "blocked")
def guarded_surface() -> Work:
    """Volatilities by strike and expiry from a network of splines; the host asks whether they are far from the last."""
    model = inference(nn.Sequential(Splines(4, 16, 8), *[Splines(16, 16, 8) for _ in range(6)], Splines(16, 1, 8)))

    def step(place: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
        swing = F.softplus(model(place).squeeze(-1))
        if (swing - last).abs().amax().item() > 50.0:
            return last
        return swing

    return Work(step, batches(lambda: (normal(400, 4), torch.rand(400, device=DEVICE))))


class Exposures(nn.Module):
    """Returns of shares from their exposures, a network of what they are like, to factors of portfolios."""

    def __init__(self, known: int, width: int, factors: int, depth: int) -> None:
        super().__init__()
        sizes = [known, *[width] * (depth - 1)]
        layers = [(nn.Linear(size, width), nn.LayerNorm(width), nn.SiLU()) for size in sizes]
        self.expose = nn.Sequential(*[part for layer in layers for part in layer], nn.Linear(width, factors))
        self.factors = nn.Linear(known, factors)

    def forward(self, like: torch.Tensor, portfolio: torch.Tensor) -> torch.Tensor:
        return (self.expose(like) * self.factors(portfolio).unsqueeze(1)).sum(-1)


@workload("seventeenth", "training")
def learned_factors() -> Work:
    """The factors behind the returns of shares, learned by a conditional autoencoder with small weights preferred."""
    months, shares, known = (4, 128, 94) if ON_GPU else (2, 6, 9)

    def loss(model: nn.Module, like: torch.Tensor, portfolio: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        small = torch.stack([weight.abs().mean() for weight in model.parameters() if weight.dim() == 2]).sum()
        return F.huber_loss(model(like, portfolio), gain) + 1e-3 * small

    def batch() -> Inputs:
        return normal(months, shares, known), normal(months, known), normal(months, shares)

    return Work(training(Exposures(known, 64, 6, 6), loss, adamw), batches(batch))


class Regimes(nn.Module):
    """How unlikely days of returns are under a hidden Markov model of moods with Gaussian returns."""

    def __init__(self, moods: int, series: int) -> None:
        super().__init__()
        self.first, self.moves = nn.Parameter(torch.zeros(moods)), nn.Parameter(2 * torch.eye(moods))
        self.means, self.spreads = nn.Parameter(torch.randn(moods, series)), nn.Parameter(torch.zeros(moods, series))

    def forward(self, returned: torch.Tensor) -> torch.Tensor:
        away = (returned.unsqueeze(2) - self.means) * torch.exp(-self.spreads)
        said = -(0.5 * away.square() + self.spreads).sum(-1)
        moves = self.moves.log_softmax(-1)
        belief = self.first.log_softmax(-1) + said[:, 0]
        for day in said.unbind(1)[1:]:
            belief = torch.logsumexp(belief.unsqueeze(2) + moves, 1) + day
        return -torch.logsumexp(belief, 1).mean() / returned.shape[1]


@workload("seventeenth", "training")
def market_regimes() -> Work:
    """The moods of a market, learned by gradients from the likelihood of a month and a half of many shares' returns."""
    shares, days, moods = (64, 32, 12) if ON_GPU else (4, 5, 3)

    def loss(model: nn.Module, returned: torch.Tensor) -> torch.Tensor:
        return model(returned)

    return Work(training(Regimes(moods, 4), loss, adamw), batches(lambda: (normal(shares, days, 4),)))
