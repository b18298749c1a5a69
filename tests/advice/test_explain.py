"""Every name that a report shows is explained from the code and the constants behind it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, is_typeddict

import pytest

import tracelens
from capture.failure import PREREQUISITES
from tests import runs
from tests.advice.story import analysis, call, gemm, item, pointwise, upload
from tests.documents import keys_of
from tracelens.advice import advise
from tracelens.advice.blockers.blockers import VETOES
from tracelens.advice.blockers.confirmed import REPAIRS
from tracelens.advice.explain.explain import explain, topics
from tracelens.advice.explain.sources import constants
from tracelens.advice.forms.measured import REASONS
from tracelens.advice.results import NO_GRAPH
from tracelens.advice.rules import RULES
from tracelens.analysis import analyze
from tracelens.analysis.parts import Part
from tracelens.errors import UsageError
from tracelens.loading.load import empty_trace
from tracelens.model.forms import FORMS
from tracelens.reporting import schema
from tracelens.reporting.document import build
from tracelens.reporting.explanations import list_text, to_json, to_text

NAMES = sorted({name for names in topics().values() for name in names})


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_a_text_and_says_where_it_is_computed(name: str) -> None:
    for found in explain(name):
        assert found.title
        assert found.text
        assert found.computed_by or found.kind in ("check", "word")
        assert name in to_text([found], width=60)
    assert json.loads(to_json(explain(name)))[0]["id"] == name


@pytest.mark.parametrize(
    "word", ["idle", "saves", "speed-up", "off", "busy overlap", "perhaps", "cannot tell", "at a guess", "repair first"]
)
def test_words_that_people_read_are_explained_as_keys_are(word: str) -> None:
    (found,) = explain(word)
    assert found.kind == "word"


def test_a_part_goes_by_its_name_alone_where_that_stands_for_nothing_else() -> None:
    assert [found.id for found in explain("spacing")] == ["device.spacing"]


def test_a_path_in_the_document_goes_by_the_key_that_it_ends_with() -> None:
    assert explain("recommendation.confidence") == explain("confidence")
    assert explain("forms.replay.terms.values.host_ns") == explain("host_ns")
    with pytest.raises(UsageError):
        explain("nowhere.confidence")


def test_each_function_names_a_file_that_holds_it_at_its_line() -> None:
    above = Path(tracelens.__file__).parents[1]
    for step in {step for name in NAMES for found in explain(name) for step in found.computed_by}:
        lines = (above / step.file).read_text(encoding="utf-8").splitlines()
        assert step.name.rpartition(".")[2] in lines[step.line - 1] or step.line == 1, step.file


@pytest.mark.parametrize(("id", "says"), [("changing_shapes", "impossible"), ("old_device", "raise")])
def test_a_blocker_says_what_it_prevents(id: str, says: str) -> None:
    (found,) = explain(id)
    assert says in found.text


def test_all_that_a_report_names_is_explained() -> None:
    found = analysis(upload(), *[pointwise(5, host=30)] * 20, item(), gemm(20), call("cudaMalloc", 500), gemm(20))
    advice = advise(found)
    known = topics()
    assert known["rule"].keys() == {rule.id for rule in RULES}
    assert {finding.rule for finding in advice.findings} <= known["rule"].keys() | known["blocker"].keys()
    assert {blocker.id for form in advice.forms.values() for blocker in form.blockers} <= known["blocker"].keys()
    accelerator = analyze(replace(found.trace, vendor="mtia"))
    checks = (*found.trust.checks, *accelerator.trust.checks)
    assert {check.id for check in checks} == known["check"].keys()
    assert {f"{part.class_name}.{part.part_name}" for part in Part} == known["part"].keys()
    assert set(FORMS) <= known["figure"].keys()
    assert all(known["part"].values())


@cache
def reported() -> tuple[dict[str, Any], ...]:
    """Documents of many kinds: predicted, measured, failed, blocked, of a trace that tells nothing."""
    forms = {**runs.ALL, "compile": runs.failed("memory", "out of memory"), "replay": runs.failed("rng", "Offset")}
    found = analysis(upload(), *[pointwise(5, host=30)] * 20, item(), gemm(20), call("cudaMalloc", 500), gemm(20))
    empty = analyze(empty_trace("none"))
    judged = ((found, {}), (found, runs.ALL), (found, forms), (empty, {}))
    return tuple(build(traced, advise(traced, given)) for traced, given in judged)


def test_every_key_of_the_document_is_explained() -> None:
    known = set().union(*topics().values())
    parts = {part.part_name for part in Part}
    for document in reported():
        assert set(keys_of(document)) - known - parts == set()
    declared = {key for entry in vars(schema).values() if is_typeddict(entry) for key in entry.__annotations__}
    assert declared | {column for columns in schema.COLUMNS.values() for column in columns} <= known


def test_every_word_that_a_report_prints_is_explained() -> None:
    known = set().union(*topics().values())
    for document in reported():
        said = document["recommendation"]
        words = {said["verdict"], document["trust"]["level"], document["window"]["kind"], document["trace"]["form"]}
        words.add(document["trace"]["vendor"])
        words |= {finding[key] for finding in document["findings"] for key in ("rule", "severity")}
        words |= {fix["blocker"] for fix in said["fix_first"]} | set(document["attribution"]["classes"])
        words |= {form[key] for form in document["forms"].values() for key in ("source", "variant", "outputs")}
        words |= {blocker["id"] for form in document["forms"].values() for blocker in form["blockers"]}
        words |= {row[key] for row in document["tables"]["kernels"] for key in ("kind", "origin")}
        assert words - {None} <= known


def test_blockers_that_only_an_attempt_finds_are_explained() -> None:
    ids = {*REPAIRS, NO_GRAPH, *(id for _, id, _, _ in REASONS), *(id for id, _ in PREREQUISITES)}
    assert ids <= set().union(*topics().values())


def test_a_blocker_says_whether_it_prevents_a_capture() -> None:
    for id in topics()["blocker"]:
        told = next(found.text for found in explain(id) if found.kind == "blocker")
        assert ("makes the capture of a whole step impossible" in told) is (id in VETOES), id


def test_a_part_names_only_the_functions_that_decide_it() -> None:
    told = {part: [step.name for step in explain(part)[0].computed_by] for part in topics()["part"]}
    assert all(told.values())
    assert len({tuple(names) for names in told.values()}) > 5


def test_a_title_is_a_whole_sentence_and_a_name_of_several_things_says_of_which() -> None:
    assert all(title.endswith((".", ")")) for title in topics()["blocker"].values())
    assert "(rule)" in to_text(explain("host_work"))
    assert "(blocker)" in to_text(explain("host_work"))


def test_every_calibrated_constant_has_a_source_and_is_reached_from_a_figure() -> None:
    shown = {constant for name in NAMES for found in explain(name) for constant in found.constants}
    calibrated = {name: constant for name, constant in constants("advice.constants").items() if constant.meaning}
    assert calibrated.keys() - {constant.name for constant in shown} == set()
    assert len(calibrated) > 40


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_thresholds_of_rules_say_where_they_are_from(rule: object) -> None:
    id = rule.id  # type: ignore[attr-defined]
    for constant in explain(id)[0].constants:
        if re.fullmatch(r"[\d._]+", constant.value):
            assert "[" in constant.meaning, f"{id}: {constant.name} names no source"


def test_a_figure_shows_its_formula_and_its_constants_with_values() -> None:
    text = to_text(explain("replay"))
    assert re.search(r"NODE_SPACING = [\d.]+ us", text)
    assert "[H200" in text
    assert "predict_replay, tracelens/advice/forms/replay.py:" in text
    assert "return " in text, "short code is the formula"


@pytest.mark.parametrize("name", ["compile", "both", "replay", "eager"])
def test_each_constant_is_told_once_and_by_its_own_words(name: str) -> None:
    found = explain(name)[0].constants
    told = [constant.meaning for constant in found]
    assert len(set(told)) == len(told)
    assert len({constant.name for constant in found}) == len(found)
    assert not [text for text in told if re.match(r"The same\b|Such\b", text)]


def test_a_constant_without_words_takes_none_from_its_neighbour() -> None:
    assert constants("advice.rules.optimizer_loop")["BATCHED"].meaning == ""
    assert constants("advice.rules.optimizer_loop")["MANY"].meaning.startswith("Kernels a step")


def test_a_set_up_names_what_it_is_computed_from_and_nothing_else() -> None:
    assert {constant.name for constant in explain("setup_s")[0].constants} == {"COMPILE_SETUP", "CAPTURE_SETUP"}


def test_an_unknown_name_is_one_line_that_names_a_close_one() -> None:
    with pytest.raises(UsageError, match="did you mean queue_full"):
        explain("queue_ful")


def test_lists_fit_the_width() -> None:
    text = list_text(topics(), width=60)
    assert max(map(len, text.splitlines())) <= 60
    assert all(name in text for name in ("host_pause", "confidence", "pageable_copy", "building", "dispatch.input"))


def test_a_name_of_any_length_is_repeated_in_short() -> None:
    with pytest.raises(UsageError) as refused:
        explain("x" * 5_000)
    assert len(str(refused.value)) < 200
