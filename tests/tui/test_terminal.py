"""The real program in a real terminal: driven by keys through tmux, at three sizes."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.build import TraceBuilder

TMUX = shutil.which("tmux")
pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")
PATIENCE_S = 60.0


class Terminal:
    """One tmux server with one window."""

    def __init__(self, folder: Path, size: tuple[int, int], words: list[str], **environment: str) -> None:
        self.socket = str(folder / "tmux.socket")
        # As many shells export it: the app must follow the window all the same.
        environment |= {"COLUMNS": "70", "LINES": "20"}
        program = shlex.join([*(f"{k}={v}" for k, v in environment.items()), sys.executable, "-m", "tracelens", *words])
        script = folder / "session.sh"
        script.write_text(f"env {program}\necho code $?\nstty -a | grep -o -- '-\\?echo '\nsleep 600\n")
        where = ["-x", str(size[0]), "-y", str(size[1]), "-c", str(folder)]
        clean = {k: v for k, v in os.environ.items() if k not in ("TMUX", "NO_COLOR")}
        self.tmux("-f", "/dev/null", "new-session", "-d", *where, f"sh {script}", environment=clean)

    def tmux(self, *words: str, environment: dict[str, str] | None = None) -> str:
        assert TMUX is not None
        done = subprocess.run([TMUX, "-S", self.socket, *words], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def wait(self, *words: str) -> str:
        """The screen, once all words are on it."""
        return self.wait_for(lambda screen: all(word in screen for word in words), str(words))

    def wait_for(self, seen: Callable[[str], bool], what: str = "it") -> str:
        """The screen, once it is as asked for."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            screen = self.screen()
            if seen(screen):
                return screen
            time.sleep(0.05)
        pytest.fail(f"{what} never came:\n{self.screen()}")

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)

    def resize(self, width: int, height: int) -> None:
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def program(self) -> int:
        """Process id of the app."""
        shell = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        children = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        return int(children[0])

    def close(self) -> None:
        self.tmux("kill-server")


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
def test_a_session_from_the_verdict_to_the_event(
    tmp_path: Path, eager: Path, terminals: list[Terminal], size: tuple[int, int]
) -> None:
    terminal = Terminal(tmp_path, size, [eager.name])
    terminals.append(terminal)
    terminal.wait("Overview" if size[0] > 100 else "Over", "Four ways to run the step")
    terminal.press("G")
    terminal.wait("gap g-", "dispatch.python", "filled by")
    terminal.press("[")
    terminal.wait("cudaLaunchKernel  l-")
    terminal.press("v")
    terminal.wait("Range started")
    terminal.press("Right", "v")
    terminal.wait("Judged")
    terminal.press("3")
    terminal.wait("of the range")
    terminal.press("V")
    terminal.wait("Judged the whole window")
    terminal.press("4", "/")
    terminal.type("relu")
    terminal.press("Enter")
    terminal.wait("search 'relu'")
    terminal.press("e", "3")
    terminal.wait("eager.report.json")
    terminal.press("Enter")
    terminal.wait("Wrote eager.report.json")
    terminal.resize(50, 12)
    terminal.wait("tracelens needs a terminal of 60x16 or more.")
    terminal.resize(*size)
    terminal.wait("aten::relu")
    terminal.press("q")
    terminal.wait("code 0", "\necho")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_the_terminal_as_it_was(
    tmp_path: Path, eager: Path, terminals: list[Terminal], ending: signal.Signals
) -> None:
    terminal = Terminal(tmp_path, (80, 24), [eager.name])
    terminals.append(terminal)
    terminal.wait("Four ways to run the step")
    os.kill(terminal.program(), ending)
    screen = terminal.wait("code 130", "\necho")
    assert "Traceback" not in screen
    assert "Four ways to run the step" not in screen


def test_a_window_that_grew_shows_the_shell_alone_again(tmp_path: Path, eager: Path, terminals: list[Terminal]) -> None:
    terminal = Terminal(tmp_path, (80, 24), [eager.name])
    terminals.append(terminal)
    terminal.wait("Four ways to run the step")
    terminal.resize(50, 12)
    terminal.wait("tracelens needs a terminal")
    terminal.resize(200, 50)
    terminal.wait("1 Overview", "Four ways to run the step")
    terminal.press("q")
    screen = terminal.wait("code 0", "\necho")
    assert [line for line in screen.splitlines() if line.strip()] == ["code 0", "echo"]


def test_what_is_copied_reaches_the_clipboard_oftmux(tmp_path: Path, eager: Path, terminals: list[Terminal]) -> None:
    terminal = Terminal(tmp_path, (80, 24), [eager.name])
    terminals.append(terminal)
    terminal.tmux("set-option", "-g", "set-clipboard", "on")
    terminal.wait("Four ways to run the step")
    terminal.press("G")
    terminal.wait("gap g-")
    terminal.press("Y")
    terminal.wait("Copied the command")
    assert terminal.tmux("show-buffer").startswith(f"tracelens {eager.name} --view timeline --select g-")


def test_a_process_that_was_stopped_goes_on_and_ends(tmp_path: Path, eager: Path, terminals: list[Terminal]) -> None:
    terminal = Terminal(tmp_path, (80, 24), [eager.name])
    terminals.append(terminal)
    terminal.wait("Four ways to run the step")
    for number in (signal.SIGSTOP, signal.SIGCONT):
        os.kill(terminal.program(), number)
        time.sleep(0.2)
    terminal.press("2")
    terminal.wait("GPU 0 idle")
    terminal.press("q")
    terminal.wait("code 0", "\necho")


def test_a_table_scrolls_line_by_line(tmp_path: Path, terminals: list[Terminal]) -> None:
    builder = TraceBuilder()
    for number in range(30):
        builder.launch("gemm", start=10.0 * number, dur=5, at=10.0 * number + 6, runs=2)
    builder.write(tmp_path / "launches.json")
    terminal = Terminal(tmp_path, (80, 16), ["launches.json", "--view", "launches", "--range", "all"])
    terminals.append(terminal)
    terminal.wait("1 of 30")
    for keys, position, first in (("j" * 29, "30 of 30", 19), ("k" * 29, "1 of 30", 1), ("j" * 15, "16 of 30", 5)):
        terminal.type(keys)
        terminal.wait(f"  {position}")
        terminal.wait_for(lambda screen, first=first: rows(screen) == [f"l-{first + n}" for n in range(12)])


def rows(screen: str) -> list[str]:
    return [line.split()[0] for line in screen.splitlines() if line.startswith("l-")]


def test_a_bad_file_gives_a_screen_and_its_exit_code(tmp_path: Path, terminals: list[Terminal]) -> None:
    (tmp_path / "bad.json").write_text("nothing")
    terminal = Terminal(tmp_path, (80, 24), ["bad.json"])
    terminals.append(terminal)
    terminal.wait("This cannot be opened", "bad.json")
    terminal.press("q")
    terminal.wait("code 3", "\necho")


def test_a_link_opens_where_it_was_copied(tmp_path: Path, eager: Path, terminals: list[Terminal]) -> None:
    words = [eager.name, "--view", "timeline", "--range", "1ms..3ms", "--select", "g-3", "--no-mouse"]
    terminal = Terminal(tmp_path, (120, 40), words, NO_COLOR="1")
    terminals.append(terminal)
    terminal.wait("gap g-3", "1.00 ms to 3.00 ms")
