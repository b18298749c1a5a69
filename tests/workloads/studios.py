"""Steps of studios that make films and games: frames, light, cloth, characters and what is filmed of them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from functools import partial
from typing import cast

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import (
    DEVICE,
    ON_GPU,
    Inputs,
    Work,
    batches,
    momentum,
    normal,
    training,
    workload,
)
from tests.workloads.streams import side_by_side

HALF = torch.bfloat16


@workload("eighteenth")
def ocean_surfaces() -> Work:
    """Tiles of an ocean at many times from their waves, two fields packed into the parts of a complex one."""
    times, side = (32, 2048) if ON_GPU else (2, 16)

    def step(waves: torch.Tensor) -> torch.Tensor:
        return torch.fft.ifft2(waves)

    return Work(step, batches(lambda: (normal(times, side, side, dtype=torch.complex64),), 2))


@workload("eighteenth")
def attended_shot() -> Work:
    """Every patch of every frame of a shot attends to all others, as in a transformer that makes videos."""
    shape = (1, 24, 16_384, 128) if ON_GPU else (1, 2, 32, 8)

    def step(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(query, key, value)

    return Work(
        step, batches(lambda: (normal(*shape, dtype=HALF), normal(*shape, dtype=HALF), normal(*shape, dtype=HALF)))
    )


@workload("eighteenth")
def clean_plate() -> Work:
    """A set without the people who walk through it: of each point the median of the frames of a take."""
    frames, height, width = (9, 720, 1280) if ON_GPU else (3, 6, 8)

    def step(take: torch.Tensor) -> torch.Tensor:
        return take.median(0).values

    return Work(step, batches(lambda: (torch.rand(frames, 3, height, width, device=DEVICE),)))


def packed(picture: torch.Tensor) -> bytes:
    """The bytes of a picture, compressed by the host as a PNG's are."""
    return zlib.compress(bytes(picture.flatten().tolist()), 6)


@workload("eighteenth", "blocked")
def packed_previews() -> Work:
    """Previews of rendered frames for a browser: brought to bytes by the device, compressed by the host."""
    height, width = (216, 384) if ON_GPU else (12, 16)
    written = cast("Callable[[torch.Tensor], bytes]", torch.compiler.disable(packed))

    def step(light: torch.Tensor) -> bytes:
        return written((255 * light.clamp(0, 1) ** 0.4545).to(torch.uint8))

    return Work(step, batches(lambda: (torch.rand(height, width, 3, device=DEVICE),)))


@workload("eighteenth")
def shaded_frames() -> Work:
    """Frames lit from what a renderer knows of each pixel, by a microfacet model: GGX, Smith and Schlick."""
    frames, height, width = (3, 2160, 3840) if ON_GPU else (1, 6, 8)

    def step(slope: torch.Tensor, colour: torch.Tensor, rough: torch.Tensor, metal: torch.Tensor) -> torch.Tensor:
        alpha = rough.square().clamp(min=0.01)
        up = torch.rsqrt(1 + slope.square().sum(0))
        x, y = -slope * up
        light = (0.48 * x + 0.36 * y + 0.80 * up).clamp(0.01, 1.0)
        view = (-0.28 * x + 0.96 * up).clamp(0.01, 1.0)
        half = (0.107 * x + 0.194 * y + 0.975 * up).clamp(0.01, 1.0)
        spread = alpha.square() / (torch.pi * (half.square() * (alpha.square() - 1) + 1).square())
        shadow = 0.25 / ((light * (1 - alpha / 2) + alpha / 2) * (view * (1 - alpha / 2) + alpha / 2))
        base = 0.04 * (1 - metal) + colour * metal
        fresnel = base + (1 - base) * (1 - view) ** 5
        seen = light * ((1 - fresnel) * (1 - metal) * colour / torch.pi + fresnel * spread * shadow)
        mapped = seen * (2.51 * seen + 0.03) / (seen * (2.43 * seen + 0.59) + 0.14)
        return mapped.clamp(0, 1) ** 0.4545

    def buffers() -> Inputs:
        shape = (frames, height, width)
        flat = (torch.rand(shape, device=DEVICE), torch.rand(shape, device=DEVICE))
        return normal(2, *shape), torch.rand(3, *shape, device=DEVICE), *flat

    return Work(step, batches(buffers, 2))


class Relit(nn.Module):
    """What each pixel of a face is like: where its skin faces, its shade, its shine and how narrow that is."""

    def __init__(self, pixels: int, lights: int) -> None:
        super().__init__()
        self.slopes = nn.ParameterList(0.1 * torch.randn(pixels) for _ in range(2))
        self.shade, self.shine, self.narrow = (nn.Parameter(0.1 * torch.randn(pixels)) for _ in range(3))
        angles = [6.2832 * light / lights for light in range(lights)]
        self.lights = [(0.6 * math.cos(angle), 0.6 * math.sin(angle), 0.8) for angle in angles]

    def forward(self, photographs: torch.Tensor) -> torch.Tensor:
        across, down = self.slopes
        up = torch.rsqrt(1 + across.square() + down.square())
        shade, shine, narrow = torch.sigmoid(self.shade), torch.sigmoid(self.shine), 4 + F.softplus(self.narrow)
        wrong = torch.zeros((), device=photographs.device)
        for (x, y, z), photograph in zip(self.lights, photographs.unbind(0), strict=True):
            facing = F.softplus(8 * up * (z - x * across - y * down)) / 8
            half = up * (0.95 * (1 + z) / 1.8 - x / 1.9 * across - y / 1.9 * down)
            seen = shade * facing + shine * torch.exp(narrow * (half - 1))
            wrong = wrong + F.smooth_l1_loss(seen, photograph, beta=0.1)
        return wrong


@workload("eighteenth", "training")
def relit_actor() -> Work:
    """An actor's face learned pixel by pixel from photographs on a stage of lights, to be lit anew in a film."""
    lights, pixels = (6, 8 << 20) if ON_GPU else (3, 48)

    def loss(model: nn.Module, photographs: torch.Tensor) -> torch.Tensor:
        return model(photographs)

    step = training(Relit(pixels, lights), loss, momentum)
    return Work(step, batches(lambda: (torch.rand(lights, pixels, device=DEVICE),)))


def turns(quaternion: torch.Tensor) -> torch.Tensor:
    """The rotations (..., 3, 3) that quaternions (..., 4) of any size stand for."""
    w, x, y, z = (quaternion * torch.rsqrt(quaternion.square().sum(-1, keepdim=True) + 1e-8)).unbind(-1)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    return torch.stack([torch.stack(row, -1) for row in rows], -2)


@workload("eighteenth")
def posed_character() -> Work:
    """A character's skin for a few frames: the turns of its bones along the skeleton, and the skin that follows."""
    bones, corners = (16, 2000) if ON_GPU else (4, 12)
    offset, skin = 0.2 * normal(bones, 3), normal(corners, 3)
    weight = normal(corners, bones).softmax(-1)
    parents = [0, *[(bone - 1) // 2 for bone in range(1, bones)]]

    def step(pose: torch.Tensor) -> torch.Tensor:
        own = turns(pose)
        turned, placed = [own[:, 0]], [offset[0].expand(len(pose), 3)]
        for bone in range(1, bones):
            above = turned[parents[bone]]
            turned.append((above.unsqueeze(-1) * own[:, bone].unsqueeze(1)).sum(2))
            placed.append(placed[parents[bone]] + (above * offset[bone]).sum(-1))
        moved = torch.zeros(len(pose), corners, 3, device=DEVICE)
        for bone in range(bones):
            along = (turned[bone].unsqueeze(1) * skin.unsqueeze(1)).sum(-1)
            moved = moved + weight[:, bone, None] * (along + placed[bone].unsqueeze(1))
        return moved

    return Work(step, batches(lambda: (normal(4, bones, 4),)))


def pulled(place: torch.Tensor) -> torch.Tensor:
    """How the threads along, across and aslant pull at the knots (3, height, width) of a cloth at rest length one."""
    pull = torch.zeros_like(place)
    height, width = place.shape[1:]
    for down, right, rest in ((1, 0, 1.0), (0, 1, 1.0), (1, 1, 1.4142)):
        thread = place[:, down:, right:] - place[:, : height - down, : width - right]
        length = torch.sqrt(thread.square().sum(0) + 1e-8)
        force = thread * (1 - rest / length)
        pull = pull + F.pad(force, (0, right, 0, down)) - F.pad(force, (right, 0, down, 0))
    return pull


@workload("eighteenth", "blocked")
def swaying_cloth() -> Work:
    """A flag over ten ticks of its threads and the wind; the host asks whether it is torn before it is drawn."""
    side = 64 if ON_GPU else 6

    def step(place: torch.Tensor, before: torch.Tensor, wind: torch.Tensor) -> torch.Tensor:
        for _ in range(10):
            blown = torch.tanh(wind - (place - before)) * 0.02
            place, before = place + 0.98 * (place - before) + 0.05 * pulled(place) + blown, place
        if (place[:, 1:] - place[:, :-1]).square().sum(0).amax().item() > 1e4:
            return before
        return place

    along = torch.arange(side, device=DEVICE, dtype=torch.float32)
    flat = torch.stack([*torch.meshgrid(along, along, indexing="ij"), torch.zeros(side, side, device=DEVICE)])

    def cloth() -> Inputs:
        place = flat + 0.05 * normal(3, side, side)
        return place, place + 0.01 * normal(3, side, side), normal(3, 1, 1)

    return Work(step, batches(cloth))


def expression(rig: torch.Tensor, lower: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """How much of each shape of a rig (numbers, shapes) makes up faces (numbers, frames), between nothing and all.

    The alternating direction method of multipliers; `lower` is the factor of the normal equations.
    """
    wanted = rig.T @ seen
    share, debt = torch.zeros_like(wanted), torch.zeros_like(wanted)
    for _ in range(8):
        half: torch.Tensor = torch.linalg.solve_triangular(lower, wanted + share - debt, upper=False)
        free: torch.Tensor = torch.linalg.solve_triangular(lower.T, half, upper=True)
        share = (free + debt).clamp(0, 1)
        debt = debt + free - share
    return share


@workload("eighteenth", "streams")
def captured_faces() -> Work:
    """The expressions of four actors from the markers on their faces, a stream for each actor."""
    actors, frames, numbers, shapes = (4, 16, 360, 96) if ON_GPU else (4, 2, 12, 4)
    rigs = [normal(numbers, shapes) / numbers**0.5 for _ in range(actors)]
    lowers = [torch.linalg.cholesky(rig.T @ rig + torch.eye(shapes, device=DEVICE)) for rig in rigs]
    streams = [torch.cuda.Stream() for _ in rigs]

    def step(*seen: torch.Tensor) -> torch.Tensor:
        solved = [partial(expression, *actor) for actor in zip(rigs, lowers, seen, strict=True)]
        return torch.cat(side_by_side(solved, streams), -1)

    return Work(step, batches(lambda: tuple(normal(numbers, frames) for _ in range(actors))))
