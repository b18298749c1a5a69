from __future__ import annotations

import re

from tracelens.advice import explain
from tracelens.reporting.explanations import list_text, to_text
from tracelens.reporting.printable import cells

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
