"""Same work, same answer: what counts as a difference, and what rounding explains."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from capture.compare import Samples, compare, error, norm, parameters, perturb


def test_comparison_measures_against_the_largest_value() -> None:
    assert error(torch.tensor([1.0, 1000.0]), torch.tensor([1.5, 1000.0])) == pytest.approx(5e-4)
    assert error(torch.zeros(3), torch.zeros(3)) == 0
    assert error(torch.zeros(0), torch.zeros(0)) == 0
    assert error(torch.tensor([1, 2, 3, 4]), torch.tensor([1, 2, 3, 5])) == 0.25
    assert error(torch.ones(2), torch.ones(3)) == float("inf")
    assert error(torch.ones(2), torch.ones(2).double()) == float("inf")
    nan, inf = float("nan"), float("inf")
    assert error(torch.tensor([nan, 1.0]), torch.tensor([1.0, 1.0])) == inf
    assert error(torch.tensor([nan, 1.0, inf]), torch.tensor([nan, 1.0, inf])) == 0
    assert error(torch.tensor([inf]), torch.tensor([-inf])) == inf


def samples(outputs: dict[str, torch.Tensor], after: float | None = None) -> Samples:
    found = Samples()
    found.outputs = outputs
    if after is not None:
        found.before, found.after = {"w": torch.zeros(4)}, {"w": torch.full((4,), after)}
    return found


def test_verdict_names_the_worst_tensor() -> None:
    expected, found = {"a": torch.ones(2), "b": torch.ones(2)}, {"a": torch.ones(2), "b": torch.zeros(2)}
    verdict = compare(samples(expected), samples(found))
    assert (verdict.outputs, verdict.largest_error) == ("differ", 1.0)
    assert "b:" in verdict.note
    half = {"a": torch.ones(2).bfloat16()}
    assert compare(samples(half), samples({"a": half["a"] * 1.01})).outputs == "match"
    assert compare(samples(half), samples({"a": torch.ones(3)})).largest_error is None
    assert compare(samples(half), samples({})).outputs == "unchecked"


def test_what_held_no_value_to_compare_is_no_match(tmp_path: Path) -> None:
    nothing, empty = samples({}), samples({"a": torch.zeros(0)})
    for eager in (nothing, empty, samples({}, after=0.0)):
        assert not eager.comparable
        eager.save(tmp_path / "eager.pt")
        assert eager.compare(tmp_path / "eager.pt").outputs == "unchecked"
    assert samples({}, after=1.0).comparable, "training that returns nothing is compared by what it changed"


def test_whole_numbers_that_differ_are_counted_and_told_from_values_that_do() -> None:
    chosen, other = torch.tensor([1, 2, 3, 4]), torch.tensor([1, 2, 3, 9])
    alone = compare(samples({"a": chosen}), samples({"a": other}))
    assert (alone.outputs, alone.note[:36]) == ("differ", "a: 1 of 4 whole numbers differ; retu")
    values, off = torch.ones(2), torch.zeros(2)
    tie = compare(samples({"a": chosen, "b": values}), samples({"a": other, "b": values}))
    assert (tie.outputs, "near-ties" in tie.note) == ("differ", True)
    wrong = compare(samples({"a": chosen, "b": values}), samples({"a": other, "b": off}))
    assert (wrong.outputs, "near-ties" in wrong.note) == ("differ", False)


def test_training_is_compared_by_what_it_changed() -> None:
    same = {"loss": torch.ones(1)}
    assert compare(samples(same, 1.0), samples(same, 1.01)).outputs == "match"
    lost = compare(samples(same, 1.0), samples(same, 0.5))
    assert (lost.outputs, lost.largest_error) == ("differ", 0.5)
    assert lost.note.startswith("parameters")


def trained(perturbed: bool) -> Samples:
    """Ten steps of Adam, of which the bias before the normalisation sees nothing but rounding."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 4))
    if perturbed:
        perturb(model.parameters())
    optimizer, found = torch.optim.Adam(model.parameters(), lr=1e-3), Samples()
    found.before = parameters(model.named_parameters())
    for _ in range(10):
        optimizer.zero_grad()
        model(torch.randn(16, 32)).square().mean().backward()
        optimizer.step()
    found.after = parameters(model.named_parameters())
    return found


def test_a_rounding_carries_as_far_as_the_training_lets_it() -> None:
    plain, moved = trained(False), trained(True)
    assert norm(plain.before, moved.before) < 1e-5
    bias = {"0.bias": moved.after["0.bias"]}
    assert norm(plain.after, bias) > 0.1 * norm(plain.before, bias)
    state = torch.get_rng_state()
    perturb([torch.ones(3, dtype=torch.half), torch.ones(3, dtype=torch.long)])
    assert torch.equal(state, torch.get_rng_state())
