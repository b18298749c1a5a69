"""Copies text to the terminal's clipboard, and to a file for terminals that take none."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tracelens.reporting.printable import printable

LONGEST: Final = 74_000
"""Bytes of base64 that terminals and tmux still take in one sequence."""
_WORDS: Final = re.compile(r"[^\n\t]+")


def harmless(text: str) -> str:
    """The text with control characters written out, but for tabs and line ends: a shell might take them as commands."""
    return _WORDS.sub(lambda found: printable(found[0]), text)


def sequences(text: str, environment: Mapping[str, str]) -> str:
    """What to write to the terminal (OSC 52); "" for text that is too long.

    Inside tmux it is sent twice: plain, which tmux takes with set-clipboard on, and wrapped, which it hands
    through to the outer terminal with allow-passthrough on."""
    encoded = base64.b64encode(text.encode()).decode()
    if len(encoded) > LONGEST:
        return ""
    plain = f"\x1b]52;c;{encoded}\a"
    inside = plain.replace("\x1b", "\x1b\x1b")
    return f"{plain}\x1bPtmux;{inside}\x1b\\" if environment.get("TMUX") else plain


def fallback(environment: Mapping[str, str]) -> Path:
    """The file that always holds what was copied last."""
    state = environment.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "tracelens" / "copied.txt"


def save(text: str, path: Path) -> str | None:
    """Write the file, readable by its owner only; None, or why it could not be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        return str(error)
    return None
