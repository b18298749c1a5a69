"""Finds the reference traces: recordings too large or too foreign to ship, kept beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

NOT_A_TRACE = {"truth.json"}


def reference_traces(*kinds: str) -> list[Path]:
    """Traces of the kinds "public", "broken" and "h200" (all when none is named), by name; none without the folder.

    The folder is $TRACELENS_REFERENCE, else shared/traces beside the checkout. Tests parametrised over an empty
    list are skipped."""
    beside = Path(__file__).parent.parent.parent / "shared" / "traces"
    folder = Path(os.environ.get("TRACELENS_REFERENCE", beside))
    files = (path for kind in kinds or ("public", "broken", "h200") for path in (folder / kind).glob("*.json*"))
    return sorted(path for path in files if path.name not in NOT_A_TRACE)
