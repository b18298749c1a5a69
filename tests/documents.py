"""What tests ask of report documents."""

from __future__ import annotations

from collections.abc import Iterator


def keys_of(value: object) -> Iterator[str]:
    """All keys of a document, however deep."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)
