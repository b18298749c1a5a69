"""Steps that a capture cannot take whole: values read on the host, changing shapes, inputs from the host."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import Encoder, Residual, perceptron
from tests.workloads.registry import DEVICE, Work, adamw, batches, inference, integers, normal, training, workload

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


@workload("unseen", "blocked")
def tone_mapping() -> Work:
    """High dynamic range images exposed by their mean luminance, which the host reads, mapped and graded."""
    red_green_blue = torch.tensor([0.2126, 0.7152, 0.0722], device=DEVICE).view(3, 1, 1)

    def step(images: torch.Tensor) -> torch.Tensor:
        luminance = (images * red_green_blue).sum(1)
        mean = torch.exp(torch.log(luminance + 1e-4).mean()).item()
        exposed = images * (0.18 / mean)
        mapped = exposed * (1 + exposed / 16) / (1 + exposed)
        contrast = mapped + 0.1 * (mapped - 0.5) * (1 - (2 * mapped - 1).square())
        return contrast.clamp(0, 1).pow(1 / 2.2).half()

    return Work(step, batches(lambda: (normal(8, 3, 1080, 1920).abs(),)))


@workload("unseen", "blocked")
def speculative_decoding() -> Work:
    """Four tokens drafted by a small model and checked by a large one; the host reads how many hold."""
    table = normal(4000, 256)
    draft, target = (inference(nn.Sequential(*[Encoder(256, 4, causal=True) for _ in range(n)])) for n in (1, 8))

    def step(text: torch.Tensor) -> torch.Tensor:
        ahead = text
        for _ in range(4):
            token = (draft(table[ahead])[:, -1:] @ table.T).argmax(-1)
            ahead = torch.cat([ahead, token], 1)
        chosen = (target(table[ahead])[:, -5:] @ table.T).argmax(-1)
        held = int((chosen[:, :4] == ahead[:, -4:]).long().cumprod(1).sum())
        return torch.cat([text, ahead[:, -4:][:, :held], chosen[:, held : held + 1]], 1)[:, -64:]

    return Work(step, batches(lambda: (integers(4000, 1, 64),)))


@workload("unseen", "blocked")
def early_exits() -> Work:
    """A convolutional classifier that asks after each stage whether it is sure enough to stop."""
    stages = nn.ModuleList(nn.Sequential(Residual(64), Residual(64)) for _ in range(4)).to(DEVICE, HALF).eval()
    heads = nn.ModuleList(nn.Linear(64, 100) for _ in stages).to(DEVICE, HALF).eval()

    def step(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            for stage, head in zip(stages, heads, strict=True):
                x = stage(x)
                scores = head(x.mean((2, 3))).float().softmax(-1)
                if scores.amax(-1).mean().item() > 0.9:
                    break
            return scores

    return Work(step, batches(lambda: (normal(8, 64, 28, 28, dtype=HALF),)))


@workload("unseen", "blocked")
def voxelised_points() -> Work:
    """Points of a laser scan gathered into the cells of a grid, as many as are hit, and painted on a canvas."""
    side, lift = 256, perceptron(8, 32, 64).to(DEVICE).eval()

    def step(points: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            cell = ((points[:, :2] * 32 + side / 2).long()).clamp(0, side - 1)
            keys, place, count = torch.unique(cell[:, 0] * side + cell[:, 1], return_inverse=True, return_counts=True)
            sums = points.new_zeros(len(keys), 4).index_add_(0, place, points)
            centre = (sums / count.unsqueeze(1))[place]
            features = lift(torch.cat([points, points - centre], 1))
            pillars = features.new_zeros(len(keys), 64).index_reduce_(0, place, features, "amax", include_self=False)
            canvas = points.new_zeros(side * side, 64)
            canvas[keys] = pillars
            return canvas.T.view(64, side, side)

    return Work(step, batches(lambda: (normal(120_000, 4),)))


@workload("third", "blocked")
def two_stage_ranking() -> Work:
    """Candidates from a large index, filtered by what the host knows of them, then ranked by a perceptron."""
    items, rank = normal(60_000, 64), perceptron(128, 128, 64, 1).to(DEVICE).eval()
    in_stock = torch.rand(60_000) < 0.7

    def step(user: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            chosen = (user @ items.T).topk(64).indices
            allowed = in_stock[chosen.cpu()].to(DEVICE)
            pairs = torch.cat([user.unsqueeze(1).expand(-1, 64, -1), items[chosen]], -1)
            score = rank(pairs).squeeze(-1).masked_fill(~allowed, float("-inf"))
            return chosen.gather(1, score.topk(10).indices)

    return Work(step, batches(lambda: (normal(64, 64),)))


@workload("unseen", "training", "blocked")
def varying_sentences() -> Work:
    """A classifier of sentences trained on batches that are padded to another length each."""

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.read = nn.Embedding(6000, 256), nn.Linear(256, 12)
            self.layers = nn.Sequential(*[Encoder(256, 4) for _ in range(3)])

        def forward(self, text: torch.Tensor) -> torch.Tensor:
            return self.read(self.layers(self.words(text)).mean(1))

    step = training(Reader(), lambda model, text, label: F.cross_entropy(model(text), label), adamw)
    return Work(step, [(integers(6000, 16, length), integers(12, 16)) for length in (48, 72, 96, 112, 136, 160)])


@workload("third", "blocked")
def vocabulary_counts() -> Work:
    """The distinct words of a text and how often each occurs; the frequent ones are picked by a mask."""

    def step(text: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        words, count = torch.unique(text, return_counts=True)
        frequent = count > 100
        return words[frequent], count[frequent]

    return Work(step, batches(lambda: ((2000 * normal(8 << 20).abs() ** 3).long(),)))


@workload("third", "blocked")
def sphere_tracing() -> Work:
    """Rays marched to the surface of a scene given by its distance; the host asks now and then if any still moves."""
    spheres = ((0.0, 0.0, 0.0, 1.0), (1.2, 0.4, -0.5, 0.6))

    def distance(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        nearest = y + 1.0
        for right, up, ahead, radius in spheres:
            away = torch.sqrt((x - right).square() + (y - up).square() + (z - ahead).square()) - radius
            nearest = torch.minimum(nearest, away)
        return nearest

    def march(travelled: torch.Tensor, rays: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        for _ in range(4):
            left = distance(travelled * rays[0], travelled * rays[1], travelled * rays[2] - 3.0)
            travelled = (travelled + left).clamp(max=20.0)
        return travelled, (left > 1e-3) & (travelled < 20.0)

    def step(rays: torch.Tensor) -> torch.Tensor:
        travelled = torch.zeros_like(rays[0])
        for _ in range(4):
            travelled, moving = march(travelled, rays)
            if not bool(moving.any()):
                break
        return travelled

    return Work(step, batches(lambda: (F.normalize(normal(3, 4 << 20), dim=0),)))
