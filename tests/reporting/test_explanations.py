from __future__ import annotations

import re

from tests.reporting import example
from tracelens.advice.explain import explain
from tracelens.advice.terms import DECIDED, HOST
from tracelens.reporting.explanations import list_text, to_text, values_text
from tracelens.reporting.printable import cells
from tracelens.reporting.report import Report

ADDRESS = re.compile(r"https?://\S+")
TOPICS = [topic for names in explain.topics().values() for topic in names]


def test_every_explanation_fits_a_terminal() -> None:
    for topic in TOPICS:
        lines = to_text(explain.explain(topic), width=80).splitlines()
        assert [line for line in lines if cells(line) > 80 and not ADDRESS.search(line)] == []
    assert max(map(cells, list_text(explain.topics(), width=80).splitlines())) <= 80


def test_a_constant_of_time_has_its_unit() -> None:
    assert "SPACING_NS = 20,000 ns" in to_text(explain.explain("device.spacing"))


def test_a_formula_is_shown_where_it_fits() -> None:
    (told,) = explain.explain("kernel.compute")
    assert "np.where(is_communication" not in to_text([told], width=80)
    assert "np.where(is_communication" in to_text([told], width=120)


def test_a_form_is_followed_to_its_terms_before_anything_else() -> None:
    document = Report(example.analysis(), example.advice()).document
    told = " ".join(values_text("compile", document, explain.explain("compile"), width=120).split())
    made = told[told.index("Made from") :]
    assert "3.91 ms (predicted) = max(guards_ns + library_calls_ns, library_ns) + unsure_ns" in made
    assert "library_calls_ns: 3.74 ms. Host time of the operators that stay calls." in made
    assert "pieces: 1. " in made
    assert made.index(DECIDED[HOST]) < made.index("guards_ns: 50.0 us.") < made.index("window.steps: 3")
    assert "forms.compile.terms" not in told
    assert "terms" not in values_text("replay", document, explain.explain("replay"))


def test_the_time_after_the_repairs_is_followed_to_its_terms() -> None:
    document = Report(example.analysis(), example.advice()).document
    after, terms = document["recommendation"]["after_fix"], document["forms"]["compile"]["terms"]
    assert after is not None
    after["terms"] = terms
    told = " ".join(values_text("after_fix", document, explain.explain("after_fix"), width=120).split())
    assert "0.47 ms (predicted) = max(guards_ns + library_calls_ns, library_ns) + unsure_ns" in told
    assert "recommendation.after_fix.terms" not in told


def test_a_term_has_its_values_in_a_report() -> None:
    document = Report(example.analysis(), example.advice()).document
    assert "forms.compile.terms.values.guards_ns: 50.0 us" in values_text("guards_ns", document, [])
    assert "forms.compile.terms.decided_by: host_bound" in values_text("host_bound", document, [])
