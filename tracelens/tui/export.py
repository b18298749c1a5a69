"""What can be exported, and writing it without ever writing over a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tracelens.tui.visible import visible

if TYPE_CHECKING:
    from tracelens.reporting.report import Report


@dataclass(frozen=True, slots=True)
class Format:
    """One format of the report."""

    name: str
    suffix: str
    render: Callable[[Report], str]


FORMATS: Final = {
    "1": Format("Markdown, for a pull request", ".report.md", lambda report: report.to_markdown()),
    "2": Format("text", ".report.txt", lambda report: report.to_text()),
    "3": Format("JSON, the whole document", ".report.json", lambda report: report.to_json()),
    "4": Format("CSV of the kernels", ".kernels.csv", lambda report: report.to_csv("kernels")),
    "5": Format("CSV of the operators", ".operators.csv", lambda report: report.to_csv("operators")),
    "6": Format("CSV of the gaps", ".gaps.csv", lambda report: report.to_csv("gaps")),
    "7": Format("CSV of the sync points", ".syncs.csv", lambda report: report.to_csv("syncs")),
    "8": Format("CSV of the launches", ".launches.csv", lambda report: report.to_csv("launches")),
}
PICTURE: Final = "9"


def default_name(trace_path: str, suffix: str, run: Path | None = None) -> str:
    """A name in the current directory after the trace's, and the run's: traces are named alike in all of them."""
    name = Path(trace_path).name
    for ending in (".gz", ".zst", ".json", ".pt.trace", ".trace"):
        name = name.removesuffix(ending)
    within = f"{visible(run.absolute().name)}." if run is not None else ""
    return f"{within}{visible(name) or 'trace'}{suffix}"


def write(path: Path, text: str) -> str:
    """Write a new file; returns the line that tells what happened."""
    try:
        with path.expanduser().open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return f"{path} exists already; nothing was written."
    except OSError as error:
        return f"{path} cannot be written ({error.strerror})."
    return f"Wrote {path}."
