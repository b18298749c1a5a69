"""Same work, same answer: outputs of the same calls, and parameters after the same steps, against eager's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from capture import torch_private

TOLERANCES = {torch.float64: 1e-7, torch.float32: 1e-3, torch.float16: 1e-2, torch.bfloat16: 4e-2}
"""Largest error, relative to the largest value of eager's tensor, that rounding in another order explains."""
SAMPLE = 1 << 20
"""Elements compared of one tensor: evenly spaced ones of larger tensors."""
NOISE = 3.0
"""Times the difference between two eager runs that a form may differ from eager."""


@dataclass(frozen=True)
class Verdict:
    """How a form's outputs compare with eager's; `excess` is the largest error over its tolerance."""

    outputs: str
    largest_error: float | None
    note: str | None
    excess: float | None = None


class Samples:
    """Copies of a form's outputs, by name of the call; made outside the timed phases."""

    def __init__(self) -> None:
        self._tensors: dict[str, torch.Tensor] = {}

    def take(self, name: str, output: Any) -> None:
        """Copy the tensors of one call's output to the host."""
        leaves, _ = torch_private.flatten(output)
        for position, leaf in enumerate(leaves):
            if isinstance(leaf, torch.Tensor):
                self._tensors[f"{name}, tensor {position}"] = _sample(leaf)

    def take_parameters(self, parameters: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Copy the parameters."""
        for name, parameter in parameters:
            self._tensors[f"parameter {name}"] = _sample(parameter)

    def save(self, path: Path) -> None:
        """Write the samples for the other forms."""
        torch.save(self._tensors, path)

    def compare(self, path: Path) -> Verdict:
        """Compare with the samples that eager saved."""
        if not path.exists():
            return Verdict("unchecked", None, "eager left no outputs to compare with")
        expected: dict[str, torch.Tensor] = torch.load(path, weights_only=True)
        return compare(expected, self._tensors)


def compare(expected: dict[str, torch.Tensor], found: dict[str, torch.Tensor]) -> Verdict:
    """Compare tensors of the same names; all of eager's must be there."""
    common = [name for name in expected if name in found]
    if not common:
        return Verdict("unchecked", None, "no call was seen in both forms")
    errors = {name: error(expected[name], found[name]) for name in common}
    excess = {name: errors[name] / TOLERANCES.get(expected[name].dtype, 1e-12) for name in common}
    worst = max(common, key=lambda name: excess[name])
    if excess[worst] <= 1:
        return Verdict("match", max(errors.values()), f"{len(common)} tensors compared", excess[worst])
    return Verdict("differ", errors[worst], f"{worst}: off by {errors[worst]:.2g} of the largest value", excess[worst])


def error(expected: torch.Tensor, found: torch.Tensor) -> float:
    """Return the largest difference relative to the largest expected value; of whole numbers, the share that differ.

    Infinite where shape, dtype or the places of NaN and infinity differ. (The measure of a backward-stable algorithm:
    small values beside large ones carry the large ones' rounding.)
    """
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return float("inf")
    if expected.numel() == 0:
        return 0.0
    if not expected.dtype.is_floating_point:
        return (expected != found).double().mean().item()
    a, b = expected.double(), found.double()
    finite = a.isfinite()
    if not torch.equal(finite, b.isfinite()) or not torch.equal(a[~finite].nan_to_num(), b[~finite].nan_to_num()):
        return float("inf")
    scale = a[finite].abs().max().item() if finite.any() else 0.0
    off = (a - b)[finite].abs().max().item() if finite.any() else 0.0
    return off / scale if scale else off


def _sample(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.detach().reshape(-1)
    stride = max(1, -(-flat.numel() // SAMPLE))
    values = torch.view_as_real(flat[::stride]) if flat.is_complex() else flat[::stride]
    return values.to("cpu", copy=True)
