"""Arguments as traces give them, sound and odd."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.advice.story import analysis, op
from tracelens.advice import advise
from tracelens.advice.arguments import product, tensors, whole_numbers, width
from tracelens.model.events import ABSENT

json = st.recursive(st.none() | st.integers(-9, 9) | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3))


@given(json)
def test_every_tensor_is_a_list_of_whole_numbers(shape: object) -> None:
    assert all(dims and all(isinstance(dim, int) for dim in dims) for dims in tensors(shape))


def test_one_tensor_a_list_of_tensors_and_a_scalar() -> None:
    assert tensors([2, 3]) == [[2, 3]]
    assert tensors([[2, 3], [4], []]) == [[2, 3], [4]]
    assert tensors([]) == tensors("[2]") == []


def test_tensors_nested_however_deep() -> None:
    shape: object = [2, 3]
    for _ in range(5_000):
        shape = [shape]
    assert tensors(shape) == [[2, 3]]


def test_widths_of_element_types() -> None:
    assert [width(["c10::Half", "float", "long int", "bool", "c10::BFloat16"], at) for at in range(6)] == [
        2,
        4,
        8,
        1,
        2,
        4,
    ]


def test_products() -> None:
    assert product([64, 2, 1]) == 128
    assert product([]) == product(["64"]) == product([2**62, 2**62, -1]) == ABSENT


@pytest.mark.parametrize("shapes", [["odd"], [3, [2, 2]], [[["a"]]], [[-1, 4]], 7, {"a": 1}])
def test_odd_shapes_give_a_verdict_all_the_same(shapes: object) -> None:
    found = advise(analysis(*[op("aten::add", 2, shapes=shapes, dtypes=["float"], grid="64 by 1")] * 30))
    assert found.recommendation.verdict in ("both", "replay")


def test_whole_numbers_in_a_text() -> None:
    assert whole_numbers("[0, -1, 12]") == [0, -1, 12]
    assert whole_numbers("7") == [7]
    assert whole_numbers("\u00b2 \u0663") == whole_numbers("9" * 5_000) == whole_numbers(None) == []


ODD = {
    "superscript": "\u00b2",
    "arabic": "\u0663",
    "endless": "9" * 5_000,
    "large": "9" * 18,
    "dashes": "-" * 9,
    "many": "[" + "9" * 18 + ", 2" * 500,
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ["aten::sum", "aten::native_group_norm", "aten::max_pool2d_with_indices", "aten::max"])
def test_odd_numbers_give_times_all_the_same(name: str, odd: str) -> None:
    given = {"shapes": [[8, 64, 32, 32]] * 2, "dtypes": ["float"], "concrete": ["", *[ODD[odd]] * 7]}
    forms = advise(analysis(*[op(name, 2, **given)] * 30)).forms
    assert all(form.step_ms is not None and 0 < form.step_ms < 1e6 for form in forms.values())


@pytest.mark.parametrize("dims", [[10**18] * 18, [100_000] * 64, [10**18] * 17])
def test_shapes_beyond_all_numbers_give_finite_times(dims: list[int]) -> None:
    forms = advise(analysis(op("aten::abs", 100, shapes=[dims], dtypes=["float"]))).forms
    assert all(form.step_ms is None or 0 < form.step_ms < float("inf") for form in forms.values())
