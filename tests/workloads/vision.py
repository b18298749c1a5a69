"""Steps on images and video."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import perceptron
from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Parameters,
    Work,
    adamw,
    batches,
    inference,
    integers,
    momentum,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side

HALF = torch.bfloat16


@workload("fourth")
def bilateral_filter() -> Work:
    """Depth images smoothed within their edges: every pixel averaged with its neighbours of like depth."""

    def step(depth: torch.Tensor) -> torch.Tensor:
        height, width = depth.shape[-2:]
        around = F.pad(depth, (2, 2, 2, 2), mode="reflect")
        total, weights = torch.zeros_like(depth), torch.zeros_like(depth)
        for down in range(5):
            for right in range(5):
                near = around[..., down : down + height, right : right + width]
                far = ((down - 2) ** 2 + (right - 2) ** 2) / 4.5
                weight = torch.exp(-8.0 * (near - depth).square() - far)
                total, weights = total + weight * near, weights + weight
        return total / weights

    return Work(step, batches(lambda: (normal(6, 1, 1080, 1920),)))


@workload("fourth", "streams", "blocked")
def prefetched_video() -> Work:
    """Byte frames in pinned memory, brought over by one stream part after part while another embeds their patches."""
    embed, copier = inference(nn.Conv2d(3, 64, 8, stride=8, bias=False), HALF), torch.cuda.Stream()

    def step(video: torch.Tensor) -> torch.Tensor:
        main, parts, features = torch.cuda.current_stream(), [], []
        copier.wait_stream(main)
        for part in video.chunk(6):
            with torch.cuda.stream(copier):
                parts.append(part.to(DEVICE, non_blocking=True))
            main.wait_stream(copier)
            features.append(embed((parts[-1].to(HALF) - 127.5) / 64.0).mean((2, 3)))
        return torch.cat(features)

    def frames() -> torch.Tensor:
        return torch.randint(0, 256, (48, 3, 720, 1280), dtype=torch.uint8)

    return Work(step, batches(lambda: (frames().pin_memory() if ON_GPU else frames(),)))


@workload("fifth", "blocked")
def depth_errors() -> Work:
    """The usual errors of predicted depths over the pixels that were measured, which a mask picks."""

    def step(predicted: torch.Tensor, measured: torch.Tensor) -> torch.Tensor:
        valid = measured > 0.3
        guess, true = predicted[valid], measured[valid]
        ratio = torch.maximum(guess / true, true / guess)
        off, far = guess - true, guess.log() - true.log()
        errors = [(ratio < 1.25**power).float().mean() for power in (1, 2, 3)]
        errors += [(off.abs() / true).mean(), (off.square() / true).mean(), off.square().mean().sqrt()]
        errors += [far.square().mean().sqrt(), far.var(), (torch.log10(guess) - torch.log10(true)).abs().mean()]
        return torch.stack(errors)

    def depths() -> torch.Tensor:
        return normal(192, 480, 640).abs() + 0.01

    return Work(step, batches(lambda: (depths(), depths()), 3))


@workload("fifth", "streams")
def luma_and_chroma() -> Work:
    """Large images taken apart into light and colour, each graded on its own stream."""
    streams = [torch.cuda.Stream() for _ in range(2)]

    def light(red: torch.Tensor, green: torch.Tensor, blue: torch.Tensor) -> torch.Tensor:
        luma = 0.299 * red + 0.587 * green + 0.114 * blue
        curved = luma * luma * (3 - 2 * luma)
        return (luma + 0.3 * (curved - luma)).clamp(0, 1).mul(219).add(16)

    def colour(red: torch.Tensor, green: torch.Tensor, blue: torch.Tensor) -> torch.Tensor:
        warm, cool = 0.5 * red - 0.419 * green - 0.081 * blue, 0.5 * blue - 0.169 * red - 0.331 * green
        strength = torch.sqrt(warm * warm + cool * cool + 1e-6)
        boost = torch.tanh(1.4 * strength) / strength
        return torch.stack([warm * boost, cool * boost], 1).mul(112).add(128).clamp(16, 240)

    def step(images: torch.Tensor) -> list[torch.Tensor]:
        planes = images.unbind(1)
        return side_by_side([partial(light, *planes), partial(colour, *planes)], streams)

    return Work(step, batches(lambda: (normal(8, 3, 1440, 2560).abs(),)))


@workload("fifth")
def tile_histograms() -> Work:
    """Contrast equalised tile by tile: a histogram of each, and the curves that follow from them."""

    def step(image: torch.Tensor) -> torch.Tensor:
        tiles = [tile for row in image.chunk(6, 0) for tile in row.chunk(8, 1)]
        counts = torch.stack([torch.histc(tile, 64, 0.0, 1.0) for tile in tiles])
        return counts.cumsum(-1) / tiles[0].numel()

    return Work(step, batches(lambda: (normal(576, 768).abs().clamp(max=1),)))


class Inverted(nn.Module):
    """A mobile network's block: widened, filtered channel by channel, channels weighed, narrowed."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        wide = 4 * width
        convolutions = [
            nn.Conv2d(width, wide, 1, bias=False),
            nn.Conv2d(wide, wide, size, padding=size // 2, groups=wide, bias=False),
            nn.Conv2d(wide, width, 1, bias=False),
        ]
        self.widen, self.filter, self.narrow = (nn.Sequential(c, nn.BatchNorm2d(c.out_channels)) for c in convolutions)
        self.squeeze, self.excite = nn.Conv2d(wide, width, 1), nn.Conv2d(width, wide, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = F.hardswish(self.filter(F.hardswish(self.widen(x))))
        weight = self.excite(F.relu(self.squeeze(hidden.mean((2, 3), keepdim=True))))
        return x + self.narrow(hidden * F.hardsigmoid(weight))


@workload("fifth")
def mobile_blocks() -> Work:
    """The middle of a mobile image classifier, one image at a time."""
    model = nn.Sequential(*[Inverted(80, size) for size in (3, 5, 3, 5, 3, 5, 3, 5)])
    return Work(inference(model.to(memory_format=torch.channels_last)), batches(lambda: (normal(1, 80, 14, 14),)))


@workload("sixth", "streams")
def colour_transfer() -> Work:
    """Colours of images moved to those of another by sorting along rotated axes; a second stream sorts the other's."""
    rotations, beside = [torch.linalg.qr(normal(3, 3)).Q for _ in range(12)], torch.cuda.Stream()

    def step(colours: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        main = torch.cuda.current_stream()
        beside.wait_stream(main)
        with torch.cuda.stream(beside):
            ready = [((rotation @ wanted).sort(-1).values, beside.record_event()) for rotation in rotations]
        for rotation, (values, event) in zip(rotations, ready, strict=True):
            order = (rotation @ colours).argsort(-1)
            main.wait_event(event)
            colours = rotation.T @ torch.empty_like(values).scatter_(-1, order, values)
        return colours

    return Work(step, batches(lambda: (normal(8, 3, 1024), normal(8, 3, 1024))))


class Finish(nn.Module):
    """The finishing of photographs: exposure, vignette, mixing of colours, saturation and contrast."""

    def __init__(self) -> None:
        super().__init__()
        self.exposure, self.vignette = nn.Parameter(torch.zeros(3, 1, 1)), nn.Parameter(torch.tensor(0.1))
        self.mixing, self.saturation = nn.Parameter(torch.eye(3).view(3, 3, 1, 1)), nn.Parameter(torch.tensor(1.2))
        self.contrast, self.pivot = nn.Parameter(torch.full((3, 1, 1), 4.0)), nn.Parameter(torch.full((3, 1, 1), 0.5))

    def forward(self, images: torch.Tensor, radius: torch.Tensor) -> torch.Tensor:
        lit = images * self.exposure.exp() * (1 - self.vignette * radius)
        mixed = (self.mixing * lit.unsqueeze(1)).sum(2)
        grey = mixed.mean(1, keepdim=True)
        return torch.sigmoid(self.contrast * (grey + self.saturation * (mixed - grey) - self.pivot))


@workload("sixth", "training", "blocked")
def photo_finishing() -> Work:
    """A photographer's finishing learned from pairs of images, until the loss, read at each step, is small enough."""
    side = 1024
    model, line = Finish().to(DEVICE).train(), torch.linspace(-1, 1, side, device=DEVICE)
    radius, optimizer = line.square() + line.square().unsqueeze(1), momentum(model.parameters())

    def step(images: torch.Tensor, finished: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        off = model(images, radius) - finished
        loss = torch.sqrt(off.square() + 1e-6).mean()
        if loss.item() < 1e-3:
            return loss.detach()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Work(step, batches(lambda: tuple(normal(6, 3, side, side).abs().clamp(max=1) for _ in range(2)), 3))


@workload("seventh", "streams", "blocked")
def structural_similarity() -> Work:
    """Images compared with their reconstructions by structure and colour; a second stream takes scores to the host."""
    size, log, logger = (1080, 1920) if ON_GPU else (27, 48), torch.zeros(12, pin_memory=ON_GPU), torch.cuda.Stream()

    @torch.compiler.disable
    def logged(scores: torch.Tensor) -> None:
        logger.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(logger):
            log.copy_(scores, non_blocking=True)
        logger.synchronize()

    def step(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        means = [F.avg_pool2d(x, 3, 1, 1) for x in (first, second)]
        squares = [F.avg_pool2d(x.square(), 3, 1, 1) - m.square() for x, m in zip((first, second), means, strict=True)]
        both = F.avg_pool2d(first * second, 3, 1, 1) - means[0] * means[1]
        above = (2 * means[0] * means[1] + 1e-4) * (2 * both + 9e-4)
        below = (means[0].square() + means[1].square() + 1e-4) * (squares[0] + squares[1] + 9e-4)
        structure = ((1 - above / below) / 2).clamp(0, 1)
        off = (0.85 * structure + 0.15 * (first - second).abs()).mean(1)
        logged(off.mean((1, 2)))
        return off

    return Work(step, batches(lambda: tuple(normal(12, 3, *size).abs().clamp(max=1) for _ in range(2)), 3))


@workload("seventh", "training", "blocked")
def varied_pixels() -> Work:
    """Noise taken out of images by descent on their pixels: near to what was seen, with little variation between."""
    size = 1024 if ON_GPU else 32
    clean = nn.Parameter(normal(16, 3, size, size).abs())
    optimizer = adamw([clean])

    def step(seen: torch.Tensor, trust: torch.Tensor) -> float:
        optimizer.zero_grad(set_to_none=True)
        right, down = (clean.roll(-1, axis) - clean for axis in (3, 2))
        variation = torch.sqrt(right.square() + down.square() + 1e-6)
        off = clean - seen
        loss = (trust * torch.sqrt(off.square() + 1e-6) + 0.1 * variation).mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return Work(step, batches(lambda: tuple(normal(16, 3, size, size).abs() for _ in range(2)), 3))


class Slots(nn.Module):
    """Slots that compete for the places of an image round after round, and an image painted from them."""

    def __init__(self, width: int, side: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.ask, self.keys, self.values = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.update, self.think = nn.GRUCell(width, width), perceptron(width, 2 * width, width)
        self.places, self.paint = nn.Parameter(torch.randn(side * side, width)), perceptron(width, width, width, 4)

    def forward(self, seen: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        x = self.norms[0](seen)
        keys, values = self.keys(x), self.values(x)
        for _ in range(4):
            asked = self.ask(self.norms[1](slots)) * slots.shape[-1] ** -0.5
            share = (asked @ keys.transpose(1, 2)).softmax(1) + 1e-8
            found = (share / share.sum(-1, keepdim=True)) @ values
            slots = self.update(found.flatten(0, 1), slots.flatten(0, 1)).view(slots.shape)
            slots = slots + self.think(self.norms[2](slots))
        colour, mask = self.paint(slots.unsqueeze(2) + self.places).split((3, 1), -1)
        return (colour * mask.softmax(1)).sum(1)


@workload("seventh", "training")
def competing_slots() -> Work:
    """Slot attention trained to paint the image that it saw, by Adam with Nesterov momentum."""

    def nadam(parameters: Parameters) -> torch.optim.Optimizer:
        return torch.optim.NAdam(parameters, lr=4e-4, foreach=True, capturable=ON_GPU)

    def loss(model: nn.Module, seen: torch.Tensor, slots: torch.Tensor, image: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(model(seen, slots), image)

    step = training(Slots(64, 16), loss, nadam)
    return Work(step, batches(lambda: (normal(16, 256, 64), normal(16, 6, 64), normal(16, 256, 3))))


@torch.compiler.disable
def matched(costs: torch.Tensor) -> torch.Tensor:
    """The cheapest pairs of a guess and a thing in each image, picked one after the other on the host."""
    pairs = []
    for table in costs.cpu().tolist():
        ranked = sorted((cost, guess, thing) for guess, row in enumerate(table) for thing, cost in enumerate(row))
        left, free, own = set(range(len(table))), set(range(len(table[0]))), []
        for _, guess, thing in ranked:
            if guess in left and thing in free:
                left.remove(guess)
                free.remove(thing)
                own.append((guess, thing))
        pairs.append(own)
    return torch.tensor(pairs)


@workload("seventh", "blocked")
def matched_boxes() -> Work:
    """Guesses of a detection transformer matched with the things in each image, on the host, by class and overlap."""

    def step(scores: torch.Tensor, boxes: torch.Tensor, kinds: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        likely = scores.softmax(-1).gather(2, kinds.unsqueeze(1).expand(-1, scores.shape[1], -1))
        low, high = boxes[..., :2].unsqueeze(2), (boxes[..., :2] + boxes[..., 2:]).unsqueeze(2)
        first, last = places[:, None, :, :2], places[:, None, :, :2] + places[:, None, :, 2:]
        inner = (torch.minimum(high, last) - torch.maximum(low, first)).clamp(min=0).prod(-1)
        outer = (torch.maximum(high, last) - torch.minimum(low, first)).prod(-1)
        union = (high - low).prod(-1) + (last - first).prod(-1) - inner
        overlap = inner / union - (outer - union) / outer
        return matched(5 * torch.cdist(boxes, places, p=1) - 2 * overlap - likely).to(scores.device)

    def batch() -> tuple[torch.Tensor, ...]:
        return normal(4, 100, 91), normal(4, 100, 4).abs() + 0.1, integers(91, 4, 20), normal(4, 20, 4).abs() + 0.1

    return Work(step, batches(batch))


class Responding(nn.Module):
    """A wide depthwise filter and a perceptron between channels, which compete by how strongly they respond."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.filter, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gain, self.shift = (nn.Parameter(torch.randn(4 * width) / 4) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = F.gelu(self.widen(self.norm(self.filter(x).permute(0, 2, 3, 1))))
        response = hidden.square().sum((1, 2), keepdim=True).add(1e-6).sqrt()
        share = response / (response.mean(-1, keepdim=True) + 1e-6)
        return x + self.narrow(self.gain * (hidden * share) + self.shift + hidden).permute(0, 3, 1, 2)


@workload("ninth")
def global_responses() -> Work:
    """One photograph sorted by a convolutional network whose channels compete over the whole image."""
    widths = (48, 96, 192)
    shrinks = [nn.Conv2d(a, b, size, stride=size) for a, b, size in ((3, 48, 4), (48, 96, 2), (96, 192, 2))]
    stages = [[shrink, Responding(width), Responding(width)] for shrink, width in zip(shrinks, widths, strict=True)]
    body = [layer for stage in stages for layer in stage]
    model = nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(192), nn.Linear(192, 1000))
    return Work(inference(model), batches(lambda: (normal(1, 3, 160, 160),)))
