"""Steps of recommendation, reinforcement and representation learning."""

from __future__ import annotations

import copy
from functools import partial
from itertools import pairwise

import torch
from torch import nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional as F

from tests.workloads.layers import perceptron
from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
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


@workload("fourth")
def catalogue_features() -> Work:
    """The histories of users over many fields, each pooled from a table of its own and brought to one width."""
    fields, users, events = 24, 256, 8
    tables = [normal(20_000, 16 + 16 * (field % 3)) for field in range(fields)]
    lifts = [normal(table.shape[1], 64) / 8 for table in tables]
    starts = torch.arange(0, users * events, events, device=DEVICE)

    def step(histories: torch.Tensor) -> torch.Tensor:
        pooled = [F.embedding_bag(ids, table, starts) for ids, table in zip(histories, tables, strict=True)]
        return torch.cat([part @ lift for part, lift in zip(pooled, lifts, strict=True)], 1)

    return Work(step, batches(lambda: (integers(20_000, fields, users * events),)))


class Actor(nn.Module):
    """A policy that draws squashed normal actions from given noise, with the logarithms of their densities."""

    def __init__(self, states: int, actions: int) -> None:
        super().__init__()
        self.body = perceptron(states, 256, 256, 2 * actions)

    def forward(self, state: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, spread = self.body(state).chunk(2, -1)
        spread = spread.clamp(-5, 2)
        drawn = mean + noise * spread.exp()
        squash = 2 * (0.6931472 - drawn - F.softplus(-2 * drawn))
        return torch.tanh(drawn), (-0.5 * noise.square() - spread - 0.9189385 - squash).sum(-1, keepdim=True)


@workload("fourth", "training")
def soft_actor_critic() -> Work:
    """Twin critics and an actor updated from replayed transitions; the critics' slow copies follow them."""
    actor = Actor(24, 6).to(DEVICE)
    critics = nn.ModuleList(perceptron(30, 256, 256, 1) for _ in range(2)).to(DEVICE)
    slow = copy.deepcopy(critics).requires_grad_(False)
    actor_optimizer, critic_optimizer = adamw(actor.parameters()), adamw(critics.parameters())

    def worth(judges: nn.ModuleList, state: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        pair = torch.cat([state, action], -1)
        return torch.cat([judge(pair) for judge in judges], -1)

    def step(state: torch.Tensor, action: torch.Tensor, after: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        noise = action.flip(0)
        with torch.no_grad():
            following, density = actor(after, noise)
            wanted = gain + 0.99 * (worth(slow, after, following).amin(-1, keepdim=True) - 0.2 * density)
        critic_optimizer.zero_grad(set_to_none=True)
        F.mse_loss(worth(critics, state, action), wanted.expand(-1, 2)).backward()
        critic_optimizer.step()
        actor_optimizer.zero_grad(set_to_none=True)
        chosen, density = actor(state, noise)
        loss = (0.2 * density - worth(critics, state, chosen).amin(-1, keepdim=True)).mean()
        loss.backward()
        actor_optimizer.step()
        torch._foreach_lerp_(list(slow.parameters()), [p.detach() for p in critics.parameters()], 0.005)
        return loss.detach()

    return Work(step, batches(lambda: tuple(normal(256, size) for size in (24, 6, 24, 1))))


class Viewer(nn.Module):
    """Linear layers with layer norms and GELU between them."""

    def __init__(self, *widths: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for width in widths[1:])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = F.gelu(norm(layer(x)))
        return x


@workload("fourth", "streams", "training")
def following_teacher() -> Work:
    """A student trained to predict its teacher's view, which a second stream computes; the teacher follows slowly."""
    student = Viewer(256, 512, 512, 512, 512, 512, 256).to(DEVICE)
    teacher = copy.deepcopy(student).requires_grad_(False)
    predict = perceptron(256, 256, 256).to(DEVICE)
    optimizer = fused_adamw([*student.parameters(), *predict.parameters()])
    streams = [torch.cuda.Stream() for _ in range(2)]

    def step(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        guess, shown = side_by_side([lambda: predict(student(first)), lambda: teacher(second)], streams)
        loss = 2 - 2 * F.cosine_similarity(guess, shown).mean()
        loss.backward()
        optimizer.step()
        torch._foreach_lerp_(list(teacher.parameters()), [p.detach() for p in student.parameters()], 0.01)
        return loss.detach()

    return Work(step, batches(lambda: (normal(256, 256), normal(256, 256))))


class Adapted(nn.Module):
    """A frozen linear layer with a trained product of two thin matrices beside it."""

    def __init__(self, inputs: int, outputs: int, rank: int = 8) -> None:
        super().__init__()
        self.frozen = nn.Linear(inputs, outputs).requires_grad_(False)
        self.down, self.up = nn.Linear(inputs, rank, bias=False), nn.Linear(rank, outputs, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.frozen(x) + 2.0 * self.up(self.down(x))


class AdaptedBlock(nn.Module):
    """A gated feed-forward block of adapted layers around a root-mean-square norm, which stays as it is."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(width).requires_grad_(False)
        self.gate, self.enter, self.leave = (Adapted(a, b) for a, b in ((width, 768), (width, 768), (768, width)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = self.norm(x)
        return x + self.leave(F.silu(self.gate(seen)) * self.enter(seen))


@workload("fifth", "training")
def adapted_blocks() -> Work:
    """Thin adapters of frozen layers fine-tuned, two micro-batches to an update, gradients clipped."""
    model = nn.Sequential(*[AdaptedBlock(384) for _ in range(4)]).to(DEVICE, torch.bfloat16).train()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = adamw(trained)

    def step(*parts: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        for part in parts:
            loss = F.smooth_l1_loss(model(part), part.roll(1, 1)) / len(parts)
            loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        return loss.detach()

    return Work(step, batches(lambda: tuple(normal(4, 64, 384, dtype=torch.bfloat16) for _ in range(2))))


def quantised(x: torch.Tensor, largest: torch.Tensor) -> torch.Tensor:
    """Values rounded to eight bits below a largest one; gradients pass as if they were not."""
    scale = largest.clamp(min=1e-6) / 127
    return x + ((x / scale).round().clamp(-127, 127) * scale - x).detach()


class Quantised(nn.Linear):
    """A linear layer that sees its inputs and its weights as they will be in eight bits."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = quantised(self.weight, self.weight.detach().abs().amax(1, keepdim=True))
        return F.linear(quantised(x, x.detach().abs().amax()), weight, self.bias)


@workload("fifth", "training")
def quantisation_aware() -> Work:
    """Layers trained for eight bits: values rounded in the forward pass, in bfloat16 where products are."""
    widths = (1024, 2048, 2048, 1024)
    layers = [layer for a, b in pairwise(widths) for layer in (Quantised(a, b), nn.ReLU())]
    step = training(nn.Sequential(*layers[:-1]), lambda model, x, y: F.mse_loss(model(x), y), momentum, torch.bfloat16)
    return Work(step, batches(lambda: (normal(24576, 1024), normal(24576, 1024))))


@workload("fifth", "training")
def bucketed_update() -> Work:
    """Gradients that arrive in one flat bucket, given to the parameters, and one update by the fused AdamW."""
    layer = ((384, 1152), (1152,), (384, 384), (384,), (384,), (768, 384), (768,))
    shapes = [shape for _ in range(12) for shape in layer]
    parameters = [nn.Parameter(normal(*shape) / 16) for shape in shapes]
    sizes = [parameter.numel() for parameter in parameters]
    optimizer = fused_adamw(parameters)

    def step(bucket: torch.Tensor) -> torch.Tensor:
        for parameter, part in zip(parameters, bucket.split(sizes), strict=True):
            parameter.grad = part.view_as(parameter)
        optimizer.step()
        return parameters[0].detach()

    return Work(step, batches(lambda: (normal(sum(sizes)),)))


class World(nn.Module):
    """A world as a recurrent state and categories drawn from it, with an actor in it and a judge of its rewards."""

    def __init__(self, width: int, groups: int, kinds: int, actions: int) -> None:
        super().__init__()
        flat = groups * kinds
        self.enter, self.enter_norm = nn.Linear(flat + actions, width), nn.LayerNorm(width)
        self.gates, self.gates_norm = nn.Linear(2 * width, 3 * width, bias=False), nn.LayerNorm(3 * width)
        self.prior, self.prior_norm, self.draw = nn.Linear(width, width), nn.LayerNorm(width), nn.Linear(width, flat)
        self.actor, self.judge = (perceptron(width + flat, width, size, activation=nn.SiLU) for size in (actions, 1))

    def forward(self, state: torch.Tensor, drawn: torch.Tensor, chance: torch.Tensor) -> torch.Tensor:
        groups, kinds, gain, weight = *chance.shape[2:], torch.zeros_like(state[:, :1]), 1.0
        for luck in chance.unbind(1):
            action = torch.tanh(self.actor(torch.cat([state, drawn], -1)))
            entered = F.silu(self.enter_norm(self.enter(torch.cat([drawn, action], -1))))
            reset, fresh, keep = self.gates_norm(self.gates(torch.cat([entered, state], -1))).chunk(3, -1)
            state = torch.lerp(torch.tanh(torch.sigmoid(reset) * fresh), state, torch.sigmoid(keep + 1.0))
            scores = self.draw(F.silu(self.prior_norm(self.prior(state)))).unflatten(-1, (groups, kinds))
            share = 0.99 * scores.softmax(-1) + 0.01 / kinds
            drawn = F.one_hot((share.log() - (-luck.log()).log()).argmax(-1), kinds).to(state.dtype).flatten(1)
            gain, weight = gain + weight * self.judge(torch.cat([state, drawn], -1)), 0.99 * weight
        return gain


@workload("sixth")
def imagined_futures() -> Work:
    """Eight ticks imagined by the model of a world, with the actions taken there and the rewards expected."""

    def starts() -> tuple[torch.Tensor, ...]:
        drawn = F.one_hot(integers(16, 64, 16), 16).float().flatten(1)
        return normal(64, 256), drawn, torch.rand(64, 8, 16, 16, device=DEVICE).clamp(1e-6, 1 - 1e-6)

    return Work(inference(World(256, 16, 16, 6)), batches(starts))


class Quantiles(nn.Module):
    """Quantiles of what each action will bring: those of the state, and the advantage of the action over others."""

    def __init__(self, states: int, actions: int, count: int) -> None:
        super().__init__()
        self.actions, self.body = actions, perceptron(states, 256, 256, 256)
        self.state, self.advantage = perceptron(256, 128, count), perceptron(256, 128, actions * count)

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        seen = F.relu(self.body(state))
        better = self.advantage(seen).unflatten(-1, (self.actions, -1))
        return self.state(seen).unsqueeze(1) + better - better.mean(1, keepdim=True)


@workload("seventh", "training")
def quantile_values() -> Work:
    """A duelling network of action values learned by their quantiles, the optimizer going from weight to weight."""
    model = Quantiles(32, 6, 32).to(DEVICE)
    slow, middles = copy.deepcopy(model).requires_grad_(False), (torch.arange(32, device=DEVICE) + 0.5) / 32
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, foreach=False, capturable=ON_GPU)

    def wanted(after: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            best = model(after).mean(-1).argmax(-1)
            return gain + 0.99 * slow(after)[torch.arange(len(best), device=best.device), best]

    def step(state: torch.Tensor, action: torch.Tensor, after: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        own = model(state)[torch.arange(len(action), device=action.device), action]
        off = wanted(after, gain).unsqueeze(1) - own.unsqueeze(2)
        size = off.abs()
        huber = torch.where(size < 1.0, 0.5 * off.square(), size - 0.5)
        loss = ((middles.unsqueeze(1) - (off < 0).float()).abs() * huber).sum(1).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        torch._foreach_lerp_(list(slow.parameters()), [p.detach() for p in model.parameters()], 0.005)
        return loss.detach()

    return Work(step, batches(lambda: (normal(128, 32), integers(6, 128), normal(128, 32), normal(128, 1))))


class Reversed(torch.autograd.Function):
    """Residual pairs whose inputs are computed from their outputs in the backward pass rather than kept."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: torch.Tensor, pairs: nn.ModuleList, *parameters: torch.Tensor) -> torch.Tensor:
        left, right = x.chunk(2, -1)
        with torch.no_grad():
            for first, second in pairs:
                left = left + first(right)
                right = right + second(left)
        out = torch.cat([left, right], -1)
        ctx.save_for_backward(out)
        ctx.pairs = pairs
        return out

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (out,) = ctx.saved_tensors
        (left, right), (of_left, of_right), found = out.chunk(2, -1), gradient.chunk(2, -1), []
        for first, second in reversed(ctx.pairs):
            right, of_left, of_second = undone(second, left, right, of_left, of_right)
            left, of_right, of_first = undone(first, right, left, of_right, of_left)
            found = [*of_first, *of_second, *found]
        return torch.cat([of_left, of_right], -1), None, *found


@torch.compiler.disable
def undone(
    layer: nn.Module, seen: torch.Tensor, changed: torch.Tensor, of_seen: torch.Tensor, of_changed: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, tuple[torch.Tensor, ...]]:
    """What a layer's sum was before it, the gradient of what it saw, and those of its parameters."""
    seen = seen.detach().requires_grad_()
    with torch.enable_grad():
        added = layer(seen)
    own, *rest = torch.autograd.grad(added, [seen, *layer.parameters()], of_changed)
    return changed - added.detach(), of_seen + own, tuple(rest)


class Reversible(nn.Module):
    """Pairs of residual layers that need no memory for what is between them."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.pairs = nn.ModuleList(
            nn.ModuleList(
                nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width))
                for _ in range(2)
            )
            for _ in range(depth)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Reversed.apply(x, self.pairs, *self.pairs.parameters())


@workload("seventh", "training")
def reversible_layers() -> Work:
    """Reversible residual layers trained: a function of its own computes what came in from what went out."""
    step = training(Reversible(128, 6), lambda model, x, target: F.mse_loss(model(x), target), fused_adamw)
    return Work(step, batches(lambda: (normal(256, 256), normal(256, 256))))


@workload("seventh", "streams")
def curvature_factors() -> Work:
    """Running factors of the curvature of sixteen layers on one stream, their preconditioned gradients on another."""
    shapes, rows = [(96, 128), (128, 160), (160, 128), (128, 96)] * 4, 256
    kept = [(torch.eye(a, device=DEVICE), torch.eye(b, device=DEVICE)) for a, b in shapes]
    inverse = [(normal(a, a) / a, normal(b, b) / b) for a, b in shapes]
    streams = [torch.cuda.Stream() for _ in range(2)]

    def layers(seen: torch.Tensor, back: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
        parts = [x.split(sizes, 1) for x, sizes in zip((seen, back), zip(*shapes, strict=True), strict=True)]
        return list(zip(*parts, strict=True))

    def update(pairs: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
        for factors, pair in zip(kept, pairs, strict=True):
            for factor, x in zip(factors, pair, strict=True):
                factor.addmm_(x.T, x, beta=0.95, alpha=0.05 / rows)

    def gradients(pairs: list[tuple[torch.Tensor, torch.Tensor]]) -> list[torch.Tensor]:
        return [left @ (x.T @ g) @ right for (left, right), (x, g) in zip(inverse, pairs, strict=True)]

    def step(seen: torch.Tensor, back: torch.Tensor) -> list[torch.Tensor]:
        pairs = layers(seen, back)
        return side_by_side([partial(gradients, pairs), partial(update, pairs)], streams)[0]

    widths = [sum(sizes) for sizes in zip(*shapes, strict=True)]
    return Work(step, batches(lambda: tuple(normal(rows, width) for width in widths)))
