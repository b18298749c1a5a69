"""Steps of numerical science: linear algebra, transforms, particles and bodies."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.layers import perceptron
from tests.workloads.registry import DEVICE, ON_GPU, Work, batches, inference, integers, normal, workload
from tests.workloads.streams import side_by_side


@workload("fourth", "blocked")
def whitened_features() -> Work:
    """Features of a large batch made uncorrelated by the eigenvectors of their covariance, which the host checks."""

    def step(x: torch.Tensor) -> torch.Tensor:
        mean = x.mean(0)
        covariance = x.T @ x / len(x) - torch.outer(mean, mean)
        value, vector = torch.linalg.eigh(covariance)
        return (x - mean) @ ((vector * torch.rsqrt(value + 1e-4)) @ vector.T)

    return Work(step, batches(lambda: (normal(65536, 512),)))


@workload("fourth")
def image_correlation() -> Work:
    """Large images correlated with one template through their spectra."""
    side = 1024
    template = torch.fft.rfft2(normal(side, side) / side).conj().resolve_conj()

    def step(images: torch.Tensor) -> torch.Tensor:
        return torch.fft.irfft2(torch.fft.rfft2(images) * template, s=(side, side))

    return Work(step, batches(lambda: (normal(64, side, side),)))


@workload("fourth")
def phase_retrieval() -> Work:
    """The phase of small diffraction images found by going back and forth between the object and its spectrum."""
    support = normal(1).new_zeros(160, 160)
    support[40:120, 40:120] = 1.0

    def step(seen: torch.Tensor, phase: torch.Tensor) -> torch.Tensor:
        for _ in range(12):
            guess = torch.fft.ifft2(torch.polar(seen, phase)) * support
            phase = torch.fft.fft2(guess).angle()
        return torch.fft.ifft2(torch.polar(seen, phase)).abs()

    return Work(step, batches(lambda: (normal(2, 160, 160).abs() + 0.1, normal(2, 160, 160))))


@workload("fourth", "blocked")
def many_bodies() -> Work:
    """Bodies moved by the gravity of all others; the host reads the largest pull to choose the time step."""
    mass = normal(16384).abs()

    def pulls(place: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(place)
        for near, weight in zip(place.chunk(4), mass.chunk(4), strict=True):
            away = near - place.unsqueeze(1)
            strength = weight * torch.rsqrt(away.square().sum(-1) + 0.01).pow(3)
            total = total + (strength.unsqueeze(-1) * away).sum(1)
        return total

    def step(place: torch.Tensor, speed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        pull = pulls(place)
        size = 0.01 / (1.0 + pull.square().sum(-1).amax().item())
        speed = speed + size * pull
        return place + size * speed, speed

    return Work(step, batches(lambda: (normal(16384, 3), normal(16384, 3))))


@workload("fourth")
def chained_joints() -> Work:
    """The pose of a chain of joints from the quaternion of each, for a batch of robot arms."""
    bones = normal(16, 3)

    def turned(scalar: torch.Tensor, vector: torch.Tensor, bone: torch.Tensor) -> torch.Tensor:
        twice = 2 * torch.linalg.cross(vector, bone.expand_as(vector))
        return bone + scalar * twice + torch.linalg.cross(vector, twice)

    def step(rotations: torch.Tensor) -> torch.Tensor:
        unit = F.normalize(rotations, dim=-1)
        scalar, vector = torch.ones_like(unit[:, 0, :1]), torch.zeros_like(unit[:, 0, 1:])
        end, ends = torch.zeros_like(vector), []
        for joint, bone in enumerate(bones):
            own, axis = unit[:, joint, :1], unit[:, joint, 1:]
            dot = (vector * axis).sum(-1, keepdim=True)
            scalar, vector = (
                scalar * own - dot,
                scalar * axis + own * vector + torch.linalg.cross(vector, axis),
            )
            end = end + turned(scalar, vector, bone)
            ends.append(end)
        return torch.stack(ends, 1)

    return Work(step, batches(lambda: (normal(256, 16, 4),)))


@workload("fifth", "blocked")
def ridge_regression() -> Work:
    """Weights of a large regression from its normal equations, whose factorisation the host checks."""

    def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        gram = x.T @ x
        gram.diagonal().add_(1.0)
        return torch.cholesky_solve(x.T @ y, torch.linalg.cholesky(gram))

    return Work(step, batches(lambda: (normal(8192, 4096), normal(8192, 16))))


@workload("fifth")
def chebyshev_filter() -> Work:
    """Signals on a graph filtered by a polynomial of its matrix, from the recurrence of Chebyshev."""
    nodes, width = 512, 32
    matrix = normal(nodes, nodes)
    graph = ((matrix + matrix.T) / (3.2 * nodes**0.5)).to(torch.bfloat16)
    mixes = [(normal(width, width) / width).to(torch.bfloat16) for _ in range(32)]

    def step(signal: torch.Tensor) -> torch.Tensor:
        before, now = signal, graph @ signal
        out = signal @ mixes[0]
        for mix in mixes[1:]:
            out = torch.addmm(out, now, mix)
            before, now = now, torch.addmm(before, graph, now, beta=-1, alpha=2)
        return out

    return Work(step, batches(lambda: (normal(nodes, width, dtype=torch.bfloat16),)))


class Interaction(nn.Module):
    """Messages between the atoms of molecules, filtered by their distance."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.filter = perceptron(32, width, width, activation=nn.Softplus)
        self.enter, self.update = nn.Linear(width, width), perceptron(width, width, width, activation=nn.Softplus)

    def forward(self, x: torch.Tensor, ends: torch.Tensor, basis: torch.Tensor, cut: torch.Tensor) -> torch.Tensor:
        messages = self.enter(x)[ends[0]] * self.filter(basis) * cut
        return x + self.update(torch.zeros_like(x).index_add(0, ends[1], messages))


@workload("fifth")
def molecular_energies() -> Work:
    """Energies of molecules from the kinds and the places of their atoms, by messages between neighbours."""
    atoms, bonds, width = 600, 9600, 64
    layers = nn.ModuleList(Interaction(width) for _ in range(5)).to(DEVICE).eval()
    kinds, read = normal(20, width), perceptron(width, 32, 1, activation=nn.Softplus).to(DEVICE)
    ends, centres = integers(atoms, 2, bonds), torch.linspace(0, 5, 32, device=DEVICE)

    def step(kind: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            distance = ((place[ends[0]] - place[ends[1]]).square().sum(-1, keepdim=True) + 1e-6).sqrt()
            basis = torch.exp(-10 * (distance - centres).square())
            cut = 0.5 * (torch.cos(distance * 0.628) + 1) * (distance < 5)
            x = kinds[kind]
            for layer in layers:
                x = layer(x, ends, basis, cut)
            return read(x).view(30, -1).sum(1)

    return Work(step, batches(lambda: (integers(20, atoms), normal(atoms, 3))))


class Triangle(nn.Module):
    """Pairs updated by the pairs that close a triangle with them, gated on the way in and on the way out."""

    def __init__(self, width: int, rule: str) -> None:
        super().__init__()
        self.rule, self.first, self.second = rule, nn.LayerNorm(width), nn.LayerNorm(width)
        self.left, self.right, self.leave = (nn.Linear(width, width) for _ in range(3))
        self.left_gate, self.right_gate, self.leave_gate = (nn.Linear(width, width) for _ in range(3))

    def forward(self, pairs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.first(pairs)
        left = mask * torch.sigmoid(self.left_gate(x)) * self.left(x)
        right = mask * torch.sigmoid(self.right_gate(x)) * self.right(x)
        mixed = self.second(torch.einsum(self.rule, left, right))
        return pairs + torch.sigmoid(self.leave_gate(x)) * self.leave(mixed)


class Folding(nn.Module):
    """Triangles of outgoing and of incoming pairs and a feed-forward layer, several times."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.outgoing = nn.ModuleList(Triangle(width, "ikc,jkc->ijc") for _ in range(depth))
        self.incoming = nn.ModuleList(Triangle(width, "kic,kjc->ijc") for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.feeds = nn.ModuleList(perceptron(width, 2 * width, width) for _ in range(depth))

    def forward(self, pairs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        for outgoing, incoming, norm, feed in zip(self.outgoing, self.incoming, self.norms, self.feeds, strict=True):
            pairs = incoming(outgoing(pairs, mask), mask)
            pairs = pairs + feed(norm(pairs))
        return pairs


@workload("sixth")
def folded_pairs() -> Work:
    """What a protein's folding network knows of pairs of residues, refined by triangles between them."""
    half = torch.bfloat16

    def batch() -> tuple[torch.Tensor, ...]:
        return normal(48, 48, 64, dtype=half), (normal(48, 48, 1) > -1.5).to(half)

    return Work(inference(Folding(64, 4), half), batches(batch))


@workload("sixth")
def quantum_circuit() -> Work:
    """The state of twelve qubits through a circuit of gates on pairs, shifted by a qubit between its layers."""
    qubits, shots = 12, 2
    gates = [[torch.linalg.qr(torch.complex(normal(4, 4), normal(4, 4))).Q for _ in range(6)] for _ in range(8)]

    def turned(state: torch.Tensor, leading: int) -> torch.Tensor:
        return state.view(leading, -1, shots).transpose(0, 1).reshape(-1, shots)

    def step(state: torch.Tensor) -> torch.Tensor:
        for layer in gates:
            for gate in layer:
                state = turned(gate @ state.view(4, -1), 4)
            state = turned(state, 2)
        return state

    return Work(step, batches(lambda: (torch.complex(normal(2**qubits, shots), normal(2**qubits, shots)) / 90,)))


@workload("sixth", "streams")
def exchange_matrices() -> Work:
    """The exchange of electrons of either spin in double precision, from three-index integrals, a stream for each."""
    basis, auxiliary = 384, 768
    integrals = normal(basis * auxiliary, basis, dtype=torch.float64) / 600
    streams = [torch.cuda.Stream() for _ in range(2)]

    def exchange(orbitals: torch.Tensor) -> torch.Tensor:
        half = (integrals @ orbitals).view(basis, -1)
        return half @ half.T

    def step(up: torch.Tensor, down: torch.Tensor) -> list[torch.Tensor]:
        return side_by_side([partial(exchange, up), partial(exchange, down)], streams)

    return Work(step, batches(lambda: tuple(normal(basis, count, dtype=torch.float64) for count in (96, 80))))


@workload("sixth", "blocked")
def spiking_population() -> Work:
    """Neurons that charge, fire and tire, tick by tick; the host reads the share that fired and calms them."""

    def burst(
        voltage: torch.Tensor, tired: torch.Tensor, current: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        for _ in range(4):
            pull = current - 0.2 * tired + 0.3 * torch.exp(3.0 * (voltage - 1.0))
            voltage = voltage + 0.2 * (pull - voltage)
            fired = voltage > 1.0
            tired = 0.95 * tired + fired
            voltage = torch.where(fired, -0.2, voltage)
        return voltage, tired, fired.float().mean()

    def step(voltage: torch.Tensor, tired: torch.Tensor, current: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        for _ in range(2):
            voltage, tired, share = burst(voltage, tired, current)
            if share.item() > 0.1:
                current = current - 0.05
        return voltage, tired

    shape = (16 << 20,)
    return Work(step, batches(lambda: (normal(*shape), normal(*shape).abs(), 2 * normal(*shape))))


@workload("seventh")
def lattice_fluid() -> Work:
    """Two ticks of a fluid on a lattice: nine populations of particles stream to their neighbours and collide."""
    side = 2048 if ON_GPU else 32
    ways = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    shares = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4

    def tick(populations: list[torch.Tensor]) -> list[torch.Tensor]:
        moved = [x.roll(way, (0, 1)) for x, way in zip(populations, ways, strict=True)]
        mass = torch.stack(moved).sum(0)
        down = (moved[1] + moved[5] + moved[8] - moved[3] - moved[6] - moved[7]) / mass
        right = (moved[2] + moved[5] + moved[6] - moved[4] - moved[7] - moved[8]) / mass
        still, collided = 1 - 1.5 * (down * down + right * right), []
        for x, (rows, columns), share in zip(moved, ways, shares, strict=True):
            along = 3 * (rows * down + columns * right)
            collided.append(x + 0.6 * (share * mass * (still + along + 0.5 * along * along) - x))
        return collided

    def step(populations: torch.Tensor) -> torch.Tensor:
        return torch.stack(tick(tick(list(populations.unbind(0)))))

    return Work(step, batches(lambda: (0.1 + 0.01 * normal(9, side, side).abs(),)))


@workload("seventh", "streams")
def range_and_speed() -> Work:
    """The echoes of a radar in two polarisations, each brought to ranges and to speeds by transforms on its stream."""
    channels, pulses, samples = (64, 512, 1024) if ON_GPU else (2, 16, 32)
    streams = [torch.cuda.Stream() for _ in range(2)]

    def spectrum(echoes: torch.Tensor) -> torch.Tensor:
        return torch.fft.fft(torch.fft.fft(echoes, dim=2), dim=1)

    def step(first: torch.Tensor, second: torch.Tensor) -> list[torch.Tensor]:
        return side_by_side([partial(spectrum, first), partial(spectrum, second)], streams)

    def echoes() -> torch.Tensor:
        return torch.complex(normal(channels, pulses, samples), normal(channels, pulses, samples))

    return Work(step, batches(lambda: (echoes(), echoes()), 3))


@workload("seventh")
def cloud_screening() -> Work:
    """Clouds, snow, water and their certainty in satellite images of seven bands, by the usual indices and tests."""
    side = 4096 if ON_GPU else 64

    def step(bands: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        blue, green, red, near, short, far, heat = bands.unbind(0)
        plants, snow = (near - red) / (near + red + 1e-4), (green - short) / (green + short + 1e-4)
        mean = (blue + green + red) / 3
        white = ((blue - mean).abs() + (green - mean).abs() + (red - mean).abs()) / (mean + 1e-4)
        haze = blue - 0.5 * red - 0.08
        bright = (far > 0.03) & (heat < 0.6) & (snow < 0.8) & (plants < 0.8)
        cloud = bright & (white < 0.7) & (haze > 0) & (near / (short + 1e-4) > 0.75)
        water = ((plants < 0.01) & (near < 0.11)) | ((plants < 0.1) & (near < 0.05))
        cold = torch.exp(-4 * heat) * (1 - torch.maximum(torch.maximum(snow.abs(), plants.abs()), white).clamp(max=1))
        certain = torch.sigmoid(8 * (torch.where(water, torch.sqrt(short.clamp(0, 0.11) / 0.11), cold) - 0.4))
        icy = (snow > 0.15) & (heat < 0.4) & (near > 0.11) & (green > 0.1)
        kind = cloud.to(torch.uint8) + 2 * icy.to(torch.uint8) + 4 * water.to(torch.uint8)
        return kind, certain.half()

    return Work(step, batches(lambda: (normal(7, side, side).abs(),), 3))
