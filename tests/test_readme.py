"""What the READMEs show is what the tool prints. TRACELENS_GOLDEN=write renews the blocks."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from tracelens.__main__ import main
from tracelens.analysis.describe import describe
from tracelens.analysis.parts import Part
from tracelens.loading.choose import load_run
from tracelens.loading.runs import read_run
from tracelens.model.units import parse_span
from tracelens.reporting.schema import Document

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
SAMPLES = ROOT / "sample_traces"
RUNS = sorted(path.parent for path in SAMPLES.glob("*/run.json"))
BLOCK = r"<!-- {marker} -->\n```text\n(?P<text>.*?)```\n"
COMMANDS = re.findall(r"<!-- output: tracelens (.*?) -->", README.read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def as_a_reader_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")


def printed(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(shlex.split(words)) == 0
    return capsys.readouterr().out


def expect(path: Path, marker: str, text: str) -> None:
    """The block after the marker holds the text."""
    document = path.read_text(encoding="utf-8")
    pattern = re.compile(BLOCK.format(marker=re.escape(marker)), re.DOTALL)
    if os.environ.get("TRACELENS_GOLDEN") == "write":
        document = pattern.sub(lambda _: f"<!-- {marker} -->\n```text\n{text}```\n", document)
        path.write_text(document, encoding="utf-8", newline="\n")
    found = pattern.search(document)
    assert found is not None
    assert found["text"] == text


@pytest.mark.parametrize("words", COMMANDS)
def test_readme_shows_real_output(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    expect(README, f"output: tracelens {words}", printed(words, capsys))


def test_the_place_that_the_readme_leads_to_is_inside_its_range() -> None:
    shown = re.compile(r"`tracelens (\S+) --view timeline --range (\S+) --select (\S+)`")
    link = shown.search(README.read_text(encoding="utf-8"))
    assert link is not None
    start, end = parse_span(link[2])
    run = read_run(Path(link[1]))
    assert run is not None
    gap = describe(load_run(run)[0], link[3])
    assert start <= gap["start_ns"] < gap["start_ns"] + gap["ns"] <= end


def test_samples_show_what_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    for run in RUNS:
        head, _, rest = printed(f"report {run.relative_to(ROOT)}", capsys).partition("\nWhere")
        forms = rest.partition("\nFour ways to run the step\n")[2].partition("\n\n")[0]
        told += [f"$ tracelens report {run.name}", *head.splitlines(), *forms.splitlines(), ""]
    expect(SAMPLES / "README.md", "findings", "\n".join(told).rstrip() + "\n")


def test_every_sample_is_a_run_of_the_script_beside_it() -> None:
    text = (SAMPLES / "README.md").read_text(encoding="utf-8")
    assert len(RUNS) >= 4
    for run in RUNS:
        command = json.loads((run / "run.json").read_text(encoding="utf-8"))["command"]
        assert f"{run.name}.py" in command
        assert (SAMPLES / f"{run.name}.py").is_file()
        assert shlex.join(command) in text


def test_readme_names_every_command_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert {"--help", "report --help", "show --help"} <= set(COMMANDS)
    assert "exit codes: 0" in printed("--help", capsys)


def test_readme_names_every_key_of_the_document() -> None:
    section = README.read_text(encoding="utf-8").partition("## The document")[2].partition("##")[0]
    for key in Document.__annotations__:
        assert f"`{key}`" in section, key


def test_readme_explains_every_part() -> None:
    rows = re.findall(r"^\| (\*\w+\.\w+\*.*?) \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    told: set[str] = set()
    for row in rows:
        names = re.findall(r"\*([\w.]+)\*", row)
        told |= {name if "." in name else f"{names[0].partition('.')[0]}.{name}" for name in names}
    assert told == {f"{part.class_name}.{part.part_name}" for part in Part}


def test_python_in_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(import tracelens\n.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], "README.md", "exec"), {})
    assert "Where the step goes" in capsys.readouterr().out


def test_rates_of_steps_never_seen_are_those_of_the_table() -> None:
    text = README.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|") and "before anybody had seen them" in line]
    counts = [[int(number) for number in pair] for row in rows for pair in re.findall(r"(\d+) of (\d+)", row)]
    right, inside = counts[0::2], counts[1::2]
    for pairs, told in ((inside, "{0} % ({1} of {2},"), (right, "Of {2} steps")):
        held, of = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
        assert told.format(round(100 * held / of), held, of) in text
    assert f"{sum(pair[0] for pair in right)} verdicts were right" in text


def test_every_run_on_steps_never_seen_has_its_row_and_its_page() -> None:
    text = README.read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "tests/data").glob("*_run.md")}
    assert pages == set(re.findall(r"\(tests/data/(\w+_run\.md)\)", text))
    assert len(pages) == text.count(", before anybody had seen them |")
