"""Steps of perception: several cameras, and things found in images."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn

from tests.workloads.registry import DEVICE, Inputs, Work, batches, normal, workload
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
