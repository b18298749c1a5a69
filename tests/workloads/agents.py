"""Steps of agents that learn from what they tried: corrected trajectories, critics, advantages, replayed memories."""

from __future__ import annotations

import copy
import random
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import plain
from tests.workloads.registry import DEVICE, ON_GPU, Inputs, Work, batches, fused_adamw, integers, normal, workload
from tests.workloads.streams import side_by_side


class Actor(nn.Module):
    """Scores of actions for what is seen, and what is expected to follow."""

    def __init__(self, seen: int, width: int, actions: int) -> None:
        super().__init__()
        layers = [(nn.Linear(a, width), nn.LayerNorm(width), nn.ELU()) for a in (seen, width, width)]
        self.body = nn.Sequential(*[part for layer in layers for part in layer])
        self.act, self.expect = nn.Linear(width, actions), nn.Linear(width, 1)

    def forward(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.body(seen)
        return self.act(hidden).log_softmax(-1), self.expect(hidden).squeeze(-1)


def corrected(
    value: torch.Tensor, gain: torch.Tensor, lasting: torch.Tensor, ratio: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Targets of values and the advantages, from actions of an older policy: V-trace, time first."""
    after, trust = torch.cat([value[1:], value[-1:]]), ratio.clamp(max=1.0)
    change = trust * (gain + lasting * after - value)
    above, rows = torch.zeros_like(value[0]), []
    for tick in reversed(range(len(value))):
        above = change[tick] + lasting[tick] * trust[tick] * above
        rows.append(above)
    target = value + torch.stack(rows[::-1])
    return target, trust * (gain + lasting * torch.cat([target[1:], value[-1:]]) - value)


@workload("tenth", "training")
def trajectory_corrections() -> Work:
    """A policy and its values learned from trajectories that older copies of it have sent, corrected tick by tick."""
    model = Actor(48, 128, 6).to(DEVICE).train()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-4, eps=0.01, foreach=True, capturable=ON_GPU)

    def step(
        seen: torch.Tensor, action: torch.Tensor, old: torch.Tensor, gain: torch.Tensor, lasting: torch.Tensor
    ) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        policy, value = model(seen)
        chosen = policy.gather(-1, action.unsqueeze(-1)).squeeze(-1)
        with torch.no_grad():
            target, better = corrected(value, gain, 0.99 * lasting, torch.exp(chosen - old))
        surprise = -(policy.exp() * policy).sum(-1).mean()
        loss = 0.5 * (target - value).square().mean() - (chosen * better).mean() - 0.01 * surprise
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 40.0)
        optimizer.step()
        return loss.detach()

    def sent() -> Inputs:
        shape = (20, 32)
        lasting = (integers(20, *shape) > 0).float()
        return normal(*shape, 48), integers(6, *shape), -1.8 + 0.2 * normal(*shape), normal(*shape), lasting

    return Work(step, batches(sent))


@workload("tenth", "streams", "training")
def many_critics() -> Work:
    """Six critics of one policy updated together, each on a stream, towards the least of what two slow ones say."""
    critics = nn.ModuleList(plain(56, *[384] * 4, 1) for _ in range(6)).to(DEVICE).train()
    slow = copy.deepcopy(critics).requires_grad_(False)
    optimizer, streams = fused_adamw(critics.parameters()), [torch.cuda.Stream() for _ in critics]
    kept, followed = list(slow.parameters()), list(critics.parameters())

    def step(tried: torch.Tensor, gain: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        expected = side_by_side([partial(critic, following) for critic in slow], streams)
        target = gain + 0.99 * torch.minimum(expected[0], expected[3])

        def loss(critic: nn.Module) -> torch.Tensor:
            return F.mse_loss(critic(tried), target)

        losses = torch.stack(side_by_side([partial(loss, critic) for critic in critics], streams))
        losses.sum().backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(kept, followed, 0.005)
        return losses.detach()

    return Work(step, batches(lambda: (normal(256, 56), normal(256, 1), normal(256, 56))))


@workload("tenth", "blocked")
def many_advantages() -> Work:
    """Generalised advantages of two million simulated worlds; the host reads how much the values explain."""
    ticks, worlds = (20, 2_097_152) if ON_GPU else (4, 16)

    def step(gain: torch.Tensor, value: torch.Tensor, lasting: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        above, rows = torch.zeros_like(gain[0]), []
        for tick in reversed(range(ticks)):
            change = gain[tick] + 0.99 * value[tick + 1] * lasting[tick] - value[tick]
            above = change + 0.99 * 0.95 * lasting[tick] * above
            rows.append(above)
        better = torch.stack(rows[::-1])
        target = better + value[:-1]
        explained = 1 - better.var() / target.var()
        scaled = ((better - better.mean()) / (better.std() + 1e-8)).clamp(-8, 8)
        if explained.item() < -100.0:
            return torch.zeros_like(scaled), target
        return scaled, target

    def rollouts() -> Inputs:
        lasting = (torch.rand(ticks, worlds, device=DEVICE) > 0.01).float()
        return normal(ticks, worlds), normal(ticks + 1, worlds), lasting

    return Work(step, batches(rollouts, 2))


class Priorities:
    """A binary tree on the host whose nodes hold the sums of the priorities below them."""

    def __init__(self, places: int) -> None:
        self.places, self.draw = places, random.Random(0)
        self.sums = [0.0] * places + [1.0] * places
        for node in range(places - 1, 0, -1):
            self.sums[node] = self.sums[2 * node] + self.sums[2 * node + 1]

    def change(self, place: int, priority: float) -> None:
        """Set the priority of a place."""
        node = place + self.places
        difference = priority - self.sums[node]
        while node:
            self.sums[node] += difference
            node //= 2

    def find(self, below: float) -> int:
        """The node of the place where the running sum of priorities passes a value."""
        node = 1
        while node < self.places:
            node *= 2
            if below > self.sums[node]:
                below -= self.sums[node]
                node += 1
        return node

    @torch.compiler.disable
    def redrawn(self, places: torch.Tensor, priorities: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """New priorities noted, and as many places drawn by them, with the chance of each."""
        for place, priority in zip(places.tolist(), priorities.tolist(), strict=True):
            self.change(place, priority)
        share = self.sums[1] / len(places)
        nodes = [self.find(share * (part + self.draw.random())) for part in range(len(places))]
        chance = [self.sums[node] / self.sums[1] for node in nodes]
        return torch.tensor([node - self.places for node in nodes]), torch.tensor(chance)


@workload("tenth", "blocked")
def replayed_by_priority() -> Work:
    """Memories drawn by how wrong they were last time, from a tree that the host keeps, and weighed for it."""
    places, drawn = (262_144, 2048) if ON_GPU else (64, 8)
    tree, states, gains = Priorities(places), normal(places, 128), normal(places)

    def step(place: torch.Tensor, wrong: torch.Tensor) -> tuple[torch.Tensor, ...]:
        fresh, chance = (part.to(DEVICE) for part in tree.redrawn(place, (wrong.abs() + 1e-3) ** 0.6))
        weight = (places * chance) ** -0.4
        return states[fresh], gains[fresh], weight / weight.max()

    return Work(step, batches(lambda: (integers(places, drawn), normal(drawn))))
