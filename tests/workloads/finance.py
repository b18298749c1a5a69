"""Steps of finance: prices, risks and hedges."""

from __future__ import annotations

import torch
from torch import nn

from tests.workloads.layers import perceptron
from tests.workloads.registry import Work, adamw, batches, normal, training, workload


class Hedger(nn.Module):
    """How much of a share to hold at each date, and what is gained by that less the costs of trading."""

    def __init__(self) -> None:
        super().__init__()
        self.choose = perceptron(3, 32, 32, 1, activation=nn.SiLU)

    def forward(self, prices: torch.Tensor, swings: torch.Tensor) -> torch.Tensor:
        held = gained = torch.zeros_like(prices[:, :1])
        for at in range(swings.shape[1]):
            price, after = prices[:, at : at + 1], prices[:, at + 1 : at + 2]
            seen = torch.cat([price.log(), held, swings[:, at : at + 1]], -1)
            wanted = torch.sigmoid(self.choose(seen))
            gained = gained + wanted * (after - price) - 0.001 * price * (wanted - held).abs()
            held = wanted
        return gained


@workload("sixth", "training")
def hedged_option() -> Work:
    """A network taught to hedge an option on simulated paths, ten dates to a path, by its entropic risk."""

    def loss(model: nn.Module, prices: torch.Tensor, swings: torch.Tensor) -> torch.Tensor:
        lost = (prices[:, -1:] - 1.0).relu() - model(prices, swings)
        return torch.logsumexp(10.0 * lost, 0).mean() / 10.0

    def paths() -> tuple[torch.Tensor, ...]:
        swings = 0.01 + 0.01 * normal(4096, 11).abs()
        return (swings * normal(4096, 11)).cumsum(1).exp(), swings[:, :10].contiguous()

    return Work(training(Hedger(), loss, adamw), batches(paths))


@workload("sixth", "blocked")
def option_greeks() -> Work:
    """Prices of a large book of options with their sensitivities; the host reads the risk before it sizes the hedge."""

    def valued(spot: torch.Tensor, strike: torch.Tensor, swing: torch.Tensor, time: torch.Tensor) -> list[torch.Tensor]:
        root, rate = torch.sqrt(time), 0.03
        first = (torch.log(spot / strike) + (rate + 0.5 * swing * swing) * time) / (swing * root)
        second = first - swing * root
        delta, paid = (0.5 * (1.0 + torch.erf(point * 0.70710678)) for point in (first, second))
        density = 0.39894228 * torch.exp(-0.5 * first * first)
        present = strike * torch.exp(-rate * time)
        price, gamma = spot * delta - present * paid, density / (spot * swing * root)
        vega, theta = spot * density * root, -spot * density * swing / (2.0 * root) - rate * present * paid
        return [price, delta, gamma, vega, theta]

    def step(*book: torch.Tensor) -> list[torch.Tensor]:
        price, delta, gamma, vega, theta = valued(*book)
        shocked = delta * 0.02 * book[0] + 0.5 * gamma * (0.02 * book[0]).square() + 0.01 * vega + theta / 250.0
        risk = shocked.square().mean().sqrt().item()
        hedge = -delta if risk > 0.05 else -0.5 * delta
        return [price, hedge * book[0], gamma, vega, theta]

    def book() -> tuple[torch.Tensor, ...]:
        spot, strike, swing, time = (normal(16 << 20).abs() for _ in range(4))
        return 0.5 + spot, 0.5 + strike, 0.1 + 0.2 * swing, 0.1 + time

    return Work(step, batches(book, 2))
