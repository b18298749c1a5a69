"""Fuzz the loader and the report: python -m tests.fuzz [guided structured damage] [--minutes 30 | --runs N].

guided: atheris mutates files for the loader. structured: hypothesis makes traces for the whole report. damage: real
traces are cut and flipped. Prints executions, the slowest, the most memory and every fault; ends with 1 if
there are any.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Final

from tests.fuzz import damage, guided, structured

KINDS: Final = ("guided", "structured", "damage")


def main() -> int:
    """Run the fuzzers one after the other, each for its share of the time."""
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"{', '.join(KINDS)} (default: all)")
    parser.add_argument("--minutes", type=float, default=0, help="time for all of them together")
    parser.add_argument("--runs", type=int, default=0, help="runs of each; of damage: cuts, and flips, of each trace")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for the first input of each fault")
    options = parser.parse_args()
    if not options.minutes and not options.runs:
        parser.error("say how long: --minutes or --runs")
    kinds = options.kinds or list(KINDS)
    seconds = 60 * options.minutes / len(kinds)
    sound = [_run(kind, options.keep, options.runs, seconds, options.seed) for kind in kinds]
    return int(not all(sound))


def _run(kind: str, keep: Path | None, runs: int, seconds: float, seed: int) -> bool:
    """Run one fuzzer and print its summary; whether it found nothing."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "guided":
            summary, sound = guided.fuzz(keep, runs, seconds, seed)
        else:
            watch = _watched(kind, keep, runs, seconds, seed, Path(folder))
            summary, sound = watch.summary(), not watch.faults
    print(f"{kind}: {summary}", flush=True)
    return sound


def _watched(kind: str, keep: Path | None, runs: int, seconds: float, seed: int, folder: Path) -> damage.Watch:
    if kind == "structured":
        return structured.fuzz(keep, runs, seconds, seed, folder / "trace.json")
    return damage.fuzz(keep, runs or 1000, seconds, seed, folder, damage.traces())


if __name__ == "__main__":
    raise SystemExit(main())
