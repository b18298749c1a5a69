"""Same work, same answer: outputs of the same calls, and parameters after the same steps, against eager's."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from capture import torch_private

TOLERANCES = {torch.float64: 1e-7, torch.float32: 1e-3, torch.float16: 1e-2, torch.bfloat16: 4e-2}
"""Largest error, relative to the largest value of eager's tensor, that rounding in another order explains."""
TRAINING, TRAINING_MOST = 100.0, 0.1
"""Times the tolerance for outputs of a training step, up to a most: errors grow over the steps before. Ten AdamW steps
of small classifiers in float32 differ by up to 0.05 from the same steps in float64."""
UPDATE_TOLERANCE = 0.05
"""Largest norm of the parameters' difference, relative to the norm of what eager's steps changed. One number for the
whole model: an optimizer like Adam makes full-sized steps of gradients that are only rounding noise."""
SAMPLE, PARAMETER_SAMPLE = 1 << 20, 1 << 16
"""Elements compared of one tensor: evenly spaced ones of larger tensors."""

NOTHING_TO_COMPARE = "no call returned values that could be compared"

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Verdict:
    """How a form's outputs compare with eager's; `excess` is the largest error over its tolerance."""

    outputs: str
    largest_error: float | None
    note: str
    excess: float | None = None


@dataclass(frozen=True)
class Finding:
    """One comparison: a relative error beside what rounding explains."""

    name: str
    error: float
    tolerance: float
    whole_numbers: str | None = None
    """How many of how many whole numbers differ, of a tensor of whole numbers."""

    @property
    def excess(self) -> float:
        """The error over its tolerance, bounded."""
        return min(self.error / self.tolerance, 1e9)


class Samples:
    """Copies of a form's outputs and parameters, made outside the timed phases."""

    def __init__(self) -> None:
        self.outputs: Tensors = {}
        self.before: Tensors = {}
        self.after: Tensors = {}

    def take(self, name: str, output: Any) -> None:
        """Copy the tensors of one call's output to the host."""
        leaves, _ = torch_private.flatten(output)
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        self.outputs.update({f"{name}, tensor {place}": sample(leaf, SAMPLE) for place, leaf in enumerate(tensors)})

    @property
    def comparable(self) -> bool:
        """Whether there is a value to compare: returned by a call, or changed by training."""
        return any(tensor.numel() for tensor in self.outputs.values()) or norm(self.after, self.before) > 0

    def save(self, path: Path) -> None:
        """Write the samples for the other forms."""
        torch.save((self.outputs, self.before, self.after), path)

    def compare(self, path: Path) -> Verdict:
        """Compare with the samples that eager saved."""
        if not path.exists():
            return Verdict("unchecked", None, "eager left no outputs to compare with")
        expected = Samples()
        expected.outputs, expected.before, expected.after = torch.load(path, weights_only=True)
        if not expected.comparable:
            return Verdict("unchecked", None, NOTHING_TO_COMPARE)
        return compare(expected, self)


class RandomWatch:
    """Tells whether random numbers were drawn between two moments."""

    def __init__(self, cuda: bool) -> None:
        self._cuda, self._before = cuda, list[torch.Tensor]()

    def look(self) -> None:
        """Remember the generators' states."""
        self._before = self._states()

    def moved(self) -> bool:
        """Whether a generator has moved on since."""
        pairs = zip(self._before, self._states(), strict=False)
        return any(not torch.equal(before, after) for before, after in pairs)

    def _states(self) -> list[torch.Tensor]:
        return [torch.get_rng_state(), *([torch.cuda.get_rng_state()] if self._cuda else [])]


def parameters(named: Iterable[tuple[str, torch.Tensor]]) -> Tensors:
    """Copy samples of the parameters."""
    return {name: sample(parameter, PARAMETER_SAMPLE) for name, parameter in named}


def perturb(parameters: Iterable[torch.Tensor]) -> None:
    """Change every parameter by one rounding, up or down, without drawing from the script's random numbers.

    What follows from that follows from any other order of the same sums. A bias before a normalisation, say, has a
    gradient of rounding noise alone, of which Adam makes full-sized steps.
    """
    with torch.no_grad():
        for parameter in parameters:
            if parameter.is_floating_point():
                generator = torch.Generator(parameter.device).manual_seed(0)
                up = torch.empty_like(parameter).bernoulli_(0.5, generator=generator)
                parameter.mul_(1 + (2 * up - 1) * torch.finfo(parameter.dtype).eps)


def compare(expected: Samples, found: Samples) -> Verdict:
    """Compare outputs of the same calls one by one, and what training changed as a whole."""
    change = norm(expected.after, expected.before)
    names = [name for name in expected.outputs if name in found.outputs]
    findings = [_output(name, expected.outputs[name], found.outputs[name], change > 0) for name in names]
    if change > 0 and found.after:
        findings.append(Finding("parameters", norm(found.after, expected.after) / change, UPDATE_TOLERANCE))
    if not findings:
        return Verdict("unchecked", None, "no call was seen in both forms")
    worst = max(findings, key=lambda finding: finding.excess)
    largest = worst.error if math.isfinite(worst.error) else None
    if worst.excess <= 1:
        return Verdict("match", largest, f"{len(findings)} comparisons", worst.excess)
    return Verdict("differ", largest, _reason(worst, findings), worst.excess)


def norm(found: Tensors, expected: Tensors) -> float:
    """Return the norm of the difference over all tensors of both; infinite where shapes differ."""
    common = [name for name in expected if name in found]
    if any(found[name].shape != expected[name].shape for name in common):
        return math.inf
    total = sum((found[name].double() - expected[name].double()).square().sum().item() for name in common)
    return math.sqrt(total) if math.isfinite(total) else math.inf


def error(expected: torch.Tensor, found: torch.Tensor) -> float:
    """Return the largest difference relative to the largest expected value; of whole numbers, the share that differ.

    Infinite where shape, dtype or the places of NaN and infinity differ. (The measure of a backward-stable algorithm:
    small values beside large ones carry the large ones' rounding.)
    """
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return math.inf
    if expected.numel() == 0:
        return 0.0
    if not expected.dtype.is_floating_point:
        return (expected != found).double().mean().item()
    a, b = expected.double(), found.double()
    finite = a.isfinite()
    if not torch.equal(finite, b.isfinite()) or not torch.equal(a[~finite].nan_to_num(), b[~finite].nan_to_num()):
        return math.inf
    scale = a[finite].abs().max().item() if finite.any() else 0.0
    off = (a - b)[finite].abs().max().item() if finite.any() else 0.0
    return off / scale if scale else off


def sample(tensor: torch.Tensor, elements: int) -> torch.Tensor:
    """Copy a tensor's values, or evenly spaced ones, to the host."""
    flat = tensor.detach().reshape(-1)
    stride = max(1, -(-flat.numel() // elements))
    values = torch.view_as_real(flat[::stride]) if flat.is_complex() else flat[::stride]
    return values.to("cpu", copy=True)


def _output(name: str, expected: torch.Tensor, found: torch.Tensor, training: bool) -> Finding:
    tolerance = TOLERANCES.get(expected.dtype, 1e-12)
    allowed = min(tolerance * TRAINING, TRAINING_MOST) if training else tolerance
    off = error(expected, found)
    whole = not expected.dtype.is_floating_point and math.isfinite(off)
    count = f"{round(off * expected.numel()):,} of {expected.numel():,} whole numbers differ" if whole else None
    return Finding(name, off, allowed, count)


def _reason(worst: Finding, findings: list[Finding]) -> str:
    """Say what differs. Whole numbers jump where values only round: an argmax of near-equal values falls either way.

    Whether it was such a near-tie is told by the values it was chosen among, if the region returns any.
    """
    if worst.whole_numbers is None:
        return f"{worst.name}: relative error {worst.error:.2g}"
    values = [finding for finding in findings if finding.whole_numbers is None]
    if any(finding.excess > 1 for finding in values):
        return f"{worst.name}: {worst.whole_numbers}, and values with them"
    if values:
        return f"{worst.name}: {worst.whole_numbers}, all other values match: near-ties decided by rounding"
    return f"{worst.name}: {worst.whole_numbers}; return the values they come from to tell near-ties from errors"
