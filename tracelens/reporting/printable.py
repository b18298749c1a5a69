"""Text from a trace made safe to print, and cut to a width in terminal cells."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """The text with control, escape, bidirectional and invisible characters written out ("\\x1b", "\\u202e")."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def cells(text: str) -> int:
    """Terminal columns that printable text takes; East Asian wide characters take two."""
    return len(text) if text.isascii() else sum(map(_char_cells, text))


def cut(text: str, width: int, more: str = "…") -> str:
    """The text, or its head and tail around `more`, in at most `width` columns.

    Kernel names differ at both ends, so a third of what fits is kept from the tail."""
    if cells(text) <= width:
        return text
    room = width - cells(more)
    if room < 1:
        return more[:width]
    tail = _fitting(text[::-1], room // 3)[::-1]
    return _fitting(text, room - cells(tail)) + more + tail


def head(text: str, width: int) -> str:
    """The head of the text in at most `width` columns, with "..." where something is left out."""
    return text if cells(text) <= width else _fitting(text, width - 3) + "..."


def pad(text: str, width: int, align: str = "<") -> str:
    """The text with spaces up to `width` columns."""
    space = " " * max(0, width - cells(text))
    return space + text if align == ">" else text + space


def short_place(where: str | None) -> str:
    """The last two parts of a path with its line ("models/bert.py:181"); "" where there is none."""
    return "/".join((where or "").split("/")[-2:])


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _char_cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _fitting(text: str, width: int) -> str:
    """The longest head of the text that takes at most `width` columns."""
    if text.isascii():
        return text[: max(0, width)]
    used = 0
    for index, char in enumerate(text):
        used += _char_cells(char)
        if used > width:
            return text[:index]
    return text
