"""Steps on images and video."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import DEVICE, ON_GPU, Work, batches, inference, normal, workload

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
