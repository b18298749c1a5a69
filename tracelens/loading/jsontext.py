"""JSON values and their text."""

from __future__ import annotations

import json
from typing import Any, Final, cast

import orjson

BROKEN: Final = object()
"""What a text that is no JSON parses to."""


def parsed(text: bytes | str) -> object:
    """The value of a JSON text, BROKEN if it is none."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return BROKEN


def as_object(value: object) -> dict[str, Any] | None:
    """A JSON object, None for any other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def json_text(value: object) -> str:
    """A string as it is, anything else as compact JSON."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"), default=str)
