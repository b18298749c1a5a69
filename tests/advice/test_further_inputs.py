"""Inputs that others than the step's first operator read."""

from __future__ import annotations

import pytest

from tests.advice.cases.beats import inside
from tests.advice.story import H200, Beat, Clock, Given, analysis, op
from tests.build import TraceBuilder
from tracelens.advice import constants as C
from tracelens.advice.forms.inputs import input_copies
from tracelens.advice.step.region import find_region

SMALL, LARGE = [64, 1], [64, 1 << 18]
RATE = 4_000.0
FIRST = op("aten::exp", 5, shapes=[SMALL], dtypes=["float"])
SCALED = op("aten::mul", 200, shapes=[LARGE, SMALL], dtypes=["float", "float"])


def copies(*beats: Beat, **options: Given) -> float:
    """Device time of copying the step's inputs, in ns."""
    region = find_region(analysis(*beats, **options))
    assert region is not None
    return input_copies(region, RATE).mid


def part(of: list[int], place: int = 0) -> Beat:
    """A view of a part as large as LARGE."""
    return lambda trace, clock, step: _viewed(trace, clock.host, of, place)


def _viewed(trace: TraceBuilder, at: float, of: list[int], place: int) -> None:
    given = ["", str(LARGE), "[1, 1]", str(place)]
    trace.op("aten::as_strided", at - 0.5, 0.2, shapes=[of, [], [], []], concrete=given)


def test_a_tensor_that_nothing_before_could_have_made_is_an_input() -> None:
    read = 2 * 4 * (1 << 24) / RATE
    assert copies(FIRST, SCALED) - copies(FIRST) == pytest.approx(read + C.INPUT_COPY)
    assert copies(FIRST, SCALED, SCALED) == copies(FIRST, SCALED)


def test_so_is_a_tensor_of_another_size_that_a_function_reads_alone_but_no_copy_of_what_was_expanded() -> None:
    square, copy = (op(f"aten::{name}", 200, shapes=[LARGE], dtypes=["float"]) for name in ("square", "clone"))
    assert copies(FIRST, square) == copies(FIRST, SCALED)
    assert copies(FIRST, copy) == copies(FIRST)


@pytest.mark.parametrize("name", ["aten::mm", "aten::cat", "aten::upsample_nearest2d"])
def test_behind_what_gives_a_tensor_of_another_size_nothing_is_told(name: str) -> None:
    other = op(name, 5, shapes=[SMALL, SMALL], dtypes=["float", "float"])
    assert copies(FIRST, other, SCALED) == copies(FIRST)


def test_a_part_of_a_tensor_was_made_with_it() -> None:
    taken = part([2, *LARGE])
    assert copies(FIRST, taken, SCALED, taken, SCALED) == copies(FIRST, taken, op("aten::exp", 200, shapes=[LARGE]))
    assert copies(FIRST, part(LARGE), SCALED) > copies(FIRST)


def test_what_two_tensors_give_together_is_made() -> None:
    outer = op("aten::add", 200, shapes=[SMALL, [1, 1 << 18]], dtypes=["float", "float"])
    assert copies(FIRST, outer, SCALED) == copies(FIRST)


def test_an_index_sequence_is_no_input_and_hides_none_behind_it() -> None:
    sequence = op("aten::arange", 2, shapes=[[], []], dtypes=["Scalar", ""])
    assert copies(FIRST, sequence, SCALED) == copies(FIRST)
    shifted = op("aten::sub", 2, shapes=[[1 << 18], []], dtypes=["long int", "Scalar"])
    assert copies(FIRST, sequence, shifted, SCALED) == copies(FIRST, SCALED)


def test_an_index_sequence_at_the_head_hides_no_input_of_what_takes_it() -> None:
    sequence = op("aten::arange", 2, shapes=[[], []], dtypes=["Scalar", ""])
    table, pieces, offsets = [1 << 20, 64], [1 << 24], [1 << 18]
    bag = op("aten::embedding_bag", 200, shapes=[table, pieces, offsets], dtypes=["float", "long int", "long int"])
    assert copies(sequence, bag) == copies(bag) == pytest.approx(C.INPUT_COPY + 2 * 8 * (1 << 24) / RATE)
    noise = op("aten::normal_", 5, shapes=[[], []], dtypes=["Scalar", ""])
    assert copies(noise, SCALED) == copies(noise)


@pytest.mark.parametrize(("memory", "most"), [({"totalGlobalMem": 16 << 30}, 16 << 30), ({}, C.LARGEST_MEMORY)])
def test_inputs_and_their_copies_fit_into_the_devices_memory(memory: dict[str, int], most: int) -> None:
    expanded = op("aten::exp", 5, shapes=[[1 << 20, 1 << 20]], dtypes=["float"])
    device = [{"id": 0, **H200, **memory}]
    assert copies(expanded, deviceProperties=device) == pytest.approx(C.INPUT_COPY + most / RATE)
    assert copies(FIRST, deviceProperties=device) == copies(FIRST)


def pair(name: str, *sizes: list[int]) -> Beat:
    """An operator on tensors of these dimensions."""
    return op(name, 5, shapes=list(sizes), dtypes=["float"] * len(sizes))


@pytest.mark.parametrize("loss", ["aten::mse_loss", "aten::smooth_l1_loss", "aten::binary_cross_entropy_with_logits"])
def test_what_a_loss_compares_with_is_an_input(loss: str) -> None:
    model = op("aten::mm", 200, shapes=[SMALL, [1, 1 << 18]], dtypes=["float", "float"])
    read = C.INPUT_COPY + 2 * 4 * (1 << 24) / RATE
    assert copies(FIRST, model, pair(loss, LARGE, LARGE)) - copies(FIRST, model) == pytest.approx(read)
    assert copies(FIRST, model, *[pair(loss, LARGE, LARGE)] * 2) == copies(FIRST, model, pair(loss, LARGE, LARGE))


def test_a_class_to_be_told_may_be_an_index_sequence() -> None:
    classes = op("aten::cross_entropy_loss", 5, shapes=[LARGE, [64]], dtypes=["float", "long int"])
    assert copies(FIRST, classes) == copies(FIRST)


@pytest.mark.parametrize("name", ["sqrt", "abs", "neg", "reciprocal"])
def test_two_powers_of_one_tensor_are_no_pair(name: str) -> None:
    first = pair(f"aten::{name}", SMALL)
    both = pair("aten::div", SMALL, SMALL)
    assert copies(first, both) - copies(first) == pytest.approx(C.INPUT_COPY + 2 * 4 * 64 / RATE)
    assert copies(first, both, both) == copies(first, both)


@pytest.mark.parametrize("name", ["exp", "neg_", "sigmoid", "add"])
def test_a_tensor_and_what_was_made_of_it_are_a_pair(name: str) -> None:
    first = pair(f"aten::{name}", SMALL)
    assert copies(first, pair("aten::sub", SMALL, SMALL)) == copies(first)


def test_a_state_that_is_updated_in_place_is_no_input() -> None:
    decayed = pair("aten::mul", SMALL), pair("aten::add", SMALL, SMALL)
    assert copies(*decayed, pair("aten::mul_", SMALL)) == copies(decayed[0])
    assert copies(*decayed, pair("aten::mul", SMALL)) > copies(decayed[0])


def test_a_larger_tensor_taken_apart_is_an_input() -> None:
    taken = [2, *LARGE]
    first = pair("aten::exp", LARGE)
    behind = copies(first, part(taken), pair("aten::square", LARGE)) - copies(first)
    assert behind == pytest.approx(C.INPUT_COPY + 2 * 4 * (2 << 24) / RATE)
    again = copies(first, *[part(taken), pair("aten::square", LARGE)] * 2) - copies(first)
    assert again == behind


def test_tensors_of_which_each_part_was_taken_are_as_many_inputs() -> None:
    apart = [part([2, *LARGE], place) for place in (0, 1 << 24)]
    read = C.INPUT_COPY + 2 * 4 * (2 << 24) / RATE
    once, twice, again = (copies(FIRST, *views, SCALED) for views in (apart, apart * 2, [*apart, apart[0]]))
    assert once - copies(FIRST) == pytest.approx(read)
    assert twice - once == pytest.approx(read)
    assert again == once


def test_a_loss_compares_with_a_part_of_what_was_counted_whole() -> None:
    loss = op("aten::mse_loss", 50, shapes=[LARGE, LARGE], dtypes=["float", "float"])
    apart = [part([2, *LARGE], place) for place in (0, 1 << 24)]
    assert copies(FIRST, *apart, SCALED, loss) == copies(FIRST, *apart, SCALED)


@pytest.mark.parametrize(("of", "inputs"), [(SMALL, 1), ([64, 2], 0)], ids=["a parameter", "another tensor"])
def test_a_model_that_is_given_nothing_is_fitted_to_an_input(of: list[int], inputs: int) -> None:
    model = FIRST, op("aten::mul", 200, shapes=[SMALL, [1, 1 << 18]], dtypes=["float", "float"])
    loss = op("aten::mean", 50, shapes=[LARGE], dtypes=["float"])
    node = "torch::autograd::AccumulateGrad"
    learns = inside(f"autograd::engine::evaluate_function: {node}", op(node, 5, shapes=[of], dtypes=["float"]))
    read = inputs * (C.INPUT_COPY + 2 * 4 * (1 << 24) / RATE)
    assert copies(*model, loss, learns) - copies(FIRST) == pytest.approx(read)
    assert copies(*model, loss) == copies(FIRST)
    table = op("aten::mul", 5, shapes=[[8], []], dtypes=["float", "long int"])
    assert copies(*model, table, loss, learns) - copies(*model, table, loss) == pytest.approx(read)


FORMULA = [pair("aten::exp", SMALL), pair("aten::mul", SMALL, SMALL), pair("aten::log", SMALL)] * 4
FORMULA.append(pair("aten::tanh", SMALL))


def test_a_formula_of_whole_tensors_reads_more_than_one() -> None:
    one = C.INPUT_COPY + 2 * 4 * 64 / RATE
    assert copies(*FORMULA) == pytest.approx(3 * one)
    assert copies(pair("aten::sqrt", SMALL), pair("aten::div", SMALL, SMALL), *FORMULA) == copies(*FORMULA)
    assert copies(*FORMULA[:6]) == pytest.approx(one)


def test_a_repeated_formula_reads_two() -> None:
    one = C.INPUT_COPY + 2 * 4 * 64 / RATE
    assert copies(*FORMULA[:-1]) == pytest.approx(2 * one)


def test_a_formula_may_do_with_one_input() -> None:
    for formula in (FORMULA, FORMULA[:-1]):
        region = find_region(analysis(*formula))
        assert region is not None
        assert input_copies(region, RATE).low == pytest.approx(2 * 4 * 64 / RATE)


def test_a_list_of_parts_of_one_tensor_holds_that() -> None:
    updated = op("aten::_foreach_add_", 20, shapes=[[], []], dtypes=["TensorList", "Scalar"])
    bucket = [1 << 24]
    assert copies(_part_of(bucket, SMALL), updated) == pytest.approx(C.INPUT_COPY + 2 * 4 * (1 << 24) / RATE)
    told = op("aten::_foreach_add_", 20, shapes=[[bucket, SMALL], []], dtypes=["TensorList", "Scalar"])
    assert copies(_part_of(SMALL, [64]), told) == copies(told)


def test_several_matrices_are_the_input_of_a_product_with_one() -> None:
    def product(*sizes: list[int]) -> float:
        return copies(op("aten::matmul", 50, shapes=list(sizes), dtypes=["float"] * len(sizes)))

    assert product([2, 512, 64], [64, 64]) == pytest.approx(C.INPUT_COPY + 2 * 4 * (2 * 512 * 64) / RATE)
    assert product([512, 64], [64, 64]) == pytest.approx(C.INPUT_COPY + 2 * 4 * (64 * 64) / RATE)


@pytest.mark.parametrize("name", ["roll", "constant_pad_nd", "layer_norm", "conv2d", "add_", "index_select"])
def test_stencils_layers_and_updates_are_no_formula(name: str) -> None:
    assert copies(*FORMULA, pair(f"aten::{name}", SMALL)) == copies(FORMULA[0])


def test_parts_of_one_tensor_are_no_formula_of_two() -> None:
    half = pair("aten::exp", [32, 1])
    parts = [_part_of(SMALL, [32, 1]), half, pair("aten::mul", [32, 1], [32, 1]), half]
    assert copies(*parts * 4) == copies(*parts)


def test_a_long_formula_may_combine_seldom() -> None:
    scaled = pair("aten::exp", SMALL), *[pair("aten::mul", SMALL)] * 2, pair("aten::mul", SMALL, SMALL)
    read = copies(scaled[0])
    last = pair("aten::tanh", SMALL)
    assert copies(*scaled * 6, last) == copies(*scaled * 3, last) == read
    assert copies(*scaled * 7, last) == pytest.approx(3 * read)


def test_a_formula_may_combine_parts_of_what_its_head_reads() -> None:
    colours = pair("aten::exp", [64, 3])
    combined = [pair("aten::mul", SMALL), pair("aten::sub", SMALL, SMALL)] * 4
    beside = 2 * (C.INPUT_COPY + 2 * 4 * 64 / RATE)
    assert copies(colours, _part_of([64, 3], SMALL), *combined) - copies(colours) == pytest.approx(beside)
    assert copies(pair("aten::exp", [8, 1]), *combined[2:]) < copies(*combined)
    asked = op("aten::item", 2, shapes=[[]], dtypes=["float"])
    assert copies(colours, _part_of([64, 3], SMALL), *combined, asked) - copies(colours) == pytest.approx(beside)


@pytest.mark.parametrize(("name", "inputs"), [("sub", 1), ("div", 1), ("maximum", 1), ("mul", 0)])
def test_two_tensors_of_a_kind_of_which_there_was_but_one_need_an_input(name: str, inputs: int) -> None:
    asked = op("aten::gt", 5, shapes=[SMALL], dtypes=["int"]), op("aten::mul", 5, shapes=[SMALL], dtypes=["bool"])
    more = copies(*asked, pair(f"aten::{name}", SMALL, SMALL)) - copies(*asked)
    assert more == pytest.approx(inputs * (C.INPUT_COPY + 2 * 4 * 64 / RATE))
    converted = op("aten::to", 5, shapes=[SMALL], dtypes=["int"])
    assert copies(*asked, converted, pair(f"aten::{name}", SMALL, SMALL)) == copies(*asked)


def _part_of(of: list[int], size: list[int]) -> Beat:
    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        trace.op("aten::as_strided", clock.host - 0.5, 0.2, shapes=[of, [], [], []], concrete=["", str(size), "", ""])

    return tell
