"""Orders and standard input on their way to a form's process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from capture.job import LEAST_STEPS, Job, Plan, Target
from capture.tape import Tape


@given(st.integers(LEAST_STEPS, 2000), st.integers(1, 50), st.integers(1, 500), st.integers(1, 20))
def test_a_fitted_plan_fits_and_keeps_every_phase(steps: int, warmup: int, measure: int, active: int) -> None:
    plan = Plan(warmup, measure, active).fitted(steps)
    assert plan.steps <= steps
    assert min(plan.warmup, plan.measure, plan.active, plan.profiler_warmup) >= 1


def test_orders_survive_the_way_to_the_process(tmp_path: Path) -> None:
    job = Job("both", "manual", "a.py", False, ("x", "1"), tmp_path, tmp_path / "o.pt", "r", target=Target(ordinal=2))
    job.save(tmp_path / "job.json")
    assert Job.load(tmp_path / "job.json") == job


def play(tape: Tape, limit: int | None = None) -> bytes:
    """Read one playback, to the end or so many bytes of it."""
    source, sink = os.pipe()
    playback = tape.play(sink)
    got = b""
    while limit is None or len(got) < limit:
        data = os.read(source, 65536 if limit is None else limit - len(got))
        if not data:
            break
        got += data
    os.close(source)
    playback.stop()
    return got


def test_every_form_reads_the_whole_input(tmp_path: Path) -> None:
    data = os.urandom(300_000)
    path = tmp_path / "input"
    path.write_bytes(data)
    with path.open("rb") as file:
        tape = Tape(file.fileno())
        assert play(tape, 10) == data[:10]
        assert play(tape) == data
        assert play(tape) == data


def test_playback_ends_although_the_terminal_says_nothing() -> None:
    source, sink = os.pipe()
    tape = Tape(source)
    child_source, child_sink = os.pipe()
    began = time.monotonic()
    tape.play(child_sink).stop()
    assert time.monotonic() - began < 5
    assert os.read(child_source, 1) == b""
    for descriptor in (source, sink, child_source):
        os.close(descriptor)


def test_options_are_read_without_torch() -> None:
    code = "import sys, capture.cli; capture.cli.parser(); sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0
