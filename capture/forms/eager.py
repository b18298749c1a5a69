"""Eager: as written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from capture import torch_private
from capture.records import FormRecord

OWN_COMPILE = "the script calls torch.compile itself"


class Eager:
    """Calls the region as it is."""

    def __init__(self, original: Callable[..., Any]) -> None:
        self._original = original

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run one call."""
        return self._original(*args, **kwargs)

    def state(self) -> object:
        """Nothing is ever prepared."""
        return None

    def report(self, record: FormRecord) -> None:
        """Write whether the script compiles itself."""
        graphs = record.compiler_graphs = torch_private.compiled_graphs_so_far()
        if graphs:
            number = f"{graphs} compiler graph{'s' if graphs > 1 else ''}"
            others = [note for note in record.notes if not note.startswith(OWN_COMPILE)]
            record.notes = [*others, f"{OWN_COMPILE} ({number}): its eager form is compiled already"]
