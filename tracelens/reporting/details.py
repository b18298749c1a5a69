"""All that is known of one event, as text or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import orjson

from tracelens.model import units
from tracelens.reporting.grid import GUTTER
from tracelens.reporting.ink import Ink
from tracelens.reporting.json_text import written
from tracelens.reporting.kernel_titles import kernel_title
from tracelens.reporting.printable import cells, pad, printable

_KERNEL: Final = re.compile(r"(k-\d+) (.+)", re.DOTALL)
_ARGUMENTS: Final = "arguments"
"""What the file says of the event, under its own names."""


def to_json(details: Mapping[str, Any]) -> str:
    """The details as indented JSON."""
    return written(details, default=str)


def to_text(details: Mapping[str, Any], *, color: bool = False) -> str:
    """One line for each detail and each entry of a list, nothing cut; what is not known is left out.

    Kernels that are mentioned beside their handle go by their title. Values whose key is "ns" or ends in "_ns" read
    in the unit that suits them."""
    return "\n".join(_lines(details, Ink(color))) + "\n"


def _lines(details: Mapping[str, Any], ink: Ink, indent: str = "", *, raw: bool = False) -> Iterator[str]:
    """Lines of one level; `raw` keeps names and lists as the file has them."""
    known = {name: value for name, value in details.items() if value not in (None, {}, [])}
    label = printable if raw else _label
    width = max((cells(label(name)) for name in known), default=0)
    for name, value in known.items():
        if isinstance(value, Mapping):
            yield indent + ink(label(name), "bold")
            yield from _lines(cast("Mapping[str, Any]", value), ink, indent + GUTTER, raw=name == _ARGUMENTS)
            continue
        first, *rest = [_json(value)] if raw else _entries(name, value)
        yield indent + ink(pad(label(name), width), "dim") + GUTTER + first
        yield from (indent + " " * width + GUTTER + entry for entry in rest)


def _label(name: str) -> str:
    return printable("length" if name == "ns" else name.removesuffix("_ns").replace("_", " "))


def _entries(name: str, value: object) -> list[str]:
    """The entries of a list, or one value."""
    if isinstance(value, list):
        return [_mention(str(entry)) for entry in cast("list[object]", value)]
    if isinstance(value, int) and (name == "ns" or name.endswith("_ns")):
        exact = f" ({value:,} ns)" if value >= 1_000 else ""
        return [units.duration(value) + exact]
    return [_mention(str(value))]


def _mention(text: str) -> str:
    found = _KERNEL.fullmatch(text)
    return printable(f"{found[1]} {kernel_title(found[2])}" if found else text)


def _json(value: object) -> str:
    return printable(value if isinstance(value, str) else orjson.dumps(value, default=str).decode())
