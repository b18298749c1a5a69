"""Predicted times can be redone from the terms that are told with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.advice.cases.beats import loader
from tests.advice.story import Beat, analysis, gemm, item, op, pointwise, upload
from tests.reference import reference_traces
from tests.validation.measured import measured
from tracelens import report
from tracelens.advice import advise
from tracelens.advice.choice.missed import scaled
from tracelens.advice.results import Form
from tracelens.advice.terms import DECIDED, TERMS, Terms
from tracelens.model.units import NS_PER_MS
from tracelens.reporting.schema import FormEntry

LARGEST = 60_000
BACKWARD = op("autograd::engine::evaluate_function: AddBackward0", 2, kernel="elementwise_kernel", host=20)
RECURRENT = op("aten::lstm", 40, kernel="RNN_blockPersist_fp_LSTM")
PIECE = [pointwise(2, host=30)] * 20
FUNCTIONS: dict[str, Callable[..., float]] = {"max": max, "min": min}


def redone(formula: str, values: dict[str, int | float]) -> float:
    return eval(formula, {"__builtins__": {}, **FUNCTIONS}, values)


def forms(*beats: Beat) -> dict[str, Form]:
    return advise(analysis(*beats)).forms


def decided(*beats: Beat) -> dict[str, str]:
    return {name: form.terms.decided_by for name, form in forms(*beats).items() if form.terms is not None}


def predictions(path: Path) -> Iterator[tuple[str, float, FormEntry]]:
    """Name, predicted ms and entry of each form that is predicted to run."""
    for name, form in report(path).document["forms"].items():
        step_ms = (form["predicted"] or form)["step_ms"]
        if step_ms is not None and (form["predicted"] or form["source"] == "predicted"):
            yield name, step_ms, form


REAL = [step.trace for step in measured("measured")]
REAL += [path for path in reference_traces("public", "h200") if path.stat().st_size < LARGEST]


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_the_terms_of_a_report_make_the_predicted_time(path: Path) -> None:
    for name, step_ms, form in predictions(path):
        terms = form["terms"]
        assert terms is not None, name
        assert redone(terms["formula"], terms["values"]) == pytest.approx(step_ms * NS_PER_MS, rel=1e-6, abs=20), name
        assert terms["decided_by"] in DECIDED
        assert terms["values"].keys() <= TERMS.keys()


def test_the_slower_side_decides() -> None:
    host, device = decided(*[pointwise(2, host=60)] * 50), decided(*[gemm(3_000)] * 5)
    assert (host["eager"], host["replay"]) == ("host_bound", "device_bound")
    assert {device[form] for form in ("compile", "replay", "both")} == {"device_bound"}


@pytest.mark.parametrize(
    ("beats", "form", "rule"),
    [
        ([*PIECE, BACKWARD, item()] * 3, "compile", "stays_eager"),
        ([*PIECE, BACKWARD, item()] * 3, "both", "stays_eager"),
        ([*PIECE, item()] * 5, "compile", "in_turns"),
        ([*[pointwise(2, host=30), gemm(5)] * 30, item()] * 5, "both", "looped"),
        ([*PIECE, upload(), gemm(20)], "both", "copy_awaited"),
        ([*PIECE, RECURRENT], "compile", "untraceable"),
    ],
)
def test_the_rule_that_decides_is_named(beats: list[Beat], form: str, rule: str) -> None:
    found = forms(*beats)[form]
    assert found.terms is not None
    assert found.step_ms is not None
    assert found.terms.decided_by == rule
    assert redone(found.terms.formula, dict(found.terms.values)) == pytest.approx(found.step_ms * NS_PER_MS)


def test_a_data_loader_hides_behind_the_graphs_of_a_training_step_that_waits_at_its_start() -> None:
    body = [item(), *[gemm(500)] * 8, BACKWARD, *[pointwise(50, 1 << 22)] * 8]
    plain, loaded = forms(*body)["both"].terms, forms(loader(3_000), *body)["both"].terms
    assert plain is not None
    assert loaded is not None
    assert loaded.values["alternating_ns"] == pytest.approx(plain.values["alternating_ns"], rel=0.01)


def test_generated_kernels_and_those_that_they_replace_are_counted() -> None:
    terms = forms(gemm(50), *[pointwise(20, 1 << 22)] * 6, gemm(50))["compile"].terms
    assert terms is not None
    assert terms.values["replaced_kernels"] == 6
    assert 1 <= terms.values["generated_kernels"] < 6
    assert terms.values["replaced_ns"] == pytest.approx(6 * 20_000)


def test_a_step_that_is_left_to_eager_tells_in_how_many_pieces_it_is() -> None:
    terms = forms(*[*PIECE, BACKWARD, item()] * 3)["both"].terms
    assert terms is not None
    assert terms.values["pieces"] == 3


def test_a_scaled_time_has_its_factor_among_the_terms() -> None:
    form = Form(
        2.0, 1.0, 3.0, "predicted", terms=Terms("host_ns + device_ns", "", {"host_ns": 5e5, "device_ns": 1.5e6})
    )
    terms = scaled(form, 1.1).terms
    assert terms is not None
    assert redone(terms.formula, dict(terms.values)) == pytest.approx(2.2 * NS_PER_MS)
    assert scaled(form, 1.0).terms == form.terms
