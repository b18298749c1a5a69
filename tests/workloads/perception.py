"""Steps of perception: several cameras, videos, and things found in images."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import DEVICE, ON_GPU, Inputs, Work, batches, inference, integers, normal, workload
from tests.workloads.streams import side_by_side

HALF = torch.float16


def by_channel(x: torch.Tensor) -> torch.Tensor:
    """Images with the channels of a pixel side by side in memory."""
    return x.to(memory_format=torch.channels_last)


@workload("eighth", "streams")
def surround_cameras() -> Work:
    """What four cameras around a vehicle see, each through convolutions of its own and on its own stream."""

    def camera() -> nn.Sequential:
        layers = [nn.Conv2d(a, b, 3, stride=s, padding=1, bias=False) for a, b, s in shapes]
        for layer in layers:
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
        return nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU())])

    shapes = ((8, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1))
    cameras = [camera().to(DEVICE, HALF, memory_format=torch.channels_last).eval() for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in cameras]

    def step(*images: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            tasks = [partial(model, image) for model, image in zip(cameras, images, strict=True)]
            return torch.cat(side_by_side(tasks, streams), 1)

    return Work(step, batches(lambda: tuple(by_channel(normal(1, 8, 96, 160, dtype=HALF)) for _ in cameras)))


class Tower(nn.Module):
    """Convolutions with group norms that every level of a pyramid shares, and what they say of each place."""

    def __init__(self, channels: int, depth: int, says: int) -> None:
        super().__init__()
        blocks = ((nn.Conv2d(channels, channels, 3, padding=1), nn.GroupNorm(16, channels)) for _ in range(depth))
        self.body = nn.Sequential(*[part for block in blocks for part in (*block, nn.ReLU())])
        self.say = nn.Conv2d(channels, says, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.say(self.body(x)).permute(0, 2, 3, 1)


def placed(offset: torch.Tensor, stride: int) -> torch.Tensor:
    """Boxes from what is said of them at each place of a level: where the middle lies, and how large they are."""
    down, across = (torch.arange(size, device=offset.device) * stride for size in offset.shape[1:3])
    middle = torch.stack(torch.broadcast_tensors(across.unsqueeze(0), down.unsqueeze(1)), -1).unsqueeze(2)
    move, size = offset.unflatten(-1, (-1, 4)).float().chunk(2, -1)
    centre, half = middle + stride * torch.tanh(move), 2 * stride * torch.exp(size.clamp(-4, 4))
    return torch.cat([centre - half, centre + half], -1).clamp(0, 320).flatten(1, 3)


@workload("eighth", "blocked")
def pyramid_detections() -> Work:
    """Boxes of things and their classes at three levels of a pyramid; the host asks whether there is any."""
    judge, place = (Tower(128, 2, says).to(DEVICE, HALF).eval() for says in (9 * 20, 9 * 4))

    def step(*levels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            scores = [judge(level).unflatten(-1, (9, 20)).float().sigmoid().amax(-1).flatten(1) for level in levels]
            boxes = [placed(place(level), stride) for level, stride in zip(levels, (8, 16, 32), strict=True)]
            best, found = torch.cat(scores, 1), torch.cat(boxes, 1)
            area = (found[..., 2:] - found[..., :2]).prod(-1)
            best = best * torch.sigmoid(area / 64 - 1)
            if int((best > 0.2).sum()) == 0:
                return best[:, :0], found[:, :0]
            return best, found

    def levels() -> Inputs:
        return tuple(normal(2, 128, size, size, dtype=HALF) for size in (40, 20, 10))

    return Work(step, batches(levels))


@workload("ninth", "streams")
def tracked_target() -> Work:
    """A target looked for around where it was, at three sizes: each goes through the convolutions on its stream."""
    shapes = ((8, 48, 2), (48, 48, 1), (48, 96, 2), (96, 96, 1), (96, 96, 1), (96, 128, 2), (128, 128, 1))
    layers = [nn.Conv2d(a, b, 3, stride=s, padding=1, bias=False) for a, b, s in shapes]
    for layer in layers:
        nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
    model = nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU())][:-1])
    seen = inference(model.to(memory_format=torch.channels_last), HALF)
    streams = [torch.cuda.Stream() for _ in range(4)]

    def step(target: torch.Tensor, *around: torch.Tensor) -> list[torch.Tensor]:
        wanted, *found = side_by_side([partial(seen, image) for image in (target, *around)], streams)
        return [F.conv2d(features, wanted / 64) for features in found]

    def images() -> Inputs:
        return tuple(by_channel(normal(1, 8, size, size, dtype=HALF)) for size in (48, 104, 120, 136))

    return Work(step, batches(images))


@workload("ninth", "blocked")
def segmentation_scores() -> Work:
    """How well a segmentation of street scenes overlaps with the truth, class by class, and how sure it is."""
    classes, images, height, width = (19, 12, 512, 1024) if ON_GPU else (5, 2, 8, 16)

    def step(scores: torch.Tensor, truth: torch.Tensor) -> tuple[float, torch.Tensor]:
        share, known = scores.softmax(1), (truth < classes).unsqueeze(1)
        wanted = F.one_hot(truth.clamp(max=classes - 1), classes).permute(0, 3, 1, 2) * known
        guess = share * known
        inner, outer = (guess * wanted).sum((0, 2, 3)), (guess + wanted).sum((0, 2, 3))
        surprise = -((share + 1e-8).log() * wanted).sum(1)
        unsure = -(share * (share + 1e-8).log()).sum(1)
        overlap = inner / (outer - inner).clamp(min=1.0)
        return overlap.mean().item(), torch.stack([surprise.mean(), unsure.mean(), *(2 * inner / outer)])

    def batch() -> Inputs:
        return 2 * normal(images, classes, height, width), integers(classes + 1, images, height, width)

    return Work(step, batches(batch, 2))


@workload("ninth", "blocked")
def moving_pixels() -> Work:
    """What moves in front of a fixed camera: frames made grey and smaller, compared with the ones before."""
    frames, height, width = (64, 1080, 1920) if ON_GPU else (3, 12, 16)

    def step(video: torch.Tensor, still: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        red, green, blue = (video.float() / 255).unbind(1)
        grey = (0.299 * red + 0.587 * green + 0.114 * blue).unflatten(2, (-1, 2)).unflatten(1, (-1, 2)).mean((2, 4))
        light = grey.mean((1, 2), keepdim=True)
        even = (grey - light) * (0.25 / (light + 0.05))
        changed = (even[1:] - even[:-1]).abs()
        moves = (0.7 * changed + 0.3 * (even[1:] - still).abs()).square()
        count, moves = (moves > 0.02).sum(), moves.half()
        if int(count) == 0:
            return moves[:0], light
        return moves, light

    def batch() -> Inputs:
        video = torch.randint(0, 256, (frames, 3, height, width), dtype=torch.uint8, device=DEVICE)
        return video, normal(height // 2, width // 2) / 16

    return Work(step, batches(batch, 3))


class Resampler(nn.Module):
    """A few latents that look at all patches of a video, layer after layer."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.heads, self.enter = width // 64, nn.Linear(width, width, bias=False)
        self.latents = nn.Parameter(torch.randn(64, width))
        self.asks, self.outs = (
            nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth)) for _ in range(2)
        )
        self.pairs = nn.ModuleList(nn.Linear(width, 2 * width, bias=False) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))

    def forward(self, patches: torch.Tensor) -> torch.Tensor:
        seen, x = self.enter(patches), self.latents.expand(len(patches), -1, -1)
        for ask, out, pair, norm in zip(self.asks, self.outs, self.pairs, self.norms, strict=True):
            query = ask(norm(x)).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in pair(seen).chunk(2, -1))
            x = x + out(F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2))
        return x


@workload("ninth")
def resampled_video() -> Work:
    """The patches of videos brought down to a few latents for a language model to look at."""
    width, videos, patches = (1024, 16, 8192) if ON_GPU else (128, 2, 64)
    model = inference(Resampler(width, 4), torch.bfloat16)
    return Work(model, batches(lambda: (normal(videos, patches, width, dtype=torch.bfloat16),)))


def convolved(*shapes: tuple[int, int, int]) -> nn.Sequential:
    """Convolutions (channels in and out, and stride) with cuts at zero between them."""
    layers = [nn.Conv2d(a, b, 3, stride=stride, padding=1) for a, b, stride in shapes]
    return nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU())][:-1])


class Flow(nn.Module):
    """How pixels moved between two frames, refined by a recurrent unit that looks up where frames are alike."""

    def __init__(self, width: int, rounds: int) -> None:
        super().__init__()
        self.rounds, self.see = rounds, convolved((3, 32, 2), (32, 48, 2), (48, width, 2), (width, width, 1))
        self.context = convolved((3, 32, 2), (32, 48, 2), (48, width, 2), (width, width, 1))
        self.read = convolved((2 * 25 + 2, width, 1), (width, width - 2, 1))
        self.gates, self.fresh = (nn.Conv2d(2 * width, n * width, 3, padding=1) for n in (2, 1))
        self.move = convolved((width, width, 1), (width, 2, 1))
        around = torch.arange(-2.0, 3.0)
        self.around: torch.Tensor
        self.register_buffer("around", torch.stack(torch.meshgrid(around, around, indexing="xy"), -1))

    def looked_up(self, alike: list[torch.Tensor], at: torch.Tensor) -> list[torch.Tensor]:
        """The likeness around where each pixel is thought to be now, at each scale."""
        found = []
        for scale, table in enumerate(alike):
            height, width = table.shape[-2:]
            near = at.reshape(-1, 1, 1, 2) / 2**scale + self.around
            size = torch.stack([near[..., 0] / (width - 1), near[..., 1] / (height - 1)], -1)
            found.append(F.grid_sample(table, 2 * size - 1, align_corners=True).view(*at.shape[:3], -1))
        return found

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        seen, other = self.see(first), self.see(second)
        (_, channels, height, width), state = seen.shape, torch.tanh(self.context(first))
        like = seen.flatten(2).transpose(1, 2) @ other.flatten(2) / channels**0.5
        alike = [like.reshape(-1, 1, height, width)]
        alike.append(F.avg_pool2d(alike[0], 2))
        across, down = torch.arange(width, device=like.device), torch.arange(height, device=like.device)
        start = torch.stack(torch.meshgrid(across, down, indexing="xy"), -1).float().expand(len(seen), -1, -1, -1)
        flow = torch.zeros_like(start)
        for _ in range(self.rounds):
            found = torch.cat([*self.looked_up(alike, start + flow), flow], -1).permute(0, 3, 1, 2)
            known = torch.cat([F.relu(self.read(found)), flow.permute(0, 3, 1, 2)], 1)
            reset, keep = torch.sigmoid(self.gates(torch.cat([state, known], 1))).chunk(2, 1)
            state = torch.lerp(torch.tanh(self.fresh(torch.cat([reset * state, known], 1))), state, keep)
            flow = flow + self.move(state).permute(0, 2, 3, 1)
        return flow


@workload("tenth", "blocked")
def optical_flow() -> Work:
    """How pixels moved between two frames, found in four rounds; the host reads whether anything moved."""
    look = inference(Flow(64, 4).to(memory_format=torch.channels_last))

    def step(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        flow = look(first, second)
        if flow.norm(dim=-1).mean().item() < 1e-6:
            return torch.zeros_like(flow)
        return flow

    return Work(step, batches(lambda: tuple(by_channel(normal(1, 3, 128, 192)) for _ in range(2))))


@workload("tenth", "streams")
def enlarged_tiles() -> Work:
    """A raw photograph in six tiles, each made twice as large by convolutions on a stream of its own."""
    shapes = ((8, 64), (64, 64), (64, 64), (64, 64), (64, 64), (64, 32), (32, 32))
    layers = [nn.Conv2d(a, b, 3, padding=1, bias=False) for a, b in shapes]
    for layer in layers:
        nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
    model = nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU())][:-1])
    enlarge = inference(model.to(memory_format=torch.channels_last), HALF)
    streams = [torch.cuda.Stream() for _ in range(6)]

    def step(*tiles: torch.Tensor) -> torch.Tensor:
        parts = side_by_side([partial(enlarge, tile) for tile in tiles], streams)
        return F.pixel_shuffle(torch.cat(parts), 2)

    return Work(step, batches(lambda: tuple(by_channel(normal(1, 8, 56, 56, dtype=HALF)) for _ in streams)))


def lightness(x: torch.Tensor) -> torch.Tensor:
    """How light each pixel is."""
    return 0.299 * x[:, :1] + 0.587 * x[:, 1:2] + 0.114 * x[:, 2:]


def varied(images: torch.Tensor, luck: torch.Tensor) -> torch.Tensor:
    """Images flipped, lit, coloured, greyed and inverted as luck has it for each of them, then normalised."""
    light, contrast, colour, grey, turned, side = luck[..., None, None, None]
    x = images.float() / 255
    x = torch.where(side > 0.5, x.flip(-1), x)
    x = (x * (0.6 + 0.8 * light)).clamp(0, 1)
    x = torch.lerp(lightness(x).mean((2, 3), keepdim=True), x, 0.6 + 0.8 * contrast).clamp(0, 1)
    x = torch.lerp(lightness(x), x, 0.8 + 0.4 * colour).clamp(0, 1)
    x = torch.where(grey < 0.2, lightness(x), x)
    x = torch.where((turned < 0.2) & (x > 0.5), 1 - x, x)
    return (x - 0.45) / 0.225


@workload("tenth", "streams")
def two_views() -> Work:
    """Two random views of each image, as learning without labels compares them, each made on its stream."""
    images, side = (896, 224) if ON_GPU else (2, 16)
    streams = [torch.cuda.Stream() for _ in range(2)]

    def step(pixels: torch.Tensor, *luck: torch.Tensor) -> list[torch.Tensor]:
        return side_by_side([partial(varied, pixels, own) for own in luck], streams)

    def batch() -> Inputs:
        pixels = torch.randint(0, 256, (images, 3, side, side), dtype=torch.uint8, device=DEVICE)
        return pixels, *(torch.rand(6, images, device=DEVICE) for _ in streams)

    return Work(step, batches(batch, 3))
