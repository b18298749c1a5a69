"""Every number of a report is followed to its value, its inputs and its explanation."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from tests import runs
from tests.documents import keys_of
from tracelens import report
from tracelens.__main__ import main
from tracelens.advice.explain.explain import explain, topics
from tracelens.analysis.parts import Part
from tracelens.exitcodes import ExitCode
from tracelens.reporting.explanations import values_text
from tracelens.reporting.printable import cells
from tracelens.reporting.schema import Document
from tracelens.reporting.values import inputs_of, values_of

SAMPLES = sorted(path.parent for path in (Path(__file__).parents[2] / "sample_traces").glob("*/run.json"))


@cache
def document(sample: Path) -> Document:
    return report(sample).limited(1_000)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_every_key_of_a_report_is_explained_and_leads_to_its_values(sample: Path) -> None:
    known, parts = set().union(*topics().values()), {part.part_name for part in Part}
    for key in set(keys_of(document(sample))):
        assert key in known | parts
        assert values_of(document(sample), key)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_what_is_printed_fits_the_page(sample: Path) -> None:
    for name in ("replay", "confidence", "dispatch.python", "linked", "kernels", "host_bound_dispatch"):
        text = values_text(name, document(sample), explain(name), width=80)
        assert max(map(cells, text.splitlines())) <= 80


@pytest.mark.parametrize("name", ["kernels", "gaps"])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_long_names_of_kernels_leave_room_for_the_rest(sample: Path, name: str) -> None:
    rows = [value for value in values_of(document(sample), name) if value.path.startswith("tables.")]
    assert rows
    assert all(len(row.shown) < 400 for row in rows)


@pytest.mark.parametrize("name", ["eager", "replay"])
def test_a_form_is_no_origin_of_a_kernel(name: str) -> None:
    assert not [value.path for value in values_of(document(SAMPLES[0]), name) if value.path.startswith("tables.")]


def test_what_is_made_from_values_has_no_need_of_one_of_its_name() -> None:
    found = document(SAMPLES[0])
    said = values_text("range", found, explain("range"))
    assert "no value" not in said
    assert "Made from" in said
    assert "no value" in values_text("busy overlap", found, explain("busy overlap"))


def told(name: str, of: Document) -> dict[str, object]:
    return {value.path: value.value for value in values_of(of, name)}


def test_a_form_a_part_a_check_and_a_rule_have_the_values_of_the_document() -> None:
    found = document(next(path for path in SAMPLES if path.name == "sync_points"))
    assert told("eager", found)["forms.eager.step_ms"] == found["forms"]["eager"]["step_ms"]
    waits = found["attribution"]["classes"]["sync"]["parts"]["wait"]
    assert told("sync.wait", found)["attribution.classes.sync.parts.wait"] == waits
    shown = [value for value in values_of(found, "sync.wait") if value.path.startswith("tables.gaps.g-")]
    assert shown
    assert all((gap.value["class"], gap.value["part"]) == ("sync", "wait") for gap in shown)
    (check,) = (check for check in found["trust"]["checks"] if check["id"] == "linked")
    assert told("linked", found) == {"trust.checks.linked": check}
    (finding,) = (finding for finding in found["findings"] if finding["rule"] == "sync_points")
    assert told("sync_points", found) == {"findings.sync_points": finding}
    assert "evidence s-" in values_of(found, "sync_points")[0].shown


def test_a_figure_names_what_it_is_made_from() -> None:
    found = document(SAMPLES[0])
    paths = [value.path for value in inputs_of(found, explain("speedup")[0].inputs)]
    assert {"recommendation.verdict", "forms.eager.step_ms", "forms.both.step_ms"} <= set(paths)
    assert "forms.both.predicted.step_ms" not in paths


def test_every_figure_is_made_from_numbers_that_a_report_has() -> None:
    for name in topics()["figure"]:
        for pattern in explain(name)[0].inputs:
            assert any(inputs_of(document(sample), [pattern]) for sample in SAMPLES), (name, pattern)


def test_a_name_is_followed_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(runs.write_run(tmp_path / "run"))
    assert main(["explain", "replay", run]) == ExitCode.OK
    out = capsys.readouterr().out
    assert out.index("forms.replay.step_ms: 0.140 ms") < out.index("Made from") < out.index("Computed by")
    assert main(["explain", "replay", run, "--json"]) == ExitCode.OK
    assert {"path": "forms.replay.step_ms", "value": 0.14} in json.loads(capsys.readouterr().out)["values"]
    assert main(["explain", "gemm", run]) == ExitCode.OK
    assert "The report shows no value of that name." in capsys.readouterr().out
    assert main(["explain", "replai", run]) == ExitCode.USAGE
    assert main(["explain", "replay", "--device", "0"]) == ExitCode.USAGE
    assert "name it behind NAME" in capsys.readouterr().err
