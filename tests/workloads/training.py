"""Training steps: forward, backward and update in one function."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.workloads.layers import Encoder, Residual, perceptron
from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Parameters,
    Work,
    adamw,
    batches,
    fused_adamw,
    integers,
    momentum,
    normal,
    training,
    workload,
)


class Towers(nn.Module):
    """Users and items embedded and brought to one space."""

    def __init__(self) -> None:
        super().__init__()
        self.users, self.items = nn.EmbeddingBag(50_000, 64), nn.EmbeddingBag(50_000, 64)
        self.left, self.right = perceptron(64, 256, 64), perceptron(64, 256, 64)

    def forward(self, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
        return F.normalize(self.left(self.users(user)), dim=-1) @ F.normalize(self.right(self.items(item)), dim=-1).T


@workload("calibration", "training")
def retrieval_towers() -> Work:
    """Two towers trained on a batch's own negatives, fused AdamW."""

    def loss(model: nn.Module, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(user, item) / 0.05, torch.arange(len(user), device=user.device))

    step = training(Towers(), loss, fused_adamw)
    return Work(step, batches(lambda: (integers(50_000, 512, 8), integers(50_000, 512, 8))))


@workload("unseen", "training")
def accumulated_gradients() -> Work:
    """Four micro-batches through a transformer before one update."""
    model = nn.Sequential(*[Encoder(256, 4) for _ in range(3)]).to(DEVICE).train()
    optimizer = adamw(model.parameters())

    def step(*parts: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        for part in parts:
            with torch.autocast(DEVICE, dtype=torch.bfloat16):
                loss = F.mse_loss(model(part), part) / len(parts)
            loss.backward()
        optimizer.step()
        return loss.detach()

    return Work(step, batches(lambda: tuple(normal(4, 128, 256) for _ in range(4))))


@workload("third", "training")
def checkpointed_layers() -> Work:
    """Activations recomputed in the backward pass of a causal transformer."""

    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(Encoder(512, 8, causal=True) for _ in range(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = checkpoint(layer, x, use_reentrant=False, preserve_rng_state=False)
            return x

    step = training(Stack(), lambda model, x: model(x).square().mean(), fused_adamw, torch.bfloat16)
    return Work(step, batches(lambda: (normal(8, 512, 512),)))


@workload("third", "training")
def autoencoder_images() -> Work:
    """A convolutional autoencoder on a large batch, bound by the device."""
    model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), Residual(64), Residual(64), nn.Conv2d(64, 3, 3, padding=1))
    step = training(model, lambda model, x: F.mse_loss(model(x), x), momentum, torch.bfloat16)
    return Work(step, batches(lambda: (normal(32, 3, 96, 96),)))


@workload("validation", "training")
def adversarial_pair() -> Work:
    """A generator and its critic trained in turn, two optimizers."""
    generator = perceptron(64, 256, 256, 784).to(DEVICE)
    critic = perceptron(784, 256, 256, 1, activation=nn.SiLU).to(DEVICE)
    first, second = adamw(generator.parameters()), adamw(critic.parameters())

    def step(real: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        second.zero_grad(set_to_none=True)
        fake = generator(noise)
        (F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(real)).mean()).backward()
        second.step()
        first.zero_grad(set_to_none=True)
        loss = F.softplus(-critic(fake)).mean()
        loss.backward()
        first.step()
        return loss.detach()

    return Work(step, batches(lambda: (normal(128, 784), normal(128, 64))))


@workload("validation", "training")
def clipped_policy_update() -> Work:
    """An update of a policy and its value by clipped ratios, gradients clipped too."""
    model = perceptron(24, 128, 128, 5, activation=nn.Tanh).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, capturable=ON_GPU)

    def step(state: torch.Tensor, action: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        out = model(state)
        policy, value = F.log_softmax(out[:, :4], -1), out[:, 4]
        chosen = policy.gather(1, action.unsqueeze(1)).squeeze(1)
        ratio = torch.exp(chosen - chosen.detach())
        gained = torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        entropy = -(policy.exp() * policy).sum(-1).mean()
        loss = -gained + 0.5 * F.mse_loss(value, gain) - 0.01 * entropy
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss.detach()

    return Work(step, batches(lambda: (normal(512, 24), integers(4, 512), normal(512))))


@workload("third", "training")
def caption_alignment() -> Work:
    """Images and texts aligned by a contrastive loss under automatic mixed precision."""

    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 384, 16, stride=16)
            self.words = nn.Embedding(8000, 384)
            self.image = nn.Sequential(*[Encoder(384, 6) for _ in range(4)])
            self.text = nn.Sequential(*[Encoder(384, 6, causal=True) for _ in range(4)])

        def forward(self, image: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
            seen = self.image(self.patches(image).flatten(2).transpose(1, 2)).mean(1)
            read = self.text(self.words(text)).mean(1)
            return F.normalize(seen, dim=-1) @ F.normalize(read, dim=-1).T * 20

    def loss(model: nn.Module, image: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        scores, own = model(image, text), torch.arange(len(image), device=image.device)
        return F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)

    step = training(Pair(), loss, adamw, torch.bfloat16)
    return Work(step, batches(lambda: (normal(48, 3, 224, 224), integers(8000, 48, 64))))


@workload("validation", "training")
def byte_recurrence() -> Work:
    """A hand-written gated recurrence trained through sixteen unrolled ticks."""

    class Gated(nn.Module):
        def __init__(self, width: int = 128) -> None:
            super().__init__()
            self.embed, self.read = nn.Embedding(256, width), nn.Linear(width, 256)
            self.enter, self.keep = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width, bias=False)

        def forward(self, text: torch.Tensor) -> torch.Tensor:
            rows, state, out = self.enter(self.embed(text)), 0.0 * self.embed(text[:, 0]), []
            for at in range(text.shape[1]):
                gate, fresh = (rows[:, at] + self.keep(state)).chunk(2, -1)
                state = torch.lerp(state, torch.tanh(fresh), torch.sigmoid(gate))
                out.append(state)
            return self.read(torch.stack(out, 1))

    def loss(model: nn.Module, text: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())

    return Work(training(Gated(), loss, momentum), batches(lambda: (integers(256, 64, 17),)))


class Sine(nn.Module):
    """The activation of an implicit representation."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(30 * x)


@workload("unseen", "training")
def implicit_image() -> Work:
    """A perceptron with sines fitted to the pixels of an image, all at once."""
    model = perceptron(2, 256, 256, 256, 3, activation=Sine)
    step = training(model, lambda model, place, colour: F.mse_loss(model(place), colour), fused_adamw)
    return Work(step, batches(lambda: (normal(160_000, 2), normal(160_000, 3))))


@workload("unseen", "training")
def tagged_sentences() -> Work:
    """A bidirectional LSTM that tags words, from the vendor's library, with one classifier on top."""

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.read = nn.Embedding(5000, 128), nn.Linear(256, 20)
            self.recurrent = nn.LSTM(128, 128, num_layers=2, bidirectional=True, batch_first=True)

        def forward(self, text: torch.Tensor) -> torch.Tensor:
            return self.read(self.recurrent(self.words(text))[0])

    def loss(model: nn.Module, text: torch.Tensor, tag: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(text).flatten(0, 1), tag.flatten())

    step = training(Tagger(), loss, fused_adamw)
    return Work(step, batches(lambda: (integers(5000, 32, 40), integers(20, 32, 40))))


class Orthogonalised(torch.optim.Optimizer):
    """Momentum whose matrices are made orthogonal by Newton-Schulz iterations before they are applied."""

    def __init__(self, parameters: Parameters, lr: float = 0.01) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                if not state:
                    state["momentum"] = torch.zeros_like(parameter)
                kept = state["momentum"].lerp_(parameter.grad, 0.05)
                parameter.add_(orthogonal(kept) if kept.ndim == 2 else kept, alpha=-group["lr"])


def orthogonal(matrix: torch.Tensor) -> torch.Tensor:
    """Move the singular values of a matrix towards one."""
    x = matrix.to(torch.bfloat16)
    x = x.T if matrix.shape[0] > matrix.shape[1] else x
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
    return (x.T if matrix.shape[0] > matrix.shape[1] else x).to(matrix.dtype)


@workload("unseen", "training")
def orthogonal_updates() -> Work:
    """Two transformer layers trained by an optimizer that orthogonalises every matrix."""
    model = nn.Sequential(*[Encoder(256, 4, causal=True) for _ in range(2)], nn.Linear(256, 256))
    step = training(model, lambda model, x, target: F.mse_loss(model(x), target), Orthogonalised)
    return Work(step, batches(lambda: (normal(8, 64, 256), normal(8, 64, 256))))


class Coupling(nn.Module):
    """Half of the variables scaled and shifted as a network of the other half says, then the halves swapped."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.network = perceptron(size // 2, width, width, size, activation=nn.SiLU)
        self.shift, self.scale = nn.Parameter(torch.zeros(size)), nn.Parameter(torch.zeros(size))

    def forward(self, x: torch.Tensor, density: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        kept, moved = ((x + self.shift) * self.scale.exp()).chunk(2, -1)
        scale, shift = self.network(kept).chunk(2, -1)
        scale = 2.0 * torch.tanh(0.5 * scale)
        return torch.cat([moved * scale.exp() + shift, kept], -1), density + scale.sum(-1) + self.scale.sum()


@workload("sixth", "training")
def coupling_flow() -> Work:
    """A normalising flow of six couplings trained on the likelihood of events of sixteen variables."""
    layers = nn.ModuleList(Coupling(16, 64) for _ in range(6))

    def loss(layers: nn.ModuleList, x: torch.Tensor) -> torch.Tensor:
        density = torch.zeros_like(x[:, 0])
        for layer in layers:
            x, density = layer(x, density)
        return (0.5 * x.square().sum(-1) - density).mean()

    return Work(training(layers, loss, adamw), batches(lambda: (normal(1024, 16),)))


@workload("sixth", "streams", "training")
def weights_to_host() -> Work:
    """A wide autoencoder trained in full precision; a second stream takes its weights to the host at each step."""
    model, copier = perceptron(4096, 4096, 4096).to(DEVICE).train(), torch.cuda.Stream()
    optimizer = momentum(model.parameters())
    kept = [torch.empty(parameter.shape, pin_memory=ON_GPU) for parameter in model.parameters()]

    @torch.compiler.disable
    def save() -> None:
        copier.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(copier):
            for place, parameter in zip(kept, model.parameters(), strict=True):
                place.copy_(parameter.detach(), non_blocking=True)

    def step(x: torch.Tensor) -> torch.Tensor:
        save()
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(x), x)
        loss.backward()
        torch.cuda.current_stream().wait_stream(copier)
        optimizer.step()
        return loss.detach()

    return Work(step, batches(lambda: (normal(3072, 4096),)))


@workload("seventh", "streams", "training", "blocked")
def updated_on_host() -> Work:
    """Layers whose optimizer lives on the host: a second stream brings it the gradients and takes the weights back."""
    model, copier = perceptron(768, 768, 768, 768).to(DEVICE).train(), torch.cuda.Stream()
    parameters, rows = list(model.parameters()), 32768 if ON_GPU else 64
    masters = [torch.empty(parameter.shape, pin_memory=ON_GPU).copy_(parameter.detach()) for parameter in parameters]
    for master in masters:
        master.grad = torch.empty(master.shape, pin_memory=ON_GPU)
    optimizer = torch.optim.AdamW(masters, lr=1e-4, fused=True)

    @torch.compiler.disable
    def update() -> None:
        copier.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(copier), torch.no_grad():
            for master, parameter in zip(masters, parameters, strict=True):
                master.grad.copy_(parameter.grad, non_blocking=True)
            copier.synchronize()
            optimizer.step()
            for master, parameter in zip(masters, parameters, strict=True):
                parameter.copy_(master, non_blocking=True)
        torch.cuda.current_stream().wait_stream(copier)

    def step(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        model.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(x), target)
        loss.backward()
        update()
        return loss.detach()

    return Work(step, batches(lambda: (normal(rows, 768), normal(rows, 768))))
