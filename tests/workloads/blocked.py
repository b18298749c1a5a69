"""Steps that a capture cannot take whole: values read on the host, changing shapes, inputs from the host."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import Encoder, perceptron
from tests.workloads.registry import DEVICE, Work, adamw, batches, inference, integers, normal, workload

HALF = torch.bfloat16


@workload("calibration", "blocked")
def growing_cache() -> Work:
    """A decoder layer stack whose cache of keys and values is longer at every step."""
    layers = nn.ModuleList(nn.Linear(512, 512, dtype=HALF, device=DEVICE) for _ in range(12))

    def step(token: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            x = token
            for layer, kept in zip(layers, cache, strict=True):
                query = layer(x).view(1, 8, 1, 64)
                both = torch.cat([kept, query.expand(2, 8, 1, 64)], 2)
                x = x + F.scaled_dot_product_attention(query, both[:1], both[1:]).reshape(1, 1, 512)
            return x

    lengths = range(200, 232, 4)
    return Work(step, [(normal(1, 1, 512, dtype=HALF), normal(12, 2, 8, n, 64, dtype=HALF)) for n in lengths])


@workload("calibration", "blocked")
def detected_boxes() -> Work:
    """Boxes of a detector decoded, thresholded by a mask, and pruned by their overlap."""
    head = nn.Conv2d(64, 6, 3, padding=1).to(DEVICE)

    def step(features: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            out = head(features).flatten(2)[0]
            score = torch.sigmoid(out[4])
            keep = score > score.mean() + 0.5 * score.std()
            boxes, score = out[:4, keep], score[keep]
            low, high = boxes[:2], boxes[:2] + boxes[2:].exp()
            inner = (
                torch.minimum(high[:, :, None], high[:, None]) - torch.maximum(low[:, :, None], low[:, None])
            ).clamp_min(0)
            area = (high - low).prod(0)
            overlap = inner.prod(0) / (area[:, None] + area[None] - inner.prod(0))
            beaten = (overlap > 0.5) & (score[None] > score[:, None])
            return boxes[:, ~beaten.any(1)]

    return Work(step, batches(lambda: (normal(1, 64, 40, 40),)))


@workload("calibration", "training", "blocked")
def logged_micro_steps() -> Work:
    """Training that reads the loss and the gradient norm on the host at each of three micro-steps."""
    model = perceptron(128, 256, 256, 256, 64).to(DEVICE).train()
    optimizer, log = adamw(model.parameters()), [0.0]

    def step(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True)
            loss = F.smooth_l1_loss(model(x), target)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            log[0] = loss.item() + norm.item()
            optimizer.step()
        return loss.detach()

    return Work(step, batches(lambda: (normal(256, 128), normal(256, 64))))


@workload("calibration", "blocked")
def scored_on_host() -> Work:
    """Evaluation of a large batch that arrives in pageable memory, its accuracy read at the end."""
    model = inference(perceptron(1024, 2048, 2048, 100))

    def step(x: torch.Tensor, label: torch.Tensor) -> float:
        return (model(x.to(DEVICE)).argmax(-1) == label.to(DEVICE)).float().mean().item()

    return Work(step, batches(lambda: (torch.randn(2048, 1024), torch.randint(0, 100, (2048,)))))


@workload("validation", "blocked")
def quantised_codes() -> Work:
    """Vectors replaced by their nearest codes; how many codes are in use is read between the levels."""
    codes = [normal(512, 64) for _ in range(4)]

    def step(x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(x)
        for table in codes:
            index = torch.cdist(x, table).argmin(-1)
            use = F.one_hot(index, len(table)).float().mean(0)
            scale = 1.0 if float(torch.exp(-(use * (use + 1e-10).log()).sum())) > 2 else 0.5
            total, x = total + scale * table[index], x - scale * table[index]
        return total

    return Work(step, batches(lambda: (normal(2048, 64),)))


@workload("validation", "blocked")
def beam_search() -> Work:
    """Ticks of a beam search that ask the host after each whether every beam has ended."""
    table, layers = normal(8000, 256, dtype=HALF), inference(nn.Sequential(*[Encoder(256, 4) for _ in range(3)]), HALF)

    def step(text: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(len(text), device=text.device)
        for _ in range(4):
            scores = (layers(table[text])[:, -1] @ table.T).float().log_softmax(-1)
            total, flat = (total.unsqueeze(1) + scores).flatten().topk(len(text))
            text = torch.cat([text[flat // 8000, 1:], (flat % 8000).unsqueeze(1)], 1)
            if bool((text[:, -1] == 0).all()):
                break
        return text

    return Work(step, batches(lambda: (integers(8000, 8, 32),)))


@workload("validation", "blocked")
def ragged_images() -> Work:
    """Images of another size at every step through a few convolutions."""
    layers = [layer for _ in range(5) for layer in (nn.Conv2d(32, 32, 3, padding=1), nn.SiLU())]
    sizes = (48, 56, 64, 72, 80, 88)
    images = [(normal(2, 32, size, size + 8, dtype=torch.float16),) for size in sizes]
    return Work(inference(nn.Sequential(*layers), torch.float16), images)


@workload("validation", "blocked")
def masked_pretraining() -> Work:
    """A loss on masked places only, picked by a boolean mask that comes from the host."""
    model = nn.Sequential(*[Encoder(256, 4) for _ in range(4)]).to(DEVICE).eval()

    def step(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            chosen = mask.to(DEVICE)
            return F.mse_loss(model(x * ~chosen.unsqueeze(-1))[chosen], x[chosen])

    return Work(step, [(normal(8, 128, 256), torch.rand(8, 128) < 0.15) for _ in range(4)])


@workload("validation", "blocked")
def adaptive_solver() -> Work:
    """An ODE integrator that halves its step while the error estimate, read on the host, is too large."""
    field = perceptron(32, 128, 32, activation=nn.Tanh).to(DEVICE)

    def step(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            for _ in range(5):
                size, slope = 0.1, field(x)
                while float((field(x + size * slope) - slope).abs().max()) * size > 0.01:
                    size *= 0.5
                x = x + size * field(x + 0.5 * size * slope)
            return x

    return Work(step, batches(lambda: (normal(1024, 32),)))
