"""Figures of the terminal app, measured through a pty: python -m tests.bench.bench_tui [--quick].

Prints the time to the first screen with the verdict of a trace of 20 MB (median of 5, imports included), the time to
draw a step of pan or zoom in a trace of 1,000,000 events, the bytes that moves and turns to a view send, and the
longest stalls while it loads. Beside each time is what tells how far to trust it where other work shares the machine:
the load average, and for stalls the processor time that this process spent in them."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path
from typing import Any, Self

from tests.bench.bench_report import environment

Event = dict[str, Any]
WIDTH, HEIGHT = 120, 40
SMALL, LARGE = 139_000, 1_000_000
"""Events: 20 MB, and what should stay smooth."""
VERDICT = b"What costs most"
"""On the first screen below the verdict."""
OPERATORS = ("aten::linear", "aten::addmm", "aten::layer_norm", "aten::gelu", "aten::add", "aten::view")
KERNELS = ("nvjet_hsh_64x64", "void at::native::vectorized_elementwise_kernel<8>(int)", "flash_fwd_kernel")


def events_of(number: int) -> Iterator[Event]:
    """Steps of operators that each launch a kernel, with nested operators: an eager step as the profiler writes it."""
    at, correlation, step = 1000.0, 1, 0
    for index in range(number // 6):
        if index % 400 == 0:
            yield _event("user_annotation", f"ProfilerStep#{step}", at, 8000.0 * 1.01, 1, 1)
            step += 1
        name, kernel = OPERATORS[index % 6], KERNELS[index % 3]
        linked = {"External id": index + 1, "correlation": correlation}
        yield _event("cpu_op", name, at, 16.0, 1, 1, {"External id": index + 1, "Input Dims": [[64, 64]]})
        yield _event("cpu_op", f"{name}_inner", at + 1, 12.0, 1, 1)
        yield _event("cuda_runtime", "cudaLaunchKernel", at + 4, 5.0, 1, 1, linked)
        yield _event("kernel", kernel, at + 12, 3.0 + index % 7, 0, 7, {**linked, "device": 0, "stream": 7})
        yield _event("cpu_op", "aten::empty", at + 2, 1.0, 1, 1)
        yield _event("cpu_op", "aten::view", at + 10, 1.5, 1, 1)
        at, correlation = at + 20.0, correlation + 1


def _event(cat: str, name: str, ts: float, dur: float, pid: int, tid: int, args: dict[str, Any] | None = None) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args or {}}


def write_trace(path: Path, number: int) -> Path:
    """A trace of about so many events."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],\n"traceEvents": [\n')
        file.write(",\n".join(json.dumps(event) for event in events_of(number)))
        file.write("\n]}\n")
    return path


class Terminal:
    """The app in a pty of its own; counts what it sends."""

    def __init__(self, path: Path) -> None:
        self.sent = b""
        self.started = time.perf_counter()
        self.pid, self.file = pty.fork()
        if not self.pid:
            colors = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execve(sys.executable, [sys.executable, "-m", "tracelens", str(path)], environment() | colors)
        ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))

    def read(self, seconds: float, until: bytes | None = None) -> bytes:
        """What is sent within some seconds, or until some bytes are seen."""
        begun, got = time.perf_counter(), b""
        while (left := begun + seconds - time.perf_counter()) > 0:
            if select.select([self.file], [], [], left)[0]:
                try:
                    got += os.read(self.file, 1 << 16)
                except OSError:
                    break
            if until is not None and until in got:
                break
        self.sent += got
        return got

    def press(self, keys: str, patience: float = 2.0) -> int:
        """Bytes sent after a key, until nothing more comes."""
        self.read(0.1)
        os.write(self.file, keys.encode())
        got = 0
        while count := self._piece(0.25 if got else patience):
            got += count
        return got

    def turn_to(self, key: str, shown: bytes) -> None:
        """Press the key of a view and wait until it is drawn."""
        os.write(self.file, key.encode())
        self.read(300.0, shown)
        self.read(2.0)

    def _piece(self, seconds: float) -> int:
        """Bytes of the next piece that comes within some seconds."""
        if not select.select([self.file], [], [], seconds)[0]:
            return 0
        try:
            got = os.read(self.file, 1 << 16)
        except OSError:
            return 0
        self.sent += got
        return len(got)

    def close(self) -> None:
        """Quit and wait for the end."""
        os.write(self.file, b"q")
        self.read(2.0)
        os.waitpid(self.pid, 0)
        os.close(self.file)

    def kill(self) -> float:
        """End it at once; returns the processor seconds it took."""
        os.kill(self.pid, signal.SIGKILL)
        _, _, usage = os.wait4(self.pid, 0)
        os.close(self.file)
        return usage.ru_utime + usage.ru_stime

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()


def first_screen(path: Path, times: int) -> list[tuple[float, float]]:
    """Seconds from the start of the process to the verdict on the screen, and processor seconds of it until then."""
    found = []
    for number in range(times + 1):
        terminal = Terminal(path)
        if VERDICT not in terminal.read(60.0, VERDICT):
            raise SystemExit("no verdict within a minute")
        seconds = time.perf_counter() - terminal.started
        # The first run compiles the modules.
        cpu_seconds = terminal.kill()
        found += [(seconds, cpu_seconds)] if number else []
    return found


def moves(path: Path) -> dict[str, list[int]]:
    """Bytes that each kind of move sends."""
    with Terminal(path) as terminal:
        terminal.read(900.0, VERDICT)
        terminal.turn_to("2", b" idle")
        found = {"zoom in": [terminal.press("w") for _ in range(12)]}
        found["pan"] = [terminal.press(key) for key in "ddddddaaa"]
        found["zoom out"] = [terminal.press("s") for _ in range(8)]
        found["next event"] = [terminal.press("l") for _ in range(10)]
        found["next gap"] = [terminal.press("g") for _ in range(10)]
        for key, table, last in (("5", "gaps", b"holds"), ("7", "launches", b"where")):
            terminal.turn_to(key, last)
            # More than a screen, so that some of them scroll.
            found[f"row of {table}"] = [terminal.press("j") for _ in range(60)]
        found["turn to a view"] = [terminal.press(key) for key in "1238912389"][5:]
        terminal.turn_to("2", b" idle")
        found["idle, 5 s"] = [len(terminal.read(5.0))]
    return found


def draws(path: Path) -> list[float]:
    """ms to draw every lane of a screen at each step of a zoom and a pan."""
    from tracelens.analysis import analyze
    from tracelens.loading import load_trace
    from tracelens.tui.lanes import trace_lanes
    from tracelens.tui.paint import paint
    from tracelens.tui.timeline import ZOOM_IN, TimelineState

    trace = load_trace(path)
    state = TimelineState(trace_lanes(trace, analyze(trace).timeline))
    state.resize(WIDTH - 24)
    times = []
    for number in range(60):
        state.zoom(ZOOM_IN) if number < 14 else state.pan(1 if number % 4 else -1)
        begun = time.perf_counter()
        for lane in state.lanes[: HEIGHT - 10]:
            paint(lane, state.view)
        times.append(1000 * (time.perf_counter() - begun))
    return times


def stalls(path: Path) -> list[tuple[float, float]]:
    """ms between looks at the event loop while a trace loads, as an app's keys would wait, and of processor time."""
    from tracelens.tui.apart import begin_apart
    from tracelens.tui.app import TraceLens
    from tracelens.tui.links import Place, Portion
    from tracelens.tui.opening import Opening

    opening = Opening(str(path), open=begin_apart(str(path), None, Portion()))

    async def watch() -> list[tuple[float, float]]:
        app = TraceLens(opening, place=Place())
        opening.start()
        gaps: list[tuple[float, float]] = []
        async with app.run_test(size=(WIDTH, HEIGHT)):
            last = time.perf_counter(), time.process_time()
            while app.atlas is None:
                await asyncio.sleep(0.001)
                now = time.perf_counter(), time.process_time()
                gaps.append((1000 * (now[0] - last[0]), 1000 * (now[1] - last[1])))
                last = now
        return gaps

    return asyncio.run(watch())


def _megabytes(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f} MB"


def _load() -> str:
    return f"load average {os.getloadavg()[0]:.1f}"


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the events, once")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        print_start(write_trace(Path(folder) / "small.json", SMALL), 1 if quick else 5)
        large = write_trace(Path(folder) / "large.json", LARGE // 10 if quick else LARGE)
        print_draws(large)
        print_stalls(large)
        for name, sent in moves(large).items():
            print(f"bytes, {name}: median {statistics.median(sent):.0f}, max {max(sent)}", flush=True)


def print_start(path: Path, times: int) -> None:
    """How long the first screen takes."""
    wall, cpu = zip(*first_screen(path, times), strict=True)
    print(f"first screen, {_megabytes(path)}: median {statistics.median(wall):.2f} s, {_load()};", end=" ")
    print(f"processor {statistics.median(cpu):.2f} s; of {[round(one, 2) for one in wall]}", flush=True)


def print_draws(path: Path) -> None:
    """How long a step of zoom or pan takes to draw."""
    times = draws(path)
    print(f"draw, {_megabytes(path)}: median {statistics.median(times):.1f} ms, max {max(times):.1f}, {_load()}")


def print_stalls(path: Path) -> None:
    """The longest times in which a key would have had to wait."""
    for name, waits in zip(("wall", "processor"), zip(*stalls(path), strict=True), strict=True):
        longest = [round(wait) for wait in sorted(waits)[-5:]]
        print(f"longest stalls while {_megabytes(path)} load, ms, {name}: {longest}, {_load()}", flush=True)


if __name__ == "__main__":
    main()
